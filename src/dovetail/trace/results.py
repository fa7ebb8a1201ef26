"""Results of traced functions: their tensors become the outputs of the graph; no tensor leaves it in another way."""

from __future__ import annotations

import functools
from collections import deque
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Iterator, Mapping
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import TYPE_CHECKING, Any

from dovetail.core.base.errors import op_error
from dovetail.core.base.table import OPS
from dovetail.core.dtypes import promote
from dovetail.core.tensor import Tensor
from dovetail.core.values.structure import LEAF, flatten, unflatten
from dovetail.core.values.value_kinds import dtype_of, seen, unwrapped
from dovetail.graph.effects import ASSIGN
from dovetail.graph.nesting import outermost_of
from dovetail.graph.operation import GraphTensor
from dovetail.trace import trace
from dovetail.trace.variables import in_program_order

if TYPE_CHECKING:
    from dovetail.edit.graph import Graph

_SLOT = object()


def collect(graph: Graph, result: Any) -> Callable[[list[Tensor]], Any]:
    """Make the result's tensors the graph's outputs.

    Returns:
        A function that puts values in the places of these tensors.

    Raises:
        TypeError: the result is a generator, or holds a tensor of the graph in an object that is not a structure.
        ValueError: it contains itself, or is too deep.
    """
    leaves, structure = flatten(result, graph.name)
    outputs: list[GraphTensor] = []
    plain: list[Any] = []
    for leaf in map(unwrapped, leaves):
        if _is_tensor(leaf):
            dtype = promote([dtype_of(leaf)])
            outputs.append(trace.to_graph(leaf, dtype, graph, OPS["Identity"]))
            plain.append(_SLOT)
        else:
            _check(graph, leaf)
            plain.append(leaf)
    graph.outputs = outputs
    if structure == LEAF and outputs:
        return lambda values: values[0]

    def rebuild(values: list[Tensor]) -> Any:
        results = iter(values)
        return unflatten(structure, [next(results) if p is _SLOT else p for p in plain])

    return rebuild


def done_as_one(graph: Graph, call: Callable[[], Any]) -> Any:
    """Call a function in a graph that records effects; computing its result makes all its assignments.

    A run makes these assignments and the function's reads in program order.

    Source: `tf.function`, called in a graph of TensorFlow 1.
    """
    is_inner = graph.here.in_order is not None
    with in_program_order(graph) as effects:
        result = call()
    assignments = [op for op in effects if op.type == ASSIGN]
    if not assignments:
        for read in [] if is_inner else effects:
            read.attrs["in_order"] = False
        return result
    leaves, structure = flatten(result)
    with graph.as_default(), graph.control_dependencies(assignments):
        return unflatten(structure, [_waiting(graph, unwrapped(leaf)) for leaf in leaves])


def _waiting(graph: Graph, leaf: Any) -> Any:
    """A tensor or a number as a tensor that waits for the control dependencies of the graph's open scopes."""
    if not _is_tensor(leaf):
        return leaf
    tensor = trace.to_graph(leaf, promote([dtype_of(leaf)]), graph, OPS["Identity"])
    return graph.add(OPS["Identity"], [tensor], {}, [tensor.spec]).outputs[0]


def _is_tensor(leaf: Any) -> bool:
    return not isinstance(leaf, (str, bytes)) and (
        hasattr(seen(leaf), "dtype") or isinstance(leaf, (bool, int, float, complex))
    )


def _check(graph: Graph, leaf: Any) -> None:
    kind = type(leaf).__name__
    if isinstance(leaf, (Iterator, AsyncIterator, Coroutine)):
        problem = f"it returns a {kind}, which runs when tracing is over; return a list or tuple of its values."
        raise op_error(TypeError, graph.name, problem)
    tensor = _held(graph, leaf)
    if tensor is not None:
        problem = (
            f"it returns a {kind} that holds {tensor!r}, which has no value outside of the graph; return tensors, or "
            "lists, tuples, dicts and dataclasses of them."
        )
        raise op_error(TypeError, graph.name, problem)


def _held(graph: Graph, value: Any) -> GraphTensor | None:
    """A tensor of the graph, or of a graph inside it, that an object holds."""
    seen: set[int] = set()
    todo = deque([value])
    while todo:
        value = todo.popleft()
        if type(value) is GraphTensor and outermost_of(value.graph) is graph:
            return value
        if id(value) not in seen and not isinstance(value, (GraphTensor, ModuleType, type, BuiltinFunctionType)):
            seen.add(id(value))
            todo.extend(_parts(value))
    return None


def _parts(value: Any) -> Iterable[Any]:
    if isinstance(value, Mapping):
        return [*value, *value.values()]
    if isinstance(value, (list, tuple, set, frozenset, deque)):
        return value
    if isinstance(value, functools.partial):
        return [value.func, *value.args, *value.keywords.values()]
    if isinstance(value, MethodType):
        return [value.__self__, value.__func__]
    if isinstance(value, FunctionType):
        cells = [cell.cell_contents for cell in value.__closure__ or () if _is_filled(cell)]
        return [*cells, *(value.__defaults__ or ()), *(value.__kwdefaults__ or {}).values()]
    slots = [name for kind in type(value).__mro__ for name in _names(getattr(kind, "__slots__", ()))]
    return [*getattr(value, "__dict__", {}).values(), *(getattr(value, name, None) for name in slots)]


def _names(slots: Any) -> Iterable[str]:
    return [slots] if isinstance(slots, str) else slots


def _is_filled(cell: Any) -> bool:
    try:
        cell.cell_contents  # noqa: B018  # an empty cell raises
    except ValueError:
        return False
    return True
