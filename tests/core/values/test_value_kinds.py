"""Kinds of values: their answers, and which kind handles a call."""

import numpy as np
import pytest

import dovetail as dt
from dovetail import ops
from dovetail.core.base.scopes import DEFAULT_GRAPH
from dovetail.core.engines.engine_registry import get_engine
from dovetail.core.values import value_kinds
from dovetail.core.values.value_kinds import EAGER, HOST, NATIVE, dtype_of, highest, is_recorded, is_tensor, kind_of
from dovetail.core.values.variable import STATE
from dovetail.edit.graph import Graph
from dovetail.trace.trace import GRAPH

ARRAY = np.float32([[1, 2], [3, 4]])
VALUES = {  # name of a kind → the kind, a value of it, whether it is: a tensor, computed, known now
    "host": (HOST, lambda: ARRAY, False, True, True),
    "list": (HOST, ARRAY.tolist, False, True, True),
    "number": (HOST, lambda: 2.0, False, True, True),
    "eager": (EAGER, lambda: ops.convert(ARRAY), True, True, True),
    "state": (STATE, lambda: dt.Variable(ARRAY), True, True, True),
    "graph": (GRAPH, lambda: Graph("g").placeholder(dt.spec((2, 2))), True, False, False),
}


@pytest.mark.parametrize("name", VALUES)
def test_what_a_kind_answers(name):
    kind, make, tensor, computed, known = VALUES[name]
    value = make()
    assert kind_of(value) is kind and kind.is_tensor is tensor is is_tensor(value)
    assert kind.is_computed is computed and is_recorded(value) is (not computed)
    assert kind.shape(value) == (() if name == "number" else (2, 2))
    assert dtype_of(value) in ("float32", float)
    found = kind.known(value)
    assert (found is not None) is known
    assert not known or np.array_equal(found, 2 if name == "number" else ARRAY)
    assert kind.autodiff(value) is None and kind.unwrapped(value) is value and kind.owned(value) is value


@pytest.mark.parametrize("name", VALUES)
def test_what_becomes_a_tensor(name):
    kind, make, _, computed, _ = VALUES[name]
    engine = get_engine("numpy")
    if not computed:
        with pytest.raises(TypeError, match="has no value yet"):
            kind.tensor(make(), dt.dtypes.as_dtype("float32"), engine)
        return
    found = kind.tensor(make(), dt.dtypes.as_dtype("float32"), engine)
    assert found.dtype == "float32" and found.engine == "numpy"


def test_native_values_answer_by_their_engine():
    torch = pytest.importorskip("torch")
    value = torch.ones(2, 3)
    kind = kind_of(value)
    assert kind is NATIVE and kind.autodiff(value).name == "torch" and kind.engine_of(value).name == "torch"
    assert kind.dtype(value) == "float32" and kind.shape(value) == (2, 3) and not kind.is_traced(value)
    owned = kind.owned(value[0])
    owned[0] = 7
    assert value[0, 0] == 1


def test_the_highest_kind_handles_a_call():
    x, v, g = ops.convert(ARRAY), dt.Variable(ARRAY), Graph("g").placeholder(dt.spec((2, 2)))
    for values, kind, decides in [([], HOST, None), ([1, x], EAGER, x), ([x, v, 1], STATE, v), ([v, g, x], GRAPH, g)]:
        found, by = highest(values)
        assert found is kind and by is decides


def test_variables_are_handled_as_graph_tensors_where_they_are_recorded():
    v = dt.Variable(ARRAY)
    with Graph("g").as_default():
        assert highest([v])[0] is GRAPH and is_recorded(v) and kind_of(v).known(v) is None
    assert highest([v])[0] is STATE


def test_a_default_graph_records_symbolic_variables_alone():
    """Check that `dt.Variable` computes eagerly beside K's placeholders."""
    K = dt.backend
    x, of_k, own = K.placeholder((2, 2)), K.variable(ARRAY), dt.Variable(ARRAY)
    try:
        assert DEFAULT_GRAPH.get() is x.graph
        assert highest([of_k])[0] is GRAPH and highest([own])[0] is STATE
        assert kind_of(of_k * 2) is GRAPH and (own * 2).numpy().tolist() == (ARRAY * 2).tolist()
    finally:
        K.clear_session()


def test_a_kind_of_ones_own(monkeypatch):
    monkeypatch.setattr(value_kinds, "KINDS", dict(value_kinds.KINDS))

    class Named:
        def __init__(self, name):
            self.name = name

    class Names(value_kinds.ValueKind):
        rank = 9

        def apply(self, op, values, name):
            return Named(f"{op.name}({', '.join(v.name if type(v) is Named else str(v) for v in values)})")

    value_kinds.register(Named, Names())
    assert ops.tanh(ops.add(Named("x"), 1)).name == "Tanh(AddV2(x, 1))"
