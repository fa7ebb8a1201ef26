"""TensorFlow 1's measures of predictions over many runs: local variables sum up what each run adds.

A measure has names of variables, a number that a run adds to each, and a function of the variables for its value.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from functools import partial
from typing import Any

from dovetail import ops
from dovetail.compat.kept import has_owner, kept
from dovetail.compat.tensorflow import graph_mode
from dovetail.compat.tensorflow.entries import value
from dovetail.compat.tensorflow.names.debugging import COMPARISONS
from dovetail.compat.tensorflow.names.graph.graph import GraphKeys, control_dependencies
from dovetail.compat.tensorflow.names.nn.losses import confusion_matrix
from dovetail.compat.tensorflow.names.variables.variable_scope import variable_scope
from dovetail.compat.tensorflow.names.variables.variables import variable
from dovetail.compat.tensorflow.table import arguments_of, deferring, signature_of, told
from dovetail.core.base.errors import op_error
from dovetail.core.values.value_kinds import static_shape
from dovetail.ops.shapes.shape import dims_of, shaped

Added = Mapping[str, Any]  # the name of a variable → the number that a run adds to it
COLLECTIONS = "metrics_collections=None updates_collections=None"
EPSILON = 1e-7


def metric(
    name: str,
    words: str,
    added: Callable[..., Added],
    result: Callable[..., Any],
    scope: str | Callable[..., str] | None = None,
    update: Callable[..., Any] | None = None,
    names: str | None = None,
) -> Callable[..., Any]:
    """Add a measure to the table, and return the function that programs call.

    Args:
        name: its name.
        words: its own parameters in TensorFlow's order; "+" means the collections.
        added: its own arguments → the number that a run adds to each variable.
        result: the variables, and those own arguments that it names → the value.
        scope: the default scope of the variables, or a function of the arguments for it; by default the name.
        update: the variables after a run → the value of the operation that updates; by default `result`.
        names: its names in the table; by default that of `tf.metrics`.
    """
    signature = signature_of(f"{words} name=None".replace("+", COLLECTIONS))
    further = signature.parameters.keys() & inspect.signature(result).parameters.keys()

    def measure(*args: Any, **kwargs: Any) -> tuple[Any, Any]:
        own = arguments_of(signature, args, kwargs)
        values, updates, title = (own.pop(key) for key in ("metrics_collections", "updates_collections", "name"))
        graph_mode.open_for_variables()
        is_kept = graph_mode.graph() is None and has_owner()
        if graph_mode.graph() is None and not is_kept:
            raise op_error(RuntimeError, f"tf.metrics.{name}", "it needs a graph: use Keras' metrics without one.")
        with nullcontext() if is_kept else variable_scope(title, scope(**own) if callable(scope) else scope or name):
            parts = added(**own)
            makes = [partial(metric_variable, x.shape, x.dtype, name=part) for part, x in parts.items()]
            made = [kept(make) if is_kept else make() for make in makes]
            changed = [v.assign_add(x) for v, x in zip(made, parts.values(), strict=True)]
            settings = {key: own[key] for key in further}
            value_and_update = (
                result(*(v.read_value() for v in made), **settings),
                (update or result)(*changed, **settings),
            )
        for one, keys in () if is_kept else zip(value_and_update, (values, updates), strict=True):
            graph_mode.open_graph().add_to_collections(keys or (), one)
        return value_and_update

    measure.__signature__, measure.__name__ = signature, name  # type: ignore[attr-defined]
    measure.__doc__ = f"""A measure over many runs: its value, and the operation that takes in the numbers of a run.

    Source: `tf.compat.v1.metrics.{name}`.
    """
    title = names or f"metrics.{name}"
    told_measure = told(title.split()[0], measure, scope=False)
    value(title, told_measure, "v1")
    return told_measure


def metric_variable(shape: Any, dtype: Any, validate_shape: bool = True, name: str | None = None) -> Any:
    """A variable of zeros, in the collections of a measure's variables.

    Source: `tensorflow.python.ops.metrics_impl.metric_variable`.
    """
    collections = [GraphKeys.LOCAL_VARIABLES, GraphKeys.METRIC_VARIABLES]
    return variable(ops.zeros(tuple(shape), dtype), name=name, trainable=False, collections=collections)


# -- parts ------------------------------------------------------------------------------------------------------------


def rank_of(x: Any) -> int | None:
    shape = static_shape(shaped(x))
    return None if shape is None else len(shape)


def alike(labels: Any, predictions: Any, more: int = 0) -> tuple[Any, Any]:
    """Both without the last axis of size 1 that one of them has too much; predictions have `more` axes more."""
    ranks = rank_of(labels), rank_of(predictions)
    away = 0 if None in ranks else ranks[1] - ranks[0] - more  # type: ignore[operator]
    return (
        ops.squeeze(labels, -1) if away == -1 else labels,
        ops.squeeze(predictions, -1) if away == 1 else predictions,
    )


def _level(weights: Any, like: Any) -> Any:
    mine, theirs = (len(static_shape(shaped(x))) for x in (weights, like))  # an error says that it must be called later
    if not mine or not theirs or abs(mine - theirs) != 1:
        return weights
    return ops.expand_dims(weights, -1) if mine < theirs else ops.squeeze(weights, -1)


def level(weights: Any, like: Any) -> Any:
    """Weights with as many axes as these numbers, if only a last one of size 1 is missing, or is too much.

    Weights of unknown rank are made so when their rank is known.
    """
    return deferring("tf.metrics", _level)(weights, like)


def wide_of(weights: Any, like: Any) -> Any:
    """Weights for each of these numbers; by default 1."""
    if weights is None:
        return ops.ones_like(like, "float32")
    weights = level(ops.cast(weights, "float32"), like)
    if rank_of(like) is None:
        return ops.multiply(weights, ops.ones_like(like, "float32"))
    return ops.broadcast_to(weights, dims_of(shaped(like)))


def ratio(total: Any, count: Any) -> Any:
    """The quotient; 0 where the count is not positive."""
    is_some = ops.greater(count, 0)
    return ops.where(is_some, ops.divide(total, ops.where(is_some, count, 1.0)), 0.0)


def _flat(x: Any, dtype: str) -> Any:
    return ops.cast(ops.reshape(x, (-1,)), dtype)


# -- means ------------------------------------------------------------------------------------------------------------


def _mean(values: Any, weights: Any = None) -> Added:
    values = ops.cast(values, "float32")
    wide = wide_of(weights, values)
    return {"total": ops.sum(ops.multiply(values, wide)), "count": ops.sum(wide)}


def _mean_of(error: Callable[..., Any], labels: Any, predictions: Any, weights: Any, **own: Any) -> Added:
    labels, predictions = alike(ops.convert(labels), ops.convert(predictions))
    return _mean(error(labels, ops.cast(predictions, labels.dtype), **own), weights)


def _relative(labels: Any, predictions: Any, normalizer: Any) -> Any:
    normalizer = alike(normalizer, predictions)[0]
    is_zero = ops.equal(normalizer, 0.0)
    quotient = ops.divide(ops.absolute(ops.subtract(labels, predictions)), ops.where(is_zero, 1.0, normalizer))
    return ops.where(is_zero, ops.zeros_like(labels), quotient)


def _squared(labels: Any, predictions: Any) -> Any:
    return ops.square(ops.subtract(labels, predictions))


# name → further parameters, the number for each sample, and a function of the mean
MEANS: dict[str, tuple[str, Callable[..., Any], Callable[..., Any]]] = {
    "accuracy": ("", ops.equal, ratio),
    "mean_absolute_error": ("", lambda y, p: ops.absolute(ops.subtract(y, p)), ratio),
    "mean_squared_error": ("", _squared, ratio),
    "root_mean_squared_error": ("", _squared, lambda *sums: ops.sqrt(ratio(*sums))),
    "mean_relative_error": ("normalizer ", _relative, ratio),
    "mean_cosine_distance": (
        "dim ",
        lambda y, p, dim: ops.sum(ops.multiply(y, p), dim, True),
        lambda *sums: ops.subtract(1.0, ratio(*sums)),
    ),
}
for _name, (_own, _error, _result) in MEANS.items():
    metric(_name, f"labels predictions {_own}weights=None +", partial(_mean_of, _error), _result)


def _mean_tensor(values: Any, weights: Any) -> Added:
    values = ops.cast(values, "float32")
    wide = wide_of(weights, values)
    return {"total_tensor": ops.multiply(values, wide), "count_tensor": wide}


def _below(values: Any, threshold: Any, weights: Any) -> Added:
    return _mean(ops.less(values, threshold), weights)


mean = metric("mean", "values weights=None +", _mean, ratio)
metric("mean_tensor", "values weights=None +", _mean_tensor, ratio, "mean")
metric("percentage_below", "values threshold weights=None +", _below, ratio, "percentage_below_threshold")

# -- right and wrong predictions --------------------------------------------------------------------------------------

KINDS = {  # kind → the name, and whether the labels and the predictions are positive
    "tp": ("true_positives", True, True),
    "fn": ("false_negatives", True, False),
    "tn": ("true_negatives", False, False),
    "fp": ("false_positives", False, True),
}
EACH = "labels predictions weights=None +"
AT = "labels predictions thresholds weights=None +"
_RANGE = "predictions must be in [0, 1]"


def counts(kinds: str, end: str, labels: Any, predictions: Any, weights: Any) -> Added:
    """The weights of right and wrong predictions, by their kinds."""
    labels, predictions = alike(ops.cast(labels, "bool"), ops.cast(predictions, "bool"))
    wide = wide_of(weights, predictions)
    return {f"{KINDS[k][0]}{end}": ops.sum(_of_kind(k, labels, predictions, wide)) for k in kinds.split()}


def _of_kind(kind: str, labels: Any, predictions: Any, weights: Any) -> Any:
    _, is_true, is_predicted = KINDS[kind]
    fits = ops.logical_and(ops.equal(labels, is_true), ops.equal(predictions, is_predicted))
    return ops.multiply(ops.cast(fits, "float32"), weights)


def _count(kind: str, **given: Any) -> Added:
    return {"count": next(iter(counts(kind, "", **given).values()))}


def _in_unit(predictions: Any) -> Any:
    """The predictions, which must lie in [0, 1]."""
    checks = (COMPARISONS["assert_greater_equal"], 0.0), (COMPARISONS["assert_less_equal"], 1.0)
    with control_dependencies([check(predictions, bound, message=_RANGE) for check, bound in checks]):
        return ops.identity(predictions)


def counts_at(kinds: str, labels: Any, predictions: Any, thresholds: Any, weights: Any) -> Added:
    """The weights of right and wrong predictions at each threshold, by their kinds."""
    labels, predictions = alike(ops.cast(labels, "bool"), _in_unit(ops.cast(predictions, "float32")))
    wide = _flat(wide_of(weights, predictions), "float32")
    above = ops.greater(_flat(predictions, "float32"), ops.convert([[float(t)] for t in thresholds]))
    return {KINDS[k][0]: ops.sum(_of_kind(k, _flat(labels, "bool"), above, wide), 1) for k in kinds.split()}


def share(right: Any, wrong: Any) -> Any:
    return ops.divide(right, ops.add(EPSILON, ops.add(right, wrong)))


for _kind, (_name, _, _) in KINDS.items():
    metric(_name, EACH, partial(_count, _kind), ops.identity)
    metric(f"{_name}_at_thresholds", AT, partial(counts_at, _kind), ops.identity, _name)
for _name, _kinds in {"precision": "tp fp", "recall": "tp fn"}.items():
    metric(_name, EACH, partial(counts, _kinds, "/count"), lambda right, wrong: ratio(right, ops.add(right, wrong)))
    metric(f"{_name}_at_thresholds", AT, partial(counts_at, _kinds), share)


def spread(count: int, last: float = 1.0 + EPSILON) -> list[float]:
    return [-EPSILON, *((i + 1) / (count - 1) for i in range(count - 2)), last]


# -- curves -----------------------------------------------------------------------------------------------------------


def _curve(title: str, words: str, result: Callable[..., Any], last: float = 1.0 + EPSILON) -> None:
    """Add a measure of right and wrong predictions at many thresholds."""

    def added(labels: Any, predictions: Any, weights: Any, num_thresholds: int, **own: Any) -> Added:
        given = own.get("thresholds")
        at = spread(num_thresholds, last) if given is None else [-EPSILON, *sorted(given), last]
        return counts_at("tp fn tn fp", labels, predictions, at, weights)

    metric(title, words, added, result)


def _auc(tp: Any, fn: Any, tn: Any, fp: Any, curve: str, summation_method: str) -> Any:
    if curve not in ("ROC", "PR") or summation_method not in SUMS:
        problem = f"the curve is ROC or PR, and summation_method is {', '.join(SUMS)}."
        raise op_error(ValueError, "tf.metrics.auc", problem)
    if curve == "PR" and summation_method == "careful_interpolation":
        return _interpolated(tp, fn, fp)
    small = 1e-6  # as TensorFlow adds
    recall = ops.divide(ops.add(tp, small), ops.add(ops.add(tp, fn), small))
    if curve == "ROC":
        x, y = ops.divide(fp, ops.add(ops.add(fp, tn), small)), recall
    else:
        x, y = recall, ops.divide(ops.add(tp, small), ops.add(ops.add(tp, fp), small))
    return ops.sum(ops.multiply(ops.subtract(x[:-1], x[1:]), SUMS[summation_method](y[:-1], y[1:])))


def _middle(a: Any, b: Any) -> Any:
    return ops.divide(ops.add(a, b), 2.0)


# the height of the curve between two thresholds
SUMS: dict[str, Callable[..., Any]] = {
    "trapezoidal": _middle,
    "careful_interpolation": _middle,
    "minoring": ops.minimum,
    "majoring": ops.maximum,
}


def _interpolated(tp: Any, fn: Any, fp: Any) -> Any:
    """The area under the curve of precision and recall, where both counts go linearly between two thresholds.

    Source: Davis and Goadrich 2006, "The relationship between precision-recall and ROC curves".
    """
    p, step = ops.add(tp, fp), ops.subtract(tp[:-1], tp[1:])
    slope = ratio(step, ops.subtract(p[:-1], p[1:]))
    start = ops.subtract(tp[1:], ops.multiply(slope, p[1:]))
    is_some = ops.logical_and(ops.greater(p[:-1], 0), ops.greater(p[1:], 0))
    growth = ops.where(is_some, ratio(p[:-1], p[1:]), 1.0)
    area = ops.multiply(slope, ops.add(step, ops.multiply(start, ops.log(ops.where(is_some, growth, 1.0)))))
    return ops.sum(ratio(area, ops.add(tp[1:], fn[1:])))


def _sensitivity(tp: Any, fn: Any, tn: Any, fp: Any, specificity: float) -> Any:
    place = ops.argmin(ops.absolute(ops.subtract(share(tn, fp), specificity)), 0)
    return share(ops.gather(tp, place), ops.gather(fn, place))


def _specificity(tp: Any, fn: Any, tn: Any, fp: Any, sensitivity: float) -> Any:
    away = ops.absolute(ops.subtract(share(tp, fn), sensitivity))
    last = ops.subtract(dims_of(away)[0] - 1, ops.argmin(ops.flip(away, 0), 0))
    return share(ops.gather(tn, last), ops.gather(fp, last))


_AUC = "labels predictions weights=None num_thresholds=200 + curve='ROC' summation_method='trapezoidal' thresholds=None"
_curve("auc", _AUC, _auc)
_AT = "labels predictions {} weights=None num_thresholds=200 +"
_curve("sensitivity_at_specificity", _AT.format("specificity"), _sensitivity)
_curve("specificity_at_sensitivity", _AT.format("sensitivity"), _specificity, 1.0 - EPSILON)

# -- classes ----------------------------------------------------------------------------------------------------------


def _iou(matrix: Any) -> Any:
    matrix = ops.cast(matrix, "float32")
    right = ops.diagonal(matrix)
    either = ops.subtract(ops.add(ops.sum(matrix, 0), ops.sum(matrix, 1)), right)
    return ratio(ops.sum(ratio(right, either)), ops.sum(ops.cast(ops.not_equal(either, 0), "float32")))


def _matrix(**given: Any) -> Added:
    return {"total_confusion_matrix": confusion_matrix(**given, dtype="float64")}


def _of_classes(labels: Any, predictions: Any, num_classes: int, weights: Any) -> Added:
    labels = _flat(labels, "int64")
    wide = wide_of(weights if weights is None else ops.reshape(weights, (-1,)), labels)
    right = ops.multiply(ops.cast(ops.equal(labels, _flat(predictions, "int64")), "float32"), wide)
    sums = (ops.tensor_scatter_add(ops.zeros([num_classes]), labels[:, None], x) for x in (wide, right))
    return dict(zip(("total", "count"), sums, strict=True))


_CLASSES = "labels predictions num_classes weights=None +"
metric("mean_iou", _CLASSES, _matrix, _iou, update=ops.identity)
metric(
    "mean_per_class_accuracy",
    _CLASSES,
    _of_classes,
    lambda total, count: ops.mean(ratio(count, total)),
    "mean_accuracy",
    lambda total, count: ratio(count, total),
)
