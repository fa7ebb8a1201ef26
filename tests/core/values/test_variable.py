"""Variables: values, assignment, buffers that are lent, consumed and kept."""

import re

import numpy as np
import pytest

import dovetail as dt
from dovetail import ops
from dovetail.core.base.errors import StaleValueError
from dovetail.core.engines.engine_registry import get_engine
from dovetail.core.values.state import Arrays, Buffer, donate
from tests.conftest import ENGINES

TWO = [name for name in ("numpy", "torch") if name in dt.list_engines()]


def test_value_and_attributes(engine):
    v = dt.Variable([[1.0, 2.0]], name="v")
    assert (v.name, v.shape, v.dtype, v.ndim, v.trainable) == ("v", (1, 2), "float32", 2, True)
    assert v.engine == engine
    assert "v" in repr(v) and "float32[1,2]" in repr(v)
    np.testing.assert_array_equal(v.numpy(), [[1, 2]])
    np.testing.assert_array_equal(v + 1, [[2, 3]])
    assert dt.Variable(3).dtype == "int32" and dt.Variable(v).shape == (1, 2)


def test_assign(engine):
    v = dt.Variable([1.0, 2.0])
    assert v.assign([3, 4]) is v
    v.assign_add([1, 1]).assign_sub(np.array([0.5, 0.5]))
    assert v.numpy().tolist() == [3.5, 4.5] and v.dtype == "float32"


def test_wrong_shape_leaves_the_value(engine):
    v = dt.Variable([1.0, 2.0], name="w")
    with pytest.raises(ValueError, match=r"'w' has the shape \(2,\): .*\(3,\) does not fit"):
        v.assign([1, 2, 3])
    assert v.numpy().tolist() == [1, 2]


def test_deleted(engine):
    v = dt.Variable(1.0, name="gone")
    v.delete()
    for use in (v.numpy, lambda: v + 1, lambda: dt.function(lambda: v * 2)()):
        with pytest.raises(StaleValueError, match="'gone' has no value"):
            use()
    assert "deleted" in repr(v)
    v.assign(2.0)
    assert float(v) == 2


def test_follows_the_engine():
    v = dt.Variable([1.0])
    for name in ENGINES:
        with dt.engine(name):
            assert (v * 2).engine == name
            assert v.engine == name


@pytest.mark.parametrize("size", [1, 4096])
def test_values_read_before_a_step_keep_their_numbers(engine, size):
    """Check that a plan's use of buffers changes no Tensors and arrays that somebody holds."""
    v = dt.Variable(np.zeros(size, "float32"))

    @dt.function
    def step():
        v.assign_add(ops.ones((size,)))
        return v.value

    held = []
    for i in range(6):
        held.append((i, v.read(), v.numpy(), v[:1], step()))
    for i, tensor, array, view, result in held:
        assert tensor.numpy()[0] == array[0] == view.numpy()[0] == i
        assert result.numpy()[-1] == i + 1
    assert v.numpy()[0] == 6


def test_stepping_alone_reuses_two_buffers():
    v = dt.Variable(np.zeros(4096, "float32"))
    step = dt.function(lambda: [v.assign(v * 0.5 + 1.0), None][1])
    seen = set()
    for _ in range(12):
        step()
        seen.add(v._buffer.value.ctypes.data)
    assert len(seen) <= 3  # the first, then two in turn


def test_swapping_two_variables(engine):
    a, b = dt.Variable(np.full(2000, 1.0, "float32")), dt.Variable(np.full(2000, 2.0, "float32"))

    @dt.function
    def swap():
        old = a.value
        a.assign(b.value)
        b.assign(old)

    for i in range(5):
        swap()
        assert (a.numpy()[0], b.numpy()[-1]) == ((2, 1) if i % 2 == 0 else (1, 2))


def test_a_value_that_went_over_to_another_variable(engine):
    """Check that a variable's next steps do not write over the value that it gave to another variable."""
    a, b = dt.Variable(np.full(4096, 1.0, "float32")), dt.Variable(np.full(4096, 2.0, "float32"))

    @dt.function
    def swap():
        old = a.value
        a.assign(b.value)
        b.assign(old)

    double = dt.function(lambda: [b.assign(b * 2.0), None][1])
    expected = [1.0, 2.0]
    for _ in range(6):
        double()
        double()
        swap()
        expected = [4 * expected[1], expected[0]]
        assert [a.numpy()[0], b.numpy()[-1]] == expected


