"""Draws of distributions, and contrib's, which TensorFlow no longer has, against SciPy."""

from __future__ import annotations

import dovetail.compat.tensorflow.compat.v1 as tf
import numpy as np
import pytest
from scipy import special, stats

ds, contrib = tf.distributions, tf.contrib.distributions
SKEWED = np.array([0.2, 0.5, 0.3])
DRAWS = {  # the distribution, its mean, its deviation
    "normal": (lambda: ds.Normal([1.0, -2.0], 0.5), [1.0, -2.0], [0.5, 0.5]),
    "uniform": (lambda: ds.Uniform(1.0, [2.0, 5.0]), [1.5, 3.0], np.array([1.0, 4.0]) / 12**0.5),
    "bernoulli": (lambda: ds.Bernoulli(probs=[0.2, 0.9]), [0.2, 0.9], [0.4, 0.3]),
    "categorical": (lambda: ds.Categorical(tf.log([[0.5, 0.5, 0.0], [0.0, 0.25, 0.75]])), [0.5, 1.75], [0.5, 0.433]),
    "laplace": (lambda: ds.Laplace([1.0, -2.0], 0.5), [1.0, -2.0], [0.5**0.5] * 2),
    "gamma": (lambda: ds.Gamma([1.0, 4.0], 2.0), [0.5, 2.0], [0.5, 1.0]),
    "exponential": (lambda: ds.Exponential([1.0, 2.0]), [1.0, 0.5], [1.0, 0.5]),
    "beta": (lambda: ds.Beta([1.0, 2.0], [1.0, 6.0]), [0.5, 0.25], [12**-0.5, (0.25 * 0.75 / 9) ** 0.5]),
    "student_t": (lambda: ds.StudentT([10.0, 20.0], 1.0, 0.5), [1.0, 1.0], [0.5 * 1.25**0.5, 0.5 * (20 / 18) ** 0.5]),
    "dirichlet": (lambda: ds.Dirichlet(SKEWED * 9), SKEWED, (SKEWED * (1 - SKEWED) / 10) ** 0.5),
    "logistic": (lambda: contrib.Logistic([1.0, -2.0], 0.2), [1.0, -2.0], [0.2 * np.pi / 3**0.5] * 2),
    "poisson": (lambda: contrib.Poisson([1.0, 0.5]), [1.0, 0.5], [1.0, 0.5**0.5]),
    "one_hot": (lambda: contrib.OneHotCategorical(probs=SKEWED), SKEWED, (SKEWED * (1 - SKEWED)) ** 0.5),
    "diagonal": (lambda: contrib.MultivariateNormalDiag([1.0, 2.0], [0.5, 0.3]), [1.0, 2.0], [0.5, 0.3]),
    "triangular": (
        lambda: contrib.MultivariateNormalTriL([1.0, 2.0], [[0.5, 0.0], [0.4, 0.3]]), [1.0, 2.0], [0.5, 0.5],
    ),
    "softplus": (lambda: contrib.NormalWithSoftplusScale([1.0, 2.0], np.log(np.expm1(0.5))), [1.0, 2.0], [0.5, 0.5]),
}  # fmt: skip


@pytest.mark.parametrize("name", DRAWS)
def test_draws(name):
    make, mean, deviation = DRAWS[name]
    with tf.Graph().as_default(), tf.Session() as session:
        d = make()
        sample = d.sample([2, 2000], seed=3)
        assert sample.shape.as_list() == [2, 2000, *d.batch_shape.as_list(), *d.event_shape.as_list()]
        first, second = session.run(sample), session.run(sample)
        if name != "categorical":
            found = session.run([d.mean(), d.stddev()])
            np.testing.assert_allclose(found, [mean, deviation], rtol=1e-3)
    assert (first != second).any()
    np.testing.assert_allclose(first.mean((0, 1)), mean, atol=0.06)
    np.testing.assert_allclose(first.std((0, 1)), deviation, atol=0.06)


def test_shapes_that_a_run_decides():
    with tf.Graph().as_default(), tf.Session() as session:
        logits, count = tf.placeholder(tf.float32, [None, 3]), tf.placeholder(tf.int32, [1])
        d = ds.Categorical(logits)
        assert d.batch_shape.as_list() == [None] and d.event_shape.as_list() == []
        fed = {logits: np.zeros((4, 3), "float32"), count: [5]}
        shape, sample = session.run([d.batch_shape_tensor(), d.sample(count)], fed)
    assert shape.tolist() == [4] and sample.shape == (5, 4)


def test_gradients_pass_where_the_type_says_so():
    """Check the words by which programs choose a gradient."""
    with tf.Graph().as_default():
        x = tf.constant([0.5, 1.5])
        kinds = [ds.Normal(x, x), ds.Laplace(x, x), ds.Gamma(x, x), ds.Bernoulli(probs=x), contrib.Logistic(x, x)]
        for d in kinds:
            passes = d.reparameterization_type is ds.FULLY_REPARAMETERIZED
            slope = tf.gradients(tf.to_float(d.sample()), x)[0]
            assert (slope is not None) == passes == (type(d).__name__ in ("Normal", "Laplace", "Logistic"))
    assert repr(ds.NOT_REPARAMETERIZED) == "<Reparameterization Type: NOT_REPARAMETERIZED>"


X = np.array([[0.3, -0.2], [1.0, 2.0]])
LOC, SCALE, TRIL = np.array([0.5, -1.0]), np.array([2.0, 0.5]), np.array([[2.0, 0.0], [0.7, 0.5]])


def relaxed_bernoulli(x, temperature, logit):
    z = temperature * special.logit(x) - logit
    return stats.logistic.logpdf(z) + np.log(temperature) - np.log(x) - np.log1p(-x)


