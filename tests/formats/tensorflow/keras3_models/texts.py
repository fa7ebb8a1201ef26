"""Models of texts and of serialised records: strings, tables and ragged tensors, before the numbers and after them."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import keras
import numpy as np
import tensorflow as tf
from keras import layers

from tests.formats.tensorflow.keras3_models.ways import array, of_graph, of_keras, of_module, v1

Spec = tf.TensorSpec
TEXTS = np.array([b"The cat sat.", b"a CAT, a dog!", b"", "F\u00fcchse on the mat".encode()])
VOCABULARY = ["the", "a", "cat", "dog", "sat", "on", "mat", "a cat"]


def lines(*words: str) -> str:
    """The path of a file with words, for an asset."""
    path = Path(tempfile.mkdtemp()) / "words.txt"
    path.write_text("".join(f"{word}\n" for word in words))
    return str(path)


def record(**features: Any) -> bytes:
    kinds = {bytes: "bytes_list", float: "float_list", int: "int64_list"}
    made = tf.train.Example()
    for key, values in features.items():
        getattr(made.features.feature[key], kinds[type(values[0])]).value.extend(values)
    return bytes(made.SerializeToString())


RECORDS = np.array([record(age=[3], x=[1.0, -2.0], tags=[b"cat", b"x"]), record(x=[0.5, 3.0], tags=[b"dog"])])


@of_keras(TEXTS)
def vectorized() -> Any:
    """Keras' layer that makes numbers of words and of pairs of words."""
    words = layers.TextVectorization(ngrams=2, output_sequence_length=9, vocabulary=VOCABULARY)
    x = keras.Input((), dtype="string")
    y = layers.GlobalAveragePooling1D()(layers.Embedding(10, 4)(words(x)))
    return keras.Model(x, layers.Dense(3)(y))


@of_module(TEXTS, loop={"texts": TEXTS}, shares={"texts": TEXTS})
class Labels(tf.Module):
    """A table of a file in front, a network, and names of classes behind it; loops on strings."""

    def __init__(self) -> None:
        super().__init__()
        file = tf.lookup.TextFileInitializer(
            lines(*VOCABULARY),
            tf.string,
            tf.lookup.TextFileIndex.WHOLE_LINE,
            tf.int64,
            tf.lookup.TextFileIndex.LINE_NUMBER,
        )
        self.words = tf.lookup.StaticVocabularyTable(file, 3)
        names = tf.lookup.KeyValueTensorInitializer(tf.range(3, dtype=tf.int64), ["animal", "place", "other"])
        self.names = tf.lookup.StaticHashTable(names, "none")
        self.table = tf.Variable(array(11, 3), name="table")

    def logits(self, texts: Any) -> Any:
        parts = tf.strings.split(tf.strings.regex_replace(tf.strings.lower(texts), r"[[:punct:]]", ""))
        ids = tf.ragged.map_flat_values(self.words.lookup, parts).to_tensor(-1)
        known = tf.cast(ids >= 0, tf.float32)[:, :, tf.newaxis]
        return tf.reduce_sum(tf.gather(self.table, tf.maximum(ids, 0)) * known, 1)

    @tf.function(input_signature=[Spec((None,), tf.string)])
    def __call__(self, texts: Any) -> Any:
        logits = self.logits(texts)
        return logits, self.names.lookup(tf.argmax(logits, -1))

    @tf.function(input_signature=[Spec((None,), tf.string, name="texts")])
    def loop(self, texts: Any) -> Any:
        """Loops and branches on strings."""
        i, joined = tf.constant(0), tf.constant("")
        while i < tf.size(texts):
            joined = tf.strings.join([joined, tf.strings.substr(texts[i], 0, tf.minimum(i + 1, 3))], "|")
            i += 1
        turned = tf.map_fn(lambda text: tf.strings.reduce_join(tf.strings.unicode_split(text, "UTF-8")[::-1]), texts)
        is_long = tf.strings.length(joined) > 8
        return {
            "joined": tf.cond(is_long, lambda: tf.strings.join([joined, "long"]), lambda: joined),
            "turned": turned,
            "lengths": tf.strings.length(turned, "UTF8_CHAR") * 2,
        }

    @tf.function(input_signature=[Spec((None,), tf.string, name="texts")])
    def shares(self, texts: Any) -> Any:
        """Probabilities as texts: the host computes them after the graph."""
        parts = tf.nn.softmax(self.logits(texts))
        return {"text": tf.strings.reduce_join(tf.strings.as_string(parts, precision=3), -1, separator=" ")}


@of_graph("", texts=TEXTS)
def table1(texts: Any) -> Any:
    """A table of a file, as TensorFlow 1 has it."""
    table = tf.lookup.StaticVocabularyTable(
        tf.lookup.TextFileInitializer(lines(*VOCABULARY), tf.string, -2, tf.int64, -1), 2
    )
    parts = v1.string_split(texts, " .,!")
    ids = tf.sparse.to_dense(tf.SparseTensor(parts.indices, table.lookup(parts.values), parts.dense_shape), 9)
    rows = tf.nn.embedding_lookup(v1.get_variable("rows", (10, 4)), ids)
    return tf.reduce_max(rows, 1, name="y")


@of_graph("", tf_example=RECORDS)
def classifier1(tf_example: Any) -> Any:
    """A classifier of serialised records, as estimators saved it; its result is the names of classes."""
    parts = v1.parse_example(
        tf_example,
        {
            "age": v1.FixedLenFeature((), tf.int64, 7),
            "x": v1.FixedLenFeature((2,), tf.float32),
            "tags": v1.VarLenFeature(tf.string),
        },
    )
    hashed = tf.strings.to_hash_bucket_fast(tf.sparse.to_dense(parts["tags"], ""), 6)
    x = tf.concat([parts["x"], tf.cast(parts["age"], tf.float32)[:, tf.newaxis]], 1)
    y = tf.reduce_mean(tf.nn.embedding_lookup(v1.get_variable("rows", (6, 3)), hashed), 1) + x
    return tf.gather(tf.constant(["low", "middle", "high"]), tf.argmax(y, -1), name="classes")
