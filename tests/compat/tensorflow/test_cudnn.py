"""Layers with cuDNN's names: their numbers by hand, and their variables as TensorFlow's checkpoints have them."""

from __future__ import annotations

import numpy as np
import pytest

from dovetail.compat import tensorflow

tf = tensorflow.compat.v1
X = np.random.default_rng(0).normal(size=(5, 3, 4)).astype("float32")


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def lstm(values, x, h, c):
    i, j, f, o = np.split(np.concatenate([x, h], 1) @ values["kernel"] + values["bias"], 4, 1)
    c = sigmoid(f) * c + sigmoid(i) * np.tanh(j)
    return sigmoid(o) * np.tanh(c), c


def gru(values, x, h):
    r, u = np.split(sigmoid(np.concatenate([x, h], 1) @ values["gates/kernel"] + values["gates/bias"]), 2, 1)
    of_input, of_hidden = (
        given @ values[f"candidate/{part}_projection/kernel"] + values[f"candidate/{part}_projection/bias"]
        for given, part in ((x, "input"), (h, "hidden"))
    )
    return ((1 - u) * np.tanh(of_input + r * of_hidden) + u * h,)


def by_hand(step, count, values, xs, turned):
    """The outputs of all steps, and the last states; `turned` goes from the last step to the first."""
    states, outputs = [np.zeros((3, 2), "float32")] * count, []
    for x in xs[::-1] if turned else xs:
        states = step(values, x, *states)
        outputs.append(states[0])
    return np.stack(outputs[::-1] if turned else outputs), states


@pytest.mark.parametrize("direction", ["unidirectional", "bidirectional"])
@pytest.mark.parametrize(("name", "step", "count"), [("LSTM", lstm, 2), ("GRU", gru, 1)])
def test_layers_compute_what_cells_do_by_hand(engine, name, step, count, direction):
    with tf.Graph().as_default(), tf.Session() as session:
        layer = getattr(tf.contrib.cudnn_rnn, f"Cudnn{name}")(2, 2, direction=direction, dropout=0.5, name="net")
        outputs, states = layer(X, training=False)
        again, _ = layer(np.swapaxes(X, 0, 1), initial_state=states, time_major=False, training=False)
        session.run(tf.global_variables_initializer())
        biases = [v for v in layer.variables if v.op.name.endswith("bias")]
        assert not any(np.any(b) for b in session.run(biases))
        session.run([tf.assign(b, tf.random_normal(b.shape, seed=1)) for b in biases])
        values = {v.op.name: x for v, x in zip(layer.variables, session.run(layer.variables), strict=True)}
        found, lasts, later = session.run([outputs, states, again])
    cell, two = f"cudnn_compatible_{name.lower()}_cell/", direction == "bidirectional"
    xs, wanted = X, []
    for number in range(2):
        scope = f"net/{'stack_bidirectional_rnn' if two else 'rnn/multi_rnn_cell'}/cell_{number}/"
        parts = []
        for turned in (False, True)[: 1 + two]:
            prefix = scope + (f"bidirectional_rnn/{'bw' if turned else 'fw'}/" if two else "") + cell
            own = {key.removeprefix(prefix): x for key, x in values.items() if key.startswith(prefix)}
            parts.append(by_hand(step, count, own, xs, turned))
        xs = np.concatenate([part[0] for part in parts], -1)
        wanted += [part[1] for part in parts]
    np.testing.assert_allclose(found, xs, rtol=1e-4, atol=1e-5)
    assert len(lasts) == count and layer.state_shape(3) == tuple([2 + 2 * two, 3, 2] for _ in range(count))
    for place, last in enumerate(lasts):
        np.testing.assert_allclose(last, np.stack([states[place] for states in wanted]), rtol=1e-4, atol=1e-5)
    assert later.shape == (3, 5, 2 + 2 * two) and np.abs(later[:, 0] - found[0]).max() > 1e-3


def test_what_is_not_offered_says_what_to_do():
    for options in ({"input_mode": "skip_input"}, {"bias_initializer": tf.ones_initializer()}):
        with pytest.raises(NotImplementedError, match="leave input_mode and bias_initializer out"):
            tf.contrib.cudnn_rnn.CudnnGRU(1, 2, **options)
    assert tf.contrib.cudnn_rnn.RNNParamsSaveable() is not None
