"""Tracing: running a Python function on graph Tensors, so that its ops become a Graph.

`record` gets each op call with a graph Tensor.  It converts the other arguments to graph Tensors, infers the result and
appends the node.  A subgraph (a loop's body, a branch) captures tensors of the graphs around it as inputs.  Variables
become its inputs and outputs, so a subgraph is pure.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dovetail.core.base import config
from dovetail.core.base.cache import Cache
from dovetail.core.base.errors import Where, op_error
from dovetail.core.base.hooks import hooks
from dovetail.core.base.scopes import DEFAULT_GRAPH, record_on, scopes
from dovetail.core.base.table import OPS
from dovetail.core.calls import dispatch, infer_call
from dovetail.core.dtypes import DType, native_to_dtype
from dovetail.core.engines.engine_registry import owner_of_type
from dovetail.core.op import Op
from dovetail.core.tensor import Tensor
from dovetail.core.values import arguments, host
from dovetail.core.values.infer import of_any_rank
from dovetail.core.values.signature import static_key
from dovetail.core.values.spec import TensorSpec
from dovetail.core.values.value_kinds import (
    ANY_ENGINE,
    EAGER,
    HOST,
    NATIVE,
    ValueKind,
    dtype_of,
    is_recorded,
    kind_of,
    register,
    static_shape,
)
from dovetail.core.values.variable import STATE
from dovetail.graph.base import foreign_tensor
from dovetail.graph.journal import no_part_of_edits
from dovetail.graph.naming import name_new, unique_name
from dovetail.graph.nesting import outermost_of
from dovetail.graph.operation import SINGLE, GraphTensor, Operation
from dovetail.graph.shape_values import known_value, shape_values
from dovetail.trace.captures import capture_into, check_open, holder_of
from dovetail.trace.variables import assign_in_order, assign_variable, read_for_update, read_variable

if TYPE_CHECKING:
    from dovetail.core.engines.control_flow import Control
    from dovetail.edit.graph import Graph


def current_graph() -> Graph | None:
    """The innermost graph that is being built in this thread or task; None if there is none.

    A default graph does not count; it records an op if one of the arguments says so.
    """
    graphs = scopes().graphs
    return graphs[-1] if graphs else None


# -- recording one op -------------------------------------------------------------------------------------------------


class Recorded(NamedTuple):
    """The data of the operation that calls of one signature add to a graph.

    Attributes:
        values, places: as in `dispatch.Resolved`.
        dtypes: the dtypes of the operation's inputs.
        attrs, layout: as in the operation.
        specs: the specs of its outputs.
    """

    values: list[Any]
    places: list[tuple[int, int | str]]
    dtypes: list[DType]
    attrs: dict[str, Any]
    layout: tuple[int | None, ...]
    specs: list[TensorSpec]

    def again(self, op: Op, values: list[Any], name: str | None) -> Any:
        """Record another call, and return its result."""
        graph = _graph_of(op, values)
        given: list[Any] = []
        for index, is_list in op.tensor_places:
            value = values[index]
            if is_list:
                given.extend(value)
            elif value is not None:
                given.append(value)
        inputs = [
            v if type(v) is GraphTensor and v.dtype is d and v.op.graph is graph else to_graph(v, d, graph, op)
            for v, d in zip(given, self.dtypes, strict=True)
        ]
        return _finish(graph.add(op, inputs, self.attrs.copy(), self.specs, self.layout, name))


def record_on_tapes(operation: Operation) -> None:
    """Show an operation to the tapes, which keep it if they watch one of its inputs."""
    for tape in scopes().tapes:
        tape.record_operation(operation)


def _finish(operation: Operation) -> Any:
    """Show the operation to the tapes, and return its results in the form for the caller."""
    record_on_tapes(operation)
    results: Sequence[GraphTensor] = operation.outputs
    for probe in scopes().probes or ():
        results = probe.recorded(operation, results)
    return tuple(results) if operation.op.returns_tuple else results[0]


def record(op: Op, values: list[Any], name: str | None = None) -> Any:
    """Add a call of an op to its graph, and return one graph Tensor or a tuple of them."""
    graph = _graph_of(op, values)
    values, taken = _with_taken(op, values, graph)
    dynamic = [i for i in op.ints_positions if _is_dynamic(values[i])]
    body = op.body if dynamic else None
    dtypes = arguments.promoted_dtypes(op, values)
    values = list(values)
    for index, kind in op.tensor_positions:
        value = values[index]
        if kind.many:
            values[index] = tuple(to_graph(v, d, graph, op) for v, d in zip(value, dtypes[index], strict=True))
        elif value is not None and not (body is not None and isinstance(value, (bool, int, float, complex))):
            values[index] = to_graph(value, dtypes[index], graph, op)
    if body is not None:  # it sees which dimensions are known
        with graph.as_default():
            if hooks.has_unknown_rank(values):
                return hooks.with_unknown_rank(body, op.title, values, {})
            return _named(body(*values), name, values)
    if arguments.has_tensor_settings(op, values):
        try:
            with graph.as_default():
                return _named(op.body(*values), name, values)  # type: ignore[misc]  # a primitive has no such settings
        except Exception as error:
            raise dispatch.inside(op, error, values) from error.__cause__
    known = list(values)
    for index in op.ints_positions:
        if index in dynamic:
            values[index] = _dynamic_ints(op, index, values[index], graph)
            known[index] = ints = shape_values(values[index]).ints(values[index])
            if ints is not None and None not in ints:
                taken[op.params[index].name] = values[index]
                values[index] = ints
        else:
            values[index] = known[index] = arguments.static_ints(op, index, values[index])
    operation = append(graph, op, values, infer_specs(op, known), name)
    if taken:
        operation.taken = taken
    return _finish(operation)


def _named(result: Any, name: str | None, values: Sequence[Any]) -> Any:
    """The result of a body for some arguments; its operation gets the name of the call."""
    if name is not None and type(result) is GraphTensor and not any(result is value for value in values):
        name_new(result.op.graph, result.op, unique_name(result.op.graph, name))
    return result


def _with_taken(op: Op, values: list[Any], graph: Graph) -> tuple[list[Any], dict[str, GraphTensor]]:
    """The arguments, with the elements of tensors that are known now for static ones, and these tensors by name."""
    with_known, taken = list(values), dict[str, GraphTensor]()
    shapes = op.ints_positions
    for index in (*shapes, *arguments.tensor_settings(op, values)):
        tensor = values[index]
        if type(tensor) is not GraphTensor or not (tensor.dtype.is_integer or op.body is None):
            continue
        known = known_value(tensor)
        if known is not None:
            with_known[index] = op.normalize(
                op.params[index].name, known.reshape(-1) if index in shapes else known.tolist()
            )
            taken[op.params[index].name] = capture(graph, tensor, op)
    return with_known, taken


def append(graph: Graph, op: Op, values: list[Any], specs: Any, name: str | None) -> Operation:
    """Add the operation for arguments that are graph Tensors and static values."""
    inputs: list[GraphTensor] = []
    layout: list[int | None] = []
    attrs: dict[str, Any] = {}
    for param, value in zip(op.params, values, strict=True):
        if type(value) is GraphTensor:
            inputs.append(value)
            layout.append(SINGLE)
        elif param.kind is not None and type(value) is tuple and getattr(param.kind, "many", False):
            inputs.extend(value)
            layout.append(len(value))
        else:
            attrs[param.name] = value
            layout.append(None)
    return graph.add(op, inputs, attrs, specs if op.returns_tuple else (specs,), tuple(layout), name)


def _graph_of(op: Op, values: list[Any]) -> Graph:
    """The graph that records a call: the innermost one that is being built, else that of the tensors given."""
    recording = current_graph()
    if recording is not None:
        return recording
    for value in arguments.operands(op, values):
        if type(value) is GraphTensor:
            graph = open_graph(value, op.name)
            if recording is None:
                recording = graph
            elif graph is not recording:
                raise op_error(
                    ValueError,
                    op.title,
                    f"its tensors belong to two graphs. {foreign_tensor(recording, value)} Import one into the other, "
                    "or build both parts in one.",
                )
    return DEFAULT_GRAPH.get() if recording is None else recording


def open_graph(tensor: GraphTensor, op_name: str) -> Graph:
    """The graph of a tensor, for recording.

    Raises:
        ValueError: it is the trace of a function, and that trace is over.
    """
    graph = tensor.op.graph
    if outermost_of(graph).is_traced:
        problem = (
            f"{tensor!r} has no value: it was made while {outermost_of(graph).name!r} was traced, and kept; a tensor "
            "leaves a compiled function only as its result."
        )
        raise op_error(ValueError, op_name, problem)
    return graph


def to_graph(value: Any, dtype: DType, graph: Graph, op: Op) -> GraphTensor:
    """Convert any value to a tensor of the graph with the given dtype."""
    if type(value) is GraphTensor:
        tensor = capture(graph, value, op)
    else:
        kind = kind_of(value)
        add = _ADD.get(kind)
        if add is None and (in_graph := kind.in_graph(value, graph)) is not value:
            return to_graph(in_graph, dtype, graph, op)
        if add is None:
            raise op_error(TypeError, op.title, f"{type(value).__name__} values and graph tensors cannot be mixed.")
        tensor = add(graph, value, dtype, op)
    return tensor if tensor.dtype is dtype or tensor.dtype == dtype else OPS["Cast"](tensor, dtype)


def _closed_over(graph: Graph, tensor: Tensor) -> GraphTensor:
    """The graph's tensor for an eager Tensor, one for all uses, which tapes follow if they follow the Tensor.

    It is a constant of the outermost graph; `function` differentiates by it if a tape around its call watches it.
    """
    if (own := _stand_in(graph, tensor, tensor._value)) is not None:
        return own
    if graph.outer is not None and not graph.is_traced and tensor.dtype.is_differentiable:
        own = capture(graph, tensor)
    else:
        own = graph.closures.get(tensor)
        if own is None or own.op.is_removed:
            own = graph.closures[tensor] = graph.constant(np.asarray(tensor._engine.to_numpy(tensor._value)))
    for tape in scopes().tapes:
        tape.record_move(tensor, own)
    return own


def _of_host(graph: Graph, value: Any, dtype: DType, op: Op) -> GraphTensor:
    if arguments.holds_tensors(value):
        return to_graph(arguments.stacked(value), dtype, graph, op)
    return graph.constant(host.from_host(lambda v, d: np.array(v, d.numpy), value, dtype))


def _of_native(graph: Graph, value: Any, dtype: DType, op: Op) -> GraphTensor:
    if (stand_in := _stand_in(graph, value, value)) is not None:
        return stand_in
    engine = owner_of_type(type(value))
    try:
        return _of_host(graph, engine.to_numpy(value), dtype, op)
    except Exception as error:
        problem = f"a {engine.name} value without numbers yet (a tracer) cannot go into a Dovetail graph: {error}"
        raise op_error(TypeError, op.title, problem) from error


def _stand_in(graph: Graph, value: Any, array: Any) -> GraphTensor | None:
    """A placeholder for a value without numbers, or an engine's own floats, if only shapes are wanted; else None."""
    stand_ins = outermost_of(graph).stand_ins
    if stand_ins is None:
        return None
    spec = TensorSpec(static_shape(value), native_to_dtype(dtype_of(value)))
    if not kind_of(array).is_traced(array) and (array is not value or not spec.dtype.is_differentiable):
        return None  # integers may be sizes
    placeholder = outermost_of(graph).placeholder(spec, "closure")
    stand_ins.append((value, placeholder))
    return capture(graph, placeholder)


