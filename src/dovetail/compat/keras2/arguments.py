"""Arguments as Keras 2 took them: NumPy's integers as sizes, names that are gone, `call` with any arguments."""

from __future__ import annotations

import functools
import inspect
import math
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import Any

import keras
import numpy as np

from dovetail import backend as K
from dovetail.backend.values import told_to_layer
from dovetail.compat.keras2 import words
from dovetail.compat.keras2.bindings import made_once
from dovetail.compat.keras2.naming import with_slashes
from dovetail.compat.keras2.patches import Patch
from dovetail.compat.keras2.recurrent import by_rows
from dovetail.core.calls.static_types import with_ints
from dovetail.interop.keras.running import GIVEN
from dovetail.interop.privates import Functional, Operation

# Arguments of the TensorBoard callback that Keras 3 lacks → the behaviour without them.
OF_TENSORBOARD = {
    "write_grads": "gradients are not written",
    "batch_size": "batches are those of fit",
    "embeddings_layer_names": "all embeddings are written",
    "embeddings_data": "all embeddings are written, of no data",
    "embeddings_metadata": "embeddings are written without labels",
}


def patches() -> Iterable[Patch]:
    """Yield the changes of constructors, of `call`, and of functions whose arguments have other names."""
    layer: Any = keras.layers.Layer
    yield Patch(Operation, "__new__", staticmethod(_with_integers(Operation.__new__)))
    bases = Operation, keras.initializers.Initializer, keras.random.SeedGenerator
    for cls in dict.fromkeys(cls for base in bases for cls in (base, *_subclasses(base))):
        if "__init__" in vars(cls):
            wrapped = _in_old_words if issubclass(cls, layer) else _with_integers
            init = OTHER_INITS.get(cls, lambda found: found)(cls.__init__)
            yield Patch(cls, "__init__", wrapped(init, cls.__name__))
        if issubclass(cls, layer) and (position := _position_of_training(vars(cls).get("call"))):
            body = OTHER_CALLS.get(cls, lambda found: found)(vars(cls)["call"])
            yield Patch(cls, "call", _that_asks_whether_it_trains(body, position - 1))
    embedding: Any = keras.layers.Embedding
    yield Patch(embedding, "call", _without_words(embedding.call))
    for cls, (name, _) in OF_KERAS1.items():
        owner: Any = getattr(keras.layers, cls)
        yield Patch(owner, "get_config", _with_own(owner.get_config, name))
    yield Patch(keras.Model, "__new__", staticmethod(words.in_old_words(keras.Model.__new__, words.MODEL)))
    yield Patch(keras.activations, "relu", _with_alpha(keras.activations.relu))
    yield Patch(keras.callbacks.TensorBoard, "__init__", _without_old_arguments(keras.callbacks.TensorBoard.__init__))


def _subclasses(cls: Any) -> Iterator[Any]:
    for each in cls.__subclasses__():
        yield each
        yield from _subclasses(each)


# -- arguments of constructors ----------------------------------------------------------------------------------------


def _with_integers(function: Callable[..., Any], name: str = "") -> Callable[..., Any]:
    """Wrap a constructor: it also takes integers of NumPy, alone and in lists."""

    @functools.wraps(function)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        return function(self, *map(with_ints, args), **{name: with_ints(value) for name, value in kwargs.items()})

    call.__signature__ = inspect.signature(function)  # type: ignore[attr-defined]  # for Keras
    return call


def _in_old_words(init: Callable[..., None], cls: str) -> Callable[..., None]:
    """Wrap the `__init__` of a class of layers: it also takes the arguments of Keras 1 and 2."""
    names, init = list(inspect.signature(init).parameters)[1:], _with_integers(init)

    @functools.wraps(init)
    def call(self: Any, *args: Any, **kwargs: Any) -> None:
        name, is_own = OF_KERAS1.get(cls, ("", bool))
        own = {name: kwargs.pop(name)} if name in kwargs and is_own(kwargs[name]) else {}
        if cls == "Layer" and args:
            args = (bool(args[0]), *args[1:])  # layers of TensorFlow 1 take any number
            args, kwargs = (), dict(zip(words.IN_ORDER, args, strict=False)) | kwargs
        args, kwargs = words.arguments(cls, names, args, kwargs)
        old = {name: kwargs.pop(name) for name in words.OF_LAYERS if name in kwargs and name not in names}
        init(self, *args, **kwargs)
        vars(self).update(own)
        if (weights := old.get("weights")) is not None:
            vars(self)["_given_weights"] = weights
        if (shape := words.input_of(cls, old)) is not None:
            vars(self)["_batch_input_shape"] = with_ints(shape)
        if cls == "Layer":
            _name_the_inputs(self)

    return call


