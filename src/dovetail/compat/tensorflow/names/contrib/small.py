"""Small functions of `tf.contrib`: names of scopes, orders of axes, drawn values, and rarer layers.

Source: `tf.contrib`, the function of the same name.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from dovetail import ops
from dovetail.compat.tensorflow import graph_mode
from dovetail.compat.tensorflow.entries import value
from dovetail.compat.tensorflow.names.array.creation import one_hot
from dovetail.compat.tensorflow.names.array.sparse import TFSparseTensor
from dovetail.compat.tensorflow.names.contrib.places import LAYERS, under
from dovetail.compat.tensorflow.names.graph.graph import GraphKeys
from dovetail.compat.tensorflow.names.nn.embeddings import embedding_lookup
from dovetail.compat.tensorflow.names.random.draws import uniform
from dovetail.compat.tensorflow.names.variables.initializers import Zeros
from dovetail.compat.tensorflow.names.variables.variable_scope import get_variable, variable_scope
from dovetail.compat.tensorflow.table import function, in_v1, of_rank
from dovetail.core.base.errors import op_error
from dovetail.core.values.value_kinds import static_shape
from dovetail.ops.shapes.shape import dims_of, shaped

# -- names ------------------------------------------------------------------------------------------------------------


@function("contrib.framework.get_name_scope", "v1")
def get_name_scope() -> str:
    """The name scope that is open, without a slash at its end."""
    return graph_mode.open_graph().scope.removesuffix("/")


@function("contrib.framework.strip_name_scope", "v1")
def strip_name_scope(name: Any, export_scope: str) -> Any:
    """A name without a scope at its beginning.

    Args:
        name: a name, also of a control input or of a colocation.
        export_scope: the scope.
    """
    if not export_scope:
        return name
    mark, bare = _marked(name)
    return mark + bare.removeprefix(f"{export_scope.removesuffix('/')}/")


@function("contrib.framework.prepend_name_scope", "v1")
def prepend_name_scope(name: Any, import_scope: str) -> Any:
    """A name with a scope before it; the other arguments as of `strip_name_scope`."""
    if not import_scope:
        return name
    mark, bare = _marked(name)
    return f"{mark}{import_scope.removesuffix('/')}/{bare}"


def _marked(name: str | bytes) -> tuple[str, str]:
    """The mark of a control input or of a colocation, and the name behind it."""
    text = name.decode() if isinstance(name, bytes) else name
    mark = next((mark for mark in ("^", "loc:@") if text.startswith(mark)), "")
    return mark, text.removeprefix(mark)


@function("contrib.framework.get_placeholders", "v1")
def get_placeholders(graph: Any) -> list[Any]:
    """The placeholders of a graph."""
    return [operation.outputs[0] for operation in graph.get_operations() if operation.type == "Placeholder"]


# -- tensors ----------------------------------------------------------------------------------------------------------


@function("contrib.rnn.transpose_batch_time", "v1")
def transpose_batch_time(x: Any) -> Any:
    """A tensor with its first two axes exchanged."""
    rank = len(static_shape(shaped(x)))
    return ops.transpose(x, [1, 0, *range(2, rank)]) if rank > 1 else shaped(x)


@function("contrib.seq2seq.hardmax", "v1", scope=True)
def hardmax(logits: Any, name: str | None = None) -> Any:
    """One-hot vectors of the largest numbers along the last axis."""
    logits = shaped(logits)
    return in_v1(one_hot)(ops.argmax(logits, -1), dims_of(logits)[-1], dtype=logits.dtype)


@function("contrib.nn.alpha_dropout", "v1", scope=True)
def alpha_dropout(x: Any, keep_prob: Any, noise_shape: Any = None, seed: Any = None, name: str | None = None) -> Any:
    """A tensor whose dropped elements become the lower limit of SELU, at the mean and the variance that it had.

    Source: `tf.contrib.nn.alpha_dropout`; Klambauer et al. 2017, "Self-Normalizing Neural Networks".
    """
    x, low = shaped(x), -1.7580993408473766
    if isinstance(keep_prob, (int, float)):
        if not 0 < keep_prob <= 1:
            problem = f"keep_prob must be above 0 and at most 1, not {keep_prob}."
            raise op_error(ValueError, "tf.contrib.nn.alpha_dropout", problem)
        if keep_prob == 1:
            return x
    drawn = in_v1(uniform)(ops.shape(x) if noise_shape is None else noise_shape, dtype=x.dtype, seed=seed)
    kept = ops.cast(ops.floor(drawn + keep_prob), x.dtype)
    scale = ops.rsqrt(ops.cast(keep_prob, x.dtype) * (1 + (1 - ops.cast(keep_prob, x.dtype)) * low**2))
    return scale * (x * kept + low * (1 - kept)) - scale * (1 - ops.cast(keep_prob, x.dtype)) * low


@function("contrib.nn.scaled_softplus", "v1", scope=True)
def scaled_softplus(x: Any, alpha: Any, clip: Any = None, name: str | None = None) -> Any:
    """alpha · softplus(x / alpha), at most `clip`."""
    y = alpha * ops.softplus(shaped(x) / alpha)
    return y if clip is None else ops.minimum(y, clip)


@function("contrib.nn.nth_element", "v1", scope=True)
def nth_element(input: Any, n: Any, reverse: bool = False, name: str | None = None) -> Any:
    """The element at a place of each row along the last axis, once these are sorted."""
    rows = ops.sort(shaped(input), -1)
    return ops.take(ops.flip(rows, -1) if reverse else rows, n, axis=-1)


# -- layers -----------------------------------------------------------------------------------------------------------


@function(under(LAYERS, "dense_to_sparse"), "v1")
def dense_to_sparse(tensor: Any, eos_token: Any = 0, outputs_collections: Any = None, scope: str | None = None) -> Any:
    """A sparse tensor of the elements that are not a token."""
    with variable_scope(scope, "dense_to_sparse", [tensor]):
        tensor = shaped(tensor)
        places = ops.cast(ops.positions(ops.not_equal(tensor, eos_token)), "int64")
        made = TFSparseTensor(places, ops.gather_nd(tensor, places), dims_of(tensor))
    graph_mode.open_graph().add_to_collections(outputs_collections or (), made)
    return made


@function(under(LAYERS, "embedding_lookup_unique"), "v1", scope=True)
def embedding_lookup_unique(params: Any, ids: Any, partition_strategy: str = "mod", name: str | None = None) -> Any:
    """Rows of a table; rows of equal ids are looked up once."""
    ids = shaped(ids)
    numbers, places, _ = ops.unique(ops.reshape(ids, [-1]))
    rows = ops.gather(embedding_lookup(params, numbers, None, partition_strategy), places)
    return ops.reshape(rows, [*dims_of(ids), *dims_of(rows)[1:]])


@function(under(LAYERS, "scale_gradient"), "v1")
def scale_gradient(inputs: Any, gradient_multiplier: Any) -> Any:
    """A tensor whose gradient is multiplied."""
    return gradient_multiplier * inputs + ops.stop_gradient(inputs - gradient_multiplier * inputs)


@function(under(LAYERS, "images_to_sequence"), "v1")
def images_to_sequence(
    inputs: Any, data_format: str = "NHWC", outputs_collections: Any = None, scope: str | None = None
) -> Any:
    """The rows of images as sequences (width, batch · height, channels)."""
    if data_format not in ("NHWC", "NCHW"):
        raise op_error(ValueError, "images_to_sequence", f"data_format is NHWC or NCHW, not {data_format!r}.")
    images = of_rank(inputs, 4) if data_format == "NHWC" else ops.transpose(of_rank(inputs, 4), [0, 2, 3, 1])
    batch, height, width, channels = dims_of(images)
    made = ops.transpose(ops.reshape(images, [batch * height, width, channels]), [1, 0, 2])
    graph_mode.open_graph().add_to_collections(outputs_collections or (), made)
    return made


@function(under(LAYERS, "sequence_to_images"), "v1")
def sequence_to_images(
    inputs: Any,
    height: int,
    output_data_format: str = "channels_last",
    outputs_collections: Any = None,
    scope: str | None = None,
) -> Any:
    """Images of a height whose rows are sequences (width, batch · height, channels)."""
    width, _, channels = dims_of(of_rank(inputs, 3))
    made = ops.reshape(ops.transpose(of_rank(inputs, 3), [1, 0, 2]), [-1, height, width, channels])
    made = ops.transpose(made, [0, 3, 1, 2]) if output_data_format == "channels_first" else made
    graph_mode.open_graph().add_to_collections(outputs_collections or (), made)
    return made


_ZEROS = Zeros()


def legacy_fully_connected(
    x: Any,
    num_output_units: int,
    activation_fn: Any = None,
    weight_init: Any = None,
    bias_init: Any = _ZEROS,
    name: str | None = None,
    weight_collections: Any = (GraphKeys.WEIGHTS,),
    bias_collections: Any = (GraphKeys.BIASES,),
    output_collections: Any = (GraphKeys.ACTIVATIONS,),
    trainable: bool = True,
    weight_regularizer: Any = None,
    bias_regularizer: Any = None,
) -> Any:
    """The product of the last axis with a matrix, and a bias.

    Args:
        weight_init: the initializer of the matrix; Glorot's by default.
        bias_init: the initializer of the bias; None for no bias.
    """
    graph = graph_mode.open_graph()
    with variable_scope(name, "fully_connected", [x]):
        x = shaped(x)
        *outer, depth = dims_of(x)

        def weight(title: str, shape: Any, first: Any, regularizer: Any, keys: Any) -> Any:
            kept = list(dict.fromkeys([*(keys or ()), GraphKeys.GLOBAL_VARIABLES]))
            return get_variable(title, shape, x.dtype, first, regularizer, trainable, kept)

        kernel = weight("weights", [depth, num_output_units], weight_init, weight_regularizer, weight_collections)
        y = ops.matmul(ops.reshape(x, [-1, depth]) if len(outer) > 1 else x, kernel)
        if bias_init is not None:
            y = ops.bias_add(y, weight("bias", [num_output_units], bias_init, bias_regularizer, bias_collections))
        y = ops.reshape(y, [*outer, num_output_units]) if len(outer) > 1 else y
        y = activation_fn(y) if activation_fn else y
    graph.add_to_collections(output_collections or (), y)
    return y


value(under(LAYERS, "legacy_fully_connected legacy_linear"), legacy_fully_connected, "v1")
value(under(LAYERS, "legacy_relu"), partial(legacy_fully_connected, activation_fn=ops.relu), "v1")
