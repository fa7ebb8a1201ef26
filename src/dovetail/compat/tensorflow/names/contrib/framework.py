"""`tf.contrib.framework`: variables by scope and suffix, values for variables from arrays and checkpoints.

Source: `tf.contrib.framework`, the function of the same name.
"""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from dovetail import ops
from dovetail.compat.tensorflow import graph_mode
from dovetail.compat.tensorflow.entries import second, value
from dovetail.compat.tensorflow.names.contrib.arg_scope import add_arg_scope
from dovetail.compat.tensorflow.names.contrib.places import FRAMEWORK, under
from dovetail.compat.tensorflow.names.debugging import require
from dovetail.compat.tensorflow.names.graph.graph import GraphKeys, group, placeholder
from dovetail.compat.tensorflow.names.saving import checkpoint_files
from dovetail.compat.tensorflow.names.saving.checkpoints import Saver
from dovetail.compat.tensorflow.names.session.devices import device_v1
from dovetail.compat.tensorflow.names.train import steps as train
from dovetail.compat.tensorflow.names.variables.partitions import by_key, key_of, slice_info, variables_of
from dovetail.compat.tensorflow.names.variables.variable_scope import VariableScope, get_variable, get_variable_scope
from dovetail.compat.tensorflow.names.variables.variables import AnyVariableV1, assign
from dovetail.compat.tensorflow.table import arguments_of, constant_value, function
from dovetail.compat.tf_graph.old_shapes import old_shape
from dovetail.core.base.dimension import plain
from dovetail.core.base.errors import op_error, warn
from dovetail.core.values.value_kinds import is_tensor

# -- new variables ----------------------------------------------------------------------------------------------------


@add_arg_scope
@functools.wraps(get_variable, assigned=(), updated=())
def variable(*args: Any, device: Any = None, custom_getter: Any = None, **kwargs: Any) -> Any:
    """The variable of a name in the innermost scope, by default among the global variables.

    Args:
        device: the device of a new variable.
        custom_getter: a function that makes it instead of `tf.get_variable`, with the same arguments, and `reuse`.
    """
    given = {"trainable": True, **arguments_of(inspect.signature(get_variable), args, kwargs, defaults=False)}
    kept = given.get("collections")
    given["collections"] = [GraphKeys.GLOBAL_VARIABLES] if kept is None else list(dict.fromkeys(kept))
    getter: Callable[..., Any] = get_variable
    if custom_getter is not None:
        getter = functools.partial(custom_getter, reuse=get_variable_scope().reuse)
    with device_v1(device or ""):
        return getter(given.pop("name"), **given)


@add_arg_scope
@functools.wraps(get_variable, assigned=(), updated=())
def model_variable(*args: Any, device: Any = None, custom_getter: Any = None, **kwargs: Any) -> Any:
    """`variable`, also among the model's variables."""
    given = {"dtype": "float32", **arguments_of(inspect.signature(get_variable), args, kwargs, defaults=False)}
    own = [*(given.get("collections") or ()), GraphKeys.GLOBAL_VARIABLES, GraphKeys.MODEL_VARIABLES]
    return variable(**{**given, "collections": own, "device": device, "custom_getter": custom_getter})


def _kept_in(title: str, key: str) -> None:
    """Add a function that makes a variable with a value in a collection, which is not trained."""

    def made(initial_value: Any, validate_shape: bool = True, name: Any = None, use_resource: Any = None) -> Any:
        return AnyVariableV1(initial_value, False, [key], validate_shape, None, name)

    made.__doc__ = f"A variable in the collection {key!r} that is not trained."
    function(under(FRAMEWORK, title), "v1")(made)


_kept_in("local_variable", GraphKeys.LOCAL_VARIABLES)
_kept_in("global_variable", GraphKeys.GLOBAL_VARIABLES)


def add_model_variable(var: Any) -> None:
    """Put a variable among the model's variables."""
    collected = graph_mode.open_graph().get_collection_ref(GraphKeys.MODEL_VARIABLES)
    if not any(var is other for other in collected):
        collected.append(var)


# -- variables by name ------------------------------------------------------------------------------------------------


def get_variables(scope: Any = None, suffix: str | None = None, collection: Any = GraphKeys.GLOBAL_VARIABLES) -> Any:
    """The variables of a collection whose names begin with a scope and end with a suffix.

    Args:
        scope: a regular expression, or a variable scope.
        suffix: a regular expression for the end of the name, before the colon.
    """
    scope = scope.name if isinstance(scope, VariableScope) else scope
    if suffix is not None:
        scope = f"{scope or ''}.*{suffix if ':' in suffix else suffix + ':'}"
    return graph_mode.open_graph().get_collection(collection, scope)


def _listing(title: str, key: str) -> None:
    """Add `get_variables` of one collection."""

    def variables(scope: Any = None, suffix: str | None = None) -> Any:
        return get_variables(scope, suffix, key)

    variables.__doc__ = f"The variables of the collection {key!r} whose names begin with a scope and end with a suffix."
    function(under(FRAMEWORK, title), "v1")(variables)


