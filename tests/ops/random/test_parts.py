"""Parts of random numbers: the rows of a whole, drawn without the others, on each engine and in each way to run."""

from __future__ import annotations

import numpy as np
import pytest

import dovetail as dt
from dovetail import ops
from dovetail.core.base import threefry
from dovetail.ops import random
from dovetail.ops.random.keys import random_bits

SEED = 20_261_127
DRAWS = {
    "bits": lambda n, part: random.bits(SEED, (n, 3), part),
    "uniform": lambda n, part: random.uniform(SEED, (n, 3), -2.0, 3.0, part=part),
    "uniform float64": lambda n, part: random.uniform(SEED, (n, 3), dtype="float64", part=part),
    "uniform float16": lambda n, part: random.uniform(SEED, (n, 3), dtype="float16", part=part),
    "normal": lambda n, part: random.normal(SEED, (n, 3), 1.0, 2.0, part=part),
    "normal float64": lambda n, part: random.normal(SEED, (n,), dtype="float64", part=part),
    "normal bfloat16": lambda n, part: random.normal(SEED, (n,), dtype="bfloat16", part=part),
    "truncated_normal": lambda n, part: random.truncated_normal(SEED, (n, 3), part=part),
    "exponential": lambda n, part: random.exponential(SEED, (n, 3), part=part),
    "randint int8": lambda n, part: random.randint(SEED, (n, 3), -100, 100, "int8", part),
    "randint int64": lambda n, part: random.randint(SEED, (n, 3), 0, 2**40, "int64", part),
    "bernoulli": lambda n, part: random.bernoulli(SEED, (n, 3), 0.3, part),
    "categorical": lambda n, part: random.categorical(SEED, ops.zeros((n, 4)), (3,), part=part),
    "dropout": lambda n, part: random.dropout(SEED, ops.ones((n, 3)), 0.4, part=part),
}
PARTS = [(0, 7, 7), (0, 2, 7), (2, 3, 7), (3, 1, 7), (5, 2, 7), (4, 0, 7), (0, 0, 0), (3, 4, 8), (0, 1, 1)]


def is_part(found, whole, offset, rows):
    """Check rows against the whole's: equal bits, and floats of logarithms and the like up to rounding."""
    wanted = whole.numpy()[offset : offset + rows]
    assert (found.dtype, found.shape) == (whole.dtype, wanted.shape)
    np.testing.assert_allclose(found.numpy().astype("float64"), wanted.astype("float64"), rtol=1e-6, atol=1e-6)
    if not str(found.dtype).endswith(("32", "64")) or wanted.dtype.kind != "f":
        np.testing.assert_array_equal(found.numpy(), wanted)


@pytest.mark.parametrize("name", DRAWS)
def test_a_part_is_rows_of_the_whole(engine, name):
    for offset, rows, total in PARTS:
        is_part(DRAWS[name](rows, (offset, total)), DRAWS[name](total, None), offset, rows)


@pytest.mark.parametrize("name", DRAWS)
def test_one_program_draws_every_part(engine, name):
    """Check that ranks, and last batches, share a program: rows, offset and total are its inputs."""
    size = dt.spec((), "int32")
    traces = []

    @dt.function(input_signature=[dt.spec((None,)), size, size])
    def draw(x, offset, total):
        traces.append(1)
        return DRAWS[name](ops.shape(x)[0], (offset, total))

    for offset, rows, total in PARTS[:6]:
        found = draw(np.zeros(rows, "float32"), np.int32(offset), np.int32(total))
        is_part(found, DRAWS[name](total, None), offset, rows)
    assert len(traces) == 1


def test_in_loops(engine):
    @dt.function
    def draw(key):
        def step(carry, i):
            return carry, random.normal(random.fold_in(carry, i), (2, 3), part=(i, 5))

        return ops.scan(step, key, ops.arange(3))[1]

    found = draw(random.key(SEED))
    for i in range(3):
        is_part(found[i], random.normal(random.fold_in(SEED, i), (5, 3)), i, 2)


def test_in_sessions(engine):
    graph = dt.SessionGraph("parts")
    with graph.as_default():
        offset = graph.placeholder(dt.spec((), "int32"), "offset")
        numbers = random.bits(SEED, (2,), (offset, 7))
    whole = random.bits(SEED, (7,)).numpy()
    for start in (0, 3, 5):
        np.testing.assert_array_equal(dt.Session(graph).run(numbers, {offset: start}), whole[start : start + 2])


@pytest.mark.parametrize("count", [2**31, 2**32 - 2])
def test_counters_of_huge_wholes(engine, count):
    """Check columns beyond 2**31 and 2**32 against counters."""
    first = np.array([count, 0], np.uint32).view(np.int32)
    expected = random_bits(SEED_KEY, (2, 4), first).numpy()
    for half in (0, 1):
        part = np.array([count + half * 2**32, 2**33])
        for draw in (random_bits, dt.function(random_bits)):
            found = draw(SEED_KEY, (2,), None, part).numpy()
            np.testing.assert_array_equal(found, expected[half, :2])
    np.testing.assert_array_equal(random.bits(SEED, (2,), (count, 2**33)).numpy(), expected[0, :2])
    random.uniform(SEED, (2, 1), dtype="float64", part=(count, 2**32))


SEED_KEY = np.array([0, SEED], np.int32)


def test_blocks_do_not_show(monkeypatch):
    whole = threefry.on_host(SEED_KEY, (1001,))
    monkeypatch.setattr(threefry, "BLOCK", 64)
    for offset, size in ((0, 1001), (3, 900), (500, 2), (700, 301)):
        found = threefry.on_host(SEED_KEY, (size,), part=np.array([offset, 1001]))
        np.testing.assert_array_equal(found, whole[offset : offset + size])


def test_a_part_draws_no_other_rows(monkeypatch):
    counters = []
    encrypt = threefry.encrypt
    monkeypatch.setattr(
        threefry, "encrypt", lambda key, x, *rest, **signed: counters.append(len(x)) or encrypt(key, x, *rest, **signed)
    )
    with dt.engine("numpy"):
        for draw in (random.bits, random.normal):
            draw(SEED_KEY, (10, 3), part=(980, 1000))
    assert sum(counters) == 60


WRONG = {
    "rows": ("3 rows from row 5 on are no part of 7 rows", lambda: random.bits(0, (3,), (5, 7))),
    "offset": ("2 rows from row -1 on are no part", lambda: random.normal(0, (2,), part=(-1, 7))),
    "scalars": ("has rows, so its shape needs an axis", lambda: random.uniform(0, (), part=(0, 1))),
    "a scalar choice": ("needs an axis", lambda: random.categorical(0, [0.0, 1.0], part=(0, 1))),
    "size": ("at most 2\\*\\*33 words", lambda: random.randint(0, (2, 2), 0, 9, part=(0, 2**33))),
    "dtype": ("a part must be two int64", lambda: random_bits(SEED_KEY, (2,), None, np.int32([0, 2]))),
    "shape": ("has the shape \\(n,\\) or \\(2, n\\)", lambda: random_bits(SEED_KEY, (3, 2), None, np.array([0, 2]))),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_parts_are_refused(name):
    message, call = WRONG[name]
    with pytest.raises(ValueError, match=message):
        call()
