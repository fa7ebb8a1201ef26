"""TensorFlow's names of nested structures: `tf.nest`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from dovetail.compat.tensorflow.table import function
from dovetail.core.base.errors import op_error
from dovetail.core.base.tensor_shape import TensorShape
from dovetail.core.values.structure import with_values


def is_nested(value: Any) -> bool:
    """Whether a value is a list, a tuple or a dict; None and tensors are leaves.

    Source: `tf.nest.is_nested`.
    """
    return isinstance(value, (list, tuple, dict)) and not isinstance(value, TensorShape)


def _children(structure: Any) -> list[Any]:
    return [structure[k] for k in sorted(structure)] if isinstance(structure, dict) else list(structure)


def nest_flatten(structure: Any, expand_composites: bool = False) -> list[Any]:
    """The leaves of a structure, in order; of dicts by sorted keys.

    Source: `tf.nest.flatten`.
    """
    if not is_nested(structure):
        return [structure]
    return [leaf for child in _children(structure) for leaf in nest_flatten(child)]


def pack_sequence_as(structure: Any, flat_sequence: Sequence[Any], expand_composites: bool = False) -> Any:
    """A structure with other leaves.

    Source: `tf.nest.pack_sequence_as`.
    """
    leaves = list(flat_sequence)
    count = len(nest_flatten(structure))
    if len(leaves) != count:
        raise op_error(ValueError, "tf.nest.pack_sequence_as", f"there are {count} places for {len(leaves)} values.")
    return _packed(structure, iter(leaves))


def _packed(structure: Any, leaves: Any) -> Any:
    if not is_nested(structure):
        return next(leaves)
    if isinstance(structure, dict):
        return with_values(structure, {key: _packed(structure[key], leaves) for key in sorted(structure)})
    items = [_packed(item, leaves) for item in structure]
    return type(structure)(*items) if hasattr(structure, "_fields") else type(structure)(items)


def assert_same_structure(nest1: Any, nest2: Any, check_types: bool = True, expand_composites: bool = False) -> None:
    """Refuse two structures that differ.

    Raises:
        ValueError: they do not have the same places.
        TypeError: they have the same places in sequences or dicts of other types.

    Source: `tf.nest.assert_same_structure`.
    """
    nested = is_nested(nest1), is_nested(nest2)
    if not any(nested):
        return
    problem = f"{nest1!r} and {nest2!r} are not of one structure."
    if not all(nested) or len(nest1) != len(nest2):
        raise op_error(ValueError, "tf.nest.assert_same_structure", problem)
    if check_types and type(nest1) is not type(nest2):
        raise op_error(TypeError, "tf.nest.assert_same_structure", problem)
    if isinstance(nest1, dict) and set(nest1) != set(nest2):
        raise op_error(ValueError, "tf.nest.assert_same_structure", problem)
    for first, second in zip(_children(nest1), _children(nest2), strict=True):
        assert_same_structure(first, second, check_types)


def nest_map_structure(func: Callable[..., Any], *structure: Any, **kwargs: Any) -> Any:
    """The results of a function of the leaves of structures, in their structure.

    Source: `tf.nest.map_structure`.
    """
    for other in structure[1:]:
        assert_same_structure(structure[0], other, kwargs.get("check_types", True))
    rows = zip(*map(nest_flatten, structure), strict=True)
    return pack_sequence_as(structure[0], [func(*leaves) for leaves in rows])


def assert_shallow_structure(
    shallow_tree: Any, input_tree: Any, check_types: bool = True, expand_composites: bool = False
) -> None:
    """Refuse a structure that has other places than the first levels that a shallow one has.

    Raises:
        ValueError: the places differ.
        TypeError: a leaf has parts, or a sequence or dict is of another type.

    Source: `tensorflow.python.util.nest.assert_shallow_structure`.
    """
    title = "tf.nest.assert_shallow_structure"
    if not is_nested(shallow_tree):
        return
    problem = f"{input_tree!r} does not begin as {shallow_tree!r}."
    if not is_nested(input_tree) or (check_types and type(shallow_tree) is not type(input_tree)):
        raise op_error(TypeError, title, problem)
    if len(shallow_tree) != len(input_tree) or (isinstance(input_tree, dict) and set(shallow_tree) != set(input_tree)):
        raise op_error(ValueError, title, problem)
    for shallow, deep in zip(_children(shallow_tree), _children(input_tree), strict=True):
        assert_shallow_structure(shallow, deep, check_types)


def flatten_up_to(
    shallow_tree: Any, input_tree: Any, check_types: bool = True, expand_composites: bool = False
) -> list[Any]:
    """The parts of a structure at the places of a shallow one's leaves, in order.

    Source: `tensorflow.python.util.nest.flatten_up_to`.
    """
    assert_shallow_structure(shallow_tree, input_tree, check_types)
    return _up_to(shallow_tree, input_tree)


def _up_to(shallow_tree: Any, input_tree: Any) -> list[Any]:
    if not is_nested(shallow_tree):
        return [input_tree]
    pairs = zip(_children(shallow_tree), _children(input_tree), strict=True)
    return [part for shallow, deep in pairs for part in _up_to(shallow, deep)]


def map_structure_up_to(shallow_tree: Any, func: Callable[..., Any], *inputs: Any, **kwargs: Any) -> Any:
    """The results of a function of the parts of structures, in a shallow one's structure.

    Source: `tensorflow.python.util.nest.map_structure_up_to`.
    """
    rows = zip(*(flatten_up_to(shallow_tree, each, kwargs.get("check_types", True)) for each in inputs), strict=True)
    return pack_sequence_as(shallow_tree, [func(*parts) for parts in rows])


def flatten_dict_items(dictionary: dict[Any, Any]) -> dict[Any, Any]:
    """A flat dict of a dict whose keys and values are structures alike.

    Raises:
        TypeError: it is no dict.
        ValueError: a key and its value differ in structure, or a key comes twice.

    Source: `tensorflow.python.util.nest.flatten_dict_items`.
    """
    title = "tf.nest.flatten_dict_items"
    if not isinstance(dictionary, dict):
        raise op_error(TypeError, title, f"it takes a dict, not {dictionary!r}.")
    flat: dict[Any, Any] = {}
    for key, item in dictionary.items():
        keys, values = (nest_flatten(key), nest_flatten(item)) if is_nested(key) else ([key], [item])
        if len(keys) != len(values) or {*keys} & {*flat}:
            raise op_error(ValueError, title, f"the key {key!r} does not fit its value, or comes twice.")
        flat |= zip(keys, values, strict=True)
    return flat


_function: Any
for _name, _function in {
    "nest.flatten": nest_flatten,
    "nest.map_structure": nest_map_structure,
    "nest.pack_sequence_as": pack_sequence_as,
    "nest.assert_same_structure": assert_same_structure,
    "nest.is_nested nest.is_sequence": is_nested,
    "nest.assert_shallow_structure": assert_shallow_structure,
    "nest.flatten_up_to": flatten_up_to,
    "nest.map_structure_up_to": map_structure_up_to,
    "nest.flatten_dict_items": flatten_dict_items,
}.items():
    function(_name)(_function)
