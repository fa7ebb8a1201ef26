"""GradientTape: the tensors it watches, the gradients it gives, higher orders, and the memory it frees."""

import gc
import weakref

import numpy as np
import pytest

import dovetail as dt
from dovetail import ops
from dovetail.autodiff.recorder import Recorder


def watched(value, dtype="float32"):
    """A tape that watches a tensor, and the tensor."""
    x = ops.constant(value, dtype)
    tape = dt.GradientTape(persistent=True)
    tape.watch(x)
    return tape, x


def test_gradient_of_structures(engine):
    tape, x = watched([1.0, 2.0])
    w, b = dt.Variable([3.0, 4.0]), dt.Variable(1.0)
    with tape:
        y = {"scaled": x * w, "shifted": [x + b]}
    found = tape.gradient(y, {"x": x, "pair": (w, b)})
    assert found["x"].numpy().tolist() == [4, 5]
    assert found["pair"][0].numpy().tolist() == [1, 2] and float(found["pair"][1]) == 2
    assert found["x"].engine == engine
    assert tape.watched_variables() == [w, b]


def test_target_that_is_the_source_and_intermediate_sources(engine):
    tape, x = watched(3.0)
    with tape:
        middle = x * x
        y = middle * x
    assert [float(g) for g in tape.gradient(y, [x, middle])] == [27, 3]
    assert float(tape.gradient(x, x)) == 1 and float(tape.gradient(middle, middle)) == 1
    assert [float(g) for g in tape.gradient([y, middle], [x, middle])] == [33, 4]
    v = dt.Variable(2.0)
    tape.watch(v)
    assert float(tape.gradient(v, v)) == 1


def test_a_tensor_used_several_times(engine):
    tape, x = watched([1.0, 2.0])
    with tape:
        y = ops.concatenate([x, x]) * ops.concatenate([x, x * x])
        z = ops.subtract(x, x)
    assert tape.gradient(y, x).numpy().tolist() == [2 + 3, 4 + 12]
    assert tape.gradient(z, x).numpy().tolist() == [0, 0]


def test_output_gradients(engine):
    tape, x = watched([1.0, 2.0])
    with tape:
        y, z = x * 2.0, x * x
    assert tape.gradient(y, x, output_gradients=np.array([3.0, 5.0])).numpy().tolist() == [6, 10]
    assert tape.gradient([y, z], x, output_gradients=[None, [1.0, 0.0]]).numpy().tolist() == [4, 2]
    with pytest.raises(ValueError, match="list of 2"):
        tape.gradient([y, z], x, output_gradients=[None])


def test_what_is_not_connected(engine):
    tape, x = watched([1.0, 2.0])
    other, v = ops.constant(5.0), dt.Variable([1.0, 1.0, 1.0])
    with tape:
        y = ops.stop_gradient(x) * 2.0
        integers = ops.cast(x, "int32")
    assert tape.gradient(y, [x, other, v]) == [None, None, None]
    assert tape.gradient(integers, x) is None
    found = tape.gradient(y, [x, v], unconnected_gradients="zero")
    assert found[0].numpy().tolist() == [0, 0] and found[1].shape == (3,)
    with pytest.raises(ValueError, match="'none' or 'zero'"):
        tape.gradient(y, x, unconnected_gradients="nan")


@pytest.mark.parametrize(
    ("source", "words"),
    [(lambda: ops.constant(3), "int32"), (lambda: 3.0, "ops.convert"), (lambda: np.ones(2), "ops.convert")],
)
def test_what_cannot_be_a_source(source, words):
    tape, x = watched(1.0)
    source = source()
    with pytest.raises(TypeError, match=words):
        tape.watch(source)
    with pytest.raises(TypeError, match=words):
        tape.gradient(x, source)


def test_asked_twice_and_entered_twice():
    x = ops.constant(3.0)
    with dt.GradientTape() as tape:
        tape.watch(x)
        y = x * x
    assert float(tape.gradient(y, x)) == 6
    with pytest.raises(RuntimeError, match="persistent=True"):
        tape.gradient(y, x)
    tape.reset()
    with tape:
        tape.watch(x)
        y = x * x * x
        with pytest.raises(ValueError, match="recording already"), tape:
            pass
    assert float(tape.gradient(y, x)) == 27


def test_a_tape_entered_again_goes_on():
    tape, x = watched(2.0)
    with tape:
        y = x * x
    z = y * x  # not recorded
    with tape:
        w = y * y
    assert float(tape.gradient(w, x)) == 32 and tape.gradient(z, x) is None


def test_stop_recording():
    tape, x = watched(2.0)
    with tape:
        with tape.stop_recording():
            y = x * x
        z = x * y
    assert tape.gradient(y, x) is None and float(tape.gradient(z, x)) == 4


