"""Worlds: what kinds of values there are, and who handles a call with them.

    host    Python numbers, lists, NumPy arrays    computed now, on the current engine
    eager   Tensor                                 computed now, on its engine; recorded on the tapes that watch
    state   Variable                               like eager; where it `is_recorded`, like graph
    native  jax.Array, torch.Tensor, …             computed by that engine's rules, comes out as that engine's own value
    graph   graph Tensor                           a node is added to its graph
    keras   KerasTensor of a stock Keras 3         a Keras Operation is added to its functional model
    wrapped what another library holds a value in  the call is made with the value; so with a Keras variable's

Each Python type belongs to one; the highest world among the arguments of a call handles it.  `graph` and other packages
add theirs with `register_world`, so nothing here depends on them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dovetail.core.engine_registry import owner_of_type
from dovetail.core.tensor import Tensor

if TYPE_CHECKING:
    from dovetail.core.control import Control
    from dovetail.core.op import Op


def _unhandled(op: Op, values: list[Any], name: str | None) -> Any:
    raise NotImplementedError


@dataclass
class World:
    """How calls with values of some Python types are handled.

    Attributes:
        rank: the highest rank among a call's arguments wins.
        apply: (op, arguments in parameter order, node name) → result, of those that `dispatch` does not compute itself.
        prepare: (op, arguments) → what the call is made with; the arguments themselves if it is these.
        finish: (op, arguments, result) → what the caller gets.
        symbolic: whether its values have no numbers yet, only what is known of them.
        control: what runs branches and loops on its values, if it is neither Python nor an engine.
        unwrap: gives what a value holds, if it is a wrapper.
        unwrap_result: gives what a Tensor among the results becomes, if it does not stay one.
        fresh_key: (seed, a value) → a random key that is another one in each run of what the value is part of, if its
            values are not those of a run.
    """

    name: str
    rank: int
    apply: Callable[[Op, list[Any], str | None], Any] = _unhandled
    prepare: Callable[[Op, list[Any]], list[Any]] | None = None
    finish: Callable[[Op, list[Any], Any], Any] | None = None
    symbolic: bool = False
    control: Control | None = None
    unwrap: Callable[[Any], Any] | None = None
    unwrap_result: Callable[[Any], Any] | None = None
    fresh_key: Callable[[int, Any], Any] | None = None


def leave(result: Any) -> Any:
    """A result of eager control flow as its user gets it; where arrays are a library's tensors, they come back so."""
    return result if HOST.unwrap_result is None else HOST.unwrap_result(result)


HOST, EAGER, STATE, NATIVE = (  # `dispatch` says how these are handled
    World(name, rank) for rank, name in enumerate(("host", "eager", "state", "native"))
)
GRAPH = World("graph", 4, symbolic=True)  # and `graph.trace` this one

_worlds: dict[type, World] = {Tensor: EAGER}
_worlds.update(dict.fromkeys((bool, int, float, complex, str, type(None), list, tuple, np.ndarray, np.generic), HOST))


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
        if world is HOST and kind.__module__ not in ("builtins", "numpy"):
            return world  # an engine that is loaded later may own the type
        _worlds[kind] = world
    return world


def unwrapped(value: Any) -> Any:
    """What a wrapper of another library holds; any other value itself."""
    unwrap = world_of(value).unwrap
    return value if unwrap is None else unwrap(value)
