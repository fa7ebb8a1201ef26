"""The names of TensorFlow 1.15 with its contrib, and of Keras 2.3: which are offered, and how many programs use each.

    python -m tests.compat.tensorflow.old_names              looks again at which names are offered
    python -m tests.compat.tensorflow.old_names list FOLDER  downloads the packages into FOLDER, and reads their names
    python -m tests.compat.tensorflow.old_names count FOLDER… counts uses; a folder in FOLDER is a program

The file old_names.txt has a line for each name: the library, the name, "offered" or "missing", the number of files that
use it, and that of programs.  The files of names.txt are counted, too, as one program.  Names of `tf.raw_ops`
and of `keras.backend` are not among them: tests of their own compare these.
"""

from __future__ import annotations

import ast
import functools
import os
import re
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

HERE = Path(__file__).parent
FILE = HERE / "old_names.txt"
PACKAGES = {  # requirement → how pip downloads it
    "tensorflow-cpu==1.15.0": "--platform manylinux2010_x86_64 --python-version 3.7 --only-binary :all:",
    "tensorflow-estimator==1.15.1": "--python-version 3.7 --only-binary :all:",
    "keras==2.3.1": "--no-binary :all: --no-build-isolation",
}
ROOTS = {"tensorflow_core._api.v1": "", "tensorflow_estimator.python.estimator.api._v1.estimator": "estimator"}
WANTED = re.compile(r"/(_api/v1|contrib|api/_v1)/|^\w+/__init__")  # files of a wheel
CONTRIB, KERAS = "tensorflow_core.contrib", "keras"
LEFT_OUT = re.compile(r"(raw_ops|compat\.v[12]|keras\.backend)(\.|$)|.*(^|\.)_")
PRIVATE = {"backend", "engine", "legacy"}  # the modules of Keras that are no names of programs


class Row(NamedTuple):
    """A line of the file."""

    library: str
    name: str
    state: str = "missing"
    files: int = 0
    programs: int = 0


class Archive:
    """The modules of Python in a wheel or a source, by their dotted names; nothing of them runs."""

    def __init__(self, path: Path) -> None:
        self.texts = {_module(name): text for name, text in _files(path) if name.endswith(".py")}
        self._known: dict[str, dict[str, str]] = {}

    def inside(self, package: str) -> list[str]:
        """The modules of a package, with itself."""
        return sorted(name for name in self.texts if f"{name}.".startswith(f"{package}."))

    def names(self, module: str) -> dict[str, str]:
        """The public names of a module → the dotted name from which it imports each; "" for its own."""
        if module not in self._known:
            self._known[module] = {}  # modules may import each other
            text = self.texts.get(module, "")
            found = dict(pair for node in _statements(ast.parse(text).body) for pair in self._made(node, module))
            listed = _listed(text)
            self._known[module] = {n: f for n, f in found.items() if n in listed or (not listed and n[0] != "_")}
        return self._known[module]

    def _made(self, node: Any, module: str) -> Iterator[tuple[str, str]]:
        """The names that a statement makes."""
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            yield node.name, ""
        elif isinstance(node, ast.Assign):
            yield from ((target.id, "") for target in node.targets if isinstance(target, ast.Name))
        elif isinstance(node, ast.ImportFrom) and node.module != "__future__":
            origin = self._origin(node, module)
            for alias in node.names:
                if alias.name == "*":
                    yield from ((name, f"{origin}.{name}") for name in self.names(origin))
                else:
                    yield alias.asname or alias.name, f"{origin}.{alias.name}"

    def _origin(self, node: ast.ImportFrom, module: str) -> str:
        """The module that a statement imports from."""
        if not node.level:
            return re.sub(r"^tensorflow\b", "tensorflow_core", node.module or "")
        is_package = any(name.startswith(f"{module}.") for name in self.texts)
        parts = module.split(".")[: len(module.split(".")) - node.level + is_package]
        return ".".join([*parts, *(node.module or "").split(".")]).rstrip(".")


def _files(path: Path) -> Iterator[tuple[str, str]]:
    """The files of Python in an archive: name and text."""
    if path.suffix == ".whl":
        with zipfile.ZipFile(path) as wheel:
            wanted = (name for name in wheel.namelist() if WANTED.search(name))
            yield from ((name, wheel.read(name).decode()) for name in wanted if name.endswith(".py"))
        return
    with tarfile.open(path) as archive:
        for member in archive.getmembers():
            file = archive.extractfile(member) if member.name.endswith(".py") else None
            if file is not None:
                yield member.name.partition("/")[2], file.read().decode()


