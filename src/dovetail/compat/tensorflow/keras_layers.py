"""TensorFlow 1's layers as layers of Keras, once Keras is imported: for `isinstance`, in wrappers and in models.

The classes inherit from Keras' `Layer`, but none of its behaviour.  A layer that Keras calls, or asks for an attribute
that TensorFlow's layers lack, does it by an adapter: a layer of Keras whose weights are Keras'.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable
from typing import Any

import keras

from dovetail.compat.tensorflow.entries import V1
from dovetail.compat.tensorflow.names.array.structures import nest_flatten
from dovetail.core.base.scopes import Scoped
from dovetail.core.base.tensor_shape import TensorShape
from dovetail.interop.privates import global_state, tree

ADAPTER = "_adapter"  # the attribute of a layer for its layer of Keras
_IS_ADAPTED: Scoped[bool] = Scoped(False)  # whether an adapter builds or calls its layer
OF_PYTHON = {"__class__", "__dict__", "__weakref__", "__module__", "__doc__", "__slots__", "__annotations__"}


class Adapter(keras.layers.Layer):
    """A layer of Keras that computes by a layer of TensorFlow 1.

    Args:
        tensorflow: the layer.
    """

    def __init__(self: Any, tensorflow: Any) -> None:
        function = getattr(type(tensorflow), "body", type(tensorflow).call)
        vars(self).update(tensorflow=tensorflow, trains="training" in inspect.signature(function).parameters)
        super().__init__(name=vars(tensorflow).get("name"), trainable=vars(tensorflow).get("trainable", True))
        self._call_has_training_arg = self.trains

    @property
    def built(self) -> bool:
        """Whether the layer has its variables."""
        return self.tensorflow.built

    @built.setter
    def built(self, value: bool) -> None:
        """Leave it to the layer."""

    def build(self, input_shape: Any) -> None:
        """Make the variables of the layer."""
        if not self.tensorflow.built:
            with _IS_ADAPTED.scope(True):
                self.tensorflow.build(tree.map_shape_structure(TensorShape, input_shape))
            self.tensorflow.built = True

    def call(self, inputs: Any, training: bool | None = None) -> Any:
        """The outputs of the layer."""
        with _IS_ADAPTED.scope(True):
            return self.tensorflow.call(inputs, **({"training": bool(training)} if self.trains else {}))

    def compute_output_spec(self, *args: Any, **kwargs: Any) -> Any:
        """The specs of the outputs, by the call."""
        return super(keras.layers.Layer, self).compute_output_spec(*args, **kwargs)

    def compute_output_shape(self, input_shape: Any) -> Any:
        """The shape of the outputs, by the call."""
        self.build(input_shape)
        inputs = tree.map_shape_structure(lambda shape: keras.KerasTensor(shape, self.input_dtype), input_shape)
        return tree.map_structure(lambda each: tuple(each.shape), self.compute_output_spec(inputs))

    def __getattr__(self, name: str) -> Any:
        layer = vars(self).get("tensorflow")  # none while it is made
        if name.startswith("_") or isinstance(inspect.getattr_static(layer, name, None), _Lent):
            raise AttributeError(f"{type(layer).__name__!r} object has no attribute {name!r}")
        return getattr(layer, name)


class _Lent:
    """An attribute that the adapter of a layer has; the layer's own value stands before it."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, layer: Any, cls: Any = None) -> Any:
        return getattr(keras.layers.Layer if layer is None else adapter(layer), self.name)


def adapter(layer: Any) -> Any:
    """The layer of Keras for a layer of TensorFlow 1, which is made once."""
    if ADAPTER not in vars(layer):
        vars(layer)[ADAPTER] = None  # while it is made
        vars(layer)[ADAPTER] = Adapter(layer)
    return vars(layer)[ADAPTER]


def _of_adapter(layer: Any, name: str) -> Any:
    """An attribute that Keras gave the adapter of a layer."""
    own = None if name.startswith("__") else adapter(layer)
    if own is None or name not in vars(own):
        raise AttributeError(f"{type(layer).__name__!r} object has no attribute {name!r}")
    return vars(own)[name]


def is_called(inputs: Any = None) -> bool:
    """Whether Keras calls or builds a layer, or its tensors are the inputs."""
    if _IS_ADAPTED.get() or any(isinstance(x, keras.KerasTensor) for x in nest_flatten(inputs)):
        return True
    return any(global_state.get_global_attribute(name) for name in ("current_call_ctx", "name_scope_stack"))


def add_weight(layer: Any, name: str, shape: Any, dtype: Any, **options: Any) -> Any:
    """A weight of Keras for a layer that Keras builds."""
    return adapter(layer).add_weight(name=name, shape=tuple(TensorShape(shape)), dtype=str(dtype), **options)


def _by_adapters(add: Callable[..., None], kind: Any) -> Callable[..., None]:
    """Wrap `Sequential.add`: a model has the adapters of TensorFlow's layers."""

    @functools.wraps(add)
    def call(self: Any, layer: Any, **options: Any) -> None:
        add(self, adapter(layer) if isinstance(layer, kind) else layer, **options)

    return call


def join(kind: Any) -> None:
    """Let TensorFlow 1's layers be layers of Keras.

    Args:
        kind: their base class.
    """
    kind.__bases__ = (_hidden(keras.layers.Layer),)
    kind.of_keras = sys.modules[__name__]
    keras.Sequential.add = _by_adapters(keras.Sequential.add, kind)
    for name, declared in V1.declared.items():
        if name.startswith("layers.") and isinstance(declared, type) and issubclass(declared, kind):
            adopt(declared)


def adopt(kind: Any) -> None:
    """Let a class of layers be one of Keras' class of the same name, too, if there is one."""
    same = getattr(keras.layers, kind.__name__, keras.layers.Layer)
    if same is not keras.layers.Layer:
        kind.__bases__ = (*kind.__bases__, _hidden(same))


def _hidden(kind: Any) -> type:
    """A class that inherits from a class of layers of Keras, but none of its behaviour."""
    names = {name for cls in kind.__mro__[:-1] for name in vars(cls)} - OF_PYTHON
    of_object = {name: getattr(object, name) for name in names if name.startswith("__") and hasattr(object, name)}
    members = {
        **of_object,
        **{name: _Lent(name) for name in names if not name.startswith("__")},
        "__getattr__": _of_adapter,
        "__new__": staticmethod(lambda cls, *args, **kwargs: object.__new__(cls)),
        "__init_subclass__": classmethod(lambda cls, **options: None),
    }
    return type(f"Keras{kind.__name__}", (kind,), members)
