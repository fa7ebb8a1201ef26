"""Reverse-mode differentiation: on tapes, in graphs, and of compiled functions."""
