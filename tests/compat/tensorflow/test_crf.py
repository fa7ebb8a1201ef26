"""Conditional random fields against sums over all ways to tag short sequences."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from dovetail.compat.tensorflow.compat import v1 as tf

crf = tf.contrib.crf
RANDOM = np.random.RandomState(0)
SCORES, PAIRS = RANDOM.randn(4, 5, 3).astype("float32"), RANDOM.randn(3, 3).astype("float32")
TAGS, LENGTHS = RANDOM.randint(0, 3, (4, 5)), np.array([5, 3, 1, 0])


def score(scores, tags):
    return sum(scores[i, t] for i, t in enumerate(tags)) + sum(PAIRS[a, b] for a, b in itertools.pairwise(tags))


def ways(scores):
    """The score of each way to tag a sequence."""
    return {tags: score(scores, tags) for tags in itertools.product(range(3), repeat=len(scores))}


OWN = [score(s[:n], t[:n]) for s, t, n in zip(SCORES, TAGS, LENGTHS, strict=True)]
ALL = [ways(s[:n]) for s, n in zip(SCORES, LENGTHS, strict=True)]
NORMS = [np.log(np.sum(np.exp([*found.values()]))) for found in ALL]


def test_likelihoods(engine):
    with tf.Graph().as_default(), tf.Session() as session:
        x, lengths = tf.placeholder("float32", [None, None, 3]), tf.placeholder("int32", [None])
        found, pairs = crf.crf_log_likelihood(x, tf.constant(TAGS), lengths)
        assert pairs.op.name == "transitions" and pairs.shape.as_list() == [3, 3]
        own = crf.crf_sequence_score(x, TAGS, lengths, pairs)
        slope = tf.gradients(crf.crf_log_norm(x, lengths, pairs), x)[0]
        pairs.load(PAIRS, session)
        fed = {x: SCORES, lengths: LENGTHS}
        np.testing.assert_allclose(session.run(own, fed), OWN, rtol=1e-4)
        np.testing.assert_allclose(session.run(found, fed), np.subtract(OWN, NORMS), rtol=1e-4, atol=1e-5)
        right = np.zeros_like(SCORES)  # the probability of each tag at each step
        for i, (every, norm) in enumerate(zip(ALL, NORMS, strict=True)):
            for tags, total in every.items():
                for time, tag in enumerate(tags):
                    right[i, time, tag] += np.exp(total - norm)
        np.testing.assert_allclose(session.run(slope, fed), right, atol=1e-5)


def test_the_best_tags(engine):
    with tf.Graph().as_default(), tf.Session() as session:
        lengths = LENGTHS[:3]
        tags, totals = session.run(crf.crf_decode(SCORES[:3], tf.constant(PAIRS), tf.constant(lengths)))
    for i, n in enumerate(lengths):
        best = max(ALL[i], key=ALL[i].get)
        assert tags[i].tolist() == [*best, *[0] * (5 - n)]
        found, total = crf.viterbi_decode(SCORES[i, :n], PAIRS)
        assert tuple(found) == best
        assert totals[i] == pytest.approx(ALL[i][best], rel=1e-4) == pytest.approx(total, rel=1e-4)
