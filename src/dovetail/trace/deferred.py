"""Calls with tensors of unknown rank: recorded at once if no rank is needed, else deferred.

A deferred call is an operation, `DeferredCall`.  It holds the function, which is traced for each rank that the tensors
may have.  Facts about the results that hold in all traces are known at once.  A plan knows the shapes of the values
that are fed.  It replaces the call with the function's operations, as it does with the body of a composite.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any

from dovetail import ops
from dovetail.core.base.errors import CONVENTIONAL, annotate, describe_arguments, is_raised_inside, op_error
from dovetail.core.base.table import OPS
from dovetail.core.dtypes import ALL
from dovetail.core.kinds import Kind
from dovetail.core.values.infer import most_telling, specs_of_each_rank
from dovetail.core.values.recording import Record
from dovetail.core.values.spec import TensorSpec
from dovetail.core.values.structure import Structure, flatten, unflatten
from dovetail.core.values.value_kinds import dtype_of, is_tensor
from dovetail.graph.attributes import Beside, Form, Refused, decode, encode, register
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


_TENSOR = TensorSpec(None, ALL["float32"])  # stands for a tensor among arguments


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
        self._places = [i for i, leaf in enumerate(self._leaves) if is_tensor(leaf) or type(leaf) is TensorSpec]
        self._tensors = [self._leaves[i] for i in self._places]
        self._leaves = [_TENSOR if i in self._places else leaf for i, leaf in enumerate(self._leaves)]
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

    def parts(self) -> tuple[Callable[..., Any], str, tuple[Any, ...], dict[str, Any]]:
        """The function, its title and its arguments, with a spec in place of each tensor."""
        args, kwargs = unflatten(self._structure, self._leaves)
        return self._function, self._title, args, kwargs

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
        arrives = [g is not None for g in arriving]
        made = DeferredGradient(function, node.op, node.layout, node.attrs, node.overrides, arrives)
        made.is_own = node.gradient_function is not None
        return made.recorded(node, arriving)


@dataclass(eq=False, repr=False)
class DeferredGradient:
    """A gradient function of an operation, as a function of tensors alone.

    Attributes:
        function: as in `gradient_of`.
        op, layout, attrs, overrides: of the operation.
        arrives: for each of its outputs, whether there is a gradient.
        has: for each input that the function answers for, whether it gives a gradient.
        is_own: whether the function is the operation's own, which its op and its overrides do not tell.
    """

    function: Callable[..., Any]
    op: Any
    layout: Sequence[Any]
    attrs: dict[str, Any]
    overrides: Mapping[str, str]
    arrives: list[bool]
    has: list[bool] = field(default_factory=list)
    is_own: bool = False

    def __post_init__(self) -> None:
        self._places = _answered(self.op, self.layout)

    def __repr__(self) -> str:
        return f"<gradient of {self.op.name}>"  # the same in each process, since definitions show it

    def recorded(self, node: Operation, arriving: Sequence[Any]) -> list[Any]:
        """Add the operation to the graph of the node, and return the gradients, None for an input without one."""
        self._try([tensor.spec for tensor in node.inputs])
        graph = trace.current_graph() or node.graph
        given = [trace.to_graph(g, g.dtype, graph, node.op) for g in arriving if g is not None]
        which = tuple(place for place, has in zip(self._places, self.has, strict=True) if has)
        gradients: Any = iter(
            OPS["SymbolicGradient"](tuple(node.inputs), tuple(node.outputs), tuple(given), self, which) if which else ()
        )
        return [next(gradients) if has else None for has in self.has]

    def _try(self, inputs: Sequence[TensorSpec]) -> None:
        """Trace the function for ranks that the operation takes.

        Raises:
            ValueError, TypeError, IndexError: the function takes none of them.
        """
        problems = list[Exception]()
        for specs in self.specs_of_each_rank(inputs, problems):
            try:
                trace.body_graph(OPS["SymbolicGradient"], [*specs, self, ()])
            except CONVENTIONAL as error:
                problems.append(error)
            else:
                return
        raise most_telling(problems)

    def specs_of_each_rank(
        self, inputs: Sequence[TensorSpec], problems: list[Exception]
    ) -> Iterator[tuple[tuple[TensorSpec, ...], ...]]:
        """Yield the specs of the inputs, the outputs and their gradients, for each set of ranks of the operation.

        Args:
            inputs: the specs of its inputs.
            problems: gets the errors of the sets that the operation does not take.
        """

        def outputs_for(specs: Sequence[TensorSpec]) -> Sequence[TensorSpec] | None:
            try:
                outputs = trace.infer_specs(self.op, call_arguments(self.op, self.layout, self.attrs, specs))
            except CONVENTIONAL as error:
                problems.append(error)
                return None
            return outputs if self.op.returns_tuple else [outputs]

        for specs in specs_of_each_rank(inputs, lambda specs: outputs_for(specs) is not None):
            outputs = outputs_for(specs)
            for results in [] if outputs is None else specs_of_each_rank(outputs):
                arriving = (spec for spec, has in zip(results, self.arrives, strict=True) if has)
                yield tuple(specs), tuple(results), tuple(arriving)

    def __call__(self, inputs: Sequence[Any], outputs: Sequence[Any], arriving: Sequence[Any]) -> tuple[Any, ...]:
        arguments = call_arguments(self.op, self.layout, self.attrs, inputs)
        node = Record(self.op, arguments, list(outputs), inputs=list(inputs))
        node.overrides = dict(self.overrides)
        given = iter(arriving)
        gradients = self.function(node, *[next(given) if has else None for has in self.arrives])
        gradients = gradients if isinstance(gradients, (tuple, list)) else (gradients,)
        pairs = list(zip(gradients, [inputs[i] for i in self._places], strict=True))
        self.has = [g is not None and x.dtype.is_differentiable for g, x in pairs]
        return tuple([g for (g, _), has in zip(pairs, self.has, strict=True) if has])


def _answered(op: Any, layout: Sequence[Any]) -> list[int]:
    """The numbers of the inputs that a gradient function answers for, without shapes that happen to be tensors."""
    places, at = list[int](), 0
    for param, count in zip(op.params, layout, strict=True):
        number = 0 if count is None else 1 if count == SINGLE else count
        places += range(at, at + number) if isinstance(param.kind, Kind) else ()
        at += number
    return places


# -- deferred calls in documents --------------------------------------------------------------------------------------


def _call_data(call: _Call, beside: Beside) -> Any:
    """The name of the function, which is one of `ops`, and its arguments, with specs in place of tensors."""
    function, title, args, kwargs = call.parts()
    if _function_of_ops(function.__name__) is function:
        return [function.__name__, title, encode(args, beside), encode(kwargs, beside)]
    if not beside.keeps_objects:
        raise Refused(f"the call of {title}, which waits for a rank,")
    return [beside.key(beside.objects, call, "object")]


def _call_of_data(data: Any, beside: Beside) -> _Call:
    if len(data) == 1:
        return beside.objects[data[0]]
    name, title, args, kwargs = data
    function = _function_of_ops(name)
    if function is None:
        raise ValueError(f"ops has no function {name!r}")
    return _Call(function, title, decode(args, beside), decode(kwargs, beside))


def _function_of_ops(name: str) -> Any:
    """The function of `ops` with a name, without the checks of its arguments; None if there is none."""
    return getattr(vars(ops).get(name), "__wrapped__", None) if name in ops.__all__ else None


register(_Call, Form("call", _call_data, _call_of_data))