def test_variables(engine):
    w = dt.Variable(3.0)
    frozen = dt.Variable(2.0, trainable=False)
    count = dt.Variable(1)
    with dt.GradientTape(persistent=True) as tape:
        y = w * w * frozen * ops.cast(count, "float32")
    assert [float(tape.gradient(y, w)), tape.gradient(y, frozen)] == [12, None]
    assert tape.watched_variables() == [w]
    with dt.GradientTape(watch_accessed_variables=False) as tape:
        tape.watch(frozen)
        y = w * frozen
    assert [g if g is None else float(g) for g in tape.gradient(y, [w, frozen])] == [None, 3]


def test_state_stops_gradients(engine):
    """Check that gradients stop at an assigned value, in eager and compiled calls."""

    def program(w, state, x):
        state.assign(w * x)
        w.assign(w * 2.0)
        return state * w * x

    for call in (program, dt.function(program)):
        w, state, x = dt.Variable(3.0), dt.Variable(0.0), ops.constant(5.0)
        with dt.GradientTape() as tape:
            tape.watch(x)
            y = call(w, state, x)  # state is 15, w is 6
        found = tape.gradient(y, [w, state, x])
        assert float(y) == 450 and [float(g) for g in found] == [75, 30, 90]

    def taped(w, state, x):
        with dt.GradientTape() as tape:
            y = program(w, state, x)
        return tape.gradient(y, [w, state])

    found = dt.function(taped)(dt.Variable(3.0), dt.Variable(0.0), ops.constant(5.0))
    assert [float(g) for g in found] == [75, 30]


def test_a_variable_made_of_a_watched_tensor():
    tape, x = watched(2.0)
    with tape:
        v, other = dt.Variable(x), dt.Variable(0.0)
        other.assign(x)
        y = v * other * x
    assert [float(g) for g in tape.gradient(y, [v, other, x])] == [4, 4, 4]


def test_higher_orders(engine):
    x = ops.constant(2.0)
    with dt.GradientTape() as third:
        third.watch(x)
        with dt.GradientTape() as second:
            second.watch(x)
            with dt.GradientTape() as first:
                first.watch(x)
                y = x * x * x * x
            a = first.gradient(y, x)
        b = second.gradient(a, x)
    c = third.gradient(b, x)
    assert [float(a), float(b), float(c)] == [32, 48, 48]


def test_a_persistent_tape_inside_its_own_block(engine):
    x = ops.constant(2.0)
    with dt.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = ops.exp(x) * x
        slope = tape.gradient(y, x)
        curvature = tape.gradient(slope, x)
    third = tape.gradient(curvature, x)
    np.testing.assert_allclose(
        [float(slope), float(curvature), float(third)], np.exp(2.0) * np.array([3, 4, 5]), rtol=1e-5
    )


def test_a_tape_asked_inside_its_block_stops():
    x = ops.constant(2.0)
    with dt.GradientTape() as outer:
        outer.watch(x)
        with dt.GradientTape() as tape:
            tape.watch(x)
            y = x * x
            slope = tape.gradient(y, x)
            z = slope * x
        assert tape.nodes == []
    assert float(outer.gradient(z, x)) == 8


@pytest.mark.parametrize("inner", ["eager", "compiled"])
@pytest.mark.parametrize("outer", ["eager", "compiled"])
def test_across_functions(engine, inner, outer):
    """Check tapes in eager calls, in a function, around a function, and in a function around a function."""
    w = dt.Variable([[1.0, 2.0], [3.0, 4.0]])

    def model(x):
        return ops.tanh(ops.matmul(x, w)) * x

    model = dt.function(model) if inner == "compiled" else model

    def slope_and_curvature(x):
        with dt.GradientTape() as second:
            second.watch(x)
            with dt.GradientTape() as first:
                first.watch(x)
                y = ops.sum(model(x))
            slope = first.gradient(y, [x, w])
            size = ops.sum(slope[0] * slope[0]) + ops.sum(slope[1] * slope[1])
        return [*slope, *second.gradient(size, [x, w])]

    x = ops.constant([[0.3, -0.2]])
    found = (dt.function(slope_and_curvature) if outer == "compiled" else slope_and_curvature)(x)
    with dt.engine("numpy"):
        expected = slope_and_curvature(ops.constant([[0.3, -0.2]]))
    for f, e in zip(found, expected, strict=True):
        np.testing.assert_allclose(f.numpy(), e.numpy(), rtol=2e-5, atol=1e-6)


def test_a_tape_opened_after_the_variable_was_read():
    w = dt.Variable(3.0)

    @dt.function
    def step():
        before = w * 2.0
        with dt.GradientTape() as tape:
            y = w * w
        return before, tape.gradient(y, w)

    assert [float(v) for v in step()] == [6, 6]


