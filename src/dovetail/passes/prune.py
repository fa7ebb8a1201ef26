"""Pruning: the removal of operations, and inputs and results of control flow, that no output or effect needs."""

from __future__ import annotations

from dovetail.edit.graph import Graph, GraphTensor, Operation
from dovetail.graph.base import set_outputs
from dovetail.graph.journal import note
from dovetail.graph.pass_edits import discard

# op type → (the parameter of the values that its subgraphs only read, which are their last inputs; the parameter of the
# first results, if these must stay)
CONTROL_FLOW = {"If": ("inputs", None), "While": ("constants", "init"), "Scan": ("constants", "init")}


def prune(graph: Graph) -> int:
    """Remove dead operations, and inputs and results of control flow without users; the graph's inputs stay.

    Returns:
        The number of removed operations, inputs and results.
    """
    control_flow = graph.of_types(CONTROL_FLOW)
    returned = set(graph.outputs) if control_flow else set()
    changes = 0
    for op in control_flow:
        read, carried = CONTROL_FLOW[op.type]
        unused = [i for i in range(_count(op, carried), len(op.outputs)) if not op.outputs[i].is_used]
        changes += _drop_results(op, [i for i in unused if op.outputs[i] not in returned])
        changes += _drop_inputs(op, op.op.index_of(read))
    return changes + graph.prune(counts=False)  # a call counts all draws, as calls of the ops do


def _count(op: Operation, param: str | None) -> int:
    return 0 if param is None else op.layout[op.op.index_of(param)] or 0


def _subgraphs(op: Operation) -> list[Graph]:
    return [value for value in op.attrs.values() if isinstance(value, Graph)]


def _drop_results(op: Operation, numbers: list[int]) -> int:
    if not numbers or len(numbers) == len(op.outputs):  # an operation without a used result goes as a whole
        return 0
    before, width = op.outputs, len(op.outputs)
    _set_results(op, [t for i, t in enumerate(before) if i not in numbers])
    note(lambda: _set_results(op, before))
    for part in _subgraphs(op):
        if len(part.outputs) == width:  # the condition of a loop has another result
            set_outputs(part, [t for i, t in enumerate(part.outputs) if i not in numbers])
            part.prune(counts=False)
    return len(numbers)


def _set_results(op: Operation, tensors: list[GraphTensor]) -> None:
    op.outputs = tensors
    for i, tensor in enumerate(tensors):
        tensor.index = i


def _drop_inputs(op: Operation, param: int) -> int:
    count = op.layout[param] or 0
    parts = _subgraphs(op)
    returned = {t for part in parts for t in part.outputs}
    dropped = 0
    for number in reversed(range(count)):
        given = [part.inputs[number - count + dropped] for part in parts]
        if any(t.is_used or t in returned for t in given):
            continue
        for tensor, part in zip(given, parts, strict=True):
            discard(part, [tensor.op])
        op.drop_input(param, number)
        dropped += 1
    return dropped
