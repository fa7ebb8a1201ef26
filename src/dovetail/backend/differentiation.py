"""Gradients of tensors with respect to others, and a stop for gradients."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dovetail import ops
from dovetail.autodiff import graph_gradients
from dovetail.backend.symbolic import interop_keras, is_of_keras
from dovetail.backend.table import k_error
from dovetail.backend.values import asks_for_shapes
from dovetail.core.base.errors import describe
from dovetail.core.engines.engine_registry import owner_of_type
from dovetail.core.kinds import TensorLike
from dovetail.core.tensor import Tensor
from dovetail.core.values.structure import flatten
from dovetail.core.values.value_kinds import kind_of, unwrapped
from dovetail.core.values.variable import Variable
from dovetail.edit.graph import Graph, GraphTensor
from dovetail.sessions.session_graph import open_default_graph

__all__ = ["gradients", "stop_gradient"]


def gradients(loss: TensorLike, variables: Any) -> list[Any]:
    """The gradients of a tensor, as new tensors of its graph, which have gradients in turn.

    It needs a record of how a tensor was computed.  The default graph keeps one, which the first K.placeholder opens,
    and so does `dovetail.function`.  KerasTensors have one, also of the weights of Keras' layers.  Torch's tensors have
    one if they require a gradient, but not inside `torch.no_grad`, which Keras' evaluate and predict use.  TensorFlow's
    tensors have one inside `tf.function`.

    Args:
        loss: a tensor, or a list of tensors, whose sum is differentiated.
        variables: a variable or tensor of the same graph, or a list of them.

    Returns:
        A list with a gradient for each variable, of its shape and dtype; None if the loss does not depend on it.

    Raises:
        RuntimeError: the loss has been computed, and no record was kept.
        NotImplementedError: the loss is JAX's, or TensorFlow's outside of `tf.function`: these keep no record.

    Source: `tf.keras.backend.gradients`.

    Differs: the gradient of `K.gather` is dense.

    Modern: `dovetail.GradientTape`, `tf.GradientTape`.

    Example:
        >>> from dovetail import backend as K
        >>> x = K.placeholder((2,))
        >>> y = K.sum(x ** 3.)
        >>> first = K.gradients(y, [x])[0]
        >>> second = K.gradients(first, [x])[0]
        >>> K.function([x], [first, second])([[1., 2.]])
        [array([ 3., 12.], dtype=float32), array([ 6., 12.], dtype=float32)]
        >>> K.clear_session()
    """
    losses, sources = flatten(loss)[0], flatten(variables)[0]
    values = [unwrapped(y) for y in losses]
    of_keras = list(filter(is_of_keras, values))
    points = sources if of_keras else []  # which may be of K
    graph = next((y.graph for y in (*values, *points) if type(y) is GraphTensor), None)
    if graph is None and any(type(x) is Variable for x in points) and interop_keras().is_given(of_keras):
        graph = open_default_graph()
    if graph is not None:
        return _in_graph(graph, [kind_of(y).in_graph(y, graph) for y in values], sources)
    if any(map(is_of_keras, values)):
        return interop_keras().gradients(loss, variables)
    if values and all(kind_of(y).autodiff(y) is not None for y in values):
        return _of_native(values, [unwrapped(x) for x in sources])
    problem = "the loss has been computed already, and no record was kept of how"
    advice = "open the default graph before (K.placeholder does, and K.symbolic), or use dovetail.GradientTape"
    raise k_error(RuntimeError, "gradients", f"{problem}: {advice}.", f"loss={describe(loss)}")


def _in_graph(graph: Graph, losses: Sequence[Any], sources: Sequence[Any]) -> list[Any]:
    """The gradients; None for a source that is not of the graph, or is of an integer dtype."""
    points = [_in(graph, x) for x in sources]
    present = iter(graph_gradients.gradients(list(losses), [p for p in points if p is not None]))
    return [None if p is None else next(present) for p in points]


def _in(graph: Graph, x: Any) -> Any:
    x = kind_of(x).followed(x)
    if type(x) is Tensor:  # an eager value is a constant of the graph
        x = graph.closures.get(x)
    elif not isinstance(x, (GraphTensor, Variable)):
        x = kind_of(x).in_graph(x, graph)
    known = isinstance(x, (GraphTensor, Variable)) and x.dtype.is_differentiable
    return x if known else None


def _of_native(losses: Sequence[Any], sources: Sequence[Any]) -> list[Any]:
    engine = owner_of_type(type(losses[0]))
    own = [x for x in sources if owner_of_type(type(x)) is engine]
    try:
        gradients = engine.gradients(losses, own) if own else []
    except RuntimeError:  # nothing was recorded
        if not asks_for_shapes():
            raise
        gradients = [ops.zeros_like(x) for x in own]
    of_engine = iter(gradients)
    return [next(of_engine) if owner_of_type(type(x)) is engine else None for x in sources]


def stop_gradient(variables: TensorLike) -> Any:
    """The same value, which gradients treat as a constant.

    Args:
        variables: a tensor or variable, or a list of them.

    Returns:
        A tensor, or a list of them.

    Source: `tf.keras.backend.stop_gradient`.

    Differs: for a list there is a list; tf.keras gives an iterator.

    Modern: `keras.ops.stop_gradient(variables)`, `tf.stop_gradient(variables)`.

    Example:
        >>> from dovetail import backend as K
        >>> x = K.placeholder(())
        >>> K.function([x], K.gradients(x * K.stop_gradient(x), x))([3.])
        [np.float32(3.0)]
        >>> K.clear_session()
    """
    if isinstance(variables, (list, tuple)):
        return [ops.stop_gradient(x) for x in variables]
    return ops.stop_gradient(variables)
