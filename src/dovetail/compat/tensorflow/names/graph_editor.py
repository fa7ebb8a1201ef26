"""The graph editor of `tf.contrib`: fifteen of its functions, over the edits that graphs have."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from dovetail.compat.tensorflow.names.core import nest_flatten
from dovetail.compat.tensorflow.table import function, value
from dovetail.core.errors import op_error
from dovetail.graph import walk
from dovetail.graph.ir import Graph, GraphTensor, Operation

_PLACE = "contrib.graph_editor."


class SubGraphView:
    """Some operations of a graph.

    Attributes:
        ops: in program order.
        inputs: the tensors that they take from outside.
        outputs: their tensors that others take, or nobody.

    Source: `tf.contrib.graph_editor.SubGraphView`.
    """

    def __init__(self, ops: Iterable[Operation]) -> None:
        found = dict.fromkeys(ops)
        graph = next(iter(found)).graph if found else None
        self.graph = graph
        self.ops = [op for op in graph.operations if op in found] if graph is not None else []
        self.inputs = list(dict.fromkeys(t for op in self.ops for t in op.inputs if t.op not in found))
        made = [t for op in self.ops for t in op.outputs]
        self.outputs = [t for t in made if not t.consumers() or any(user not in found for user in t.consumers())]


class Transformed:
    """What copies stand for what.

    Source: `tf.contrib.graph_editor.TransformerInfo`.
    """

    def __init__(self, copies: Any) -> None:
        self._copies = copies

    def transformed(self, original: Any, missing_fn: Any = None) -> Any:
        """The copy of a tensor or an operation."""
        if isinstance(original, Operation):
            return self._copies.operations.get(original)
        return self._copies[original]


value(f"{_PLACE}SubGraphView", SubGraphView, "v1")


def _ops(given: Any) -> list[Operation]:
    """Operations, of which some are given as tensors, or as a view."""
    if isinstance(given, SubGraphView):
        return given.ops
    leaves = nest_flatten(list(given) if isinstance(given, (list, tuple, set)) else [given])
    found = [op for x in leaves for op in (x.ops if isinstance(x, SubGraphView) else [x])]
    return list(dict.fromkeys(x.op if isinstance(x, GraphTensor) else x for x in found))


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
    """The operations that some need.

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
    """The operations that some lead to.

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
    found = way(seeds, within, list(stop_at_ts), control)
    return found if inclusive else [op for op in found if op not in set(seeds)]


@function(f"{_PLACE}copy_with_input_replacements", "v1")
def copy_with_input_replacements(
    sgv: Any,
    replacement_ts: dict[Any, Any],
    dst_graph: Any = None,
    dst_scope: str = "",
    src_scope: str = "",
    reuse_dst_scope: bool = False,
) -> tuple[SubGraphView, Transformed]:
    """Copies operations, which take other tensors in the place of some.

    Source: `tf.contrib.graph_editor.copy_with_input_replacements`.
    """
    ops = _ops(sgv)
    graph = ops[0].graph
    if dst_graph not in (None, graph):
        problem = "the copy is of one graph; tf.import_graph_def copies to another."
        raise op_error(NotImplementedError, f"tf.{_PLACE}copy_with_input_replacements", problem)
    copies = graph.copy_part(ops, replacement_ts, dst_scope)
    return SubGraphView(copies.operations.values()), Transformed(copies)


@function(f"{_PLACE}graph_replace", "v1")
def graph_replace(
    target_ts: Any,
    replacement_ts: dict[Any, Any],
    dst_scope: str = "",
    src_scope: str = "",
    reuse_dst_scope: bool = False,
) -> Any:
    """Tensors, computed anew from others in the place of some.

    Source: `tf.contrib.graph_editor.graph_replace`.
    """
    targets = _tensors(target_ts)
    behind = set(walk.forward(list(replacement_ts), control=False))
    needed = [op for op in walk.backward(targets, stop_at=list(replacement_ts), control=False) if op in behind]
    if not needed:
        problem = "the targets do not depend on what is to be replaced."
        raise op_error(ValueError, f"tf.{_PLACE}graph_replace", problem)
    copies = targets[0].graph.copy_part(needed, replacement_ts, dst_scope)
    found = [replacement_ts.get(t, copies[t] if t.op in copies.operations else t) for t in targets]
    return found if isinstance(target_ts, (list, tuple)) else found[0]


@function(f"{_PLACE}reroute_ts", "v1")
def reroute_ts(ts0: Any, ts1: Any, can_modify: Any = None, cannot_modify: Any = None) -> int:
    """What takes the second tensors takes the first ones instead.

    Returns:
        The number of uses that changed.

    Source: `tf.contrib.graph_editor.reroute_ts`.
    """
    pairs = list(zip(_tensors(ts0), _tensors(ts1), strict=True))
    graph = pairs[0][0].graph
    allowed = None if can_modify is None else set(_ops(can_modify))
    forbidden = set() if cannot_modify is None else set(_ops(cannot_modify))
    chosen = [
        (new, old, [use for use in _uses(old) if (allowed is None or use[0] in allowed) and use[0] not in forbidden])
        for new, old in pairs
    ]
    with graph.edit():
        for new, old, uses in chosen:
            if uses:
                graph.replace_uses(old, new, uses)
    return sum(len(uses) for _, _, uses in chosen)


def _uses(tensor: GraphTensor) -> list[tuple[Operation, int]]:
    users = dict.fromkeys(tensor.consumers())
    return [(op, i) for op in users for i, given in enumerate(op.inputs) if given is tensor]


@function(f"{_PLACE}swap_ts", "v1")
def swap_ts(ts0: Any, ts1: Any, can_modify: Any = None, cannot_modify: Any = None) -> int:
    """What takes the one tensors takes the others, and the other way round.

    Source: `tf.contrib.graph_editor.swap_ts`.
    """
    pairs = list(zip(_tensors(ts0), _tensors(ts1), strict=True))
    graph = pairs[0][0].graph
    chosen = [(a, b, _uses(a), _uses(b)) for a, b in pairs]
    with graph.edit():
        for a, b, of_a, of_b in chosen:
            graph.replace_uses(a, b, of_a)
            graph.replace_uses(b, a, of_b)
    return sum(len(of_a) + len(of_b) for _, _, of_a, of_b in chosen)


@function(f"{_PLACE}connect", "v1")
def connect(sgv0: Any, sgv1: Any, disconnect_first: bool = False) -> tuple[SubGraphView, SubGraphView]:
    """The outputs of one view become the inputs of another.

    Source: `tf.contrib.graph_editor.connect`.
    """
    first, second = sgv(sgv0), sgv(sgv1)
    reroute_ts(first.outputs, second.inputs, can_modify=second.ops)
    return SubGraphView(first.ops), SubGraphView(second.ops)


@function(f"{_PLACE}bypass", "v1")
def bypass(sgv_: Any) -> tuple[SubGraphView, list[GraphTensor]]:
    """What takes the outputs of a view takes its inputs instead.

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
    sgv_: Any, control_inputs: bool = False, control_outputs: Any = None, control_ios: Any = None
) -> tuple[SubGraphView, list[GraphTensor], list[GraphTensor]]:
    """A view takes placeholders, and so does what took its outputs.

    Returns:
        The view, the placeholders that it takes, and those that stand for its outputs.

    Source: `tf.contrib.graph_editor.detach`.
    """
    view = sgv(sgv_)
    graph: Any = view.graph
    inside = set(view.ops)
    taken = [graph.placeholder(t.spec, f"geph__{t.op.name.replace('/', '_')}") for t in view.inputs]
    reroute_ts(taken, view.inputs, can_modify=view.ops)
    used = [t for t in view.outputs if any(op not in inside for op in t.consumers())]
    given = [graph.placeholder(t.spec, f"geph__{t.op.name.replace('/', '_')}") for t in used]
    reroute_ts(given, used, cannot_modify=view.ops)
    return SubGraphView(view.ops), taken, given


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
    **options: Any,
) -> list[Operation]:
    """Operations: given themselves, by tensors, or by regular expressions of their names in a graph.

    Source: `tf.contrib.graph_editor.select_ops`.
    """
    found: dict[Operation, None] = {}
    for arg in args:
        if isinstance(arg, str):
            if graph is None:
                problem = "a regular expression needs a graph: say graph=."
                raise op_error(ValueError, f"tf.{_PLACE}select_ops", problem)
            pattern = re.compile(scope + arg)
            found.update(dict.fromkeys(op for op in graph.operations if pattern.search(op.name)))
        else:
            found.update(dict.fromkeys(_ops(arg)))
    return [op for op in found if positive_filter is None or positive_filter(op)]


