"""Measures over many runs: the value before and after two runs, what the runs return, the variables."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

from tests.compat.tensorflow.legacy import array

X, Y = array(6, 3), array(6, 3, seed=1)
P = (array(5, 2, seed=2) + 1) / 2  # probabilities
T = np.array([[1, 0], [0, 1], [1, 1], [0, 0], [1, 0]], "float32")
C, D = np.array([0, 2, 1, 2, 0, 2]), np.array([0, 1, 1, 2, 2, 2])  # classes
W = np.array([0.5, 2.0, 0.0, 1.0, 1.5, 3.0], "float32")
LABELS = np.array([[0, 2], [3, 3], [1, 4], [2, 0], [4, 1]], "int64")
SCORES = array(5, 6, seed=3)
BEST = (LABELS, SCORES, 3, 4)
AT = [0.2, 0.5, 0.9]

CALLS: dict[str, list[tuple[tuple[Any, ...], dict[str, Any]]]] = {
    "mean": [((X,), {}), ((X, W[:, None]), {}), ((X, 2.0), {"name": "mine"})],
    "mean_tensor": [((X,), {}), ((X, W[:, None]), {})],
    "percentage_below": [((X, 0.3), {}), ((X[:, 0], 0.3, W), {})],
    "accuracy": [((C, D), {}), ((C[:, None], D, W), {}), ((C, D.astype("float32")), {"weights": W})],
    "mean_absolute_error": [((X, Y), {}), ((X, Y, W[:, None]), {})],
    "mean_squared_error": [((X, Y), {}), ((X[:, :1], Y[:, 0], W), {})],
    "root_mean_squared_error": [((X, Y), {}), ((X, Y, W[:, None]), {})],
    "mean_relative_error": [((X, Y, np.where(X > 0, X, 0)), {}), ((X, Y, Y, 0.5), {})],
    "mean_cosine_distance": [((X, Y, 1), {}), ((X, Y, 1, W[:, None]), {})],
    **{
        name: [((T, T[::-1]), {}), ((T, T[::-1], W[:5, None]), {})]
        for name in ("true_positives", "false_positives", "true_negatives", "false_negatives", "precision", "recall")
    },
    **{
        f"{name}_at_thresholds": [((T, P, AT), {}), ((T, P, AT, W[:5, None]), {})]
        for name in ("true_positives", "false_positives", "true_negatives", "false_negatives", "precision", "recall")
    },
    "auc": [
        ((T, P), {}),
        ((T, P, W[:5, None], 9), {"curve": "PR", "summation_method": "careful_interpolation"}),
        ((T, P), {"curve": "PR", "summation_method": "minoring", "num_thresholds": 5}),
        ((T, P), {"summation_method": "majoring", "thresholds": [0.7, 0.3]}),
    ],
    "sensitivity_at_specificity": [((T, P, 0.6), {}), ((T, P, 0.6, W[:5, None], 20), {})],
    "specificity_at_sensitivity": [((T, P, 0.6), {}), ((T, P, 0.6, W[:5, None], 20), {})],
    "mean_iou": [((C, D, 4), {}), ((C, D, 3, W), {})],
    "mean_per_class_accuracy": [((C, D, 4), {}), ((C, D, 3, W), {})],
    **{
        f"{name}_at_k": [((LABELS, SCORES, 3), {}), ((LABELS[:, 0], SCORES, 2, None, W[:5]), {}), (BEST, {})]
        for name in ("precision", "recall")
    },
    "average_precision_at_k": [((LABELS, SCORES, 3), {}), ((LABELS[:, 0], SCORES, 2, W[:5]), {})],
    "precision_at_top_k": [((LABELS, LABELS[::-1]), {}), ((LABELS, LABELS[::-1], 2, 1), {})],
    "recall_at_top_k": [((LABELS, LABELS[::-1]), {}), ((LABELS, LABELS[::-1], 2, 1), {})],
}  # fmt: skip


def case(name: str, calls: Any, module: Callable[[Any], Any] = lambda tf: tf.metrics) -> Callable[..., Any]:
    """The values of a measure before and after two runs, and what the runs return."""

    def run(tf: Any, fed: Any) -> Any:
        found = []
        for args, options in calls:
            given = [tf.constant(x) if isinstance(x, np.ndarray) else x for x in args]
            options = {"metrics_collections": ["losses"], "updates_collections": "update_ops", **options}
            if "weights" in options:
                options["weights"] = tf.constant(options["weights"])
            value, update = getattr(module(tf), name)(*given, **options)
            with tf.Session() as session:
                session.run(tf.local_variables_initializer())
                results = [session.run(value), session.run(update), session.run(update), session.run(value)]
            found += [tf.constant(x) for x in results]
        return found

    return run


def confusion(tf: Any, fed: Any) -> Any:
    matrix = tf.math.confusion_matrix
    found = [tf.confusion_matrix(fed(C), fed(D), 3), matrix(C, D, 4), tf.confusion_matrix(C, D, 3, weights=fed(W))]
    return [*found, tf.confusion_matrix(C, D, 3, tf.float64, "matrix", W)]


def unranked(tf: Any, fed: Any) -> Any:
    """Weights whose rank a run tells, with an axis of size 1 too much."""
    weights = tf.placeholder_with_default(np.float32([[100], [1], [1]]), None)
    _, update = tf.metrics.accuracy(tf.constant([[1], [0], [0]]), tf.constant([1, 1, 1]), weights)
    with tf.Session() as session:
        session.run(tf.local_variables_initializer())
        return tf.constant(session.run(update))


def streamed(tf: Any, fed: Any) -> Any:
    """The private counts of classes over two runs, of which packages make further measures."""
    root = "tensorflow" if tf.__name__.startswith("tensorflow") else tf.__name__
    count = import_module(f"{root}.python.ops.metrics_impl")._streaming_confusion_matrix
    total, update = count(tf.constant(C[None]), tf.constant(D[None]), 3, tf.constant(W[None]))
    with tf.Session() as session:
        session.run(tf.local_variables_initializer())
        return [tf.constant(x) for x in (session.run(update), session.run(update), session.run(total))]


MORE = {"confusion": confusion, "streamed": streamed, "unranked": unranked}
CASES = {**{name: case(name, calls) for name, calls in CALLS.items()}, **MORE}
INITIAL = tuple(CASES)
