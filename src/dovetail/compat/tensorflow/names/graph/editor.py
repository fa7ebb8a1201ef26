"""The graph editor of `tf.contrib`: fifteen of its functions, written with the edits of graphs."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from typing import Any

from dovetail.compat.tensorflow.entries import value
from dovetail.compat.tensorflow.names.array.structures import nest_flatten, pack_sequence_as
from dovetail.compat.tensorflow.table import function
from dovetail.core.base.errors import op_error
from dovetail.edit.graph import Graph, GraphTensor, Operation
from dovetail.edit.transplant import Copies
from dovetail.graph import walk
from dovetail.graph.naming import new_scope

_PLACE = "contrib.graph_editor."


class SubGraphView:
    """Some operations of a graph.

    Attributes:
        ops: in program order.
        inputs: the tensors that they take from outside.
        outputs: their tensors that other operations take, or that no operation takes.

    Source: `tf.contrib.graph_editor.SubGraphView`.
    """

    def __init__(self, ops: Iterable[Operation]) -> None:
        members = dict.fromkeys(ops)
        graph = next(iter(members)).graph if members else None
        self.graph = graph
        self.ops = [op for op in graph.operations if op in members] if graph is not None else []
        self.inputs = list(dict.fromkeys(t for op in self.ops for t in op.inputs if t.op not in members))
        made = [t for op in self.ops for t in op.outputs]
        self.outputs = [t for t in made if not t.consumers() or any(user not in members for user in t.consumers())]


class Transformed:
    """The map from tensors and operations to their copies.

    Source: `tf.contrib.graph_editor.TransformerInfo`.
    """

    def __init__(self, copies: Any) -> None:
        self._copies = copies

    def transformed(self, original: Any, missing_fn: Callable[[Any], Any] | None = None) -> Any:
        """The copies of tensors and operations, in their structure.

        Args:
            original: a structure of tensors and operations.
            missing_fn: gives the value for a tensor or an operation that was not copied; without it, None.
        """
        copies = [self._copy(x, missing_fn) for x in nest_flatten(original)]
        return pack_sequence_as(original, copies)

    def _copy(self, original: Any, missing_fn: Callable[[Any], Any] | None) -> Any:
        copies = self._copies.operations if isinstance(original, Operation) else self._copies.tensors
        if original in copies:
            return copies[original]
        return None if missing_fn is None else missing_fn(original)


class ControlOutputs:
    """The operations that wait for the operations of a graph.

    Source: `tf.contrib.graph_editor.ControlOutputs`.
    """

    def __init__(self, graph: Graph) -> None:
        self.graph = graph

    def get(self, op: Operation) -> list[Operation]:
        """The operations that wait for one."""
        return list(op.control_outputs)

    def get_all(self) -> dict[Operation, list[Operation]]:
        """Operation → the operations that wait for it, where there are any."""
        return {op: self.get(op) for op in self.graph.operations if op.control_outputs}

    def update(self) -> ControlOutputs:
        """Do nothing: `get` reads the graph whenever a program calls it."""
        return self


value(f"{_PLACE}ControlOutputs", ControlOutputs, "v1")
value(f"{_PLACE}SubGraphView", SubGraphView, "v1")


def _ops(given: Any) -> list[Operation]:
    """The operations of a view, or of operations, tensors and views in a list."""
    if isinstance(given, SubGraphView):
        return given.ops
    leaves = nest_flatten(list(given) if isinstance(given, (list, tuple, set)) else [given])
    nodes = [op for x in leaves for op in (x.ops if isinstance(x, SubGraphView) else [x])]
    return list(dict.fromkeys(x.op if isinstance(x, GraphTensor) else x for x in nodes))


def _tensors(given: Any) -> list[GraphTensor]:
    if isinstance(given, SubGraphView):
        return given.outputs
    leaves = nest_flatten(list(given) if isinstance(given, (list, tuple)) else [given])
    return [t for x in leaves for t in (x.outputs if isinstance(x, Operation) else [x])]


@function(f"{_PLACE}get_backward_walk_ops", "v1")
def get_backward_walk_ops(
    seed_ops: Any,
    inclusive: bool = True,
    within_ops: Any = None,
    within_ops_fn: Callable[[Operation], Any] | None = None,
    stop_at_ts: Any = (),
    control_inputs: bool = False,
) -> list[Operation]:
    """The operations that the seeds need.

    Source: `tf.contrib.graph_editor.get_backward_walk_ops`.
    """
    return _walked(walk.backward, seed_ops, inclusive, within_ops, within_ops_fn, stop_at_ts, control_inputs)


@function(f"{_PLACE}get_forward_walk_ops", "v1")
def get_forward_walk_ops(
    seed_ops: Any,
    inclusive: bool = True,
    within_ops: Any = None,
    within_ops_fn: Callable[[Operation], Any] | None = None,
    stop_at_ts: Any = (),
    control_outputs: bool = False,
) -> list[Operation]:
    """The operations that need the seeds.

    Source: `tf.contrib.graph_editor.get_forward_walk_ops`.
    """
    return _walked(walk.forward, seed_ops, inclusive, within_ops, within_ops_fn, stop_at_ts, bool(control_outputs))


def _walked(
    way: Callable[..., list[Operation]],
    seed_ops: Any,
    inclusive: bool,
    within_ops: Any,
    within_ops_fn: Any,
    stop_at_ts: Any,
    control: bool,
) -> list[Operation]:
    seeds = _ops(seed_ops)
    within = None if within_ops is None else set(_ops(within_ops))
    if within_ops_fn is not None and seeds:
        every = seeds[0].graph.operations if within is None else within
        within = {op for op in every if within_ops_fn(op)}
    walked = way(seeds, within, list(stop_at_ts), control)
    return walked if inclusive else [op for op in walked if op not in set(seeds)]


@function(f"{_PLACE}copy_with_input_replacements", "v1")
def copy_with_input_replacements(
    sgv: Any,
    replacement_ts: dict[Any, Any],
    dst_graph: Any = None,
    dst_scope: str = "",
    src_scope: str = "",
    reuse_dst_scope: bool = False,
) -> tuple[SubGraphView, Transformed]:
    """Copy operations; the copies take other tensors instead of some inputs.

    Args:
        dst_scope: the name scope of the copies.
        src_scope: the name scope that `dst_scope` replaces; all operations are in it.
        reuse_dst_scope: whether an existing scope is taken; else the scope gets a number.

    Source: `tf.contrib.graph_editor.copy_with_input_replacements`.
    """
    ops = _ops(sgv)
    graph = ops[0].graph
    if dst_graph not in (None, graph):
        problem = "the copy is of one graph; tf.import_graph_def copies to another."
        raise op_error(NotImplementedError, f"tf.{_PLACE}copy_with_input_replacements", problem)
    copies = _copied(graph, ops, replacement_ts, dst_scope, src_scope, reuse_dst_scope)
    return SubGraphView(copies.operations.values()), Transformed(copies)


def _copied(graph: Any, ops: list[Operation], replaced: Any, to: str, src_scope: str, reuses: bool) -> Copies:
    """Copy operations into another name scope."""
    src_scope = f"{src_scope.rstrip('/')}/" if src_scope else ""
    outside = [op for op in ops if not op.name.startswith(src_scope)]
    if outside:
        problem = f"{outside[0]!r} is not in the scope {src_scope!r}, which is src_scope."
        raise op_error(ValueError, f"tf.{_PLACE}copy_with_input_replacements", problem)
    with graph.edit():
        scope = to.rstrip("/")
        scope = f"{scope}/" if scope and reuses else new_scope(graph, scope)
        copies = graph.copy_part(ops, replaced)
        if not scope and not src_scope:
            return copies
        with graph.at_scope(""):
            for original, copy in copies.operations.items():
                copy.change(name=graph.unique_name(scope + original.name[len(src_scope) :]))
    return copies


@function(f"{_PLACE}graph_replace", "v1")
def graph_replace(
    target_ts: Any,
    replacement_ts: dict[Any, Any],
    dst_scope: str = "",
    src_scope: str = "",
    reuse_dst_scope: bool = False,
) -> Any:
    """Copies of tensors, computed with other tensors instead of some.

    Args:
        dst_scope, src_scope, reuse_dst_scope: as in `copy_with_input_replacements`.

    Source: `tf.contrib.graph_editor.graph_replace`.
    """
    targets = _tensors(target_ts)
    behind = set(walk.forward(list(replacement_ts), control=False))
    needed = [op for op in walk.backward(targets, stop_at=list(replacement_ts), control=False) if op in behind]
    if not needed:
        problem = "the targets do not depend on what is to be replaced."
        raise op_error(ValueError, f"tf.{_PLACE}graph_replace", problem)
    copies = _copied(targets[0].graph, needed, replacement_ts, dst_scope, src_scope, reuse_dst_scope)
    results = [replacement_ts.get(t, copies[t] if t.op in copies.operations else t) for t in targets]
    return results if isinstance(target_ts, (list, tuple)) else results[0]


@function(f"{_PLACE}reroute_ts", "v1")
def reroute_ts(ts0: Any, ts1: Any, can_modify: Any = None, cannot_modify: Any = None) -> int:
    """Give the first tensors to the operations that take the second ones.

    Returns:
        The number of uses that changed.

    Source: `tf.contrib.graph_editor.reroute_ts`.
    """
    return _rerouted(ts0, ts1, can_modify, cannot_modify, both_ways=False)


def _rerouted(ts0: Any, ts1: Any, can_modify: Any, cannot_modify: Any, both_ways: bool) -> int:
    pairs = list(zip(_tensors(ts0), _tensors(ts1), strict=True))
    allowed = None if can_modify is None else set(_ops(can_modify))
    forbidden = set() if cannot_modify is None else set(_ops(cannot_modify))

    def uses(tensor: GraphTensor) -> list[tuple[Operation, int]]:
        return [use for use in tensor.uses() if (allowed is None or use[0] in allowed) and use[0] not in forbidden]

    ways = [way for a, b in pairs if a is not b for way in ((a, b), (b, a))[: 1 + both_ways]]
    chosen = [(new, old, uses(old)) for new, old in ways]
    with pairs[0][0].graph.edit() if pairs else nullcontext():
        for new, old, consumers in chosen:
            if consumers:
                new.graph.replace_uses(old, new, consumers)
    return sum(len(consumers) for _, _, consumers in chosen)


@function(f"{_PLACE}swap_ts", "v1")
def swap_ts(ts0: Any, ts1: Any, can_modify: Any = None, cannot_modify: Any = None) -> int:
    """Swap tensors: operations that take the first ones take the second ones instead, and the other way round.

    Args:
        can_modify, cannot_modify: the operations that may change, all if not given, and the ones that may not.

    Returns:
        The number of uses that changed.

    Source: `tf.contrib.graph_editor.swap_ts`.
    """
    return _rerouted(ts0, ts1, can_modify, cannot_modify, both_ways=True)


@function(f"{_PLACE}connect", "v1")
def connect(sgv0: Any, sgv1: Any, disconnect_first: bool = False) -> tuple[SubGraphView, SubGraphView]:
    """Make the outputs of one view the inputs of another.

    Args:
        disconnect_first: whether the operations that take outputs of the first view take placeholders instead.

    Source: `tf.contrib.graph_editor.connect`.
    """
    first, second = sgv(sgv0), sgv(sgv1)
    outputs = first.outputs
    if disconnect_first:
        _detached_outputs(first)
    reroute_ts(outputs, second.inputs, can_modify=second.ops)
    return SubGraphView(first.ops), SubGraphView(second.ops)


@function(f"{_PLACE}bypass", "v1")
def bypass(sgv_: Any) -> tuple[SubGraphView, list[GraphTensor]]:
    """Give the inputs of a view to the operations that take its outputs.

    Source: `tf.contrib.graph_editor.bypass`.
    """
    view = sgv(sgv_)
    inside = set(view.ops)
    outside = [op for t in view.outputs for op in t.consumers() if op not in inside]
    inputs = view.inputs
    reroute_ts(inputs, view.outputs, can_modify=outside)
    return SubGraphView(view.ops), inputs


@function(f"{_PLACE}detach", "v1")
def detach(
    sgv_: Any,
    control_inputs: bool = False,
    control_outputs: ControlOutputs | None = None,
    control_ios: ControlOutputs | None = None,
) -> tuple[SubGraphView, list[GraphTensor], list[GraphTensor]]:
    """Give placeholders to a view, and to the operations that take its outputs.

    Args:
        control_inputs: whether its operations wait for no others any more.
        control_outputs: if given, no others wait for its operations any more.
        control_ios: both of these.

    Returns:
        The view, the placeholders that it takes, and the placeholders that replace its outputs.

    Raises:
        TypeError: control_outputs or control_ios is not a `ControlOutputs`.
        ValueError: both are given.

    Source: `tf.contrib.graph_editor.detach`.
    """
    for said in (control_outputs, control_ios):
        if not isinstance(said, (ControlOutputs, type(None))):
            problem = f"it takes tf.{_PLACE}ControlOutputs(graph), not {said!r}."
            raise op_error(TypeError, f"tf.{_PLACE}detach", problem)
    if control_outputs is not None and control_ios is not None:
        raise op_error(ValueError, f"tf.{_PLACE}detach", "control_ios includes control_outputs: give only one of them.")
    view = sgv(sgv_)
    taken = [_placeholder_for(t) for t in view.inputs]
    reroute_ts(taken, view.inputs, can_modify=view.ops)
    given = _detached_outputs(view)
    inside = set(view.ops)
    for op in view.ops:
        for other in op.control_inputs if control_inputs or control_ios is not None else ():
            if other not in inside:
                op.remove_control_input(other)
        for other in op.control_outputs if (control_outputs or control_ios) is not None else ():
            if other not in inside:
                other.remove_control_input(op)
    return SubGraphView(view.ops), taken, given


def _placeholder_for(tensor: GraphTensor) -> GraphTensor:
    return tensor.graph.placeholder(tensor.spec, f"geph__{tensor.op.name.replace('/', '_')}")


def _detached_outputs(view: SubGraphView) -> list[GraphTensor]:
    """Replace a view's outputs by placeholders in other operations, and return the placeholders."""
    inside = set(view.ops)
    used = [t for t in view.outputs if any(op not in inside for op in t.consumers())]
    given = [_placeholder_for(t) for t in used]
    reroute_ts(given, used, cannot_modify=view.ops)
    return given


