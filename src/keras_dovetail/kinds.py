"""The kinds of Keras' values for ops, if Keras runs on Dovetail.

Ops read a variable of Keras like a `dovetail.Variable`, and in K's default graph it is one of the graph's variables.
An op on KerasTensors becomes an operation of their functional model.  If KerasTensors meet K's placeholders, the
default graph records their computation: inputs of the model become placeholders, and its layers are called again.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from importlib import import_module
from types import ModuleType
from typing import Any
from weakref import WeakKeyDictionary

import dovetail
from dovetail import ops
from dovetail.backend.sparse import values_of
from dovetail.core.base.hooks import hooks
from dovetail.core.base.scopes import scopes
from dovetail.core.op import Op
from dovetail.core.values.value_kinds import ValueKind, is_recorded, register
from dovetail.edit.graph import Graph, GraphTensor
from dovetail.graph.nesting import outermost_of
from dovetail.interop.keras import computing, saving
from dovetail.interop.keras.kinds import Symbolic
from dovetail.interop.keras.running import GIVEN, value_of
from dovetail.interop.keras.tensors import spec_of
from dovetail.interop.keras_values import RUN, in_run
from dovetail.interop.privates import tree
from dovetail.ops.control.flow import EAGER_CONTROL
from dovetail.sessions.session_graph import SessionGraph
from keras_dovetail.jax_values import accept
from keras_dovetail.src.parallel.whole_batch import follow_ranks


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

    def handler(self, values: Iterable[Any]) -> ValueKind:
        return hooks.graph_kind if any(map(_in_default_graph, tree.flatten(list(values)))) else self

    def apply(self, op: Op, values: list[Any], name: str | None) -> Any:
        if RUN.get() is not None and any(type(v) is GraphTensor for v in tree.flatten(values)):
            return op(*tree.map_structure(in_run, values), name=name)
        return super().apply(op, values, name)

    def in_graph(self, value: Any, graph: Graph) -> Any:
        outer = outermost_of(graph)
        return stand_in(value, outer) if isinstance(outer, SessionGraph) else in_run(value)


def _in_default_graph(value: Any) -> bool:
    """Whether a value is a tensor of a default graph, or of a branch or loop in one."""
    value = values_of(value)
    return type(value) is GraphTensor and isinstance(outermost_of(value.graph), SessionGraph)


_stand_ins: WeakKeyDictionary[Graph, dict[int, tuple[Any, GraphTensor]]] = WeakKeyDictionary()


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
    follow_ranks()
    accept(module)
    layers = sys.modules.get("dovetail.compat.tensorflow.names.layers.base")
    if layers is not None:  # TensorFlow 1's, which the program has used
        import_module("dovetail.compat.tensorflow.keras_layers").join(layers.Layer)
