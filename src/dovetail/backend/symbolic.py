"""The default graph, which old programs build step by step: placeholders, and the operations on them.

The first `K.placeholder` of a thread opens its default graph.  From then until `K.clear_session()`, the graph records
ops on K's variables, as it records ops on placeholders.  So an expression of variables uses the values that they have
when it runs.  Ops on eager Tensors, on arrays and on variables that K did not make are still computed at once.
"""

from __future__ import annotations

import functools
import operator
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np

from dovetail import backend as K
from dovetail import ops
from dovetail.backend.feeding import sparse_placeholder
from dovetail.backend.sparse import values_of
from dovetail.core.base.scopes import not_building
from dovetail.core.base.table import OPS
from dovetail.core.values.spec import spec
from dovetail.core.values.structure import flatten
from dovetail.core.values.value_kinds import kind_of
from dovetail.core.values.variable import Variable
from dovetail.edit.graph import GraphTensor
from dovetail.graph.nesting import outermost_of
from dovetail.sessions.session_graph import SessionGraph, open_default_graph, recording_graph
from dovetail.trace import trace, variables

__all__ = [
    "control_dependencies",
    "eager",
    "is_keras_tensor",
    "is_placeholder",
    "is_symbolic",
    "is_tensor",
    "is_variable",
    "placeholder",
    "symbolic",
]


def learning_phase_of(graph: SessionGraph) -> Any:
    """The learning phase of a graph, whether it is training: False unless another value is fed."""
    phases = graph.get_collection_ref("keras_learning_phase")
    if not phases:
        with graph.as_default():
            phase = graph.constant(np.array(False))
            phases.append(ops.placeholder_with_default(phase, name="keras_learning_phase"))
    return phases[0]


def recorded_update(graph: SessionGraph, variable: Variable, value: Any, op: Any = None) -> GraphTensor:
    """Record an update, and return a tensor of the next value; programs that compute it assign it to the variable.

    Args:
        graph: the graph that records it.
        variable: the variable, which does not change now.
        value: the next value, or the second argument of `op`.
        op: a function of the variable's value and `value`; several such updates of one program add up.
    """
    if trace.current_graph() not in (None, graph):
        raise ValueError(
            "a value computed inside a branch or a loop cannot update a variable: use K.switch on the value instead."
        )
    value = trace.to_graph(value, variable.dtype, graph, OPS["AssignVariableOp"])
    following = value if op is None else op(variables.read_for_update(graph, variable), value)
    variable.check_shape(following)
    return variables.add_assignment(graph, variable, following).outputs[0]


def in_default_graph(x: Any) -> bool:
    """Whether `x` is a tensor of a default graph, this thread's or another."""
    x = values_of(x)
    return type(x) is GraphTensor and isinstance(x.graph, SessionGraph)


def is_of_keras(x: Any) -> bool:
    """Whether `x` is a tensor of a functional model of Keras 3."""
    return kind_of(x).is_of_model


def interop_keras() -> Any:
    """The module for Keras' models, which was imported together with Keras."""
    return sys.modules["dovetail.interop.keras"]


# -- placeholders -----------------------------------------------------------------------------------------------------


def placeholder(
    shape: Any = None,
    ndim: int | None = None,
    dtype: Any = None,
    sparse: bool = False,
    name: str | None = None,
    ragged: bool = False,
) -> Any:
    """An input of the default graph; the first one opens that graph.

    From then until `K.clear_session`, the graph records expressions of K's variables; `K.eager` makes exceptions.

    Args:
        shape: ints, with None for dimensions that are not known.
        ndim: the number of axes, if `shape` is not given; without both, the rank is unknown.
        dtype: its type; `floatx` if not given.
        sparse: whether it is a `SparseTensor`, for which SciPy matrices or other sparse tensors are fed; its rank must
            be given.
        ragged: must be False.
        name: its name in the graph.

    Returns:
        A graph Tensor, which has a value only while `K.function` or a session runs; for `sparse`, a `SparseTensor` of
        graph Tensors.

    Raises:
        ValueError: a dimension is negative; `sparse` and `ragged` are both True; `sparse` is True without a rank; or a
            `dovetail.function` is being traced.
        TypeError: there is no such dtype, or a dimension is no integer.
        NotImplementedError: `ragged` is True.

    Source: `tf.keras.backend.placeholder`.

    Differs: ragged placeholders are not offered.
    The rank of a sparse placeholder must be known.

    Modern: `keras.Input(batch_shape=shape, dtype=dtype)`.

    Example:
        >>> x = K.placeholder((None, 3))
        >>> x.shape, x.dtype
        ((None, 3), 'float32')
        >>> K.function([x], [K.sum(x, axis=1)])([[[1., 2., 3.]]])
        [array([6.], dtype=float32)]
        >>> import scipy.sparse
        >>> s = K.placeholder((None, 3), sparse=True)
        >>> K.function([s], K.sum(s, axis=1))(scipy.sparse.csr_matrix([[1., 0., 0.], [0., 2., 3.]]))
        array([1., 5.], dtype=float32)
        >>> K.clear_session()
    """
    if sparse and ragged:
        raise ValueError("a placeholder cannot be both sparse and ragged.")
    if ragged:
        raise NotImplementedError(
            "no tensor is ragged here; feed rows of one length, padded with zeros, and their lengths or a mask."
        )
    if trace.current_graph() is not None and recording_graph() is None:
        raise ValueError(
            "a function that is being traced has its arguments as inputs; make placeholders outside of it."
        )
    dims = (None,) * ndim if not shape and ndim else _dims(shape)
    graph = open_default_graph()
    if sparse:
        return sparse_placeholder(graph, dims, dtype or K.floatx(), name)
    return graph.placeholder(spec(dims, dtype or K.floatx()), name)


