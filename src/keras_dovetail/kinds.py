"""The kinds of Keras' values for ops, if Keras runs on Dovetail.

Ops read a variable of Keras like a `dovetail.Variable`, and in K's default graph it is one of the graph's variables.
An op on KerasTensors becomes an operation of their functional model.  If KerasTensors meet K's placeholders, the
default graph records their computation: inputs of the model become placeholders, and its layers are called again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from types import ModuleType
from typing import Any
from weakref import WeakKeyDictionary

import keras

import dovetail
from dovetail import ops
from dovetail.backend.symbolic import in_default_graph
from dovetail.core.hooks import hooks
from dovetail.core.op import Op
from dovetail.core.scopes import scopes
from dovetail.core.value_kinds import is_recorded, register
from dovetail.edit.graph import Graph, GraphTensor
from dovetail.interop.keras import computing, saving
from dovetail.interop.keras.kinds import Symbolic
from dovetail.interop.keras.running import GIVEN, value_of
from dovetail.interop.keras.tensors import spec_of
from dovetail.interop.keras_values import RUN, in_run
from dovetail.interop.privates import tree
from dovetail.ops.control.flow import EAGER_CONTROL
from dovetail.sessions.session_graph import SessionGraph


class _Computing(computing.Computing):
    """Computation with Dovetail's tensors."""

    def result(self, value: Any) -> Any:
        return value

    def control_rule(self, op: str, values: Sequence[Any]) -> Callable[..., Any]:
        recorded = scopes().graphs or any(map(is_recorded, values))
        return (hooks.control if recorded else EAGER_CONTROL).rules()[op]

    def carries_states(self, values: Sequence[Any]) -> bool:
        return False

    def gradients(self, loss: Callable[..., Any], sources: Sequence[Any]) -> Sequence[Any]:
        with dovetail.GradientTape(watch_accessed_variables=False) as tape:
            for source in sources:
                tape.watch(source)
            y = loss(*sources)
        return tape.gradient(y, list(sources))


class _Symbolic(Symbolic):
    """KerasTensors, which may meet tensors of a default graph."""

    def apply(self, op: Op, values: list[Any], name: str | None) -> Any:
        flat = tree.flatten(values)
        graph = next((v.graph for v in flat if in_default_graph(v)), None)
        if graph is None and RUN.get() is not None and any(type(v) is GraphTensor for v in flat):
            return op(*tree.map_structure(in_run, values), name=name)
        if graph is None:
            return super().apply(op, values, name)
        return op(*tree.map_structure(lambda v: stand_in(v, graph) if _is_symbolic(v) else v, values), name=name)

    def in_graph(self, value: Any, graph: Graph) -> Any:
        return stand_in(value, graph) if isinstance(graph, SessionGraph) else in_run(value)


_stand_ins: WeakKeyDictionary[Graph, dict[int, tuple[Any, GraphTensor]]] = WeakKeyDictionary()


def _is_symbolic(value: Any) -> bool:
    return isinstance(value, keras.KerasTensor)


def stand_in(tensor: Any, graph: SessionGraph) -> GraphTensor:
    """The tensor of a default graph for a KerasTensor; the graph records its computation if it has not yet.

    Layers follow the graph's learning phase, unless the model says that they train.
    """
    known = _stand_ins.setdefault(graph, {})
    with graph.as_default():
        return value_of(tensor, known, partial(_source, graph))


def _source(graph: SessionGraph, tensor: Any) -> Any:
    """The tensor of a graph for an input of a model: the given one, or a placeholder."""
    given = vars(tensor).get(GIVEN)
    return graph.placeholder(spec_of(tensor), tensor.name) if given is None else ops.identity(given)


def register_kinds(module: ModuleType) -> None:
    """Let ops take KerasTensors from now on, and let Keras save models with ops in them.

    Args:
        module: Keras, which has just been imported.
    """
    computing.use(_Computing())
    register(module.KerasTensor, _Symbolic())
    saving.register()
