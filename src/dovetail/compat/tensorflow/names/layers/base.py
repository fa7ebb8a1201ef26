"""The base class of TensorFlow 1's layers: a scope of variables that is opened once, and reused by later calls."""

from __future__ import annotations

import copy
import inspect
import math
import re
import sys
from contextlib import suppress
from functools import partial
from importlib import import_module
from itertools import count
from typing import Any, ClassVar

import numpy as np

from dovetail import ops
from dovetail.compat.tensorflow import graph_mode
from dovetail.compat.tensorflow.entries import named, value
from dovetail.compat.tensorflow.names.array.core import convert_to_tensor
from dovetail.compat.tensorflow.names.array.structures import nest_flatten
from dovetail.compat.tensorflow.names.graph.graph import GraphKeys, nodes_of
from dovetail.compat.tensorflow.names.variables.partitions import variables_of
from dovetail.compat.tensorflow.names.variables.variable_scope import VariableScope, get_variable, variable_scope
from dovetail.core.base.errors import op_error
from dovetail.core.dtypes import as_dtype
from dovetail.core.values.structure import flatten, unflatten
from dovetail.core.values.value_kinds import dtype_of, is_tensor, static_shape
from dovetail.graph.operation import GraphTensor


class InputSpec:
    """The inputs that a layer takes.

    Args:
        dtype: the dtype.
        shape: the shape; None for any dimension.
        ndim, max_ndim, min_ndim: the number of axes, and its limits.
        axes: axis → its size.

    Source: `tf.layers.InputSpec`.
    """

    def __init__(
        self,
        dtype: Any = None,
        shape: Any = None,
        ndim: int | None = None,
        max_ndim: int | None = None,
        min_ndim: int | None = None,
        axes: dict[int, int] | None = None,
    ) -> None:
        self.dtype, self.shape, self.ndim = dtype, shape, len(shape) if shape is not None else ndim
        self.max_ndim, self.min_ndim, self.axes = max_ndim, min_ndim, axes or {}

    def check(self, title: str, x: Any) -> None:
        """Raise ValueError if the layer does not take a tensor."""
        dims = static_shape(x)
        if dims is None:
            return
        sizes = {**self.axes, **{i: dim for i, dim in enumerate(self.shape or ()) if dim is not None}}
        limits = self.min_ndim or 0, self.max_ndim or math.inf
        if (self.ndim is not None and len(dims) != self.ndim) or not limits[0] <= len(dims) <= limits[1]:
            wanted = self.ndim if self.ndim is not None else f"{limits[0]} or more"
            raise op_error(ValueError, title, f"it takes inputs with {wanted} axes, not of the shape {dims}.")
        if any(dims[axis] not in (None, size) for axis, size in sizes.items()):
            raise op_error(ValueError, title, f"the sizes of axes are {sizes}, but the shape is {dims}.")
        if self.dtype is not None and as_dtype(dtype_of(x)) != as_dtype(self.dtype):
            raise op_error(ValueError, title, f"it takes inputs of {self.dtype}, not of {dtype_of(x)}.")


_numbers = count(1)  # of layers that are made while values are computed


class _Base:
    """The base class of layers, in place of which Keras' class comes once that is imported."""


