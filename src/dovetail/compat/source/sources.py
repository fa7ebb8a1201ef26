"""The sources of a program: Python files and the code cells of notebooks, parsed and never executed."""

from __future__ import annotations

import ast
import json
import os
import re
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

SUFFIXES = (".py", ".ipynb")
NOT_THE_USERS = ("__pycache__", "node_modules", "site-packages")
MAGIC = re.compile(r"^(\s*)(?:\w+\s*=\s*)?[%!].*$|^(\s*).*\?$", re.MULTILINE)  # of IPython: %time f(), x = !ls, f?
CELL_IN_PYTHON = re.compile(r"\s*%%(capture|prun|px|snakeviz|time|timeit|mprun|memit)\b.*")
PYTHON_2 = "Python 2"  # the beginning of the reason why such a file is not read
SAID_BY_PYTHON_2 = ("print", "exec", "multiple exception types", "octal", "backquote", "inconsistent use of tabs")
WRITTEN_IN_PYTHON_2 = re.compile(
    r"^\s*(print\s+[^=(\s]|exec\s+[\"']|raise\s+\w+\s*,|except\s[\w.\s]+,)|<>|`", re.MULTILINE
)


@dataclass(frozen=True)
class Place:
    """A line of a file, or of a cell of a notebook; both count from 1."""

    path: str
    line: int
    cell: int | None = None

    def __str__(self) -> str:
        return f"{self.path}:{self.line}" if self.cell is None else f"{self.path}[{self.cell}]:{self.line}"


@dataclass(frozen=True)
class Source:
    """One file: its path, its dotted names for imports, its text, and one syntax tree for each cell."""

    path: str
    modules: tuple[str, ...]
    text: str
    parts: tuple[tuple[int | None, ast.Module], ...]

    @property
    def package(self) -> str:
        """The package that the file's relative imports start from."""
        module = self.modules[0]
        return module if self.path.endswith("__init__.py") else module.rpartition(".")[0]


@dataclass(frozen=True)
class Unread:
    """A file or a cell that is not Python 3, and the reason."""

    place: Place
    why: str


def read(paths: Iterable[Path]) -> tuple[list[Source], list[Unread]]:
    """Read all sources at or below the paths; return them, and the files and cells that could not be read.

    Raises:
        FileNotFoundError: a path does not exist, or a folder has no Python in it.
    """
    sources, unread = [], []
    for root in paths:
        for path in _files(root):
            source, failed = _source(path, root)
            sources.append(source)
            unread += failed
    return sources, unread


def read_program(path: Path, folder: Path) -> tuple[list[Source], list[Unread]]:
    """Read a program, then the files that it imports from a folder; return the same as `read`.

    Raises:
        FileNotFoundError: there is no such file.
    """
    if not path.is_file():
        raise FileNotFoundError(f"there is no file {str(path)!r}.")
    sources, unread = [], []
    waiting, seen = [path], {path}
    for each in waiting:  # it grows
        source, failed = _source(each, folder)
        sources.append(source)
        unread += failed
        found = dict.fromkeys(near for name in _imported(source) for near in _files_of_module(folder, name))
        waiting += [near for near in found if near not in seen]
        seen.update(found)
    return sources, unread


def imported_files(source: Source, sources: Iterable[Source]) -> list[Source]:
    """A file, and the files among some sources that it imports, also through others."""
    by_module = {module: each for each in sources for module in each.modules}
    found = {source.path: source}
    for each in (waiting := [source]):  # it grows
        for name in _imported(each):
            parts = name.split(".")
            for count in range(1, len(parts) + 1):
                other = by_module.get(".".join(parts[:count]))
                if other is not None and other.path not in found:
                    found[other.path] = other
                    waiting.append(other)
    return [*found.values()]


def _source(path: Path, root: Path) -> tuple[Source, list[Unread]]:
    found, failed = cells(path)
    parts = []
    for number, code in found:
        try:
            parts.append((number, parse(code)))
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            failed.append(_unread(path, number, code, error))
    text = b"\n".join(code for _, code in found).decode(errors="replace")
    return Source(str(path), tuple(_module_names(path, root)), text, tuple(parts)), failed


