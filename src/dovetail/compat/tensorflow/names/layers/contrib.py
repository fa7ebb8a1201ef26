"""The layer functions of `tf.contrib.layers` and TF-Slim: rows on the layers of `tf.layers`, with contrib's words.

Each function opens a variable scope, whose variables are also among the model's, and takes defaults of `arg_scope`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from types import SimpleNamespace
from typing import Any

from dovetail import ops
from dovetail.compat.tensorflow import graph_mode
from dovetail.compat.tensorflow.entries import named, value
from dovetail.compat.tensorflow.names.array.core import convert_to_tensor
from dovetail.compat.tensorflow.names.array.creation import one_hot
from dovetail.compat.tensorflow.names.contrib.arg_scope import add_arg_scope
from dovetail.compat.tensorflow.names.contrib.framework import model_variable
from dovetail.compat.tensorflow.names.contrib.places import LAYERS, under
from dovetail.compat.tensorflow.names.contrib.utils import collect_named_outputs, get_variable_collections
from dovetail.compat.tensorflow.names.layers import core
from dovetail.compat.tensorflow.names.layers.base import found
from dovetail.compat.tensorflow.names.layers.convolution import SEPARATE, moves, pooled_volumes, window
from dovetail.compat.tensorflow.names.layers.core import WEIGHTS, finished
from dovetail.compat.tensorflow.names.layers.rows import row_class
from dovetail.compat.tensorflow.names.nn.convolution import layout_of
from dovetail.compat.tensorflow.names.variables.partitions import variables_of
from dovetail.compat.tensorflow.names.variables.variable_scope import variable_scope
from dovetail.compat.tensorflow.table import arguments_of, in_v1, signature_of, told
from dovetail.core.base.errors import op_error
from dovetail.core.values.value_kinds import dtype_of, is_tensor, static_shape
from dovetail.ops.shapes.shape import dims_of

Body = Callable[[Any, Any], Any]
ENDS = "reuse=None variables_collections=None outputs_collections=None trainable=True"
_WEIGHTS = (
    "activation_fn='relu' normalizer_fn=None normalizer_params=None weights_initializer='glorot_uniform' "
    f"weights_regularizer=None biases_initializer='zeros' biases_regularizer=None {ENDS} scope=None"
)
RENAMED = {  # the name of a variable of `tf.layers` → contrib's
    "kernel": "weights",
    "bias": "biases",
    "depthwise_kernel": "depthwise_weights",
    "pointwise_kernel": "pointwise_weights",
}
WORDS = {  # contrib's parameter → the parameters of layers that get its value
    "num_outputs": "units filters",
    "stride": "strides",
    "rate": "dilation_rate",
    "decay": "momentum",
    "renorm_decay": "renorm_momentum",
    "weights_initializer": "kernel_initializer depthwise_initializer pointwise_initializer",
    "weights_regularizer": "kernel_regularizer depthwise_regularizer pointwise_regularizer",
    "biases_initializer": "bias_initializer",
    "biases_regularizer": "bias_regularizer",
}
_KEPT = {
    *("shape", "dtype", "initializer", "regularizer", "trainable", "collections", "caching_device", "use_resource"),
    "partitioner",
}


class Given(SimpleNamespace):
    """The arguments of a call; arguments that the function does not have are None."""

    def __getattr__(self, name: str) -> Any:
        return None


def contrib(names: str, scope: str, words: str, variables: bool = True) -> Callable[[Body], Body]:
    """Decorator: add a function with contrib's parameters, by the function of the inputs and the other arguments.

    Args:
        names: with spaces between.
        scope: the name of its scope, to which a number may be added.
        words: the parameters, the inputs first.
        variables: whether the scope is one of variables, and not only of names.
    """
    signature = signature_of(words)
    first = next(iter(signature.parameters))

    def decorate(body: Body) -> Body:
        def call(*args: Any, **kwargs: Any) -> Any:
            given = Given(**arguments_of(signature, args, kwargs))
            name, x = given.scope or given.name, getattr(given, first)
            options = {"reuse": given.reuse, "custom_getter": _model_variable}
            opening = variable_scope(name, scope, [x], **options) if variables else graph_mode.name_scope(name or scope)
            with opening as given.scope:
                y = body(x if is_tensor(x) else convert_to_tensor(x), given)
                activation = found(given.activation_fn, "nn.", "")
                y = y if activation is None else activation(y)
                alias = given.scope.name if variables else given.scope
                return collect_named_outputs(given.outputs_collections, alias, y)

        call.__name__ = names.split()[0]
        title = f"contrib.layers.{call.__name__}"
        call.__doc__ = f"{(body.__doc__ or '').strip()}\n\n    Source: `tf.{title}`.\n    "
        call.__signature__ = signature  # type: ignore[attr-defined]
        value(under(LAYERS, names), add_arg_scope(told(title, call, False)), "v1")
        return body

    return decorate


def _model_variable(getter: Any, name: str, **options: Any) -> Any:
    """A variable of a layer, under contrib's name and among the model's variables."""
    scope, slash, last = name.rpartition("/")
    if last in ("biased", "local_step"):  # of a moving average
        return getter(name, **options)
    given = {key: own for key, own in options.items() if key in _KEPT}
    return model_variable(f"{scope}{slash}{RENAMED.get(last, last)}", custom_getter=getter, **given)


# -- layers of `tf.layers` --------------------------------------------------------------------------------------------


def made(title: Any, given: Any, **others: Any) -> Any:
    """A layer of `tf.layers` with contrib's arguments."""
    layer = named(f"layers.{title}") if isinstance(title, str) else title
    options = {
        ours: own
        for theirs, own in vars(given).items()
        for ours in WORDS.get(theirs, theirs).split()
        if ours in layer.signature.parameters and own is not None
    }
    if "data_format" in layer.signature.parameters:
        options["data_format"] = layout_of(given.data_format)
    base = {"name": given.scope.name, "_scope": given.scope, "_reuse": given.reuse}
    return layer(**{**options, **others, **base})


