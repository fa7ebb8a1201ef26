"""`tf.test`: a program's own tests, with sessions and comparisons."""

from __future__ import annotations

import random
import unittest

import dovetail.compat.tensorflow.compat.v1 as tf
import numpy as np
import pytest

from dovetail.compat import tensorflow as tf2


class OwnTest(tf.test.TestCase):
    """Each method must pass."""

    def test_each_test_has_an_empty_graph(self):
        self.assertEqual(len(tf.global_variables()), 0)
        tf.get_variable("v", [2])

    def test_each_test_has_an_empty_graph_again(self):
        self.assertEqual(tf.get_variable("v", [2]).op.name, "v")

    def test_the_sessions_variables_keep_their_values(self):
        v = tf.get_variable("v", [], initializer=tf.zeros_initializer())
        with self.cached_session() as session:
            session.run(tf.global_variables_initializer())
            session.run(v.assign_add(2.0))
        with self.test_session():
            self.assertEqual(v.eval(), 2.0)
        with self.session() as other:
            other.run(tf.global_variables_initializer())
            self.assertEqual(v.eval(), 0.0)

    def test_another_graph(self):
        with tf.Graph().as_default() as graph, self.test_session(graph=graph) as session:
            self.assertIs(session.graph, graph)

    def test_draws_are_the_same(self):
        draws = []
        for _ in range(2):
            self.setUp()
            draws.append((random.random(), self.evaluate(tf.random_normal([2]))))
        self.assertAllEqual(draws[0][1], draws[1][1])
        self.assertEqual(draws[0][0], draws[1][0])

    def test_each_test_has_a_folder(self):
        with open(f"{self.get_temp_dir()}/file", "w") as file:
            file.write("x")
        self.assertEqual(self.get_temp_dir(), self.get_temp_dir())


X = [1.0, 2.0]
COMPARISONS = {  # a comparison → arguments for which it holds, and for which it fails
    "assertAllClose": ((X, [1.0, 2.0 + 1e-7]), (X, [1.0, 2.1])),
    "assertAllCloseAccordingToType": ((np.float16(1.0), 1.0005), (1.0, 1.0005)),
    "assertNotAllClose": ((X, [1.0, 2.1]), (X, X)),
    "assertAllEqual": ((X, np.array(X)), (X, [1.0, 2.0 + 1e-7])),
    "assertNear": ((1.0, 1.05, 0.1), (1.0, 1.2, 0.1)),
    "assertArrayNear": ((X, [1.05, 2.0], 0.1), (X, [1.2, 2.0], 0.1)),
    "assertStartsWith": (("word", "wo"), ("word", "or")),
    "assertItemsEqual": (([1, 2], [2, 1]), ([1, 2], [1, 1])),
    "assertDeviceEqual": (("/cpu:0", "/device:CPU:0"), ("/cpu:0", "/gpu:0")),
}


@pytest.mark.parametrize("name", COMPARISONS)
def test_a_comparison_holds_or_fails(name):
    holds, fails = COMPARISONS[name]
    compare = getattr(OwnTest("test_another_graph"), name)
    compare(*holds)
    with pytest.raises(AssertionError):
        compare(*fails)


def test_nests_and_tensors_are_compared():
    case = OwnTest("test_another_graph")
    case.setUp()
    case.assertAllClose({"a": X, "b": [X, X]}, {"a": tf.constant(X), "b": [np.array(X), tf.constant(X)]})
    case.assertShapeEqual(np.zeros((2, 3)), tf.zeros([2, 3]))
    with pytest.raises(AssertionError):
        case.assertAllClose({"a": X}, {"b": X})


def test_an_error_must_match():
    case = OwnTest("test_another_graph")
    with case.assertRaisesOpError("small"):
        raise ValueError("too small")
    with case.assertRaisesWithPredicateMatch(ValueError, lambda error: "small" in str(error)):
        raise ValueError("too small")
    with pytest.raises(AssertionError), case.assertRaisesOpError("large"):
        raise ValueError("too small")


def test_the_base_class_has_no_tests_of_its_own():
    assert unittest.defaultTestLoader.getTestCaseNames(tf.test.TestCase) == ["test_session"]
    assert not tf.test.TestCase.__test__ and OwnTest.__test__


def test_gpus():
    assert tf.test.is_gpu_available() == bool(tf.test.gpu_device_name()) == tf.test.is_built_with_cuda()


def test_gradients_are_compared_with_differences():
    with tf.Graph().as_default(), tf.Session():
        x, scale = tf.placeholder(tf.float64, [2, 3]), tf.constant(2.0, tf.float64)
        by_gradient, by_difference = tf.test.compute_gradient(x, [2, 3], tf.reduce_sum(x * x * scale, 1), [2])
        assert by_gradient.shape == by_difference.shape == (6, 2)
        np.testing.assert_allclose(by_gradient, by_difference, atol=1e-6)
        assert np.count_nonzero(by_gradient) == 6
        start = np.ones([2, 3])
        assert tf.test.compute_gradient_error(x, [2, 3], x**3, [2, 3], start) == pytest.approx(1e-6, rel=0.1)
        held = tf.stop_gradient(x) + x
        assert tf.test.compute_gradient_error([x], [[2, 3]], held, [2, 3]) == pytest.approx(1.0)


def test_gradients_of_functions_are_compared_with_differences():
    x, y = np.array([1.0, 2.0]), np.array([3.0])
    found = tf2.test.compute_gradient(lambda a, b: a * a * b, [x, y])
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6)
    np.testing.assert_allclose(found[0][0], np.diag(6 * x))
    np.testing.assert_allclose(found[0][1], [[1.0], [4.0]])
