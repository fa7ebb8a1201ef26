"""Modules of TensorFlow 2, with functions, loops and variables of their own."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

from tests.formats.tensorflow.keras3_models.ways import array, numbers, of_module

Spec = tf.TensorSpec


def matrix(size: int, dtype: str = "float32") -> np.ndarray:
    return array(size, size, dtype=dtype) * 0.7


@of_module(array(2, 4), np.int32(3), look_up={"words": np.array([b"b", b"a", b"x"])})
class Loop(tf.Module):
    """A loop, a branch, a variable that counts, and a table that nothing calls."""

    def __init__(self) -> None:
        super().__init__()
        self.w = tf.Variable(0.3 * np.eye(4, dtype="float32") + 0.1, name="w")
        self.calls = tf.Variable(0, name="calls", trainable=False)
        words = tf.lookup.KeyValueTensorInitializer(["a", "b"], [1, 2])
        self.table = tf.lookup.StaticHashTable(words, 0)

    @tf.function(input_signature=[Spec((None, 4)), Spec((), tf.int32)])
    def __call__(self, x: Any, n: Any) -> Any:
        self.calls.assign_add(1)
        i = tf.constant(0)
        while i < n:
            x = tf.tanh(x @ self.w)
            i += 1
        return tf.cond(tf.reduce_sum(x) > 0, lambda: x * 2, lambda: x - 1)

    @tf.function(input_signature=[Spec((None,), tf.string)])
    def look_up(self, words: Any) -> Any:
        return {"numbers": self.table.lookup(words)}


@of_module(texts={"texts": np.array([b"a b", b"b x b", b"b"])})
class Texts(tf.Module):
    """A model of texts: words, in a loop for each text, their numbers in a table, and an embedding."""

    def __init__(self) -> None:
        super().__init__()
        self.rows = tf.Variable(array(4, 3), name="rows")
        words = tf.lookup.KeyValueTensorInitializer(["a", "b"], tf.constant([1, 2], tf.int64))
        self.table = tf.lookup.StaticVocabularyTable(words, 1)

    @tf.function(input_signature=[Spec((None,), tf.string, name="texts")])
    def texts(self, texts: Any) -> Any:
        lengths = tf.map_fn(lambda text: tf.size(tf.strings.split(text)), texts, tf.int32)
        ids = self.table.lookup(tf.strings.split(texts).to_tensor("")) + 1
        rows = tf.nn.embedding_lookup(self.rows, ids % 4)
        return {"scores": tf.nn.softmax(tf.reduce_mean(rows, 1)), "lengths": lengths}


@of_module(array(5, 3))
class Arrays(tf.Module):
    """Loops over arrays: a loop that writes them, maps, scans and folds."""

    def __init__(self) -> None:
        super().__init__()
        self.w = tf.Variable(matrix(3), name="w")

    @tf.function(input_signature=[Spec((None, 3))])
    def __call__(self, x: Any) -> Any:
        count = tf.shape(x)[0]
        kept = tf.TensorArray(tf.float32, size=count)
        state = x[0]
        for i in tf.range(count):
            state = tf.tanh(tf.linalg.matvec(self.w, state) + x[i])
            kept = kept.write(i, state)
        mapped = tf.map_fn(lambda row: (row * 2, tf.reduce_sum(row)), x, (tf.float32, tf.float32))
        scanned = tf.scan(lambda a, row: a * 0.5 + row, x)
        folded = tf.foldr(lambda a, row: a - row, x)
        return {"kept": kept.stack(), "mapped": mapped[0], "sums": mapped[1], "scanned": scanned, "folded": folded}


@of_module(array(6, 2))
class Growing(tf.Module):
    """A list that grows in a loop, and is joined."""

    @tf.function(input_signature=[Spec((None, 2))])
    def __call__(self, x: Any) -> Any:
        kept = tf.TensorArray(tf.float32, size=0, dynamic_size=True)
        i = tf.constant(0)
        while i < tf.shape(x)[0]:
            kept = kept.write(kept.size(), x[i : i + 1] * 2)
            i += 2
        return kept.concat()


@of_module(array(3, 2), np.int32(2))
class Choices(tf.Module):
    """Branches in branches, and one of several."""

    def __init__(self) -> None:
        super().__init__()
        self.w = tf.Variable([1.0, 2.0], name="w")

    @tf.function(input_signature=[Spec((None, 2)), Spec((), tf.int32)])
    def __call__(self, x: Any, number: Any) -> Any:
        def inner() -> Any:
            return tf.cond(tf.reduce_max(x) > 10, lambda: x * self.w, lambda: x + self.w)

        first = tf.cond(number > 1, inner, lambda: x)
        second = tf.switch_case(number, [lambda: x * 3, lambda: x / 2, lambda: tf.exp(x)])
        return first, second


@of_module(encode={"features": array(2, 3)}, decode={"code": array(2, 2)}, both={"features": array(2, 3)})
class Signatures(tf.Module):
    """Signatures that share a function, which is called with several shapes."""

    def __init__(self) -> None:
        super().__init__()
        self.w, self.v = tf.Variable(array(3, 2), name="w"), tf.Variable(array(2, 3), name="v")

    @tf.function
    def layer(self, x: Any, w: Any) -> Any:
        return tf.nn.relu(x @ w) + tf.reduce_mean(w)

    @tf.function(input_signature=[Spec((None, 3), name="features")])
    def encode(self, x: Any) -> Any:
        return {"code": self.layer(x, self.w)}

    @tf.function(input_signature=[Spec((None, 2), name="code")])
    def decode(self, x: Any) -> Any:
        return {"features": self.layer(x, self.v)}

    @tf.function(input_signature=[Spec((None, 3), name="features")])
    def both(self, x: Any) -> Any:
        code = self.layer(x, self.w)
        return {
            "code": code,
            "features": self.layer(code, self.v),
            "more": self.layer(self.layer(code, self.v), self.w),
        }


@of_module(numbers(3, 4, below=9), numbers(3, 4, below=5) + 1)
class Integers(tf.Module):
    @tf.function(input_signature=[Spec((None, 4), tf.int32)] * 2)
    def __call__(self, x: Any, y: Any) -> Any:
        wide = tf.cast(x, tf.int64)
        return {
            "sums": x // y + x % y - tf.bitwise.bitwise_xor(x, y),
            "wide": tf.cumsum(wide, axis=1, reverse=True) * tf.constant(2**40, tf.int64),
            "bytes": tf.cast(x, tf.uint8) + tf.cast(y, tf.uint8),
            "places": tf.argsort(x, axis=-1, stable=True),
            "hot": tf.reduce_sum(tf.one_hot(x, 9, dtype=tf.int32), axis=1),
            "best": tf.argmax(x, axis=-1, output_type=tf.int32),
            "tops": tf.math.top_k(x, 2).values,
            "spread": tf.scatter_nd(y[:, :1], x[:, 0], [7]),
            "segments": tf.math.unsorted_segment_sum(x, y[:, 0], 6),
        }


@of_module(numbers(4, 3, below=9))
class Uneven(tf.Module):
    """Results whose shapes depend on values."""

    @tf.function(input_signature=[Spec((None, 3), tf.int32)])
    def __call__(self, x: Any) -> Any:
        values, places = tf.unique(tf.reshape(x, [-1]))
        return {"kept": tf.boolean_mask(x, x > 3), "values": values, "same": tf.gather(values, places) ** 2}


@of_module(array(2, 4, dtype="float16"))
class Halves(tf.Module):
    """Computation in float16 and bfloat16."""

    def __init__(self) -> None:
        super().__init__()
        self.w = tf.Variable(matrix(4, "float16"), name="w")
        self.v = tf.Variable(tf.cast(matrix(4)[:, :2], tf.bfloat16), name="v")

    @tf.function(input_signature=[Spec((None, 4), tf.float16)])
    def __call__(self, x: Any) -> Any:
        y = tf.nn.relu(x * 0.5 + 1) @ self.w
        return {"half": y, "brain": tf.cast(tf.cast(y, tf.bfloat16) @ self.v, tf.float32)}


@of_module(array(2, 3), scaled={"x": array(2, 3), "scale": np.float32(2.0)})
class Defaults(tf.Module):
    """A function with defaults, and one with an argument that is no tensor."""

    def __init__(self) -> None:
        super().__init__()
        self.w = tf.Variable(2.0, name="w")
        for scale in (None, Spec(())):
            self.__call__.get_concrete_function(Spec((None, 3)), False, scale)

    @tf.function
    def __call__(self, x: Any, training: bool = False, scale: Any = None) -> Any:
        y = x * self.w if scale is None else x * scale
        return y + 1 if training else y

    @tf.function(input_signature=[Spec((None, 3), name="x"), Spec((), name="scale")])
    def scaled(self, x: Any, scale: Any = 3.0) -> Any:
        return {"y": x * scale}


@of_module(array(2, 3, 4), array(2, 4, 4))
class Products(tf.Module):
    """Products by equations, and linear algebra."""

    def __init__(self) -> None:
        super().__init__()
        self.w = tf.Variable(array(2, 4, 5), name="w")

    @tf.function(input_signature=[Spec((None, 3, 4)), Spec((None, 4, 4))])
    def __call__(self, x: Any, y: Any) -> Any:
        square = tf.matmul(y, y, transpose_b=True) + 2 * tf.eye(4, batch_shape=[tf.shape(y)[0]])
        chol = tf.linalg.cholesky(square)
        return {
            "heads": tf.einsum("btc,hcd->bhtd", x, self.w),
            "trace": tf.einsum("bii->b", y),
            "product": tf.tensordot(x, self.w[0], 1),
            "solved": tf.linalg.triangular_solve(chol, tf.transpose(x, [0, 2, 1])),
            "inverse": tf.linalg.inv(square),
            "band": tf.linalg.band_part(y, 1, 0),
            "norm": tf.linalg.logdet(square) + tf.norm(x, axis=[1, 2]),
        }


@tf.custom_gradient
def doubled(x: Any) -> Any:
    """The values of `x`, with a gradient twice as large."""
    return tf.identity(x), lambda g: 2 * g


@of_module(array(3, 2))
class Custom(tf.Module):
    """A function with a gradient of its own, and one without."""

    def __init__(self) -> None:
        super().__init__()
        self.w = tf.Variable(matrix(2), name="w")

    @tf.function(input_signature=[Spec((None, 2))])
    def __call__(self, x: Any) -> Any:
        y = tf.square(x @ self.w)
        return tf.stop_gradient(y) * tf.nn.softplus(y) + tf.clip_by_norm(y, 1.0)


@of_module(array(3, 2), calls=3)
class Counter(tf.Module):
    """Variables that a call assigns: a count, a moving mean and a row."""

    def __init__(self) -> None:
        super().__init__()
        self.count = tf.Variable(0, name="count", trainable=False)
        self.mean = tf.Variable([0.0, 0.0], name="mean", trainable=False)
        self.rows = tf.Variable(tf.zeros((4, 2)), name="rows", trainable=False)

    @tf.function(input_signature=[Spec((None, 2))])
    def __call__(self, x: Any) -> Any:
        self.count.assign_add(1)
        self.mean.assign(0.9 * self.mean + 0.1 * tf.reduce_mean(x, 0))
        self.rows.scatter_nd_update([[self.count]], [x[0]])
        return {"count": tf.identity(self.count), "mean": x - self.mean, "rows": self.rows.read_value()}


@of_module(numbers(5, 2, below=4, dtype="int64"), numbers(5, below=6, dtype="int64"), array(4, 3))
class Sparse(tf.Module):
    """A matrix that is sparse, and sums of rows of a table."""

    def __init__(self) -> None:
        super().__init__()
        self.table = tf.Variable(array(6, 3), name="table")

    @tf.function(input_signature=[Spec((None, 2), tf.int64), Spec((None,), tf.int64), Spec((4, 3))])
    def __call__(self, indices: Any, ids: Any, x: Any) -> Any:
        rows = tf.sort(indices[:, 0])
        return {
            "sums": tf.math.segment_sum(tf.nn.embedding_lookup(self.table, ids), rows),
            "means": tf.math.segment_mean(tf.gather(self.table, ids), rows),
            "dense": tf.scatter_nd(indices, tf.cast(ids, tf.float32), [4, 4]) @ x,
        }


@of_module(array(2, 64))
class Spectrum(tf.Module):
    """A spectrogram in front, as models of sounds have it."""

    def __init__(self) -> None:
        super().__init__()
        self.w = tf.Variable(array(4, 3), name="w")

    @tf.function(input_signature=[Spec((None, 64))])
    def __call__(self, sound: Any) -> Any:
        spectrum = tf.abs(tf.signal.stft(sound, 16, 8, 16))
        bands = tf.tensordot(spectrum, tf.signal.linear_to_mel_weight_matrix(4, 9, 100.0, 10.0, 45.0), 1)
        return tf.math.log(bands + 1e-3) @ self.w


@of_module(array(4, 6))
class Random(tf.Module):
    """Dropout that an argument turns on, and draws whose results are left out."""

    def __init__(self) -> None:
        super().__init__()
        self.w = tf.Variable(array(6, 2), name="w")
        for training in (False, True):
            self.__call__.get_concrete_function(Spec((None, 6)), training)

    @tf.function(input_signature=[Spec((None, 6)), Spec((), tf.bool)])
    def switched(self, x: Any, training: Any) -> Any:
        return tf.cond(training, lambda: tf.nn.dropout(x, 0.5), lambda: x)

    @tf.function
    def __call__(self, x: Any, training: bool = False) -> Any:
        x = tf.nn.dropout(x, 0.5) if training else x
        return self.switched(x, tf.constant(False)) @ self.w
