"""Reverse mode, written once: the tape runs it over its record, `gradients` over the operations of a graph.

Both are lists of nodes in program order.  A node has `.op`, `.inputs`, `.outputs`, `.args`, `.attr(name)`,
`.gradient_function` (its own, or None), `.overrides` and `.where`.  The walk goes backwards: each node's gradient
function turns the gradients of its outputs into gradients of its inputs.  These functions are written in ops, so their
own computations are recorded or taped too, and gradients of gradients come free.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from dovetail import ops
from dovetail.autodiff.recomputed import Recomputed
from dovetail.autodiff.recorder import Recorder
from dovetail.core.base.errors import op_error
from dovetail.core.base.scopes import scopes, within
from dovetail.core.base.table import OPS
from dovetail.core.calls.gradients import exactly, registered_gradient
from dovetail.core.engines.engine_registry import on_engine
from dovetail.core.tensor import Tensor
from dovetail.core.values.recording import tensors_in
from dovetail.graph.attributes import Beside, Form, Refused, decode, encode, register
from dovetail.graph.graph_scopes import made_for_gradient
from dovetail.graph.operation import GraphTensor, Operation
from dovetail.trace.deferred import DeferredGradient, gradient_of
from dovetail.trace.trace import current_graph


def backward(nodes: Iterable[Any], seeds: Iterable[tuple[Any, Any]], sources: Sequence[Any]) -> list[Any]:
    """The gradients of the seeds' tensors with respect to the sources.

    Args:
        nodes: the last one first; none is held longer than it is needed.
        seeds: pairs of an output tensor and the gradient that arrives there.
        sources: the tensors and variables whose gradients are wanted.

    Returns:
        A gradient for each source, None for a source that no gradient reaches.
    """
    wanted = {id(source) for source in sources}
    gradients: dict[
        int, Any
    ] = {}  # id of a tensor → its gradient; only tensors that nodes and sources hold are looked up
    for tensor, gradient in seeds:
        with _made_for(tensor):
            _add(gradients, tensor, gradient)
    recomputed = Recomputed()
    for node in nodes:
        arriving = [gradients.get(id(t)) if id(t) in wanted else gradients.pop(id(t), None) for t in node.outputs]
        if all(g is None for g in arriving):
            continue
        function = gradient_function(node)
        if function is None:
            continue
        if isinstance(node, Operation):
            with _made_for(node):
                _step(function, *recomputed.of(node, arriving), arguments(node), gradients)
        else:
            _step(function, node, arriving, arguments(node), gradients)
    return [gradients.get(id(source)) for source in sources]


def seed(target: Any, given: Any) -> Any:
    """The gradient that arrives at a target: ones if none is given."""
    with _made_for(target):
        return ops.ones_like(target) if given is None else ops.convert(given, target.dtype)


def gradient_function(node: Any) -> Callable[..., Any] | None:
    """The gradient function of a node: its own, else the override map's, else its op's; None for a zero gradient.

    Raises:
        LookupError: the op should have a gradient and has none.
    """
    if node.gradient_function is not None:
        return node.gradient_function
    op = node.op
    name = node.overrides.get(op.name)
    if name is not None:
        return registered_gradient(name, node)
    if op.gradient_function is not None or not op.differentiable:
        return op.gradient_function
    if op.body is None:
        problem = "it has no gradient; give it one with custom_gradient, or stop the gradient with stop_gradient."
        raise op_error(LookupError, op.name, problem, where=node.where)
    return through_body


def through_body(node: Any, *arriving: Any) -> list[Any]:
    """Differentiate a composite that has no gradient of its own, by running its body again."""
    with exactly(node.overrides):
        return through(lambda: node.op.body(*node.args), arguments(node), arriving)


def through(function: Callable[[], Any], sources: Sequence[Any], arriving: Sequence[Any]) -> list[Any]:
    """Run a function, and return the gradients of its results with respect to the sources.

    Args:
        function: computes a tensor or a tuple of tensors from the sources.
        sources: tensors and variables.
        arriving: a gradient for each result, or None.

    Returns:
        A gradient for each source; for a source that is given twice, one gradient, then None.
    """
    with Recorder() as recorder:
        for source in sources:
            recorder.follow(source)
        result = function()
    results = result if isinstance(result, tuple) else (result,)
    seeds = [(y, g) for y, g in zip(results, arriving, strict=True) if g is not None]
    gradients = dict(zip(map(id, sources), backward(reversed(recorder.nodes), seeds, sources), strict=True))
    return [gradients.pop(id(source), None) for source in sources]


def arguments(node: Any) -> list[Any]:
    """The inputs that a gradient function answers for: tensor arguments, but not shapes that happen to be tensors."""
    if not node.op.ints_positions:
        return node.inputs
    args = node.args
    return tensors_in([args[index] for index, _ in node.op.tensor_positions])


def _made_for(node: Any) -> AbstractContextManager[Any]:
    """A scope in which new operations get the origin of a node or a tensor, if that belongs to a graph."""
    operation = node.op if type(node) is GraphTensor else node
    if not isinstance(operation, Operation):
        return nullcontext()
    current = current_graph()
    return made_for_gradient(operation.graph if current is None else current, operation)


def _step(
    function: Callable[..., Any], node: Any, arriving: list[Any], sources: list[Any], found: dict[int, Any]
) -> None:
    """Call a node's gradient function, and add the results to the gradients found for `sources`, its arguments."""
    if node.op.fills_gradients:
        arriving = or_zeros(arriving, node.outputs)
    first = node.outputs[0]
    is_eager = type(first) is Tensor
    probes = scopes().probes if is_eager else ()
    inside = within(probes=()) if probes else nullcontext()  # probes see the gradients, but not the ops inside
    with inside, on_engine(first._engine) if is_eager else nullcontext():
        result = gradient_of(function, node, arriving)
    result = result if isinstance(result, (tuple, list)) else (result,)
    for probe in probes or ():
        probe.see_gradients(node, arriving, result)
    if len(result) != len(sources):
        problem = f"its gradient function returned {len(result)} gradients for {len(sources)} inputs."
        raise op_error(ValueError, node.op.name, problem, where=node.where)
    for tensor, gradient in zip(sources, result, strict=True):
        if gradient is not None and tensor.dtype.is_differentiable:
            _add(found, tensor, gradient)


