"""TensorFlow 2's core names: constants, tapes, gradients, modules, structures, and classes of values."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import Any

import numpy as np

from dovetail import ops
from dovetail.autodiff.custom import custom_gradient
from dovetail.autodiff.graph_gradients import gradients as graph_gradients
from dovetail.autodiff.recompute import recompute_grad
from dovetail.autodiff.tape import GradientTape
from dovetail.compat.tensorflow import graph_mode
from dovetail.compat.tensorflow.names.variable_views import View
from dovetail.compat.tensorflow.table import function, row, value
from dovetail.core.dimension import Dimension, UnknownDimension, dimension, plain
from dovetail.core.dtypes import ALL, DType, as_dtype
from dovetail.core.errors import op_error
from dovetail.core.gradients import RegisterGradient
from dovetail.core.spec import TensorSpec, spec
from dovetail.core.structure import flatten, flatten_like
from dovetail.core.tensor import Tensor
from dovetail.core.tensor_shape import TensorShape, old_shape, shape_of
from dovetail.core.value_kinds import dtype_of, is_tensor, kind_of
from dovetail.graph.operation import GraphTensor, Operation
from dovetail.interop import dlpack

# -- classes of values ------------------------------------------------------------------------------------------------


class Kind(type):
    """The metaclass of classes whose instances are the instances of Dovetail's classes in `kinds`."""

    kinds: tuple[type, ...]

    def __instancecheck__(cls, value: Any) -> bool:
        return isinstance(value, cls.kinds)

    def __subclasscheck__(cls, other: type) -> bool:
        return issubclass(other, cls.kinds) or super().__subclasscheck__(other)


class TFTensorShape(metaclass=Kind):
    """A shape, whose dimensions or rank may be unknown.

    Source: `tf.TensorShape`.
    """

    kinds = (TensorShape,)

    def __new__(cls, dims: Any = None) -> Any:
        return shape_of([dims] if isinstance(dims, (int, np.integer)) else dims)


class TFOldShape(TFTensorShape):
    """A shape, whose dimensions have a `value`, which is None for unknown ones.

    Source: `tf.compat.v1.TensorShape`.
    """

    def __new__(cls, dims: Any = None) -> Any:
        return old_shape(super().__new__(cls, plain(dims)))


class TFDimension(metaclass=Kind):
    """A dimension, which may be unknown.

    Source: `tf.compat.v1.Dimension`.
    """

    kinds = (Dimension, UnknownDimension)

    def __new__(cls, value: Any) -> Any:
        return dimension(value)


class TFTensorSpec(metaclass=Kind):
    """The shape and dtype of a tensor.

    Source: `tf.TensorSpec`.
    """

    kinds = (TensorSpec,)

    def __new__(cls, shape: Any, dtype: Any = "float32", name: str | None = None) -> Any:
        return spec(shape, dtype)


class TFTensor(metaclass=Kind):
    """The class of Dovetail's Tensors, of the tensors of graphs, and of views of variables.

    Source: `tf.Tensor`.
    """

    kinds = (Tensor, GraphTensor, View)


value("TensorShape", TFTensorShape, "v2")
value("TensorShape", TFOldShape, "v1")
value("Dimension", TFDimension, "v1")
value("TensorSpec", TFTensorSpec)
value("Tensor", TFTensor)
value("Operation", Operation)
value("DType dtypes.DType", DType)
value("string dtypes.string", bytes)  # of features of records; tensors hold none
for _name, _dtype in ALL.items():
    value(f"{_name} dtypes.{_name}", _dtype)
value("half", ALL["float16"])
value("double", ALL["float64"])
value("as_dtype dtypes.as_dtype", as_dtype)
value("__version__ version.VERSION VERSION", "2.21.0")

# -- tensors ----------------------------------------------------------------------------------------------------------


