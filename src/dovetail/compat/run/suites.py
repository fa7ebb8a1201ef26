"""Test suites that `dovetail run -m pytest` runs: their files, and the installed packages that they need mapped."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from dovetail.compat.source.outside import OURS, takes_keras
from dovetail.compat.source.sources import Source, files_in, files_of_module, names_imported, read_file
from dovetail.core.base.optional_api import spec_of

EXAMPLES = {"benchmark", "benchmarks", "demo", "demos", "doc", "docs", "example", "examples", "notebooks", "tutorials"}
OF_KERAS = ("keras", "tensorflow", "tf_keras")
NOT_ADD_ONS = ("tensorflow_", "tensorboard", "tf2onnx")  # packages of real TensorFlow's files and data
MOST_FILES = 300  # of a package that its import executes


def suite_files(arguments: Sequence[str], folder: Path) -> list[Path]:
    """The files that a suite may be of: those below a folder, but for examples, and those that pytest is asked for.

    Args:
        arguments: pytest's.
        folder: where pytest starts.
    """
    given = [Path(each.partition("::")[0]) for each in arguments if not each.startswith("-")]
    asked = [file for path in given if path.exists() for file in _files(path)]
    own = [file for file in _files(folder) if EXAMPLES.isdisjoint(file.relative_to(folder).parts[:-1])]
    return [*dict.fromkeys((*own, *asked))]


def _files(path: Path) -> list[Path]:
    try:
        return [file for file in files_in(path) if file.suffix == ".py"]
    except FileNotFoundError:  # there is no Python
        return []


def packages_named(arguments: Sequence[str]) -> list[str]:
    """The installed packages whose tests pytest is asked for, by `--pyargs`."""
    names = (
        [each.partition(".")[0] for each in arguments if not each.startswith("-")] if "--pyargs" in arguments else []
    )
    return [name for name in dict.fromkeys(names) if name.isidentifier() and spec_of(name) is not None]


def add_ons(sources: Iterable[Source]) -> list[str]:
    """The installed packages that sources import, and that import TensorFlow or Keras at once; also through others.

    TensorFlow's own packages, as tensorflow_datasets, are none.
    """
    known, packages = set[str](), list[str]()
    waiting = [name for source in sources for name in names_imported(source)]
    for name in waiting:  # it grows
        root = name.partition(".")[0]
        if root not in known and root not in sys.stdlib_module_names:
            known.add(root)
            executed = _executed(root)
            taken = [each for source in executed for each in names_imported(source, _at_once)]
            if any(each.partition(".")[0] in OF_KERAS for each in taken):
                packages.append(root)
                waiting += taken
    return packages


def _executed(root: str) -> list[Source]:
    """The files of an installed package that its import executes, if some file of it imports TensorFlow or Keras."""
    if root in OURS or root in OF_KERAS or root.startswith(NOT_ADD_ONS):
        return []
    spec = spec_of(root)
    place = Path(spec.origin) if spec and spec.has_location and spec.origin else None
    if place is None or not takes_keras(place.parent if place.name == "__init__.py" else place):
        return []
    folder = place.parent.parent if place.name == "__init__.py" else place.parent
    by_path, waiting = dict[Path, Source](), [*files_of_module(folder, root)]
    for file in waiting:  # it grows
        if len(by_path) < MOST_FILES and file not in by_path:
            by_path[file] = read_file(file, folder)
            names = names_imported(by_path[file], _at_once)
            waiting += [
                each for name in names if name.partition(".")[0] == root for each in files_of_module(folder, name)
            ]
    return [*by_path.values()]


def _at_once(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a file that are no part of functions."""
    for part in ast.iter_child_nodes(node):
        if not isinstance(part, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            yield part
            yield from _at_once(part)
