"""The `dovetail` command."""

INTERRUPTED = 130  # the exit status that shells report after Ctrl-C


class WrongInput(ValueError):
    """An error: a command line names something that cannot be used."""
