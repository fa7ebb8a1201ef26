"""Elementwise mathematics, comparison, reductions and statistics."""
