"""`dovetail demo`: a model of Keras is trained on handwritten digits."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

from dovetail.cli import program
from dovetail.cli.options import add_engine, number
from dovetail.core.base.optional_api import spec_of

DESCRIPTION = """\
Trains a convolutional net of Keras on the 1797 handwritten digits that come with scikit-learn: by Keras' `fit`, with a
layer, a loss and a metric written in K, the classic Keras backend.
"""

EXAMPLES = """\
examples:
  dovetail demo                                  a minute or less, wherever it is measured to be the fastest
  dovetail demo --engine numpy                   on NumPy alone
  dovetail demo --engine jax --epochs 5          a shorter run, compiled by XLA
  dovetail demo --compare --out comparison       every engine on the same data

Ctrl-C stops after the steps at hand; what was learned so far is written.
"""

NEEDED = {  # the libraries that the demo imports → their names for pip
    "keras": "keras>=3.15.1",
    "matplotlib": "matplotlib",
    "sklearn": "scikit-learn",
    "tqdm": "tqdm",
}


def declare(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    where = parser.add_mutually_exclusive_group()
    add_engine(where, "the engine to train on")
    where.add_argument("--compare", action="store_true", help="train on every engine installed and compare them")
    parser.add_argument(
        "--epochs", type=number(1), metavar="N", default=20, help="passes over the data (default: %(default)s)"
    )
    parser.add_argument(
        "--seed", type=number(0), metavar="N", default=0, help="of initial values and batches (default: %(default)s)"
    )
    parser.add_argument(
        "--out", type=Path, default=Path("dovetail-demo"), metavar="DIR", help="where results go (default: %(default)s)"
    )


def run(options: argparse.Namespace) -> int:
    """Train the model, and return the exit status."""
    program.choose(options.engine)
    return demo()(options.compare, options.epochs, options.seed, options.out)


def demo() -> Callable[..., int]:
    """The function that `dovetail demo` runs.

    Raises:
        ImportError: a library that it needs is not installed, or the installed Keras does not run on Dovetail.
    """
    missing = [library for library in NEEDED if spec_of(library) is None]
    if missing:
        advice = f"pip install {' '.join(NEEDED[library] for library in missing)}"
        raise ImportError(f"the demo needs libraries that are not installed, {', '.join(missing)}: {advice}")
    return import_module(f"{program.KERAS_BACKEND}.demo").run
