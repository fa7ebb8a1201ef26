"""The sources of a program: Python files and the code cells of notebooks, parsed and never executed."""

from __future__ import annotations

import ast
import json
import os
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib.util import decode_source
from itertools import accumulate
from pathlib import Path

from dovetail.compat.source.outside import INSTALLED, folder_of

SUFFIXES = (".py", ".ipynb")
NOT_THE_USERS = ("__pycache__", "node_modules", *INSTALLED)
MAGIC = re.compile(  # a line of IPython: %time f(), x = !ls, ?f, f??
    r"(?P<indent>\s*)(?:(?P<target>[\w\s,.]+=\s*)?(?:%time\s+(?P<timed>[^-\s].*)|[%!?].*)|.*\?\s*)"
)
CELL_IN_PYTHON = re.compile(r"\s*%%(capture|prun|px|snakeviz|time|timeit|mprun|memit)\b.*")
PYTHON_2 = "Python 2"  # the beginning of the reason why such a file is not read
SAID_BY_PYTHON_2 = ("print", "exec", "parenthesized", "octal", "backquote", "inconsistent use of tabs")
WRITTEN_IN_PYTHON_2 = re.compile(
    r"^\s*(print\s+[^=(\s]|exec\s+[\"']|raise\s+\w+\s*,|except\s[\w.\s]+,)|<>|`|\b(0[xX][\da-fA-F]+|\d+)[lL]\b|\bur[\"']",
    re.MULTILINE,
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
        return _package(max(self.modules, key=len), self.path)


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
    return _apart(_source(path, root) for root in paths for path in files_in(root))


def read_program(paths: Path | Sequence[Path], folder: Path) -> tuple[list[Source], list[Unread]]:
    """Read a program, or several files, then what they import from a folder; return the same as `read`.

    A file that changes `sys.path` may also import from the two folders above.  Packages of the other folders of
    `sys.path` are read if they import TensorFlow or Keras, and are not installed.

    Raises:
        FileNotFoundError: there is no such file.
    """
    first = [paths] if isinstance(paths, Path) else paths
    for path in first:
        if not path.is_file():
            raise FileNotFoundError(f"there is no file {str(path)!r}.")
    by_path: dict[Path, tuple[Source, list[Unread]]] = {}
    above = Path(os.path.abspath(folder)).parents[:2]
    waiting = [(path, folder) for path in first]
    for each, root in waiting:  # it grows
        if each not in by_path:
            by_path[each] = source, _ = _source(each, root)
            places = [root, folder, *above] if "sys.path" in source.text else [root, folder]
            for name in names_imported(source):
                place = next((place for place in places if [*files_of_module(place, name)]), None) or folder_of(name)
                waiting += [(file, place) for file in files_of_module(place, name)] if place else []
    return _apart(by_path.values())


def _apart(found: Iterable[tuple[Source, list[Unread]]]) -> tuple[list[Source], list[Unread]]:
    found = [*found]
    return [source for source, _ in found], [one for _, unread in found for one in unread]


def imported_files(source: Source, sources: Iterable[Source]) -> list[Source]:
    """A file, and the files among some sources that it imports, also through others."""
    by_module = {module: each for each in sources for module in each.modules}
    by_path: dict[str, Source] = {}
    for each in (waiting := [source]):  # it grows
        if each.path not in by_path:
            by_path[each.path] = each
            waiting += [
                by_module[start] for name in names_imported(each) for start in starts(name) if start in by_module
            ]
    return [*by_path.values()]


def read_file(path: Path, root: Path) -> Source:
    """Read one file, whose dotted names start at a folder; what is not Python 3 is left out."""
    return _source(path, root)[0]


def _source(path: Path, root: Path) -> tuple[Source, list[Unread]]:
    code_cells, parts, unread = [], [], []
    try:
        code_cells = cells(path)
    except (OSError, SyntaxError) as error:
        why = error.strerror if isinstance(error, OSError) else error.msg
        unread.append(Unread(Place(str(path), 1), why or str(error)))
    for number, code in code_cells:
        try:
            parts.append((number, parse(code)))
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            unread.append(_unread(path, number, code, error))
    text = b"\n".join(code for _, code in code_cells).decode(errors="replace")
    return Source(str(path), tuple(_module_names(path, root)), text, tuple(parts)), unread


def names_imported(source: Source, walk: Callable[[ast.AST], Iterable[ast.AST]] = ast.walk) -> Iterator[str]:
    """The dotted names in the import statements of a file, seen from the folder of the program.

    Args:
        source: the file.
        walk: a syntax tree → its nodes that count.
    """
    package = _package(source.modules[-1], source.path)
    for node in (node for _, tree in source.parts for node in walk(tree)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from filter(None, import_names(node, package))


def files_of_module(folder: Path, name: str) -> Iterator[Path]:
    """The files in a folder that are executed for an import of a dotted name."""
    for start in starts(name):
        place = folder.joinpath(*start.split("."))
        yield from (file for file in (place / "__init__.py", place.with_name(f"{place.name}.py")) if file.is_file())


def starts(name: str) -> Iterator[str]:
    """The dotted names that a dotted name begins with: a, a.b and a.b.c for a.b.c."""
    return accumulate(name.split("."), "{}.{}".format)


def import_names(node: ast.ImportFrom, package: str) -> list[str]:
    """The dotted name of each thing that a statement imports in a module of a package; the module's name for `*`.

    The package is "" outside of packages, and so is the name for `from . import *` there.
    """
    above = package.split(".")[: 1 - node.level or None] if node.level and package else []
    module = ".".join(filter(None, [*above, node.module]))
    return [module if alias.name == "*" else ".".join(filter(None, [module, alias.name])) for alias in node.names]


def _package(module: str, path: str) -> str:
    """The package that the relative imports of a module start from."""
    return module if path.endswith("__init__.py") else module.rpartition(".")[0]


def files_in(root: Path) -> list[Path]:
    """The files of programs at or below a path.

    Raises:
        FileNotFoundError: there are none.
    """
    paths = [root] if root.is_file() else []
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(name for name in folders if _is_the_users(Path(folder, name)))
        paths += [Path(folder, name) for name in sorted(files) if name.endswith(SUFFIXES)]
    if not paths and root.exists():
        raise FileNotFoundError(f"the folder {str(root)!r} has no .py file and no .ipynb file.")
    if not paths:
        raise FileNotFoundError(f"there is no file or folder {str(root)!r}.")
    return paths


def _is_the_users(folder: Path) -> bool:
    is_environment = (folder / "pyvenv.cfg").exists()
    return not (folder.name.startswith(".") or folder.name in NOT_THE_USERS or is_environment)


def _module_names(path: Path, root: Path) -> Iterator[str]:
    """The names by which other files may import this one: in its package, and from the folder that is read."""
    path, root = Path(os.path.abspath(path)), Path(os.path.abspath(root))
    module = path.parent if path.name == "__init__.py" else path.with_suffix("")
    package = path.parent
    while (package / "__init__.py").exists():
        package = package.parent
    yield ".".join(module.relative_to(package).parts)
    if root.is_dir() and module.is_relative_to(root):
        yield ".".join(module.relative_to(root).parts)


# -- notebooks --------------------------------------------------------------------------------------------------------


def cells(path: Path) -> list[tuple[int | None, bytes]]:
    """The pieces of code in a file: the code cells of a notebook with their numbers, or all of it with None.

    Raises:
        OSError: the file cannot be read.
        SyntaxError: it is a damaged notebook, or one in another language.
    """
    data = path.read_bytes()
    if path.suffix != ".ipynb":
        return [(None, data)]
    try:
        notebook = json.loads(data)
        language = notebook.get("metadata", {}).get("kernelspec", {}).get("language", "python")
        all_cells = [cell for sheet in notebook.get("worksheets", [notebook]) for cell in sheet["cells"]]
        code = [(number, _code(cell)) for number, cell in enumerate(all_cells, 1) if cell["cell_type"] == "code"]
    except (ValueError, KeyError, TypeError, AttributeError):
        raise SyntaxError("not a notebook: its JSON is damaged or of another kind") from None
    if language.lower() != "python":
        raise SyntaxError(f"a notebook in {language}")
    return [(number, text.encode()) for number, text in code]


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
    """The syntax tree of a file or a cell; the lines of IPython in it do nothing, but `%time` leaves its statement."""
    with warnings.catch_warnings():  # strings like "\d" warn, and nothing runs
        warnings.simplefilter("ignore")
        try:
            return ast.parse(code)
        except SyntaxError as first:
            lines, error = decode_source(code).split("\n"), first
            while _drop_magic(lines, (error.lineno or 1) - 1):
                try:
                    return ast.parse("\n".join(lines))
                except SyntaxError as another:
                    error = another
            raise  # the first error, about the code as it is


def _drop_magic(lines: list[str], at: int) -> bool:
    """Replace a line of IPython, with the lines that continue it; return whether it is one."""
    while 0 < at <= len(lines) and lines[at - 1].endswith("\\"):
        at -= 1
    match = MAGIC.fullmatch(lines[at]) if at < len(lines) else None
    if match is None:
        return False
    if match["timed"]:
        lines[at] = f"{match['indent']}{match['target'] or ''}{match['timed']}"
        return True
    continued = lines[at]
    lines[at] = f"{match['indent']}pass"
    while continued.endswith("\\") and (at := at + 1) < len(lines):
        continued, lines[at] = lines[at], ""
    return True


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
