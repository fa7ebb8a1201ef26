"""Arguments that torch's kernels do not take: some strides, and dtypes that it hardly computes with."""

import numpy as np
import pytest

import dovetail as dt
from dovetail import ops
from dovetail.core import dtypes
from dovetail.core.base.table import OPS
from tests.conftest import ENGINES
from tests.libraries import Library, require
from tests.ops.table import draw, identifier, leaves

torch = Library("torch")
require("torch", "it is the engine")


@pytest.fixture(autouse=True)
def _torch():
    with dt.engine("torch"):
        yield


def gradient(function, x):
    with dt.GradientTape() as tape:
        tape.watch(x)
        y = function(x)
    return tape.gradient(y, x)


@pytest.mark.parametrize("dtype", dtypes.FLOATS)
@pytest.mark.parametrize("rank", [1, 2, 3])
@pytest.mark.parametrize("batch", [1, 2])
def test_convolution_to_one_channel_has_a_gradient_b(rng, dtype, rank, batch):
    x, kernel = rng.normal(size=(batch, *(5,) * rank, 3)), rng.normal(size=(*(2,) * rank, 3, 1))
    with dt.engine("numpy"):
        expected = gradient(lambda k: ops.conv(x, k, 2, "same"), ops.convert(kernel)).numpy()
    images = ops.convert(x, dtype)
    found = gradient(lambda k: ops.conv(images, k, 2, "same"), ops.convert(kernel, dtype))
    tolerance = 0.1 if dtype in ("float16", "bfloat16") else 1e-4
    np.testing.assert_allclose(found.numpy().astype("float64"), expected, tolerance, 2 * tolerance)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float8_e5m2", "uint16", "bool"])
@pytest.mark.parametrize("shape", [(1,), (1, 3), (2, 1), (2, 3)])
def test_arrays_whose_strides_are_negative_b(shape, dtype):
    array = np.arange(np.prod(shape)).reshape(shape).astype(dtypes.ALL[dtype].numpy)
    for turned in (array[::-1], np.flip(array)):
        np.testing.assert_array_equal(ops.convert(turned).numpy(), turned)
        np.testing.assert_array_equal(ops.convert(turned, dtype).numpy(), turned)


def test_constants_whose_strides_are_negative_in_a_compiled_gradient_b():
    weights = np.ones((1, 3))[::-1]
    compiled = dt.function(lambda x: gradient(lambda x: ops.sum(x * weights), x))
    assert compiled(ops.ones((1, 3))).numpy().tolist() == [[1, 1, 1]]


@pytest.mark.parametrize("dtype", ["bfloat16", "float8_e4m3fn"])
def test_constants_of_which_one_element_stands_for_all_b(dtype):
    assert dt.function(lambda: ops.zeros((1,), dtype))().numpy().tolist() == [0]
    found = dt.function(lambda x: x + ops.zeros((1,), "bfloat16"))(ops.ones((2,), "bfloat16"))
    assert found.numpy().tolist() == [1, 1]


def in_dtype(value, dtype):
    if isinstance(value, list):
        return [in_dtype(item, dtype) for item in value]
    plain = isinstance(value, np.ndarray) and value.dtype == np.float32
    return np.abs(value).astype(dtypes.ALL[dtype].numpy) if plain else value


TABLE = [op for op in OPS.values() if op.samples and not op.name.startswith("Stateless") and op.name != "Print"]


@pytest.mark.parametrize("op", TABLE, ids=identifier)
def test_every_dtype_that_numpy_takes_b(op, rng):
    """Check that an op that computes a dtype on NumPy does so on torch too, with the same type of result."""
    args, kwargs = draw(op.samples[0], rng)
    for dtype in ("bool", *dtypes.INTEGERS, "float16", "bfloat16"):
        given, named = [in_dtype(v, dtype) for v in args], {k: in_dtype(v, dtype) for k, v in kwargs.items()}
        try:
            with dt.engine("numpy"):
                expected = leaves(op(*given, **named))
        except Exception:  # the op does not take this dtype
            continue
        found = leaves(op(*given, **named))
        assert [(f.shape, f.dtype) for f in found] == [(e.shape, e.dtype) for e in expected], dtype


@pytest.mark.parametrize("dtype", ["uint8", "uint16", "uint32", "uint64"])
def test_relu_of_unsigned_integers_b(dtype):
    x = ops.convert([0, 3, 200], dtype)
    for way in (ops.relu, dt.function(ops.relu)):
        assert way(x).numpy().tolist() == [0, 3, 200]
    for way in (ops.relu6, dt.function(ops.relu6)):
        assert way(x).numpy().tolist() == [0, 3, 6]


Z = [[1 + 2j, 3 - 1j, 0.5j]]
LAZY = {  # name → a view whose numbers are conjugated or negated when they are read, and these numbers
    "conj": (lambda torch: torch.tensor(Z).conj(), np.conj(Z)),
    "mH": (lambda torch: torch.tensor(Z).mH, np.conj(Z).T),
    "imag": (lambda torch: torch.tensor(Z).conj().imag, np.conj(Z).imag),
    "slice": (lambda torch: torch.tensor(Z).conj()[:, ::2], np.conj(Z)[:, ::2]),
    "gradient": (lambda torch: torch.tensor(Z, requires_grad=True).conj(), np.conj(Z)),
}
TAKEN = {
    "convert": ops.convert,
    "to numpy": lambda x: ops.convert(x, engine="numpy"),
    "Variable": lambda x: dt.Variable(x),
    "constant": lambda x: dt.function(lambda: ops.identity(ops.convert(x)))(),
    "argument": lambda x: dt.function(lambda y: y * 1)(ops.convert(x)),
}


@pytest.mark.parametrize("take", TAKEN)
@pytest.mark.parametrize("view", LAZY)
def test_views_that_torch_conjugates_when_they_are_read(view, take):
    make, expected = LAZY[view]
    for engine in ENGINES:
        with dt.engine(engine):
            np.testing.assert_array_equal(TAKEN[take](make(torch)).numpy(), expected, err_msg=engine)


SLICED = {
    "from a tensor's place": lambda x, i: x[i:],
    "to a tensor's place": lambda x, i: x[:i],
    "at a tensor's place": lambda x, i: x[i],
    "in a later axis": lambda x, i: x[:, i:, 1],
    "from a known place": lambda x, i: x[1:],
    "at a known place": lambda x, i: x[:, 1] + ops.cast(i, "float32"),
    "with known steps": lambda x, i: x[::2, ..., -1],
    "backwards": lambda x, i: x[::-1],
    "of a tensor's shape": lambda x, i: ops.reshape(x, ops.stack([i, 2 * i, -1])),
    "of a known shape": lambda x, i: ops.reshape(x, (3, -1)) * ops.cast(i, "float32"),
}


@pytest.mark.parametrize("function", SLICED.values(), ids=SLICED)
def test_slices_whose_places_are_known_or_not(function):
    """A rule that is made for known places must leave places that only a run tells."""
    x, i = np.arange(24, dtype="float32").reshape(2, 3, 4), np.int32(1)
    found = dt.function(function, engine="torch")(x, i)
    np.testing.assert_array_equal(found.numpy(), dt.function(function, engine="numpy")(x, i).numpy())