def test_a_function_that_closes_over_a_watched_tensor(engine):
    tape, x = watched([1.0, 2.0])
    scale = ops.constant(3.0)
    f = dt.function(lambda y: ops.sum(x * y * x) * scale)
    with tape:
        z = f(ops.constant(2.0))
    assert tape.gradient(z, x).numpy().tolist() == [12, 24]
    assert tape.gradient(z, scale) is None
    tape.watch(scale)
    with tape:
        z = f(ops.constant(2.0))
    assert float(tape.gradient(z, scale)) == 10


def test_nodes_and_values_are_let_go():
    x = ops.constant(np.ones(4, "float32"))
    with dt.GradientTape() as tape:
        tape.watch(x)
        middle = x * x
        y = ops.sum(ops.exp(middle))
    gone = [weakref.ref(node) for node in ()] + [weakref.ref(middle)]
    del middle
    assert all(ref() is not None for ref in gone)  # the tape keeps the tensors it needs
    tape.gradient(y, x)
    gc.collect()
    assert all(ref() is None for ref in gone) and tape.nodes == []


def test_ids_of_dead_tensors_do_not_count():
    """Check that a new tensor at the address of a dead one is not mistaken for it while a tape runs."""
    x = ops.constant(1.0)
    with dt.GradientTape() as tape:
        tape.watch(x)
        y = x
        for _ in range(200):
            ops.constant(2.0) * ops.constant(3.0)  # made and dropped, unwatched
            y = y * 1.0
            fresh = ops.constant(1.0)
            assert not tape.follows(fresh)
    assert float(tape.gradient(y, x)) == 1


def test_composites_that_return_their_argument(engine):
    """Check that a tape records an op whose body returns its argument, too."""
    tape, x = watched([1.0, 2.0])
    with tape:
        y = ops.squeeze(ops.expand_dims(x, 0), 0) + ops.reshape(x, (2,))
        z = ops.concatenate([x])
    assert tape.gradient(y, x).numpy().tolist() == [2, 2]
    assert tape.gradient(z, x).numpy().tolist() == [1, 1]


def test_on_another_engine_than_the_current(engine):
    """Check that gradients are computed on the engine of the tensors."""
    tape, x = watched([1.0, 2.0])
    with tape:
        y = ops.mean(ops.square(x)) + ops.max(x)
    with dt.engine("numpy"):
        found = tape.gradient(y, x)
    assert found.engine == engine and found.numpy().tolist() == [1, 3]


def test_complex(engine):
    tape, x = watched([1.0, 2.0])
    with tape:
        y = ops.cast(x, "complex64") * ops.constant(2j)
        z = y * y
    assert tape.gradient(z, x).dtype == "float32"


@pytest.mark.parametrize("target", [3.0, np.ones(2), "loss", [None, 2.0], print])
def test_targets_that_are_no_tensors_c(target):
    tape, x = watched([1.0, 2.0])
    for ask in (tape.gradient, tape.jacobian, tape.batch_jacobian):
        with pytest.raises(TypeError, match=r"at test_tape.py:\d+: .* is no tensor"):
            ask(target if ask == tape.gradient else 3.0, x)


@pytest.mark.parametrize("product", ["matmul", "einsum", "conv"])
def test_gradients_that_nobody_asks_for_are_not_computed(engine, product):
    """Check that the tape skips the gradient by the examples, which costs as much as the one by the weights."""
    calls = {
        "matmul": (lambda x, w: x @ w, (4, 3), (3, 2)),
        "einsum": (lambda x, w: ops.einsum("ij,jk->ik", x, w), (4, 3), (3, 2)),
        "conv": (lambda x, w: ops.conv(x, w, padding="same"), (1, 5, 5, 2), (3, 3, 2, 4)),
    }
    call, x_shape, w_shape = calls[product]
    rng = np.random.default_rng(0)
    x, w = (ops.convert(rng.normal(size=shape).astype("float32")) for shape in (x_shape, w_shape))

    def gradients(*watched):
        with dt.GradientTape(persistent=True) as tape:
            for each in watched:
                tape.watch(each)
            y = call(x, w)
        seen = []
        with Seen(seen):
            found = tape.gradient(y, [x, w])
        return found, seen

    (both_x, both_w), both = gradients(x, w)
    (alone_x, alone_w), alone = gradients(w)
    assert both_x is not None and alone_x is None and len(alone) < len(both)
    np.testing.assert_array_equal(alone_w.numpy(), both_w.numpy())


class Seen(Recorder):
    """A recorder of the names of all ops that are called."""

    def __init__(self, names):
        super().__init__()
        self.names = names

    def record(self, op, args, outputs):
        self.names.append(op.name)
