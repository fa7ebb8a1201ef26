"""Distributions, without their draws, which `test_distributions.py` counts."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.compat.tensorflow.legacy import array

X = np.array([0.3, -1.0, 2.5], "float32")
BITS, CLASSES = np.array([1, 0, 1], "int32"), np.array([2, 0, 1], "int32")


def numbers(d: Any, other: Any, x: Any, without: str = "") -> list[Any]:
    words = ("mean", "mode", "variance", "stddev", "entropy")
    found = [getattr(d, word)() for word in words if word not in without]
    found += [d.log_prob(x), d.prob(x)] + ([] if "cdf" in without else [d.cdf(x)])
    return found if other is None else [*found, d.kl_divergence(other), d.cross_entropy(other)]


def normal(tf: Any, fed: Any) -> Any:
    loc, scale = tf.get_variable("loc", [3]), tf.get_variable("scale", [2, 1])
    other = tf.distributions.Normal(loc=0.5, scale=[1.0, 2.0, 3.0])
    d = tf.distributions.Normal(loc, scale)
    return [*numbers(d, other, fed(X, [3])), tf.distributions.kl_divergence(other, d), d.loc, d.scale]


def uniform(tf: Any, fed: Any) -> Any:
    low = tf.get_variable("low", [3])
    return numbers(tf.distributions.Uniform(low, 2.0), None, fed(X, [3]), without="mode")


def bernoulli(tf: Any, fed: Any) -> Any:
    logits, probs = tf.get_variable("logits", [3]), tf.get_variable("probs", [3])
    d, other = tf.distributions.Bernoulli(logits), tf.distributions.Bernoulli(probs=probs)
    bits = fed(BITS, [3])
    return [x for pair in ((d, other), (other, d)) for x in numbers(*pair, bits, "cdf")] + [d.probs, other.logits]


def categorical(tf: Any, fed: Any) -> Any:
    logits = tf.get_variable("logits", [3, 4])
    d, other = tf.distributions.Categorical(logits), tf.distributions.Categorical(probs=[0.1, 0.2, 0.3, 0.4])
    without = "mean variance stddev cdf"
    found = numbers(d, tf.distributions.Categorical(array(3, 4)), fed(CLASSES, [3]), without)
    return [*found, *numbers(other, None, fed(CLASSES, [3]), without)]


def of(name: str, *parameters: Any, x: Any, without: str = "", kl: bool = True) -> Any:
    """A case of a distribution whose parameters are variables of these shapes, above 0 and below 1, plus numbers."""

    def case(tf: Any, fed: Any) -> Any:
        def made(scope: str) -> Any:
            with tf.variable_scope(scope):
                given = [more + tf.get_variable(f"p{i}", shape) for i, (shape, more) in enumerate(parameters)]
            return getattr(tf.distributions, name)(*given)

        d, other = made("a"), made("b")
        values = np.asarray(x, "float32")
        found = numbers(d, other if kl else None, fed(values, values.shape), without)
        return [*found, d.batch_shape_tensor(), d.event_shape_tensor(), tf.constant(d.batch_shape.as_list() or [0])]

    return case


def by_logarithms(tf: Any, fed: Any) -> Any:
    """The words that compute probabilities of tails."""
    loc, x = tf.get_variable("loc", [3]), fed(X, [3])
    words = ("log_cdf", "survival_function", "log_survival_function")
    found = [
        getattr(d(loc, 2.0), word)(x) for d in (tf.distributions.Normal, tf.distributions.Laplace) for word in words
    ]
    c = np.array([0.5, 1.5, 3.0], "float32")  # TensorFlow has no gradient of betainc by its parameters
    found += [tf.distributions.Beta(c, c + 1.0).cdf(tf.sigmoid(x)), tf.distributions.StudentT(c, c, c).cdf(x)]
    return [
        *found,
        tf.distributions.Normal(loc, 2.0).quantile(tf.sigmoid(x)),
        tf.distributions.Exponential(loc).cdf(tf.abs(x)),
    ]


def undefined(tf: Any, fed: Any) -> Any:
    """Modes and moments that not all parameters define."""
    c = fed(np.array([0.5, 1.5, 3.0], "float32"), [3])
    found = [tf.distributions.Gamma(c, 2.0).mode(), tf.distributions.Beta(c, 2.0).mode()]
    t = tf.distributions.StudentT(c, 1.0, 2.0)
    return [*found, tf.distributions.Dirichlet(c).mode(), t.mean(), t.variance()]


def own(tf: Any, fed: Any) -> Any:
    """A program's own distribution, and a divergence that it registers."""
    ds = tf.distributions

    class Shifted(ds.Distribution):
        def __init__(self, loc: Any) -> None:
            super().__init__(loc.dtype, ds.NOT_REPARAMETERIZED, False, True, parameters=locals(), name="Shifted")
            self.loc = loc

        def _log_prob(self, x: Any) -> Any:
            return -tf.abs(x - self.loc)

        def _batch_shape(self) -> Any:
            return self.loc.shape

        def _event_shape(self) -> Any:
            return tf.TensorShape([])

    @ds.RegisterKL(Shifted, ds.Normal)
    def _divergence(a: Any, b: Any, name: Any = None) -> Any:
        return a.loc - b.loc

    d = Shifted(tf.get_variable("loc", [3]))
    again = d.copy(loc=d.loc + 1.0)
    return [d.log_prob(fed(X, [3])), again.prob(fed(X, [3])), ds.kl_divergence(d, ds.Normal(0.5, 1.0))]


GRID = [[0.3, 0.5, 0.8], [0.1, 0.6, 0.9]]
TRIPLES = np.array([[0.2, 0.3, 0.5], [0.6, 0.3, 0.1]], "float32")
CASES = {
    "normal": normal,
    "uniform": uniform,
    "bernoulli": bernoulli,
    "categorical": categorical,
    "categorical-cdf": lambda tf, fed: tf.distributions.Categorical(tf.get_variable("l", [3, 4])).cdf(
        fed(CLASSES, [3])
    ),
    "laplace": of("Laplace", ([3], -0.1), ([2, 1], 0.5), x=GRID, kl=False),
    "gamma": of("Gamma", ([3], 1.5), ([2, 1], 0.5), x=GRID),
    "exponential": of("Exponential", ([3], 0.5), x=GRID, without="mode"),
    "beta": of("Beta", ([3], 1.5), ([2, 1], 1.2), x=GRID, without="cdf"),
    "student_t": of("StudentT", ([2, 3], 2.5), ([3], 0.1), ([2, 3], 0.5), x=GRID, without="cdf", kl=False),
    "dirichlet": of("Dirichlet", ([3], 1.5), x=TRIPLES, without="cdf stddev"),
    "dirichlets": of("Dirichlet", ([2, 3], 1.5), x=TRIPLES, without="cdf mode stddev"),
    "by_logarithms": by_logarithms,
    "undefined": undefined,
    "own": own,
}
