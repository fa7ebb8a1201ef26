"""Draws of distributions, and contrib's normal distribution of several numbers, which TensorFlow no longer has."""

from __future__ import annotations

import dovetail.compat.tensorflow.compat.v1 as tf
import numpy as np
import pytest
from scipy import stats

ds = tf.distributions
DRAWS = {
    "normal": (lambda: ds.Normal([1.0, -2.0], 0.5), [1.0, -2.0], [0.5, 0.5]),
    "uniform": (lambda: ds.Uniform(1.0, [2.0, 5.0]), [1.5, 3.0], np.array([1.0, 4.0]) / 12**0.5),
    "bernoulli": (lambda: ds.Bernoulli(probs=[0.2, 0.9]), [0.2, 0.9], [0.4, 0.3]),
    "categorical": (lambda: ds.Categorical(tf.log([[0.5, 0.5, 0.0], [0.0, 0.25, 0.75]])), [0.5, 1.75], [0.5, 0.433]),
}


@pytest.mark.parametrize("name", DRAWS)
def test_draws(name):
    make, mean, deviation = DRAWS[name]
    with tf.Graph().as_default(), tf.Session() as session:
        sample = make().sample([2, 2000], seed=3)
        assert sample.shape.as_list() == [2, 2000, 2]
        first, second = session.run(sample), session.run(sample)
    assert (first != second).any()
    np.testing.assert_allclose(first.mean((0, 1)), mean, atol=0.05)
    np.testing.assert_allclose(first.std((0, 1)), deviation, atol=0.05)


def test_a_normal_distribution_of_several_numbers():
    loc, scale, x = np.array([0.5, -1.0]), np.array([2.0, 0.5]), np.array([[0.0, 0.0], [1.0, 2.0]])
    d = tf.contrib.distributions.MultivariateNormalDiag(loc, scale)
    theirs = stats.multivariate_normal(loc, np.diag(scale**2))
    np.testing.assert_allclose(d.log_prob(x), theirs.logpdf(x), rtol=1e-6)
    np.testing.assert_allclose(d.entropy(), theirs.entropy(), rtol=1e-6)
    standard = tf.contrib.distributions.MultivariateNormalDiag(scale_diag=np.ones(2))
    wanted = np.sum((scale**2 + loc**2 - 1) / 2 - np.log(scale))
    np.testing.assert_allclose(tf.contrib.distributions.kl_divergence(d, standard), wanted, rtol=1e-6)
    assert d.sample(5).shape == (5, 2)


@pytest.mark.parametrize(
    ("call", "error", "problem"),
    [
        (lambda: ds.Bernoulli(), ValueError, "give either logits or probs"),
        (lambda: ds.Categorical([1.0], [1.0]), ValueError, "give either logits or probs"),
        (lambda: ds.Categorical([1.0]).mean(), NotImplementedError, "it has no mean"),
        (lambda: ds.kl_divergence(ds.Normal(0.0, 1.0), ds.Uniform()), NotImplementedError, "no divergence between"),
    ],
)
def test_wrong_calls(call, error, problem):
    with pytest.raises(error, match=problem):
        call()
