"""The ops that hold a program together: its inputs, constants and variables."""

from __future__ import annotations

from typing import Any

import numpy as np

from dovetail.core.calls.static_types import DTypeLike, GraphLike, ShapeLike, VariableLike
from dovetail.core.dtypes import native_to_dtype
from dovetail.core.engines.collectives import COLLECTIVES
from dovetail.core.kinds import Each, Eachs
from dovetail.core.op import primitive
from dovetail.core.tensor import Tensor
from dovetail.core.values.infer import any_rank, require_shape
from dovetail.core.values.spec import TensorSpec


@primitive("Placeholder", cost="move", infer=lambda dtype, shape, known: TensorSpec(shape, dtype), differentiable=False)
def placeholder(dtype: DTypeLike, shape: ShapeLike, known: ShapeLike = None) -> Tensor:
    """An input of a graph; it has a value only when the graph runs.

    Args:
        dtype: the dtype of its elements.
        shape: the shape, with None for dimensions that are not known; None if not even the rank is known.
        known: for integers that are a shape, the known ones, and None for the others; None if none is known.

    Source: `tf.compat.v1.placeholder`.
    """


@primitive(
    "Const",
    cost="move",
    infer=lambda value: TensorSpec(value.shape, native_to_dtype(value.dtype)),
    differentiable=False,
)
def const(value: np.ndarray) -> Tensor:
    """A constant of a graph, held as a NumPy array.

    Source: `tf.constant`.
    """


def _read_spec(variable: Any, in_order: bool) -> TensorSpec:
    return TensorSpec(variable.shape, variable.dtype)


@primitive("ReadVariableOp", cost="move", infer=_read_spec, differentiable=False)
def read_variable(variable: VariableLike, in_order: bool = False) -> Tensor:
    """The value of a variable; `graph.effects` says when a run reads it.

    Args:
        variable: the variable.
        in_order: whether a run reads it at its place in the program, as a part of an update; else as early as its
            control inputs allow.

    Source: `tf.raw_ops.ReadVariableOp`.
    """


@any_rank
def _assigned_spec(value: TensorSpec, variable: Any, with_value: bool) -> TensorSpec:
    require_shape(value, variable.shape)
    return TensorSpec(variable.shape, value.dtype) if value.shape is None else value


@primitive("AssignVariableOp", cost="move", infer=_assigned_spec, differentiable=False)
def assign_variable(value: Each, variable: VariableLike, with_value: bool = False) -> Tensor:
    """Give a variable a value; the result is the value.

    Args:
        value: the new value.
        variable: the variable that gets it.
        with_value: whether each run that computes the value's operation assigns the value, too, as for variables that
            loops and branches assign.

    Source: `tf.raw_ops.AssignVariableOp`.
    """


@primitive(
    "Call", cost="move", infer=any_rank(lambda inputs, graph: [t.spec for t in graph.outputs]), differentiable=False
)
def call(inputs: Eachs, graph: GraphLike) -> tuple[Tensor, ...]:
    """Run a graph; a gradient tape records a compiled function as this op.

    Source: `tf.raw_ops.PartitionedCall`.
    """


@primitive("NoOp", cost="move", infer=tuple, differentiable=False)
def no_op() -> tuple[()]:
    """Do nothing, after the operations for which it waits.

    Source: `tf.no_op`.
    """


INPUTS = ("Placeholder", "Const", "ReadVariableOp")  # ops from which a program starts
STRUCTURAL = (*INPUTS, "AssignVariableOp", "NoOp")
EFFECTS = ("AssignVariableOp",)  # ops that give variables values
# ops that Python computes
HOST_CALLS = ("PyFunc", "PyFuncStateless", "EagerPyFunc", "Assert", "CheckNumerics", *COLLECTIVES)
# ops that a program runs even if nobody uses the result
NEVER_PRUNED = (*EFFECTS, "PyFunc", "EagerPyFunc", "Assert", *COLLECTIVES)
PRINTS = ("Print", *HOST_CALLS)  # ops with an effect each time that they run, so as often as a program has them
