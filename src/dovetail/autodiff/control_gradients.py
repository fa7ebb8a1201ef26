"""Gradients of control flow: the gradient of a loop is a loop, the gradient of a branch is a branch.

A scan stacks the tensors that the gradient needs from each step.  Its gradient scans over these stacks in the other
direction.  Tensors that depend on constants alone are not stacked; the gradient computes them once more, outside the
loop.  A while loop does not know its number of steps ahead; its gradient, the op WhileGrad, recomputes the states.  A
branch is computed again inside its gradient.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from dovetail.autodiff.vjp import gradient_graph, split
from dovetail.core.base.errors import op_error
from dovetail.core.base.scopes import scopes
from dovetail.core.calls.static_types import GraphLike
from dovetail.core.kinds import Eachs
from dovetail.core.op import composite
from dovetail.core.tensor import Tensor
from dovetail.core.values.spec import TensorSpec
from dovetail.edit.graph import Graph, GraphTensor, Operation
from dovetail.edit.transplant import copy_into, transplant
from dovetail.graph.graph_scopes import made_for_gradient
from dovetail.graph.reach import reach
from dovetail.ops.control.flow import cond, scan, while_loop
from dovetail.ops.control.subgraphs import SUBGRAPH_CALLS, carried_specs, if_op, scan_op, while_op
from dovetail.ops.linalg.products import matmul
from dovetail.ops.shapes.create import zeros_like
from dovetail.ops.shapes.shape import dims_of, reshape, sum_like
from dovetail.trace import trace

Gradient = Any  # a tensor, or None


def call(graph: Graph, *groups: Sequence[Any]) -> list[GraphTensor]:
    """Add the operations of a subgraph to the graph that is being built, and return its outputs."""
    current, inputs = _captured(t for group in groups for t in group)
    return copy_into(graph, current, inputs)


def _captured(tensors: Iterable[Any]) -> tuple[Graph, list[GraphTensor]]:
    """The graph that is being built, and the tensors as captured by it."""
    current = trace.current_graph()
    assert current is not None  # gradients of graphs are built in one
    return current, [trace.capture(current, t) for t in tensors]


def _placeholders(graph: Graph, tensors: Iterable[GraphTensor]) -> list[GraphTensor]:
    return [_placeholder(graph, t) for t in tensors]


def _placeholder(graph: Graph, tensor: GraphTensor) -> GraphTensor:
    with made_for_gradient(graph, tensor.op):
        return graph.placeholder(tensor.spec, tensor.op.name.rpartition("/")[2])


def _check_that_it_may_run_again(op: Any, gradients: Iterable[Graph]) -> None:
    """Refuse the gradient of an operation whose subgraphs it computes again, if that would give other values."""
    calls = (call for graph in gradients for part in graph.everywhere() for call in part.of_types(["PyFunc"]))
    for call in calls:
        if once := getattr(call.attr("function"), "once", ""):
            problem = f"its gradient computes {once} again, which gives another value"
            advice = "call it before, and let the function take the value"
            raise op_error(NotImplementedError, op.type, f"{problem}: {advice}.", where=op.where)


# -- branches ---------------------------------------------------------------------------------------------------------


@if_op.gradient
def _(op: Any, *arriving: Gradient) -> list[Gradient]:
    condition, inputs, *branches = op.args
    targets = [i for i, g in enumerate(arriving) if g is not None]
    gradients = [gradient_graph(branch, targets) for branch in branches]
    _check_that_it_may_run_again(op, (graph for graph, _ in gradients))
    reached = sorted({i for _, numbers in gradients for i in numbers})
    for graph, numbers in gradients:
        by_number: dict[int, Any] = dict(zip(numbers, graph.outputs, strict=True))
        with graph.as_default(), made_for_gradient(graph, op):
            departing: Any = [by_number[i] if i in by_number else zeros_like(graph.inputs[i]) for i in reached]
        graph.outputs = departing
    given = [*inputs, *(arriving[i] for i in targets)]
    results = if_op(condition, given, *(graph for graph, _ in gradients)) if reached else ()
    return _placed(op, [1 + i for i in reached], results)


# -- loops ------------------------------------------------------------------------------------------------------------


def _targets(body: Graph, carried: int, arriving: Sequence[Gradient]) -> list[int]:
    """The outputs of a loop's body that receive gradients in some step, from outside or from the next step."""
    targets = {i for i, g in enumerate(arriving) if g is not None}
    while True:
        _, reached = gradient_graph(body, sorted(targets))
        wider = targets.union(i for i in reached if i < carried)
        if wider == targets:
            return sorted(targets)
        targets = wider


