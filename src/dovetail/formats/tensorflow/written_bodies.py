"""Ops without a row as functions of ops that have one; they are traced and written in the operation's name scope."""
