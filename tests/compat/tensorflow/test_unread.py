"""Unread arguments: each is in a table with its reason, and all arguments that change results are read."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from dovetail.compat.tensorflow.entries import import_all
from dovetail.compat.tensorflow.table import IGNORED
from dovetail.compat.tensorflow.unread import OTHERS, TENSORFLOW

SOURCES = Path(__file__).parents[3] / "src"
TABLES = {"dovetail.compat.tensorflow": TENSORFLOW, **OTHERS}
PLACES = {  # package → its files
    "dovetail.compat.tensorflow": sorted((SOURCES / "dovetail/compat/tensorflow").rglob("*.py")),
    "dovetail.compat.keras2": sorted((SOURCES / "dovetail/compat/keras2").rglob("*.py")),
    "dovetail.backend": sorted((SOURCES / "dovetail/backend").rglob("*.py")),
    "keras_dovetail": sorted((SOURCES / "keras_dovetail").rglob("*.py")),
}
NAMED_BY_THE_TABLE = {"constant.name", "_tensor.name", "folded.name", "call.name"}  # `table.told` reads these
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


def unread_of(package: str) -> set[str]:
    """The parameters in a package that no function reads, and those that words of the table of names ignore."""
    found = {one for path in PLACES[package] for one in unread(path)}
    import_all()
    return found | IGNORED if package == "dovetail.compat.tensorflow" else found


def unread(path: Path) -> Iterator[str]:
    """The parameters in a file that the bodies of functions do not read, as keys of the tables."""
    yield from _unread(ast.parse(path.read_text()), "")


def _unread(node: ast.AST, within: str) -> Iterator[str]:
    for child in ast.iter_child_nodes(node):
        title = within
        if isinstance(child, FUNCTIONS):
            body = [child.body] if isinstance(child, ast.Lambda) else child.body
            owner = getattr(child, "name", "lambda")
            title = within or owner
            for parameter in parameters(child):
                if not is_read(parameter, body) and not is_excused(parameter, child):
                    yield f"{title if isinstance(node, ast.ClassDef) else owner}.{parameter}"
            yield from (f"{title if isinstance(node, ast.ClassDef) else owner}.{word}" for word in unread_words(child))
            yield from _unread(child, "")
            continue
        if isinstance(child, ast.ClassDef):
            yield from _unread(child, child.name)
            continue
        yield from _unread(child, title)


def unread_words(function: ast.AST) -> set[str]:
    """The parameters that `table.takes` gives to a function as attributes of `given`, and that it does not read."""
    lists = [d.args[0] for d in getattr(function, "decorator_list", ()) if ast.unparse(d).startswith("takes(")]
    if not lists or parameters(function)[-1] != "given":
        return set()
    nodes = list(ast.walk(function))
    is_passed_on = any(isinstance(n, ast.Call) and "given" in [ast.unparse(one) for one in n.args] for n in nodes)
    texts = [n.value for n in ast.walk(lists[0]) if isinstance(n, ast.Constant) and isinstance(n.value, str)]
    ignored = {word for d in function.decorator_list for k in d.keywords for word in ast.unparse(k.value)[1:-1].split()}
    words = {word.partition("=")[0] for text in texts for word in text.split()} - ignored
    return set() if is_passed_on else words - {n.attr for n in nodes if isinstance(n, ast.Attribute)}


def parameters(function: ast.AST) -> list[str]:
    given = function.args
    found = [*given.posonlyargs, *given.args, *given.kwonlyargs, *filter(None, [given.vararg, given.kwarg])]
    return [one.arg for one in found]


def is_read(parameter: str, body: list[ast.AST]) -> bool:
    names = {n.id for part in body for n in ast.walk(part) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
    return parameter in names or "locals" in names


def is_excused(parameter: str, function: ast.AST) -> bool:
    """Whether Python, an interface or the table of names accounts for an unread parameter."""
    if parameter in ("self", "cls") or parameter.startswith("_") or isinstance(function, ast.Lambda):
        return True
    if function.name == "__exit__" or only_raises(function):
        return True
    decorators = [ast.unparse(decorator) for decorator in function.decorator_list]
    return parameter == "name" and any("scope=" in text or text.startswith("_decay(") for text in decorators)


def only_raises(function: ast.AST) -> bool:
    """Whether a function is abstract: its end raises an error, or it has nothing but a docstring."""
    returns = any(isinstance(part, (ast.Return, ast.Yield)) for part in ast.walk(function))
    return not returns and isinstance(function.body[-1], ast.Raise)


def covers(key: str, found: str) -> bool:
    return key == found or key == found.rpartition(".")[2]


@pytest.mark.parametrize("package", PLACES)
def test_each_unread_parameter_has_a_reason(package):
    table = TABLES[package]
    found = unread_of(package)
    named = NAMED_BY_THE_TABLE if table is TENSORFLOW else set()
    assert sorted(one for one in found - named if not any(covers(key, one) for key in table)) == []


@pytest.mark.parametrize("package", PLACES)
def test_each_reason_is_of_an_unread_parameter(package):
    found = unread_of(package)
    assert sorted(key for key in TABLES[package] if not any(covers(key, one) for one in found)) == []
    assert all(reason.endswith(".") for reason in TABLES[package].values())


def test_the_scan_finds_what_is_not_read(tmp_path):
    file = tmp_path / "module.py"
    file.write_text(
        "def f(a, b, *args, c=1, **options):\n    def g(d, e): return a + d\n    return g\n"
        "class C:\n    def __init__(self, x, _y): pass\n    def m(self, z): raise ValueError(z)\n"
        "    def n(self, z): raise ValueError\n    def o(self, z):\n        z = 1\n"
        "@function('n', scope=True)\ndef h(x, name=None): return x\n"
        "@takes('p q=1 r=2', ignores='r')\ndef i(given): return given.p\n"
    )
    assert sorted(unread(file)) == ["C.x", "C.z", "f.args", "f.b", "f.c", "f.options", "g.e", "i.q"]
