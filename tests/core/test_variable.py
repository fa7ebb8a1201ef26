"""Variables: values, assignment, buffers that are lent, consumed and kept."""

import numpy as np
import pytest

import dovetail as dt
from dovetail import ops
from dovetail.core.errors import StaleValueError


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
    for name in dt.list_engines():
        with dt.engine(name):
            assert (v * 2).engine == name
            assert v.engine == name


@pytest.mark.parametrize("size", [1, 4096])
def test_values_read_before_a_step_keep_their_numbers(engine, size):
    """Whatever a plan does with buffers, Tensors and arrays that somebody holds do not change."""
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
    """What another variable holds now is not written over by the next steps of the one that held it."""
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
    """What a compiled function returned keeps its numbers, also where it is a view of the variable's value."""
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
    """A variable does not take over the memory of what it was given."""
    v = dt.Variable(np.zeros(2000, "float32"))
    x = ops.convert(np.ones(2000, "float32"))
    take = dt.function(lambda x: [v.assign(x), None][1])
    double = dt.function(lambda: [v.assign(v * 2.0), None][1])
    take(x)
    for _ in range(4):
        double()
    assert x.numpy()[0] == 1 and v.numpy()[0] == 16


def test_failed_call_leaves_the_values(engine):
    v = dt.Variable([1.0, 2.0])
    step = dt.function(lambda x: v.assign(v + ops.matmul(x, x)[0]))
    with pytest.raises(ValueError, match="inner dimensions"):
        step(np.ones((2, 3), "float32"))
    assert v.numpy().tolist() == [1, 2]