def capture(graph: Graph, tensor: GraphTensor | Tensor, op: Op | None = None) -> GraphTensor:
    """Make a tensor of a graph around this one, or an eager Tensor, an input of this one.

    Raises:
        ValueError: the tensor's graph is not around this one.
    """
    name = "closure"
    if type(tensor) is GraphTensor:
        if tensor.op.graph is graph:
            return tensor
        name = tensor.op.name.rpartition("/")[2]
    holder = holder_of(graph, tensor)
    if holder is not None:
        return capture_into(graph, holder, to_graph(tensor, tensor.dtype, holder.graph, op or OPS["Identity"]))
    own = graph.captures.get(tensor)
    if own is None:
        check_open(graph, tensor, op)
        if type(tensor) is GraphTensor:
            _check_around(graph, tensor, op)
            if tensor.op.type == "Const" and not tensor.dtype.is_differentiable:
                return _copied(graph, tensor)
        own = graph.captures[tensor] = graph.placeholder(TensorSpec(tensor.shape, tensor.dtype), name)
    return own


def _copied(graph: Graph, constant: GraphTensor) -> GraphTensor:
    """A copy of a constant of a graph around this one, so that its elements are known here, too."""
    outer: Any = graph.outer
    if constant.op.graph is not outer:
        constant = _copied(outer, constant)
    copy = graph.constant(constant.op.attrs["value"])
    copy.op.taken = {"value": constant}
    return copy


