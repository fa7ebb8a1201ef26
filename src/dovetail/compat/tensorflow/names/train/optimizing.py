"""Training steps of a loss: `tf.contrib.layers.optimize_loss`, and `create_train_op` of TF-Slim and contrib.training.

Source: `tf.contrib.layers`, `tf.contrib.slim.learning` and `tf.contrib.training`, the function of the same name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from dovetail import ops
from dovetail.compat.tensorflow import graph_mode
from dovetail.compat.tensorflow.entries import value
from dovetail.compat.tensorflow.names.contrib.places import LAYERS, under
from dovetail.compat.tensorflow.names.debugging import check_numerics as checked
from dovetail.compat.tensorflow.names.graph.graph import GraphKeys, control_dependencies
from dovetail.compat.tensorflow.names.math.arithmetic import clip_by_global_norm, clip_by_norm, global_norm
from dovetail.compat.tensorflow.names.optimizers import rows
from dovetail.compat.tensorflow.names.optimizers.base import Optimizer
from dovetail.compat.tensorflow.names.random.draws import truncated_normal
from dovetail.compat.tensorflow.names.summary.summary import histogram_v1, scalar_v1
from dovetail.compat.tensorflow.names.train.steps import assert_global_step, get_global_step, get_or_create_global_step
from dovetail.compat.tensorflow.names.variables.initializers import Constant, Zeros
from dovetail.compat.tensorflow.names.variables.variable_scope import get_variable, variable_scope
from dovetail.core.base.errors import op_error
from dovetail.core.values.value_kinds import is_recorded, static_shape

Pairs = list[tuple[Any, Any]]  # gradients, which may be None, and variables

OPTIMIZER_CLS_NAMES: dict[str, Callable[..., Optimizer]] = {
    "Adagrad": rows.AdagradOptimizer,
    "Adam": rows.AdamOptimizer,
    "Ftrl": rows.FtrlOptimizer,
    "Momentum": partial(rows.MomentumOptimizer, momentum=0.9),
    "RMSProp": rows.RMSPropOptimizer,
    "SGD": rows.GradientDescentOptimizer,
}
OPTIMIZER_SUMMARIES = ["learning_rate", "loss", "gradients", "gradient_norm", "global_gradient_norm"]


def _each(pairs: Pairs, change: Callable[[Any, Any], Any]) -> Pairs:
    """Pairs with changed gradients; None stays."""
    return [(None if gradient is None else change(gradient, variable), variable) for gradient, variable in pairs]


def _after(operations: Any, tensor: Any) -> Any:
    """A tensor that is computed after operations ran."""
    with control_dependencies(list(operations)):
        return ops.identity(tensor)


# -- contrib.layers ---------------------------------------------------------------------------------------------------


def optimize_loss(
    loss: Any,
    global_step: Any,
    learning_rate: Any,
    optimizer: Any,
    gradient_noise_scale: float | None = None,
    gradient_multipliers: Mapping[Any, Any] | None = None,
    clip_gradients: Any = None,
    learning_rate_decay_fn: Callable[[Any, Any], Any] | None = None,
    update_ops: Sequence[Any] | None = None,
    variables: Sequence[Any] | None = None,
    name: str | None = None,
    summaries: Sequence[str] | None = None,
    colocate_gradients_with_ops: bool = False,
    increment_global_step: bool = True,
) -> Any:
    """A loss whose computation also takes a training step.

    Args:
        loss: a number of the graph.
        global_step: a variable that counts the steps; by default the graph's, if it has one.
        learning_rate: a float, which becomes a variable, a tensor, or None.
        optimizer: a name of `OPTIMIZER_CLS_NAMES`, an optimizer, or a class or function that makes one of the rate.
        gradient_noise_scale: the scale of noise that is added to gradients.
        gradient_multipliers: factors for the gradients of variables, or of names of variables.
        clip_gradients: the largest norm of all gradients, or a function of pairs of gradients and variables.
        learning_rate_decay_fn: a function of the rate and the global step that gives the rate of a step.
        update_ops: operations that run before the loss is computed; by default the collection UPDATE_OPS.
        variables: by default all trained variables.
        summaries: which of `OPTIMIZER_SUMMARIES` are written; by default loss, rate and global norm.
        increment_global_step: whether the step counts.

    Raises:
        ValueError: an argument is none of these, or no gradient is left.
    """
    title, graph = "tf.contrib.layers.optimize_loss", graph_mode.open_graph()
    shown = ["loss", "learning_rate", "global_gradient_norm"] if summaries is None else list(summaries)
    if unknown := set(shown) - set(OPTIMIZER_SUMMARIES):
        raise op_error(ValueError, title, f"summaries are {', '.join(OPTIMIZER_SUMMARIES)}, not {unknown}.")
    if global_step is None:
        global_step = get_global_step()
    else:
        assert_global_step(global_step)
    with variable_scope(name, "OptimizeLoss", [loss, global_step]):
        loss = _after(graph.get_collection(GraphKeys.UPDATE_OPS) if update_ops is None else update_ops, loss)
        rate = _rate(title, learning_rate)
        if rate is not None and learning_rate_decay_fn is not None:
            if global_step is None:
                raise op_error(ValueError, title, "learning_rate_decay_fn needs a global_step.")
            rate = learning_rate_decay_fn(rate, global_step)
            if "learning_rate" in shown:
                scalar_v1("learning_rate", rate)
        made = _optimizer(title, optimizer, rate)
        pairs = made.compute_gradients(loss, variables)
        if gradient_noise_scale is not None:
            pairs = _each(pairs, lambda g, v: g + truncated_normal(static_shape(g)) * gradient_noise_scale)
        factors = gradient_multipliers or {}
        pairs = _each(pairs, lambda g, v: g * factors.get(v, factors.get(v.name, 1.0)) if factors else g)
        is_global = bool({"global_gradient_norm", "gradient_norm"} & set(shown))
        if is_global:
            scalar_v1("global_norm/gradient_norm", global_norm([g for g, _ in pairs]))
        pairs = _clipped(title, pairs, clip_gradients)
        if "loss" in shown:
            scalar_v1("loss", loss)
        for gradient, variable in pairs:
            end = variable.name.replace(":", "_")
            if "gradients" in shown and gradient is not None:
                histogram_v1(f"gradients/{end}", gradient)
            if "gradient_norm" in shown and gradient is not None:
                scalar_v1(f"gradient_norm/{end}", global_norm([gradient]))
        if clip_gradients is not None and is_global:
            scalar_v1("global_norm/clipped_gradient_norm", global_norm([g for g, _ in pairs]))
        step = made.apply_gradients(pairs, global_step if increment_global_step else None, "train")
        return _after([step], loss)


def _rate(title: str, given: Any) -> Any:
    """The learning rate: a number becomes a variable."""
    if given is None or (is_recorded(given) and static_shape(given) == ()):
        return given
    if not isinstance(given, float) or given < 0:
        raise op_error(ValueError, title, f"the learning rate is a float of 0 or more, or a tensor, not {given!r}.")
    return get_variable("learning_rate", [], trainable=False, initializer=Constant(given))


def _optimizer(title: str, given: Any, rate: Any) -> Optimizer:
    """An optimizer by its name, a class or a function."""
    make = OPTIMIZER_CLS_NAMES.get(given) if isinstance(given, str) else given
    needs_rate = isinstance(given, (str, type))
    made = make if not callable(make) or (needs_rate and rate is None) else make() if rate is None else make(rate)
    if not isinstance(made, Optimizer):
        problem = f"the optimizer is one of {', '.join(OPTIMIZER_CLS_NAMES)} with a learning rate, an optimizer, or "
        raise op_error(ValueError, title, f"{problem}a function that makes one of the rate, not {given!r}.")
    return made


def _clipped(title: str, pairs: Pairs, clip: Any) -> Pairs:
    if clip is None or callable(clip):
        return pairs if clip is None else clip(pairs)
    if not isinstance(clip, float):
        raise op_error(ValueError, title, f"clip_gradients is a float or a function, not {clip!r}.")
    clipped, _ = clip_by_global_norm([gradient for gradient, _ in pairs], clip)
    return [(gradient, variable) for gradient, (_, variable) in zip(clipped, pairs, strict=True)]


def adaptive_clipping_fn(
    std_factor: Any = 2.0,
    decay: Any = 0.95,
    static_max_norm: float | None = None,
    global_step: Any = None,
    report_summary: bool = False,
    epsilon: float = 1e-8,
    name: str | None = None,
) -> Callable[[Pairs], Pairs]:
    """A function that scales gradients down whose norm is far above the norms of the steps before.

    Args:
        std_factor: how many deviations above the mean a logarithm of a norm may be.
        decay: the part of averages that stays in a step.
        static_max_norm: a norm that is always too large.
        global_step: the number of steps; if given, the averages move faster in the first ones.
        report_summary: whether a summary of the largest norm is written.
        epsilon: the least variance.
    """

    def averaged(title: str, new: Any, kept: Any) -> Any:
        average = get_variable(title, static_shape(new), new.dtype, Zeros(), trainable=False)
        return average.assign_sub((average - new) * (1.0 - kept))

    def clip(pairs: Pairs) -> Pairs:
        norm, kept = global_norm([gradient for gradient, _ in pairs]), decay
        with variable_scope(name, "AdaptiveMaxNorm", [norm]):
            log = ops.log(norm + epsilon)
            if global_step is not None:
                count = ops.cast(global_step, "float32")
                kept = ops.minimum(decay, count / (count + 1.0))
            mean, square = averaged("mean", log, kept), averaged("sq_mean", ops.square(log), kept)
            deviation = ops.sqrt(ops.maximum(epsilon, square - ops.square(mean)))
            largest = ops.exp(mean + std_factor * deviation)
        if report_summary:
            scalar_v1("global_norm/adaptive_max_gradient_norm", largest)
        factor = ops.where(norm < largest, ops.ones_like(norm), ops.exp(mean) / norm)
        if static_max_norm is not None:
            factor = ops.minimum(static_max_norm / norm, factor)
        return _each(pairs, lambda gradient, variable: gradient * factor)

    return clip


for _name, _value in {
    "OPTIMIZER_CLS_NAMES": OPTIMIZER_CLS_NAMES,
    "OPTIMIZER_SUMMARIES": OPTIMIZER_SUMMARIES,
    "optimize_loss": optimize_loss,
    "adaptive_clipping_fn": adaptive_clipping_fn,
}.items():
    value(under(LAYERS, _name), _value, "v1")

# -- contrib.slim.learning and contrib.training -----------------------------------------------------------------------


def clip_gradient_norms(gradients_to_variables: Pairs, max_norm: Any) -> Pairs:
    """Pairs whose gradients are scaled down if their norms are larger."""
    return _each(gradients_to_variables, lambda gradient, variable: clip_by_norm(gradient, max_norm))


def clip_gradient_norms_fn(max_norm: Any) -> Callable[[Pairs], Pairs]:
    """A function that scales gradients down whose norms are larger."""
    return lambda pairs: clip_gradient_norms(pairs, max_norm)


def multiply_gradients(grads_and_vars: Pairs, gradient_multipliers: Mapping[Any, Any]) -> Pairs:
    """Pairs whose gradients are multiplied.

    Args:
        gradient_multipliers: the factors of variables, or of names of their operations.

    Raises:
        ValueError: there are no factors, or there is no gradient for one.
    """
    title, factors = "tf.contrib.slim.learning.multiply_gradients", gradient_multipliers
    if not isinstance(grads_and_vars, list) or not isinstance(factors, dict) or not factors:
        raise op_error(ValueError, title, "it takes a list of pairs, and a dict of one factor or more.")
    for gradient, variable in grads_and_vars:
        if gradient is None and (variable in factors or variable.op.name in factors):
            raise op_error(ValueError, title, f"{variable.op.name!r} has a factor and no gradient.")
    return _each(grads_and_vars, lambda g, v: g * ops.cast(factors.get(v, factors.get(v.op.name, 1.0)), g.dtype))


def _add_gradients_summaries(sign: str, grads_and_vars: Pairs) -> list[Any]:
    """Summaries of the gradients and of their norms; `sign` is between a variable's name and the kind."""
    kinds: dict[str, Callable[..., Any]] = {
        "gradient": histogram_v1,
        "gradient_norm": lambda tag, gradient: scalar_v1(tag, global_norm([gradient])),
    }
    named = [(f"{variable.op.name}{sign}", g) for g, variable in grads_and_vars if g is not None]
    return [write(f"{tag}{kind}", gradient) for tag, gradient in named for kind, write in kinds.items()]