@function(f"{_PLACE}sgv", "v1")
def sgv(*args: Any, graph: Any = None) -> SubGraphView:
    """A view of operations: given themselves, by tensors, or by regular expressions of their names.

    Source: `tf.contrib.graph_editor.sgv`.
    """
    if len(args) == 1 and isinstance(args[0], SubGraphView):
        return args[0]
    return SubGraphView(select_ops(*args, graph=graph))


@function(f"{_PLACE}select_ops", "v1")
def select_ops(
    *args: Any,
    graph: Graph | None = None,
    positive_filter: Callable[[Operation], Any] | None = None,
    scope: str = "",
    restrict_ops_regex: bool = False,
    restrict_ts_regex: bool = False,
) -> list[Operation]:
    """Operations: given themselves, by tensors, or by regular expressions of their names in a graph.

    Args:
        args: an expression that begins with "(?#ts)" is of tensors, one with "(?#ops)" of operations.
        restrict_ops_regex: whether only expressions that begin with "(?#ops)" count.
        restrict_ts_regex: accepted, since `select_ts` has it.

    Source: `tf.contrib.graph_editor.select_ops`.
    """
    chosen: dict[Operation, None] = {}
    for arg in args:
        if isinstance(arg, (str, re.Pattern)):
            text = _text(arg, graph, "select_ops")
            if _counts(text, "ops", "ts", restrict_ops_regex) and graph is not None:
                pattern = re.compile(scope + text)
                chosen.update(dict.fromkeys(op for op in graph.operations if pattern.search(op.name)))
        else:
            chosen.update(dict.fromkeys(_ops(arg)))
    return [op for op in chosen if positive_filter is None or positive_filter(op)]