def _carry(op: Any, arriving: Sequence[Gradient], around: list[int], summed: list[int]) -> list[Any]:
    """The first carry of a loop's gradient: the gradients at the loop's end, and zeros to sum for its constants."""
    ends = [zeros_like(op.outputs[i]) if arriving[i] is None else arriving[i] for i in around]
    return ends + [zeros_like(op.inputs[i]) for i in summed]


def _round(
    found: dict[int, Any], around: list[int], carry: Sequence[Any], summed: list[int], totals: Sequence[Any]
) -> list[Any]:
    """The next carry, from the gradients that one step finds; zeros like `carry` if the step finds none."""
    ends = [found[i] if i in found else zeros_like(like) for i, like in zip(around, carry, strict=True)]
    return ends + [total + found[i] for i, total in zip(summed, totals, strict=True)]


def _placed(op: Any, numbers: Sequence[int], gradients: Sequence[Any]) -> list[Gradient]:
    """One gradient for each input of an operation: the given ones at `numbers`, None for the others."""
    by_number = dict(zip(numbers, gradients, strict=True))
    return [by_number.get(i) for i in range(len(op.inputs))]


@scan_op.gradient
def _(op: Any, *arriving: Gradient) -> list[Gradient]:
    init, xs, _, body, length, reverse = op.args
    carried, varying = len(init), len(init) + len(xs)
    targets = _targets(body, carried, arriving)
    around, stacked = [i for i in targets if i < carried], [i for i in targets if i >= carried]
    work = split(body, targets)
    gradients = dict(zip(work.inputs, work.backward.outputs, strict=True))
    sliced, fixed = [i for i in work.inputs if carried <= i < varying], [i for i in work.inputs if i >= varying]
    later = {i: terms for i in fixed if (terms := _terms(gradients[i]))}
    summed = [i for i in fixed if i not in later]
    kept = work.forward.outputs[len(body.outputs) :]
    slices, constants = _keep(op, work.forward, kept)
    if not slices and not stacked and length is None:  # any of the xs gives the number of steps
        slices[body.inputs[carried]] = xs[0]

    backward = body._part_type("backward")
    carry = _placeholders(backward, [body.inputs[i] for i in around])
    totals = _placeholders(backward, [body.inputs[i] for i in summed])
    ys = _placeholders(backward, [body.outputs[i] for i in stacked])
    given = dict(zip((*slices, *constants), _placeholders(backward, (*slices, *constants)), strict=True))
    inputs = [*(given[t] for t in kept), *carry, *ys]
    wanted = list(dict.fromkeys(t for terms in later.values() for t in terms))
    work.backward.outputs = [*work.backward.outputs, *wanted]
    copies = copy_into(work.backward, backward, inputs)
    copied = dict(zip(work.inputs, copies, strict=False))
    there = dict(zip(wanted, copies[len(copied) :], strict=True))
    stacks = {given[t]: whole for t, whole in slices.items()} | {
        y: arriving[i] for y, i in zip(ys, stacked, strict=True)
    }
    new = [t for t in dict.fromkeys(there.values()) if t not in stacks]
    with backward.as_default(), made_for_gradient(backward, op):
        backward.outputs = [*_round(copied, around, carry, summed, totals), *(copied[i] for i in sliced), *new]
    results = scan_op(
        _carry(op, arriving, around, summed),
        [*(arriving[i] for i in stacked), *slices.values()],
        list(constants.values()),
        backward,
        length,
        not reverse,
    )
    early = len(results) - len(new)
    stacks |= dict(zip(new, results[early:], strict=True))
    sums = [
        _TERMS[gradients[i].op.type](op.inputs[i], *(stacks[there[t]] for t in tensors)) for i, tensors in later.items()
    ]
    return _placed(op, [*around, *summed, *sliced, *later], [*results[:early], *sums])


