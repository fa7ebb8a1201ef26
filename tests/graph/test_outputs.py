"""The list of a graph's results: a list like others, which knows the positions of its tensors."""

import copy
import pickle

import pytest

import dovetail as dt
from dovetail import ops


@pytest.fixture
def tensors():
    x = dt.Graph("test").placeholder(dt.spec(()), "x")
    return [x, ops.tanh(x), ops.exp(x)]


CHANGES = {
    "append": lambda found, x: found.append(x),
    "extend": lambda found, x: found.extend([x, x]),
    "insert": lambda found, x: found.insert(0, x),
    "set": lambda found, x: found.__setitem__(0, x),
    "a slice": lambda found, x: found.__setitem__(slice(0, 2), [x]),
    "delete": lambda found, x: found.__delitem__(0),
    "pop": lambda found, x: found.pop(),
    "remove": lambda found, x: found.remove(found[0]),
    "clear": lambda found, x: found.clear(),
    "reverse": lambda found, x: found.reverse(),
    "sort": lambda found, x: found.sort(key=lambda t: t.name),
    "add": lambda found, x: found.__iadd__([x]),
    "twice": lambda found, x: found.__imul__(2),
}


@pytest.mark.parametrize("change", CHANGES)
def test_changes(tensors, change):
    x, y, z = tensors
    graph, plain = x.graph, [y, z, y]
    graph.outputs = plain
    outputs = graph.outputs
    assert outputs.numbers() == {y: [0, 2], z: [1]}
    before = graph.version
    CHANGES[change](outputs, x)
    CHANGES[change](plain, x)
    assert outputs == plain
    assert graph.version > before
    assert outputs.numbers() == {t: [i for i, u in enumerate(plain) if u is t] for t in plain}


def test_one_tensor_for_another(tensors):
    x, y, z = tensors
    graph = x.graph
    graph.outputs = [y, z, y]
    graph.outputs.replace(y, z)
    assert graph.outputs == [z, z, z]
    assert sorted(graph.outputs.numbers()[z]) == [0, 1, 2]
    assert y not in graph.outputs.numbers()
    before = graph.version
    graph.outputs.replace(y, x)
    assert (graph.outputs, graph.version) == ([z, z, z], before)


def test_a_copy_is_a_plain_list(tensors):
    tensors[0].graph.outputs = tensors
    for again in (copy.copy, copy.deepcopy, lambda value: pickle.loads(pickle.dumps(value))):
        found = again(tensors[0].graph.outputs)
        assert type(found) is list and [t.name for t in found] == ["x:0", "Tanh:0", "Exp:0"]


def test_outputs_are_tensors_of_the_graph():
    graph, other = dt.Graph("graph"), dt.Graph("other")
    x, y = graph.placeholder(dt.spec(()), "x"), other.placeholder(dt.spec(()), "y")
    changes = [
        lambda: setattr(graph, "outputs", [x, y]),
        lambda: graph.outputs.append(y),
        lambda: graph.outputs.extend(t for t in (x, y)),
        lambda: graph.outputs.insert(0, y),
        lambda: graph.outputs.__setitem__(slice(None), [y]),
    ]
    for change in changes:
        with pytest.raises(ValueError, match="belongs to the graph 'other', not to 'graph'"):
            change()
        assert list(graph.outputs) == []
