"""The table of the parts of Keras that are not public: other modules name none, and each row is used.

`tests/keras_dovetail/privates_checks.py` looks for each part in the installed Keras.
"""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from dovetail.interop import privates

SOURCE = Path(privates.__file__).parents[2]
TREES = {str(path.relative_to(SOURCE)): ast.parse(path.read_text()) for path in sorted(SOURCE.rglob("*.py"))}
TABLE = "dovetail.interop.privates"


@pytest.mark.parametrize("name", TREES)
def test_a_module_imports_private_parts_by_the_table(name):
    imports = [node for node in ast.walk(TREES[name]) if isinstance(node, (ast.Import, ast.ImportFrom))]
    named = [node.module for node in imports if isinstance(node, ast.ImportFrom)]
    named += [alias.name for node in imports if isinstance(node, ast.Import) for alias in node.names]
    allowed = {"keras.src.version"} if name == "dovetail/interop/privates.py" else set()
    assert {each for each in named if str(each).startswith("keras.src")} <= allowed


def test_each_row_is_used():
    used = set()
    for node in (node for tree in TREES.values() for node in ast.walk(tree)):
        if isinstance(node, ast.ImportFrom) and node.module == TABLE:
            used |= {alias.name for alias in node.names} - {"TESTED"}
        elif isinstance(node, ast.Call) and ast.unparse(node.func) == "privates.loaded":
            used.add(ast.literal_eval(node.args[0]))
    assert used == set(privates.PRIVATES)


def test_a_name_that_is_not_in_the_table_is_no_attribute():
    with pytest.raises(ImportError, match="nothing_like_it"):
        exec(f"from {TABLE} import nothing_like_it")
