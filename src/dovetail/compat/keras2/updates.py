"""Updates of layers that are called on tensors of a session's graph: as in Keras 2, runs do those that they are told.

A `BatchNormalization` on placeholders moves its averages in runs of `layer.updates`, or of `get_updates_for(inputs)`,
alone.  In the training of a model, and outside of such graphs, the call of a layer assigns its weights at once.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any

import keras

from dovetail import backend as K
from dovetail.backend.symbolic import learning_phase_of
from dovetail.backend.values import running_layer
from dovetail.compat.keras2.patches import Own, Patch, methods
from dovetail.edit.graph import GraphTensor, Operation
from dovetail.graph.walk import backward
from dovetail.interop.privates import tree
from dovetail.sessions.session_graph import SessionGraph, recording_graph
from dovetail.trace.trace import assign_any

NOTED = "_noted_updates"  # the attribute of a layer or a weight for its updates
SEED = "seed_generator_state"  # the name of Keras' states of random numbers, which advance in each run


def patches() -> Iterable[Patch]:
    """Yield the changes of layers and, if Keras runs on Dovetail, of their weights."""
    variable = next((each for each in keras.Variable.__mro__ if "_assign_in" in vars(each)), None)
    if variable is not None:
        yield Patch(variable, "_assign_in", _as_update(vars(variable)["_assign_in"]))
    yield from methods(
        keras.layers.Layer,
        add_update=_add_update,
        updates=Own(_updates),
        get_updates_for=_updates_for,
    )


def _as_update(assign: Callable[..., None]) -> Callable[..., None]:
    """Wrap the assignment of a weight in a graph: that of a session is an operation among the updates of the layer."""

    @functools.wraps(assign)
    def call(self: Any, graph: Any, value: Any) -> None:
        if not isinstance(graph, SessionGraph) or running_layer() is None or self.name == SEED:
            assign(self, graph, value)
        else:
            _note(self, assign_any(graph, self._value, value))

    return call


def _note(owner: Any, update: Any) -> None:
    vars(owner).setdefault(NOTED, []).append(update.op if isinstance(update, GraphTensor) else update)


def _add_update(self: Any, updates: Any, inputs: Any = None) -> None:
    """Add updates to those of the layer in a session's graph; elsewhere assign pairs of a variable and its new value.

    Args:
        updates: one, or a list of them.  Outside of such graphs, `K.update` has already assigned its own.
        inputs: ignored, as updates belong to the call in which they are made.

    Source: `keras.layers.Layer.add_update` of Keras 2.3.
    """
    is_recorded = recording_graph() is not None
    for update in updates if isinstance(updates, list) else [updates]:
        if isinstance(update, tuple) and not is_recorded:
            variable, value = update
            variable.assign(value)
        elif is_recorded:
            _note(self, K.update(*update) if isinstance(update, tuple) else update)


def _updates(self: Any) -> list[Operation]:
    """The updates of a layer and those in it, of this graph; none if it is not trained and has no states."""
    if not _is_updated(self):
        return []
    layers, graph = filter(_is_updated, self._flatten_layers()), recording_graph()
    owners = (owner for each in layers for owner in _owners(each))
    return [update for owner in owners for update in vars(owner).get(NOTED, ()) if update.graph is graph]


def _owners(layer: Any) -> list[Any]:
    """A layer, and its weights and states, which have updates of their own."""
    states = [each for each in tree.flatten(getattr(layer, "states", None)) if isinstance(each, keras.Variable)]
    return [layer, *layer._trainable_variables, *layer._non_trainable_variables, *states]


def _is_updated(layer: Any) -> bool:
    return layer.trainable or getattr(layer, "stateful", False)


def _updates_for(self: Any, inputs: Any) -> list[Operation]:
    """The updates that depend on inputs; for None, those that depend on no placeholder.

    Source: `keras.layers.Layer.get_updates_for` of Keras 2.3.
    """
    if inputs is None:
        return [update for update in self.updates if not any(map(_is_fed, backward([update])))]
    given = [x.op for x in tree.flatten(inputs) if isinstance(x, GraphTensor)]
    return [update for update in self.updates if any(update.graph.depends_on(update, op) for op in given)]


def _is_fed(op: Operation) -> bool:
    """Whether runs feed an operation, which is not the learning phase."""
    if op.type != "Placeholder":
        return False
    is_phase = isinstance(op.graph, SessionGraph) and op.outputs[0] is learning_phase_of(op.graph)
    return not is_phase