@function("constant", default_name="Const")
def constant(
    value: Any, dtype: Any = None, shape: Any = None, name: str | None = None, verify_shape: bool = False
) -> Any:
    """A tensor of numbers; they are reshaped to a given shape, and a single number is repeated.

    Args:
        verify_shape: whether the numbers must have the shape themselves.

    Source: `tf.constant`.
    """
    if shape is None:
        return ops.constant(value, dtype)
    shape, count = tuple(int(dim) for dim in shape), np.size(value)
    if verify_shape and np.shape(value) != shape:
        raise op_error(TypeError, "tf.constant", f"the numbers have the shape {np.shape(value)}, not {shape}.")
    if count == 1:
        return ops.broadcast_to(ops.reshape(ops.constant(value, dtype), ()), shape)
    if count != math.prod(shape):
        raise op_error(TypeError, "tf.constant", f"the {count} numbers do not fill the shape {shape}.")
    return ops.reshape(ops.constant(value, dtype), shape)


def _tensor(value: Any, dtype: Any = None, hint: Any = None, name: str | None = None) -> Any:
    value = value.to_dense() if hasattr(value, "to_dense") and hasattr(value, "indices") else value
    if dtype is None and hint is not None and not is_tensor(value):
        try:
            return ops.convert(value, hint)
        except (TypeError, ValueError, OverflowError):
            pass
    if dtype is not None and is_tensor(value) and as_dtype(dtype_of(value)) != as_dtype(dtype):
        problem = f"a tensor of {dtype_of(value)} is not made one of {as_dtype(dtype)}; tf.cast does that."
        raise op_error(ValueError, "tf.convert_to_tensor", problem)
    if value is None:
        raise op_error(ValueError, "tf.convert_to_tensor", "None is no tensor; give numbers, an array or a tensor.")
    return value if isinstance(value, GraphTensor) else ops.convert(value, dtype)


row(
    "convert_to_tensor",
    _tensor,
    "value dtype dtype_hint:hint",
    v1="value dtype name preferred_dtype:hint dtype_hint:hint",
)
value("is_tensor", is_tensor)

# -- gradients --------------------------------------------------------------------------------------------------------


class UnconnectedGradients(StrEnum):
    """The values of a gradient by a tensor that the result does not depend on.

    Source: `tf.UnconnectedGradients`.
    """

    NONE = "none"
    ZERO = "zero"


value("UnconnectedGradients", UnconnectedGradients)
value("GradientTape", GradientTape)
value("custom_gradient", custom_gradient, "v2")
value("recompute_grad", recompute_grad)
value("RegisterGradient", RegisterGradient)


@function("gradients", scope=True)
def gradients(
    ys: Any,
    xs: Any,
    grad_ys: Any = None,
    name: str | None = None,
    colocate_gradients_with_ops: bool = False,
    gate_gradients: Any = False,
    aggregation_method: Any = None,
    stop_gradients: Any = None,
    unconnected_gradients: str = "none",
) -> list[Any]:
    """The gradients of tensors of a graph by other tensors; None for gradients of integers and by integers.

    Raises:
        ValueError: `aggregation_method` is none of `tf.AggregationMethod`.

    Source: `tf.gradients`.
    """
    check_aggregation("tf.gradients", aggregation_method)
    xs = [_in_graph(x) for x in (xs if isinstance(xs, (list, tuple)) else [xs])]
    targets, structure = flatten(ys)
    targets = [_in_graph(y) for y in targets]
    if is_tensor(ys) and isinstance(grad_ys, (list, tuple)) and len(grad_ys) == 1:
        (grad_ys,) = grad_ys
    arriving = flatten_like(structure, grad_ys)
    pairs = [(y, g) for y, g in zip(targets, arriving, strict=True) if _may_have_gradient(y)]
    sources = [x for x in xs if _may_have_gradient(x)]
    found: list[Any] = [None] * len(xs)
    if pairs:
        stopped = () if stop_gradients is None else stop_gradients
        made = graph_gradients([y for y, _ in pairs], sources, [g for _, g in pairs], stopped)
        by_source = dict(zip(map(id, sources), made, strict=True))
        found = [by_source.get(id(x)) for x in xs]
    if unconnected_gradients == "zero":
        found = [ops.zeros_like(x) if g is None else g for x, g in zip(xs, found, strict=True)]
    return found


