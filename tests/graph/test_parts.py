"""Parts: the order in which they run, the parts of other operations, and circles."""

from __future__ import annotations

import copy
import json
import pickle

import pytest

import dovetail as dt
from dovetail import ops
from dovetail.graph.attributes import Beside
from dovetail.graph.document import document_of, graph_of
from dovetail.graph.parts import in_parts

# operations, each with its part and the earlier operations that it takes → the parts in order, with their operations
ORDERS = {
    "none": ([(None, []), (None, [0])], [(None, [0, 1])]),
    "numbers ascend": ([(2, []), (1, [])], [(1, [1]), (2, [0])]),
    "numbers below zero": ([(0, []), (-1, [])], [(-1, [1]), (0, [0])]),
    "names as they come": ([("b", []), ("a", [])], [("b", [0]), ("a", [1])]),
    "names as values go": ([("b", []), ("a", []), ("b", [1])], [("a", [1]), ("b", [0, 2])]),
    "both": ([("a", []), (1, [0]), ("a", []), (0, [])], [("a", [0, 2]), (0, [3]), (1, [1])]),
    "before all": ([(None, []), ("a", [0])], [("a", [0, 1])]),
    "after the last": ([("a", []), ("b", []), (None, [0]), (None, [1, 2])], [("a", [0, 2]), ("b", [1, 3])]),
    "through others": ([("a", []), (None, [0]), ("b", [1])], [("a", [0, 1]), ("b", [2])]),
}
CIRCLES = {
    "names": (
        [("a", []), ("b", [0]), ("a", [1])],
        r"'op2' of the part 'a' needs a value of the part 'b', and 'op1' of",
    ),
    "numbers": ([(1, []), (0, [0])], r"'op1' of the part 0 needs a value of the part 1"),
    "through others": ([("a", []), ("b", [0]), (None, [1]), ("a", [2])], r"'op3' of the part 'a' needs a value of"),
    "three": ([("a", []), ("b", [0]), ("c", [1]), ("a", [2])], r"Put operations into other parts"),
}


BY_COUNT = (ops.tanh, ops.exp, ops.add)


def built(operations):
    graph = dt.Graph()
    x = graph.placeholder(dt.spec(()), "x")
    made = []
    for number, (part, takes) in enumerate(operations):
        made.append(BY_COUNT[len(takes)](*([made[i] for i in takes] or [x])))
        made[-1].op.change(name=f"op{number}")
        made[-1].op.part = part
    return graph, made


@pytest.mark.parametrize("case", ORDERS)
def test_orders(case):
    operations, expected = ORDERS[case]
    graph, made = built(operations)
    numbers = {t.op: number for number, t in enumerate(made)}
    found = [(part, [numbers[op] for op in inner if op in numbers]) for part, inner in in_parts(graph.operations)]
    assert found == expected


@pytest.mark.parametrize("case", CIRCLES)
def test_circles_are_refused_by_name(case):
    operations, text = CIRCLES[case]
    graph, _ = built(operations)
    with pytest.raises(ValueError, match=r"at test_parts.py:\d+: parts run one after another, but .*" + text):
        in_parts(graph.operations)


@pytest.mark.parametrize("part", [1, 0, -3, "encoder"])
def test_parts_are_kept_in_copies_and_documents(part):
    graph = dt.Graph()
    y = ops.exp(graph.placeholder(dt.spec((2,)), "x"), name="y")
    graph.outputs = [y]
    y.op.part = part
    beside = Beside()
    document = json.loads(json.dumps(document_of(graph, beside)))
    for other in (copy.copy(graph), pickle.loads(pickle.dumps(graph)), graph_of(document, beside)):
        found = other.get_operation("y").part
        assert (found, type(found)) == (part, type(part))
    assert str(graph).splitlines()[1].endswith(f"  part {part}")
