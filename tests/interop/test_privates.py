"""The table of the parts of Keras that are not public: other modules name none, and each row is used.

`tests/keras_dovetail/privates_checks.py` looks for each part in the installed Keras, and for the modules of the import
hook.
"""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from dovetail.interop import privates

SOURCE = Path(privates.__file__).parents[2]
TREES = {str(path.relative_to(SOURCE)): ast.parse(path.read_text()) for path in sorted(SOURCE.rglob("*.py"))}
TABLE = "dovetail.interop.privates"

# The import hook starts with Python, long before Dovetail is imported, so it names the modules that it changes itself.
TABLES = ("dovetail/interop/privates.py", "keras_dovetail/finder.py", "keras_dovetail/twins.py")


@pytest.mark.parametrize("name", TREES)
def test_a_module_imports_private_parts_by_the_table(name):
    imports = [node for node in ast.walk(TREES[name]) if isinstance(node, (ast.Import, ast.ImportFrom))]
    named = [node.module for node in imports if isinstance(node, ast.ImportFrom)]
    named += [alias.name for node in imports if isinstance(node, ast.Import) for alias in node.names]
    assert not {each for each in named if str(each).startswith("keras.src")}


@pytest.mark.parametrize("name", [name for name in TREES if name not in TABLES])
def test_a_module_names_private_parts_nowhere_else(name):
    """Check strings; docstrings and comments may tell which part of Keras is meant."""
    nodes = list(ast.walk(TREES[name]))
    docs = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    strings = [node for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    assert [node.value for node in strings if "keras.src" in node.value and id(node) not in docs] == []


def test_each_row_is_used():
    used = set()
    for node in (node for tree in TREES.values() for node in ast.walk(tree)):
        if isinstance(node, ast.ImportFrom) and node.module == TABLE:
            used |= {alias.name for alias in node.names} - {"TESTED", "PRIVATES"}
        elif isinstance(node, ast.Subscript) and ast.unparse(node.value) == "PRIVATES":
            used |= {node.slice.value} if isinstance(node.slice, ast.Constant) else set()
        elif isinstance(node, ast.Attribute) and ast.unparse(node.value) == "privates" and node.attr != "loaded":
            used.add(node.attr)
        elif isinstance(node, ast.Call) and ast.unparse(node.func) == "privates.loaded":
            used.add(ast.literal_eval(node.args[0]))
    assert used == set(privates.PRIVATES)


def test_a_name_that_is_not_in_the_table_is_no_attribute():
    with pytest.raises(ImportError, match="nothing_like_it"):
        exec(f"from {TABLE} import nothing_like_it")
