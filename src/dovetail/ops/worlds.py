"""Worlds: what kinds of values there are, and who handles a call with them.

    host    Python numbers, lists, NumPy arrays    computed now, on the current engine
    eager   Tensor                                 computed now, on its engine; recorded on the tapes that watch
    state   Variable                               like eager; where `records_variables`, like graph
    native  jax.Array, torch.Tensor, …             computed by that engine's rules, comes out as that engine's own value
    graph   graph Tensor                           a node is added to its graph

Each Python type belongs to one; the highest world among the arguments of a call handles it.  `graph` and other packages
add theirs with `register_world`, so nothing here depends on them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dovetail.engines import owner_of_type
from dovetail.tensor import Tensor

if TYPE_CHECKING:
    from dovetail.ops.op import Op


def _unhandled(op: Op, values: list[Any], name: str | None) -> Any:
    raise NotImplementedError


@dataclass
class World:
    """How calls with values of some Python types are handled.

    Attributes:
        rank: the highest rank among a call's arguments wins.
        apply: (op, arguments in parameter order, node name) → result.
    """

    name: str
    rank: int
    apply: Callable[[Op, list[Any], str | None], Any] = _unhandled


HOST, EAGER, STATE, NATIVE = (  # `dispatch` says how these are handled
    World(name, rank) for rank, name in enumerate(("host", "eager", "state", "native"))
)
GRAPH = World("graph", 4)  # and `graph.trace` this one

_worlds: dict[type, World] = {Tensor: EAGER}
_worlds.update(dict.fromkeys((bool, int, float, complex, list, tuple, np.ndarray), HOST))


def register_world(value_type: type, world: World) -> None:
    """Says which world the values of a type belong to."""
    _worlds[value_type] = world


def world_of(value: Any) -> World:
    """The world of one value."""
    kind = type(value)
    world = _worlds.get(kind)
    if world is None:
        world = next((_worlds[base] for base in kind.__mro__ if base in _worlds), HOST)
        if world is HOST and owner_of_type(kind) is not None:
            world = NATIVE
        _worlds[kind] = world
    return world