def _imported(source: Source) -> Iterator[str]:
    """The dotted names in the import statements of a file, seen from the folder of the program."""
    package = source.modules[-1] if source.path.endswith("__init__.py") else source.modules[-1].rpartition(".")[0]
    for node in (node for _, tree in source.parts for node in ast.walk(tree)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from import_names(node, package)


def _files_of_module(folder: Path, name: str) -> Iterator[Path]:
    """The files in a folder that are executed for an import of a dotted name."""
    parts = name.split(".")
    for count in range(1, len(parts) + 1):
        place = folder.joinpath(*parts[:count])
        yield from (file for file in (place / "__init__.py", place.with_name(f"{place.name}.py")) if file.is_file())


def import_names(node: ast.ImportFrom, package: str) -> list[str]:
    """The dotted name of each thing that a statement imports in a module of a package; the module's name for `*`."""
    parts = package.split(".")[: 1 - node.level or None] if node.level and package else []
    module = ".".join([*parts, *([node.module] if node.module else [])])
    return [module if alias.name == "*" else f"{module}.{alias.name}" for alias in node.names]


def _files(root: Path) -> Iterator[Path]:
    if root.is_file():
        yield root
        return
    if not root.exists():
        raise FileNotFoundError(f"there is no file or folder {str(root)!r}.")
    found = False
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(name for name in folders if _is_the_users(Path(folder, name)))
        for name in sorted(files):
            if name.endswith(SUFFIXES):
                found = True
                yield Path(folder, name)
    if not found:
        raise FileNotFoundError(f"the folder {str(root)!r} has no .py file and no .ipynb file.")


def _is_the_users(folder: Path) -> bool:
    is_environment = (folder / "pyvenv.cfg").exists()
    return not (folder.name.startswith(".") or folder.name in NOT_THE_USERS or is_environment)


def _module_names(path: Path, root: Path) -> Iterator[str]:
    """The names by which other files may import this one: in its package, and from the folder that is read."""
    module = path.parent if path.name == "__init__.py" else path.with_suffix("")
    package = path.resolve().parent
    while (package / "__init__.py").exists():
        package = package.parent
    yield ".".join(module.resolve().relative_to(package).parts)
    if root.is_dir():
        yield ".".join(module.relative_to(root).parts)


# -- notebooks --------------------------------------------------------------------------------------------------------


def cells(path: Path) -> tuple[list[tuple[int | None, bytes]], list[Unread]]:
    """The pieces of code in a file, each with the number of its cell; and the file, if it is a damaged notebook."""
    try:
        data = path.read_bytes()
    except OSError as error:
        return [], [Unread(Place(str(path), 1), error.strerror or str(error))]
    if path.suffix != ".ipynb":
        return [(None, data)], []
    try:
        notebook = json.loads(data)
        language = notebook.get("metadata", {}).get("kernelspec", {}).get("language", "python")
        if language.lower() != "python":
            return [], [Unread(Place(str(path), 1), f"a notebook in {language}")]
        all_cells = [cell for sheet in notebook.get("worksheets", [notebook]) for cell in sheet["cells"]]
        code = [(number, _code(cell)) for number, cell in enumerate(all_cells, 1) if cell["cell_type"] == "code"]
    except (ValueError, KeyError, TypeError, AttributeError):
        return [], [Unread(Place(str(path), 1), "not a notebook: its JSON is damaged or of another kind")]
    return [(number, text.encode()) for number, text in code], []


def _code(cell: dict) -> str:
    """A cell's Python without a magic on its first line; empty if the cell is in another language."""
    source = cell.get("source", cell.get("input", ""))
    text = source if isinstance(source, str) else "".join(source)
    if text.lstrip().startswith("%%"):
        magic, _, rest = text.lstrip().partition("\n")
        return f"\n{rest}" if CELL_IN_PYTHON.fullmatch(magic) else ""
    return text


# -- parsing ----------------------------------------------------------------------------------------------------------


def parse(code: bytes) -> ast.Module:
    """The syntax tree of a file or a cell, whose magics count as `pass`."""
    with warnings.catch_warnings():  # strings like "\d" warn, and nothing runs
        warnings.simplefilter("ignore")
        try:
            return ast.parse(code)
        except SyntaxError:
            without = MAGIC.sub(lambda found: f"{found[1] or found[2] or ''}pass", code.decode())
            if without.encode() == code:
                raise
            try:
                return ast.parse(without)
            except SyntaxError:
                pass  # report the first error, about the code as it is
            raise


def _unread(path: Path, cell: int | None, code: bytes, error: Exception) -> Unread:
    line = (getattr(error, "lineno", None) or 1) if isinstance(error, SyntaxError) else 1
    said = error.msg if isinstance(error, SyntaxError) else str(error) or type(error).__name__
    place = Place(str(path), line, cell)
    lines = code.decode(errors="replace").splitlines()
    at = lines[line - 1] if line <= len(lines) else ""
    if WRITTEN_IN_PYTHON_2.search(at) or any(word in said.lower() for word in SAID_BY_PYTHON_2):
        return Unread(place, f"{PYTHON_2}, which has to be converted first (2to3 does it): {said}")
    if "null bytes" in said:
        return Unread(place, "no text: it has null bytes")
    return Unread(place, f"not Python 3: {said}")
