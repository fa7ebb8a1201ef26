"""Dovetail's KerasTensors: they have Dovetail's operators and keep shape values."""

from __future__ import annotations

import functools
import itertools
from typing import Any

import keras

from dovetail.core.base.errors import op_error
from dovetail.core.dtypes import DType, as_dtype, promote
from dovetail.core.tensor import Operators
from dovetail.core.values.spec import Ints, TensorSpec
from dovetail.core.values.value_kinds import dtype_of
from dovetail.edit.graph import Graph, GraphTensor
from dovetail.graph.shape_values import known_ints
from dovetail.ops import convert

_numbers = itertools.count(1)
_keras_init = keras.KerasTensor.__init__


@functools.wraps(_keras_init)
def _init(tensor: keras.KerasTensor, *args: Any, **kwargs: Any) -> None:
    _keras_init(tensor, *args, **kwargs)
    tensor._dovetail_number = next(_numbers)


keras.KerasTensor.__init__ = _init  # names do not tell which tensor is older: users choose them, and Keras resets them


def number_of(tensor: keras.KerasTensor) -> int:
    """The number of a tensor, in the order in which tensors are made; 0 for those from before the first import."""
    return getattr(tensor, "_dovetail_number", 0)


class KerasTensor(Operators, keras.KerasTensor):
    """The result of a Dovetail op in a functional model.

    Its operators are Dovetail ops; equality is object identity, since Keras keeps tensors in sets.

    Attributes:
        known_ints: for an integer tensor that may be a shape, the elements that are known now, None for the others;
            None if nothing is known.
    """

    def __init__(self, spec: TensorSpec, known_ints: Ints = None) -> None:
        super().__init__(spec.shape, spec.dtype)
        self.known_ints = known_ints

    @property
    def dtype(self) -> DType:
        return as_dtype(self._dtype)

    __eq__ = object.__eq__
    __ne__ = object.__ne__
    __hash__ = object.__hash__


def spec_of(value: Any) -> TensorSpec:
    """The spec of a value; it omits sparseness, which Keras claims of any product with a number."""
    if isinstance(value, keras.KerasTensor):
        return TensorSpec(tuple(value.shape), as_dtype(value.dtype))
    return TensorSpec(tuple(convert(value).shape), promote([dtype_of(value)]))


def input_like(spec: TensorSpec) -> keras.KerasTensor:
    """An input of a functional model."""
    return keras.Input(batch_shape=spec.shape, dtype=str(spec.dtype))


def tensor_like(found: GraphTensor) -> KerasTensor:
    """A KerasTensor with the spec and the shape value of a graph Tensor.

    Raises:
        ValueError: its rank is not known; Keras needs all ranks.
    """
    if found.shape is None:
        raise op_error(
            ValueError, found.op.type, "the rank of the result is not known, and Keras knows all ranks; reshape."
        )
    return KerasTensor(found.spec, known_ints(found))


def stand_in(value: keras.KerasTensor, graph: Graph) -> Any:
    """A placeholder of the graph with the spec and the shape value of a KerasTensor."""
    return graph.placeholder(spec_of(value), known=getattr(value, "known_ints", None))
