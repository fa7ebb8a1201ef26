"""JAX's peculiarities: shapes whose dimensions it does not all know, and the memory that its threads take."""

import os
import subprocess
import sys

import numpy as np
import pytest

import dovetail as dt
from dovetail import ops
from dovetail.core.base import memory
from dovetail.core.engines.engine_registry import get_engine
from tests.libraries import Library, require

jax, export = map(Library, ("jax", "jax.export"))
require("jax", "it is the engine")

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


@pytest.mark.parametrize("make", [np.ones, np.zeros])
@pytest.mark.parametrize("dtype", ["float32", "float16", "bool", "uint8"])
@pytest.mark.parametrize("shape", [(), (0, 3), (5,), (600, 500), (2, 300, 500)])
def test_arguments_are_copies_of_which_jax_makes_no_other_where_they_are_large(shape, dtype, make):
    engine = get_engine("jax")
    rows = make((*shape[:-1], shape[-1] + 3), dtype)[..., 3:] if shape else make(shape, dtype)
    expected = rows.copy()
    copy = engine.argument(rows, rows.dtype)
    rows[...] = make is np.zeros
    assert copy.dtype == expected.dtype
    np.testing.assert_array_equal(copy, expected)
    if copy.nbytes >= 2**18:
        assert jax.device_put(copy, may_alias=True).unsafe_buffer_pointer() == copy.ctypes.data


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64"])
def test_no_python_of_jax_runs_while_arrays_of_variables_are_consumed(dtype):
    """Check calls from the third on. An exception that a signal raises in JAX's Python code would lose the arrays."""
    variables = [dt.Variable(np.zeros(size, dtype)) for size in (3, 2000)]
    called = []

    @dt.function
    def step(x):
        for v in variables:
            v.assign_add(ops.ones(v.shape, dtype) * x)
        return ops.sum(variables[0])

    def seen(frame, event, argument):
        if event == "call" and frame.f_globals["__name__"].startswith("jax."):
            called.append(frame.f_code.co_qualname)

    with dt.engine("jax"):
        x = ops.constant(2, dtype)
        for _ in range(2):
            step(x)
        sys.setprofile(seen)
        try:
            for _ in range(3):
                step(x)
        finally:
            sys.setprofile(None)
        assert step(x).numpy() == 36
    assert called == []


STEPS = """
import resource, statistics
import numpy as np
import dovetail as dt

w = dt.Variable(np.eye(16, dtype="float32"))

@dt.function(engine="jax")
def step(x):
    with dt.GradientTape() as tape:
        y = x
        for _ in range(20):  # results of 4 MiB, which the gradient needs all
            y = dt.ops.tanh(y @ w)
        loss = dt.ops.sum(y)
    return tape.gradient(loss, w)

x, faults = np.ones((65536, 16), "float32"), []
for _ in range(20):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    step(x).numpy()
    faults.append(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
print(statistics.median(faults))
"""


@pytest.mark.skipif(memory.glibc() is None, reason="the C library here is not glibc, which keeps memory")
def test_what_a_program_needs_stays_with_the_process():
    kept, freed = (
        float(subprocess.check_output([sys.executable, "-c", STEPS], env=os.environ | {memory.VARIABLE: value}))
        for value in "10"
    )
    assert kept < freed / 10 and freed > 80 * 2**20 / os.sysconf("SC_PAGE_SIZE") / 2, (kept, freed)
