"""The passes: each rewrites a graph into one that computes the same with less."""
