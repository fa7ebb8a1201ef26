"""Batching: every op of the table gives the same on several examples at once, and few ops run one by one."""

from __future__ import annotations

import numpy as np
import pytest

import dovetail as dt
from dovetail import ops
from dovetail.batching import batch, rows, table
from dovetail.core.base.windows import CONVOLUTIONS
from tests.ops.table import CASES, cases, draw, leaves

FUNCTIONS = {"If", "While", "Scan", "WhileGrad", "Call"}  # the whole function runs example by example
RANDOM = "Random"  # draws with different keys run one by one
BATCHED = [
    (op, n)
    for op, n in CASES
    if not (op.samples[n].dynamic or RANDOM in op.name or op.name in FUNCTIONS or op.name == "Print")
]
COUNT = 3
ONE_BY_ONE = {  # some of their arguments must be the same for all examples
    *(name for names in CONVOLUTIONS.values() for name in names),
    *("Slice", "XlaDynamicUpdateSlice", "XlaOptimizationBarrier", "CTCBeamSearchDecoder"),
}


def numeric_arrays(args, kwargs):
    """All drawn arrays among arguments, also integers and bools, but not in static arguments."""
    found = []
    for value in [*args, *kwargs.values()]:
        found += [v for v in (value if isinstance(value, list) else [value]) if isinstance(v, np.ndarray)]
    return found


def replaced(args, kwargs, new):
    values = iter(new)

    def swap(value):
        if isinstance(value, list):
            return [swap(v) for v in value]
        return next(values) if isinstance(value, np.ndarray) else value

    return [swap(a) for a in args], {k: swap(v) for k, v in kwargs.items()}


@pytest.fixture
def one_by_one(monkeypatch):
    """The types of the operations that have run example by example."""
    found = []
    run = batch._one_by_one
    monkeypatch.setattr(batch, "_one_by_one", lambda op, inputs: found.append(op.type) or run(op, inputs))
    return found


JOINING = [case for case in BATCHED if table.RULES.get(case[0].name, table.Rules()).rows or case[0].is_elementwise]


@cases(JOINING)
def test_joined(op, number, rng, one_by_one, monkeypatch):
    """Check examples that are batches, whose rows join, whichever op begins."""
    monkeypatch.setattr(rows, "STARTS", {op.name})
    check_op(op, number, rng, one_by_one)


@cases(BATCHED)
def test_op(op, number, rng, one_by_one):
    check_op(op, number, rng, one_by_one)


def check_op(op, number, rng, one_by_one):
    """Check tensors that differ between examples, and calls in which all but one tensor are shared."""
    sample = op.samples[number]
    drawn = [draw(sample, rng) for _ in range(COUNT)]
    arrays = [numeric_arrays(*each) for each in drawn]
    args, kwargs = drawn[0]
    total = len(arrays[0])
    for own in {tuple(range(total)), *((i,) for i in range(total))} - {()}:

        def call(*slices, own=own):
            new = list(arrays[0])
            for i, x in zip(own, slices, strict=True):
                new[i] = x
            moved, named = replaced(args, kwargs, new)
            return leaves(op(*moved, **named))

        with dt.engine("numpy"):
            xs = [np.stack([each[i] for each in arrays]) for i in own]
            expected = [[y.numpy() for y in call(*[x[e] for x in xs])] for e in range(COUNT)]
            found = ops.vectorized_map(lambda slices, call=call: call(*slices), tuple(xs))
        for f, *e in zip(found, *expected, strict=True):
            assert f.dtype == e[0].dtype
            np.testing.assert_allclose(f.numpy(), np.stack(e), rtol=1e-5, atol=1e-5)
    assert set(one_by_one) <= ONE_BY_ONE


def network(x):
    """The layers of a typical model, on a batch of pictures."""
    x = ops.conv(x, KERNEL, padding="same")
    x = ops.max_pool(ops.relu(x + 0.5), 2)
    x = ops.reshape(x, (4, 9, 2))
    x = ops.concatenate([x, ops.layer_normalization(x)], -1)
    x = x + ops.scaled_dot_product_attention(x, x, x)
    x = ops.lstm(x, ops.zeros((4, 2)), ops.zeros((4, 2)), ops.ones((4, 8)), ops.ones((2, 8)))[0]
    return ops.softmax(ops.matmul(ops.reshape(x[:, 1:], (4, -1)), ops.ones((16, 3))))


KERNEL = np.linspace(-1, 1, 18, dtype="float32").reshape(3, 3, 1, 2)