def relaxed_one_hot(x, t, probs):
    """The density of the Gumbel softmax: equation 22 of Jang, Gu and Poole 2017."""
    size = len(probs)
    parts = np.sum(np.log(probs) - (t + 1) * np.log(x), -1)
    return special.gammaln(size) + (size - 1) * np.log(t) - size * np.log(np.sum(probs / x**t, -1)) + parts


SHARES = np.array([[0.2, 0.3, 0.5], [0.6, 0.3, 0.1]])
AGAINST = {  # ours, theirs, values, the words that SciPy has, too
    "diagonal": (
        lambda: contrib.MultivariateNormalDiag(LOC, SCALE),
        stats.multivariate_normal(LOC, np.diag(SCALE**2)), X, "entropy",
    ),
    "triangular": (
        lambda: contrib.MultivariateNormalTriL(LOC, TRIL), stats.multivariate_normal(LOC, TRIL @ TRIL.T), X, "entropy",
    ),
    "logistic": (lambda: contrib.Logistic(LOC, SCALE), stats.logistic(LOC, SCALE), X, "entropy mean cdf"),
    "poisson": (lambda: contrib.Poisson(SCALE), stats.poisson(SCALE), np.array([[0.0, 3.0]]), "mean"),
    "one_hot": (
        lambda: contrib.OneHotCategorical(probs=SKEWED),
        stats.multinomial(1, SKEWED), np.eye(3, dtype="int32"), "entropy",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", AGAINST)
def test_contribs_against_scipy(name):
    make, theirs, x, words = AGAINST[name]
    d = make()
    log = getattr(theirs, "logpdf" if hasattr(theirs, "logpdf") and name != "poisson" else "logpmf")
    np.testing.assert_allclose(d.log_prob(x), log(x), rtol=1e-5)
    for word in words.split():
        given = (x,) if word == "cdf" else ()
        np.testing.assert_allclose(getattr(d, word)(*given), getattr(theirs, word)(*given), rtol=1e-5)


def test_relaxed_distributions():
    d = contrib.RelaxedBernoulli(0.7, logits=[0.3, -0.5])
    x = np.array([[0.2, 0.9]])
    np.testing.assert_allclose(d.log_prob(x), relaxed_bernoulli(x, 0.7, np.array([0.3, -0.5])), rtol=1e-5)
    d = contrib.RelaxedOneHotCategorical(0.7, probs=SKEWED)
    np.testing.assert_allclose(d.log_prob(SHARES), relaxed_one_hot(SHARES, 0.7, SKEWED), rtol=1e-5)
    assert d.event_shape.as_list() == [3] and d.batch_shape.as_list() == []
    sample = d.sample(1000, seed=1).numpy()
    np.testing.assert_allclose(sample.sum(-1), 1.0, rtol=1e-5)
    drawn = np.bincount(sample.argmax(-1), minlength=3) / 1000  # the largest one is drawn by the probabilities
    np.testing.assert_allclose(drawn, SKEWED, atol=0.05)


def test_a_normal_distribution_of_several_numbers():
    d = contrib.MultivariateNormalDiag(LOC, SCALE)
    standard = contrib.MultivariateNormalDiag(scale_diag=np.ones(2))
    wanted = np.sum((SCALE**2 + LOC**2 - 1) / 2 - np.log(SCALE))
    np.testing.assert_allclose(contrib.kl_divergence(d, standard), wanted, rtol=1e-6)
    np.testing.assert_allclose(d.covariance(), np.diag(SCALE**2), rtol=1e-6)
    np.testing.assert_allclose(contrib.MultivariateNormalTriL(LOC, TRIL).covariance(), TRIL @ TRIL.T, rtol=1e-6)
    both = contrib.MultivariateNormalDiag(LOC, SCALE, scale_identity_multiplier=1.0)
    np.testing.assert_allclose(both.stddev(), SCALE + 1.0, rtol=1e-6)
    assert d.sample(5).shape == (5, 2) and d.event_shape.as_list() == [2] and d.batch_shape.as_list() == []


def test_softplus_of_parameters():
    d, wanted = contrib.GammaWithSoftplusConcentrationRate([0.3, 2.0], rate=1.0), special.log1p(np.exp([0.3, 2.0]))
    np.testing.assert_allclose(d.concentration, wanted, rtol=1e-6)
    np.testing.assert_allclose(contrib.softplus_inverse(d.concentration), [0.3, 2.0], rtol=1e-5)
    assert d.name == "GammaWithSoftplusConcentrationRate"


def test_undefined_numbers_are_errors_if_nan_is_not_allowed():
    with tf.Graph().as_default(), tf.Session() as session:
        c = tf.placeholder(tf.float32, [1])
        mode = ds.Gamma(c, 1.0, allow_nan_stats=False).mode()
        assert session.run(mode, {c: [3.0]}) == [2.0]
        with pytest.raises(tf.errors.InvalidArgumentError, match="mode"):
            session.run(mode, {c: [0.5]})


@pytest.mark.parametrize(
    ("call", "error", "problem"),
    [
        (lambda: ds.Bernoulli(), ValueError, "give either logits or probs"),
        (lambda: ds.Categorical([1.0], [1.0]), ValueError, "give either logits or probs"),
        (lambda: ds.Categorical([1.0]).mean(), NotImplementedError, "it has no mean"),
        (lambda: ds.kl_divergence(ds.Normal(0.0, 1.0), ds.Uniform()), NotImplementedError, "no divergence between"),
        (lambda: ds.RegisterKL(ds.Normal, ds.Normal)(print), ValueError, "there is a divergence between"),
    ],
)
def test_wrong_calls(call, error, problem):
    with pytest.raises(error, match=problem):
        call()
