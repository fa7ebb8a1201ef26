"""Recurrent networks: cells, wrappers, loops over steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.compat.tensorflow.legacy import array

LENGTHS = np.array([2, 5, 0], "int32")


def cell(kind: str, *args: Any, **options: Any) -> Callable[[Any], Any]:
    """A function that makes a cell of `nn.rnn_cell`; arguments may be such functions."""

    def made(tf: Any) -> Any:
        def of(given: Any) -> Any:
            if isinstance(given, list):
                return [of(one) for one in given]
            return given(tf) if callable(given) else given

        return getattr(tf.nn.rnn_cell, kind)(*map(of, args), **{key: of(value) for key, value in options.items()})

    return made


CELLS = {
    "rnn": cell("BasicRNNCell", 4),
    "rnn_relu": cell("BasicRNNCell", 4, activation="relu", name="named"),
    "gru": cell("GRUCell", 4),
    "gru_first": cell(
        "GRUCell",
        4,
        activation=lambda tf: tf.nn.relu,
        kernel_initializer=lambda tf: tf.constant_initializer(0.1),
        bias_initializer=lambda tf: tf.constant_initializer(0.2),
    ),
    "basic_lstm": cell("BasicLSTMCell", 4),
    "basic_lstm_joined": cell("BasicLSTMCell", 4, 0.5, False),
    "lstm": cell("LSTMCell", 4, forget_bias=0.3),
    "lstm_peepholes": cell("LSTMCell", 4, use_peepholes=True, cell_clip=0.2, num_proj=3, proj_clip=0.1),
    "lstm_projected": cell("LSTMCell", 4, num_proj=2, state_is_tuple=False),
    "stack": cell("MultiRNNCell", [cell("BasicLSTMCell", 4), cell("LSTMCell", 3)]),
    "stack_mixed": cell("MultiRNNCell", [cell("GRUCell", 4), cell("BasicLSTMCell", 3)]),
    "stack_joined": cell("MultiRNNCell", [cell("GRUCell", 4), cell("BasicLSTMCell", 3, state_is_tuple=False)], False),
    "dropout_none": cell("DropoutWrapper", cell("LSTMCell", 4), 1.0, lambda tf: tf.constant(1.0)),
    "residual": cell("ResidualWrapper", cell("BasicLSTMCell", 3)),
    "residual_fn": cell("ResidualWrapper", cell("GRUCell", 3), residual_fn=lambda tf: lambda x, y: 2 * x - y),
    "device": cell("DeviceWrapper", cell("BasicRNNCell", 4), "/cpu:0"),
}


def once(make: Any, twice: bool = False) -> Any:
    """A step of a cell, or two steps with the same variables."""

    def case(tf: Any, fed: Any) -> Any:
        made = make(tf)
        state = made.zero_state(3, tf.float32)
        found = made(fed(array(3, 3)), state)
        return made(fed(array(3, 3, seed=1)), found[1]) if twice else found

    return case


def dynamic(make: Any, **options: Any) -> Any:
    """All steps of sequences."""

    def case(tf: Any, fed: Any) -> Any:
        given = {key: fed(value) if isinstance(value, np.ndarray) else value for key, value in options.items()}
        x = fed(array(3, 5, 3), (None, None, 3))
        return tf.nn.dynamic_rnn(make(tf), x, dtype=tf.float32, **given)

    return case


def static(make: Any, **options: Any) -> Any:
    def case(tf: Any, fed: Any) -> Any:
        given = {key: fed(value) if isinstance(value, np.ndarray) else value for key, value in options.items()}
        return tf.nn.static_rnn(make(tf), tf.unstack(fed(array(3, 5, 3)), axis=1), dtype=tf.float32, **given)

    return case


def first_state(tf: Any, fed: Any) -> Any:
    lstm, x = tf.nn.rnn_cell.LSTMCell(4), fed(array(5, 3, 3))
    state = tf.nn.rnn_cell.LSTMStateTuple(fed(array(3, 4)), fed(array(3, 4, seed=1)))
    with tf.variable_scope("encoder", initializer=tf.zeros_initializer()):
        return tf.nn.dynamic_rnn(lstm, x, fed(LENGTHS), state, time_major=True, scope="own")


def both(tf: Any, fed: Any, **options: Any) -> Any:
    cells = [tf.nn.rnn_cell.LSTMCell(4), tf.nn.rnn_cell.GRUCell(2)]
    return tf.nn.bidirectional_dynamic_rnn(*cells, fed(array(3, 5, 3)), dtype=tf.float32, **options)


def both_static(tf: Any, fed: Any) -> Any:
    cells = [tf.nn.rnn_cell.LSTMCell(4), tf.nn.rnn_cell.GRUCell(2)]
    steps = tf.unstack(fed(array(3, 5, 3)), axis=1)
    return tf.nn.static_bidirectional_rnn(*cells, steps, dtype=tf.float32, sequence_length=fed(LENGTHS))


def nested(tf: Any, fed: Any) -> Any:
    class Pair(tf.nn.rnn_cell.RNNCell):
        """Two inputs, two outputs, two states, one of them of rank 3."""

        state_size = (4, tf.TensorShape([2, 2]))
        output_size = (4, 3)

        def call(self, inputs: Any, state: Any) -> Any:
            (x, y), (h, m) = inputs, state
            with tf.variable_scope("inner"):
                w = tf.get_variable("w", [3, 4])
            h = tf.tanh(h + tf.matmul(x, w))
            m = m + tf.reduce_mean(y, 1)[:, None, None]
            return (h, y * h[:, :3]), (h, m)

    x = (fed(array(3, 5, 3)), fed(array(3, 5, 3, seed=1)))
    return tf.nn.dynamic_rnn(Pair(), x, fed(LENGTHS), dtype=tf.float32)


def of_2016(tf: Any, fed: Any) -> Any:
    class Old(tf.nn.rnn_cell.RNNCell):
        def __init__(self, units: int) -> None:
            self._units = units

        @property
        def state_size(self) -> int:
            return self._units

        @property
        def output_size(self) -> int:
            return self._units

        def __call__(self, inputs: Any, state: Any, scope: Any = None) -> Any:
            with tf.variable_scope(scope or type(self).__name__):
                w = tf.get_variable("Matrix", [3 + self._units, self._units])
                h = tf.nn.relu(tf.matmul(tf.concat([inputs, state], 1), w))
            return h, h

    return tf.nn.dynamic_rnn(Old(4), fed(array(3, 5, 3)), dtype=tf.float32, sequence_length=fed(LENGTHS))


def subclass(tf: Any, fed: Any) -> Any:
    class Scaled(tf.nn.rnn_cell.BasicLSTMCell):
        def call(self, inputs: Any, state: Any) -> Any:
            h, state = super().call(2 * inputs, state)
            return 3 * h, state

    return tf.nn.dynamic_rnn(Scaled(4), fed(array(3, 5, 3)), dtype=tf.float32)


def reused(tf: Any, fed: Any) -> Any:
    found = []
    for reuse in (None, True):
        with tf.variable_scope("model", reuse=reuse):
            lstm = tf.nn.rnn_cell.BasicLSTMCell(4)
            found.append(tf.nn.dynamic_rnn(lstm, fed(array(3, 5, 3)), dtype=tf.float32)[1])
    return found


def two_scopes(tf: Any, fed: Any) -> Any:
    """One cell in two loops, then two cells of one class in one scope."""
    gru = tf.nn.rnn_cell.GRUCell(3)
    y, _ = tf.nn.dynamic_rnn(gru, fed(array(3, 5, 3)), dtype=tf.float32, scope="one")
    y, _ = tf.nn.dynamic_rnn(gru, y, dtype=tf.float32, scope="two")
    x = fed(array(3, 3))
    for _ in range(2):
        again = tf.nn.rnn_cell.GRUCell(3)
        x, _ = again(x, again.zero_state(3, tf.float32))
    return y, x


def raw(tf: Any, fed: Any, own: bool = False) -> Any:
    lengths, x = fed(LENGTHS), tf.transpose(fed(array(3, 5, 3)), [1, 0, 2])
    gru = tf.nn.rnn_cell.GRUCell(4)

    def loop(time: Any, output: Any, state: Any, count: Any) -> Any:
        finished = time >= lengths
        at = tf.minimum(time, 4)
        state = gru.zero_state(3, tf.float32) if output is None else state
        count = (tf.constant(0.0) if output is None else count + 1.0) if own else None
        return finished, tf.gather(x, at), state, output, count

    outputs, state, count = tf.nn.raw_rnn(gru, loop)
    return outputs.stack(), state, count


def one_stack_by_two_cells(tf: Any, fed: Any) -> Any:
    found = []
    with tf.variable_scope("model", reuse=tf.AUTO_REUSE):
        for i in range(2):
            stack = CELLS["stack"](tf)
            found.append(stack(fed(array(3, 3, seed=i)), stack.zero_state(3, tf.float32))[0])
    return found


def weights_of_cells(tf: Any, fed: Any) -> Any:
    stack = tf.nn.rnn_cell.MultiRNNCell([CELLS["lstm"](tf), CELLS["gru"](tf)])
    x = stack(fed(array(3, 3)), stack.zero_state(3, tf.float32))[0]
    assert len(stack.trainable_weights) == len(stack.variables) == 6
    return x, [v.read_value() for v in stack.trainable_variables]


CASES = {
    **{f"{name}_once": once(make) for name, make in CELLS.items()},
    **{f"{name}_dynamic": dynamic(make, sequence_length=LENGTHS) for name, make in CELLS.items()},
    **{f"{name}_twice": once(CELLS[name], twice=True) for name in ("gru", "lstm", "stack")},
    **{f"{name}_static": static(CELLS[name]) for name in ("gru", "lstm", "stack")},
    **{f"{name}_static_lengths": static(CELLS[name], sequence_length=LENGTHS) for name in ("gru", "lstm")},
    **{f"{name}_all": dynamic(CELLS[name]) for name in ("gru", "basic_lstm", "stack", "dropout_none")},
    "longer_lengths": dynamic(CELLS["lstm"], sequence_length=np.array([2, 9, 0])),
    "first_state": first_state,
    "both": both,
    "both_lengths": lambda tf, fed: both(tf, fed, sequence_length=fed(LENGTHS), time_major=False),
    "both_static": both_static,
    "nested": nested,
    "of_2016": of_2016,
    "subclass": subclass,
    "reused": reused,
    "two_scopes": two_scopes,
    "one_stack_by_two_cells": one_stack_by_two_cells,
    "weights_of_cells": weights_of_cells,
    "raw": raw,
    "raw_own_state": lambda tf, fed: raw(tf, fed, own=True),
    "no_dtype": lambda tf, fed: tf.nn.dynamic_rnn(tf.nn.rnn_cell.GRUCell(4), fed(array(3, 5, 3))),
    "no_cell": lambda tf, fed: tf.nn.dynamic_rnn(tf.nn.rnn_cell.GRUCell, fed(array(3, 5, 3)), dtype=tf.float32),
}
INITIAL = ("gru_first_once",)
