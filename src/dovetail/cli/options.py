"""Arguments that several commands have."""

from __future__ import annotations

import argparse
from collections.abc import Callable

from dovetail.core.engines.engine_registry import AUTO, known_engines


def add_engine(parser: argparse._ActionsContainer, purpose: str = "the engine") -> None:
    """Add `--engine`, of one engine or "auto"."""
    default = "(default: $DOVETAIL_ENGINE, else auto)"
    parser.add_argument("--engine", choices=[*known_engines(), AUTO], help=f"{purpose} {default}")


def number(least: int) -> Callable[[str], int]:
    """The argparse type of a whole number that is at least `least`."""

    def read(text: str) -> int:
        if not text.isdecimal() or int(text) < least:
            raise argparse.ArgumentTypeError(f"must be a whole number, at least {least}, but is {text!r}")
        return int(text)

    return read


def is_function(text: str) -> bool:
    """Whether a text names a function in a file.

    Example:
        >>> is_function("train.py:step"), is_function("train.py"), is_function("model.pb")
        (True, False, False)
    """
    file, colon, name = text.rpartition(":")
    return bool(colon) and file.endswith(".py") and bool(name)


def add_shapes(parser: argparse.ArgumentParser) -> None:
    """Add the option for the shapes of a model's inputs."""
    parser.add_argument(
        "--shape",
        action="append",
        default=[],
        metavar="KEY=1,3,224,224",
        help="the shape of an input of a model of TensorFlow or ONNX, none for open sizes; may be given several times",
    )


def add_imports(parser: argparse._ActionsContainer) -> None:
    """Add the option for the classes of a model of Keras that are the user's own."""
    parser.add_argument(
        "--import",
        dest="imports",
        action="append",
        default=[],
        metavar="FILE.py",
        help="import your own layers and functions, which a model of Keras needs; may be given several times",
    )
