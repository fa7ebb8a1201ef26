"""`tf.contrib.layers.utils`, which is `slim.utils`: names of outputs, constant values, dimensions.

Source: `tf.contrib.layers.python.layers.utils`, the function of the same name.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from dovetail.compat.tensorflow import graph_mode, table
from dovetail.compat.tensorflow.entries import value
from dovetail.compat.tensorflow.names.contrib.places import under
from dovetail.compat.tensorflow.names.graph.control import cond
from dovetail.compat.tensorflow.table import in_v1
from dovetail.core.base.errors import op_error
from dovetail.core.base.tensor_shape import shape_of
from dovetail.core.values.value_kinds import is_tensor
from dovetail.core.values.variable import Variable


def collect_named_outputs(collections: Any, alias: str, outputs: Any) -> Any:
    """A tensor, after it was put into collections under one more name."""
    if collections:
        append_tensor_alias(outputs, alias)
        graph_mode.open_graph().add_to_collections(collections, outputs)
    return outputs


def append_tensor_alias(tensor: Any, alias: str) -> Any:
    """A tensor, after it got one more name."""
    tensor.aliases = [*getattr(tensor, "aliases", ()), alias.removesuffix("/")]
    return tensor


def get_tensor_aliases(tensor: Any) -> list[str]:
    """The names that a tensor got; without any, the name of its operation."""
    return getattr(tensor, "aliases", None) or [tensor.name.removesuffix(":0")]


def gather_tensors_aliases(tensors: Iterable[Any]) -> list[str]:
    """The names that several tensors got."""
    return [alias for tensor in tensors for alias in get_tensor_aliases(tensor)]


def convert_collection_to_dict(collection: Any, clear_collection: bool = False) -> dict[str, Any]:
    """The tensors of a collection by the names that they got."""
    graph = graph_mode.open_graph()
    by_alias = OrderedDict(
        (alias, one) for one in graph.get_collection(collection) for alias in get_tensor_aliases(one)
    )
    if clear_collection:
        graph.get_collection_ref(collection).clear()
    return by_alias


def constant_value(value_or_tensor_or_var: Any, dtype: Any = None) -> Any:
    """The value of a number or of a constant tensor; None if the graph computes it.

    Raises:
        ValueError: nothing is given, or the dtype is another one.
    """
    given = value_or_tensor_or_var
    if given is None or (dtype is not None and is_tensor(given) and given.dtype != dtype):
        problem = f"it needs a value{'' if dtype is None else f' of {dtype}'}, not {given!r}."
        raise op_error(ValueError, "tf.contrib.layers.utils.constant_value", problem)
    if isinstance(given, Variable):
        return None
    return table.constant_value(given) if is_tensor(given) else given


def static_cond(pred: Any, fn1: Callable[[], Any], fn2: Callable[[], Any]) -> Any:
    """The result of one of two functions.

    Raises:
        TypeError: one of them is not a function.
    """
    if not callable(fn1) or not callable(fn2):
        raise op_error(TypeError, "tf.contrib.layers.utils.static_cond", "fn1 and fn2 are functions without arguments.")
    return fn1() if pred else fn2()


def smart_cond(pred: Any, fn1: Callable[[], Any], fn2: Callable[[], Any], name: str | None = None) -> Any:
    """The result of one of two functions, which a constant chooses at once, and another tensor in the graph."""
    known = constant_value(pred)
    return in_v1(cond)(pred, fn1, fn2, name=name) if known is None else static_cond(known, fn1, fn2)


def get_variable_collections(variables_collections: Any, name: str) -> Any:
    """The collections of a variable, which are for all variables or by name."""
    return variables_collections.get(name) if isinstance(variables_collections, Mapping) else variables_collections


def channel_dimension(shape: Any, data_format: str, min_rank: int = 1) -> int:
    """The number of channels in a shape.

    Raises:
        ValueError: the shape has too few dimensions, or this one is not known.
    """
    return _dimension(shape, 1 if data_format == "channels_first" else -1, min_rank)


def last_dimension(shape: Any, min_rank: int = 1) -> int:
    """The last dimension of a shape.

    Raises:
        ValueError: the shape has too few dimensions, or this one is not known.
    """
    return _dimension(shape, -1, min_rank)


def _dimension(shape: Any, axis: int, least: int) -> int:
    known = shape_of(shape)
    size = None if known.rank is None or known.rank < least else known.as_list()[axis]
    if size is None:
        problem = f"the shape must have {least} dimensions or more, and the one at {axis} be known, not {shape}."
        raise op_error(ValueError, "tf.contrib.layers.utils", problem)
    return size


def two_element_tuple(int_or_tuple: Any) -> tuple[int, int]:
    """A height and a width, which may be one number.

    Raises:
        ValueError: it is neither a number nor two.
    """
    pair = (int_or_tuple, int_or_tuple) if isinstance(int_or_tuple, int) else tuple(int_or_tuple)
    if len(pair) != 2:
        problem = f"it takes a number or two numbers, not {int_or_tuple!r}."
        raise op_error(ValueError, "tf.contrib.layers.utils.two_element_tuple", problem)
    return int(pair[0]), int(pair[1])


def n_positive_integers(n: int, value: Any) -> tuple[int, ...]:
    """Several positive integers, which may be one number.

    Raises:
        ValueError: there are not `n` numbers, or one is not positive.
    """
    integers = tuple(map(int, value)) if hasattr(value, "__iter__") else (int(value),) * int(n)
    if len(integers) != n or n < 1 or min(integers) < 1:
        problem = f"it takes a positive integer or {n} of them, not {value!r}."
        raise op_error(ValueError, "tf.contrib.layers.utils.n_positive_integers", problem)
    return integers


for _function in (
    collect_named_outputs,
    append_tensor_alias,
    get_tensor_aliases,
    gather_tensors_aliases,
    convert_collection_to_dict,
    constant_value,
    static_cond,
    smart_cond,
    get_variable_collections,
    channel_dimension,
    last_dimension,
    two_element_tuple,
    n_positive_integers,
):
    value(under("contrib.layers.utils contrib.slim.utils", _function.__name__), _function, "v1")