def _without_old_arguments(init: Callable[..., None]) -> Callable[..., None]:
    """Wrap the `__init__` of the TensorBoard callback: it warns of arguments without effect."""

    @functools.wraps(init)
    def call(self: Any, *args: Any, **kwargs: Any) -> None:
        for name in OF_TENSORBOARD.keys() & kwargs.keys():
            given = kwargs.pop(name)
            if isinstance(given, np.ndarray) or given:
                warnings.warn(f"TensorBoard ignores {name}: {OF_TENSORBOARD[name]}.", stacklevel=2)
        init(self, *args, **kwargs)

    return call


def _with_alpha(relu: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap the activation: it calls the slope for negative numbers `alpha`."""

    @functools.wraps(relu)
    def call(x: Any, alpha: float = 0.0, max_value: float | None = None, threshold: float = 0.0, **named: Any) -> Any:
        return relu(x, **{"negative_slope": alpha, "max_value": max_value, "threshold": threshold, **named})

    return call


# -- arguments of call ------------------------------------------------------------------------------------------------


def _name_the_inputs(layer: Any) -> None:
    """Let Keras 3 find the inputs of a layer whose `call(self, *args, **kwargs)` does not name them.

    As in Keras 2, the first argument is the inputs.  Keras does not pass `training` to such a layer.
    """
    parameters = list(layer._call_signature.parameters.values())
    if parameters and parameters[0].kind is parameters[0].VAR_POSITIONAL:
        inputs = inspect.Parameter("inputs", inspect.Parameter.POSITIONAL_OR_KEYWORD)
        layer._call_signature = layer._call_signature.replace(parameters=[inputs, *parameters])
        layer._call_has_training_arg = True


def _of_samples(call: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap the `call` of a normalization: for images the moving variance is that of samples, as TensorFlow computes it.

    A batch of n numbers for each channel has n / (n − 1) times its own variance.  With Keras 1's `mode=2` statistics
    are always those of the batch.
    """

    @functools.wraps(call)
    def normalized(self: Any, inputs: Any, training: Any = None, mask: Any = None) -> Any:
        training = training or vars(self).get("mode") == 2
        if not (training and self.trainable and mask is None and _is_normalized_at_once(self, len(inputs.shape))):
            return call(self, inputs, training=training, mask=mask)
        ops, x = keras.ops, keras.ops.cast(inputs, "float32")
        mean, variance = self._moments(x, None)
        shape = ops.shape(x)
        count = ops.cast(math.prod(shape[axis] for axis in self._reduction_axes), "float32")
        of_samples = variance * (count / ops.maximum(count - 1, 1))
        for moving, value in ((self.moving_mean, mean), (self.moving_variance, of_samples)):  # each assigned once
            moving.assign(moving * self.momentum + value * (1.0 - self.momentum))
        offset, scale = self.beta if self.center else None, self.gamma if self.scale else None
        normal = ops.batch_normalization(x, mean, variance, self.axis, offset, scale, self.epsilon)
        return ops.cast(normal, self.compute_dtype)

    return normalized


def _is_normalized_at_once(layer: Any, rank: int) -> bool:
    """Whether TensorFlow has a kernel for a normalization of inputs of a rank: images and volumes of float32."""
    is_of_channels = rank in (4, 5) and layer.axis % rank in (1, rank - 1)
    return is_of_channels and not (layer.renorm or layer.synchronized) and layer.variable_dtype == "float32"


def _with_own(get_config: Callable[..., dict[str, Any]], name: str) -> Callable[..., dict[str, Any]]:
    """Wrap a layer's `get_config`: it also has the argument of Keras 1, if it was given."""
    return functools.wraps(get_config)(
        lambda self: get_config(self) | {each: value for each, value in vars(self).items() if each == name}
    )


def _without_words(call: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap the `call` of an embedding: Keras 1's dropout leaves out words, all of their numbers, in training."""

    @functools.wraps(call)
    def dropping(self: Any, inputs: Any) -> Any:
        embedded, rate = call(self, inputs), vars(self).get("dropout", 0.0)
        if not rate or not told_to_layer():
            return embedded
        kept = K.random_binomial((self.input_dim,), p=1 - rate) / (1 - rate)
        return embedded * keras.ops.expand_dims(keras.ops.take(kept, keras.ops.cast(inputs, "int32"), axis=0), -1)

    return dropping


def _of_any_tensor(init: Callable[..., None]) -> Callable[..., None]:
    """Wrap the `__init__` of an input: it may be made of a tensor or a variable of K, whose shape and dtype it has.

    The default graph computes models of it with this tensor; `fit` and `predict` take arrays for it.  Of a sparse one,
    layers of the program get the sparse tensor, and layers of Keras a dense one.
    """

    @functools.wraps(init)
    def call(self: Any, *args: Any, input_tensor: Any = None, sparse: Any = None, **kwargs: Any) -> None:
        if input_tensor is None or isinstance(input_tensor, keras.KerasTensor):
            init(self, *args, input_tensor=input_tensor, **kwargs)
            made = self._inbound_nodes[0].outputs[0]
            self.sparse = made._sparse = made.sparse or bool(sparse and keras.config.backend() == "dovetail")
            return
        name, shape = kwargs.get("name"), kwargs.get("batch_shape") or K.int_shape(input_tensor)
        made = keras.KerasTensor(shape, K.dtype(input_tensor), name=name)
        init(self, input_tensor=made, name=name)
        setattr(made, GIVEN, input_tensor)
        with suppress(AttributeError):  # eager tensors take no attributes
            input_tensor._keras_history = made._keras_history

    return call


def _of_single_tensors(init: Callable[..., None]) -> Callable[..., None]:
    """Wrap the `__init__` of a model: a list of one input or output is this tensor, also where the model gives it."""

    def alone(tensors: Any) -> Any:
        return tensors[0] if isinstance(tensors, (list, tuple)) and len(tensors) == 1 else tensors

    @functools.wraps(init)
    def call(self: Any, inputs: Any, outputs: Any, *args: Any, **kwargs: Any) -> None:
        init(self, alone(inputs), alone(outputs), *args, **kwargs)

    return call


# Class → an argument of Keras 1 that Keras 3 lacks, and whether a value of it is more than Keras 3 does.
OF_KERAS1: dict[str, tuple[str, Callable[[Any], bool]]] = {
    "BatchNormalization": ("mode", lambda mode: mode == 2),
    "Embedding": ("dropout", bool),
}
OTHER_INITS = {  # class → the change of its `__init__`
    Operation: with_slashes,
    keras.layers.InputLayer: _of_any_tensor,
    Functional: _of_single_tensors,
    keras.random.SeedGenerator: made_once,
}


def _of_unknown_steps(call: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap the `call` of `TimeDistributed`: steps of unknown number are samples of one call, as in Keras 2.

    Their number is the one that the model's layers declare, if they do.
    """

    @functools.wraps(call)
    def run(self: Any, inputs: Any, training: Any = None, mask: Any = None) -> Any:
        if not hasattr(inputs, "shape") or inputs.shape[1] is not None:
            return call(self, inputs, training=training, mask=mask)
        samples, steps, *rest = keras.ops.shape(inputs)
        declared = {node.input_tensors[0].shape[1] for node in self._inbound_nodes}
        steps = declared.pop() or steps if len(declared) == 1 else steps
        given = {"training": training} if self.layer._call_has_training_arg else {}
        if mask is not None and self.layer._call_has_mask_arg:
            given["mask"] = keras.ops.reshape(mask, (-1,))
        flat_outputs = self.layer.call(keras.ops.reshape(inputs, (-1, *rest)), **given)
        return keras.ops.reshape(flat_outputs, (samples, steps, *keras.ops.shape(flat_outputs)[1:]))

    return run


OTHER_CALLS = {  # class → the change of its `call`
    keras.layers.BatchNormalization: _of_samples,
    keras.layers.GRUCell: by_rows,
    keras.layers.TimeDistributed: _of_unknown_steps,
}


def _position_of_training(call: Any) -> int:
    names = list(inspect.signature(call).parameters) if call is not None else []
    return names.index("training") if "training" in names else 0


def _that_asks_whether_it_trains(call: Callable[..., Any], position: int) -> Callable[..., Any]:
    """Wrap a layer's `call`: without `training` it trains if the running layer does.

    Programs call `super().call(x)`, which followed the learning phase in Keras 2.

    Args:
        call: a method with an argument `training`.
        position: the position of this argument, after `self`.
    """

    @functools.wraps(call)
    def asking(self: Any, *args: Any, **kwargs: Any) -> Any:
        if len(args) <= position and kwargs.get("training") is None:
            told = told_to_layer()
            if told is not None:
                kwargs["training"] = told
        return call(self, *args, **kwargs)

    return asking