class Layer(_Base):
    """A layer: a function of tensors with variables, which its calls share.

    Programs derive classes, whose `build(input_shape)` makes variables with `add_variable`, and whose `call(inputs)`
    computes.

    Args:
        trainable: whether its variables are trained.
        name: the name of its scope, to which a number may be added; by default the name of the class.
        dtype: the dtype of variables; by default the inputs' dtype.
        _scope: a scope of variables, or its whole name inside the open one.
        _reuse: whether the variables must exist.
        activity_regularizer: a function of the outputs; its result, divided by the size of the batch, is a loss.

    Source: `tf.layers.Layer`.

    Example:
        >>> import dovetail.compat.tensorflow.compat.v1 as tf
        >>> class Scaled(tf.layers.Layer):
        ...     def build(self, input_shape):
        ...         self.scale = self.add_variable("scale", [input_shape[-1]], initializer=tf.ones_initializer())
        ...     def call(self, x):
        ...         return x * self.scale
        >>> with tf.Graph().as_default():
        ...     y = Scaled()(tf.placeholder("float32", [None, 3]))
        ...     y.shape, tf.trainable_variables()[0].name
        ((None, 3), 'scaled/scale:0')
    """

    of_keras: ClassVar[Any] = None  # the module `keras_layers`, once Keras is imported
    built = False
    trainable = True
    dtype: Any = None
    _trainable_weights: Any = ()
    _non_trainable_weights: Any = ()
    input_spec: Any = None
    update_keys: Any = (GraphKeys.UPDATE_OPS,)  # the collections of its updates
    _scope: VariableScope | None = None
    _reuse: Any = None

    def __init__(
        self,
        trainable: bool = True,
        name: str | None = None,
        dtype: Any = None,
        _scope: Any = None,
        _reuse: Any = None,
        activity_regularizer: Any = None,
    ) -> None:
        self.trainable, self._reuse, self.activity_regularizer = trainable, _reuse, activity_regularizer
        self.dtype = None if dtype is None else as_dtype(dtype)
        self._base_name = _snake_case(type(self).__name__) if name is None else name
        self.name = name or _new_name(self._base_name)
        self._trainable_weights: list[Any] = []
        self._non_trainable_weights: list[Any] = []
        self._updates: list[Any] = []
        self._losses: list[Any] = []
        self._calls: list[tuple[Any, Any]] = []
        if _scope:
            with variable_scope(_scope) as self._scope:
                pass

    # -- what programs define -----------------------------------------------------------------------------------------

    def build(self, input_shape: Any) -> None:
        """Make the variables; `input_shape` is the shape of the inputs, in their structure."""
        self.built = True

    def call(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        """The outputs for inputs."""
        return inputs

    # -- calls --------------------------------------------------------------------------------------------------------

    def __call__(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        """The outputs for inputs; the first call makes the variables.

        Raises:
            ValueError: the inputs do not fit `input_spec`; or `call` returned None.
        """
        if self._is_called_by_keras(inputs):
            return self.of_keras.adapter(self)(inputs, *args, **kwargs)
        self._take_scope(kwargs.pop("scope", None))
        reuse = True if self.built else self._reuse
        with (
            variable_scope(self._scope, reuse=reuse, auxiliary_name_scope=False) as scope,
            graph_mode.name_scope(scope.original_name_scope),
        ):
            if "scope" in inspect.signature(self.call).parameters:
                kwargs["scope"] = scope
            inputs = _tensors(inputs)
            self._prepare(inputs)
            outputs = self.call(inputs, *args, **kwargs)
            if outputs is None:
                raise op_error(ValueError, f"the layer {self.name!r}", "its call returned None, and not a tensor.")
            self._calls.append((inputs, outputs))
            self._add_activity_losses(outputs)
        for key in self.update_keys:
            _add_new(key, self.updates)
        return outputs

    def apply(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        """The outputs for inputs."""
        return self(inputs, *args, **kwargs)

    def _is_called_by_keras(self, inputs: Any = None) -> bool:
        return self.of_keras is not None and self.of_keras.is_called(inputs)

    def _take_scope(self, scope: Any = None) -> None:
        """Open the layer's scope, unless that was done before."""
        if self._scope is None:
            name, default = (scope or self._base_name, None) if self._reuse else (scope, self._base_name)
            with variable_scope(name, default) as self._scope:
                pass

    def _prepare(self, inputs: Any) -> None:
        """Check inputs, and make the variables before the first call."""
        leaves = nest_flatten(inputs)
        for spec, x in zip(nest_flatten(self.input_spec), leaves, strict=False):
            if spec is not None:
                InputSpec.check(spec, f"the layer {self.name!r}", x)  # Keras has such a class, too
        if self.built:
            return
        if getattr(self, "dtype", None) is None and leaves:
            self.dtype = as_dtype(dtype_of(leaves[0]))
        tensors, structure = flatten(inputs)
        self.build(unflatten(structure, [x.get_shape() for x in tensors]))
        self.built = True

    def _add_activity_losses(self, outputs: Any) -> None:
        if self.activity_regularizer is not None:
            for x in nest_flatten(outputs):
                loss = self.activity_regularizer(x)
                self.add_loss(ops.divide(loss, ops.cast(ops.shape(x)[0], loss.dtype)))

    # -- variables, losses, updates -----------------------------------------------------------------------------------

    def add_weight(
        self,
        name: str,
        shape: Any = (),
        dtype: Any = None,
        initializer: Any = None,
        regularizer: Any = None,
        trainable: bool | None = True,
        constraint: Any = None,
        use_resource: Any = None,
        synchronization: Any = None,
        aggregation: Any = None,
        partitioner: Any = None,
    ) -> Any:
        """A variable of the layer's scope: a new one, or the existing one if the scope is reused.

        Args:
            regularizer: a function of a new variable; its result is a loss.

        Source: `tf.layers.Layer.add_weight`.
        """
        trainable = trainable is not False and self.trainable
        if self._is_called_by_keras():
            options = {"regularizer": regularizer, "constraint": constraint, "trainable": trainable}
            first = found(initializer, "initializers.")
            made = self.of_keras.add_weight(
                self, name, shape, dtype or self.dtype or "float32", initializer=first, **options
            )
            (self._trainable_weights if trainable else self._non_trainable_weights).append(made)
            return made
        self._take_scope()
        is_eager = graph_mode.is_eager()
        known = [] if is_eager else list(graph_mode.store().variables.values())
        reuse = True if self.built and not is_eager else self._reuse
        with variable_scope(self._scope, reuse=reuse, auxiliary_name_scope=False):
            made = get_variable(
                name,
                shape,
                dtype or self.dtype or "float32",
                found(initializer, "initializers."),
                trainable=trainable,
                constraint=constraint,
                partitioner=partitioner,
            )
            if regularizer is not None and not any(made is v for v in known):
                place = f"{self._scope.original_name_scope}{name}/Regularizer/"  # type: ignore[union-attr]
                with graph_mode.name_scope(place):
                    losses = [partial(regularizer, part) for part in variables_of(made)]
                    self.add_loss(losses if is_eager else [loss() for loss in losses])
        parts = variables_of(made)
        trained = parts if is_eager else made.graph.get_collection(GraphKeys.TRAINABLE_VARIABLES)
        is_trained = trainable and any(parts[0] is v for v in trained)
        (self._trainable_weights if is_trained else self._non_trainable_weights).extend(parts)
        return made

    add_variable = add_weight

    def add_loss(self, losses: Any, inputs: Any = None) -> None:
        """Add losses, which in a graph are also in the collection of the losses of regularizers.

        Args:
            losses: tensors, or functions, which are called each time the losses are asked for.
        """
        if self._is_called_by_keras():
            self.of_keras.adapter(self).add_loss(losses)
            return
        new = [loss for loss in nest_flatten(losses) if loss is not None]
        self._losses += new
        _add_new(GraphKeys.REGULARIZATION_LOSSES, new)

    def add_update(self, updates: Any, inputs: Any = None) -> None:
        """Add operations to be run in each step of training; outside of graphs they have been run already.

        Where Keras calls the layer, they are part of the call.
        """
        if not self._is_called_by_keras() and not graph_mode.is_eager():
            self._updates += nodes_of(updates)

    @property
    def updates(self) -> list[Any]:
        """The operations to be run in each step of training; none if the layer is not trained."""
        return list(self._updates) if self.trainable else []

    @property
    def losses(self) -> list[Any]:
        """The losses of regularizers."""
        return [loss() if callable(loss) else loss for loss in self._losses]

    def get_updates_for(self, inputs: Any) -> list[Any]:
        """The updates that depend on inputs; for None, the updates that depend on no inputs of the layer."""
        return self._depending(self.updates, inputs)

    def get_losses_for(self, inputs: Any) -> list[Any]:
        """The losses that depend on inputs; for None, the losses that depend on no inputs of the layer."""
        return self._depending(self.losses, inputs)

    def _depending(self, nodes: list[Any], inputs: Any) -> list[Any]:
        if inputs is None:
            own = [x for called, _ in self._calls for x in nest_flatten(called)]
            return [node for node in nodes if not _depends(node, own)]
        return [node for node in nodes if _depends(node, nest_flatten(inputs))]

    @property
    def trainable_weights(self) -> list[Any]:
        """The variables that are trained."""
        return list(self._trainable_weights) if self.trainable else []

    @property
    def non_trainable_weights(self) -> list[Any]:
        """The other variables."""
        return [*([] if self.trainable else self._trainable_weights), *self._non_trainable_weights]

    @property
    def weights(self) -> list[Any]:
        """The variables, the trained ones first."""
        return [*self.trainable_weights, *self.non_trainable_weights]

    variables, trainable_variables, non_trainable_variables = weights, trainable_weights, non_trainable_weights

    def count_params(self) -> int:
        """The number of elements of the variables."""
        if not self.built:
            raise op_error(ValueError, f"the layer {self.name!r}", "it has no variables before its first call.")
        return sum(math.prod(v.shape) for v in self.weights)

    # -- names and tensors --------------------------------------------------------------------------------------------

    @property
    def scope_name(self) -> str:
        """The prefix of the names of variables, without its slash."""
        if self._scope is None:
            raise op_error(ValueError, f"the layer {self.name!r}", "it has no scope before its first call.")
        return self._scope.name

    @property
    def input(self) -> Any:
        """The inputs of the first call."""
        return self._first_call()[0]

    @property
    def output(self) -> Any:
        """The outputs of the first call."""
        return self._first_call()[1]

    def _first_call(self) -> tuple[Any, Any]:
        if not self._calls:
            raise AttributeError(f"the layer {self.name!r} was not called, so it has no input or output.")
        return self._calls[0]

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        """A layer with settings of its own, and the same scope, variables and tensors."""
        made = memo[id(self)] = object.__new__(type(self))
        for key, given in vars(self).items():
            is_shared = key == "_scope" or any(is_tensor(x) for x in nest_flatten(given))
            shared = list(given) if isinstance(given, list) else given
            made.__dict__[key] = shared if is_shared else copy.deepcopy(given, memo)
        return made


def _new_name(base: str) -> str:
    """The name of a layer, with a number; in a graph, one that no other layer of it has."""
    return f"{base}_{next(_numbers)}" if graph_mode.is_eager() else graph_mode.store().layer_name(base)


def _snake_case(name: str) -> str:
    """The name of a class as the name of a scope: "MyConv2D" gives "my_conv2d"."""
    return re.sub("([a-z])([A-Z])", r"\1_\2", re.sub("(.)([A-Z][a-z0-9]+)", r"\1_\2", name)).lower()


def _tensors(inputs: Any) -> Any:
    """A structure of inputs, with tensors for the arrays and numbers in it."""
    leaves, structure = flatten(inputs)
    numbers = (np.ndarray, np.generic, float, int)
    return unflatten(structure, [convert_to_tensor(x) if isinstance(x, numbers) else x for x in leaves])


def _add_new(key: str, values: list[Any]) -> None:
    """Put values into a collection of the graph, unless they are in it; nothing is collected without a graph."""
    if graph_mode.is_eager():
        return
    there = graph_mode.open_graph().get_collection_ref(key)
    there += [x for x in values if not any(x is other for other in there)]


def _depends(node: Any, inputs: list[Any]) -> bool:
    """Whether an operation or a tensor depends on inputs."""
    (op,) = nodes_of([node])
    return any(op.graph.depends_on(op, x.op) for x in inputs if isinstance(x, GraphTensor))


def found(given: Any, *places: str) -> Any:
    """A function of the table that a program gives by its last name; other values stay."""
    if not isinstance(given, str) or not places:
        return given
    for place in places:
        with suppress(KeyError):
            return named(place + given)
    raise ValueError(f"no function of TensorFlow is called {given!r}.")


value("layers.Layer", Layer, "v1")
value("layers.InputSpec", InputSpec, "v1")

_keras: Any = sys.modules.get("keras")
if hasattr(_keras, "Sequential") and _keras.config.backend() == "dovetail":
    import_module("dovetail.compat.tensorflow.keras_layers").join(Layer)
