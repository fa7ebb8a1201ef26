"""TensorFlow's names of nested structures: `tf.nest`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from dovetail.compat.tensorflow.table import function
from dovetail.core.errors import op_error
from dovetail.core.tensor_shape import TensorShape


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
        found = {key: _packed(structure[key], leaves) for key in sorted(structure)}
        return type(structure)((key, found[key]) for key in structure)
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


_function: Any
for _name, _function in {
    "nest.flatten": nest_flatten,
    "nest.map_structure": nest_map_structure,
    "nest.pack_sequence_as": pack_sequence_as,
    "nest.assert_same_structure": assert_same_structure,
    "nest.is_nested nest.is_sequence": is_nested,
}.items():
    function(_name)(_function)