# The sum of a product over all steps is one product of stacks.  It is faster than a product and a sum in each step, so
# the gradients of a loop's constants stack the factors.  Op type → the sum, from the constant and the stacks.
_TERMS: dict[str, Callable[..., Any]] = {
    "MatMul": lambda constant, x, y: matmul(_rows(x), _rows(y), transpose_a=True),
    "SumLike": lambda constant, terms: sum_like(terms, constant),
}


def _terms(gradient: GraphTensor) -> list[GraphTensor]:
    """The tensors to stack if the sum of a gradient over all steps can be computed from stacks; else none."""
    op = gradient.op
    if op.type == "SumLike":
        return op.inputs[:1]
    if op.type == "MatMul" and gradient.ndim == 2 and op.attrs["transpose_a"] and not op.attrs["transpose_b"]:
        return op.inputs
    return []


def _rows(stack: Any) -> Any:
    """Stacked matrices as one matrix of all their rows."""
    return reshape(stack, (-1, dims_of(stack)[-1]))


def _keep(op: Operation, forward: Graph, kept: list[GraphTensor]) -> tuple[dict[Any, Any], dict[Any, Any]]:
    """Make a scan keep tensors of its body, and find their values for the steps of the gradient.

    Args:
        op: the scan; it gets another output for each kept tensor that it does not return yet.
        forward: its body, which returns the kept tensors too.
        kept: tensors of `forward`.

    Returns:
        kept tensor → the stack to slice for it, and kept tensor → its value, which is the same in each step.
    """
    init, xs, constants, body, _, _ = op.args
    carried, varying = len(init), len(init) + len(xs)
    slices = dict(zip(forward.inputs[carried:varying], xs, strict=True))
    slices |= dict(zip(forward.outputs[carried : len(body.outputs)], op.outputs[carried:], strict=True))
    fixed = dict(zip(forward.inputs[varying:], constants, strict=True))
    changing = set(reach(forward.inputs[:varying], forward=True, control=False))
    starts = set(forward.inputs[:carried])
    new = [t for t in kept if t not in slices and (t in starts or t.op in changing)]
    if new:
        forward.outputs = [*forward.outputs[: len(body.outputs)], *new]
        slices |= dict(zip(new, _extend(op, forward), strict=True))
    same = [t for t in kept if t not in slices and t not in fixed]
    current, given = _captured(constants)
    mapped = dict(zip(forward.inputs[varying:], given, strict=True))
    fixed |= dict(zip(same, transplant(reach(same, given=mapped), current, mapped).of(same), strict=True))
    return {t: slices[t] for t in kept if t in slices}, {t: fixed[t] for t in kept if t not in slices}


def _extend(op: Operation, body: Graph) -> list[GraphTensor]:
    """Give a scan a body with more outputs, and return the outputs that the scan gains."""
    op.attrs["body"] = body
    start = len(op.outputs)
    for spec in trace.infer_specs(op.op, op.args)[start:]:
        op.outputs.append(GraphTensor(op, len(op.outputs), spec))
    for tape in scopes().tapes:  # a tape that follows the scan follows its new outputs
        if tape.watches(op.op, op.args):
            for tensor in op.outputs[start:]:
                tape.follow(tensor)
    return op.outputs[start:]


