"""JAX's own ways: shapes of which it does not know all dimensions."""

import numpy as np
import pytest

import dovetail as dt
from dovetail import ops
from tests.libraries import Library

jax, export = map(Library, ("jax", "jax.export"))

FUNCTIONS = {
    "of a slice": (lambda x: ops.zeros_like(x[:, 0]), "(n,)"),
    "computed": (lambda x: ops.reshape(x, (ops.shape(x)[0] * 2, 2)), "(2*n, 2)"),
    "stacked": (lambda x: ops.zeros(ops.stack([ops.shape(x)[0] + 1, 3])), "(n + 1, 3)"),
    "a composite": (lambda x: ops.one_hot(ops.cast(x, "int32"), 3), "(n, 4, 3)"),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_symbolic_dimensions(name):
    function, expected = FUNCTIONS[name]
    given = jax.ShapeDtypeStruct(export.symbolic_shape("n, 4"), "float32")
    assert str(jax.eval_shape(function, given).shape) == expected


@pytest.mark.parametrize("last", [[1.0, 2.0], [np.nan, np.inf], [-np.inf], 0.0, [], None])
def test_barriers_change_no_bit_whatever_is_behind_them(last):
    given = [np.float32([0.0, -0.0, np.nan, np.inf, 1e-40]), np.int32([3, -4]), np.bool_([True, False])]
    given += [] if last is None else [np.float32(last)]
    with dt.engine("jax"):
        f = dt.function(lambda *xs: ops.optimization_barrier(xs))
        for found, expected in zip(f(*given), given, strict=True):
            assert found.numpy().tobytes() == expected.tobytes()
            assert found.numpy().dtype == expected.dtype
