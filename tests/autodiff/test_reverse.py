"""Reverse mode: which gradient function a node has."""

from types import SimpleNamespace

import numpy as np
import pytest

import dovetail as dt
from dovetail import ops
from dovetail.autodiff import reverse
from dovetail.core.kinds import Float
from dovetail.core.op import Op
from dovetail.core.values.infer import elementwise


def node_of(op, **more):
    return SimpleNamespace(op=op, gradient_function=None, overrides={}, where=("step.py", 3), **more)


def test_an_op_that_should_have_a_gradient_and_has_none():
    def smooth(x: Float):
        """An op of a user who forgot the gradient."""

    with pytest.raises(LookupError, match=r"Smooth at step.py:3: it has no gradient; give it one with custom_gradient"):
        reverse.gradient_function(node_of(Op("Smooth", smooth, infer=elementwise)))
    flat = Op("Flat", smooth, infer=elementwise, differentiable=False)
    assert reverse.gradient_function(node_of(flat)) is None


def test_a_tensor_that_is_used_twice_gets_the_sum(engine):
    x = ops.constant([1.0, 2.0])
    with dt.GradientTape() as tape:
        tape.watch(x)
        y = ops.sum(x * x + ops.exp(x) * x)
    expected = 2 * np.array([1, 2]) + np.exp([1, 2]) * np.array([2, 3])
    np.testing.assert_allclose(tape.gradient(y, x).numpy(), expected, rtol=1e-5)


def slope(x, shape):
    with dt.GradientTape() as tape:
        tape.watch(x)
        y = ops.sum(ops.reshape(x, shape) * np.array([[1.0], [2.0]], "float32"))
    return tape.gradient(y, x)


def test_shapes_that_are_tensors_get_no_gradient(engine):
    assert slope(ops.constant([3.0, 4.0]), ops.constant([2, 1])).numpy().tolist() == [1, 2]


def test_shapes_that_are_tensors_of_a_graph_get_no_gradient():
    compiled = dt.function(slope, input_signature=[dt.spec((2,)), dt.spec((2,), "int32")])
    assert compiled(np.ones(2, "float32"), np.array([2, 1], "int32")).numpy().tolist() == [1, 2]
