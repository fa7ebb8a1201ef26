"""Candidates: all strategies give the same results, over random models that train."""

from __future__ import annotations

import numpy as np
import pytest

import dovetail as dt
from dovetail import ops
from dovetail.choose.candidate import Candidate, split_strategies
from dovetail.core.engines.engine_registry import get_engine
from dovetail.execute.choice import Strategy
from tests.conftest import ENGINES, SEED

SEEDS = range(SEED, SEED + 40)
TOLERANCE = {"float64": 1e-9, "float32": 2e-3}
BATCH, SIZE, CLASSES = 4, 8, 5


class Model:
    """A random model of images, as a function of a batch and weights that gives a loss and new weights.

    Attributes:
        weights: the arrays to start with.
        layers: the names of the layers.
    """

    def __init__(self, seed: int, dtype: str) -> None:
        self.rng = np.random.default_rng(seed)
        self.dtype = dtype
        self.weights: list[np.ndarray] = []
        self.layers: list[str] = []
        self._calls = []
        shape = (SIZE, SIZE, 3)
        for name in self.rng.choice(list(IMAGES), 3):
            shape = self._add(name, IMAGES[name], shape)
        shape = self._add("rows", rows, shape)
        for name in self.rng.choice(list(SEQUENCES), 2):
            shape = self._add(name, SEQUENCES[name], shape)
        self._add("logits", logits, shape)

    def _add(self, name, layer, shape):
        call, shape, *sizes = layer(shape)
        first = len(self.weights)
        for size in sizes:
            scale = np.sqrt(2 / max(np.prod(size[:-1]), 1))
            self.weights.append((self.rng.normal(size=size) * scale).astype(self.dtype))
        self._calls.append((call, slice(first, len(self.weights))))
        self.layers.append(name)
        return shape

    def step(self, x, y, *weights):
        """The loss, and the weights after a step of gradient descent."""

        def loss_of(*weights):
            found = x
            for call, own in self._calls:
                found = call(found, *weights[own])
            return ops.mean(ops.sparse_softmax_cross_entropy_with_logits(y, found))

        with dt.GradientTape() as tape:
            for weight in weights:
                tape.watch(weight)
            loss = loss_of(*weights)
        gradients = tape.gradient(loss, list(weights))
        return loss, *(w - 0.1 * g for w, g in zip(weights, gradients, strict=True))

    def batch(self):
        images = self.rng.normal(size=(BATCH, SIZE, SIZE, 3)).astype(self.dtype)
        return images, self.rng.integers(0, CLASSES, BATCH).astype("int32")


# layers: the shape of a sample → a function of a batch and weights, the new shape, and the shapes of weights


def convolved(shape):
    h, w, c = shape
    call = lambda x, k, b: ops.relu(ops.conv(x, k, 1, "same") + b)  # noqa: E731
    return call, (h, w, 6), (3, 3, c, 6), (6,)


def depthwise(shape):
    return lambda x, k: ops.gelu(ops.depthwise_conv(x, k, 1, "same")), shape, (3, 3, shape[-1], 1)


def normalized(shape):
    def call(x, k, scale, offset):
        x = ops.conv(x, k, 1, "same")
        mean, variance = ops.moments(x, [0, 1, 2])
        return ops.relu(ops.batch_normalization(x, mean, variance, -1, offset, scale))

    c = shape[-1]
    return call, shape, (1, 1, c, c), (c,), (c,)


def residual(shape):
    c = shape[-1]
    return lambda x, k: x + ops.tanh(ops.conv(x, k, 1, "same")), shape, (3, 3, c, c)


