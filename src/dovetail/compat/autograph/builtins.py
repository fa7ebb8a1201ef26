"""Python's builtins that converted functions call, on tensors of a graph."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any

from dovetail import ops
from dovetail.compat.autograph.statements import error, is_data_set, is_in_graph, is_iterator
from dovetail.compat.tensorflow.names.array.tensor_array import TensorArray
from dovetail.compat.tensorflow.names.graph.python_calls import OnScalars, done_in
from dovetail.core.values.value_kinds import static_shape
from dovetail.trace.trace import current_graph

OTHERS: dict[Any, Callable[..., Any]] = {}  # builtin → the function that a converted function calls


def _instead(name: str, is_taken: Callable[[Any], bool] = is_in_graph) -> Callable[..., Any]:
    """Declare what a builtin does if an argument is a tensor of a graph, or of another kind."""
    builtin = getattr(builtins, name)

    def declare(other: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            return (other if any(map(is_taken, args)) else builtin)(*args, **kwargs)

        OTHERS[builtin] = call
        return other

    return declare


_instead("abs")(ops.absolute)
_instead("float")(lambda x: ops.cast(x, "float32"))
_instead("int")(lambda x: ops.cast(x, "int32"))
_instead("enumerate", is_data_set)(lambda data, start=0: data.enumerate(start))
_instead("filter", is_data_set)(lambda function, data: data.filter(function))
_instead("map", is_data_set)(lambda function, *data: _whole(data).map(function))
_instead("zip", is_data_set)(lambda *data: type(data[0]).zip(data))
_instead("iter", is_data_set)(lambda data: iter(data) if current_graph() is None else data.in_graph())
_instead("next", is_iterator)(lambda iterator: iterator.get_next())


def _whole(data: tuple[Any, ...]) -> Any:
    """One data set, or the tuples of the elements of several."""
    return data[0] if len(data) == 1 else type(data[0]).zip(data)


@_instead("print")
def _print(*objects: Any, **options: Any) -> None:
    tensors = [x for x in objects if is_in_graph(x)]
    words = [None if is_in_graph(x) else x if x is not None else "None" for x in objects]

    def write(*arrays: Any) -> None:
        values = iter(arrays)
        print(*(next(values) if x is None else x for x in words), **options)

    done_in(current_graph(), OnScalars(write), tensors)


@_instead("range")
def _range(start: Any, stop: Any = None, step: Any = 1) -> Any:
    return ops.arange(0, start, step) if stop is None else ops.arange(start, stop, step)


@_instead("sorted")
def _sorted(x: Any, key: Any = None, reverse: bool = False) -> Any:
    order = ops.argsort(x if key is None else ops.map_fn(key, x))
    return ops.gather(x, order[::-1] if reverse else order)


@_instead("len", lambda x: is_in_graph(x) or isinstance(x, TensorArray) or is_data_set(x))
def _len(x: Any) -> Any:
    if isinstance(x, TensorArray):
        return x.size()
    if is_data_set(x):
        return x.cardinality()
    shape = static_shape(x)
    if shape == ():
        raise error(ValueError, "len", "len requires a non-scalar tensor, got one of shape []")
    return ops.shape(x)[0] if shape is None or shape[0] is None else shape[0]
