"""Python functions and checks in graphs under TensorFlow's names: results, gradients, errors."""

from __future__ import annotations

import numpy as np
import pytest

import dovetail as dt
from dovetail.compat import tensorflow as tf

v1 = tf.compat.v1
X = np.float32([1, 2, 3])
tf.RegisterGradient("ThirdForCompat")(lambda op, g: g * 3.0 * tf.square(op.inputs[0]))


def test_py_func_is_called_whenever_the_graph_is_run(engine):
    calls = []

    def more(array, step):
        calls.append(array.copy())
        return array[::-1] + step

    with v1.Graph().as_default(), v1.Session() as session:
        x = v1.placeholder(tf.float32, [3])
        y = v1.py_func(more, [x, np.float32(1)], tf.float32, name="more")
        assert (y.op.name, y.op.type, y.shape) == ("more", "PyFunc", None)
        y.set_shape([3])
        assert session.run(tf.reduce_sum(y * x), {x: X}) == 16.0
        session.run(y, {x: X})
        assert len(calls) == 2
        both = v1.py_func(lambda a: (a, len(a)), [x], [tf.float32, tf.int64], stateful=False)
        assert [t.op.type for t in both] == ["PyFuncStateless"] * 2
        assert session.run(both[1], {x: X}) == 3
        made = v1.py_func(lambda: np.float32([4.0, 5.0]), [], tf.float32)
        assert session.run(made).tolist() == [4.0, 5.0]
        done = v1.py_func(calls.clear, [], [])
        assert session.run(done) is None and calls == []
        with v1.control_dependencies([v1.py_func(lambda a: calls.append("noted"), [x], None)]):
            z = tf.identity(x)
        session.run(z, {x: X})
        assert calls == ["noted"]


def test_the_gradient_of_py_func_is_that_of_an_override_map(engine):
    with v1.Graph().as_default() as graph, v1.Session() as session:
        x = v1.placeholder(tf.float32, [3])
        plain = v1.py_func(lambda a: a**3, [x], tf.float32)
        assert v1.gradients(plain, x) == [None]
        with graph.gradient_override_map({"PyFunc": "ThirdForCompat", "PyFuncStateless": "ThirdForCompat"}):
            y = v1.py_func(lambda a: a**3, [x], tf.float32)
        y.set_shape([3])
        np.testing.assert_allclose(session.run(v1.gradients(y, x)[0], {x: X}), 3 * X**2, rtol=1e-6)


def test_gradients_pass_through_py_function(engine):
    def f(a, n, b):
        assert isinstance(a, dt.Tensor)
        return [tf.sin(a) * b, n + 1]

    with v1.Graph().as_default(), v1.Session() as session:
        x, b = v1.placeholder(tf.float32, [3]), v1.placeholder(tf.float32, [])
        y, n = tf.py_function(f, [x, 4, b], [tf.float32, tf.int32])
        y.set_shape([3])
        first = v1.gradients(y, [x, b])
        second = v1.gradients(first[0], x)[0]
        found = session.run([y, n, *first, second], {x: X, b: 2.0})
    wanted = [2 * np.sin(X), 5, 2 * np.cos(X), np.sin(X).sum(), -2 * np.sin(X)]
    for a, w in zip(found, wanted, strict=True):
        np.testing.assert_allclose(a, w, rtol=1e-5)


def test_py_function_gives_one_tensor_or_several(engine):
    with v1.Graph().as_default(), v1.Session() as session:
        x = v1.placeholder(tf.float32, [3])
        one = tf.py_function(lambda a: a * 0.0, [x], tf.float32)
        (only,) = tf.py_function(lambda a: (tf.reduce_sum(a),), [x], [tf.float32])
        found = session.run([one, only], {x: X})
    assert found[0].tolist() == [0.0, 0.0, 0.0] and found[1] == 6.0


def test_python_is_called_in_functions_though_nobody_uses_the_result(engine):
    calls = []

    @tf.function
    def f(x):
        tf.py_function(lambda a: calls.append(float(a[0])), [x], [])
        y = tf.numpy_function(lambda a: a * 2, [x], tf.float32)
        y.set_shape(x.shape)
        return y + 1.0

    assert f(X).numpy().tolist() == [3.0, 5.0, 7.0] and calls == [1.0]
    f(X * 2)
    assert calls == [1.0, 2.0]


def test_checks_are_made_when_a_graph_is_run(engine):
    with v1.Graph().as_default(), v1.Session() as session:
        x = v1.placeholder(tf.float32, [None])
        checks = {
            "assert_positive": v1.assert_positive(x),
            "assert_less": v1.assert_less(x, 4.0, message="too large:"),
            "Assert": v1.Assert(tf.reduce_sum(x) > 0.0, ["sum", tf.reduce_sum(x), x]),
            "assert_near": tf.debugging.assert_near(x, tf.round(x)),
        }
        assert {check.type for check in checks.values()} == {"Assert"}
        with tf.control_dependencies(list(checks.values())):
            y = tf.sqrt(x)
        np.testing.assert_allclose(session.run(y, {x: X}), np.sqrt(X), rtol=1e-6)
        assert session.run(list(checks.values()), {x: X}) == [None] * 4
        for given, words in {
            (
                -1.0,
                3.0,
            ): r"Assert at .*calls\.py:\d+: tf\.debugging\.assert_positive: the condition does not hold",
            (1.0, 4.0): r"tf\.debugging\.assert_less: too large: the condition does not hold for \[1 4\] and 4\.",
            (1.0, 1.5): "assert_near",
        }.items():
            with pytest.raises(tf.errors.InvalidArgumentError, match=words):
                session.run(y, {x: given})
        with pytest.raises(ValueError, match=r"Assert: sum the condition does not hold for -3 and \[-1 -2\]"):
            session.run(checks["Assert"], {x: [-1.0, -2.0]})


