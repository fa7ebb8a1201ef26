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


CASES = {"normal": normal, "uniform": uniform, "bernoulli": bernoulli, "categorical": categorical}