def collect(layer: Any, given: Any) -> None:
    """Put a layer's variables into the collections of `variables_collections`."""
    for name in layer.shapes:
        if getattr(layer, name) is not None:
            kind = "weights" if name.endswith("kernel") else RENAMED.get(name, name)
            keys = get_variable_collections(given.variables_collections, kind) or ()
            for part in variables_of(getattr(layer, name)):
                graph_mode.open_graph().add_to_collections(keys, part)


def _weighted(names: str, scope: str, layer: Any, words: str, rank: int | None = None, more: str = "") -> None:
    """Add a layer with weights, whose outputs may be normalized, and are then without a bias.

    Args:
        layer: the class in `tf.layers`, with braces for the number of axes; or a function of the arguments.
        more: words that come before `weights_regularizer`.
    """

    def body(x: Any, given: Any) -> Any:
        dims = static_shape(x)
        if rank is not None and len(dims) != rank:
            problem = f"the inputs have {rank} axes, not the shape {dims}."
            raise op_error(ValueError, f"tf.contrib.layers.{names.split()[0]}", problem)
        title = layer.format(len(dims) - 2) if isinstance(layer, str) else layer(given)
        has_bias = not given.normalizer_fn and given.biases_initializer is not None
        built = made(title, given, use_bias=has_bias)
        y = built(x)
        collect(built, given)
        return y if given.normalizer_fn is None else given.normalizer_fn(y, **(given.normalizer_params or {}))

    body.__doc__ = "A layer of `tf.layers` with an activation, and with a normalization instead of a bias."
    weights = _WEIGHTS.replace("weights_reg", f"{more} weights_reg")
    contrib(names, scope, f"inputs {words} {weights}")(body)