@while_op.gradient
def _(op: Any, *arriving: Gradient) -> list[Gradient]:
    init, constants, condition, body, limit = op.args
    carried = len(init)
    around = _targets(body, carried, arriving)
    step, reached = gradient_graph(body, around)
    _check_that_it_may_run_again(op, [step, condition])
    summed = [i for i in reached if i >= carried]
    backward = body._part_type("backward")
    carry = _placeholders(backward, [body.inputs[i] for i in around])
    totals = _placeholders(backward, [body.inputs[i] for i in summed])
    state = _placeholders(backward, body.inputs)
    copied = dict(zip(reached, copy_into(step, backward, [*state, *carry]), strict=True))
    with backward.as_default(), made_for_gradient(backward, op):
        before = [state[i] for i in around]  # with the shapes of the step's inputs; its outputs may have others
        backward.outputs = _round(copied, around, before, summed, totals)
    first = _carry(op, arriving, around, summed)
    return _placed(op, [*around, *summed], while_gradient(init, constants, first, condition, body, backward, limit))


def _while_gradient_spec(
    init: Any, constants: Any, carry: Any, condition: Any, body: Any, backward: Any, maximum_iterations: Any
) -> list[TensorSpec]:
    carried_specs(body, init)
    return carried_specs(backward, carry)


@composite("WhileGrad", infer=_while_gradient_spec)
def while_gradient(
    init: Eachs,
    constants: Eachs,
    carry: Eachs,
    condition: GraphLike,
    body: GraphLike,
    backward: GraphLike,
    maximum_iterations: int | None = None,
) -> tuple[Tensor, ...]:
    """Apply `backward` to the states of a while loop, the last one first.

    The op computes the states from `init` again.  If `maximum_iterations` bounds their number, it computes them once
    and keeps them; else it computes each state from the start.

    Args:
        init, constants, condition, body, maximum_iterations: as in the loop.
        carry: the gradients that arrive at the end of the loop, and sums of gradients.
        backward: (carry, a state, constants) → the next carry, for the state before.
    """
    walk = _walk_recomputed if maximum_iterations is None else _walk_kept
    return tuple(
        walk(
            init,
            carry,
            lambda state: call(condition, state, constants)[0],
            lambda state: tuple(call(body, state, constants)),
            lambda state, carry: tuple(call(backward, carry, state, constants)),
            maximum_iterations,
        )
    )


def _walk_kept(init: Any, carry: Any, goes_on: Any, step: Any, back: Any, limit: Any) -> Any:
    def forward(loop: Any, _: Any) -> Any:
        active, state = loop
        active = cond(active, lambda: goes_on(state), lambda: active)
        return (active, cond(active, lambda: step(state), lambda: state)), (active, state)

    def backward(carry: Any, kept: Any) -> Any:
        active, state = kept
        return cond(active, lambda: back(state, carry), lambda: carry), None

    kept = scan(forward, (True, init), length=limit)[1]
    return scan(backward, carry, kept, reverse=True)[0]


def _walk_recomputed(init: Any, carry: Any, goes_on: Any, step: Any, back: Any, limit: Any) -> Any:
    def state_at(number: Any) -> Any:
        return while_loop(lambda i, _: i < number, lambda i, state: (i + 1, step(state)), (0, init))[1]

    count = while_loop(lambda _, state: goes_on(state), lambda i, state: (i + 1, step(state)), (0, init))[0]
    return while_loop(lambda i, _: i > 0, lambda i, carry: (i - 1, back(state_at(i - 1), carry)), (count, carry))[1]


def _calls_of_while_gradient(
    init: Any, constants: Any, carry: Any, condition: Any, body: Any, backward: Any, maximum_iterations: Any
) -> Iterator[Any]:
    yield "body", init, constants
    state = [t.spec for t in body.inputs[: len(init)]]
    yield "condition", (), (*state, *constants)
    yield "backward", carry, (*state, *constants)


SUBGRAPH_CALLS["WhileGrad"] = _calls_of_while_gradient