@function(f"{_PLACE}select_ts", "v1")
def select_ts(
    *args: Any,
    graph: Graph | None = None,
    positive_filter: Callable[[GraphTensor], Any] | None = None,
    scope: str = "",
    **options: Any,
) -> list[GraphTensor]:
    """Tensors: given themselves, or by regular expressions of their names in a graph.

    Source: `tf.contrib.graph_editor.select_ts`.
    """
    found: dict[GraphTensor, None] = {}
    for arg in args:
        if isinstance(arg, str):
            if graph is None:
                raise op_error(ValueError, f"tf.{_PLACE}select_ts", "a regular expression needs a graph: say graph=.")
            found.update(dict.fromkeys(filter_ts_from_regex(graph.operations, scope + arg)))
        else:
            found.update(dict.fromkeys(_tensors(arg)))
    return [t for t in found if positive_filter is None or positive_filter(t)]


@function(f"{_PLACE}filter_ts", "v1")
def filter_ts(ops: Any, positive_filter: Any) -> list[GraphTensor]:
    """The tensors that operations take or make for which a function, or True, holds.

    Source: `tf.contrib.graph_editor.filter_ts`.
    """
    keep = (lambda t: True) if positive_filter is True else positive_filter
    found = dict.fromkeys(t for op in _ops(ops) for t in (*op.inputs, *op.outputs))
    return [t for t in found if keep(t)]


@function(f"{_PLACE}filter_ts_from_regex", "v1")
def filter_ts_from_regex(ops: Any, regex: str) -> list[GraphTensor]:
    """The tensors that operations take or make whose names match.

    Source: `tf.contrib.graph_editor.filter_ts_from_regex`.
    """
    pattern = re.compile(regex)
    return filter_ts(ops, lambda t: pattern.search(t.name))


@function(f"{_PLACE}add_control_inputs", "v1")
def add_control_inputs(op: Operation, cops: Sequence[Operation] | Operation) -> None:
    """Lets an operation wait for others.

    Source: `tf.contrib.graph_editor.add_control_inputs`.
    """
    for other in _ops(cops):
        op.add_control_input(other)
