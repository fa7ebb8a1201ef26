"""`rnn` against a loop over time in NumPy that follows the classic semantics."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import dovetail as dt
from dovetail import ops
from tests.ops.table import finite_differences

BATCH, TIME, SIZE = 3, 4, 2


def expected_rnn(x, h, w, mask=None, backwards=False, zero=False):
    outputs, state, previous = [], h, np.zeros_like(h)
    for t in reversed(range(x.shape[1])) if backwards else range(x.shape[1]):
        new = np.tanh(x[:, t] + state @ w)
        output = new * 2
        if mask is not None:
            keep = mask[:, t, None]
            state, output = np.where(keep, new, state), np.where(keep, output, 0 if zero else previous)
        else:
            state = new
        previous = output
        outputs.append(output)
    return outputs[-1], np.stack(outputs, 1), state


def draw(rng):
    return rng.normal(size=(BATCH, TIME, SIZE)), rng.normal(size=(BATCH, SIZE)), rng.normal(size=(SIZE, SIZE)) * 0.5


MASK = np.array([[1, 1, 1, 1], [0, 1, 0, 0], [0, 0, 0, 0]], bool)


def cell(x, states):
    h, w = states
    new = ops.tanh(x + h @ w)
    return new * 2, [new]


def agree(found, expected, tolerance=1e-9):
    for f, e in zip(found, expected, strict=True):
        np.testing.assert_allclose(np.asarray(f), np.asarray(e), rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("unroll", [False, True])
@pytest.mark.parametrize(("masked", "backwards", "zero"), list(itertools.product([False, True], repeat=3)))
def test_outputs_and_states(engine, rng, masked, backwards, zero, unroll):
    x, h, w = draw(rng)
    mask = MASK if masked else None
    expected = expected_rnn(x, h, w, mask, backwards, zero)
    for time_major, every in ((False, True), (True, False)):

        def run(x, h, w, time_major=time_major, every=every):
            axes = (1, 0, 2)
            last, outputs, states = ops.rnn(
                cell,
                ops.transpose(x, axes) if time_major else x,
                [h],
                backwards,
                mask.T[..., None] if time_major and masked else mask,
                constants=[w],
                unroll=unroll,
                time_major=time_major,
                zero_output_for_mask=zero,
                return_all_outputs=every,
            )
            return last, ops.transpose(outputs, axes) if time_major else outputs, states[0]

        wanted = expected if every else (expected[0], expected[0][:, None], expected[2])
        args = [ops.convert(a) for a in (x, h, w)]
        agree(dt.function(run)(*args), wanted)
        if not time_major:
            agree(run(*args), wanted)
            if not unroll:
                open_time = [
                    dt.spec((None, None, SIZE), "float64"),
                    dt.spec((None, SIZE), "float64"),
                    dt.spec((SIZE, SIZE), "float64"),
                ]
                agree(dt.function(run, input_signature=open_time)(*args), wanted)


@pytest.mark.parametrize("backwards", [False, True])
def test_a_tensor_of_lengths_is_a_mask_and_an_int_is_not(engine, rng, backwards):
    x, h, w = draw(rng)
    lengths = np.array([4, 2, 0])
    mask = np.arange(TIME) < lengths[:, None]

    def run(x, lengths):
        last, outputs, states = ops.rnn(cell, x, [h], backwards, constants=[w], input_length=lengths)
        return last, outputs, states[0]

    agree(dt.function(run)(x, ops.convert(lengths)), expected_rnn(x, h, w, mask, backwards))
    agree(run(x, 2), expected_rnn(x, h, w, None, backwards))


def lstm(x, h, c, w, u, b, **options):
    """Keras' LSTM cell: gates in the order input, forget, candidate, output."""

    def step(x, states):
        h, c = states
        i, f, g, o = ops.split(x @ w + h @ u + b, 4, -1)
        c = ops.sigmoid(f) * c + ops.sigmoid(i) * ops.tanh(g)
        h = ops.sigmoid(o) * ops.tanh(c)
        return h, [h, c]

    return ops.rnn(step, x, [h, c], **options)


@pytest.mark.parametrize("options", [{}, {"mask": MASK}, {"return_all_outputs": False}, {"go_backwards": True}])
def test_gradients_of_an_lstm(engine, rng, options):
    shapes = [(BATCH, TIME, SIZE), (BATCH, 1), (BATCH, 1), (SIZE, 4), (1, 4), (4,)]
    arrays = [rng.normal(size=s) for s in shapes]

    def loss(*args):
        last, outputs, states = lstm(*args, **options)
        return ops.sum(last * last) + ops.sum(outputs) + ops.sum(states[1])

    def gradient(*args):
        with dt.GradientTape() as tape:
            tape.watch(list(args))
            y = loss(*args)
        return tape.gradient(y, list(args))

    with dt.engine("numpy"):
        expected = finite_differences(lambda new: float(loss(*map(ops.convert, new))), arrays)
    args = [ops.convert(a) for a in arrays]
    agree(dt.function(gradient)(*args), expected, 1e-6)
    if engine != "jax":
        agree(gradient(*args), expected, 1e-6)


def test_the_last_output_needs_no_stack(engine):
    """Check that nothing is stacked if only the last output, which is a state, is asked for."""
    shapes = [(BATCH, TIME, SIZE), (BATCH, 1), (BATCH, 1), (SIZE, 4), (1, 4), (4,)]
    graph = dt.function(lambda *args: lstm(*args, return_all_outputs=False)[0]).graph(*map(np.zeros, shapes))
    (scan,) = (op for op in graph.operations if op.type == "Scan")
    assert len(scan.outputs) == 2


def test_structures_of_inputs_outputs_and_integer_states(engine):
    def step(x, states):
        return {"sum": x["a"] + x["b"], "count": states[0]}, (states[0] + 1,)

    x = np.arange(6.0).reshape(1, 3, 2)
    count = np.array([[5]], "int32")
    last, outputs, states = dt.function(lambda x, n: ops.rnn(step, {"a": x, "b": x}, (n,)))(x, count)
    agree([last["sum"], outputs["sum"]], [2 * x[:, -1], 2 * x])
    assert (outputs["count"].tolist(), states[0].tolist(), states[0].dtype) == ([[[5], [6], [7]]], [[8]], "int32")


def test_native_values(rng):
    x, h, w = (a.astype("float32") for a in draw(rng))
    expected = expected_rnn(x, h, w, MASK)
    torch, jax = pytest.importorskip("torch"), pytest.importorskip("jax")
    last, outputs, states = ops.rnn(
        cell, torch.tensor(x), [torch.tensor(h)], mask=torch.tensor(MASK), constants=[torch.tensor(w)]
    )
    assert type(last) is torch.Tensor
    agree([last, outputs, states[0]], expected, 1e-5)
    last, outputs, states = jax.jit(lambda x, h, w: ops.rnn(cell, x, [h], mask=MASK, constants=[w]))(x, h, w)
    agree([last, outputs, states[0]], expected, 1e-5)


def test_unrolling_needs_a_length():
    run = dt.function(lambda x: ops.rnn(cell, x, [x[:, 0]], unroll=True), input_signature=[dt.spec((2, None, 3))])
    with pytest.raises(ValueError, match="number of time steps must be known"):
        run(np.zeros((2, 3, 3)))