_listing("get_model_variables", GraphKeys.MODEL_VARIABLES)
_listing("get_local_variables", GraphKeys.LOCAL_VARIABLES)
_listing("get_trainable_variables", GraphKeys.TRAINABLE_VARIABLES)


def get_variables_by_suffix(suffix: str, scope: Any = None) -> Any:
    """The variables whose names end with a suffix."""
    return get_variables(scope, suffix)


def get_variables_by_name(given_name: str, scope: Any = None) -> Any:
    """The variables with a name, in any scope."""
    return get_variables(scope, f"/{given_name}:|^{given_name}:")


def get_unique_variable(var_op_name: str) -> Any:
    """The variable with a whole name.

    Raises:
        ValueError: there is none.
    """
    for candidate in get_variables(var_op_name):
        if candidate.op.name == var_op_name:
            return candidate
    problem = f"there is no global variable {var_op_name!r}: give its whole name, with its scopes."
    raise op_error(ValueError, "tf.contrib.framework.get_unique_variable", problem)


def get_variable_full_name(var: Any) -> str:
    """The name of a variable in checkpoints."""
    return key_of(var)


def get_variables_to_restore(include: Any = None, exclude: Any = None) -> list[Any]:
    """The global variables of some scopes, except for the variables of others.

    Raises:
        TypeError: the scopes are not in a list.
    """
    for scopes in (include, exclude):
        if scopes is not None and not isinstance(scopes, (list, tuple)):
            problem = f"include and exclude are lists of scopes, not {scopes!r}."
            raise op_error(TypeError, "tf.contrib.framework.get_variables_to_restore", problem)
    left_out = {variable for scope in exclude or () for variable in get_variables(scope)}
    chosen = [variable for scope in ([None] if include is None else include) for variable in get_variables(scope)]
    return [variable for variable in chosen if variable not in left_out]


def filter_variables(
    var_list: Iterable[Any], include_patterns: Any = None, exclude_patterns: Any = None, reg_search: bool = True
) -> list[Any]:
    """The variables whose names match one regular expression of a list, and none of another.

    Args:
        include_patterns: None for all variables.
        reg_search: whether an expression may match anywhere in a name; else at its beginning.
    """
    matches = re.search if reg_search else re.match

    def has(variable: Any, patterns: Any) -> bool:
        return any(matches(pattern, variable.name) for pattern in patterns or ())

    return [
        v for v in var_list if (include_patterns is None or has(v, include_patterns)) and not has(v, exclude_patterns)
    ]


# -- values for variables ---------------------------------------------------------------------------------------------


def assign_from_values(var_names_to_values: Mapping[str, Any]) -> tuple[Any, dict[Any, Any]]:
    """The operation that gives variables the values of arrays, and the dictionary to feed.

    Raises:
        ValueError: there is no such variable, or a size differs.
    """
    by_variable = {get_unique_variable(name): array for name, array in var_names_to_values.items()}
    return _assigning(
        [(variable, np.reshape(array, variable.shape.as_list())) for variable, array in by_variable.items()]
    )


def _assigning(pairs: Sequence[tuple[Any, Any]]) -> tuple[Any, dict[Any, Any]]:
    fed = [placeholder(v.dtype, v.shape, f"placeholder/{v.op.name}") for v, _ in pairs]
    done = group(*[v.assign(x) for (v, _), x in zip(pairs, fed, strict=True)])
    return done, {x: array for x, (_, array) in zip(fed, pairs, strict=True)}


def assign_from_values_fn(var_names_to_values: Mapping[str, Any]) -> Callable[[Any], Any]:
    """A function of a session that gives variables the values of arrays."""
    done, fed = assign_from_values(var_names_to_values)
    return lambda session: session.run(done, fed)


def assign_from_checkpoint(
    model_path: str, var_list: Any, ignore_missing_vars: bool = False
) -> tuple[Any, dict[Any, Any]]:
    """The operation that gives variables the values of a checkpoint, and the dictionary to feed.

    Args:
        var_list: variables, or names in the checkpoint → a variable or a list of them.
        ignore_missing_vars: whether variables that are not in the checkpoint keep their values.

    Raises:
        ValueError: a variable is not in the checkpoint, or its shape differs.
    """
    reader, pairs = checkpoint_files.CheckpointReader(model_path), []
    for name, variables in _in_checkpoint(reader, var_list, ignore_missing_vars, "assign_from_checkpoint").items():
        whole = reader.get_tensor(name)
        for one in variables if isinstance(variables, (list, tuple)) else variables_of(variables):
            info = slice_info(one)
            array = whole if info is None or info.full_shape != list(whole.shape) else whole[info.part.box]
            if one.shape.as_list() != list(array.shape):
                problem = f"the value of {name!r} has the shape {array.shape}, the variable {one.shape}."
                raise op_error(ValueError, "tf.contrib.framework.assign_from_checkpoint", problem)
            pairs.append((one, array))
    return _assigning(pairs)


