"""Classes that are drawn: frequencies, and the expected counts, which TensorFlow defines by the number of draws."""

from __future__ import annotations

import dovetail.compat.tensorflow.compat.v1 as tf
import numpy as np
import pytest

COUNT, TIMES = 6, 3000
LOG_UNIFORM = np.log1p(1 / np.arange(1.0, COUNT + 1)) / np.log(COUNT + 1)
UNIGRAMS = np.array([5.0, 1.0, 0.5, 3.0, 2.0])
WEIGHTS = np.r_[0, UNIGRAMS**0.5] / np.sum(UNIGRAMS**0.5)
SAMPLERS = {
    "uniform": (tf.nn.uniform_candidate_sampler, {}, np.full(COUNT, 1 / COUNT)),
    "log_uniform": (tf.nn.log_uniform_candidate_sampler, {}, LOG_UNIFORM),
    "unigram": (
        tf.nn.fixed_unigram_candidate_sampler,
        {"unigrams": UNIGRAMS, "distortion": 0.5, "num_reserved_ids": 1},
        WEIGHTS,
    ),
}


def test_classes_that_were_true_are_drawn_more_often():
    with tf.Graph().as_default(), tf.Session() as session:
        found = tf.nn.learned_unigram_candidate_sampler([[0, 3]], 2, 500, False, COUNT, seed=1)
        session.run(tf.global_variables_initializer())
        first, second, third = (session.run(found) for _ in range(3))
        assert tf.global_variables() == []
    np.testing.assert_allclose(first[1], [[500 / 6, 500 / 6]], rtol=1e-5)
    np.testing.assert_allclose(third[1], [[500 * 3 / 10, 500 * 3 / 10]], rtol=1e-5)
    frequencies = np.bincount(second[0], minlength=COUNT) / 500
    np.testing.assert_allclose(frequencies, np.array([2, 1, 1, 2, 1, 1]) / 8, atol=0.06)


@pytest.fixture(params=SAMPLERS)
def sampler(request):
    return SAMPLERS[request.param]


def _draws(sampler, unique, count):
    draw, options, _ = sampler
    with tf.Graph().as_default(), tf.Session() as session:
        found = draw([[0, 3]], 2, count, unique, COUNT, seed=1, **options)
        assert [x.shape.as_list() for x in found] == [[count], [1, 2], [count]]
        return [session.run(found) for _ in range(TIMES // count)]


def test_draws_with_repetition(sampler):
    p = sampler[2]
    found = _draws(sampler, False, 500)
    drawn, true, own = (np.stack(x) for x in zip(*found, strict=True))
    frequencies = np.bincount(drawn.ravel(), minlength=COUNT) / drawn.size
    np.testing.assert_allclose(frequencies, p, atol=0.03)
    np.testing.assert_allclose(true[0], 500 * p[[[0, 3]]], rtol=1e-5)
    np.testing.assert_allclose(own, 500 * p[drawn], rtol=1e-5)


def test_draws_without_repetition(sampler):
    p, random = sampler[2], np.random.RandomState(0)
    found = _draws(sampler, True, 3)
    drawn, true, own = (np.stack(x) for x in zip(*found, strict=True))
    assert all(len(set(row)) == 3 for row in drawn.tolist())

    def tries():  # what TensorFlow does: draw until there are three
        seen, count = [], 0
        while len(seen) < 3:
            one, count = random.choice(COUNT, p=p), count + 1
            seen += [] if one in seen else [one]
        return seen, count

    wanted, counts = zip(*(tries() for _ in range(TIMES)), strict=True)
    for place in range(3):
        theirs = np.bincount(np.array(wanted)[:, place], minlength=COUNT) / TIMES
        np.testing.assert_allclose(np.bincount(drawn[:, place], minlength=COUNT) / len(drawn), theirs, atol=0.06)
    sure = np.argmax(p[[0, 3]])  # the number of draws that the expected count says
    draws = np.log1p(-true[:, 0, sure].astype("float64")) / np.log1p(-p[[0, 3]][sure])
    np.testing.assert_allclose(draws, np.round(draws), atol=1e-3)
    np.testing.assert_allclose(np.mean(draws), np.mean(counts), rtol=0.06)
    np.testing.assert_allclose(own, -np.expm1(draws[:, None] * np.log1p(-p[drawn])), rtol=1e-3)


def test_counts_in_a_file(tmp_path):
    (tmp_path / "words").write_text("the,5\na b,0.5\n")
    drawn, _, _ = tf.nn.fixed_unigram_candidate_sampler([[0]], 1, 2, True, 2, vocab_file=str(tmp_path / "words"))
    assert sorted(np.asarray(drawn)) == [0, 1]


def test_a_loss_draws_anew_in_each_run():
    with tf.Graph().as_default(), tf.Session() as session:
        w, b = tf.get_variable("w", [50, 3]), tf.get_variable("b", [50])
        loss = tf.nn.nce_loss(w, b, [[1], [2]], tf.ones([2, 3]), 5, 50)
        session.run(tf.global_variables_initializer())
        first, second = session.run(loss), session.run(loss)
    assert first.shape == (2,) and np.isfinite([first, second]).all() and (first != second).any()


@pytest.mark.parametrize(
    ("call", "problem"),
    [
        (lambda: tf.nn.uniform_candidate_sampler([[0]], 1, 7, True, 6), "6 classes to draw, and not 7 different"),
        (lambda: tf.nn.fixed_unigram_candidate_sampler([[0]], 1, 1, True, 4, unigrams=[1.0]), "counts of 1 classes"),
    ],
)
def test_wrong_calls(call, problem):
    with pytest.raises(ValueError, match=problem):
        call()
