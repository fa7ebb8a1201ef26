"""Notebooks, whose code cells run in order as parts of one program, and the scripts that nbconvert makes of them."""

from __future__ import annotations

import ast
import linecache
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from dovetail.compat.source.sources import CELL_IN_PYTHON, cells, parse


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
        if number is not None or b"get_ipython" in code:
            tree.body.sort(key=lambda node: not _is_of_future(node))  # IPython takes them anywhere in a cell
        yield name, tree


def _is_of_future(node: ast.stmt) -> bool:
    return isinstance(node, ast.ImportFrom) and node.module == "__future__"


class Shell:
    """IPython's shell, whose magics run Python or do nothing, as in a notebook.

    Args:
        execute: (syntax tree, name of the code) → None.
    """

    def __init__(self, execute: Callable[[ast.Module, str], None]) -> None:
        self._execute = execute

    def names(self) -> dict[str, Any]:
        """The names that a notebook has from the start."""
        return {"display": print, "get_ipython": lambda: self}

    def run_cell_magic(self, name: str, line: str, cell: str) -> None:
        """Run a cell whose first line is a magic, if it is in Python."""
        if CELL_IN_PYTHON.fullmatch(f"%%{name}"):
            self._execute(parse(cell.encode()), f"<%%{name}>")

    def run_line_magic(self, name: str, line: str) -> None:
        """Run the statement of `%time`."""
        if name == "time":
            self.run_cell_magic(name, "", line)

    def magic(self, line: str) -> None:
        """Run a line without its `%`."""
        name, _, rest = line.partition(" ")
        self.run_line_magic(name, rest)

    def system(self, command: str) -> None:
        """Leave out a command of the operating system."""
