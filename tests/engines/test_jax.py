"""JAX's own ways: shapes of which it does not know all dimensions."""

import pytest

from dovetail import ops

jax = pytest.importorskip("jax")
from jax.export import symbolic_shape

FUNCTIONS = {
    "of a slice": (lambda x: ops.zeros_like(x[:, 0]), "(n,)"),
    "computed": (lambda x: ops.reshape(x, (ops.shape(x)[0] * 2, 2)), "(2*n, 2)"),
    "stacked": (lambda x: ops.zeros(ops.stack([ops.shape(x)[0] + 1, 3])), "(n + 1, 3)"),
    "a composite": (lambda x: ops.one_hot(ops.cast(x, "int32"), 3), "(n, 4, 3)"),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_symbolic_dimensions(name):
    function, expected = FUNCTIONS[name]
    given = jax.ShapeDtypeStruct(symbolic_shape("n, 4"), "float32")
    assert str(jax.eval_shape(function, given).shape) == expected