@pytest.mark.parametrize("result", ["whole", "slice", "reshaped"])
def test_a_result_that_is_a_variables_value(engine, result):
    """Check that a function's result keeps its numbers, also if it is a view of the variable's value."""
    v = dt.Variable(np.full(4096, 1.0, "float32"))
    show = {
        "whole": lambda: v.value,
        "slice": lambda: v.value[:3],
        "reshaped": lambda: ops.reshape(v, (64, 64)),
    }
    look = dt.function(show[result])
    double = dt.function(lambda: [v.assign(v * 2.0), None][1])
    for _ in range(3):
        double()
    seen = look()
    for _ in range(3):
        double()
    assert (seen.numpy() == 8).all() and v.numpy()[0] == 64


def test_assigned_from_an_argument(engine):
    """Check that a variable does not take over the memory of an argument."""
    v = dt.Variable(np.zeros(2000, "float32"))
    x = ops.convert(np.ones(2000, "float32"))
    take = dt.function(lambda x: [v.assign(x), None][1])
    double = dt.function(lambda: [v.assign(v * 2.0), None][1])
    take(x)
    for _ in range(4):
        double()
    assert x.numpy()[0] == 1 and v.numpy()[0] == 16


def test_assigned_a_view(engine):
    """Check that a variable does not take over the memory of an eager value of which it has a part."""
    x = ops.convert(np.ones(4096, "float32"))
    v, w = dt.Variable(np.zeros(2048, "float32")), dt.Variable(x[2048:])
    v.assign(x[:2048])
    double = dt.function(lambda: [v.assign(v * 2.0), w.assign(w * 2.0), None][2])
    for _ in range(4):
        double()
    assert (x.numpy() == 1).all() and v.numpy()[0] == w.numpy()[0] == 16


def test_failed_call_leaves_the_values(engine):
    v = dt.Variable([1.0, 2.0])
    step = dt.function(lambda x: v.assign(v + ops.matmul(x, x)[0]))
    with pytest.raises(ValueError, match="inner dimensions"):
        step(np.ones((2, 3), "float32"))
    assert v.numpy().tolist() == [1, 2]


def test_dtype_and_name():
    assert dt.Variable([1, 2], dtype="float64").dtype == "float64"
    assert dt.Variable(np.ones(2, "float64")).dtype == "float64"
    assert dt.Variable(1.0, trainable=False).trainable is False
    first, second = dt.Variable(1.0), dt.Variable(1.0)
    assert first.name.startswith("variable_") and first.name != second.name
    with pytest.raises(TypeError, match=r"Variable.*dtype='floaty'"):
        dt.Variable(1.0, dtype="floaty")


def test_as_python_and_numpy_take_it(engine):
    v, row = dt.Variable(3.0), dt.Variable([1.0, 2.0, 0.0])
    assert (int(v), float(v), bool(v), bool(dt.Variable(0.0))) == (3, 3.0, True, False)
    assert len(row) == 3 and [float(each) for each in row] == [1, 2, 0]
    assert np.asarray(row).tolist() == [1, 2, 0] and np.asarray(row, "int32").dtype == "int32"
    assert {v: 1}[v] == 1 and v not in {row}
    assert isinstance(row.device, str) and row.device


def test_memory_of_its_own(engine):
    """Check that a variable shares memory neither with the array it was given nor with the values read from it."""
    given = np.array([1.0, 2.0], "float32")
    v, w = dt.Variable(given), dt.Variable([0.0, 0.0])
    w.assign(given)
    seen = v.numpy()
    given[0] = seen[0] = 9.0
    assert v.numpy().tolist() == w.numpy().tolist() == [1, 2]


@pytest.mark.skipif("torch" not in dt.list_engines(), reason="torch is not installed")
def test_memory_of_its_own_beside_that_of_other_libraries():
    import torch

    given = torch.tensor([1.0, 2.0])
    v, w = dt.Variable(given), dt.Variable([0.0, 0.0])
    w.assign(given)
    given[0] = 9.0
    assert v.numpy().tolist() == w.numpy().tolist() == [1, 2]
    assert v.engine == "torch"


def test_reads_of_one_value_are_one_tensor(engine):
    v = dt.Variable([1.0, 2.0])
    first = v.read()
    assert v.read() is first is v.value
    v.assign([3.0, 4.0])
    assert v.read() is not first and first.numpy().tolist() == [1, 2]


