"""Seeds: the way from a program's seeds to the keys of its random numbers.

A seed starts a sequence of keys, and each draw takes the next key.  So a program draws the same numbers in each start,
on every engine, and different numbers in each of its steps.  A draw that is recorded or traced takes the next key in
each run, and in each step of a loop.  It takes the key from the graph's own sequence, which begins where the sequence
of eager draws began.  The steps that Keras 3 compiles with JAX do the same: they ask Python for the key.

Without a seed, K takes a number from NumPy's global generator, as Keras 2 did, so `np.random.seed` makes programs
repeatable.  TensorFlow's functions take their seeds from the operating system, and leave that generator unchanged.
"""

from __future__ import annotations

import itertools
import secrets
import threading
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from dovetail import ops
from dovetail.backend.symbolic import interop_keras
from dovetail.backend.values import running_keras
from dovetail.core.base.scopes import Scoped, not_building
from dovetail.core.dtypes import ALL
from dovetail.core.engines.engine_registry import current_engine, tracing_engine
from dovetail.core.values.places import engine as engine_context
from dovetail.core.values.value_kinds import ValueKind, engine_of, highest, is_recorded, is_tensor
from dovetail.edit.graph import Graph
from dovetail.graph.nesting import outermost_of
from dovetail.ops.random.generator import Generator
from dovetail.sessions.session_graph import SessionGraph
from dovetail.trace import trace

_SEQUENCES_LIMIT = 10_000  # beyond it, the sequences unused for longest are forgotten, and start again

_draws: dict[Any, int] = {}  # engine, use, seed → number of keys that were given
_lock = threading.Lock()
_generators: WeakKeyDictionary[Graph, dict[Any, Generator]] = WeakKeyDictionary()
_of_layer: Scoped[tuple[list[int], int] | None] = Scoped(None)  # the seeds of a layer's calls, the place of the first
_taken: WeakKeyDictionary[Graph, dict[int, int]] = WeakKeyDictionary()  # graph → id of seeds → place of the next one


def numpy_seed(high: int = 10_000_000) -> int:
    """A seed from NumPy's global generator, in Keras 2's range, so that the generator advances as it did there."""
    return int(np.random.randint(high))  # noqa: NPY002  # the generator that users seed


def seeds_of_layer(seeds: list[int], is_new: bool) -> AbstractContextManager[None]:
    """A scope in which draws without a seed, in traces, take the seeds of a layer.

    Keras 2 called a layer when a model was built, and NumPy's generator advanced then.  Keras 3 calls it again in each
    trace of the model.

    Args:
        seeds: the seeds that the layer's calls have taken from NumPy's generator, which lacks none of them.
        is_new: whether the model is built, so that the draws have new seeds; else they begin with the first.
    """
    is_inner = _of_layer.get() is not None  # the layer around it has its seeds
    return nullcontext() if is_inner else _of_layer.scope((seeds, len(seeds) if is_new else 0))


def _seed_in(graph: Graph | None, draw: Callable[[], int]) -> int:
    """A seed for a draw without one: that of the layer which is traced, if NumPy's generator gives seeds."""
    place = _of_layer.get() if draw is numpy_seed else None
    if place is None or graph is None or isinstance(graph, SessionGraph):
        return draw()
    (seeds, first), taken = place, _taken.setdefault(graph, {})
    number = taken.get(id(seeds), first)
    taken[id(seeds)] = number + 1
    if number >= len(seeds):
        seeds.append(draw())
    return seeds[min(number, len(seeds) - 1)]


def system_seed() -> int:
    """A seed of 62 bits from the operating system, a different one in each process."""
    return secrets.randbits(62)


def first_key(seed: int) -> Any:
    """The first key of an integer's sequence."""
    return ops.random.fold_in(seed, 0)


def numpy_key(seed: int, count: int) -> np.ndarray:
    """A key of an integer's sequence, computed by NumPy even while another engine computes and asks for it."""
    with engine_context("numpy"):
        return np.asarray(ops.random.fold_in(seed, count))


def restart() -> None:
    """Restart all sequences of eager draws."""
    with _lock:
        _draws.clear()


