"""TF-Slim's losses and training steps."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from typing import Any

import numpy as np

from tests.compat.tensorflow.legacy import array


def _loss(name: str, *others: Any, **options: Any) -> Callable[[Any, Any], Any]:
    """A case: a loss of predictions and labels, also with weights of samples, of elements, and of 0."""

    def case(tf: Any, fed: Any) -> Any:
        losses = tf.contrib.slim.losses
        predictions = tf.sigmoid(tf.constant(array(4, 3)) + tf.get_variable("v", [3]))
        labels = tf.constant(np.eye(4, 3, dtype="float32"))
        loss = getattr(losses, name)
        found = [
            loss(predictions, labels, *others, **options),
            loss(predictions, labels, *others, scope="own", **options),
        ]
        if name != "hinge_loss":
            weights = [0.5, 0.0, np.arange(4, dtype="float32"), np.arange(4, dtype="float32").reshape(4, 1)]
            found += [loss(predictions, labels, *others, weights=tf.constant(w), **options) for w in weights]
            found.append(losses.get_total_loss())
        return [*found, *losses.get_losses()]

    return case


def sparse(tf: Any, fed: Any) -> Any:
    losses, logits = tf.contrib.slim.losses, fed(array(4, 3)) + tf.get_variable("v", [3])
    for labels in (np.array([0, 2, 1, 1]), np.array([[0], [2], [1], [1]])):
        losses.sparse_softmax_cross_entropy(logits, fed(labels), weights=tf.constant([1.0, 0.0, 2.0, 0.5]))
    tf.get_variable("w", [2], regularizer=tf.contrib.layers.l2_regularizer(0.5))
    losses.add_loss(tf.reduce_sum(logits))
    assert len(losses.get_regularization_losses()) == 1
    return [losses.get_total_loss(), losses.get_total_loss(add_regularization_losses=False)]


def weighted(tf: Any, fed: Any) -> Any:
    losses, each = tf.contrib.slim.losses, tf.constant(array(4, 3, 2))
    weights = [2.0, array(4, seed=1), array(4, 3, seed=1), array(4, 3, 2, seed=1), np.array([[1.0], [0], [2], [0]])]
    return [losses.compute_weighted_loss(each, tf.constant(w, "float32")) for w in weights]


def _taken(tf: Any, fed: Any, **options: Any) -> Any:
    """The losses of three steps, and the variables after them."""
    slim = tf.contrib.slim
    w, v = (tf.get_variable(name, shape) for name, shape in {"w": [3, 2], "v": [2]}.items())
    loss = tf.reduce_sum(tf.square(tf.matmul(tf.constant(array(5, 3)), w) + v))
    tf.add_to_collection("update_ops", tf.get_variable("calls", [], trainable=False).assign_add(1.0))
    chosen = [w] if "some" in options else None
    options = {key: given for key, given in options.items() if key != "some"}
    step = slim.learning.create_train_op(
        loss, tf.train.GradientDescentOptimizer(0.05), variables_to_train=chosen, **options
    )
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for number, variable in enumerate((w, v)):
            variable.load(array(*variable.shape.as_list(), seed=number), session)
        session.run(tf.variables_initializer([x for x in tf.global_variables() if x not in (w, v)]))
        losses = [session.run(step) for _ in range(3)]
        return [tf.constant(x) for x in [*losses, *session.run([w, v, *slim.get_variables("global_step")])]]


def _step(**options: Any) -> Callable[[Any, Any], Any]:
    return lambda tf, fed: _taken(tf, fed, **options)


def _fitted(tf: Any) -> tuple[Any, Any]:
    v = tf.get_variable("v", [2], initializer=tf.constant_initializer(1.0))
    step = tf.contrib.slim.learning.create_train_op(
        tf.reduce_sum(tf.square(v + 1.0)), tf.train.GradientDescentOptimizer(0.1)
    )
    return v, step


def trained(tf: Any, fed: Any) -> Any:
    """Train to a step without a folder, from values that a function gives, then in a folder, and on from there.

    The gradient takes `v + 1`, so that both sides compute the loss before the step.  The loss `sum(v * v)` is not so:
    TensorFlow computes it after the step in most runs, and before it in some.
    """
    learning, found = tf.contrib.slim.learning, []
    for first in (None, [3.0, -2.0]):
        with tf.Graph().as_default():
            v, step = _fitted(tf)
            started = first and (lambda session, v=v, first=first: v.load(first, session))
            found.append(learning.train(step, None, number_of_steps=3, init_fn=started))
    with tempfile.TemporaryDirectory() as folder:
        for last in (2, 4):
            with tf.Graph().as_default():
                found.append(learning.train(_fitted(tf)[1], folder, number_of_steps=last, save_summaries_secs=0))
            assert os.path.basename(tf.train.latest_checkpoint(folder)) == f"model.ckpt-{last}"
            found += [tf.train.load_variable(folder, name) for name in ("v", "global_step")]
    return [tf.constant(value) for value in found]


def no_steps(tf: Any, fed: Any) -> Any:
    return tf.contrib.slim.learning.train(_fitted(tf)[1], None, number_of_steps=0)


def summaries_in_no_folder(tf: Any, fed: Any) -> Any:
    return tf.contrib.slim.learning.train(_fitted(tf)[1], None, number_of_steps=1, summary_op=None)


def evaluated(tf: Any, fed: Any) -> Any:
    """The last values of evaluations of a checkpoint, by slim's two functions."""
    slim, found = tf.contrib.slim, []
    with tempfile.TemporaryDirectory() as folder:
        with tf.Graph().as_default():
            slim.learning.train(_fitted(tf)[1], folder, number_of_steps=2, save_summaries_secs=0, save_interval_secs=0)
        path = tf.train.latest_checkpoint(folder)
        for evaluate, where, more in (
            (slim.evaluation.evaluate_once, path, {}),
            (slim.evaluation.evaluation_loop, folder, {"max_number_of_evaluations": 1}),
        ):
            with tf.Graph().as_default():
                v, _ = _fitted(tf)
                tf.summary.scalar("first", v[0])
                total = tf.get_variable(
                    "total", [], collections=["local_variables"], initializer=tf.zeros_initializer(), trainable=False
                )
                count = total.assign_add(tf.reduce_sum(v))
                mean, update = slim.metrics.streaming_mean(v)
                asked = {"eval_op": [count, update], "final_op": [total, v, mean]}
                found += evaluate("", where, folder, num_evals=3, **asked, **more)
        assert any("events" in name for name in os.listdir(folder))
    return [tf.constant(value) for value in found]


