"""Random numbers: known answers, the same numbers everywhere, and distributions checked by statistical tests."""

from __future__ import annotations

import numpy as np
import pytest

import dovetail as dt
from dovetail.core.base import threefry
from dovetail.ops import random
from dovetail.ops.random.keys import random_bits
from tests.libraries import Library

stats = Library("scipy.stats")

SEED = 20_261_120
COUNT = 20_000
ALPHA = 1e-4  # the seed is fixed, so a test fails always or never


@pytest.mark.parametrize(
    ("key", "counter", "expected"),
    [
        ((0, 0), (0, 0), (0x6B200159, 0x99BA4EFE)),
        ((0xFFFFFFFF, 0xFFFFFFFF), (0xFFFFFFFF, 0xFFFFFFFF), (0x1CB996FC, 0xBB002BE7)),
        ((0x13198A2E, 0x03707344), (0x243F6A88, 0x85A308D3), (0xC4923A9C, 0x483DF7A0)),
    ],
)
def test_known_answers(engine, key, counter, expected):
    """Check the vectors that Random123 publishes for threefry2x32, 20 rounds."""
    key, counter = (np.array(words, np.uint32).view(np.int32) for words in (key, counter))
    found = random_bits(key, (2,), counter).numpy().view(np.uint32)
    assert tuple(found.tolist()) == expected


def test_signed_words_give_the_same_bits():
    """Check the code path of devices without unsigned words."""
    torch = pytest.importorskip("torch")
    key = np.array([-7, 2**31 - 1], np.int32)
    counters = torch.arange(100, dtype=torch.int32), torch.zeros(100, dtype=torch.int32)
    words = torch.cat(threefry.encrypt(torch.tensor(key), *counters, signed=True)).numpy()
    np.testing.assert_array_equal(words, threefry.on_host(key, (200,), None))


def test_bits_are_those_of_jax():
    jax = pytest.importorskip("jax")
    from jax.extend.random import threefry_2x32

    count = jax.numpy.concatenate([jax.numpy.arange(50, dtype="uint32"), jax.numpy.zeros(50, "uint32")])
    expected = threefry_2x32(jax.numpy.array([3, 5], "uint32"), count)
    found = threefry.on_host(np.array([3, 5], np.int32), (100,), None)
    np.testing.assert_array_equal(found.view(np.uint32), np.asarray(expected))


def test_blocks_do_not_show(monkeypatch):
    key = np.array([1, 2], np.int32)
    whole = threefry.on_host(key, (1001,), None)
    monkeypatch.setattr(threefry, "BLOCK", 64)
    np.testing.assert_array_equal(threefry.on_host(key, (1001,), None), whole)


CALLS = {
    "bits": lambda k: random.bits(k, (3, 5)),
    "split": lambda k: random.split(k, 3),
    "fold_in": lambda k: random.fold_in(k, 7),
    "uniform": lambda k: random.uniform(k, (3, 5), -2.0, 3.0),
    "uniform float64": lambda k: random.uniform(k, (7,), dtype="float64"),
    "uniform bfloat16": lambda k: random.uniform(k, (7,), dtype="bfloat16"),
    "normal": lambda k: random.normal(k, (3, 5), 1.0, 2.0),
    "normal float64": lambda k: random.normal(k, (4,), dtype="float64"),
    "truncated_normal": lambda k: random.truncated_normal(k, (9,)),
    "exponential": lambda k: random.exponential(k, (9,)),
    "gamma": lambda k: random.gamma(k, (9,), 0.7),
    "beta": lambda k: random.beta(k, (9,), 2.0, 0.5),
    "randint": lambda k: random.randint(k, (9,), -5, 1000),
    "bernoulli": lambda k: random.bernoulli(k, (9,), 0.3),
    "categorical": lambda k: random.categorical(k, [[1.0, 2.0, 3.0]] * 2, (9,)),
    "permutation": lambda k: random.permutation(k, 9),
    "shuffle": lambda k: random.shuffle(k, [[1, 2, 3], [4, 5, 6]], axis=1),
    "dropout": lambda k: random.dropout(k, [1.0] * 9, 0.4),
    "poisson": lambda k: random.poisson(k, (9,), [0.0, 1.0, 2.0, 5.0, 9.0, 11.0, 50.0, 1e3, 1e5]),
    "binomial": lambda k: random.binomial(k, (5,), [0.0, 3.0, 40.0, 1e3, 1e6], [0.5, 0.2, 0.9, 0.5, 0.01]),
}


