"""The entries of the table: its index, and the modules that are imported when a program asks for one of their names."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from dovetail.compat import tensorflow as tf
from dovetail.compat.tensorflow import entries

ROOT = Path(__file__).parents[3]


def run(*arguments):
    return subprocess.run([sys.executable, *map(str, arguments)], capture_output=True, text=True)


@pytest.mark.skipif(sys.version_info[:2] != (3, 11), reason="the index has names of Python's own modules, by 3.11")
def test_the_index_is_not_stale():
    done = run(ROOT / "docs/tf_index.py", "--check")
    assert (done.returncode, done.stdout) == (0, ""), done.stderr


def imported(statement):
    """The modules of names that a statement imports, in a fresh process, after `tf` is TensorFlow 1."""
    program = f"import sys, dovetail.compat.tensorflow.compat.v1 as tf\n{statement}\nprint(*sys.modules)"
    done = run("-c", program)
    assert done.returncode == 0, done.stderr
    names = (name.removeprefix(f"{entries.NAMES}.") for name in done.stdout.split() if name.startswith(entries.NAMES))
    return {*names} - {entries.NAMES}


@pytest.mark.parametrize(
    "statement",
    [
        "pass",
        "dir(tf), dir(tf.nn), tf.nn.__all__",
        "assert not hasattr(tf, 'placehold') and not hasattr(tf.nn, 'x')",
        "from dovetail.compat.tensorflow.compat.v1.python.ops import array_ops",
    ],
)
def test_no_family_is_imported_before_one_of_its_names_is_asked_for(statement):
    assert imported(statement) == {"absences"}


def test_a_family_is_imported_when_one_of_its_names_is_asked_for():
    """Others that it needs come with it: all of them are a small part."""
    modules = {place.module for view in entries.VIEWS.values() for place in view.index.values()}
    assert entries.V2.index["linalg.svd"].module in (found := imported("tf.linalg.svd"))
    assert len(found) < len(modules) / 10


def test_advice_needs_no_family():
    statement = (
        "\ntry: tf.placehoder\nexcept AttributeError as error: assert 'Did you mean tf.placeholder?' in str(error)"
    )
    assert imported(f"{statement}\n") == {"absences"}


def test_an_entry_stays_as_its_module_declared_it():
    with pytest.raises(TypeError, match="does not support item assignment"):
        entries.V1["matmul"] = None  # type: ignore[index]
    assert tf.compat.v1.matmul is entries.V1["matmul"]
    with pytest.raises(ValueError, match=r"tf\.matmul stands in the table twice\."):
        entries.value("matmul", None)


def test_a_second_name_has_the_value_of_the_first():
    assert entries.V1["manip.reshape"] is entries.V1["reshape"]
    assert entries.V1["contrib.eager.Variable"] is entries.V2["Variable"] is not entries.V1["Variable"]


def test_a_program_may_replace_a_name_in_a_module(monkeypatch):
    before = tf.nn.softmax
    monkeypatch.setattr(tf.nn, "softmax", len)
    assert tf.nn.softmax is len
    monkeypatch.undo()
    assert tf.nn.softmax is before


def test_a_module_of_ours_is_imported_under_its_name_in_tensorflow():
    from dovetail.compat.tensorflow.python.client import timeline as of_tensorflow

    from dovetail.compat.tensorflow.names.summary import timeline

    assert of_tensorflow is timeline is sys.modules["dovetail.compat.tensorflow.python.client.timeline"]
    import dovetail.compat.tensorflow.compat.v1.python.client.timeline as again

    assert again is timeline