def _in_checkpoint(reader: Any, var_list: Any, ignores_others: bool, title: str) -> dict[str, Any]:
    """The variables that are in a checkpoint, by name there."""
    named = dict(var_list) if isinstance(var_list, Mapping) else by_key(var_list)
    others = [name for name in named if not reader.has_tensor(name)]
    if others and not ignores_others:
        problem = f"the checkpoint has no {', '.join(others)}; to keep such variables, say ignore_missing_vars=True."
        raise op_error(ValueError, f"tf.contrib.framework.{title}", problem)
    if others:
        warn(UserWarning, f"tf.contrib.framework.{title}", f"the checkpoint has no {', '.join(others)}.")
    return {name: target for name, target in named.items() if name not in others}


def assign_from_checkpoint_fn(
    model_path: str, var_list: Any, ignore_missing_vars: bool = False, reshape_variables: bool = False
) -> Callable[[Any], None] | None:
    """A function of a session that gives variables the values of a checkpoint; None if it has none of them.

    Args:
        var_list, ignore_missing_vars: as of `assign_from_checkpoint`.
        reshape_variables: whether a value may have another shape of as many elements.

    Raises:
        ValueError: there are no variables.
    """
    if not var_list:
        raise op_error(ValueError, "tf.contrib.framework.assign_from_checkpoint_fn", "there are no variables.")
    if ignore_missing_vars:
        reader = checkpoint_files.CheckpointReader(model_path)
        var_list = _in_checkpoint(reader, var_list, True, "assign_from_checkpoint_fn")
    if not var_list:
        return None
    saver = Saver(var_list, reshape=reshape_variables)
    return lambda session: saver.restore(session, model_path)


def zero_initializer(ref: Any, use_locking: bool = True, name: str | None = None) -> Any:
    """The operation that assigns zeros to a variable."""
    return assign(ref, np.zeros(ref.shape.as_list(), ref.dtype.as_numpy_dtype), name=name)


# -- checks -----------------------------------------------------------------------------------------------------------


def with_shape(expected_shape: Any, tensor: Any) -> Any:
    """A tensor that has a shape: refused now if it cannot have it, or by a run.

    Args:
        expected_shape: numbers, with None for any; or a tensor of numbers, with -1 for any.

    Raises:
        ValueError: the tensor has another shape.
    """
    tensor = tensor if is_tensor(tensor) else ops.convert(tensor)
    known = expected_shape if not is_tensor(expected_shape) else constant_value(expected_shape)
    if known is not None:
        known = [None if dim in (None, -1) else int(dim) for dim in map(plain, known)]
        if not old_shape(tensor.shape).is_compatible_with(known):
            problem = f"the tensor must have the shape {known}, not {tensor.shape}."
            raise op_error(ValueError, "tf.contrib.framework.with_shape", problem)
        if old_shape(tensor.shape).is_fully_defined():
            return tensor
        expected_shape = np.array([-1 if dim is None else dim for dim in known], "int32")
    sizes = ops.shape(tensor)
    fits = ops.logical_or(ops.equal(sizes, expected_shape), ops.equal(expected_shape, -1))
    check = require("contrib.framework.with_shape", ops.all(fits), "Wrong shape", [sizes, expected_shape])
    with tensor.graph.control_dependencies([check]):
        checked = ops.identity(tensor)
    checked.set_shape(known)
    return checked


def with_same_shape(expected_tensor: Any, tensor: Any) -> Any:
    """A tensor that has the shape of another one, as of `with_shape`."""
    shape = old_shape(expected_tensor.shape)
    return with_shape(shape.as_list() if shape.is_fully_defined() else ops.shape(expected_tensor), tensor)


def assert_or_get_global_step(graph: Any = None, global_step_tensor: Any = None) -> Any:
    """A global step after a check; without one, the graph's, or None."""
    if global_step_tensor is None:
        return train.get_global_step(graph)
    train.assert_global_step(global_step_tensor)
    return global_step_tensor


value(under(FRAMEWORK, "variable"), variable, "v1")
value(under(FRAMEWORK, "model_variable"), model_variable, "v1")
for _function in (
    add_model_variable,
    get_variables,
    get_variables_by_suffix,
    get_variables_by_name,
    get_unique_variable,
    get_variable_full_name,
    get_variables_to_restore,
    filter_variables,
    assign_from_values,
    assign_from_values_fn,
    assign_from_checkpoint,
    assign_from_checkpoint_fn,
    assert_or_get_global_step,
    zero_initializer,
    with_shape,
    with_same_shape,
):
    value(under(FRAMEWORK, _function.__name__), _function, "v1")

_OTHERS = {  # the module of names that are TensorFlow's own, too
    "train.": "get_global_step create_global_step get_or_create_global_step assert_global_step list_variables "
    "load_variable load_checkpoint init_from_checkpoint",
    "": "sort argsort is_tensor assert_scalar assert_same_float_dtype",
}
for _module, _names in _OTHERS.items():
    for _name in _names.split():
        second(under(FRAMEWORK, _name), _module + _name)