def pooled(shape):
    h, w, c = shape
    return lambda x: ops.max_pool(x, 2, 2, "same"), (-(-h // 2), -(-w // 2), c)


def averaged(shape):
    h, w, c = shape
    return lambda x: ops.average_pool(x, 2, 2, "same"), (-(-h // 2), -(-w // 2), c)


IMAGES = {f.__name__: f for f in (convolved, depthwise, normalized, residual, pooled, averaged)}


def rows(shape):
    h, w, c = shape
    return lambda x: ops.reshape(x, (BATCH, h * w, c)), (h * w, c)


def attended(shape):
    c = shape[-1]

    def call(x, q, k, v):
        return x + ops.scaled_dot_product_attention(ops.matmul(x, q), ops.matmul(x, k), ops.matmul(x, v))

    return call, shape, (c, c), (c, c), (c, c)


def recurrent(shape):
    steps, c = shape
    zeros = np.zeros((BATCH, 4), "float32")

    def call(x, kernel, own, bias):
        start = ops.cast(zeros, x.dtype)
        return ops.lstm(x, start, start, kernel, own, bias)[0]

    return call, (steps, 4), (c, 16), (4, 16), (16,)


def layer_normalized(shape):
    c = shape[-1]
    return lambda x, gamma, beta: ops.layer_normalization(x, gamma, beta), shape, (c,), (c,)


def dense(shape):
    steps, c = shape
    return lambda x, k, b: ops.gelu(ops.matmul(x, k) + b), (steps, 7), (c, 7), (7,)


SEQUENCES = {f.__name__: f for f in (attended, recurrent, layer_normalized, dense)}


def logits(shape):
    return lambda x, k: ops.matmul(ops.mean(x, 1), k), (CLASSES,), (shape[-1], CLASSES)


def strategies(graph):
    """All possible strategies of a graph."""
    found = [Strategy(name, variant) for name in ENGINES for variant in get_engine(name).strategies]
    return [*found, *split_strategies(graph, ENGINES)]


@pytest.mark.parametrize(
    ("seed", "dtype"),
    [(seed, dtype) for dtype in ("float64", "float32") for seed in SEEDS],
)
def test_all_compute_the_same(seed, dtype):
    model = Model(seed, dtype)
    given = [*model.batch(), *model.weights]
    graph = dt.function(model.step).graph(*(dt.spec(a.shape, str(a.dtype)) for a in given))
    home = get_engine("numpy")
    found = {}
    for strategy in strategies(graph):
        candidate = Candidate(strategy, graph, home, [a.shape for a in given])
        values = given
        for _ in range(2):
            loss, *weights = candidate.run(values)
            values = [*given[:2], *weights]
        found[strategy.name] = [loss, *weights]
    for name, results in found.items():
        for result, wanted in zip(results, found["numpy"], strict=True):
            bound = TOLERANCE[dtype]
            np.testing.assert_allclose(result, wanted, rtol=bound, atol=bound, err_msg=f"{name}: {model.layers}")
    assert len(found) >= len(ENGINES)


NETWORKS = {"jax", "torch"} <= {*ENGINES}


@pytest.mark.skipif(not NETWORKS, reason="a plan of two engines needs both")
def test_a_split_strategy_computes_on_two_engines(rng):
    x, kernel = rng.normal(size=(2, 8, 8, 3)).astype("float32"), rng.normal(size=(3, 3, 3, 4)).astype("float32")
    graph = dt.function(lambda x, k: ops.tanh(ops.conv(ops.gelu(x), k))).graph(dt.spec(x.shape), dt.spec(kernel.shape))
    [strategy] = split_strategies(graph, ["jax", "torch"])
    candidate = Candidate(strategy, graph, get_engine("numpy"), [x.shape, kernel.shape])
    assert {segment.engine.name for segment in candidate.plan.segments} == {"jax", "torch"}
    np.testing.assert_allclose(
        candidate.run([x, kernel])[0], ops.tanh(ops.conv(ops.gelu(x), kernel)), rtol=1e-4, atol=1e-5
    )


def test_a_graph_without_convolutions_is_not_split():
    assert split_strategies(dt.function(ops.exp).graph(dt.spec((3,))), ENGINES) == []