def _pooling(name: str, scope: str, pool: Callable[..., Any], layout: str) -> None:
    """Add a pooling."""

    def body(x: Any, given: Any) -> Any:
        """One number for each window that slides over the inputs: the largest, or the mean."""
        layout = layout_of(given.data_format)
        return pooled_volumes(pool, x, given.kernel_size, given.stride, given.padding.lower(), layout)

    words = f"inputs kernel_size stride=2 padding='VALID' data_format='{layout}' outputs_collections=None scope=None"
    contrib(name, scope, words, variables=False)(body)


_weighted("fully_connected", "fully_connected", "Dense", "num_outputs")
_CONVOLUTION = "num_outputs kernel_size stride=1 padding='SAME' data_format=None rate=1"
_weighted("convolution", "Conv", "Conv{}D", _CONVOLUTION)
for _n, _layout in {1: "NWC", 2: "NHWC", 3: "NDHWC"}.items():
    _weighted(f"conv{_n}d convolution{_n}d", "Conv", "Conv{}D", _CONVOLUTION, _n + 2)
    if _n > 1:
        _words = f"num_outputs kernel_size stride=1 padding='SAME' data_format='{_layout}'"
        _names = f"conv{_n}d_transpose convolution{_n}d_transpose"
        _weighted(_names, f"Conv{_n}d_transpose", "Conv{}DTranspose", _words)
        for _word, _pool in {"max": ops.max_pool, "avg": ops.average_pool}.items():
            _pooling(f"{_word}_pool{_n}d", f"{_word.title()}Pool{_n}D", _pool, _layout)
for _name, _activation in {"relu": "relu", "relu6": "relu6", "elu": "elu", "linear": None}.items():
    _dense = partial(named("contrib.layers.fully_connected"), activation_fn=_activation)
    value(under(LAYERS, _name), _dense, "v1")


def _each_channel(layer: Any, x: Any) -> Any:
    """Convolution of each channel by itself."""
    return finished(layer, ops.depthwise_conv(x, layer.depthwise_kernel, *moves(layer)))


def _in_plane(layer: Any, x: Any) -> Any:
    """Convolution of each channel by itself, with one window for all."""
    kernel = ops.tile(layer.kernel, (1, 1, static_shape(x)[-1], 1))
    return finished(layer, ops.depthwise_conv(x, kernel, *moves(layer)))


_MOVES = "kernel_size strides padding data_format dilation_rate=1 activation=None use_bias=True"
_EachChannel = row_class(
    "DepthwiseConv2D",
    f"{_MOVES} depth_multiplier=1 {SEPARATE}",
    _each_channel,
    depthwise_kernel=lambda layer, channels: [*window(layer, 2), channels, layer.depth_multiplier],
    bias=lambda layer, channels: [channels * layer.depth_multiplier],
)
_InPlane = row_class(
    "ConvInPlane",
    f"{_MOVES} {WEIGHTS}",
    _in_plane,
    kernel=lambda layer, channels: [*window(layer, 2), 1, 1],
    bias=lambda layer, channels: [channels],
)
_weighted(
    "separable_conv2d separable_convolution2d",
    "SeparableConv2d",
    lambda given: _EachChannel if given.num_outputs is None else "SeparableConv2D",
    "num_outputs kernel_size depth_multiplier=1 stride=1 padding='SAME' data_format='NHWC' rate=1",
    more="pointwise_initializer=None",
)
_weighted(
    "conv2d_in_plane convolution2d_in_plane",
    "ConvInPlane",
    lambda given: _InPlane,
    "kernel_size stride=1 padding='SAME'",
)


def variable(name: str, shape: Any, x: Any, given: Any, initializer: Any, regularizer: Any = None) -> Any:
    """A variable of a function that stands on no layer of `tf.layers`."""
    keys = get_variable_collections(given.variables_collections, name)
    first = found(initializer, "initializers.")
    return model_variable(name, shape, dtype_of(x), first, regularizer, given.trainable, keys)


def size_of(x: Any, axis: int) -> int:
    """The size of an axis, which must be known."""
    size = static_shape(x)[axis]
    if size is None:
        raise op_error(ValueError, "tf.contrib.layers", f"the size of axis {axis} must be known: {static_shape(x)}.")
    return size