def test_checks_of_functions(engine):
    @tf.function
    def f(x):
        tf.debugging.assert_positive(x)
        return x * 2.0

    assert f(X).numpy().tolist() == [2.0, 4.0, 6.0]
    with pytest.raises(ValueError, match="assert_positive"):
        f(-X)


def test_numbers_are_checked_when_a_graph_is_run(engine):
    with v1.Graph().as_default(), v1.Session() as session:
        x = v1.placeholder(tf.float32, [3])
        logarithm = tf.math.log(x)
        check = v1.add_check_numerics_ops()
        y = tf.debugging.check_numerics(logarithm, "my logarithm")
        np.testing.assert_allclose(session.run(y, {x: X}), np.log(X), rtol=1e-5)
        session.run(check, {x: X})
        with pytest.raises(ValueError, match="my logarithm : Tensor had Inf values"):
            session.run(y, {x: [1.0, 0.0, 1.0]})
        with pytest.raises(ValueError, match="has NaN or Inf values"):
            session.run(check, {x: [1.0, -1.0, 1.0]})
        (gradient,) = v1.gradients(y, x)
        np.testing.assert_allclose(session.run(gradient, {x: X}), 1 / X, rtol=1e-6)


def test_numbers_are_checked_everywhere(engine):
    f, bad = tf.function(lambda x: tf.math.log(x) + 1.0), tf.constant([1.0, 0.0])
    tf.debugging.enable_check_numerics(stack_height_limit=5)
    try:
        for call in (f, tf.math.log):
            with pytest.raises(ValueError, match=r"Log.* at test_python_calls\.py"):
                call(bad)
        with v1.Graph().as_default(), v1.Session() as session, pytest.raises(tf.errors.InvalidArgumentError):
            session.run(tf.math.log(tf.constant([0.0])))
    finally:
        tf.debugging.disable_check_numerics()
    assert np.isinf(f(bad).numpy()[1])


def test_lines_are_printed_when_a_graph_is_run(engine, capsys):
    @tf.function
    def f(x):
        tf.print("x is", x, "of", tf.shape(x), sep="|")
        return x * 2.0

    f(X)
    f(X + 1.0)
    assert capsys.readouterr().err == "x is|[1 2 3]|of|[3]\nx is|[2 3 4]|of|[3]\n"
    with v1.Graph().as_default(), v1.Session() as session:
        x = v1.placeholder(tf.float32, [3])
        y = v1.Print(x * 2.0, [x, tf.reduce_sum(x)], message="given: ", first_n=2)
        done = tf.print(x, end=";")
        for _ in range(3):
            assert session.run(y, {x: X}).tolist() == [2.0, 4.0, 6.0]
        assert capsys.readouterr().err == "given: [1 2 3][6]\n" * 2
        assert session.run(done, {x: X}) is None and capsys.readouterr().err == "[1 2 3];"


PRINTED = {  # summarize → the line of TensorFlow 2.21
    None: "m: [3][1.5 2 3...][[1 2][3...]...][ab][ab c d e...][1 0][0.1][][[[0 1][2...]]...][[[1]]]",
    6: "m: [3][1.5 2 3 4][[1 2][3 4]][ab][ab c d e f][1 0][0.1][][[[0 1][2 3][4 5]]...][[[1]]]",
    -1: "m: [3][1.5 2 3 4][[1 2][3 4]][ab][ab c d e f][1 0][0.1][][[[0 1][2 3][4 5]][[6 7][8 9][10 11]]][[[1]]]",
    1: "m: [3][1.5...][[1...]...][ab][ab...][1...][0.1][][[[0...]]...][[[1]]]",
    5: "m: [3][1.5 2 3 4][[1 2][3 4]][ab][ab c d e f][1 0][0.1][][[[0 1][2 3][4...]]...][[[1]]]",
}


@pytest.mark.parametrize("summarize", PRINTED)
def test_print_writes_arrays_in_brackets(summarize, capfd):
    with v1.Graph().as_default(), v1.Session() as session:
        numbers = [3, [1.5, 2.0, 3.0, 4.0], [[1, 2], [3, 4]]]
        words = ["ab", ["ab", "c d", "e", "f"]]
        others = [[True, False], np.float32(0.1), np.zeros([2, 0]), np.arange(12).reshape(2, 3, 2), [[[1]]]]
        data = [v1.constant(x) for x in (*numbers, *words, *others)]
        session.run(v1.Print(v1.constant(1.0), data, "m: ", summarize=summarize))
    assert capfd.readouterr().err.splitlines()[-1] == PRINTED[summarize]


def test_functions_get_numbers_and_bytes_in_place_of_arrays_without_axes(engine):
    kinds = []

    def noted(*given):
        kinds.append([type(x).__name__ for x in given])
        return np.float32(len(given))

    given = ["a", ["b"], 1.5, 2, True, [3]]
    with tf.Graph().as_default(), tf.Session() as session:
        tensors = [tf.constant(x) for x in given]
        assert session.run([tf.py_func(noted, tensors, tf.float32), tf.py_func(noted, tensors[2:], tf.float32)]) == [
            6,
            4,
        ]
        session.run(tf.py_func(noted, tensors[:1], []))
    kinds.sort(key=len, reverse=True)
    numbers = ["float32", "int32", "bool", "ndarray"]
    assert kinds == [["bytes", "ndarray", *numbers], numbers, ["bytes"]]