def test_joined_network(rng):
    """Check that composites stay whole, and that only the results are split into examples."""
    pictures = rng.normal(size=(3, 4, 6, 6, 1)).astype("float32")
    function = dt.function(lambda x: ops.vectorized_map(network, x))
    expected = np.stack([network(x).numpy() for x in pictures])
    np.testing.assert_allclose(function(pictures).numpy(), expected, rtol=1e-5, atol=1e-6)
    types = [op.type for op in function.graph(pictures).operations]
    assert {"Conv2D", "MaxPool", "LayerNormalization", "ScaledDotProductAttention", "LSTM"} <= {*types}
    assert types.count("Reshape") == 4  # two of the program's own, the pictures' rows, and the results


def recurrent(weights):
    """A loop over the rows of a batch of sequences, backwards, with values shared by all examples."""

    def step(carry, row):
        count, h = carry
        h = ops.tanh(row + ops.matmul(h, weights))
        return (count + 1, h), (h * count, weights)

    def run(x):
        (count, h), (ys, same) = ops.scan(step, (0.0, ops.zeros((4, 2))), ops.transpose(x, (1, 0, 2)), reverse=True)
        return [count, h, ys, same]

    return run


def test_loops_run_on_all_examples(engine, rng, one_by_one):
    weights, x = dt.Variable(rng.normal(size=(2, 2)).astype("float32")), rng.normal(size=(3, 4, 5, 2)).astype("float32")
    results, gradients = [], []
    for mapped in (ops.vectorized_map, ops.map_fn):
        function = dt.function(lambda x, mapped=mapped: mapped(recurrent(weights), x))
        with dt.GradientTape() as tape:
            found = function(x)
            total = sum(ops.sum(y) for y in found)
        results.append([y.numpy() for y in found])
        gradients.append(tape.gradient(total, weights).numpy())
        types = [op.type for op in function.graph(x).find(type="Scan")[0].body().operations]
        assert ("Scan" in types) == (mapped is ops.map_fn), "the loop over examples has a loop over rows in it"
    for f, e in zip(*results, strict=True):
        np.testing.assert_allclose(f, e, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(*gradients, rtol=1e-4, atol=1e-5)
    assert one_by_one == []


W = np.float32([[1, 2], [3, 4], [5, 6]])
X = np.float32([[1, 0, 2], [0, 1, 1], [2, 2, 0], [1, 1, 1]])


def example(weights, scale):
    return lambda x: (ops.softmax(ops.matmul(x[None], weights))[0] * scale, ops.max(x), ops.convert([1.0, 2.0]))


def check(found):
    logits = X @ W
    e = np.exp(logits - logits.max(1, keepdims=True))
    for f, wanted in zip(found, (e / e.sum(1, keepdims=True) * 2, X.max(1), [[1, 2]] * 4), strict=True):
        np.testing.assert_allclose(f.numpy(), wanted, rtol=1e-5)


@pytest.mark.parametrize("signature", [None, [dt.spec([None, 3], "float32")]])
def test_compiled_with_variables_and_tensors_around(engine, signature):
    weights, scale = dt.Variable(W), ops.convert(2.0)
    function = dt.function(lambda x: ops.vectorized_map(example(weights, scale), x), input_signature=signature)
    check(function(X))
    check(ops.vectorized_map(example(weights, scale), X))


def test_gradient(engine):
    weights, x = ops.convert(W), ops.convert(X)
    gradients = []
    for each in (ops.vectorized_map, ops.map_fn):
        with dt.GradientTape() as tape:
            tape.watch([weights, x])
            y = ops.sum(ops.square(each(example(weights, 2.0), x)[0]))
        gradients.append(tape.gradient(y, [weights, x]))
    for found, wanted in zip(*gradients, strict=True):
        np.testing.assert_allclose(found.numpy(), wanted.numpy(), rtol=1e-4, atol=1e-6)


def test_what_is_traced_once_runs_once(monkeypatch):
    calls, rows = [], np.ones((50, 3), "float32")
    monkeypatch.setattr(batch, "map_fn", None)
    found = ops.vectorized_map(lambda x: calls.append(x) or ops.sum(ops.tanh(x) * 2), rows)
    assert len(calls) == 1 and found.shape == (50,)
    assert ops.vectorized_map(lambda x: ops.sum(x), np.ones((0, 3), "float32")).shape == (0,)


def test_loops_and_assignments_run_one_by_one(engine):
    counter = dt.Variable(0.0)

    def counted(x):
        counter.assign_add(x)
        return counter + 0

    assert ops.vectorized_map(counted, np.float32([1, 2, 3])).numpy().tolist() == [1, 3, 6]
    found = ops.vectorized_map(lambda n: ops.while_loop(lambda i: i < n, lambda i: (i * 2,), (1,))[0], np.int32([3, 9]))
    assert found.numpy().tolist() == [4, 16]