def _text(expression: Any, graph: Any, name: str) -> str:
    """The text of a regular expression, which may be compiled."""
    if graph is None:
        raise op_error(ValueError, f"tf.{_PLACE}{name}", "a regular expression needs a graph: say graph=.")
    return expression if isinstance(expression, str) else expression.pattern


def _counts(text: str, own: str, other: str, is_restricted: bool) -> bool:
    """Whether an expression is of one kind, by the comment that it begins with."""
    return not text.startswith(f"(?#{other})") and (not is_restricted or text.startswith(f"(?#{own})"))


@function(f"{_PLACE}select_ts", "v1")
def select_ts(
    *args: Any,
    graph: Graph | None = None,
    positive_filter: Callable[[GraphTensor], Any] | None = None,
    scope: str = "",
    restrict_ts_regex: bool = False,
    restrict_ops_regex: bool = False,
) -> list[GraphTensor]:
    """Tensors: given themselves, or by regular expressions of their names in a graph.

    Args:
        args: an expression that begins with "(?#ts)" is of tensors, one with "(?#ops)" of operations.
        restrict_ts_regex: whether only expressions that begin with "(?#ts)" count.
        restrict_ops_regex: accepted, since `select_ops` has it.

    Source: `tf.contrib.graph_editor.select_ts`.
    """
    chosen: dict[GraphTensor, None] = {}
    for arg in args:
        if isinstance(arg, (str, re.Pattern)):
            text = _text(arg, graph, "select_ts")
            if _counts(text, "ts", "ops", restrict_ts_regex) and graph is not None:
                chosen.update(dict.fromkeys(filter_ts_from_regex(graph.operations, scope + text)))
        else:
            chosen.update(dict.fromkeys(_tensors(arg)))
    return [t for t in chosen if positive_filter is None or positive_filter(t)]


@function(f"{_PLACE}filter_ts", "v1")
def filter_ts(ops: Any, positive_filter: Any) -> list[GraphTensor]:
    """The inputs and outputs of operations for which a function holds; all, for True.

    Source: `tf.contrib.graph_editor.filter_ts`.
    """
    keep = (lambda t: True) if positive_filter is True else positive_filter
    tensors = dict.fromkeys(t for op in _ops(ops) for t in (*op.inputs, *op.outputs))
    return [t for t in tensors if keep(t)]


@function(f"{_PLACE}filter_ts_from_regex", "v1")
def filter_ts_from_regex(ops: Any, regex: str) -> list[GraphTensor]:
    """The inputs and outputs of operations whose names match.

    Source: `tf.contrib.graph_editor.filter_ts_from_regex`.
    """
    pattern = re.compile(regex)
    return filter_ts(ops, lambda t: pattern.search(t.name))


@function(f"{_PLACE}add_control_inputs", "v1")
def add_control_inputs(op: Operation, cops: Sequence[Operation] | Operation) -> None:
    """Let an operation wait for others.

    Source: `tf.contrib.graph_editor.add_control_inputs`.
    """
    for other in _ops(cops):
        op.add_control_input(other)
