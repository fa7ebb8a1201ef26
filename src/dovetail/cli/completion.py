"""`dovetail completion`: the script by which a shell completes commands, options and names of files."""

from __future__ import annotations

import argparse
from importlib import import_module
from typing import Any

from dovetail.cli.parser import Parser

DESCRIPTION = """\
Prints the script by which a shell completes the commands of dovetail, their options, and names of files.
"""

EXAMPLES = """\
examples:
  eval "$(dovetail completion bash)"             in ~/.bashrc
  dovetail completion zsh > ~/.zfunc/_dovetail   in a folder of zsh's fpath

It needs shtab: pip install 'keras-dovetail[completion]'.
"""


def declare(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("shell", choices=["bash", "zsh", "tcsh"], help="the shell")


def run(options: argparse.Namespace) -> int:
    """Print the script for a shell, and return the exit status.

    Raises:
        ImportError: shtab is not installed.
    """
    try:
        shtab: Any = import_module("shtab")
    except ImportError:
        raise ImportError("completion needs shtab: pip install 'keras-dovetail[completion]'.") from None
    print(shtab.complete(whole_parser(), options.shell))
    return 0


def whole_parser() -> argparse.ArgumentParser:
    """A parser with the arguments of all commands, for which all are imported."""
    commands = import_module("dovetail.cli.main").COMMANDS
    top = Parser(prog="dovetail")
    parsers = top.add_subparsers(dest="command", parser_class=Parser)
    for name, purpose in commands.items():
        parser = parsers.add_parser(name, help=purpose)
        import_module(f"dovetail.cli.{name}").declare(parser)
        parser.usage = None  # of shtab's own making
    return top
