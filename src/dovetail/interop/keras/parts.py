"""Parts of functional models, cut out as models of their own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import keras


def node_of(tensor: keras.KerasTensor) -> Any:
    """The call of an operation that a tensor comes from; None for one that no operation made."""
    operation, index, _ = getattr(tensor, "_keras_history", (None, 0, 0))
    return None if operation is None else operation._inbound_nodes[index]


def cut(outputs: Iterable[Any], is_outside: Callable[[Any], bool]) -> tuple[list[Any], list[Any]]:
    """What outputs are computed from.

    Args:
        outputs: KerasTensors, or other values, which are outside.
        is_outside: whether a tensor is given to the part, not computed in it.

    Returns:
        The nodes inside in the order of computation, and the values that they and the outputs take from outside.
    """
    nodes: dict[Any, None] = {}
    taken: dict[int, Any] = {}
    reached: set[int] = set()
    waiting = list(outputs)
    while waiting:
        value = waiting[-1]
        inside = isinstance(value, keras.KerasTensor) and not is_outside(value)
        node = node_of(value) if inside else None
        before = [t for t in node.input_tensors if id(t) not in reached] if node else []
        if before and id(value) not in reached:
            waiting += before
            continue
        waiting.pop()
        if id(value) not in reached:
            reached.add(id(value))
            if node is None or node.is_input:
                taken[id(value)] = value
            else:
                nodes[node] = None
    return list(nodes), list(taken.values())


def model_of(
    nodes: Iterable[Any], sources: Sequence[Any], inputs: Sequence[keras.KerasTensor], outputs: Iterable[Any]
) -> keras.Model:
    """A model that does what nodes do.

    Args:
        nodes: in the order of computation; their operations are called once more.
        sources: what the nodes and outputs take from outside.
        inputs: tensors that `keras.Input` made, one for each source.
        outputs: KerasTensors of the nodes, or sources.
    """
    known = dict(zip(map(id, sources), inputs, strict=True))
    for node in nodes:
        args, kwargs = node.arguments.fill_in(known)
        found = keras.tree.flatten(node.operation(*args, **kwargs))
        known.update(zip(map(id, node.outputs), found, strict=True))
    return keras.Model(list(inputs), [known[id(v)] for v in outputs])