def _check_around(graph: Graph, tensor: GraphTensor, op: Op | None) -> None:
    outer = graph.outer
    while outer is not None and outer is not tensor.op.graph:
        outer = outer.outer
    if outer is None:
        name = op.name if op else "Capture"
        open_graph(tensor, name)
        advice = "Build both in one graph; a tensor leaves a function, a loop or a branch only as its result."
        raise op_error(ValueError, name, f"{foreign_tensor(graph, tensor)} {advice}")


# -- shape-like arguments ---------------------------------------------------------------------------------------------


def _is_dynamic(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return any(_is_dynamic(v) for v in value)
    return is_recorded(value)


def _dynamic_ints(op: Op, index: int, value: Any, graph: Graph) -> GraphTensor:
    """A shape that is known only later, as one integer tensor."""
    if isinstance(value, (list, tuple)):
        tensor = record(OPS["Pack"], [tuple(value), 0])
    else:
        tensor = to_graph(value, dtype_of(value), graph, op)
    if not tensor.dtype.is_integer:
        raise op_error(TypeError, op.title, f"{op.params[index].name} must be ints, but {tensor!r} is {tensor.dtype}.")
    tensor = arguments.signed(tensor) if tensor.dtype == "uint64" else tensor
    if tensor.shape == ():
        tensor = record(OPS["Reshape"], [tensor, (1,)])
    return tensor


# -- inference --------------------------------------------------------------------------------------------------------


def infer_specs(op: Op, values: list[Any], where: Where = None) -> Any:
    """The spec of the result, or a tuple of them, for graph Tensors and static values."""
    if op.infer is not None:
        return infer_call.infer(op, values, where)
    specs = of_any_rank(lambda *values: [t.spec for t in body_graph(op, values).outputs], list(map(_spec_of, values)))
    return tuple(specs) if op.returns_tuple else specs[0]


def _spec_of(value: Any) -> Any:
    """The spec of a graph Tensor, or a tuple of specs; any other argument as it is."""
    if type(value) is tuple and value and type(value[0]) is GraphTensor:
        return tuple(t.spec for t in value)
    return value.spec if type(value) is GraphTensor else value


_bodies: Cache[Any, Graph] = Cache(2500)


def body_graph(op: Op, values: Sequence[Any]) -> Graph:
    """The body of a composite for arguments of these specs, as a graph whose inputs are the op's tensors.

    Args:
        op: the composite.
        values: specs or graph Tensors, lists of them, and static values.
    """
    values = list(map(_spec_of, values))
    key = (op, config.version, *map(_spec_key, values))
    try:
        body = _bodies.get(key)
    except TypeError:
        return _trace_body(op, values)
    if body is None:
        body = _bodies.put(key, _trace_body(op, values))
    return body


def _spec_key(value: Any) -> Any:
    if type(value) is TensorSpec:
        return value.shape, value.dtype
    if type(value) in (tuple, list) and any(type(v) is TensorSpec for v in value):
        return tuple(map(_spec_key, value))
    return static_key(value)


def _trace_body(op: Op, values: Sequence[Any]) -> Graph:
    graph = hooks.new_graph(op.name)
    try:
        with no_part_of_edits(), record_on(()), graph.as_default():
            args = [_placed(graph, p.name, value) for p, value in zip(op.params, values, strict=True)]
            result = op.body(*args)  # type: ignore[misc]
            flat = list(result) if op.returns_tuple else [result]
            graph.outputs = [to_graph(t, native_to_dtype(dtype_of(t)), graph, op) for t in flat]
        _check_pure(op, graph)
    except Exception as error:
        raise dispatch.inside(op, error, list(values)) from error.__cause__
    return graph


def _placed(graph: Graph, name: str, value: Any) -> Any:
    """A placeholder for a spec, several for a list of them; a static value itself."""
    if type(value) is TensorSpec:
        return graph.placeholder(value, name)
    if type(value) in (tuple, list) and value and type(value[0]) is TensorSpec:
        return tuple(graph.placeholder(v, name) for v in value)
    return value


def _check_pure(op: Op, body: Graph) -> None:
    """Refuse a body that uses variables: its operation does not show them, so no gradient would reach them."""
    used = [v.name for v in {**body.state.inputs, **body.state.assigned}]
    if used:
        problem = f"its body uses the variables {', '.join(used)}: give them to it as arguments, and assign outside."
        raise op_error(ValueError, op.name, problem)


# -- tracing whole functions ------------------------------------------------------------------------------------------


def trace(
    function: Callable[..., Any], specs: Sequence[TensorSpec], name: str, outer: Graph | None = None
) -> tuple[Graph, Any]:
    """Trace a function on placeholders, and return the graph and the function's result."""
    graph = hooks.new_graph(name, outer)
    with graph.as_default():
        result = function(*[graph.placeholder(spec, f"arg{i}") for i, spec in enumerate(specs)])
    return graph, result


def assign_any(
    graph: Any, variable: Any, value: Any, change: Callable[..., Any] | None = None, in_order: bool = False
) -> Any:
    """Give a variable any value from this point of the program on.

    Args:
        graph, variable: as for `assign_variable`.
        value: the value; with `change`, the list of further arguments of `change`.
        change: (the variable's value, further arguments) → the new value; if effects are recorded, nothing is assigned
            in between.
        in_order: whether to assign by `assign_in_order`; counters of random draws always do.

    Returns:
        The variable; if effects are recorded, the tensor of its next value.
    """
    if change is not None:
        value = change(read_for_update(graph, variable), *value)
        variable.check_shape(value)
    tensor = to_graph(value, variable.dtype, graph, _ASSIGN)
    if in_order or variable.is_counter:
        assign_in_order(graph, variable, tensor)
        return variable
    operation = assign_variable(graph, variable, tensor)
    return operation.outputs[0] if operation is not None and graph.dialect.records_effects else variable


class _GraphKind(ValueKind):
    rank = 4
    is_symbolic = True

    def apply(self, op: Op, values: list[Any], name: str | None) -> Any:
        return record(op, values, name)

    def resolved(self, op: Op, result: Any, values: list[Any], places: list[tuple[int, int | str]]) -> Any:
        results = result if op.returns_tuple else (result,)
        operation = results[0].op if results and type(results[0]) is GraphTensor else None
        if operation is None or operation.op is not op or len(operation.outputs) != len(results):
            return None  # its body ran instead
        inputs, outputs = operation.inputs, operation.outputs
        specs, dtypes = [t.spec for t in outputs], [t.dtype for t in inputs]
        return Recorded(values, places, dtypes, dict(operation.attrs), operation.layout, specs)

    def describe(self, value: Any, key: list[Any]) -> Any:
        key += (GraphTensor, value.shape, value.dtype)
        return ANY_ENGINE

    def control(self, value: Any) -> Control | None:
        return hooks.control

    def drawing_graph(self, value: Any) -> Any:
        return value.graph if type(value) is GraphTensor else DEFAULT_GRAPH.get()  # it records variables

    def origin(self, value: Any) -> Any:
        return value.op


_ASSIGN = OPS["AssignVariableOp"]
GRAPH = hooks.graph_kind = _GraphKind()
register(GraphTensor, GRAPH)

# kind of a value → (graph, value, dtype, op) → its tensor in the graph
_ADD: dict[ValueKind, Callable[[Graph, Any, DType, Op], GraphTensor]] = {
    HOST: _of_host,
    NATIVE: _of_native,
    EAGER: lambda graph, value, dtype, op: _closed_over(graph, value),
    STATE: lambda graph, value, dtype, op: read_variable(graph, value),
}
