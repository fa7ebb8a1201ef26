"""TensorFlow 1's registries of a program's own classes: how their objects become tensors, fetches and feeds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dovetail.compat.tensorflow.table import function
from dovetail.core.base.errors import op_error
from dovetail.core.values.value_kinds import Wrapper, dtype_of, register, static_shape


class _Converted(Wrapper):
    """The kind of objects that a program's function makes tensors of.

    Args:
        convert: as `conversion_func` of `register_tensor_conversion_function`.
    """

    def __init__(self, convert: Callable[..., Any]) -> None:
        self._convert = convert

    def unwrapped(self, value: Any) -> Any:
        converted = self._convert(value, dtype=None, name=None, as_ref=False)
        if converted is NotImplemented:
            raise op_error(TypeError, "tf.convert_to_tensor", f"the function of {type(value).__name__} refuses it.")
        return converted

    def dtype(self, value: Any) -> Any:
        return dtype_of(self.unwrapped(value))

    def shape(self, value: Any) -> Any:
        return static_shape(self.unwrapped(value))


@function("register_tensor_conversion_function python.framework.ops.register_tensor_conversion_function")
def register_tensor_conversion_function(
    base_type: Any, conversion_func: Callable[..., Any], priority: int = 100
) -> None:
    """Let objects of a class, or of several, be arguments of ops: a function makes tensors of them.

    Args:
        base_type: a class, or a tuple of classes.
        conversion_func: (value, dtype=None, name=None, as_ref=False) → a tensor.
        priority: does nothing: a class has one function, the last one.

    Source: `tf.register_tensor_conversion_function`.
    """
    for each in base_type if isinstance(base_type, tuple) else (base_type,):
        register(each, _Converted(conversion_func))


# -- fetches and feeds ------------------------------------------------------------------------------------------------

RUNS: dict[type, tuple[Callable[[Any], Any], Callable[[Any, Any], Any] | None]] = {}  # class → fetching, feeding


class Fetch:
    """An object among the fetches of a run.

    Attributes:
        tensors: the tensors that a run computes for it.
        written: the value of the object, from theirs.
    """

    def __init__(self, value: Any, fetch: Callable[[Any], Any]) -> None:
        self.tensors, self.written = fetch(value)


def _entry(value: Any) -> Any:
    return next((RUNS[base] for base in type(value).__mro__ if base in RUNS), None) if RUNS else None


def fetched(value: Any) -> Any:
    """Fetches, with those of registered classes as `Fetch`."""
    if type(value) in (list, tuple):
        return type(value)(map(fetched, value))
    if type(value) is dict:
        return {key: fetched(item) for key, item in value.items()}
    entry = _entry(value)
    return value if entry is None else Fetch(value, entry[0])


def fed(feeds: Any) -> Any:
    """Feeds, with the tensors of keys of registered classes."""
    if not RUNS or not feeds:
        return feeds
    flat: dict[Any, Any] = {}
    for key, given in feeds.items():
        entry = _entry(key)
        flat |= {key: given} if entry is None or entry[1] is None else dict(entry[1](key, given))
    return flat


@function("python.client.session.register_session_run_conversion_functions")
def register_session_run_conversion_functions(
    tensor_type: type,
    fetch_function: Callable[[Any], Any],
    feed_function: Callable[[Any, Any], Any] | None = None,
    feed_function_for_partial_run: Any = None,
) -> None:
    """Let sessions take objects of a class as fetches, and as keys of feeds.

    Args:
        tensor_type: the class.
        fetch_function: (object) → its tensors, and a function from their values to the object's value.
        feed_function: (object, value) → pairs of a tensor and its value.

    Raises:
        ValueError: the class is registered already.

    Source: `tensorflow.python.client.session.register_session_run_conversion_functions`.
    """
    if tensor_type in RUNS:
        problem = f"{tensor_type.__name__} is registered already."
        raise op_error(ValueError, "register_session_run_conversion_functions", problem)
    RUNS[tensor_type] = fetch_function, feed_function
