"""Views of TensorFlow's variables: the result of an assignment in a graph, and slices that can be assigned."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from dovetail import ops
from dovetail.compat.tensorflow import graph_mode
from dovetail.core.tensor import Operators
from dovetail.core.values.value_kinds import Wrapper, kind_of, register
from dovetail.graph.naming import name_new, unique_name
from dovetail.graph.operation import GraphTensor, Operation
from dovetail.ops.shapes.shape import shape_of


class View(Operators):
    """A tensor of a variable; ops and sessions take the tensor."""

    def tensor(self) -> Any:
        """The tensor at this point of the program."""
        raise NotImplementedError

    @property
    def shape(self) -> Any:
        return self.tensor().shape

    @property
    def dtype(self) -> Any:
        return self.tensor().dtype

    @property
    def arrays_follow(self) -> bool:  # type: ignore[override]
        return self.tensor().arrays_follow

    def __array__(self, *args: Any, **options: Any) -> np.ndarray:
        return self.tensor().__array__(*args, **options)

    def __bool__(self) -> bool:
        return bool(self.tensor())

    def __int__(self) -> int:
        return int(self.tensor())

    def __float__(self) -> float:
        return float(self.tensor())

    def __len__(self) -> int:
        return len(self.tensor())

    def __iter__(self) -> Iterator[Any]:
        return iter(self.tensor())

    __hash__ = object.__hash__

    def __repr__(self) -> str:
        return repr(self.tensor())


class _Kind(Wrapper):
    """The kind of views: calls take the tensor."""

    def unwrapped(self, value: Any) -> Any:
        return value.tensor()

    def followed(self, value: Any) -> Any:
        return value.tensor()

    def is_recorded(self, value: Any) -> bool:
        tensor = value.tensor()
        return kind_of(tensor).is_recorded(tensor)

    def known(self, value: Any) -> np.ndarray | None:
        tensor = value.tensor()
        return kind_of(tensor).known(tensor)


class Assigned(View):
    """The result of assigning a variable in a graph: the variable after the assignment.

    Args:
        variable: the variable that was assigned.
        op: the operation that assigns.

    Source: `tf.Variable.assign`.

    Example:
        >>> import dovetail.compat.tensorflow.compat.v1 as tf
        >>> with tf.Graph().as_default(), tf.Session() as session:
        ...     v = tf.Variable(1.0)
        ...     session.run(tf.assign_add(v.assign(5.0), 2.0))
        np.float32(7.0)
    """

    def __init__(self, variable: Any, op: Operation) -> None:
        self.variable, self.op = variable, op

    @property
    def name(self) -> str:
        return self.op.name

    @property
    def graph(self) -> Any:
        return self.op.graph

    def tensor(self) -> GraphTensor:
        """The value that was assigned; under control dependencies, the variable's value after them."""
        graph = graph_mode.graph()
        if graph is None or not graph.here.control:
            return self.op.outputs[0]
        return self._then("read_value")

    read_value = value = tensor

    def eval(self, feed_dict: Any = None, session: Any = None) -> Any:
        """The value, once a session has assigned it."""
        return self.op.outputs[0].eval(feed_dict, session)

    def _then(self, method: str, *args: Any, **kwargs: Any) -> Any:
        """The result of a method of the variable after the assignment."""
        graph = graph_mode.graph() or self.op.graph
        with graph.as_default(), graph.control_dependencies([self.op]):
            return getattr(self.variable, method)(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        attribute = getattr(self.variable, name)
        changes = name.startswith(("assign", "scatter"))
        return (lambda *args, **kwargs: self._then(name, *args, **kwargs)) if changes else attribute

    def __getitem__(self, index: Any) -> Any:
        return Slice(self, self.tensor()[index], index)


class Slice(View):
    """A part of a variable, which can be assigned.

    Args:
        variable: the whole variable; or the result of assigning one.
        part: the part now.
        index: as in `variable[index]`.

    Source: `tf.Variable.__getitem__`.

    Example:
        >>> import dovetail.compat.tensorflow as tf
        >>> v = tf.Variable([[1., 2.], [3., 4.]])
        >>> v[1].assign([5., 6.]).numpy()
        array([[1., 2.],
               [5., 6.]], dtype=float32)
    """

    def __init__(self, variable: Any, part: Any, index: Any) -> None:
        self._variable, self._part, self._index = variable, part, index

    def tensor(self) -> Any:
        return self._part

    def assign(self, value: Any, name: str | None = None) -> Any:
        """Assign this part of the variable, and return the result of assigning the variable; the value may broadcast.

        Raises:
            ValueError: the shape does not fit.
        """
        return named(self._variable.assign_changed(partial(_with_slice, self._index), value), name)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._part, name)

    def __getitem__(self, index: Any) -> Any:
        return self._part[index]


def _with_slice(index: Any, whole: Any, value: Any) -> Any:
    """A tensor with other values at `whole[index]`."""
    shape = shape_of(whole)
    places = ops.reshape(ops.arange(ops.size(whole)), shape)[index]
    values = ops.broadcast_to(ops.cast(value, whole.dtype), shape_of(places))
    flat = ops.tensor_scatter_update(
        ops.reshape(whole, (-1,)), ops.reshape(places, (-1, 1)), ops.reshape(values, (-1,))
    )
    return ops.reshape(flat, shape)


def named(result: Any, name: str | None, read_value: bool = True) -> Any:
    """Name the operation of an assignment, and return the result; or the operation, if no value is read."""
    operation = getattr(result, "op", None)
    if not isinstance(operation, Operation):
        return result if read_value else None
    if name is not None:
        name_new(operation.graph, operation, unique_name(operation.graph, name))
    return result if read_value else operation


register(View, _Kind())
