"""The `dovetail` command."""

INTERRUPTED = 130  # what shells report for a program that Ctrl-C ended