def create_train_op(
    total_loss: Any,
    optimizer: Any,
    global_step: Any = 0,
    update_ops: Sequence[Any] | None = None,
    variables_to_train: Sequence[Any] | None = None,
    transform_grads_fn: Callable[[Pairs], Pairs] | None = None,
    summarize_gradients: bool = False,
    gate_gradients: int = 1,
    aggregation_method: Any = None,
    colocate_gradients_with_ops: bool = False,
    check_numerics: bool = True,
) -> Any:
    """A loss whose computation also takes a training step.

    Args:
        global_step: a variable that counts the steps; None for no count, and by default the graph's.
        update_ops: operations that run before the loss is computed; by default the collection UPDATE_OPS.
        variables_to_train: by default all trained variables.
        transform_grads_fn: a function of pairs of gradients and variables, which changes gradients.
        summarize_gradients: whether summaries of the gradients are written.
        check_numerics: whether a loss that is not finite is an error.
    """
    graph = graph_mode.open_graph()
    step = get_or_create_global_step() if isinstance(global_step, int) else global_step
    before = graph.get_collection(GraphKeys.UPDATE_OPS) if update_ops is None else update_ops
    loss = _after(before, total_loss) if before else total_loss
    pairs = optimizer.compute_gradients(loss, variables_to_train, gate_gradients, aggregation_method)
    pairs = pairs if transform_grads_fn is None else transform_grads_fn(pairs)
    if summarize_gradients:
        with graph_mode.name_scope("summarize_grads"):
            _add_gradients_summaries("_", pairs)
    taken = optimizer.apply_gradients(pairs, step)
    with graph_mode.name_scope("train_op"):
        train_op = _after([taken], checked(loss, "LossTensor is inf or nan") if check_numerics else loss)
    graph.add_to_collection(GraphKeys.TRAIN_OP, train_op)
    return train_op


