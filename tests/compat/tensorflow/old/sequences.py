"""Decoding of CTC's scores, and distances of sequences; also the order of arguments of TensorFlow 0."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.compat.tensorflow.legacy import array

SCORES = 5 * array(6, 3, 4)  # time, batch, classes
LENGTHS = np.array([6, 4, 1])


def _parts(found: Any) -> list[Any]:
    return [part for x in found for part in (x.indices, x.values, x.dense_shape)]


def greedy(tf: Any, fed: Any) -> Any:
    labels, scores = tf.nn.ctc_greedy_decoder(fed(SCORES), fed(LENGTHS.astype("int32")))
    kept, _ = tf.nn.ctc_greedy_decoder(tf.constant(SCORES), LENGTHS, merge_repeated=False)
    return [*_parts([*labels, *kept]), scores]


def beam(tf: Any, fed: Any) -> Any:
    labels, logs = tf.nn.ctc_beam_search_decoder(tf.constant(SCORES), LENGTHS, 20, 2, merge_repeated=False)
    return [*_parts(labels), logs]


def distances(tf: Any, fed: Any) -> Any:
    a = tf.SparseTensor([[0, 0], [0, 1], [1, 0], [2, 0], [2, 1]], [1, 2, 3, 4, 5], [4, 2])
    b = tf.SparseTensor([[0, 0], [0, 1], [0, 2], [2, 0], [2, 2]], [1, 3, 2, 4, 4], [4, 3])
    found = [tf.edit_distance(a, b), tf.edit_distance(a, b, normalize=False), tf.edit_distance(b, a, False)]
    assert found[0].shape.as_list() == [4]
    return [*found[1:], tf.where(tf.is_inf(found[0]), tf.fill([4], 9.0), found[0])]


CASES = {"greedy": greedy, "beam": beam, "distances": distances}