def or_zeros(gradients: Iterable[Any], tensors: Iterable[Any]) -> list[Any]:
    """The gradients of tensors, with zeros instead of None; None stays for tensors that have no gradient."""
    pairs = zip(gradients, tensors, strict=True)
    return [ops.zeros_like(t) if g is None and t.dtype.is_differentiable else g for g, t in pairs]


def _add(found: dict[int, Any], tensor: Any, gradient: Any) -> None:
    before = found.get(id(tensor))
    found[id(tensor)] = gradient if before is None else before + gradient


# -- deferred gradients in documents ----------------------------------------------------------------------------------


def _deferred_data(value: DeferredGradient, beside: Beside) -> Any:
    """The operation of a deferred gradient; of the gradient function only what its op and its overrides do not tell."""
    known: Any = OPS.get(value.op.name)
    if known is not value.op:
        raise Refused(f"the gradient of {value.op.name}, an op of the program,")
    function = encode(value.function, beside) if value.is_own else None
    attrs = {name: encode(x, beside) for name, x in value.attrs.items()}
    return [known.name, list(value.layout), attrs, dict(value.overrides), value.arrives, value.has, function]


def _deferred_of_data(data: Any, beside: Beside) -> DeferredGradient:
    name, layout, attrs, overrides, arrives, has, function = data
    own = decode(function, beside)
    known = {key: decode(x, beside) for key, x in attrs.items()}
    is_own = own is not None
    return DeferredGradient(
        own if is_own else _by_node, OPS[name], tuple(layout), known, overrides, arrives, has, is_own
    )


def _by_node(node: Any, *arriving: Any) -> Any:
    """The gradients of a node by the function that it has now."""
    function: Any = gradient_function(node)
    return function(node, *arriving)


register(DeferredGradient, Form("gradient", _deferred_data, _deferred_of_data))
