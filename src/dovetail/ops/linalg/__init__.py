"""Products, linear systems and decompositions."""
