"""Branches and loops, and the ops that hold a program together."""
