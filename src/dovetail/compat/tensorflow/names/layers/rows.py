"""The rows of layers: a class and a function are made of a row's parameters, variables and body.

    @layer("Dense dense", f"units activation=None use_bias=True {WEIGHTS}", kernel=_matrix, bias=_units)
    def dense(layer, x): ...

Words for parameters are TensorFlow's, in its order; a word without a default must be given.  The shape of a
variable is a function of the layer and the number of channels.  Its initialiser, regulariser and constraint are the
parameters that begin with its name.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from dovetail.compat.tensorflow.entries import value
from dovetail.compat.tensorflow.names.array.core import convert_to_tensor
from dovetail.compat.tensorflow.names.layers.base import InputSpec, Layer, found
from dovetail.compat.tensorflow.table import arguments_of, constructor, signature_of, told
from dovetail.core.base.dimension import plain
from dovetail.core.base.errors import op_error
from dovetail.core.dtypes import as_dtype
from dovetail.core.values.value_kinds import is_tensor

Body = Callable[..., Any]
Shape = Callable[[Any, int], list[int]]
BASE = {"trainable", "name", "dtype", "_scope", "_reuse", "activity_regularizer"}  # the parameters of the base class


class Row(Layer):
    """A layer that a row says."""

    signature: inspect.Signature
    shapes: Mapping[str, Shape]
    body: Body

    def _begin(self, given: dict[str, Any], **options: Any) -> None:
        if unknown := ", ".join(map(repr, set(options) - BASE)):
            raise TypeError(f"no argument {unknown}; it takes {', '.join(self.signature.parameters)}.")
        Layer.__init__(self, **{key: given.pop(key) for key in BASE & set(given)}, **options)
        for key, own in given.items():
            setattr(self, key, found(own, *PLACES.get(key.rpartition("_")[2], ())))

    def build(self, input_shape: Any) -> None:
        self.built = not self.shapes
        if self.built:
            return
        axis = channel_axis(self, len(input_shape))
        channels = plain(input_shape[axis])
        if channels is None:
            problem = f"the axis {axis} of its inputs must have a size that is known, but the shape is {input_shape}."
            raise op_error(ValueError, f"the layer {self.name!r}", problem)
        for name, shape in self.shapes.items():
            setattr(self, name, self._variable(name, shape, channels))
        last = axis == len(input_shape) - 1  # later inputs may have other axes before the last
        self.input_spec, self.built = InputSpec(axes={-1 if last else axis: channels}), True

    def _variable(self, name: str, shape: Shape, channels: int) -> Any:
        if not getattr(self, USES.get(name, ""), True):
            return None
        begin = name.removesuffix("_kernel")
        options = {key: getattr(self, f"{begin}_{key}", None) for key in ("initializer", "regularizer", "constraint")}
        dtype = "float32" if "moving_mean" in self.shapes and self.dtype in HALVES else self.dtype
        if not name.startswith("moving_"):
            return self.add_weight(name, shape(self, channels), dtype, **options)
        self._take_scope()
        scope: Any = self._scope
        partitioner, scope.partitioner = scope.partitioner, None  # averages are assigned as a whole
        try:
            return self.add_weight(name, shape(self, channels), dtype, trainable=False, **options)
        finally:
            scope.partitioner = partitioner

    def call(self, inputs: Any, **settings: Any) -> Any:
        return self.body(inputs, **settings)


HALVES = as_dtype("float16"), as_dtype("bfloat16")  # dtypes that no statistics are kept in
USES = {"bias": "use_bias", "beta": "center", "gamma": "scale"}  # variable → the parameter that says whether it is made
# Parameter → where words are looked up.
PLACES = {"activation": ("nn.", ""), "initializer": ("initializers.",)}


class Declared(NamedTuple):
    """A layer that a row declares: its class, and the function that makes one and calls it."""

    kind: Any
    call: Callable[..., Any]


def layer(
    names: str, words: str, order: str = "", training: bool = False, **shapes: Shape
) -> Callable[[Body], Declared]:
    """Decorator: add the class and the function of a layer, by the function that computes.

    Args:
        names: the class and the function.
        words: the parameters of the class.
        order: the names of the function's parameters, if they are in another order.
        training: whether calls say whether they are for training.
        shapes: variable → its shape.
    """
    class_name, function_name = names.split()
    own = signature_of(words).parameters

    def decorate(body: Body) -> Declared:
        made = row_class(class_name, words, body, **shapes)
        if made.of_keras is not None:
            made.of_keras.adopt(made)
        value(f"layers.{class_name}", made, "v1")
        called = {**own, **signature_of("inputs training=False name=None reuse=None").parameters}
        taken = inspect.Signature([called[name] for name in (order or _order(own, training)).split()])
        call = told(f"layers.{function_name}", _function(made, taken), False)
        value(f"layers.{function_name}", call, "v1")
        return Declared(made, call)

    return decorate


def row_class(name: str, words: str, body: Body, **shapes: Shape) -> type[Row]:
    """The class of a layer."""
    signature = signature_of(words, options="kwargs")
    text = f"{(body.__doc__ or '').strip()}\n\n    Source: `tf.layers.{name}`.\n    "
    begin = constructor(words, Row._begin, "kwargs")
    members = {"signature": signature, "shapes": shapes, "body": body, "__init__": begin, "__doc__": text}
    return type(name, (Row,), members)


def _order(own: Mapping[str, Any], training: bool) -> str:
    """The order of a function's parameters, which has no `reuse` without variables."""
    last = [name for name in ("trainable", "name") if name in own]
    first = [name for name in own if name not in last]
    return " ".join(["inputs", *first, *["training"] * training, *last, *["reuse"] * ("trainable" in own)])


def _function(made: type[Layer], signature: inspect.Signature) -> Callable[..., Any]:
    """The function that makes a layer and calls it."""

    def call(*args: Any, **kwargs: Any) -> Any:
        given = arguments_of(signature, args, kwargs, defaults=False)
        inputs = given.pop("inputs")
        inputs = inputs if is_tensor(inputs) else convert_to_tensor(inputs)
        settings = {"training": given.pop("training")} if "training" in given else {}
        if "reuse" in signature.parameters:
            given |= {"_reuse": given.pop("reuse", None), "_scope": given.get("name")}
        return made(**given)(inputs, **settings)

    call.__signature__, call.__doc__ = signature, made.__doc__  # type: ignore[attr-defined]
    return call


def channel_axis(layer: Any, rank: int) -> int:
    """The axis of the channels of a layer's inputs."""
    axis = getattr(layer, "axis", None)
    if axis is not None:
        (axis,) = axis if isinstance(axis, (list, tuple)) else [axis]
        return axis
    return 1 if getattr(layer, "data_format", None) == "channels_first" else rank - 1
