"""The layers: imports go one way, also inside functions, and no modules import each other in a circle.

core ← ops ← autodiff, graph ← passes ← plan ← backend, compat, interop, cli; engines import core alone. Imports only
for type checkers do not count.
"""

from __future__ import annotations

import ast
import functools
import importlib
from collections.abc import Iterator
from pathlib import Path

import dovetail
from tests.libraries import require

SOURCE = Path(dovetail.__file__).parent
BELOW = {"core": set(), "engines": {"core"}, "ops": {"core"}}  # package → the packages that it may import
BELOW["autodiff"] = BELOW["graph"] = {"core", "ops", "autodiff", "graph"}
BELOW["passes"] = {"core", "ops", "autodiff", "graph"}
BELOW["plan"] = BELOW["passes"] | {"passes"}
BELOW["interop"] = BELOW["compat"] = BELOW["backend"] = BELOW["plan"] | {"plan", "engines", "interop", "backend"}
BELOW["cli"] = BELOW["backend"] | {"cli", "compat", ""}


def name_of(path: Path) -> str:
    parts = path.relative_to(SOURCE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


FILES = {name_of(path): path for path in sorted(SOURCE.rglob("*.py"))}


def imported(node: ast.AST) -> Iterator[str]:
    """Our modules that a syntax tree imports anywhere."""
    if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
        return
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names if alias.name in FILES)
    elif isinstance(node, ast.ImportFrom) and node.module in FILES:
        for alias in node.names:
            full = f"{node.module}.{alias.name}"
            yield full if full in FILES else node.module
    for child in ast.iter_child_nodes(node):
        yield from imported(child)


@functools.cache
def imports() -> dict[str, set[str]]:
    """Module → our modules that it imports."""
    return {name: set(imported(ast.parse(path.read_text()))) - {name} for name, path in FILES.items()}


def package_of(module: str) -> str:
    return module.split(".")[1] if "." in module else ""


def test_imports_go_one_way():
    upward = [
        f"{module} imports {other}"
        for module, others in imports().items()
        for other in sorted(others)
        if package_of(module) in BELOW and package_of(other) not in BELOW[package_of(module)] | {package_of(module)}
    ]
    assert upward == []


def circles(graph: dict[str, set[str]]) -> list[list[str]]:
    """The sets of modules that reach each other, by Tarjan's algorithm."""
    index: dict[str, int] = {}
    lowest: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(module: str) -> None:
        index[module] = lowest[module] = len(index)
        stack.append(module)
        for other in graph[module]:
            if other not in index:
                visit(other)
                lowest[module] = min(lowest[module], lowest[other])
            elif other in stack:
                lowest[module] = min(lowest[module], index[other])
        if lowest[module] == index[module]:
            members = stack[stack.index(module) :]
            del stack[stack.index(module) :]
            if len(members) > 1:
                found.append(sorted(members))

    for module in graph:
        if module not in index:
            visit(module)
    return found


def test_no_circles_but_that_of_k():
    """Check all circles except K, whose functions call each other through one module that programs may change."""
    assert [found for found in circles(imports()) if "dovetail.backend" not in found] == []


def test_every_package_is_what_its_name_gives():
    for library in ("jax", "keras", "tensorflow", "torch"):
        require(library, "a package stands on it")
    packages = [name for name, path in FILES.items() if path.name == "__init__.py"]
    for name in packages:
        assert importlib.import_module(name).__path__
        above, _, last = name.rpartition(".")
        if above:
            assert getattr(importlib.import_module(above), last) is importlib.import_module(name)
