"""Calls with tensors of unknown rank: recorded at once if no rank is needed, else deferred.

A deferred call is an operation, `DeferredCall`.  It holds the function, which is traced for each rank that the tensors
may have.  Facts about the results that hold in all traces are known at once.  A plan knows the shapes of the values
that are fed.  It replaces the call with the function's operations, as it does with the body of a composite.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from typing import Any

from dovetail.core.base.errors import CONVENTIONAL, annotate, describe_arguments, is_raised_inside, op_error
from dovetail.core.base.table import OPS
from dovetail.core.kinds import Kind
from dovetail.core.values.infer import most_telling, specs_of_each_rank
from dovetail.core.values.recording import Record
from dovetail.core.values.spec import TensorSpec
from dovetail.core.values.structure import Structure, flatten, unflatten
from dovetail.core.values.value_kinds import dtype_of, is_tensor
from dovetail.graph.journal import all_or_nothing
from dovetail.graph.operation import SINGLE, GraphTensor, Operation, call_arguments
from dovetail.trace import trace


def has_unknown_rank(values: Iterable[Any]) -> bool:
    """Whether a graph Tensor of unknown rank is among values, or in lists among them."""
    for value in values:
        kind = type(value)
        if (kind is GraphTensor and value.shape is None) or (kind in (list, tuple) and has_unknown_rank(value)):
            return True
    return False


def with_unknown_rank(function: Callable[..., Any], title: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """Call a function with tensors of which a rank is not known.

    Args:
        function: has no effects except the operations that it adds to the graph of the tensors.
        title: its name in errors.
        args, kwargs: its arguments.

    Raises:
        ValueError, TypeError, IndexError: it takes the arguments at no rank, or the number of its results depends on
            the rank.
    """
    try:
        with all_or_nothing():
            return function(*args, **kwargs)
    except CONVENTIONAL as error:
        if any(callable(value) for value in (*args, *kwargs.values())):  # deferring would call it for each rank
            if hasattr(error, "dovetail") or not is_raised_inside(error):
                raise
            problem = "a rank that it must know is not known; give it with set_shape, or reshape the tensor."
            raise op_error(ValueError, title, problem, describe_arguments((), args, kwargs)) from error
        first = error
    call = _Call(function, title, args, kwargs)
    results = call.recorded()
    if any(traced != call.found[0] for traced in call.found):
        problem = "the number of results depends on an unknown rank; give the rank with set_shape."
        raise op_error(ValueError, title, problem) from first
    return call.restored(results)


class _Call:
    """A call of a function, as a function of its tensors alone.

    Attributes:
        found: for each call of the function, the structure of its results, and the results that are not tensors.
    """

    def __init__(
        self, function: Callable[..., Any], title: str, args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> None:
        self._function = function
        self._title = title
        self._leaves, self._structure = flatten((tuple(args), dict(kwargs)))
        self._places = [i for i, leaf in enumerate(self._leaves) if is_tensor(leaf)]
        self._tensors = [self._leaves[i] for i in self._places]
        self._leaves = [None if is_tensor(leaf) else leaf for leaf in self._leaves]
        self.found: list[tuple[Structure, list[Any]]] = []

    def recorded(self) -> Sequence[Any]:
        """Add the operation to the graph of the tensors, and return its results."""
        op = OPS["DeferredCall"]
        symbolic = next(t for t in self._tensors if type(t) is GraphTensor)
        graph = trace.current_graph() or symbolic.op.graph
        tensors = tuple(trace.to_graph(t, dtype_of(t), graph, op) for t in self._tensors)
        self._tensors = []
        with graph.as_default() if trace.current_graph() is None else nullcontext():
            return op(tensors, self)

    def __call__(self, *tensors: Any) -> tuple[Any, ...]:
        leaves = list(self._leaves)
        for place, tensor in zip(self._places, tensors, strict=True):
            leaves[place] = tensor
        args, kwargs = unflatten(self._structure, leaves)
        results, structure = flatten(self._function_of(args, kwargs))
        self.found.append((structure, [None if is_tensor(result) else result for result in results]))
        return tuple(result for result in results if is_tensor(result))

    def _function_of(self, args: Any, kwargs: Any) -> Any:
        try:
            return self._function(*args, **kwargs)
        except CONVENTIONAL as error:
            annotate(error, self._title, lambda: describe_arguments((), args, kwargs))
            raise

    def restored(self, results: Iterable[Any]) -> Any:
        """The result of the function, with these tensors."""
        structure, others = self.found[0]
        tensors = iter(results)
        return unflatten(structure, [next(tensors) if other is None else other for other in others])


# -- gradients --------------------------------------------------------------------------------------------------------


def gradient_of(function: Callable[..., Any], node: Any, arriving: Sequence[Any]) -> Any:
    """The result of a gradient function for a node, even if it needs ranks that are not known.

    Args:
        function: (node, gradients of the outputs) → gradients of the inputs that it answers for.
        node: an operation, or a record of a tape.
        arriving: the gradients of its outputs, None for an output without one.
    """
    if not isinstance(node, Operation) or not has_unknown_rank((*node.inputs, *node.outputs)):
        return function(node, *arriving)
    try:
        with all_or_nothing():
            return function(node, *arriving)
    except CONVENTIONAL:
        return _Gradient(function, node, arriving).recorded(node, arriving)


class _Gradient:
    """A gradient function of an operation, as a function of tensors alone."""

    def __init__(self, function: Callable[..., Any], node: Operation, arriving: Sequence[Any]) -> None:
        self._function = function
        self._node = node.op, node.layout, node.attrs
        self._overrides = node.overrides
        self._arrives = [g is not None for g in arriving]
        self._places = _answered(node)
        self._has: list[bool] = []  # for each of `_places`, whether the function gives a gradient

    def recorded(self, node: Operation, arriving: Sequence[Any]) -> list[Any]:
        """Add the operation to the graph of the node, and return the gradients, None for an input without one."""
        self._try(node)
        graph = trace.current_graph() or node.graph
        given = [trace.to_graph(g, g.dtype, graph, node.op) for g in arriving if g is not None]
        which = tuple(place for place, has in zip(self._places, self._has, strict=True) if has)
        gradients: Any = iter(
            OPS["SymbolicGradient"](tuple(node.inputs), tuple(node.outputs), tuple(given), self, which) if which else ()
        )
        return [next(gradients) if has else None for has in self._has]

    def _try(self, node: Operation) -> None:
        """Trace the function for ranks that the operation takes.

        Raises:
            ValueError, TypeError, IndexError: the function takes none of them.
        """
        problems = list[Exception]()

        def outputs_for(specs: Sequence[TensorSpec]) -> Sequence[TensorSpec] | None:
            try:
                outputs = trace.infer_specs(node.op, node.arguments(specs))
            except CONVENTIONAL as error:
                problems.append(error)
                return None
            return outputs if node.op.returns_tuple else [outputs]

        for specs in specs_of_each_rank([t.spec for t in node.inputs], lambda specs: outputs_for(specs) is not None):
            outputs = outputs_for(specs)
            for results in [] if outputs is None else specs_of_each_rank(outputs):
                arriving = tuple(spec for spec, has in zip(results, self._arrives, strict=True) if has)
                try:
                    trace.body_graph(OPS["SymbolicGradient"], [tuple(specs), tuple(results), arriving, self, ()])
                except CONVENTIONAL as error:
                    problems.append(error)
                else:
                    return
        raise most_telling(problems)

    def __call__(self, inputs: Sequence[Any], outputs: Sequence[Any], arriving: Sequence[Any]) -> tuple[Any, ...]:
        op, layout, attrs = self._node
        node = Record(op, call_arguments(op, layout, attrs, inputs), list(outputs), inputs=list(inputs))
        node.overrides = self._overrides
        given = iter(arriving)
        gradients = self._function(node, *[next(given) if has else None for has in self._arrives])
        gradients = gradients if isinstance(gradients, (tuple, list)) else (gradients,)
        pairs = list(zip(gradients, [inputs[i] for i in self._places], strict=True))
        self._has = [g is not None and x.dtype.is_differentiable for g, x in pairs]
        return tuple([g for (g, _), has in zip(pairs, self._has, strict=True) if has])


def _answered(node: Operation) -> list[int]:
    """The numbers of the inputs that a gradient function answers for, without shapes that happen to be tensors."""
    places, at = list[int](), 0
    for param, count in zip(node.op.params, node.layout, strict=True):
        number = 0 if count is None else 1 if count == SINGLE else count
        places += range(at, at + number) if isinstance(param.kind, Kind) else ()
        at += number
    return places
