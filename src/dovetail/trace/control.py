"""Control flow in graphs: callables are traced to subgraphs, and an operation that holds them is added.

Subgraphs are pure.  Tensors that a callable captures from the graphs around it, and variables that it reads, become
inputs.  Variables that it assigns become outputs, carried ones in loops, and the graph around it assigns them
afterwards.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from dovetail.core.base.errors import op_error
from dovetail.core.base.hooks import hooks
from dovetail.core.base.scopes import DEFAULT_GRAPH, record_on, scopes
from dovetail.core.base.table import OPS
from dovetail.core.dtypes import promote
from dovetail.core.engines.control_flow import Control, Values
from dovetail.core.values.spec import TensorSpec
from dovetail.core.values.value_kinds import dtype_of, kind_of
from dovetail.graph.operation import GraphTensor
from dovetail.graph.reach import reach
from dovetail.ops.control.plumbing import EFFECTS
from dovetail.ops.control.subgraphs import settled_body
from dovetail.trace import trace, variables

if TYPE_CHECKING:
    from dovetail.edit.graph import Graph


class RecordedControl(Control):
    """Control flow as an operation in the graph that is being built, or in the graph of the tensors given."""

    def cond(self, condition: Any, then_branch: Callable[[], Values], else_branch: Callable[[], Values]) -> Values:
        graph = _graph_of([condition])
        branches = [subgraph(name, graph, {}, f) for name, f in (("then", then_branch), ("else", else_branch))]
        pairs = zip(branches[0].outputs, branches[1].outputs, strict=True)
        _cast_outputs(branches, [promote([a.dtype, b.dtype]) for a, b in pairs])
        closure = _Closure(graph, branches)
        if not branches[0].outputs:
            return []
        with graph.as_default(), graph.control_dependencies(closure.awaited):
            condition = _as_graph_tensor(condition, graph)
            inputs = (*closure.state(), *closure.constants([condition]))
            return closure.record("If", [condition, inputs, *branches])

    def while_loop(
        self, condition: Callable[..., Any], body: Callable[..., Values], state: Values, limit: int | None
    ) -> Values:
        graph = _graph_of(state)
        init, step = _loop_body("While", graph, state, {}, lambda carry, _: body(*carry))
        specs = {t.op.name: t.spec for t in step.inputs[: len(init)]}
        test = subgraph("condition", graph, specs, lambda *carry: [condition(*carry)])
        if test.state.assigned:
            names = ", ".join(v.name for v in test.state.assigned)
            raise op_error(ValueError, "While", f"the condition must not assign variables, but it assigns {names}.")
        _cast_outputs([test], [promote([bool])])
        closure = _Closure(graph, [step], [test], len(init))
        with graph.as_default(), graph.control_dependencies(closure.awaited):
            carried, constants = (*init, *closure.state()), tuple(closure.constants(init))
            return closure.record("While", [carried, constants, test, step, limit])

    def scan(
        self, body: Callable[[Values, Values], Any], init: Values, xs: Values, length: int | None, reverse: bool
    ) -> tuple[Values, Values]:
        graph = _graph_of([*init, *xs])
        with graph.as_default():
            xs = tuple(_as_graph_tensor(x, graph) for x in xs)

        def step(carry: Values, sliced: Values) -> list[Any]:
            carry, ys = body(carry, sliced)
            return [*carry, *ys]

        first, traced = _loop_body("Scan", graph, init, _slices(xs), step)
        closure = _Closure(graph, [traced], carried=len(first))
        if not traced.outputs:
            return [], []
        with graph.as_default(), graph.control_dependencies(closure.awaited):
            carried, constants = (*first, *closure.state()), tuple(closure.constants([*first, *xs]))
            results = closure.record("Scan", [carried, xs, constants, traced, length, reverse])
        return results[: len(first)], results[len(first) :]


def stacked_specs(body: Callable[[Values, Values], Any], init: Values, xs: Values) -> list[tuple[TensorSpec, Any]]:
    """The specs of the results of a scan's body that are stacked; nothing is computed.

    Returns:
        Each spec with one of the engines' own values that the result depends on, or with None if there is none.
    """
    specs = _numbered("carry", (TensorSpec(v.shape, v.dtype) for v in init)) | _slices(xs)
    count = len(init)
    graph = hooks.new_graph("body")
    graph.stand_ins = []
    _trace_into(graph, specs, lambda *args: body(args[:count], args[count:])[1])
    natives = {t.op: value for value, t in graph.stand_ins if kind_of(value).autodiff(value) is not None}

    def native(tensor: GraphTensor) -> Any:
        return next((natives[op] for op in reach([tensor]) if op in natives), None)

    return [(t.spec, native(t)) for t in graph.outputs]


# -- tracing ----------------------------------------------------------------------------------------------------------


def _graph_of(values: Iterable[Any]) -> Graph:
    current = trace.current_graph()
    if current is not None:
        return current
    return next((trace.open_graph(v, "control flow") for v in values if type(v) is GraphTensor), DEFAULT_GRAPH.get())


def _as_graph_tensor(value: Any, graph: Graph) -> GraphTensor:
    return trace.to_graph(value, promote([dtype_of(value)]), graph, OPS["Identity"])


def _numbered(name: str, specs: Iterable[TensorSpec]) -> dict[str, TensorSpec]:
    return {f"{name}{i}": spec for i, spec in enumerate(specs)}


def _slices(xs: Values) -> dict[str, TensorSpec]:
    return _numbered("x", (TensorSpec(x.shape and x.shape[1:], x.dtype) for x in xs))


def subgraph(name: str, outer: Graph | None, specs: dict[str, TensorSpec], function: Callable[..., Values]) -> Graph:
    """Trace a function of flat values to a graph; tapes see only the operation that will hold the graph."""
    graph = hooks.new_graph(name, outer)
    _trace_into(graph, specs, function)
    return graph


def _trace_into(graph: Graph, specs: dict[str, TensorSpec], function: Callable[..., Values]) -> None:
    """Trace a function of flat values into an empty graph."""
    with record_on(tape.eager_only() for tape in scopes().tapes), graph.as_default():
        results = function(*[graph.placeholder(spec, name) for name, spec in specs.items()])
        graph.outputs = [_as_graph_tensor(v, graph) for v in results]
        variables.settle_effects(graph)


def _loop_body(
    op: str, graph: Graph, init: Values, slices: dict[str, TensorSpec], step: Callable[[Values, Values], Values]
) -> tuple[list[GraphTensor], Graph]:
    """The first values that a loop carries, and its body, traced until dtypes and shapes stay as they are."""
    with graph.as_default():
        first = [_as_graph_tensor(v, graph) for v in init]
    count = len(first)

    def make(specs: list[TensorSpec]) -> tuple[Graph, list[TensorSpec]]:
        named = _numbered("carry", specs) | slices
        body = subgraph("body", graph, named, lambda *args: step(args[:count], args[count:]))
        return body, [t.spec for t in body.outputs]

    body, specs = settled_body(op, [t.spec for t in first], make)
    dtypes = [spec.dtype for spec in specs]
    _cast_outputs([body], dtypes)
    with graph.as_default():
        return [trace.to_graph(t, dtype, graph, OPS[op]) for t, dtype in zip(first, dtypes, strict=True)], body


def _cast_outputs(graphs: Iterable[Graph], dtypes: Sequence[Any]) -> None:
    for graph in graphs:
        with graph.as_default():
            pairs = zip(graph.outputs, dtypes, strict=False)
            cast = [trace.to_graph(t, dtype, graph, OPS["Cast"]) for t, dtype in pairs]
        graph.outputs = [*cast, *graph.outputs[len(cast) :]]


class _Closure:
    """The tensors and variables that one operation's subgraphs take from around them, as the same inputs for all.

    A subgraph's inputs are reordered: carried values, assigned variables, slices, captured tensors, variables that are
    only read.  Its outputs are carried values, assigned variables, and the rest.

    Args:
        graph: the graph around them.
        bodies: subgraphs that may assign variables.
        tests: subgraphs that may not.
        carried: the number of their own inputs, and outputs, that are carried.
    """

    def __init__(self, graph: Graph, bodies: Sequence[Graph], tests: Sequence[Graph] = (), carried: int = 0) -> None:
        subgraphs = [*tests, *bodies]
        self.graph = graph
        self._carried = carried
        self._captured = dict.fromkeys(t for g in subgraphs for t in g.captures)
        self._assigned = dict.fromkeys(v for g in bodies for v in g.state.assigned)
        self._read = dict.fromkeys(v for g in subgraphs for v in g.state.inputs if v not in self._assigned)
        self._ordered = {v for g in bodies for v in g.state.ordered}
        self.awaited = list(dict.fromkeys(op for g in subgraphs for op in g.awaited))
        for subgraph in bodies:
            last = [variables.read_variable(subgraph, v) for v in self._assigned]
            subgraph.outputs[carried:carried] = last
        for subgraph in subgraphs:
            self._order_inputs(subgraph)
            subgraph.is_traced = True

    def _order_inputs(self, subgraph: Graph) -> None:
        taken = subgraph.captures, subgraph.state.inputs
        outside = {t for inputs in taken for t in inputs.values()}
        own = [t for t in subgraph.inputs if t not in outside]
        assigned, captured, read = (
            [inputs[key] if key in inputs else subgraph.placeholder(TensorSpec(key.shape, key.dtype)) for key in keys]
            for keys, inputs in ((self._assigned, taken[1]), (self._captured, taken[0]), (self._read, taken[1]))
        )
        subgraph.inputs = [*own[: self._carried], *assigned, *own[self._carried :], *captured, *read]

    def state(self) -> list[GraphTensor]:
        """The values of the assigned variables before the operation."""
        return [variables.read_for_update(self.graph, v) for v in self._assigned]

    def constants(self, others: Sequence[GraphTensor]) -> list[GraphTensor]:
        """The captured tensors, and the values of variables that are only read, at the time of the operation.

        That time is its place in the program if it assigns variables, else as soon as all its inputs are there.

        Args:
            others: the other inputs of the operation.
        """
        captured = [trace.to_graph(t, t.dtype, self.graph, OPS["Identity"]) for t in self._captured]
        if self._assigned:
            return captured + [variables.read_for_update(self.graph, v) for v in self._read]
        before = [t.op for t in (*others, *captured)]
        is_ordered = (
            self._read and self.graph.dialect.records_effects and any(op.type in EFFECTS for op in reach(before))
        )
        with self.graph.control_dependencies(before if is_ordered else ()):
            return captured + [variables.read_variable(self.graph, v) for v in self._read]

    def record(self, op: str, values: list[Any]) -> list[GraphTensor]:
        """Add the operation, assign the variables their new values, and return the other results."""
        results = list(trace.record(OPS[op], values))
        ends = self._carried + len(self._assigned)
        for variable, value in zip(self._assigned, results[self._carried : ends], strict=True):
            assign = variables.assign_in_order if variable in self._ordered else variables.assign_variable
            assign(self.graph, variable, value, with_value=True)
        return results[: self._carried] + results[ends:]
