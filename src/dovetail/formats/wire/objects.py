"""Checkpoints of objects: the graph of objects that TensorFlow stores beside the variables, by which it finds them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from dovetail.core.base.errors import FormatError
from dovetail.formats.wire.messages import TENSORFLOW, parsed

GRAPH, VALUE, ENDING = "_CHECKPOINTABLE_OBJECT_GRAPH", "VARIABLE_VALUE", ".ATTRIBUTES/VARIABLE_VALUE"

Path = tuple[str, ...]  # the attributes that lead to a variable


def key_of(path: Path) -> str:
    """The key of a variable in a checkpoint.

    Example:
        >>> key_of(("net", "layers", "0"))
        'net/layers/0/.ATTRIBUTES/VARIABLE_VALUE'
    """
    return "/".join([*(name.replace(".", "..").replace("/", ".S") for name in path), ENDING])


def object_graph(variables: Mapping[Path, Any]) -> tuple[np.ndarray, dict[str, Any]]:
    """The graph of objects with some variables, as an array to store, and the variables by their keys.

    Args:
        variables: path → variable; one that is found on several paths is stored once.
    """
    graph = TENSORFLOW.TrackableObjectGraph()
    graph.nodes.add()
    places: dict[Path, int] = {(): 0}
    known: dict[int, int] = {}
    keyed: dict[str, Any] = {}
    for path, variable in variables.items():
        for end in range(1, len(path) + 1):
            part = path[:end]
            if part not in places:
                is_variable = end == len(path)
                number = known.get(id(variable), len(graph.nodes)) if is_variable else len(graph.nodes)
                if number == len(graph.nodes):
                    graph.nodes.add()
                graph.nodes[places[part[:-1]]].children.add(node_id=number, local_name=part[-1])
                places[part] = number
        if id(variable) not in known:
            known[id(variable)] = places[path]
            keyed[key_of(path)] = variable
            name = getattr(variable, "op_name", "")
            graph.nodes[places[path]].attributes.add(name=VALUE, full_name=name, checkpoint_key=key_of(path))
    stored = np.empty((), object)
    stored[()] = graph.SerializeToString()
    return stored, keyed


class StoredObjects:
    """The graph of objects in a checkpoint.

    Args:
        stored: the array of its bytes.
        file: the checkpoint, for errors.

    Raises:
        FormatError: it is damaged.
    """

    def __init__(self, stored: np.ndarray, file: str | os.PathLike[str]) -> None:
        data = stored.item() if stored.shape == () and stored.dtype.kind == "O" else b"\xff"
        self._file, self._graph = file, parsed(TENSORFLOW.TrackableObjectGraph, data, file, GRAPH)

    def key(self, path: Path) -> str | None:
        """The key of the variable on a path; None if there is none.

        Raises:
            FormatError: a child is no object of the graph.
        """
        number = self._number(path)
        return None if number is None else self._key(number)

    def slot(self, owner: Path, name: str, path: Path) -> str | None:
        """The key of a variable that an optimizer keeps for the variable on a path; None if there is none.

        Args:
            owner: the path of the optimizer.
            name: of the slot, such as "m".
            path: of the variable that is trained.
        """
        holder, variable = self._number(owner), self._number(path)
        slots = [] if holder is None else self._node(holder).slot_variables
        fits = (
            s.slot_variable_node_id for s in slots if (s.slot_name, s.original_variable_node_id) == (name, variable)
        )
        number = next(fits, None)
        return None if number is None else self._key(number)

    def _number(self, path: Path) -> int | None:
        """The number of the object on a path; None if there is none."""
        number = 0
        for name in path:
            children = [one.node_id for one in self._node(number).children if one.local_name == name]
            if not children:
                return None
            number = children[0]
        return number

    def _key(self, number: int) -> str | None:
        return next((one.checkpoint_key for one in self._node(number).attributes if one.name == VALUE), None)

    def _node(self, number: int) -> Any:
        if not 0 <= number < len(self._graph.nodes):
            raise FormatError(self._file, GRAPH, f"the object {number}", f"one of {len(self._graph.nodes)}")
        return self._graph.nodes[number]