def no_checkpoint_comes(tf: Any, fed: Any) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        found = list(tf.contrib.slim.evaluation.checkpoints_iterator(folder, timeout=0))
        assert tf.contrib.slim.evaluation.wait_for_new_checkpoint(folder, timeout=0) is None
    return tf.constant(len(found))


def no_factors(tf: Any, fed: Any) -> Any:
    return tf.contrib.slim.learning.multiply_gradients([], {})


def no_gradient(tf: Any, fed: Any) -> Any:
    v = tf.get_variable("v", [2])
    return tf.contrib.slim.learning.multiply_gradients([(None, v)], {"v": 2.0})


CASES = {
    **{
        name: _loss(name)
        for name in ("absolute_difference", "hinge_loss", "log_loss", "mean_squared_error", "sigmoid_cross_entropy")
    },
    "log_loss_epsilon": _loss("log_loss", epsilon=0.1),
    "sigmoid_smoothed": _loss("sigmoid_cross_entropy", label_smoothing=0.2),
    "softmax_cross_entropy": _loss("softmax_cross_entropy"),
    "softmax_smoothed": _loss("softmax_cross_entropy", label_smoothing=0.2),
    "cosine_distance": _loss("cosine_distance", axis=1),
    "step": _step(),
    "step_clipped": _step(clip_gradient_norm=0.5, summarize_gradients=True),
    "step_multiplied": _step(gradient_multipliers={"w": 0.5}),
    "step_of_some": _step(some=True),
    "step_of_no_count": _step(global_step=None),
    "step_without_updates": _step(update_ops=[], check_numerics=False),
    **{
        f.__name__: f
        for f in (
            trained,
            no_steps,
            summaries_in_no_folder,
            evaluated,
            no_checkpoint_comes,
            sparse,
            weighted,
            no_factors,
            no_gradient,
        )
    },
}