def _dims(shape: Any) -> Any:
    if shape is None:
        return None
    dims = [dim if dim is None else operator.index(dim) for dim in (shape if np.iterable(shape) else [shape])]
    if any(dim is not None and dim < 0 for dim in dims):
        raise ValueError(f"the dimensions of a shape are 0 or more, or None where they are not known, not {shape}.")
    return dims


# -- kinds of values --------------------------------------------------------------------------------------------------


def is_placeholder(x: Any) -> bool:
    """Whether `K.placeholder` made `x`.

    Args:
        x: anything.

    Source: `keras.backend.is_placeholder` of Keras 2.3.

    Modern: `isinstance(x, keras.KerasTensor)`, of an input of a model.

    Example:
        >>> x = K.placeholder((2,))
        >>> K.is_placeholder(x), K.is_placeholder(x + 1)
        (True, False)
        >>> K.clear_session()
    """
    return in_default_graph(x) and values_of(x).op.type == "Placeholder"


def is_symbolic(x: Any) -> bool:
    """Whether `x` is a tensor without a value yet: of a graph, of a Keras model, or of a function being traced.

    Args:
        x: anything.

    Source: `keras.backend.is_symbolic` of Keras 2.3.

    Modern: `isinstance(x, keras.KerasTensor)`, `tf.is_symbolic_tensor(x)`.

    Example:
        >>> K.is_symbolic(K.constant([1., 1.]))
        False
    """
    x = values_of(x)
    return kind_of(x).is_traced(x)


def is_tensor(x: Any) -> bool:
    """Whether `x` is a tensor or a variable of Dovetail, an engine or Keras; NumPy arrays are not.

    Args:
        x: anything.

    Source: `keras.backend.is_tensor` of Keras 2.3.

    Modern: `keras.ops.is_tensor(x)`, `tf.is_tensor(x)`.

    Example:
        >>> K.is_tensor(K.constant([1., 1.])), K.is_tensor([1., 1.])
        (True, False)
    """
    return kind_of(x).is_tensor


def is_variable(x: Any) -> bool:
    """Whether `x` is a variable of Dovetail, Keras or TensorFlow.

    Args:
        x: anything.

    Source: `keras.backend.is_variable` of Keras 2.3.

    Modern: `isinstance(x, keras.Variable)`.

    Example:
        >>> K.is_variable(K.variable([1., 2.])), K.is_variable(K.constant([1., 2.]))
        (True, False)
    """
    return isinstance(x, Variable) or (K.is_tensor(x) and hasattr(x, "assign"))


def is_keras_tensor(x: Any) -> bool:
    """Whether `x` is a tensor of a Keras model, or of the default graph.

    Args:
        x: a tensor or variable.

    Raises:
        ValueError: `x` is no tensor.

    Source: `tf.keras.backend.is_keras_tensor`.

    Modern: `keras.utils.is_keras_tensor(x)`.

    Example:
        >>> x = K.placeholder((2,))
        >>> K.is_keras_tensor(x), K.is_keras_tensor(K.variable([1., 2.]))
        (True, False)
        >>> K.clear_session()
    """
    if not K.is_tensor(x):
        raise ValueError(f"it needs a tensor, not {x!r}.")
    x = values_of(x)
    if type(x) is GraphTensor:
        return isinstance(outermost_of(x.graph), SessionGraph)
    return kind_of(x).is_symbolic


# -- recording --------------------------------------------------------------------------------------------------------


def eager(func: Callable[..., Any]) -> Callable[..., Any]:
    """A function that computes at once, even while the default graph is open.

    Args:
        func: a function of tensors.

    Source: `keras.backend.eager` of Keras 2.3.

    Modern: none is needed; outside `tf.function` everything computes at once.

    Example:
        >>> x, w = K.placeholder((2,)), K.variable([1., 2.])
        >>> K.sum(w)
        <graph tensor Sum:0 float32[]>
        >>> K.eager(K.sum)(w)
        Tensor(3., float32[], numpy)
        >>> K.clear_session()
    """

    @functools.wraps(func)
    def call(*args: Any, **kwargs: Any) -> Any:
        with not_building():
            return func(*args, **kwargs)

    return call


def symbolic(func: Callable[..., Any]) -> Callable[..., Any]:
    """A function that first opens the default graph, if that is not open, as `K.placeholder` does.

    Args:
        func: a function of tensors.

    Source: `keras.backend.symbolic` of Keras 2.3.

    Modern: `tf.function(func)`.

    Example:
        >>> w = K.variable([1., 2.])
        >>> K.symbolic(K.sum)(w)
        <graph tensor Sum:0 float32[]>
        >>> K.clear_session()
    """

    @functools.wraps(func)
    def call(*args: Any, **kwargs: Any) -> Any:
        if trace.current_graph() is None:
            open_default_graph()
        return func(*args, **kwargs)

    return call


def control_dependencies(control_inputs: Any) -> AbstractContextManager[Any]:
    """Compute tensors and updates before the operations that the `with` block records, whenever those run.

    Args:
        control_inputs: tensors and updates of the default graph; values that are computed already do not count.

    Source: `keras.backend.control_dependencies` of Keras 2.3.

    Modern: `tf.control_dependencies(control_inputs)`.

    Example:
        >>> x, count = K.placeholder(()), K.variable(0.)
        >>> with K.control_dependencies([K.update_add(count, 1.)]):
        ...     y = x * 2.
        >>> K.function([x], y)(3.), K.get_value(count)
        (np.float32(6.0), np.float32(1.0))
        >>> K.clear_session()
    """
    graph = recording_graph()
    if graph is None:
        return nullcontext()
    return graph.control_dependencies([t.op for t in flatten(control_inputs)[0] if type(t) is GraphTensor])
