"""Random nodes: TensorFlow's distributions, other numbers in each run, and the same for the same seed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dovetail as dt
from tests.formats.tensorflow.calling import called
from tests.formats.tensorflow.cases import Case, Static, Var, array, case, scalar, static
from tests.libraries import require

require("tensorflow", "rows are compared with it")
SHAPE, FEW = static(40, 100), static(100)
SEED, KEY = Static(np.array([3, 2**40], "int64")), Static(np.array([7], "uint64"))
COUNTER, ALGORITHM = Static(np.array([1, 2], "uint64")), scalar(1)
KEYS = KEY, COUNTER, ALGORITHM
LOGITS = np.log(np.array([[0.1, 0.2, 0.7]] * 2, "float32"))
ALPHA = array(40, low=0.5, high=3)
CASES = [
    *(
        case(type, SHAPE, dtype="float32", seed=5)
        for type in ("RandomUniform", "RandomStandardNormal", "TruncatedNormal")
    ),
    *(case(f"Stateless{kind}", SHAPE, SEED) for kind in ("RandomUniform", "RandomNormal", "TruncatedNormal")),
    *(case(f"Stateless{kind}V2", SHAPE, *KEYS) for kind in ("RandomUniform", "RandomNormal", "TruncatedNormal")),
    case("RandomUniformInt", SHAPE, scalar(-3), scalar(50), seed2=5),
    case("StatelessRandomUniformInt", SHAPE, SEED, scalar(-3, "int64"), scalar(50, "int64")),
    case("StatelessRandomUniformIntV2", SHAPE, *KEYS, scalar(-3), scalar(50)),
    *(case("StatelessRandomUniformFullInt", SHAPE, SEED, dtype=dtype) for dtype in ("int32", "uint64")),
    case("StatelessRandomUniformFullIntV2", SHAPE, *KEYS, dtype="int64"),
    case("Multinomial", LOGITS, scalar(2000), seed=5),
    case("StatelessMultinomial", LOGITS, scalar(2000), SEED, output_dtype="int32"),
    case("RandomGamma", FEW, ALPHA, seed=5),
    case("StatelessRandomGammaV2", static(100, 40), SEED, ALPHA),
    case("StatelessRandomGammaV3", static(100, 40), *KEYS, ALPHA),
    case("RandomPoissonV2", FEW, ALPHA * 4, seed=5),
    case("StatelessRandomPoisson", static(100, 40), SEED, ALPHA * 4, dtype="int32"),
    case("StatelessRandomBinomial", SHAPE, SEED, scalar(9, "float32"), scalar(0.3, "float32"), dtype="int32"),
]


def results(value: Case) -> tuple[Any, Any]:
    """Functions that run the node of a case in TensorFlow and here."""
    call = called(value)
    made = call.read()
    assert made.opaque == {}
    run = dt.function(made.graph)

    def ours() -> list[np.ndarray]:
        with dt.engine("numpy"):
            found = run(*call.values)
        return [np.asarray(y.numpy()) for y in (found if isinstance(found, (list, tuple)) else [found])]

    return call.run, ours


@pytest.mark.parametrize("value", CASES, ids=str)
def test_random_numbers_have_tensorflows_distribution(value: Case):
    theirs, ours = results(value)
    (expected,), (found,), (again,) = theirs(), ours(), ours()
    assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
    every = np.sort(np.concatenate([found.ravel(), expected.ravel()]))
    shares = [np.searchsorted(np.sort(one.ravel()), every, "right") / one.size for one in (found, expected)]
    assert np.abs(shares[0] - shares[1]).max() < 1.95 * np.sqrt(2 / found.size)  # Kolmogorov and Smirnov, p = 0.001
    assert np.array_equal(found, again) == value.type.startswith("Stateless")


@pytest.mark.parametrize(
    "value", [case("RandomShuffle", array(50, 2)), case("StatelessShuffle", array(50, 2), *KEYS)], ids=str
)
def test_shuffled_rows_are_the_same_rows(value: Case):
    found = results(value)[1]()[0]
    x = value.inputs[0]
    assert not np.array_equal(found, x)
    np.testing.assert_array_equal(found[np.lexsort(found.T)], x[np.lexsort(x.T)])


def test_a_key_and_its_counter_lead_to_other_numbers():
    (key, counter), (other, _, algorithm) = (
        results(case(f"StatelessRandomGetKeyCounter{end}", seed))[1]()
        for end, seed in (("", SEED), ("Alg", static(1, 2, dtype="int64")))
    )
    assert (key.dtype, key.shape, counter.dtype, counter.shape) == (np.uint64, (1,), np.uint64, (2,))
    assert key != other and algorithm == results(case("StatelessRandomGetAlg"))[1]()[0]
    draws = [
        results(case("StatelessRandomUniformV2", static(3), *map(Static, (one, counter + n)), scalar(1)))[1]()[0]
        for one, n in ((key, 0), (key, 1), (other, 0))
    ]
    assert len({draw.tobytes() for draw in draws}) == 3


def test_a_generators_state_moves_on():
    state = Var(np.array([5, 6, 7], "int64"))
    theirs, ours = results(case("RngReadAndSkip", state, scalar(1), Static(np.array(2, "uint64"))))
    for found, expected in zip(ours(), theirs(), strict=True):
        np.testing.assert_array_equal(found, expected)
