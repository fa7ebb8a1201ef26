"""The layers: imports go one way, also inside functions, and no modules import each other in a circle.

core ← ops ← graph ← trace ← edit ← batching ← autodiff ← passes ← execute ← choose ← functions ← observe ←
compat.tf_graph ← sessions ← backend, compat, distributed, interop, onnx, saved_model ← federated ← cli and
keras_dovetail; formats import graph and what is below it, engines core alone.
"""

from __future__ import annotations

import ast
import functools
import importlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import dovetail
from tests.libraries import require

SOURCE = Path(dovetail.__file__).parent.parent
FLOORS = (
    "core",
    "ops",
    "graph",
    "trace formats",
    "edit",
    "batching",
    "autodiff",
    "passes",
    "execute",
    "choose",
    "functions",
    "observe",
    "compat.tf_graph",
    "sessions",
    "engines backend compat interop onnx saved_model distributed",
    "federated",
    "cli keras_dovetail __init__ __main__",
)
FLOOR = {package: number for number, packages in enumerate(FLOORS) for package in packages.split()}
# Modules that name a module of a higher floor, each pair for the reason above it.
UP = """
# The name of a log, and of a group of entry points.
core.engines.engine_registry: engines
# Annotations: users' graphs are `Graph`, which edit puts together of the parts of these rooms.
graph.base graph.document graph.effects graph.graph_scopes graph.nesting graph.operation: edit.graph
trace.captures trace.control trace.results trace.trace trace.variables: edit.graph
# The report names K's functions as users do.
observe.explain: backend
"""
# The floors of core, lowest first, each a folder; and their modules in `core` itself, which outside engines import.
CORE = {"base": "dtypes kinds wish", "engines": "engine rules", "values": "tensor", "calls": "op"}
IMPORTERS = {"import_module", "_import_module", "importlib.import_module", "__import__"}
TABLES = {"sys.modules", "_sys.modules"}


def name_of(path: Path) -> str:
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


ROOTS = SOURCE / "dovetail", SOURCE / "keras_dovetail"
FILES = {name_of(path): path for root in ROOTS for path in sorted(root.rglob("*.py"))}


def imported(node: ast.AST) -> Iterator[str]:
    """Our modules that a syntax tree imports when it runs, also by name, also inside functions."""
    if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
        return
    yield from statement(node)
    if isinstance(node, ast.Call) and ast.unparse(node.func) in IMPORTERS:
        yield from text(node.args[0])
    elif isinstance(node, ast.Subscript) and ast.unparse(node.value) in TABLES:
        yield from text(node.slice)
    for child in ast.iter_child_nodes(node):
        yield from imported(child)


def named(tree: ast.AST) -> Iterator[str]:
    """Our modules that a syntax tree names: imports, also for type checkers, and texts "module" or "module:name"."""
    for node in ast.walk(tree):
        yield from statement(node)
        yield from (module for module in text(node) if "." in module)


def statement(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names if alias.name in FILES)
    elif isinstance(node, ast.ImportFrom) and node.module in FILES:
        for alias in node.names:
            full = f"{node.module}.{alias.name}"
            yield full if full in FILES else node.module


def text(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        module = node.value.partition(":")[0]
        if module in FILES:
            yield module


@functools.cache
def imports() -> dict[str, set[str]]:
    """Module → our modules that it imports."""
    return {name: set(imported(ast.parse(path.read_text()))) - {name} for name, path in FILES.items()}


def package_of(module: str) -> str:
    first, *rest = module.split(".")
    inner = ".".join(rest[:2])
    return first if first != "dovetail" else inner if inner in FLOOR else rest[0] if rest else "__init__"


def is_allowed(module: str, other: str) -> bool:
    package, below = package_of(module), package_of(other)
    if package == "engines":
        return below in ("core", "engines")
    side_by_side = below == package or FLOOR[package] >= FLOOR["backend"]
    return FLOOR[below] < FLOOR[package] or (FLOOR[below] == FLOOR[package] and side_by_side)


def listed() -> set[tuple[str, str]]:
    lines = (line.partition(":")[::2] for line in UP.strip().splitlines() if not line.startswith("#"))
    pairs = ((one, other) for ones, others in lines for one in ones.split() for other in others.split())
    return {(f"dovetail.{one}", f"dovetail.{other}") for one, other in pairs}


def test_modules_name_lower_floors_alone():
    pairs = {(name, other) for name, path in FILES.items() for other in named(ast.parse(path.read_text()))}
    up = {(name, other) for name, other in pairs if name != other and not is_allowed(name, other)}
    assert (sorted(up - listed()), sorted(listed() - up)) == ([], [])


def test_contributing_draws_the_floors():
    lines = [[name for name in floor.split() if not name.startswith("__")] for floor in reversed(FLOORS)]
    drawing = "\n".join(map(", ".join, lines))
    assert f"```text\n{drawing}\n```" in (ROOTS[0].parent.parent / "CONTRIBUTING.md").read_text()


def test_core_has_floors():
    above = {name: number for number, names in enumerate(CORE.values()) for name in names.split()}
    folders = {name: number for number, name in enumerate(CORE)}
    parts = {name: name.split(".")[2:] for name in FILES if package_of(name) == "core"}
    floors = {name: (folders if part[0] in folders else above)[part[0]] for name, part in parts.items() if part}
    pairs = [(name, other) for name in floors for other in imports()[name] & floors.keys()]
    assert [(name, other) for name, other in pairs if floors[other] > floors[name]] == []
    printed = (ROOTS[0].parent.parent / "CONTRIBUTING.md").read_text()
    for floor, names in CORE.items():
        assert f"| {', '.join(names.split())} |" in printed.split(f"| `core/{floor}/` ")[1].splitlines()[0]


def test_a_room_has_one_module_of_a_name():
    """Check the rooms but for engines' folders, whose modules of one name have the rules of one subject."""
    rooms = FLOOR.keys() - {"backend", "compat", "formats", "interop"}
    names = Counter((package_of(name), name.rpartition(".")[2]) for name, path in FILES.items() if path.stem[0] != "_")
    own = Counter(path.stem for path in (SOURCE / "dovetail/engines").glob("*.py"))
    parts = {path.stem for path in (SOURCE / "dovetail/engines").glob("*/*.py")} - {"__init__"}
    assert [room for room, number in names.items() if number > 1 and room[0] in rooms - {"engines"}] == []
    assert parts & own.keys() == set()


def test_imports_by_name_are_seen():
    program = (
        "def f():\n    return import_module('dovetail.ops'), sys.modules['dovetail.edit'], __import__('dovetail.core')"
    )
    assert {*imported(ast.parse(program))} == {"dovetail.ops", "dovetail.edit", "dovetail.core"}
    assert {*named(ast.parse("if TYPE_CHECKING:\n    import dovetail.ops.math\nx = 'dovetail.core.op:Op'"))} == {
        "dovetail.ops.math",
        "dovetail.core.op",
    }


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
    packages = [name for name, path in FILES.items() if path.name == "__init__.py" and name.startswith("dovetail")]
    for name in packages:
        assert importlib.import_module(name).__path__
        above, _, last = name.rpartition(".")
        if above:
            assert getattr(importlib.import_module(above), last) is importlib.import_module(name)
