"""Sixty kinds of calls of K on an engine's own values, for the table of transformations.

A call is a function of arrays, of which the first axis is the batch.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from dovetail import backend as K

BATCH = 4


class Call(NamedTuple):
    """A kind of calls.

    Attributes:
        family: the family of K's functions.
        name: what it shows.
        function: the call.
        shapes: of its arguments of floats without their batch; these are differentiated, if the result has floats.
        others: further arguments; those of `BATCH` rows have a batch.
        is_random: whether each run draws other numbers.
    """

    family: str
    name: str
    function: Callable[..., Any]
    shapes: tuple[tuple[int, ...], ...] = ((6,),)
    others: tuple[Any, ...] = ()
    is_random: bool = False

    def arrays(self, batch: int = BATCH) -> list[np.ndarray]:
        """The arguments, the same in each call: floats in (0.1, 0.9), and the others."""
        rng = np.random.default_rng(zlib.crc32(self.name.encode()))
        drawn = [rng.uniform(0.1, 0.9, (batch, *shape)).astype("float32") for shape in self.shapes]
        return [*drawn, *(np.resize(a, (batch, *a.shape[1:])) if len(a) == BATCH else a for a in self.others)]


def weight(*shape: int) -> np.ndarray:
    return np.linspace(-1, 1, int(np.prod(shape)), dtype="float32").reshape(shape)


def labels(*shape: int, classes: int = 3) -> np.ndarray:
    return (np.arange(BATCH * int(np.prod(shape))) % classes).astype("int32").reshape(BATCH, *shape)


def step(x: Any, states: Any) -> Any:
    state = K.tanh(x + states[0] * 0.5)
    return state, [state]


def lstm(x: Any, states: Any) -> Any:
    gates = K.sigmoid(K.concatenate([x, states[0]]))
    cell = gates[:, :3] * states[1] + gates[:, 3:] * K.tanh(x)
    hidden = K.tanh(cell)
    return hidden, [hidden, cell]


def normalized(x: Any) -> Any:
    mean = K.mean(x, axis=-1, keepdims=True)
    return (x - mean) / K.sqrt(K.mean(K.square(x - mean), axis=-1, keepdims=True) + K.epsilon())


def focal(target: Any, output: Any) -> Any:
    return K.mean(K.pow(1 - output, 2.0) * K.binary_crossentropy(target, output), axis=-1)


IMAGE = ((6, 6, 2),)
TIMES = ((5, 3),)
MASK = np.array([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0], [1, 0, 1, 0, 1], [1, 1, 0, 0, 0]], bool)

CALLS = [
    Call("elementwise", "relu", lambda x: K.relu(x - 0.5, alpha=0.1, max_value=0.3)),
    Call("elementwise", "hard_sigmoid", lambda x: K.hard_sigmoid(x)),
    Call("elementwise", "exp, log", lambda x: K.log(K.exp(x) + 1)),
    Call("elementwise", "pow, abs, square", lambda x: K.pow(K.abs(x), 1.5) + K.square(x)),
    Call("elementwise", "clip", lambda x: K.clip(x, 0.3, 0.7)),
    Call("elementwise", "maximum of a number", lambda x: K.maximum(x, 0.5)),
    Call("elementwise", "round, sign, cos", lambda x: K.round(x * 3) + K.sign(x - 0.5) * K.cos(x)),
    Call("elementwise", "greater, cast", lambda x: K.cast(K.greater(x, 0.5), K.floatx()) * x),
    Call("reductions", "sum", lambda x: K.sum(x, axis=-1, keepdims=True)),
    Call("reductions", "mean of all", lambda x: K.mean(x)),
    Call("reductions", "std, var", lambda x: K.std(x, axis=1) + K.var(x, axis=1)),
    Call("reductions", "logsumexp", lambda x: K.logsumexp(x, axis=-1)),
    Call("reductions", "max, min", lambda x: K.max(x, axis=1) - K.min(x, axis=1)),
    Call("reductions", "argmax", lambda x: K.argmax(x, axis=-1)),
    Call("reductions", "prod, cumsum", lambda x: K.prod(x, axis=1, keepdims=True) * K.cumsum(x, axis=1)),
    Call("reductions", "any, all", lambda x: K.any(x > 0.8, axis=1) & K.all(x > 0.2, axis=1)),
    Call("shapes", "reshape", lambda x: K.reshape(x, (-1, 2, 3))),
    Call("shapes", "reshape by K.shape", lambda x: K.reshape(x, (K.shape(x)[0], 3, 2))),
    Call("shapes", "permute_dimensions", lambda x: K.permute_dimensions(x, (0, 2, 1)), TIMES),
    Call("shapes", "expand_dims, squeeze", lambda x: K.squeeze(K.expand_dims(x, 1) * 2, 1)),
    Call(
        "shapes",
        "concatenate, stack",
        lambda x, y: K.concatenate([K.stack([x, y], 1), K.stack([y, x], 1)], 1),
        ((6,),) * 2,
    ),
    Call("shapes", "repeat, tile", lambda x: K.tile(K.repeat(x, 3), (1, 1, 2))),
    Call("shapes", "batch_flatten", lambda x: K.batch_flatten(x), TIMES),
    Call("shapes", "zeros_like, ones_like", lambda x: K.zeros_like(x) + x * K.ones_like(x)),
    Call("shapes", "int_shape, ndim, dtype", lambda x: K.cast(x * K.int_shape(x)[-1], K.dtype(x)) + K.ndim(x)),
    Call("shapes", "reverse, slice", lambda x: K.reverse(x, 1)[:, 1:4]),
    Call("gather", "gather", lambda i, w: K.gather(w, i), (), (labels(5), weight(3, 4))),
    Call("gather", "one_hot", lambda i: K.one_hot(i, 4), (), (labels(2),)),
    Call("gather", "K.slice", lambda x: K.slice(x, (0, 1), (-1, 3))),
    Call("gather", "in_top_k", lambda x, i: K.in_top_k(x, i, 2), ((6,),), (labels(),)),
    Call("products", "dot", lambda x, w: K.dot(x, w), TIMES, (weight(3, 4),)),
    Call("products", "batch_dot", lambda x, y: K.batch_dot(x, y, axes=(2, 2)), TIMES * 2),
    Call("products", "bias_add", lambda x, b: K.bias_add(x, b), TIMES, (weight(3),)),
    Call("products", "l2_normalize", lambda x: K.l2_normalize(x, axis=-1)),
    Call("nn", "softmax", lambda x: K.softmax(x)),
    Call("nn", "elu, softplus, softsign", lambda x: K.elu(x - 0.5) + K.softplus(x) * K.softsign(x)),
    Call(
        "nn", "batch_normalization", lambda x, m, v: K.batch_normalization(x, m, v + 2, m, v), ((6,),), (weight(6),) * 2
    ),
    Call(
        "nn",
        "normalize_batch_in_training",
        lambda x, g, b: K.normalize_batch_in_training(x, g, b, [0])[0],
        ((6,),),
        (weight(6), weight(6)),
    ),
    Call("nn", "layer norm", normalized),
    Call("nn", "spatial_2d_padding", lambda x: K.spatial_2d_padding(x, ((1, 2), (0, 1))), IMAGE),
    Call("conv", "conv1d", lambda x, w: K.conv1d(x, w, padding="causal", dilation_rate=2), TIMES, (weight(2, 3, 4),)),
    Call("conv", "conv2d", lambda x, w: K.conv2d(x, w, strides=(2, 2), padding="same"), IMAGE, (weight(3, 3, 2, 4),)),
    Call("conv", "depthwise_conv2d", lambda x, w: K.depthwise_conv2d(x, w), IMAGE, (weight(3, 3, 2, 1),)),
    Call(
        "conv",
        "separable_conv2d",
        lambda x, d, p: K.separable_conv2d(x, d, p),
        IMAGE,
        (weight(3, 3, 2, 2), weight(1, 1, 4, 3)),
    ),
    Call(
        "conv",
        "conv2d_transpose",
        lambda x, w: K.conv2d_transpose(x, w, (K.shape(x)[0], 12, 12, 3), strides=(2, 2), padding="same"),
        IMAGE,
        (weight(3, 3, 3, 2),),
    ),
    Call("conv", "pool2d", lambda x: K.pool2d(x, (2, 2), (2, 2)), IMAGE),
    Call("conv", "pool2d of means", lambda x: K.pool2d(x, (3, 3), padding="same", pool_mode="avg"), IMAGE),
    Call("conv", "resize_images", lambda x: K.resize_images(x, 2, 2, "channels_last"), IMAGE),
    Call("rnn", "rnn", lambda x: K.rnn(step, x, [x[:, 0] * 0])[1], TIMES),
    Call("rnn", "rnn with a mask", lambda x, m: K.rnn(step, x, [x[:, 0] * 0], mask=m)[0], TIMES, (MASK,)),
    Call("rnn", "rnn of an LSTM", lambda x: K.rnn(lstm, x, [x[:, 0] * 0, x[:, 0] * 0], go_backwards=True)[0], TIMES),
    Call("control flow", "switch", lambda x: K.switch(x > 0.5, x * 2, -x)),
    Call("control flow", "switch of functions", lambda x: K.switch(K.mean(x) > 0.2, lambda: x * 2, lambda: -x)),
    Call(
        "control flow",
        "map_fn, foldl",
        lambda w: K.foldl(lambda a, b: a * 0.5 + b, K.map_fn(K.square, w)),
        (),
        (weight(3, 4),),
    ),
    Call("control flow", "in_train_phase", lambda x: K.in_train_phase(lambda: x * 2, lambda: x * 3, training=True)),
    Call("random", "random_normal", lambda x: x + K.random_normal((6,)), is_random=True),
    Call("random", "random_uniform by K.shape", lambda x: x + K.random_uniform((K.shape(x)[0], 6)), is_random=True),
    Call("random", "dropout", lambda x: K.dropout(x, 0.5), is_random=True),
    Call(
        "losses",
        "categorical, focal",
        lambda t, x: K.categorical_crossentropy(t, K.softmax(x)) + focal(t, x),
        ((6,),) * 2,
    ),
    Call(
        "losses",
        "sparse_categorical_crossentropy",
        lambda x, t: K.sparse_categorical_crossentropy(t, x, from_logits=True),
        ((6,),),
        (labels(),),
    ),
]
assert len(CALLS) == 60