def test_reads_are_shown_to_tapes():
    v, fixed = dt.Variable([1.0, 2.0]), dt.Variable(1.0, trainable=False)
    v.read()  # before the tape
    with dt.GradientTape() as tape:
        y = v.read() * fixed
    assert tape.watched_variables() == [v]
    assert tape.gradient(y, v).numpy().tolist() == [1, 1]


@pytest.mark.parametrize("to", TWO)
def test_reads_on_another_engine(to):
    v = dt.Variable([1.0, 2.0])
    before = v.read()
    assert v.read(get_engine(to)).engine == v.engine == to
    assert before.engine == "numpy" and before.numpy().tolist() == v.numpy().tolist() == [1, 2]


def test_what_a_plan_reads_is_on_its_engine():
    v = dt.Variable([1.0, 2.0])
    for name in TWO:
        engine = get_engine(name)
        assert engine.to_numpy(v.array_on(engine)).tolist() == [1, 2] and v.engine == name


def test_assigned_what_has_no_value():
    v = dt.Variable([1.0, 2.0], name="v")
    x = dt.Graph().placeholder(dt.spec((2,)), "x")
    with pytest.raises(ValueError, match=r"AssignVariableOp at .*has no value outside the graph that makes it"):
        v.assign(x)
    assert v.numpy().tolist() == [1, 2]


@pytest.mark.skipif("jax" not in dt.list_engines(), reason="jax is not installed")
def test_assigned_what_a_library_traces():
    import jax

    v = dt.Variable([1.0, 2.0], name="v")
    with pytest.raises(ValueError, match=r"'v' cannot be assigned a value that jax is tracing"):
        jax.jit(lambda x: [v.assign(x), x][1])(np.ones(2, "float32"))
    assert v.assign(jax.numpy.ones(2)).numpy().tolist() == [1, 1]


@pytest.mark.parametrize("given", [3.0, [1.0], np.ones((2, 2))])
def test_shapes_that_do_not_fit(given):
    v = dt.Variable([1.0, 2.0])
    with pytest.raises(ValueError, match=f"a value of shape {re.escape(str(np.shape(given)))} does not fit"):
        v.check_shape(given)
    for unknown in ((None,), None):
        v.check_shape(dt.spec(unknown))


class Follower:
    """A variable of another library."""

    def __init__(self, value):
        self.values = [value.tolist()]

    def assign(self, value):
        self.values.append(value.tolist())


def test_followers_are_assigned_each_value():
    v = dt.Variable([1.0, 2.0])
    one, other = v.follow("one", Follower), v.follow("other", Follower)
    assert v.follow("one", Follower) is one is not other
    v.assign([3.0, 4.0])
    dt.function(lambda: [v.assign_add([1.0, 1.0]), None][1])()
    assert one.values == other.values == [[1, 2], [3, 4], [4, 5]]


def test_changed_by_another_variable(engine):
    v, delta = dt.Variable([1.0, 2.0]), dt.Variable([10.0, 20.0])
    v.assign_add(delta)
    assert v.numpy().tolist() == [11, 22]
    v.assign_sub(v)
    assert v.numpy().tolist() == [0, 0] and delta.numpy().tolist() == [10, 20]


def test_buffers_are_consumed_while_nobody_knows_their_array():
    engine = get_engine("numpy")
    address = lambda array: array.__array_interface__["data"][0]  # noqa: E731
    buffer = Buffer(Arrays((np.zeros(3),)), 0, engine, shared=False)
    own = address(buffer.value)
    assert address(donate([buffer])[0]) == own
    assert buffer.claimed and buffer.lend() is None  # a reader now asks the variable again
    held = buffer.value
    assert address(donate([buffer])[0]) != own
    del held
    assert address(donate([buffer])[0]) == own
    buffer.share()
    assert address(donate([buffer])[0]) != own


def test_arrays_that_were_lent_are_consumed_and_written_to_when_they_are_let_go():
    engine = get_engine("numpy")
    arrays = Arrays([np.zeros(3), np.ones(3)], [np.full(3, 2.0)])
    assert arrays.is_returned() and not arrays.is_borrowed
    held = Buffer(arrays, 1, engine, shared=False).lend()
    assert arrays.is_borrowed and not arrays.is_returned() and arrays.is_borrowed
    copies = [given is not own for given, own in zip(arrays.unborrowed([engine] * 2), arrays.values, strict=True)]
    assert copies == [False, True] and arrays.unborrowed_spares()[0] is arrays.spares[0]
    del held
    assert arrays.is_returned() and not arrays.is_borrowed
    held = arrays.spares[0]
    assert arrays.unborrowed_spares() == [None] and held[0] == 2
