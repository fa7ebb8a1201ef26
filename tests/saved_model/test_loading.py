"""Functions of models that TensorFlow saved, for each kind of their arguments."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dovetail as dt
from tests.libraries import Library, require

require("tensorflow", "it saves the models, and has the names")
tf = Library("tensorflow")
X = np.ones((3, 2), "float32")


@pytest.fixture
def folder(tmp_path: Path) -> str:
    """A model with a function of several kinds of arguments, and one that is for one kind."""
    module = tf.Module()
    module.w, offset = tf.Variable([1.0, 2.0]), tf.constant([3.0, 4.0])

    def call(x: Any, scale: float = 2.0, gives_all: bool = True) -> Any:
        return {"a": x * module.w * scale + offset, "b": (x,)} if gives_all else x * module.w

    module.f = tf.function(call, autograph=False)
    module.f(tf.ones([3, 2]))
    module.f(tf.ones([1, 2]), gives_all=False)
    module.f(tf.ones([5, 2]), tf.constant(3.0))
    double = tf.function(lambda x: x * 2.0, input_signature=[tf.TensorSpec([None, 2], tf.float32)])
    module.one = double.get_concrete_function()
    tf.saved_model.save(module, str(tmp_path / "model"))
    return str(tmp_path / "model")


def test_a_function_has_its_concrete_functions(folder: str):
    ours, theirs = dt.saved_model.load(folder), tf.saved_model.load(folder)
    assert len(ours.f.concrete_functions) == len(theirs.f.concrete_functions)
    for one in ours.f.concrete_functions:
        (args, kwargs), x = one.structured_input_signature, one.structured_input_signature[0][0]
        given = [tf.TensorSpec(part.shape, tf.float32) if hasattr(part, "dtype") else part for part in args]
        other = theirs.f.get_concrete_function(*given)
        assert kwargs == {} and type(one.name) is type(other.name)
        values = [np.ones(x.shape, "float32"), *([np.float32(3)] if hasattr(args[1], "dtype") else [])]
        expected = other(*map(tf.constant, values))
        found = one(*values)
        for mine, right in zip(tf.nest.flatten(found), tf.nest.flatten(expected), strict=True):
            np.testing.assert_allclose(mine.numpy(), right.numpy())
        variables = [captured for captured in one.captured_inputs if captured is ours.w]
        assert (len(variables), one.variables, one.trainable_variables) == (1, (ours.w,), (ours.w,))
    offset = ours.f.get_concrete_function(X).captured_inputs[1]
    np.testing.assert_array_equal(offset.numpy(), [3, 4])


def test_a_concrete_function_is_found_by_specs_and_values(folder: str):
    f = dt.saved_model.load(folder).f
    spec = dt.TensorSpec((3, 2), "float32")
    assert f.get_concrete_function(spec) is f.get_concrete_function(X) is f.get_concrete_function(x=X)
    assert f.get_concrete_function(X[:1], gives_all=False).structured_outputs.shape == (1, 2)
    with pytest.raises(TypeError, match="it was saved for"):
        f.get_concrete_function(X[:2])
    with pytest.raises(TypeError, match="it was saved for"):
        f.get_concrete_function()


def test_a_function_of_one_kind_is_concrete(folder: str):
    ours, theirs = dt.saved_model.load(folder).one, tf.saved_model.load(folder).one
    assert ours.captured_inputs == theirs.captured_inputs == []
    assert ours.name.startswith(b"__inference") and theirs.name.startswith(b"__inference")
    np.testing.assert_array_equal(ours(X).numpy(), theirs(tf.constant(X)).numpy())
