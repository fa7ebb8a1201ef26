"""Walks: the nodes they reach, and their limits."""

import dovetail as dt
from dovetail import ops
from dovetail.graph import walk


def test_walks(graph, x):
    a = ops.tanh(x)
    b = ops.exp(a)
    c = ops.sin(a)
    with graph.control_dependencies([c.op]):
        d = ops.cos(x)

    def types(found):
        return [op.type for op in found]

    assert types(dt.walk.forward([x])) == ["Tanh", "Exp", "Sin", "Cos"]
    assert types(walk.forward([a.op])) == ["Tanh", "Exp", "Sin", "Cos"]
    assert types(walk.forward([a], control=False)) == ["Exp", "Sin"]
    assert types(walk.forward([a.op], stop_at=[a])) == ["Tanh"]
    assert types(walk.forward([x], within={a.op, b.op, d.op})) == ["Tanh", "Exp", "Cos"]
    assert types(walk.forward([a], within=[b.op])) == ["Exp"]
    assert types(walk.backward([b])) == ["Placeholder", "Tanh", "Exp"]
    assert types(walk.backward([d.op])) == ["Placeholder", "Tanh", "Sin", "Cos"]
    assert types(walk.backward([d.op], control=False)) == ["Placeholder", "Cos"]
    assert types(walk.backward([b, c], stop_at=[a])) == ["Exp", "Sin"]
    assert types(walk.backward([b], within=[b.op, x.op])) == ["Exp"]
    assert walk.forward([]) == walk.backward([]) == []
