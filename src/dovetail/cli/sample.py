"""`dovetail sample`: model files to try the guides with."""

from __future__ import annotations

import argparse
import os
import shutil
import tempfile
from importlib.resources import as_file, files
from pathlib import Path

from dovetail.cli import WrongInput
from dovetail.core.base.texts import table

DESCRIPTION = """\
Writes a folder of small model files, with which the guides work.  They come with Dovetail: nothing is downloaded.
"""

EXAMPLES = """\
examples:
  dovetail sample                                lists the folders
  dovetail sample models                         writes models/
  dovetail show models/mlp                       one of them
"""

SAMPLES = {  # folder → its contents
    "models": "models of TensorFlow: SavedModels, a frozen graph, a graph and checkpoint of TensorFlow 1",
    "old_models": "models of Keras 1 and 2, as .h5 and .hdf5, and the results of one",
    "folders": "folders that Keras 2 saved, and a checkpoint of weights",
}


def declare(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("name", nargs="?", choices=SAMPLES, help="the folder to write (default: list them)")


def run(options: argparse.Namespace) -> int:
    """Write a folder, or list them, and return the exit status.

    Raises:
        WrongInput: something of this name is there.
    """
    if options.name is None:
        print(table([["name", "contents"], *map(list, SAMPLES.items())]))
        return 0
    target = Path(options.name)
    if target.exists():
        raise WrongInput(f"{options.name} is there already; remove it, or work in another folder.")
    with tempfile.TemporaryDirectory(dir=".") as folder, as_file(files("dovetail.cli") / "samples") as samples:
        copied = Path(folder) / options.name
        shutil.copytree(samples / options.name, copied)
        os.rename(copied, target)  # as a whole
    print(f"wrote {options.name}: " + ", ".join(sorted(path.name for path in target.iterdir())))
    return 0
