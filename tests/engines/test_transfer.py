"""Moving values between engines: in shared memory where DLPack allows it, without a change for other holders."""

import gc

import ml_dtypes
import numpy as np
import pytest

import dovetail as dt
from dovetail import ops
from dovetail.core.dtypes import ALL
from dovetail.core.engines.engine_registry import get_engine
from dovetail.core.tensor import Tensor
from dovetail.interop.dlpack import from_dlpack, to_dlpack

ENGINES = dt.list_engines()
PAIRS = [(a, b) for a in ENGINES for b in ENGINES if a != b]


def pointer(tensor):
    """The address of a tensor's first element."""
    value = tensor.value
    if tensor.engine == "jax":
        return value.unsafe_buffer_pointer()
    return value.data_ptr() if tensor.engine == "torch" else np.asarray(value).ctypes.data


def aligned(size, boundary=64):
    """A float32 array at an address that XLA can share."""
    memory = np.zeros(size * 4 + boundary, np.uint8)
    start = -memory.ctypes.data % boundary
    array = memory[start : start + size * 4].view(np.float32)
    array[:] = np.arange(size)
    return array


def test_memory_is_shared():
    x = from_dlpack(aligned(1000), engine="numpy")
    start = pointer(x)
    for way in (("torch", "jax", "tensorflow", "numpy"), ("jax", "torch", "numpy", "tensorflow", "torch")):
        y = x
        for name in way:
            if name in ENGINES:
                y = ops.convert(y, engine=name)
                assert (y.engine, pointer(y)) == (name, start)
    np.testing.assert_array_equal(x.numpy(), np.arange(1000))


@pytest.mark.parametrize(("source", "target"), PAIRS)
@pytest.mark.parametrize("dtype", list(ALL))
def test_every_dtype(source, target, dtype):
    for shape in ((2, 3), (), (0, 3)):
        values = np.arange(int(np.prod(shape))).reshape(shape).astype(ALL[dtype].numpy)
        x = ops.convert(values, dtype, source)
        y = ops.convert(x, engine=target)
        assert (y.engine, y.dtype, y.shape) == (target, dtype, shape)
        assert y.numpy().dtype == values.dtype
        np.testing.assert_array_equal(y.numpy().astype("complex128"), values.astype("complex128"))


def odd_layouts():
    base = np.arange(24, dtype="float32").reshape(4, 6)
    readonly = base.copy()
    readonly.flags.writeable = False
    yield "a column", base[:, 1]
    yield "every other", base[::2, ::3]
    yield "transposed", base.T
    yield "reversed", base[::-1, ::-1]
    yield "broadcast", np.broadcast_to(base[0], (3, 6))
    yield "read-only", readonly
    yield "unaligned", np.frombuffer(b"\0" + base.tobytes(), np.uint8)[1:].view(np.float32).reshape(4, 6)
    yield "swapped bytes", base.astype(">f4")
    yield "bfloat16", base.astype(ml_dtypes.bfloat16)[:, ::2]
    yield "bool", base[:, ::-1] > 5


@pytest.mark.parametrize(("name", "array"), list(odd_layouts()), ids=[n for n, _ in odd_layouts()])
@pytest.mark.parametrize("target", ENGINES)
def test_odd_layouts(name, array, target):
    expected = array.astype("float64")
    for source in (array, Tensor(array, get_engine("numpy"))):
        if name == "swapped bytes" and source is not array:
            continue  # no Tensor holds swapped bytes
        found = ops.convert(source, engine=target)
        np.testing.assert_array_equal(found.numpy().astype("float64"), expected)
        np.testing.assert_array_equal((found + found).numpy().astype("float64"), expected + expected)


def test_arrays_stay_their_owners(engine):
    """Check that later changes of an array do not show in tensors and variables made of it."""
    array = np.zeros(4, "float32")
    x, v, view = ops.convert(array), dt.Variable(array), ops.reshape(array, (2, 2))
    v2 = dt.Variable(0.0 * array)
    v2.assign(array)
    array[:] = 7
    for value in (x, v, v2, view):
        assert not value.numpy().any()
    with pytest.raises(ValueError, match="read-only"):
        np.asarray(x)[0] = 1.0
    x.numpy()[0] = 1.0
    assert not x.numpy().any()


def test_variables_of_other_libraries_arrays():
    torch = pytest.importorskip("torch")
    t = torch.zeros(4)
    with dt.engine("torch"):
        v = dt.Variable(t)
        v.assign(t)
    t += 1
    assert not v.numpy().any()


# -- other libraries --------------------------------------------------------------------------------------------------


class Foreign:
    """An array of a library that Dovetail does not know."""

    def __init__(self, array):
        self._array = array

    def __dlpack__(self, **options):
        return self._array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self._array.__dlpack_device__()


def test_any_object_that_speaks_dlpack(engine):
    array = aligned(8)
    x = ops.convert(Foreign(array))
    assert (x.engine, x.dtype, x.shape) == (engine, "float32", (8,)) and pointer(x) == array.ctypes.data
    assert (ops.convert(Foreign(array[::-2])).numpy() == array[::-2]).all()
    assert ops.add(Foreign(array), 1.0).numpy().tolist() == [*range(1, 9)]
    with pytest.raises(TypeError, match="__dlpack__"):
        from_dlpack("no array")


