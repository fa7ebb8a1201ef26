"""Variables by their whole names: new ones, whole or in parts, and those that there are."""

from __future__ import annotations

from inspect import signature
from typing import Any

from dovetail import ops
from dovetail.compat.tensorflow import graph_mode
from dovetail.compat.tensorflow.names.graph.graph import GraphKeys
from dovetail.compat.tensorflow.names.strings.text import STRING, is_text
from dovetail.compat.tensorflow.names.variables.initializers import default_initializer
from dovetail.compat.tensorflow.names.variables.partitioners import partitions_by, slices_of
from dovetail.compat.tensorflow.names.variables.partitions import PartitionedVariable, SaveSliceInfo
from dovetail.compat.tensorflow.names.variables.variables import named_variable
from dovetail.compat.tf_graph.old_shapes import old_shape
from dovetail.core.base.dimension import dimension, plain
from dovetail.core.base.errors import op_error
from dovetail.core.base.tensor_shape import shape_of
from dovetail.core.dtypes import as_dtype
from dovetail.core.values.value_kinds import is_tensor, static_shape
from dovetail.graph.operation import GraphTensor


def named(name: str, shape: Any = None, partitioner: Any = None, reuse: Any = None, **options: Any) -> Any:
    """The variable of a whole name: whole, or in parts if there is a partitioner; outside of graphs, a new one."""
    if graph_mode.is_eager():
        return _eager(name, shape, **options)
    known = graph_mode.store().variables
    if partitioner is not None and (shape is None or shape_of(shape).rank != 0):
        return _partitioned(name, shape, partitioner, reuse, **options)
    variable = known.get(name)
    if f"{name}/part_0" in known and not (reuse is True and isinstance(variable, PartitionedVariable)):
        problem = f"the variable {name!r} is in parts, and no partitioner is given; give it, or say reuse=True."
        raise op_error(ValueError, "tf.get_variable", problem)
    return _single(name, shape, reuse=reuse, **options)


def _eager(
    name: str,
    shape: Any = None,
    dtype: Any = "float32",
    initializer: Any = None,
    trainable: bool | None = None,
    constraint: Any = None,
    **unread: Any,
) -> Any:
    """A new variable with its value at once."""
    first = _first_value(name, shape, as_dtype(dtype), initializer, None)
    return named_variable(name, first, trainable, dtype, constraint=constraint)


def _partitioned(
    name: str, shape: Any, partitioner: Any, reuse: Any, dtype: Any = "float32", initializer: Any = None, **options: Any
) -> Any:
    """The variable of a whole name, in parts."""
    known, numbers = graph_mode.store().variables, None
    if initializer is not None and not callable(initializer):
        numbers = ops.convert(initializer, None if is_tensor(initializer) else as_dtype(dtype))
        shape, dtype = shape_of(static_shape(numbers)).merge_with(shape), numbers.dtype
    whole = old_shape(shape_of(shape if hasattr(shape, "__iter__") or shape is None else [shape]))
    partitions = partitions_by(partitioner, whole, as_dtype(dtype), name)
    variable = known.get(name)
    if variable is not None:
        had = variable._get_partitions() if isinstance(variable, PartitionedVariable) else None
        if had != partitions:
            how = "whole" if had is None else f"in the parts {had}"
            problem = f"the variable {name!r} is there {how}, not in the parts {partitions}."
            raise op_error(ValueError, "tf.get_variable", problem)
        return _reused(variable, name, whole, dtype, reuse)
    made = []
    for number, info in enumerate(slices_of(name, whole.as_list(), partitions)):
        begin = initializer if numbers is None else _cut(name, numbers, info)
        part = _single(
            f"{name}/part_{number}",
            info.var_shape if numbers is None else None,
            dtype,
            begin,
            reuse=reuse,
            partition_info=info,
            **options,
        )
        part._save_slice_info = info
        made.append(part)
    known[name] = PartitionedVariable(made, partitions)
    return known[name]


def _cut(name: str, numbers: Any, info: SaveSliceInfo) -> Any:
    """The numbers that a part begins with."""
    with graph_mode.lifted() as graph, graph.at_scope(f"{name}/PartitionedInitializer/"):
        return numbers[info.part.box]