# -- others -----------------------------------------------------------------------------------------------------------


@contrib(
    "bias_add",
    "BiasAdd",
    f"inputs activation_fn=None initializer='zeros' regularizer=None {ENDS} data_format='NHWC' scope=None",
)
def bias_add(x: Any, given: Any) -> Any:
    """Inputs plus a number for each channel."""
    layout = layout_of(given.data_format)
    shape = [size_of(x, 1 if layout == "channels_first" else -1)]
    return ops.bias_add(x, variable("biases", shape, x, given, given.initializer, given.regularizer), layout)


@contrib(
    "dropout",
    "Dropout",
    "inputs keep_prob=0.5 noise_shape=None is_training=True outputs_collections=None scope=None seed=None",
)
def dropout(x: Any, given: Any) -> Any:
    """Zeros for random elements, and the others scaled up, when it is for training."""
    return made("Dropout", given, rate=ops.subtract(1.0, given.keep_prob))(x, training=given.is_training)


@contrib("flatten", "Flatten", "inputs outputs_collections=None scope=None", variables=False)
def flatten(x: Any, given: Any) -> Any:
    """Each sample as a vector, (batch, elements)."""
    return core.flatten.call(x)


@contrib(
    "one_hot_encoding",
    "OneHotEncoding",
    "labels num_classes on_value=1.0 off_value=0.0 outputs_collections=None scope=None",
    variables=False,
)
def one_hot_encoding(x: Any, given: Any) -> Any:
    """A vector for each class number, with another value at that place."""
    return in_v1(one_hot)(x, given.num_classes, on_value=given.on_value, off_value=given.off_value)


@contrib("maxout", "MaxOut", "inputs num_units axis=-1 scope=None")
def maxout(x: Any, given: Any) -> Any:
    """The largest of each group of channels."""
    dims, channels = dims_of(x), size_of(x, given.axis)
    if channels % given.num_units:
        problem = f"{channels} channels do not make {given.num_units} groups of one size."
        raise op_error(ValueError, "tf.contrib.layers.maxout", problem)
    dims[given.axis] = given.num_units
    return ops.max(ops.reshape(x, (*dims, channels // given.num_units)), -1)


@contrib(
    "embed_sequence",
    "EmbedSequence",
    "ids vocab_size=None embed_dim=None unique=False initializer=None regularizer=None trainable=True scope=None "
    "reuse=None",
)
def embed_sequence(x: Any, given: Any) -> Any:
    """A row of a table of variables for each number."""
    shape = None if given.reuse and given.vocab_size is None else [given.vocab_size, given.embed_dim]
    table = model_variable("embeddings", shape, "float32", given.initializer, given.regularizer, given.trainable)
    return ops.gather(table, x)


def repeat(inputs: Any, repetitions: int, layer: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """A layer several times, one after the other, with the same arguments.

    Source: `tf.contrib.layers.repeat`.
    """
    return _chain("Repeat", inputs, layer, [args] * repetitions, kwargs)


def stack(inputs: Any, layer: Callable[..., Any], stack_args: Any, **kwargs: Any) -> Any:
    """A layer several times, one after the other, with its own arguments each time.

    Source: `tf.contrib.layers.stack`.
    """
    each = [args if isinstance(args, (list, tuple)) else [args] for args in stack_args]
    return _chain("Stack", inputs, layer, each, kwargs)


def _chain(default: str, x: Any, layer: Any, each: Any, kwargs: Any) -> Any:
    scope = kwargs.pop("scope", None)
    with variable_scope(scope, default, [x]):
        name = scope or getattr(getattr(layer, "func", layer), "__name__", default.lower())
        for number, args in enumerate(each, 1):
            x = layer(x, *args, **kwargs, scope=f"{name}_{number}")
    return x


for _function in (repeat, stack):
    value(under(LAYERS, _function.__name__), _function, "v1")
