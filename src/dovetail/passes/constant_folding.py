"""Constant folding: the computation, at compile time, of values that do not depend on the inputs.

Knowledge flows forward through the program once.  Constants flow through operations (the NumPy engine computes them),
shapes through type rules, and shape values through the integer arithmetic on them.  A shape-like argument that turns
out constant becomes static, which makes more shapes known.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dovetail.core.values.infer import CARRIES_NAN
from dovetail.core.values.spec import Shape, TensorSpec
from dovetail.edit.graph import Graph, GraphTensor, Operation
from dovetail.edit.inference import infer_again, merged
from dovetail.edit.transplant import copy_graph
from dovetail.graph.folding import folded
from dovetail.graph.graph_scopes import made_for_operation
from dovetail.graph.index import note_change
from dovetail.graph.pass_edits import discard, rewire, supersede
from dovetail.graph.shape_values import ShapeValues
from dovetail.ops.control.subgraphs import SUBGRAPH_CALLS
from dovetail.passes.base import Local, Visit, needs, sweep
from dovetail.passes.composites import copy_for

KNOWN = frozenset(["Const", "Shape", *SUBGRAPH_CALLS])


def _may_know(graph: Graph) -> bool:
    """Whether the graph may have known values: constants, shapes, or integers, also empty tensors of them."""
    return not KNOWN.isdisjoint(graph.by_type) or any(t.dtype.is_integer for op in graph for t in op.outputs)


@needs(_may_know)
@Local
def fold_constants(graph: Graph) -> Visit:
    """Replace operations on constants, known shapes, and branches whose conditions are constants by their results."""
    return folding(graph, set())


@needs(_may_know)
@Local
def fold_for_files(graph: Graph) -> Visit:
    """Fold constants like `fold_constants`, but not into larger ones: integers of quantized weights stay."""
    return folding(graph, set(), grows=False)


def propagate(graph: Graph, refined: set[GraphTensor]) -> int:
    """Propagate constants and shapes in one forward sweep.

    Args:
        graph: the graph to edit.
        refined: tensors whose shapes became better known, so that their users are inferred again; the sweep adds to it.

    Returns:
        The number of operations that were replaced or became more static.
    """
    return sweep(graph, folding(graph, refined))


def folding(graph: Graph, refined: set[GraphTensor], grows: bool = True) -> Visit:
    """What `propagate` does with each operation, in program order; `grows` is as for `folded`."""
    known = ShapeValues()

    def visit(op: Operation) -> int:
        if op.type == "If" and op.inputs[0].op.type == "Const":
            refined.update(_inline_branch(graph, op))
            return 1
        if op.type == "While" and _never_runs(op):
            refined.update(_replace(graph, op, op.args[op.op.index_of("init")]))
            return 1
        if op.type == "Assert" and op.inputs[0].op.type == "Const" and op.inputs[0].op.attrs["value"].all():
            refined.update(_replace(graph, op, op.inputs[:1]))
            return 1
        has_ints = bool(op.op.ints_positions)
        changes = _freeze_ints(op, known) if has_ints else 0
        if op.type in SUBGRAPH_CALLS:
            changes += _tell_subgraphs(op, refined)
        if changes or not refined.isdisjoint(op.inputs) or (has_ints and _takes_shape(op)):
            for tensor, shape in infer_again(op, known):
                if (better := merged(shape, tensor.shape)) != tensor.shape:
                    tensor.shape = better
                    refined.add(tensor)
                    note_change(graph, op)
        if not op.inputs or not op.outputs:
            return changes
        values = _folded(op, known, grows)
        if values is None:
            return changes
        for tensor, value in zip(op.outputs, values, strict=True):
            replacement = graph.constant(value, op.name.rpartition("/")[2])
            if tensor in refined:
                refined.add(replacement)
            rewire(graph, tensor, replacement)
        return changes + 1

    return visit


def _inline_branch(graph: Graph, op: Operation) -> list[GraphTensor]:
    """Replace branches whose condition is a constant by the one that runs; return results of better known shapes."""
    branch = op.attrs["then_branch" if op.inputs[0].op.attrs["value"].all() else "else_branch"]
    return _replace(graph, op, copy_for(op, branch, op.inputs[1:])[0])


def _replace(graph: Graph, op: Operation, results: Sequence[GraphTensor]) -> list[GraphTensor]:
    """Put other results in place of an operation; return those of better known shapes."""
    before = list(op.outputs)
    supersede(graph, op, results)
    discard(graph, [op])
    return [new for old, new in zip(before, results, strict=True) if new.shape != old.shape]


def _never_runs(loop: Operation) -> bool:
    """Whether a loop over something empty ends before its first round; its body may be wrong for that."""
    if not any(0 in (tensor.shape or ()) for tensor in loop.inputs):
        return False
    trial, news = copy_graph(loop.attrs["condition"]), set[GraphTensor]()
    (_, carried, others), *_ = SUBGRAPH_CALLS[loop.type](*loop.args)
    for own, given in zip(list(trial.inputs), [*carried, *others], strict=True):
        if given.op.type == "Const":
            with trial.insert_after(own.op):
                rewire(trial, own, trial.constant(given.op.attrs["value"]))
        else:
            news |= _refine(own, given.shape)
    propagate(trial, {tensor for operation in trial for tensor in operation.outputs} | news)
    result = trial.outputs[0].op
    return result.type == "Const" and not result.attrs["value"].any()


def _freeze_ints(op: Operation, known: ShapeValues) -> int:
    """Make known shape-like tensor arguments static; return the number of changes."""
    changes = 0
    for index in op.op.ints_positions:
        ints = None if op.layout[index] is None else known.ints(op.inputs[op.input_at(index)])
        if ints is not None and None not in ints:
            op.make_static(index, ints)
            changes += 1
    return changes


def _takes_shape(op: Operation) -> bool:
    """Whether a shape argument is a tensor, which may be better known now than when the op was recorded."""
    return any(op.layout[index] is not None for index in op.op.ints_positions)


def _tell_subgraphs(op: Operation, refined: set[GraphTensor]) -> int:
    """Pass known values and shapes of the inputs of control flow to its subgraphs; return the number of changes."""
    changes = 0
    for name, carried, others in SUBGRAPH_CALLS[op.type](*op.args):
        inner = op.attrs[name]
        news: set[GraphTensor] = set()
        slices = _slices(op, others) if op.type == "Scan" else []
        for own, given in zip(inner.inputs[len(carried) :], [*slices, *others[len(slices) :]], strict=True):
            if given in refined or type(given) is TensorSpec:
                news |= _refine(own, given.shape)
            elif given.op.type == "Const" and own.is_used:
                with inner.insert_after(own.op), made_for_operation(inner, given.op):
                    rewire(inner, own, inner.constant(given.op.attrs["value"]))
                changes += 1
        changes += propagate(inner, news) if news else 0
        news = _refine_carried(inner, carried)
        changes += propagate(inner, news) if news else 0
    return changes


def _slices(scan: Operation, specs: Sequence[Any]) -> list[Any]:
    """The slice of each of the xs that a scan gives its body: a constant if another scan stacked one, else a spec."""
    return [_in_each_step(x, spec) for x, spec in zip(scan.args[scan.op.index_of("xs")], specs, strict=False)]


def _in_each_step(stacked: GraphTensor, spec: TensorSpec) -> GraphTensor | TensorSpec:
    """The constant in a scan's body that it stacked in each step; the spec of a slice if it stacked no constant."""
    op = stacked.op
    if op.type != "Scan" or stacked.index < (op.layout[op.op.index_of("init")] or 0):
        return spec
    made = op.attrs["body"].outputs[stacked.index]
    return made if made.op.type == "Const" else spec


