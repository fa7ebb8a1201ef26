"""A program's own classes in ops and sessions, structures up to a depth, and private parts of cells."""

from __future__ import annotations

import numpy as np
import pytest
from dovetail.compat.tensorflow.compat import v1 as tf
from dovetail.compat.tensorflow.compat.v1.python.client import session as sessions
from dovetail.compat.tensorflow.compat.v1.python.ops import rnn, rnn_cell_impl
from dovetail.compat.tensorflow.compat.v1.python.util import function_utils, nest

from tests.libraries import require


class Held:
    """An object that holds a tensor."""

    def __init__(self, tensor):
        self.tensor = tensor


class Pair(Held):
    pass


class Refused:
    pass


tf.register_tensor_conversion_function(Held, lambda value, dtype=None, name=None, as_ref=False: value.tensor)
tf.register_tensor_conversion_function((Refused,), lambda value, dtype=None, name=None, as_ref=False: NotImplemented)
sessions.register_session_run_conversion_functions(
    Held,
    fetch_function=lambda held: ([held.tensor, held.tensor * 2.0], lambda found: tuple(map(float, found))),
    feed_function=lambda held, value: [(held.tensor, value)],
)


def test_objects_are_arguments_of_ops(engine):
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [2])
        held, pair = Held(x), Pair(tf.constant([[1.0, 2.0], [3.0, 4.0]]))
        results = [tf.convert_to_tensor(held), held_sum(x, held), tf.stack([held, x]), tf.matmul(pair, pair)]
        results += tf.gradients(tf.reduce_sum(tf.square(held)), x)
        found = session.run(results, {x: [1.0, 2.0]})
    square = np.array([[7.0, 10.0], [15.0, 22.0]])
    for got, wanted in zip(found, ([1, 2], [2, 4], [[1, 2], [1, 2]], square, [2, 4]), strict=True):
        np.testing.assert_allclose(got, wanted)
    assert tf.add(Held(tf.constant(1.0)), 2.0).numpy() == 3.0
    with pytest.raises(TypeError, match="Refused refuses it"):
        tf.add(Refused(), 1.0)


def held_sum(x, held):
    return x + held


def test_objects_are_fetched_and_fed(engine):
    with tf.Graph().as_default(), tf.Session() as session:
        held = Held(tf.placeholder(tf.float32, []))
        assert session.run(held, {held: 3.0}) == (3.0, 6.0)
        found = session.run({"a": [held, held.tensor], "b": Pair(held.tensor)}, {held.tensor: 1.0})
        assert found == {"a": [(1.0, 2.0), 1.0], "b": (1.0, 2.0)}
    with pytest.raises(ValueError, match="Held is registered already"):
        sessions.register_session_run_conversion_functions(Held, lambda held: ([], list))


SHALLOW, DEEP = {"b": 0, "a": [0, 0]}, {"a": [(1, 2), {"x": 3}], "b": [4, 5]}
UP_TO = {
    "flatten_up_to": lambda nest: nest.flatten_up_to(SHALLOW, DEEP),
    "flatten_up_to (a leaf)": lambda nest: nest.flatten_up_to(0, DEEP),
    "map_structure_up_to": lambda nest: nest.map_structure_up_to(SHALLOW, lambda x, y: (len(x), y), DEEP, SHALLOW),
    "flatten_dict_items": lambda nest: nest.flatten_dict_items({(4, (5, 6)): ("a", ("b", "c")), 7: "d"}),
    "too deep": lambda nest: nest.flatten_up_to([0, [1]], [0, 1]),
    "too long": lambda nest: nest.flatten_up_to([0, 1], [0, 1, 2]),
    "of another type": lambda nest: nest.flatten_up_to([0, 1], (0, 1)),
    "of any type": lambda nest: nest.flatten_up_to([0, 1], (0, 1), check_types=False),
    "keys": lambda nest: nest.flatten_up_to({"a": 0}, {"b": 0}),
    "a key comes twice": lambda nest: nest.flatten_dict_items({(4, 5): (1, 2), 4: 3}),
    "no dict": lambda nest: nest.flatten_dict_items([1]),
}


@pytest.mark.parametrize("name", UP_TO)
def test_structures_up_to_a_depth(name):
    require("tensorflow", "it is the oracle")
    from tensorflow.python.util import nest as theirs

    outcomes = []
    for library in (nest, theirs):
        try:
            outcomes.append(UP_TO[name](library))
        except (ValueError, TypeError) as error:
            outcomes.append(type(error))
    assert outcomes[0] == outcomes[1]


def test_parts_of_cells():
    assert rnn.rnn_cell_impl is rnn_cell_impl  # TensorFlow's modules import each other
    assert rnn_cell_impl._concat(None, tf.TensorShape([3]), static=True) is None
    assert rnn_cell_impl._concat(2, [3, 4], static=True) == [2, 3, 4]
    assert rnn_cell_impl._concat(tf.constant([5, 6]), 3, static=True) == [5, 6, 3]
    assert rnn_cell_impl._concat(tf.constant(2), [3, 4]).numpy().tolist() == [2, 3, 4]
    with pytest.raises(ValueError, match="must be known"):
        rnn_cell_impl._concat(None, 3)
    with pytest.raises(ValueError, match="a number or a vector"):
        rnn_cell_impl._concat(tf.ones([2, 2], tf.int32), 3)
    cell = tf.nn.rnn_cell.LSTMCell(4)
    assert rnn_cell_impl._like_rnncell(cell) and not rnn_cell_impl._like_rnncell(len)
    rnn_cell_impl.assert_like_rnncell("cell", cell)
    with pytest.raises(TypeError, match="state_size"):
        rnn_cell_impl.assert_like_rnncell("cell", Refused())
    states = rnn_cell_impl._zero_state_tensors(cell.state_size, 3, tf.float32)
    assert [state.shape.as_list() for state in states] == [[3, 4], [3, 4]]
    assert function_utils.fn_args(cell.zero_state) == ("batch_size", "dtype")