def _single(
    name: str,
    shape: Any = None,
    dtype: Any = "float32",
    initializer: Any = None,
    regularizer: Any = None,
    trainable: bool | None = None,
    collections: Any = None,
    constraint: Any = None,
    reuse: Any = None,
    partition_info: Any = None,
    validate_shape: bool = True,
    **unread: Any,
) -> Any:
    """The variable of a whole name, which may be a part of another one."""
    graph, known = graph_mode.open_graph(), graph_mode.store().variables
    variable = known.get(name)
    if variable is not None:
        repeated = graph_mode.store().repeated
        is_found = reuse or name in repeated
        repeated.discard(name)
        return _reused(variable, name, shape, dtype, is_found)
    if reuse is True:
        problem = f"there is no variable {name!r} to reuse; was it made by get_variable, and without reuse?"
        raise op_error(ValueError, "tf.get_variable", problem)
    with graph_mode.lifted(), graph.at_scope(f"{name}/Initializer/"):
        has_strings = is_text(initializer)
        first = initializer if has_strings else _first_value(name, shape, as_dtype(dtype), initializer, partition_info)
    if isinstance(first, GraphTensor) and (initializer is None or callable(initializer)):
        operation: Any = first.op
        operation._set_attr("_class", [f"loc:@{name}".encode()])  # the device of the variable
    has_shape = validate_shape or shape is not None
    options = {"collections": collections, "constraint": constraint, "validate_shape": has_shape}
    made = named_variable(name, first, trainable, dtype, **options)
    known[name] = made
    if regularizer is not None:
        with graph_mode.lifted(), graph.at_scope(f"{name}/Regularizer/"):
            loss = regularizer(made)
        if loss is not None:
            graph.add_to_collection(GraphKeys.REGULARIZATION_LOSSES, loss)
    return made


def new_dtype(initializer: Any, dtype: Any, default: Any) -> Any:
    """The dtype of a new variable: that of the numbers it begins with, if the program does not give another."""
    if is_text(initializer):
        return STRING
    if dtype is not None or initializer is None or callable(initializer):
        return default if dtype is None else as_dtype(dtype)
    return ops.convert(initializer).dtype


def _reused(found: Any, name: str, shape: Any, dtype: Any, reuse: Any) -> Any:
    if not reuse:
        problem = (
            f"the variable {name!r} is there already; say reuse=True or reuse=tf.AUTO_REUSE to its variable_scope."
        )
        raise op_error(ValueError, "tf.get_variable", problem)
    if shape is not None and not found.shape.is_compatible_with(shape if hasattr(shape, "__iter__") else [shape]):
        problem = f"the variable {name!r} has the shape {found.shape}, not {tuple(shape)}."
        raise op_error(ValueError, "tf.get_variable", problem)
    if found.dtype != as_dtype(dtype):
        raise op_error(ValueError, "tf.get_variable", f"the variable {name!r} is of {found.dtype}, not of {dtype}.")
    return found


def _needed(initializer: Any) -> Any:
    """The parameters of an initializer that have no defaults."""
    return [one for one in signature(initializer).parameters.values() if one.default is one.empty]


def _first_value(name: str, shape: Any, dtype: Any, initializer: Any, part: SaveSliceInfo | None) -> Any:
    if initializer is not None and not callable(initializer):
        if shape is not None:
            raise op_error(ValueError, "tf.get_variable", "with numbers as initializer there must be no shape.")
        return ops.cast(initializer, dtype) if isinstance(initializer, GraphTensor) else ops.convert(initializer, dtype)
    if shape is None and callable(initializer) and not isinstance(initializer, type) and not _needed(initializer):
        return _first_value(name, None, dtype, initializer(), part)
    if shape is None:
        problem = f"the shape of a new variable ({name!r}) must be said, or its initializer be numbers."
        raise op_error(ValueError, "tf.get_variable", problem)
    dims = [int(plain(dimension(dim))) for dim in (shape if hasattr(shape, "__iter__") else [shape])]
    if isinstance(initializer, type):
        initializer = initializer()
    if initializer is None:
        initializer = default_initializer(dtype)
    more = {"partition_info": part} if part and "partition_info" in signature(initializer).parameters else {}
    try:
        return initializer(dims, dtype=dtype, **more)
    except TypeError:
        if "dtype" in signature(initializer).parameters:
            raise
        return initializer(dims, **more)
