"""Random edits for hypothesis, and a dump of everything that an edit could change."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import strategies as st

import dovetail as dt
from dovetail import ops
from dovetail.edit.graph import Graph
from dovetail.graph import walk
from dovetail.graph.nesting import holders_of

REFUSED = (ValueError, TypeError, LookupError)
x, y = dt.wildcards("x y")


@dt.RegisterGradient("SlopeOfTanh")
def _(op: Any, g: Any) -> Any:
    return g * ops.exp(-2.0 * ops.log(ops.cosh(op.inputs[0])))  # the true slope, written in another way


def _pick(items: list[Any], number: int) -> Any:
    return items[number % len(items)]


def _tensor(graph: Graph, number: int) -> Any:
    return _pick([t for op in graph.operations for t in op.outputs], number)


def _replace_input(graph: Graph, first: int, second: int, number: int) -> None:
    op = _pick(graph.operations, first)
    op.replace_input(number % 3, _tensor(graph, second))


def _replace_all_uses(graph: Graph, first: int, second: int, number: int) -> None:
    graph.replace_all_uses(_tensor(graph, first), _tensor(graph, second))


def _put_behind(graph: Graph, first: int, second: int, number: int) -> None:
    old = _tensor(graph, first)
    with graph.edit():
        with graph.insert_after(_pick(graph.operations, second)) if number % 2 else graph.as_default():
            new = old * 0.5 - old / 3.0 if number % 3 else ops.transpose(old)
        graph.replace_all_uses(old, new)


def _insert_before(graph: Graph, first: int, second: int, number: int) -> None:
    op = _pick(graph.operations, first)
    with graph.edit(), graph.insert_before(op):
        op.replace_input(0, ops.tanh(_tensor(graph, second)))


def _remove(graph: Graph, first: int, second: int, number: int) -> None:
    op = _pick(graph.operations, first)
    with graph.edit(), graph.insert_before(op):
        graph.remove(op)
        ops.exp(_tensor(graph, second))


def _wait(graph: Graph, first: int, second: int, number: int) -> None:
    _pick(graph.operations, first).add_control_input(_pick(graph.operations, second))


def _rewrite(graph: Graph, first: int, second: int, number: int) -> None:
    pattern, replacement = _pick([(x + y, y + x), (-x, x * -1.0), (ops.tanh(x), ops.transpose(x))], number)
    with graph.edit():
        graph.rewrite(pattern, replacement)


def _import(graph: Graph, first: int, second: int, number: int) -> None:
    part = Graph("part")
    a, b = (part.placeholder(dt.spec(shape), "ab"[i]) for i, shape in enumerate([(2, 3), (3,)]))
    v = dt.Variable(np.zeros((2, 3), "float32"), name="imported")
    with part.as_default():
        v.assign(ops.scan(lambda s, row: (s + row, row), a[0], b * a)[1])
    part.outputs = [a + b, v.read()] if number % 2 else [a * 2.0]
    graph.import_graph(part, {"a": _tensor(graph, first), "b": _tensor(graph, second)}, name="part")


def _set_outputs(graph: Graph, first: int, second: int, number: int) -> None:
    graph.prune([_tensor(graph, first), *graph.outputs[1:]]) if number % 4 == 0 else graph.prune()


def _change(graph: Graph, first: int, second: int, number: int) -> None:
    changes = [
        {"op": "Exp"}, {"op": ops.tanh, "name": f"tanh{number}"}, {"op": "Sub"}, {"op": "Max"}, {"axis": 0},
        {"name": _pick(graph.operations, second).name, "op": "Neg"}, {"op": "Transpose", "perm": None},
    ]  # fmt: skip
    _pick(graph.operations, first).change(**_pick(changes, number))


def _put_function_behind(graph: Graph, first: int, second: int, number: int) -> None:
    other = _tensor(graph, second)
    functions = [lambda t: t * 0.5, lambda t: t - ops.mean(t), ops.transpose, lambda t: t + other, lambda t: other]
    graph.insert_after(_tensor(graph, first), _pick(functions, number))


def _rename(graph: Graph, first: int, second: int, number: int) -> None:
    graph.rename_scope(_pick(graph.operations, first).name.partition("/")[0], f"scope{number % 3}")


def _copy_part(graph: Graph, first: int, second: int, number: int) -> None:
    tensor, given = _tensor(graph, first), _tensor(graph, second)
    with graph.edit():
        part = walk.backward([tensor], stop_at=[given])
        copies = graph.copy_part(part, {given: given * 0.5}, name="copied")
        graph.replace_all_uses(tensor, copies[tensor])


def _freeze(graph: Graph, first: int, second: int, number: int) -> None:
    graph.freeze()


def _retype(graph: Graph, first: int, second: int, number: int) -> None:
    tensor, size = _pick(graph.inputs, first), _pick([None, 3, 5], number)
    shape = [size if axis == second % 3 else known for axis, known in enumerate(tensor.shape or ())]
    read = {op.attrs["variable"] for op in graph.find("ReadVariableOp")}
    with graph.edit():
        graph.replace_variables({v: dt.Variable(v.numpy(), "float16", name=v.name) for v in read})
        graph.set_input_shapes({tensor: shape})


def _override(graph: Graph, first: int, second: int, number: int) -> None:
    overrides = _pick([{"Tanh": "SlopeOfTanh", "Exp": None}, {"Tanh": "SlopeOfTanh", "Mul": "Nobodys"}], number)
    graph.override_gradients(overrides, within=[_pick(graph.operations, first), _pick(graph.operations, second)])


def _recompute(graph: Graph, first: int, second: int, number: int) -> None:
    part = walk.backward([_tensor(graph, first)], stop_at=[_tensor(graph, second)])
    graph.recompute(part, again=number % 4 > 0)


def _give_up(graph: Graph, first: int, second: int, number: int) -> None:
    with graph.edit():
        for edit in (_put_function_behind, _rename, _change, _import, _override, _recompute, _set_outputs):
            with contextlib.suppress(*REFUSED):
                edit(graph, first, second, number)
        raise ValueError("given up")


def _use_what_was_removed(graph: Graph, first: int, second: int, number: int) -> None:
    with graph.edit():
        gone = ops.exp(_tensor(graph, first))
        graph.remove(gone.op)
        _pick(graph.operations, second).replace_input(0, gone)


def _apply_pass(graph: Graph, first: int, second: int, number: int) -> None:
    op = _pick(graph.operations, first)
    graph.apply(lambda part: part.rewrite(x + y, y - x * -1.0) and (number % 3 or op.change(name="")))


def _held(graph: Graph, number: int) -> tuple[Any, str]:
    found = [(op, name) for op in graph for name, value in op.attrs.items() if isinstance(value, Graph)]
    if not found:
        raise ValueError("there is no branch and no loop")
    return _pick(found, number)


def _bring_in(graph: Graph, first: int, second: int, number: int) -> None:
    op, name = _held(graph, first)
    outer = _tensor(graph, second)
    with graph.edit():
        body = op.body(name)
        body.insert_after(_pick(body.outputs, number), lambda t: t + 0.5 * ops.mean(ops.cast(outer, "float32")))


def _add_output(graph: Graph, first: int, second: int, number: int) -> None:
    op, _ = _held(graph, first)
    given = _tensor(graph, second)
    with graph.edit():
        if op.type == "If":
            parts = [op.body(name) for name in ("then_branch", "else_branch")]
            new = op.add_output(then_branch=_tensor(parts[0], number), else_branch=_tensor(parts[1], number))
        elif op.type == "Scan":
            new = op.add_output(body=_tensor(op.body("body"), number))
        else:
            new = op.add_output(init=given, body=lambda t: t * 0.5)
        if not holders_of(graph):
            graph.outputs.append(new)


EDITS: list[Callable[[Graph, int, int, int], None]] = [
    _replace_input, _replace_input, _replace_all_uses, _put_behind, _insert_before, _remove, _wait, _rewrite, _import,
    _set_outputs, _change, _change, _put_function_behind, _put_function_behind, _rename, _copy_part, _freeze, _give_up,
    _use_what_was_removed, _apply_pass, _bring_in, _bring_in, _add_output,
    _override, _recompute, _retype,
]  # fmt: skip
NUMBER = st.integers(0, 10**6)
edits = st.lists(st.tuples(st.integers(0, len(EDITS) - 1), NUMBER, NUMBER, NUMBER, NUMBER), max_size=10)


def apply(graph: Graph, edit: tuple[int, ...]) -> None:
    """Do an edit to the graph or to one inside of it."""
    which, place, *numbers = edit
    target = _pick([graph, graph, *graph.subgraphs()], place)
    EDITS[which](target, *numbers)


def dump(graph: Graph) -> Any:
    """Everything that an edit could change, with names, order and later names."""
    return (
        [
            (
                op,
                op.name,
                op.type,
                op.pin,
                list(map(id, op.inputs)),
                op.control_inputs,
                op.control_outputs,
                op.layout,
                dict(op.overrides),
                op.recompute_group,
                _attrs(op),
            )
            for op in graph.operations
        ],
        [(id(t), t.shape, t.uses()) for op in graph.operations for t in op.outputs],
        list(map(id, graph.inputs)),
        list(map(id, graph.outputs)),
        dict(sorted(graph._operations.items())),
        dict(graph._counts),
        {v: id(t) for v, t in graph.state.values.items()},
        [list(graph.state.assigned), graph.state.unread, dict(graph.state.last)],
    )


def _attrs(op: Any) -> Any:
    plain = {name: value for name, value in op.attrs.items() if not isinstance(value, (Graph, np.ndarray))}
    return plain, [(id(part), dump(part)) for part in op.subgraphs()]