def _in_graph(x: Any) -> Any:
    """A tensor or a variable; for those of Keras, the ones of the open graph."""
    x, graph = kind_of(x).followed(x), graph_mode.graph()
    return kind_of(x).in_graph(x, graph) if kind_of(x).is_of_model and graph is not None else x


def _may_have_gradient(x: Any) -> bool:
    return not is_tensor(x) or x.dtype.is_differentiable


class AggregationMethod:
    """The ways of adding gradients up; the sum is the same for all.

    Source: `tf.AggregationMethod`.
    """

    ADD_N = DEFAULT = 0
    EXPERIMENTAL_TREE = 1
    EXPERIMENTAL_ACCUMULATE_N = 2


value("AggregationMethod", AggregationMethod)


def check_aggregation(title: str, method: Any) -> None:
    """Refuse a value that is not an `AggregationMethod`."""
    if method not in (None, 0, 1, 2):
        raise op_error(ValueError, title, f"aggregation_method is one of tf.AggregationMethod, not {method!r}.")


@function("hessians", scope=True)
def hessians(
    ys: Any,
    xs: Any,
    name: str | None = None,
    colocate_gradients_with_ops: bool = False,
    gate_gradients: Any = False,
    aggregation_method: Any = None,
) -> list[Any]:
    """The matrices of second derivatives of a scalar of a graph.

    Raises:
        ValueError: `aggregation_method` is none of `tf.AggregationMethod`.

    Source: `tf.hessians`.
    """
    check_aggregation("tf.hessians", aggregation_method)
    found = []
    for x in xs if isinstance(xs, (list, tuple)) else [xs]:
        (gradient,) = graph_gradients(ys, [x])
        flat = ops.reshape(gradient, (-1,))
        if None in x.shape:
            raise op_error(ValueError, "tf.hessians", f"the shape of {x!r} must be known.")
        rows = [graph_gradients(flat[i], [x])[0] for i in range(int(np.prod(x.shape)))]
        rows = [ops.zeros_like(x) if row is None else row for row in rows]
        found.append(ops.reshape(ops.stack(rows), (*x.shape, *x.shape)))
    return found


@function("NotDifferentiable no_gradient NoGradient")
def not_differentiable(op_type: str) -> None:
    """Register that an op has no gradient.

    Source: `tf.no_gradient`.
    """
    RegisterGradient(op_type)(lambda op, *grads: [None] * len(op.inputs))


# -- structures -------------------------------------------------------------------------------------------------------


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

# -- modules ----------------------------------------------------------------------------------------------------------


class Module:
    """A bundle of variables and of other modules, found among the attributes.

    Source: `tf.Module`.
    """

    def __init__(self, name: str | None = None) -> None:
        self._name = name or type(self).__name__.lower()

    @property
    def name(self) -> str:
        return self._name

    @property
    def variables(self) -> tuple[Any, ...]:
        return tuple(dict.fromkeys(leaf for leaf in self._leaves() if hasattr(leaf, "assign")))

    @property
    def trainable_variables(self) -> tuple[Any, ...]:
        return tuple(variable for variable in self.variables if variable.trainable)

    @property
    def non_trainable_variables(self) -> tuple[Any, ...]:
        return tuple(variable for variable in self.variables if not variable.trainable)

    @property
    def submodules(self) -> tuple[Any, ...]:
        return tuple(dict.fromkeys(leaf for leaf in self._leaves() if isinstance(leaf, Module)))

    def _leaves(self) -> list[Any]:
        found: list[Any] = []
        seen = {id(self)}
        todo: list[Any] = [self]
        while todo:
            module = todo.pop(0)
            values = [vars(module)[key] for key in sorted(vars(module)) if key != "_name"]
            for leaf in nest_flatten(values):
                if id(leaf) not in seen:
                    seen.add(id(leaf))
                    found.append(leaf)
                    if isinstance(leaf, Module):
                        todo.append(leaf)
        return found


value("Module", Module)

# -- DLPack -----------------------------------------------------------------------------------------------------------

value("experimental.dlpack.to_dlpack", dlpack.to_dlpack)
value("experimental.dlpack.from_dlpack", dlpack.from_dlpack)