def _create_train_op_of_slim(
    total_loss: Any,
    optimizer: Any,
    global_step: Any = 0,
    update_ops: Sequence[Any] | None = None,
    variables_to_train: Sequence[Any] | None = None,
    clip_gradient_norm: float = 0,
    summarize_gradients: bool = False,
    *others: Any,
    gradient_multipliers: Mapping[Any, Any] | None = None,
    **options: Any,
) -> Any:
    """`create_train_op` with a largest norm of gradients, and factors as of `multiply_gradients`."""

    def transform(pairs: Pairs) -> Pairs:
        if gradient_multipliers:
            pairs = multiply_gradients(pairs, gradient_multipliers)
        return clip_gradient_norms(pairs, clip_gradient_norm) if clip_gradient_norm > 0 else pairs

    given = (total_loss, optimizer, global_step, update_ops, variables_to_train, transform, summarize_gradients)
    return create_train_op(*given, *others, **options)


for _function in (clip_gradient_norms, multiply_gradients):
    value(under("contrib.slim.learning contrib.training", _function.__name__), _function, "v1")
value("contrib.training.clip_gradient_norms_fn", clip_gradient_norms_fn, "v1")
value("contrib.training.create_train_op", create_train_op, "v1")
value("contrib.slim.learning.create_train_op", _create_train_op_of_slim, "v1")
for _module, _sign in {"contrib.slim.learning": "/", "contrib.training": "_"}.items():
    value(f"{_module}.add_gradients_summaries", partial(_add_gradients_summaries, _sign), "v1")