def _module(path: str) -> str:
    return path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def _statements(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements of a module, also those in its conditions."""
    for node in body:
        yield node
        if isinstance(node, (ast.If, ast.Try)):
            yield from _statements([*node.body, *node.orelse])


def _listed(text: str) -> set[str]:
    """The names that a module's lists let through; empty without a list."""
    lists = re.findall(r"(?:_allowed_symbols|__all__)\w*\s*\+?=\s*\[\s*(['\"].*?)\]", text, re.DOTALL)
    names = {name for one in lists for name in re.findall(r"['\"](\w+)['\"]", one)}
    return names | ({*re.findall(r"^@@(\w+)", text, re.MULTILINE)} if "remove_undocumented(" in text else set())


def _archive(folder: Path, requirement: str) -> Path | None:
    """The file of a package in a folder; None if it is not there."""
    start = requirement.replace("==", "-").lower()
    return next((path for path in folder.iterdir() if path.name.lower().replace("_", "-").startswith(start)), None)


def listed(folder: Path) -> list[tuple[str, str]]:
    """The libraries and names of the packages, which are downloaded if the folder lacks them."""
    for requirement, how in PACKAGES.items():
        if _archive(folder, requirement) is None:
            command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", str(folder), *how.split()]
            subprocess.run([*command, requirement], check=True)
    wheel, estimator, source = (Archive(path) for one in PACKAGES if (path := _archive(folder, one)))
    names = {("tf", name) for archive in (wheel, estimator) for name in _of_api(archive)}
    names |= {("tf", f"contrib.{name}") for name in _of_contrib(wheel)}
    names |= {("keras", name) for name in _of_keras(source)}
    return sorted(pair for pair in names if not LEFT_OUT.match(pair[1]))


def _of_api(archive: Archive) -> Iterator[str]:
    """The public names of TensorFlow, or of its estimators."""
    for root, prefix in ROOTS.items():
        for module in archive.inside(root):
            inner = module.removeprefix(root)[1:]
            place = ".".join(filter(None, [prefix, "" if inner == "v1" else inner]))
            yield from (".".join(filter(None, [place, name])) for name in archive.names(module))


def _of_contrib(archive: Archive) -> Iterator[str]:
    """The names of contrib's packages, and of the modules that are names of them."""
    packages = [name for name in archive.names(CONTRIB) if f"{CONTRIB}.{name}" in archive.texts]
    for package in packages:
        for name, origin in archive.names(f"{CONTRIB}.{package}").items():
            yield f"{package}.{name}"
            if origin in archive.texts and origin.startswith(CONTRIB):
                yield from (f"{package}.{name}.{own}" for own, its in archive.names(origin).items() if not its)


def _of_keras(archive: Archive) -> Iterator[str]:
    """The names of Keras' modules: their own, and those of packages."""
    for module in archive.inside(KERAS):
        inner = module.removeprefix(KERAS)[1:]
        if inner.partition(".")[0] not in PRIVATE:
            is_package = len(archive.inside(module)) > 1
            for name, origin in archive.names(module).items():
                if is_package or not origin:
                    yield f"{inner}.{name}".lstrip(".")


# -- what is offered, and what programs use ---------------------------------------------------------------------------


def rows() -> list[Row]:
    """The lines of the file."""
    lines = map(str.split, FILE.read_text().splitlines())
    return [Row(library, name, state, int(files), int(count)) for library, name, state, files, count in lines]


def written(found: Iterable[Row]) -> str:
    """The text of the file."""
    return "".join(f"{' '.join(map(str, row))}\n" for row in found)


def problem(library: str, name: str) -> str:
    """The message of the error for a name; empty if it is offered."""
    place: Any = _root(library)
    for part in name.split("."):
        if not isinstance(place, ModuleType):
            return "" if hasattr(place, part) else f"{name} is no attribute"
        try:
            place = getattr(place, part)
        except (AttributeError, ImportError) as error:
            return str(error)
    return ""


@functools.cache
def _root(library: str) -> ModuleType:
    from dovetail.compat import tensorflow

    if library == "tf":
        return tensorflow.compat.v1
    import keras

    import dovetail.compat.keras2

    assert dovetail.compat.keras2
    return keras


def looked_up(found: Iterable[Row]) -> list[Row]:
    """The lines, with the names that are offered now."""
    return [row._replace(state="missing" if problem(row.library, row.name) else "offered") for row in found]


def counted(found: Sequence[Row], folders: Iterable[Path]) -> list[Row]:
    """The lines, with the files and programs that use each name."""
    from dovetail.compat.source import sources, uses

    known = {(row.library, row.name) for row in found}
    users: dict[tuple[str, str], set[tuple[str, str]]] = {}
    for program in sorted(path for folder in folders for path in folder.iterdir() if path.is_dir()):
        for one in sources.read([program])[0]:
            of_file = uses.find([one])
            for library, these in (("tf", uses.of_tensorflow(of_file)), ("keras", uses.of_keras(of_file))):
                for name in {longest for use in these if (longest := _longest(library, use.name, known))}:
                    users.setdefault((library, name), set()).add((str(program), one.path))
    before = dict(zip(*[iter((HERE / "names.txt").read_text().split())] * 2, strict=True))
    made = []
    for row in found:
        files, old = users.get(row[:2], set()), int(before.get(row.name, 0)) if row.library == "tf" else 0
        made.append(row._replace(files=len(files) + old, programs=len({name for name, _ in files}) + (old > 0)))
    return made


def _longest(library: str, name: str, known: set[tuple[str, str]]) -> str | None:
    """The longest beginning of a dotted name that is in the lists."""
    parts = name.split(".")
    starts = (".".join(parts[:count]) for count in range(len(parts), 0, -1))
    return next((start for start in starts if (library, start) in known), None)


def main(arguments: list[str]) -> None:
    os.environ["KERAS_BACKEND"] = "dovetail"
    found = rows() if FILE.is_file() else []
    if arguments[:1] == ["list"]:
        known = {row[:2]: row for row in found}
        found = [known.get(pair, Row(*pair)) for pair in listed(Path(arguments[1]))]
    if arguments[:1] == ["count"]:
        found = counted(found, map(Path, arguments[1:]))
    FILE.write_text(written(looked_up(found)))


if __name__ == "__main__":
    main(sys.argv[1:])
