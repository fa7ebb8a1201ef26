"""The `dovetail` command."""

INTERRUPTED = 130  # the exit status that shells report after Ctrl-C
