"""TensorFlow 2's core names: constants, modules, and classes of values."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dovetail import ops
from dovetail.compat.tensorflow.entries import value
from dovetail.compat.tensorflow.names.array.structures import nest_flatten
from dovetail.compat.tensorflow.names.strings.text import STRING, is_text, text
from dovetail.compat.tensorflow.names.variables.variable_views import View
from dovetail.compat.tensorflow.table import function, row
from dovetail.compat.tf_graph.old_shapes import old_shape, printed_shape
from dovetail.core.base.dimension import Dimension, UnknownDimension, dimension, plain
from dovetail.core.base.errors import op_error
from dovetail.core.base.tensor_shape import TensorShape, given_shape
from dovetail.core.dtypes import ALL, DType, as_dtype
from dovetail.core.tensor import Tensor
from dovetail.core.values.spec import TensorSpec, spec
from dovetail.core.values.value_kinds import dtype_of, is_tensor
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
        return printed_shape(given_shape(dims))


class TFOldShape(TFTensorShape):
    """A shape, whose dimensions have a `value`, which is None for unknown ones.

    Source: `tf.compat.v1.TensorShape`.
    """

    def __new__(cls, dims: Any = None) -> Any:
        return old_shape(given_shape(dims))


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
        return spec(shape, dtype, name)


OPERATORS = (
    "add radd sub rsub mul rmul truediv rtruediv floordiv rfloordiv mod rmod pow rpow matmul rmatmul and rand or ror "
    "xor rxor lt le gt ge eq ne getitem invert neg abs"
)


class TFTensor(metaclass=Kind):
    """The class of Dovetail's Tensors, of the tensors of graphs, and of views of variables.

    Attributes:
        OVERLOADABLE_OPERATORS: the names of the operators, for classes that wrap tensors.

    Source: `tf.Tensor`.
    """

    kinds = (Tensor, GraphTensor, View)
    OVERLOADABLE_OPERATORS = frozenset(f"__{name}__" for name in OPERATORS.split())


def _operator(name: str) -> Any:
    def call(tensor: Any, *given: Any) -> Any:
        return getattr(tensor, name)(*given)

    call.__name__, call.__doc__ = name, f"The operator {name} of a tensor."
    return call


for _name in TFTensor.OVERLOADABLE_OPERATORS:
    setattr(TFTensor, _name, _operator(_name))


value("TensorShape", TFTensorShape, "v2")
value("TensorShape", TFOldShape, "v1")
value("Dimension", TFDimension, "v1")
value("TensorSpec", TFTensorSpec)
value("Tensor", TFTensor)
value("Operation", Operation)
value("DType dtypes.DType", DType)
value("string dtypes.string", STRING)
for _name, _dtype in ALL.items():
    value(f"{_name} dtypes.{_name}", _dtype)
value("half dtypes.half", ALL["float16"])
value("double dtypes.double", ALL["float64"])
value("__version__ version.VERSION VERSION", "2.21.0")
VERSIONS: dict[str, Any] = {  # names, also as `tf.version` has them → what TensorFlow says of itself
    "GIT_VERSION": "v2.21.0",
    "COMPILER_VERSION": "none",
    "GRAPH_DEF_VERSION": 1882,  # that of the graphs which are written
    "GRAPH_DEF_VERSION_MIN_CONSUMER": 0,
    "GRAPH_DEF_VERSION_MIN_PRODUCER": 0,
}
for _name, _version in VERSIONS.items():
    value(f"version.{_name}", _version)
    value(_name, _version, "v1")
for _name, _flag in {"CXX11_ABI_FLAG": 1, "CXX_VERSION": 201703, "MONOLITHIC_BUILD": 0}.items():
    value(f"sysconfig.{_name}", _flag)
    value(_name, _flag, "v1")
value("__git_version__", VERSIONS["GIT_VERSION"])
value("__compiler_version__", VERSIONS["COMPILER_VERSION"])

# -- tensors ----------------------------------------------------------------------------------------------------------


@function("constant", default_name="Const")
def constant(
    value: Any, dtype: Any = None, shape: Any = None, name: str | None = None, verify_shape: bool = False
) -> Any:
    """A tensor of numbers or strings; they are reshaped to a given shape, and a single one is repeated.

    Args:
        verify_shape: whether the numbers must have the shape themselves.

    Source: `tf.constant`.
    """
    made = text(value, name) if is_text(value, dtype) else ops.constant(value, dtype)
    if shape is None:
        return made
    shape, count = tuple(int(plain(dimension(dim))) for dim in shape), np.size(value)
    if verify_shape and np.shape(value) != shape:
        raise op_error(TypeError, "tf.constant", f"the numbers have the shape {np.shape(value)}, not {shape}.")
    if count == 1:
        return ops.broadcast_to(ops.reshape(made, ()), shape)
    if count != math.prod(shape):
        raise op_error(TypeError, "tf.constant", f"the {count} numbers do not fill the shape {shape}.")
    return ops.reshape(made, shape)


def _tensor(value: Any, dtype: Any = None, hint: Any = None, name: str | None = None) -> Any:
    if is_text(value, dtype):
        return text(value, name)
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


convert_to_tensor = row(
    "convert_to_tensor",
    _tensor,
    "value dtype dtype_hint:hint",
    v1="value dtype name preferred_dtype:hint dtype_hint:hint",
)
value("is_tensor", is_tensor)

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
        leaves: list[Any] = []
        seen = {id(self)}
        todo: list[Any] = [self]
        while todo:
            module = todo.pop(0)
            values = [vars(module)[key] for key in sorted(vars(module)) if key != "_name"]
            for leaf in nest_flatten(values):
                if id(leaf) not in seen:
                    seen.add(id(leaf))
                    leaves.append(leaf)
                    if isinstance(leaf, Module):
                        todo.append(leaf)
        return leaves


value("Module", Module)

# -- DLPack -----------------------------------------------------------------------------------------------------------

value("experimental.dlpack.to_dlpack", dlpack.to_dlpack)
value("experimental.dlpack.from_dlpack", dlpack.from_dlpack)
