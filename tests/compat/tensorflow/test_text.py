"""Strings that a program knows while it builds its graph."""

from __future__ import annotations

import numpy as np
import pytest

from dovetail.compat import tensorflow as tf

WORDS = [["a", "bé"], ["", "a"]]
STRINGS = np.array([[b"a", "bé".encode()], [b"", b"a"]], object)

# name → (a function of the words that moves them or asks about them, what it gives)
CALLS = {
    "itself": (lambda v1, x: x, STRINGS),
    "identity": (lambda v1, x: v1.identity(x), STRINGS),
    "equal": (lambda v1, x: v1.equal(x, "a"), STRINGS == b"a"),
    "not_equal": (lambda v1, x: v1.not_equal("a", x), STRINGS != b"a"),
    "of_two": (lambda v1, x: v1.equal(x, v1.transpose(x)), STRINGS == STRINGS.T),
    "shape": (lambda v1, x: v1.shape(x), [2, 2]),
    "zeros": (lambda v1, x: v1.zeros_like(x, v1.int64), np.zeros((2, 2))),
    "reshape": (lambda v1, x: v1.reshape(x, [-1]), STRINGS.reshape(-1)),
    "gather": (lambda v1, x: v1.gather(x, [1, 1]), STRINGS[[1, 1]]),
    "strided": (lambda v1, x: x[1], STRINGS[1]),
    "concat": (lambda v1, x: v1.concat([x, [["c", "a"]]], 0), [*STRINGS.tolist(), [b"c", b"a"]]),
    "stack": (lambda v1, x: v1.stack([x, x], 1), np.stack([STRINGS, STRINGS], 1)),
    "split": (lambda v1, x: v1.split(x, 2)[0], STRINGS[:1]),
    "where": (lambda v1, x: v1.where([[True, False]] * 2, x, v1.reverse(x, [0])), [[b"a", b"a"], [b"", "bé".encode()]]),
    "join": (lambda v1, x: "<" + x + v1.constant(">"), [[b"<a>", "<bé>".encode()], [b"<>", b"<a>"]]),
    "cast": (lambda v1, x: v1.cast(x, v1.string), STRINGS),
}


@pytest.mark.parametrize("name", CALLS)
def test_strings_in_graphs(name):
    v1 = tf.compat.v1
    compute, wanted = CALLS[name]
    with v1.Graph().as_default(), v1.Session() as session:
        found = session.run(compute(v1, v1.constant(WORDS)))
        np.testing.assert_array_equal(found, np.array(wanted))


def test_a_string_in_a_graph():
    v1 = tf.compat.v1
    with v1.Graph().as_default() as graph, v1.Session() as session:
        hello, numbers = v1.constant("Hello!"), v1.placeholder("int32", [1])
        assert session.run({"text": hello, "two": v1.constant("x", shape=[2])})["text"] == hello.eval() == b"Hello!"
        assert (hello.dtype, hello.name, hello.op.type, hello.graph) == (v1.string, "Const:0", "Const", graph)
        assert str(v1.convert_to_tensor(["x"], name="x")) == 'Tensor("x:0", shape=(1,), dtype=string)'
        assert not v1.float32.is_compatible_with(v1.string) and hello.get_shape() == ()
        assert session.run(v1.gather(v1.constant(["a", "b"]), numbers), {numbers: [1]}).tolist() == [b"b"]
        with pytest.raises(TypeError, match=r"takes no strings: compute them by tf\.py_func, or in Python"):
            v1.reduce_max(hello)
        with pytest.raises(TypeError, match="strings are needed, not 1"):
            v1.constant(["a", 1])


def test_strings_outside_of_graphs():
    words = tf.constant(WORDS)
    np.testing.assert_array_equal(words.numpy(), STRINGS)
    assert tf.constant("x").numpy() == b"x" and str(tf.constant("x")) == "tf.Tensor(b'x', shape=(), dtype=string)"
    assert tf.equal(words, "a").numpy().tolist() == (STRINGS == b"a").tolist()