def test_capsules(engine):
    x = ops.constant(np.arange(4, dtype="float32"))
    for source in (x, dt.Variable(x)):
        y = from_dlpack(to_dlpack(source))
        assert y.engine == engine and y.numpy().tolist() == [0, 1, 2, 3]
    del x
    gc.collect()
    assert y.numpy().tolist() == [0, 1, 2, 3]  # the memory lives as long as somebody holds it


def test_tensors_and_variables_speak_dlpack(engine):
    x = ops.constant(np.arange(4, dtype="float32"))
    for value in (x, dt.Variable(x)):
        assert np.from_dlpack(value).tolist() == [0, 1, 2, 3]
        if "torch" in ENGINES:
            import torch

            assert torch.from_dlpack(value).tolist() == [0, 1, 2, 3]


# -- gradients --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_gradients_flow_back(source, target):
    with dt.engine(source):
        x, v = ops.constant([1.0, 2.0]), dt.Variable([3.0, 4.0])
    with dt.GradientTape() as outer:
        outer.watch(x)
        with dt.GradientTape(persistent=True) as tape:
            tape.watch(x)
            moved = ops.convert(x, engine=target)
            with dt.engine(target):
                y = moved * moved * v
            z = ops.convert(y, engine=source) * x
        slope = tape.gradient(z, x)
    assert (y.engine, z.engine, slope.engine) == (target, source, source)
    assert slope.numpy().tolist() == [9, 48] and tape.gradient(z, v).numpy().tolist() == [1, 8]
    assert outer.gradient(slope, x).numpy().tolist() == [18, 48]


@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_gradients_through_a_function_on_another_engine(source, target):
    f = dt.function(lambda x, y: ops.sum(x * y))
    with dt.engine(source):
        x = ops.constant([1.0, 2.0])
    with dt.engine(target):
        y = ops.constant([3.0, 4.0])
    with dt.GradientTape() as tape:
        tape.watch([x, y])
        z = f(x, y)
    found = tape.gradient(z, [x, y])
    assert [g.engine for g in found] == [source, target]
    assert [g.numpy().tolist() for g in found] == [[3, 4], [1, 2]]


# -- engines change at any moment -------------------------------------------------------------------------------------


def test_switching_while_training():
    """Check that a variable and the state of compiled steps follow the current engine."""
    w = dt.Variable(np.zeros(2000, "float32"))
    step = dt.function(lambda x: [w.assign(w * 0.5 + x), ops.sum(w)][1])
    expected = np.zeros(2000, "float32")
    seen = []
    for turn in range(12):
        with dt.engine(ENGINES[turn % len(ENGINES)]):
            held = w.read() if turn % 3 == 0 else None
            total = step(ops.ones((2000,)))
        if held is not None:
            seen.append((held, expected.copy()))
        expected = expected * 0.5 + 1
        assert total.engine == w.engine == ENGINES[turn % len(ENGINES)]
        np.testing.assert_allclose(w.numpy(), expected)
        np.testing.assert_allclose(float(total), expected.sum(), rtol=1e-6)
    for held, numbers in seen:
        np.testing.assert_allclose(held.numpy(), numbers)


@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_memory_shared_with_others_is_not_overwritten(source, target):
    """Check that no step reuses or donates a buffer that somebody else sees, by DLPack or as a moved Tensor."""
    w = dt.Variable(aligned(4096))
    step = dt.function(lambda: [w.assign(w + 1.0), None][1])
    held = []
    for _ in range(6):
        for name in (source, target):
            with dt.engine(name):
                step()
                step()
                held.append((w.numpy()[0], w.read(), np.from_dlpack(w.read()), ops.convert(w.read(), engine=source)))
                held.append((w.numpy()[0], np.asarray(w), ops.convert(w, engine=target), w[:10]))
    for number, *views in held:
        for view in views:
            assert np.asarray(view)[0] == number
    assert w.numpy()[0] == 24


@pytest.mark.parametrize("source", ENGINES)
def test_arguments_and_results_are_not_overwritten(engine, source):
    """Check that neither an argument nor a result of a compiled step becomes a variable's buffer."""
    w, other = dt.Variable(np.zeros(4096, "float32")), dt.Variable(np.zeros(4096, "float32"))

    @dt.function
    def take(x):
        w.assign(x)
        other.assign(ops.reshape(x, (-1,)))
        return w.value, ops.reshape(w, (64, 64))

    @dt.function
    def step():
        old = w.value
        w.assign_add(ops.ones((4096,)))
        other.assign(w)
        return old, w.value, w * 1.0

    with dt.engine(source):
        x = ops.convert(aligned(4096), engine=source)
    shared = ops.convert(x, engine=engine)
    results = [*take(shared)]
    for _ in range(4):
        results += step()
    np.testing.assert_array_equal(x.numpy(), np.arange(4096))
    first = [float(r.numpy().ravel()[0]) for r in results]
    assert first == [0, 0] + [n for i in range(4) for n in (i, i + 1, i + 1)]
    assert w.numpy()[0] == other.numpy()[0] == 4


def test_set_engine_inside_a_block():
    with dt.engine("numpy"):
        before = ops.ones((2,))
        dt.set_engine(ENGINES[-1])
        assert ops.ones((2,)).engine == ENGINES[-1]
        assert (before + ops.ones((2,))).numpy().tolist() == [2, 2]
    dt.set_engine("numpy")
    assert ops.ones((2,)).engine == "numpy"