@pytest.mark.parametrize("name", CALLS)
def test_same_everywhere(engine, name):
    """Check that a seed gives the same numbers on all engines, eager, compiled, and with the key as an argument."""
    call = CALLS[name]
    with dt.engine("numpy"):
        expected = call(SEED)
    key = random.key(SEED)
    for found in (call(SEED), call(key), dt.function(call)(key)):
        assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
        found, wanted = (t.numpy().astype("float64") for t in (found, expected))
        exact = np.issubdtype(expected.numpy().dtype, np.integer) or expected.dtype == "bool"
        np.testing.assert_allclose(found, wanted, rtol=0 if exact else 1e-4, atol=0 if exact else 1e-5)


def test_shapes_known_only_at_run_time(engine):
    """Check that a shape from a tensor gives the same numbers as a static shape."""

    def numbers(shape):
        floats = random.uniform(1, shape), random.normal(2, shape), random.normal(4, shape, dtype="float64")
        return *floats, random.bits(3, shape), random.gamma(5, shape, 0.5), random.poisson(6, shape, 20.0)

    draw = dt.function(lambda x: numbers(dt.ops.shape(x)), input_signature=[dt.spec((None, 3))])
    for rows in (2, 3):
        found = draw(np.zeros((rows, 3), "float32"))
        for f, e in zip(found, numbers((rows, 3)), strict=True):
            np.testing.assert_allclose(f.numpy(), e.numpy(), rtol=1e-4, atol=1e-6)


def test_inside_a_loop(engine):
    @dt.function
    def draw(key):
        return dt.ops.scan(
            lambda carry, i: (carry, random.normal(random.fold_in(carry, i), (4,))), key, dt.ops.arange(3)
        )[1]

    found = draw(random.key(5)).numpy()
    expected = [random.normal(random.fold_in(5, i), (4,)).numpy() for i in range(3)]
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


# -- keys -------------------------------------------------------------------------------------------------------------


def test_keys_of_seeds(engine):
    assert random.key(-1).tolist() == [-1, -1]
    assert random.key(2**40 + 3).tolist() == [256, 3]
    assert random.key(np.int64(9)).tolist() == [0, 9]
    for seed in (-5, 7):
        tensor = dt.ops.constant(seed)
        np.testing.assert_array_equal(random.bits(tensor, (3,)).numpy(), random.bits(seed, (3,)).numpy())


def test_what_is_no_key_is_refused():
    with pytest.raises(ValueError, match="a key must be two int32 words"):
        random.uniform([1, 2, 3], (2,))
    with pytest.raises(ValueError, match="a key must be two int32 words"):
        random.uniform(np.array([1.0, 2.0]).astype("int64"), (2,))


def test_split_keys_differ_from_each_other_and_from_numbers():
    keys = random.split(SEED, 100).numpy()
    numbers = random.bits(SEED, (200,)).numpy()
    folded = np.stack([random.fold_in(SEED, i).numpy() for i in range(100)])
    every = np.concatenate([keys.ravel(), numbers, folded.ravel()])
    assert len(np.unique(every)) == every.size


def test_a_key_is_made_of_all_64_bits_of_an_integer(engine):
    numbers = [5, 2**31 + 5, 2**32 + 5, 2**33 + 5, 2**63 - 1, -(2**32) + 5, -5, 2**32 - 5, 2**64 - 5 - 2**32]
    keys = [random.fold_in(SEED, n).numpy().tolist() for n in numbers]
    assert len(set(map(tuple, keys))) == len(numbers)
    wide = np.array([n if n < 2**63 else n - 2**64 for n in numbers])
    fold = dt.function(lambda n: random.fold_in(SEED, n))
    for key, n in zip(keys, wide, strict=True):
        assert random.fold_in(SEED, n).numpy().tolist() == key
        assert random.fold_in(SEED, dt.ops.convert(n)).numpy().tolist() == key
        assert fold(n).numpy().tolist() == key
    for n, dtype in ((5, "uint8"), (-5, "int32"), (2**32 - 5, "uint32"), (2**64 - 5 - 2**32, "uint64")):
        assert random.fold_in(SEED, np.array(n, dtype)).numpy().tolist() == keys[numbers.index(n)]


def test_generator_gives_new_numbers_also_compiled(engine):
    generator = dt.Generator(3)
    eager = [random.uniform(generator, (2,)).tolist() for _ in range(4)]
    generator = dt.Generator(3)
    draw = dt.function(lambda: random.uniform(generator, (2,)))
    assert [draw().tolist() for _ in range(4)] == eager
    assert len({tuple(x) for x in eager}) == 4


