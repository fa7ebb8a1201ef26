"""The engines: one module or package for each library that computes."""