def next_key(
    function: str, seed: Any, dtype: Any, values: Iterable[Any] = (), draw_seed: Callable[[], int] = numpy_seed
) -> Any:
    """The random key for one call.

    Args:
        function: the name of the K function that is called.
        seed: an integer, None, a key, a scalar integer tensor, a `dovetail.Generator`, or an object with a method
            `next` that gives two integers, like Keras' SeedGenerator.
        dtype: the dtype of the numbers; each dtype has its own sequences.
        values: the arguments of the call; the key must be on their engine or in their graph.
        draw_seed: a function that gives a seed if there is none.

    Raises:
        TypeError: the seed is none of these.
        ValueError: JAX traces a program that is no step of Keras, and there is no seed, so each run would draw the same
            numbers.
    """
    if hasattr(seed, "next_key"):
        return seed.next_key()
    values = list(_flat(values))
    kind, like = highest(values)
    graph = _graph_of(kind, like)
    if hasattr(seed, "next"):
        words = seed.next()
        if is_recorded(words) or not (kind.is_symbolic or graph is not None):
            return ops.cast(words, "int32")
        seed = _number_of(words)
    elif _is_tensor(seed):
        return ops.random.keys.as_key(seed)
    number, use = _seed_in(graph, draw_seed) if seed is None else _checked(seed), (function, str(dtype))
    key = kind.fresh_key(number, like)
    if key is not None:
        return key
    if graph is not None:
        return graph.key(number, use) if isinstance(graph, SessionGraph) else _next_of_graph(graph, number, use, seed)
    tracing = tracing_engine()
    if tracing is not None:
        return _key_of_trace(tracing, number, use if seed is not None else None)
    engine = next(filter(None, map(engine_of, values)), None) or current_engine()
    return ops.random.fold_in(number, 0 if seed is None else _count((engine.name, use, number)))


# -- places of draws --------------------------------------------------------------------------------------------------


def _graph_of(kind: ValueKind, like: Any) -> Graph | None:
    """The outermost graph that records a draw; None if the draw is eager."""
    graph = trace.current_graph()
    if graph is None:
        graph = kind.drawing_graph(like)
    return None if graph is None else outermost_of(graph)


def _count(sequence: Any) -> int:
    """Count an eager draw from a sequence, and return the number of draws before it."""
    with _lock:
        count = _draws.pop(sequence, 0)
        _draws[sequence] = count + 1  # moves to the end of the dict
        if len(_draws) > _SEQUENCES_LIMIT:
            del _draws[next(iter(_draws))]
    return count


def _next_of_graph(graph: Graph, number: int, use: Any, seed: Any) -> Any:
    """The next key in a function that is being traced; without a seed, the draw has its own sequence."""
    generators = _generators.setdefault(graph, {})
    sequence = (use, number) if seed is not None else next(_anonymous)
    if sequence not in generators:
        with not_building():  # the generator belongs to this trace, not to the program
            generators[sequence] = Generator(number)
    return generators[sequence].next_key()


_anonymous = itertools.count()


def _key_of_trace(engine: Any, number: int, use: Any) -> Any:
    """A key in a program that an engine's library traces.

    Args:
        engine: the engine.
        number: the seed.
        use: the use of the seed's sequence; None if no seed was given.
    """
    key = engine.fresh_key(number)
    if key is not None:
        return key
    if running_keras() is not None:
        draws = itertools.count()  # counts for this call alone
        key = interop_keras().key_of_step(
            lambda: numpy_key(number, next(draws) if use is None else _count((engine.name, use, number)))
        )
        if key is not None:
            return key
    if use is None:
        raise ValueError(
            f"{engine.name} traces this program, and would draw the same numbers in each of its runs; pass "
            "seed=keras.random.SeedGenerator(...), kept by the layer, or a key that is an argument of the program."
        )
    return engine.native.asarray(first_key(number).numpy(), ALL["int32"])


# -- kinds of seeds ---------------------------------------------------------------------------------------------------


def _flat(values: Iterable[Any]) -> Iterable[Any]:
    for value in values:
        if isinstance(value, (list, tuple)):
            yield from value
        else:
            yield value


def _is_tensor(seed: Any) -> bool:
    """Whether a seed is a tensor, or an array of two words."""
    return is_tensor(seed) or (isinstance(seed, np.ndarray) and seed.ndim > 0)


def _number_of(words: Any) -> int:
    """The number that two known words make."""
    high, low = (int(word) & 0xFFFFFFFF for word in words)
    return high << 32 | low


def _checked(seed: Any) -> int:
    if isinstance(seed, (int, float, np.number)) or (isinstance(seed, np.ndarray) and seed.dtype.kind in "iuf"):
        return int(seed)
    raise TypeError(f"a seed is an integer, a key, a dovetail.Generator or a keras.random.SeedGenerator, not {seed!r}.")
