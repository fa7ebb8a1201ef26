"""The measures of contrib and TF-Slim: those of `tf.metrics` with the predictions first, and others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.compat.tensorflow.old.metrics import AT, CALLS, LABELS, SCORES, C, D, P, T, W, X, case

VALUES = "mean", "mean_tensor", "percentage_below"  # they take no labels
OTHERS = {"percentage_below": "percentage_less", "recall_at_k": "sparse_recall_at_k"}
OTHERS["precision_at_k"] = "sparse_precision_at_k"
OUTSIDE = "mean_per_class_accuracy", "precision_at_top_k", "recall_at_top_k"  # contrib does not have them
OWN = {
    "streaming_recall_at_k": [((SCORES, LABELS[:, 0], 2), {}), ((SCORES, LABELS[:, 1], 3, W[:5]), {"name": "mine"})],
    **{
        f"streaming_{name}": [((T, T[::-1]), {}), ((T, T[::-1], W[:5, None]), {})]
        for name in ("false_positive_rate", "false_negative_rate")
    },
    **{
        f"streaming_{name}_at_thresholds": [((P, T, AT), {}), ((P, T, AT, W[:5, None]), {})]
        for name in ("false_positive_rate", "false_negative_rate")
    },
    "f1_score": [((T, P), {}), ((T, P, W[:5, None], 7), {})],
    "count": [((X,), {}), ((X, W[:, None]), {})],
    "cohen_kappa": [((C, D, 4), {}), ((C, D, 4, W), {})],
}


def _of_contrib(tf: Any) -> Any:
    return tf.contrib.metrics


def _streaming(name: str, calls: Any) -> Callable[..., Any]:
    """The calls of `tf.metrics` that contrib's measure takes too, with the predictions first."""
    taken = [(args, options) for args, options in calls if "summation_method" not in options]
    if name not in VALUES:
        taken = [((args[1], args[0], *args[2:]), options) for args, options in taken]
    return case(f"streaming_{OTHERS.get(name, name)}", taken, _of_contrib)


def accuracy(tf: Any, fed: Any) -> Any:
    share = tf.contrib.metrics.accuracy
    return [share(fed(C), fed(D)), share(fed(T > 0), fed(P > 0.5)), share(fed(C), fed(D), tf.constant(W))]


def accuracy_of_floats(tf: Any, fed: Any) -> Any:
    return tf.contrib.metrics.accuracy(fed(T), fed(P))


def together(tf: Any, fed: Any) -> Any:
    """Measures by name, as programs of TF-Slim have them."""
    metrics = tf.contrib.slim.metrics
    values, updates = metrics.aggregate_metric_map(
        {"right": metrics.streaming_accuracy(C, D), "error": metrics.streaming_mean_squared_error(X, X[::-1])}
    )
    pair = metrics.aggregate_metrics(metrics.streaming_mean(X), metrics.streaming_mean(W, name="weights"))
    with tf.Session() as session:
        session.run(tf.local_variables_initializer())
        session.run([updates, pair[1]])
        found = session.run([values["right"], values["error"], *pair[0]])
    return [tf.constant(x) for x in found]


def nothing_together(tf: Any, fed: Any) -> Any:
    return tf.contrib.metrics.aggregate_metrics()


CASES = {
    **{
        name: _streaming(name, calls)
        for name, calls in CALLS.items()
        if name not in OUTSIDE and not name.endswith("tives_at_thresholds")
    },
    **{name: case(name, calls, _of_contrib) for name, calls in OWN.items()},
    **{f.__name__: f for f in (accuracy, accuracy_of_floats, together, nothing_together)},
}
INITIAL = tuple(CASES)
