"""The states of random numbers by which programs shuffle and draw: NumPy's, Python's and torch's."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from typing import Any

import numpy as np

from dovetail.core.engines.collectives import WORLD


def from_rank_0(array: np.ndarray) -> np.ndarray:
    """The list of numbers that rank 0 gave, of any length."""
    size = WORLD.exchange("Broadcast", np.array(array.size), (), 0).item()
    return WORLD.exchange("Broadcast", array if WORLD.rank == 0 else np.zeros(size, array.dtype), (), 0)


def same_random_state() -> None:
    """Give all ranks the random states of rank 0: of NumPy, Python and torch."""
    if WORLD.size == 1:
        return
    import torch  # it carries

    of_torch, text = torch.get_rng_state().numpy(), json.dumps(random_state()).encode()
    states = from_rank_0(np.concatenate([of_torch, np.frombuffer(text, np.uint8)]))
    torch.set_rng_state(torch.from_numpy(states[: of_torch.size].copy()))
    set_random_state(json.loads(states[of_torch.size :].tobytes()))


def random_state() -> dict[str, Any]:
    """The states of NumPy's and Python's own random numbers, by which programs shuffle data; JSON can hold them."""
    name, words, *numbers = np.random.get_state()  # noqa: NPY002  # the state that programs and Keras share
    version, state, gauss = random.getstate()
    return {"numpy": [name, [int(word) for word in words], *numbers], "python": [version, [*state], gauss]}


def set_random_state(state: Mapping[str, Any]) -> None:
    """Set the states that `random_state` gave.

    Raises:
        KeyError, TypeError, ValueError, OverflowError: it is no such state; nothing has changed then.
    """
    of_numpy, of_python = numpy_and_python(state)
    np.random.set_state(of_numpy)  # noqa: NPY002
    random.setstate(of_python)


def numpy_and_python(state: Mapping[str, Any]) -> tuple[Any, Any]:
    """The states as NumPy and Python take them; an error if they do not."""
    name, words, *numbers = state["numpy"]
    version, python, gauss = state["python"]
    of_numpy, of_python = (name, np.array(words, "uint32"), *numbers), (version, (*python,), gauss)
    np.random.RandomState().set_state(of_numpy)
    random.Random().setstate(of_python)
    return of_numpy, of_python
