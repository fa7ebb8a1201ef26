"""TensorFlow's names of gradients: tapes, gradients of graphs, and second derivatives."""

from __future__ import annotations

import functools
from enum import StrEnum
from types import SimpleNamespace
from typing import Any

from dovetail import ops
from dovetail.autodiff.custom import custom_gradient
from dovetail.autodiff.graph_gradients import gradients as graph_gradients
from dovetail.autodiff.recompute import recompute_grad
from dovetail.autodiff.tape import GradientTape
from dovetail.backend.differentiation import stop_gradient
from dovetail.backend.symbolic import interop_keras
from dovetail.compat.tensorflow import graph_mode
from dovetail.compat.tensorflow.entries import value
from dovetail.compat.tensorflow.table import function
from dovetail.core.base.errors import op_error
from dovetail.core.calls.gradients import REGISTERED, RegisterGradient
from dovetail.core.values.structure import flatten, flatten_like
from dovetail.core.values.value_kinds import is_tensor, kind_of
from dovetail.core.values.variable import Variable
from dovetail.graph.operation import GraphTensor
from dovetail.ops.shapes.shape import dims_of


class UnconnectedGradients(StrEnum):
    """The values of a gradient by a tensor that the result does not depend on.

    Source: `tf.UnconnectedGradients`.
    """

    NONE = "none"
    ZERO = "zero"


value("UnconnectedGradients", UnconnectedGradients)
value("GradientTape", GradientTape)
value("custom_gradient", custom_gradient, "v2")
value("recompute_grad", recompute_grad)
value("RegisterGradient", RegisterGradient)
value("python.framework.ops._gradient_registry", SimpleNamespace(_registry=REGISTERED))


@function("gradients", scope=True)
def gradients(
    ys: Any,
    xs: Any,
    grad_ys: Any = None,
    name: str | None = None,
    colocate_gradients_with_ops: bool = False,
    gate_gradients: Any = False,
    aggregation_method: Any = None,
    stop_gradients: Any = None,
    unconnected_gradients: str = "none",
) -> list[Any]:
    """The gradients of tensors of a graph by other tensors; None for gradients of integers and by integers.

    Gradients between tensors of a Keras model are tensors of the model.

    Raises:
        ValueError: `aggregation_method` is none of `tf.AggregationMethod`.

    Source: `tf.gradients`.
    """
    check_aggregation("tf.gradients", aggregation_method)
    xs = list(xs) if isinstance(xs, (list, tuple)) else [xs]
    targets, structure = flatten(ys)
    if is_tensor(ys) and isinstance(grad_ys, (list, tuple)) and len(grad_ys) == 1:
        (grad_ys,) = grad_ys
    arriving = flatten_like(structure, grad_ys)
    stopped = flatten(() if stop_gradients is None else stop_gradients)[0]
    if _are_of_model(targets, [*xs, *arriving, *stopped]):
        by_model = _by_model(targets, xs, arriving, stopped)
        return _with_zeros(by_model, xs) if unconnected_gradients == "zero" else by_model
    xs, targets, stopped = ([in_graph(x) for x in tensors] for tensors in (xs, targets, stopped))
    arriving = [None if g is None else in_graph(g) for g in arriving]
    pairs = [(y, g) for y, g in zip(targets, arriving, strict=True) if _may_have_gradient(y)]
    sources = [x for x in xs if _may_have_gradient(x)]
    gradients_of_xs: list[Any] = [None] * len(xs)
    if pairs:
        made = graph_gradients([y for y, _ in pairs], sources, [g for _, g in pairs], stopped)
        by_source = dict(zip(map(id, sources), made, strict=True))
        gradients_of_xs = [by_source.get(id(x)) for x in xs]
    return _with_zeros(gradients_of_xs, xs) if unconnected_gradients == "zero" else gradients_of_xs


def _with_zeros(gradients_of_xs: list[Any], xs: list[Any]) -> list[Any]:
    return [ops.zeros_like(x) if g is None else g for x, g in zip(xs, gradients_of_xs, strict=True)]


def _are_of_model(targets: list[Any], others: list[Any]) -> bool:
    """Whether tensors are of a Keras model, and no other is of a graph, nor a variable of TensorFlow."""
    mixed = any(isinstance(x, (GraphTensor, Variable)) for x in (*targets, *others))
    return not mixed and any(kind_of(y).is_of_model for y in targets)


def _by_model(targets: list[Any], xs: list[Any], arriving: list[Any], stopped: list[Any]) -> list[Any]:
    """The gradients of tensors of a Keras model, as tensors of it.

    Args:
        targets, xs: the tensors, and tensors or weights.
        arriving: the gradient that arrives at each of the targets; None for ones.
        stopped: tensors through which no gradient goes.
    """
    scaled = [y if g is None else y * stop_gradient(g) for y, g in zip(targets, arriving, strict=True)]
    return interop_keras().gradients(scaled, xs, stopped)


def in_graph(x: Any) -> Any:
    """A tensor or a variable; for those of Keras, the ones of the open graph, which opens if they need one."""
    x, graph = kind_of(x).followed(x), graph_mode.graph()
    if not kind_of(x).is_of_model:
        return x
    return kind_of(x).in_graph(x, graph_mode.open_graph() if graph is None else graph)


def _may_have_gradient(x: Any) -> bool:
    return not is_tensor(x) or x.dtype.is_differentiable


class AggregationMethod:
    """The ways of adding gradients up; the sum is the same for all.

    Source: `tf.AggregationMethod`.
    """

    ADD_N = DEFAULT = 0
    EXPERIMENTAL_TREE = 1
    EXPERIMENTAL_ACCUMULATE_N = 2


value("AggregationMethod", AggregationMethod)


def check_aggregation(title: str, method: Any) -> None:
    """Refuse a value that is not an `AggregationMethod`."""
    if method not in (None, 0, 1, 2):
        raise op_error(ValueError, title, f"aggregation_method is one of tf.AggregationMethod, not {method!r}.")


@function("hessians", scope=True)
def hessians(
    ys: Any,
    xs: Any,
    name: str | None = None,
    colocate_gradients_with_ops: bool = False,
    gate_gradients: Any = False,
    aggregation_method: Any = None,
) -> list[Any]:
    """The matrices of second derivatives of a scalar of a graph.

    Raises:
        ValueError: `aggregation_method` is none of `tf.AggregationMethod`.

    Source: `tf.hessians`.
    """
    check_aggregation("tf.hessians", aggregation_method)
    matrices = []
    for x in xs if isinstance(xs, (list, tuple)) else [xs]:
        (gradient,) = graph_gradients(ys, [x])
        flat = ops.reshape(gradient, (-1,))
        rows = ops.map_fn(functools.partial(_gradient_at, flat, x), ops.arange(dims_of(flat)[0]))
        matrices.append(ops.reshape(rows, [*dims_of(x), *dims_of(x)]))
    return matrices


def _gradient_at(flat: Any, x: Any, place: Any) -> Any:
    """The gradient of one element of a vector."""
    (gradient,) = graph_gradients(ops.gather(flat, place), [x])
    return ops.zeros_like(x) if gradient is None else gradient


@function("NotDifferentiable no_gradient NoGradient")
def not_differentiable(op_type: str) -> None:
    """Register that an op has no gradient.

    Source: `tf.no_gradient`.
    """
    RegisterGradient(op_type)(lambda op, *grads: [None] * len(op.inputs))