# -- distributions ----------------------------------------------------------------------------------------------------


def is_from(x, distribution):
    """Check a sample by the Kolmogorov-Smirnov test."""
    print(f"seed {SEED}")
    return stats.kstest(x.numpy().ravel().astype("float64"), distribution.cdf).pvalue > ALPHA


def counts_are(x, distribution):
    """Check a sample by the chi-square test, with rare counts put together."""
    values = x.numpy().ravel()
    edges = np.unique(distribution.ppf(np.linspace(0.001, 0.999, 30))).astype(int)
    chances = np.diff(np.concatenate([[0], distribution.cdf(edges), [1]]))
    places = np.searchsorted(edges, values)
    observed = np.bincount(places, minlength=len(chances))
    keep = chances * len(values) > 5
    observed = np.append(observed[keep], observed[~keep].sum() + 1e-9)
    expected = np.append(chances[keep], chances[~keep].sum() + 1e-12 / len(values)) * len(values)
    print(f"seed {SEED}")
    return stats.chisquare(observed, expected * observed.sum() / expected.sum()).pvalue > ALPHA


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_floats_follow_their_distributions(dtype):
    shape = (COUNT // 2, 2)
    assert is_from(random.uniform(SEED, shape, -1.0, 2.0, dtype), stats.uniform(-1, 3))
    assert is_from(random.uniform(SEED, shape, 2.0, -1.0, dtype), stats.uniform(-1, 3))
    assert is_from(random.normal(SEED, shape, 1.0, 3.0, dtype), stats.norm(1, 3))
    assert is_from(random.normal(SEED, (COUNT + 1,), dtype=dtype), stats.norm)
    assert is_from(random.truncated_normal(SEED, shape, 1.0, 3.0, dtype), stats.truncnorm(-2, 2, 1, 3))
    assert is_from(random.exponential(SEED, shape, 2.0, dtype), stats.expon(scale=2))
    assert is_from(random.beta(SEED, shape, 2.0, 0.5, dtype), stats.beta(2, 0.5))


@pytest.mark.parametrize("alpha", [0.05, 0.5, 1.0, 1.5, 20.0, 1e4])
def test_gamma(alpha):
    assert is_from(random.gamma(SEED, (COUNT,), alpha, 2.0, "float64"), stats.gamma(alpha, scale=0.5))


@pytest.mark.parametrize("rate", [0.1, 3.0, 9.9, 10.1, 40.0, 3000.0])
def test_poisson(rate):
    assert counts_are(random.poisson(SEED, (COUNT,), rate), stats.poisson(rate))


@pytest.mark.parametrize(
    ("n", "p"), [(1, 0.5), (10, 0.3), (30, 0.9), (50, 0.4), (1000, 0.001), (1000, 0.7), (10**6, 0.2)]
)
def test_binomial(n, p):
    assert counts_are(random.binomial(SEED, (COUNT,), n, p), stats.binom(n, p))


def test_integers_and_choices():
    assert counts_are(random.randint(SEED, (COUNT,), -3, 4), stats.randint(-3, 4))
    assert counts_are(random.randint(SEED, (COUNT,), 0, 2**40, "int64"), stats.randint(0, 2**40))
    assert counts_are(random.bernoulli(SEED, (COUNT,), 0.3), stats.bernoulli(0.3))
    assert counts_are(random.bernoulli(SEED, (COUNT,), np.float32([0.3])), stats.bernoulli(0.3))
    chances = np.array([0.1, 0.2, 0.7])
    drawn = random.categorical(SEED, np.log(chances), (COUNT,))
    assert stats.chisquare(np.bincount(drawn.numpy()), chances * COUNT).pvalue > ALPHA


WIDE = {  # dtype, low, high
    "int64 whole": ("int64", -(2**63), 2**63),
    "int64 but one": ("int64", -(2**63), 2**63 - 1),
    "int64 wide": ("int64", -(2**62) - 5, 2**62 + 9),
    "int64 from 0": ("int64", 0, 2**63 - 1),
    "int64 to 0": ("int64", -(2**63), 0),
    "int64 high": ("int64", 2**63 - 9, 2**63),
    "int64 of NumPy": ("int64", np.int64(-(2**63)), np.int64(2**63 - 1)),
    "uint64 whole": ("uint64", 0, 2**64),
    "uint64 but one": ("uint64", 0, 2**64 - 1),
    "uint64 high": ("uint64", 2**63 - 9, 2**63 + 9),
    "uint64 highest": ("uint64", 2**64 - 5, 2**64),
    "int32 whole": ("int32", -(2**31), 2**31),
    "uint32 whole": ("uint32", 0, 2**32),
    "int16 whole": ("int16", -(2**15), 2**15),
    "uint16 whole": ("uint16", 0, 2**16),
    "int8 whole": ("int8", -(2**7), 2**7),
    "uint8 whole": ("uint8", 0, 2**8),
}


@pytest.mark.parametrize("name", WIDE)
def test_integers_of_wide_ranges(engine, name):
    """Check that parts of the range have about as many numbers each, and that engines have the same numbers."""
    dtype, low, high = WIDE[name]
    drawn = random.randint(SEED, (4000,), low, high, dtype)
    assert drawn.dtype == dtype
    numbers, low, high = drawn.numpy().tolist(), int(low), int(high)
    assert low <= min(numbers) and max(numbers) < high
    count = min(9, high - low)
    parts = np.bincount([(number - low) * count // (high - low) for number in numbers], minlength=count)
    assert len(parts) == count and 0 < parts.max() < 2.5 * parts.min()
    with dt.engine("numpy"):
        assert random.randint(SEED, (4000,), low, high, dtype).numpy().tolist() == numbers


def test_permutations_have_equal_chances():
    drawn = [tuple(random.permutation(key, 4).tolist()) for key in random.split(SEED, 2400)]
    _, counts = np.unique(drawn, axis=0, return_counts=True)
    assert len(counts) == 24
    assert stats.chisquare(counts).pvalue > ALPHA


def test_neighbours_are_not_correlated():
    """Check consecutive numbers of one key, and the numbers of keys from consecutive seeds."""
    x = random.uniform(SEED, (COUNT,), dtype="float64").numpy()
    y = random.uniform(SEED + 1, (COUNT,), dtype="float64").numpy()
    z = random.uniform(random.split(SEED)[0], (COUNT,), dtype="float64").numpy()
    for a, b in ((x[1:], x[:-1]), (x[: COUNT // 2], x[COUNT // 2 :]), (x, y), (x, z)):
        assert abs(np.corrcoef(a, b)[0, 1]) < 4 / np.sqrt(len(a))


def test_every_bit_is_fair():
    words = random.bits(SEED, (COUNT,)).numpy().view(np.uint32)
    ones = ((words[:, None] >> np.arange(32, dtype=np.uint32)) & 1).sum(0)
    assert (abs(ones - COUNT / 2) < 4.5 * np.sqrt(COUNT) / 2).all()


# -- edges ------------------------------------------------------------------------------------------------------------


def test_uniform_never_reaches_high(engine):
    for dtype in ("float16", "bfloat16", "float32"):
        x = random.uniform(0, (COUNT,), 3.0, 3.5, dtype).numpy().astype("float64")
        assert x.min() >= 3 and x.max() < 3.5


def test_bernoulli_of_certain_chances():
    assert random.bernoulli(0, (COUNT,), 1.0).numpy().all()
    assert not random.bernoulli(0, (COUNT,), 0.0).numpy().any()


def test_empty_and_scalar_shapes(engine):
    assert random.normal(0, (0, 3)).shape == (0, 3)
    assert random.normal(0).shape == ()
    assert random.gamma(0, (0,), 2.0).shape == (0,)


def test_parameters_of_other_shapes():
    means = np.array([0.0, 100.0], "float32")
    assert (abs(random.normal(0, (50, 2), means).numpy().mean(0) - means) < 1).all()
    with pytest.raises(ValueError, match="not broadcast"):
        random.normal(0, (), means)
    with pytest.raises(ValueError, match="not broadcast"):
        random.gamma(0, (3,), means + 1)


def test_wrong_arguments():
    with pytest.raises(TypeError, match="not int32"):
        random.uniform(0, (2,), dtype="int32")
    with pytest.raises(ValueError, match=r"no integer in \[3, 3\)"):
        random.randint(0, (2,), 3, 3)
    with pytest.raises(ValueError, match="rate must be"):
        random.dropout(0, [1.0], 1.0)
    with pytest.raises(ValueError, match="dimensions of 0 or more"):
        random.bits(0, (-1,))


def test_gradients_pass_to_the_parameters(engine):
    mean, stddev, low, high = (dt.ops.constant(v) for v in (1.0, 2.0, -1.0, 3.0))
    with dt.GradientTape(persistent=True) as tape:
        tape.watch([mean, stddev, low, high])
        x = random.normal(0, (5,), mean, stddev)
        y = random.uniform(0, (5,), low, high)
    unit = random.normal(0, (5,)).numpy()
    assert [float(g) for g in tape.gradient(x, [mean, stddev])] == pytest.approx([5.0, unit.sum()], abs=1e-4)
    u = random.uniform(0, (5,)).numpy()
    assert [float(g) for g in tape.gradient(y, [low, high])] == pytest.approx([(1 - u).sum(), u.sum()], abs=1e-4)


def test_dropout(engine):
    x = dt.ops.ones((40, 50))
    with dt.GradientTape() as tape:
        tape.watch(x)
        y = random.dropout(SEED, x, 0.25)
    values = y.numpy()
    assert set(np.unique(values)) == {np.float32(0), np.float32(1 / 0.75)}
    assert abs((values == 0).mean() - 0.25) < 0.04
    np.testing.assert_array_equal(tape.gradient(y, x).numpy(), values)
    whole_rows = random.dropout(SEED, x, 0.5, noise_shape=(None, 1)).numpy()
    assert (whole_rows == whole_rows[:, :1]).all()
    assert random.dropout(SEED, x, 0.5, noise_shape=(50,)).shape == (40, 50)
    torch = pytest.importorskip("torch")
    assert type(random.dropout(SEED, torch.ones(3), 0.5)) is torch.Tensor


OUT_OF_DOMAIN = {
    "gamma": (ValueError, "alpha must be above 0, not -1", lambda: random.gamma(0, (2,), alpha=-1)),
    "gamma's rate": (ValueError, "beta must be above 0, not 0", lambda: random.gamma(0, (2,), 1, beta=0)),
    "gamma, an array": (
        ValueError,
        "alpha must be above 0, not -2",
        lambda: random.gamma(0, (2,), np.array([1.0, -2.0])),
    ),
    "beta": (ValueError, "alpha must be above 0, not -1", lambda: random.beta(0, (2,), -1, 2)),
    "binomial's counts": (ValueError, "counts must be 0 or more, not -3", lambda: random.binomial(0, (2,), -3, 0.5)),
    "binomial's p": (ValueError, r"probs must be in \[0, 1\], not 1.5", lambda: random.binomial(0, (2,), 3, 1.5)),
    "bernoulli": (ValueError, r"p must be in \[0, 1\], not 1.5", lambda: random.bernoulli(0, (2,), p=1.5)),
    "bernoulli, NaN": (ValueError, r"p must be in \[0, 1\], not nan", lambda: random.bernoulli(0, (2,), float("nan"))),
    "poisson": (ValueError, "rate must be 0 or more, not -1", lambda: random.poisson(0, (2,), -1)),
    "exponential": (ValueError, "scale must be 0 or more, not -1", lambda: random.exponential(0, (2,), scale=-1)),
    "dropout": (ValueError, r"rate must be in \[0, 1\), not 1", lambda: random.dropout(0, [1.0], 1)),
    "permutation": (ValueError, "n must be 0 or more, not -3", lambda: random.permutation(0, -3)),
    "split": (ValueError, "num must be 0 or more, not -1", lambda: random.split(0, -1)),
    "fold_in": (TypeError, "must be an integer, not 1.5", lambda: random.fold_in(0, 1.5)),
    "randint": (OverflowError, "299 does not fit into uint8", lambda: random.randint(0, (2,), 250, 300, "uint8")),
}


@pytest.mark.parametrize("case", OUT_OF_DOMAIN)
def test_parameters_out_of_their_domain_a6(engine, case):
    kind, problem, call = OUT_OF_DOMAIN[case]
    with pytest.raises(kind, match=rf"random.{case.split()[0].partition(chr(39))[0].strip(',')} at .*{problem}"):
        call()


def test_parameters_at_the_end_of_their_domain_a6(engine):
    assert random.bernoulli(0, (3,), 0).tolist() == [False] * 3
    assert random.bernoulli(0, (3,), np.array([0.0, 1.0, 1.0])).tolist() == [False, True, True]
    assert random.poisson(0, (2,), 0).tolist() == [0, 0]
    assert random.binomial(0, (2,), 0, 1).tolist() == [0, 0]
    assert random.exponential(0, (2,), 0.0).tolist() == [0, 0]
    assert set(random.randint(0, (300,), 254, 256, "uint8").tolist()) == {254, 255}