def _refine_carried(body: Graph, carried: Sequence[GraphTensor]) -> set[GraphTensor]:
    """Give a loop's body the shapes that the loop starts with, if they stay; return the inputs that changed."""
    shapes = [given.shape for given in carried]
    if all(shape in (None, own.shape) for own, shape in zip(body.inputs, shapes, strict=False)):
        return set()
    trial = copy_graph(body)
    propagate(trial, _refine_all(trial, shapes))
    stay = all(a.shape == b.shape for a, b in zip(trial.inputs[: len(shapes)], trial.outputs, strict=False))
    return _refine_all(body, shapes) if stay else set()


def _refine_all(body: Graph, shapes: Sequence[Shape]) -> set[GraphTensor]:
    return set().union(*(_refine(own, shape) for own, shape in zip(body.inputs, shapes, strict=False)))


def _refine(tensor: GraphTensor, shape: Shape) -> set[GraphTensor]:
    """Give an input a better known shape; return the tensor if it changed."""
    if shape is None or tensor.shape == shape:
        return set()
    tensor.put_shape(shape)
    return {tensor}


def _folded(op: Operation, known: ShapeValues, grows: bool) -> list[np.ndarray] | None:
    """The results of an operation as arrays; None if they are unknown."""
    for tensor in op.inputs:
        if tensor.op.type != "Const":
            break
    else:
        return folded(op, [tensor.op.attrs["value"] for tensor in op.inputs], grows)
    if op.outputs[0].dtype.is_integer and (op.type == "Shape" or op.type in CARRIES_NAN):
        value, dtype = known.of(op.outputs[0]), op.outputs[0].dtype
        # It may be NaN, which means unknown, or infinite, as the minimum of no elements is.
        if value is not None and (np.abs(value) <= dtype.max).all():
            return [value.astype(dtype.numpy)]
    return None
