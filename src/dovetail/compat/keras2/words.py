"""Keras 1's and 2's words for arguments, as rows; the rows of layers are with their files."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from numbers import Integral
from typing import Any

from dovetail.formats.keras.config_rows import ARGUMENTS, JOINED, Words, parsed, renamed, value_of

# -- rows, in the language of formats.keras.config_rows ---------------------------------------------------------------

MODEL = "input:inputs output:outputs"

# Words of constructors beside the words of files, by the class in Keras 3.
CONSTRUCTORS = {
    "Model": MODEL,
    "Functional": MODEL,
    "LocallyConnected1D": ARGUMENTS["Conv1D"],
    "LocallyConnected2D": ARGUMENTS["Conv2D"],
    **dict.fromkeys(("MaxoutDense", "Highway"), ARGUMENTS["Dense"]),
    "InputLayer": "input_dtype:dtype input_shape:shape batch_input_shape:batch_shape",
}

# Arguments of any layer in Keras 2, in order; Keras 3 takes their names only.
IN_ORDER = "trainable", "name", "dtype"

# Layers whose `input_dim` is the size of each step.
OF_STEPS = {"SimpleRNN", "LSTM", "GRU", "Conv1D", "TimeDistributed"}

# Arguments of any layer that Keras 3 lacks or warns of.
OF_LAYERS = (
    "weights",
    "input_shape",
    "input_dim",
    "input_length",
    "batch_size",
    "batch_input_shape",
    "input_dtype",
    "implementation",
)


# The arguments of Keras 1's convolutions after the size of the kernel, in order.
OF_CONVOLUTIONS = ["init", "activation", "weights", "border_mode", "subsample", "atrous_rate"]

of_tensorflow = False  # whether the program's Keras is tf.keras, where the 2 of Conv2D(8, 3, 2) is a stride


@functools.cache
def of_constructor(cls: str) -> Words:
    """The words for the arguments of a class' constructor."""
    kept = [w for w in ARGUMENTS.get(cls, "").split() if w not in ("-trainable", "-weights") and w[0] != "+"]
    return parsed(f"{' '.join(kept)} {CONSTRUCTORS.get(cls, '')}")


# -- calls ------------------------------------------------------------------------------------------------------------


def in_old_words(function: Callable[..., Any], text: str, order: str = "") -> Callable[..., Any]:
    """Wrap a function: it also takes the old names of its arguments.

    Args:
        function: the function of Keras 3.
        text: the words for its arguments.
        order: the old names of its first arguments, if their order was another.
    """
    rows, names, old = parsed(text), list(inspect.signature(function).parameters), order.split()

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if old:
            args, kwargs = (), named(old, args, kwargs)
        return function(*args, **with_defaults(rows, names[: len(args)], renamed("", rows, kwargs, value_of)))

    return call


def named(names: list[str], args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """Arguments, those by position under their names.

    Raises:
        TypeError: there are too many, or one is given twice.
    """
    by_name = dict(zip(names, args, strict=False))
    if len(args) > len(names) or by_name.keys() & kwargs.keys():
        raise TypeError(f"the arguments are {', '.join(names)}; given: {len(args)} by position, and {list(kwargs)}.")
    return by_name | kwargs


def with_defaults(rows: Words, positional: list[str], given: dict[str, Any]) -> dict[str, Any]:
    """Named arguments, with defaults for the others."""
    return {name: value for name, value in rows.defaults.items() if name not in positional} | given


def arguments(cls: str, names: list[str], args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """The arguments of a layer or model, as the class in Keras 3 takes them.

    Args:
        cls: the name of the class.
        names: the names of its parameters.
        args: positional arguments; a kernel's size may be single numbers.
        kwargs: named arguments.

    Raises:
        Refused: Keras 3 computes something else.
    """
    rows, count = of_constructor(cls), len(JOINED.get(cls, ()))
    if (
        not of_tensorflow
        and count
        and len(args) > count
        and all(isinstance(size, Integral) for size in args[1 : count + 1])
    ):
        rest = args[count + 1 :]
        if cls.endswith("Transpose") and rest and isinstance(rest[0], tuple):
            rest = rest[1:]  # the shape of the output
        args = (args[0], args[1 : count + 1], *rest)
    if cls in ("Conv1D", "Conv2D") and len(args) > 2 and isinstance(args[2], str):  # no stride: Keras 1's order
        args, kwargs = args[:2], kwargs | named(OF_CONVOLUTIONS, args[2:], {})
    given = with_defaults(rows, names[: len(args)], renamed(cls, rows, kwargs, value_of))
    if cls == "InputLayer" and given.get("batch_shape") is not None:
        given.pop("shape", None)  # the longer one counts
    return args, given


def input_of(cls: str, given: dict[str, Any]) -> tuple[Any, ...] | None:
    """The shape of the input that the arguments of a first layer say, with the size of a batch; None if they do not."""
    if given.get("batch_input_shape") is not None:
        return tuple(given["batch_input_shape"])
    shape, length, size = (given.get(name) for name in ("input_shape", "input_length", "input_dim"))
    if shape is None and size is not None:
        shape = (length, size) if "input_length" in given or cls in OF_STEPS else (size,)
    elif shape is None and cls == "Embedding":
        shape = length if isinstance(length, (list, tuple)) else (length,)
    return None if shape is None else (given.get("batch_size"), *shape)
