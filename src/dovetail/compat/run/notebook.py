"""The code cells of a notebook, which run in order as parts of one program."""

from __future__ import annotations

import ast
import linecache
from collections.abc import Iterator
from pathlib import Path

from dovetail.compat.source.sources import cells, parse

NAMES = {"display": print}  # names that a notebook has from the start


def trees(path: Path) -> Iterator[tuple[str, ast.Module]]:
    """Parse a file, or a notebook cell by cell, without magics.

    Args:
        path: the file.

    Yields:
        The path, or the name of each cell, "old.ipynb[3]", with its syntax tree; a traceback shows its lines.

    Raises:
        SyntaxError: the file is no notebook of Python, or something in it is not Python 3.
    """
    for number, code in cells(path):
        name = str(path) if number is None else f"{path}[{number}]"
        if number is not None:
            text = code.decode(errors="replace")
            linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
        try:
            tree = parse(code)
        except SyntaxError as error:
            error.filename = name
            raise
        yield name, tree
