"""The twin branches by which Keras knows the backend; other processes import Keras itself."""

from __future__ import annotations

import ast
import importlib.util
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from dovetail.interop.privates import TESTED
from tests.libraries import require, version_of_keras

require("keras", "the finder is for it")
PACKAGE = Path(__file__).parents[2] / "src" / "keras_dovetail"


def module(name: str):
    """A module, imported without the package, which would change Keras' backend in this process."""
    spec = importlib.util.spec_from_file_location(f"keras_dovetail_{name}", PACKAGE / f"{name}.py")
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


finder, changes = module("finder"), module("twins")
KERAS = Path(importlib.util.find_spec("keras").origin).parents[1]
has_twins = pytest.mark.skipif(
    not finder.has_twins(version_of_keras()), reason="the installed Keras has a list of backends, and no twins"
)


def source_of(name: str) -> str:
    path = KERAS.joinpath(*name.split("."))
    return (path / "__init__.py" if path.is_dir() else path.with_suffix(".py")).read_text()


def twins(text: str) -> str:
    return ast.unparse(changes.with_twins(ast.parse(text))[0])


@has_twins
@pytest.mark.parametrize("name", changes.MODULES)
def test_each_module_has_its_branches(name):
    tree, found = changes.with_twins(ast.parse(source_of(name)))
    assert found == changes.MODULES[name]
    imported = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    called = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)}
    assert any(str(each).startswith("keras_dovetail.") for each in imported | called)


@has_twins
@pytest.mark.parametrize("name", changes.MODULES)
def test_nothing_else_changes(name):
    """Check that without the twins the syntax tree is the original one."""

    class Without(ast.NodeTransformer):
        def visit_If(self, node):
            if "== 'dovetail'" in ast.unparse(node.test):
                return self.visit(node.orelse[0])
            return self.generic_visit(node)

        def visit_Constant(self, node):
            return None if node.value == "dovetail" else node

    tree, _ = changes.with_twins(ast.parse(source_of(name)))
    assert ast.unparse(Without().visit(tree)) == ast.unparse(ast.parse(source_of(name)))


def test_one_import_of_jax_is_left_out_of_a_module():
    before = ast.parse(source_of(changes.IMPORTS_JAX))
    left_out = [node for node in before.body if node not in changes.without_jax(before).body]
    assert [ast.unparse(node.body[0]) for node in left_out] == ["import jax"]
    assert all("jax.monitoring" in ast.unparse(node) for node in left_out)


def test_classes_and_modules_are_renamed():
    text = "if backend() == 'jax':\n    from keras.src.backend.jax.trainer import JAXTrainer as Trainer"
    assert twins(text).splitlines()[:2] == [
        "if backend() == 'dovetail':",
        "    from keras_dovetail.src.trainer import Trainer as Trainer",
    ]


def test_a_chain_keeps_its_order_and_its_end():
    text = "if b == 'tf':\n    x = 1\nelif b == 'jax':\n    x = 2\nelse:\n    x = 3"
    found = {}
    for name in ("tf", "jax", "dovetail", "other"):
        names = {"b": name}
        exec(twins(text), names)
        found[name] = names["x"]
    assert found == {"tf": 1, "jax": 2, "dovetail": 2, "other": 3}


def test_conditions_of_more_than_the_name_get_no_twin():
    text = "if backend() == 'jax' and nnx():\n    pass"
    assert twins(text) == text


def test_the_demo_installs_a_version_that_is_supported():
    extras = tomllib.loads((PACKAGE.parents[1] / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert next(each for each in extras["demo"] if each.startswith("keras")) == f"keras>={TESTED[0]}"


# The settings of Keras 3.16, which import another module at their end.
SETTINGS = """
def floatx(): return "float32"
def epsilon(): return 1e-7
def image_data_format(): return "channels_last"
set_floatx = set_epsilon = set_image_data_format = print
PLUGGABLE_BACKENDS = frozenset(["mlx"])
"""


def run(program: str, path: list[Path] = ()) -> str:
    """The value that a program prints last; packages in `path` come before installed ones."""
    lines = [f"import sys; sys.path[:0] = {[*map(str, path), str(PACKAGE.parent)]}", program]
    env = os.environ | {"DOVETAIL_WHOLE_TRACEBACKS": "1"}  # an error's last line is its message
    done = subprocess.run([sys.executable, "-c", "\n".join(lines)], env=env, capture_output=True, text=True)
    return (done.stdout + done.stderr).strip().splitlines()[-1]


@pytest.fixture
def other_keras(tmp_path):
    """A function that makes a package like a Keras of some version, whose modules have no branches."""

    def make(version: str) -> Path:
        for name in ("keras", "keras/src", "keras/src/backend"):
            tmp_path.joinpath(name).mkdir()
            tmp_path.joinpath(name, "__init__.py").write_text(
                "from keras.src import backend" if name == "keras" else ""
            )
        tmp_path.joinpath("keras/src/version.py").write_text(f'__version__ = "{version}"\n')
        return tmp_path

    return make


def test_other_versions_are_refused(other_keras):
    said = run("import keras_dovetail, keras", [other_keras("3.0.0")])
    assert said.startswith("ImportError") and "3.15.1" in said and "3.0.0" in said


def test_a_keras_without_the_branches_is_refused(other_keras):
    said = run("import keras_dovetail, keras", [other_keras("3.15.1")])
    assert said.startswith("ImportError") and "keras.src.backend" in said and "3.15.1" in said


@pytest.mark.parametrize("version", ["3.16.0", "3.16.1.dev20261101"])
def test_a_newer_keras_gets_the_name_in_its_list(other_keras, version):
    folder = other_keras(version)
    shown = "from keras.src import backend as b\nprint(sorted(b.names), sorted(b.common.early))\nraise SystemExit"
    for name, text in (
        ("__init__", shown),
        ("src/backend/__init__", "from keras.src.backend.config import names"),
        ("src/backend/config", f"{SETTINGS}\nimport keras.src.backend.common\nnames = PLUGGABLE_BACKENDS"),
        ("src/backend/common", "from keras.src.backend.config import PLUGGABLE_BACKENDS as early"),
    ):
        folder.joinpath("keras", f"{name}.py").write_text(text)
    assert run("import keras_dovetail, keras", [folder]) == "['dovetail', 'mlx'] ['dovetail', 'mlx']"


def test_keras_must_not_be_there_already(other_keras):
    said = run("import keras, keras_dovetail", [other_keras("3.15.1")])
    assert said.startswith("ImportError") and "before keras_dovetail" in said
