"""K's random numbers: their distributions, and when a seed gives the same numbers again."""

# ruff: noqa: NPY002  # NumPy's global generator is the one that programs seed

from __future__ import annotations

import itertools
import subprocess
import sys

import numpy as np
import pytest

import dovetail as dt
from dovetail import backend as K
from dovetail.backend import seeds
from tests.conftest import ENGINES, SEED
from tests.keras_backends import BACKENDS, told
from tests.libraries import Library

stats = Library("scipy.stats")

COUNT = 20_000
ALPHA = 1e-4
DRAWS = {  # functions of a shape, a dtype and a seed
    "random_normal": lambda shape, dtype, seed: K.random_normal(shape, 1.0, 3.0, dtype, seed),
    "truncated_normal": lambda shape, dtype, seed: K.truncated_normal(shape, 1.0, 3.0, dtype, seed),
    "random_uniform": lambda shape, dtype, seed: K.random_uniform(shape, -1.0, 2.0, dtype, seed),
    "random_bernoulli": lambda shape, dtype, seed: K.random_bernoulli(shape, 0.3, dtype, seed),
    "dropout": lambda shape, dtype, seed: K.dropout(K.ones(shape, dtype), 0.3, seed=seed),
}
OF = {  # the distributions of the draws, made when a test needs one
    "random_normal": lambda: stats.norm(1, 3),
    "truncated_normal": lambda: stats.truncnorm(-2, 2, 1, 3),
    "random_uniform": lambda: stats.uniform(-1, 3),
    "random_bernoulli": lambda: stats.bernoulli(0.3),
}


@pytest.fixture(autouse=True)
def _sequences():
    """Begin each test with the first numbers of every seed."""
    print(f"DOVETAIL_TEST_SEED={SEED}")
    K.clear_session()
    yield
    K.clear_session()


# -- distributions ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", ["random_normal", "truncated_normal", "random_uniform"])
def test_floats_follow_their_distribution(name, dtype):
    for values in (DRAWS[name]((COUNT // 2, 2), dtype, SEED).numpy() for _ in range(2)):
        assert values.dtype == dtype
        assert stats.kstest(values.ravel(), OF[name]().cdf).pvalue > ALPHA


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("name", OF)
def test_moments(name, dtype):
    """Check the moments, also of small floats, whose steps are too coarse for a test of the distribution."""
    values = np.asarray(DRAWS[name]((COUNT,), dtype, SEED)).astype("float64")
    mean, variance, skewness = OF[name]().stats("mvs")
    assert abs(values.mean() - mean) < 5 * np.sqrt(variance / COUNT) + 1e-3
    assert abs(values.var() / variance - 1) < 0.06
    assert abs(stats.skew(values) - skewness) < 0.15


@pytest.mark.parametrize(("low", "high", "dtype"), [(0, 10, "int32"), (-3, 4, "int64"), (0, 2, "uint8")])
def test_integers_have_one_chance(low, high, dtype):
    values = K.random_uniform((COUNT,), low, high, dtype, SEED).numpy()
    assert values.dtype == dtype
    counts = np.unique(values, return_counts=True)
    assert counts[0].tolist() == list(range(low, high))
    assert stats.chisquare(counts[1]).pvalue > ALPHA


def test_large_integers_are_uniform():
    values = K.random_uniform((COUNT,), -(2**40), 2**40, "int64", SEED).numpy()
    assert stats.kstest(values / 2**40, stats.uniform(-1, 2).cdf).pvalue > ALPHA


@pytest.mark.parametrize("p", [0.01, 0.3, 0.5, 0.99])
def test_chances(p):
    ones = int(K.random_bernoulli((COUNT,), p, seed=SEED).numpy().sum())
    assert stats.binomtest(ones, COUNT, p).pvalue > ALPHA
    kept = K.dropout(K.ones((COUNT,)), p, seed=SEED + 1).numpy()
    assert stats.binomtest(int((kept == 0).sum()), COUNT, p).pvalue > ALPHA
    np.testing.assert_allclose(kept[kept != 0], 1 / (1 - p), rtol=1e-6)


def test_variables_follow_their_distribution():
    uniform = K.random_uniform_variable((COUNT,), -1.0, 2.0, seed=SEED)
    normal = K.random_normal_variable((COUNT,), 1.0, 3.0, seed=SEED)
    assert stats.kstest(uniform.numpy(), OF["random_uniform"]().cdf).pvalue > ALPHA
    assert stats.kstest(normal.numpy(), OF["random_normal"]().cdf).pvalue > ALPHA


def test_draws_do_not_depend_on_each_other():
    """Check the correlation of two draws of one seed, of neighbouring seeds, and of neighbours in a draw."""
    first, second = (K.random_normal((COUNT,), seed=SEED).numpy() for _ in range(2))
    other = K.random_normal((COUNT,), seed=SEED + 1).numpy()
    for a, b in ((first, second), (first, other), (second, other), (first[1:], first[:-1])):
        assert abs(np.corrcoef(a, b)[0, 1]) < 5 / np.sqrt(COUNT)
    assert len(np.unique(np.concatenate([first, second, other]))) > 2.99 * COUNT


# -- the same seed, the same numbers ----------------------------------------------------------------------------------


def eagerly(draw, times):
    return [draw().numpy() for _ in range(times)]


def compiled(draw, times):
    run = dt.function(draw)
    return [run().numpy() for _ in range(times)]


def symbolically(draw, times):
    x = K.placeholder(())
    run = K.function([x], K.symbolic(draw)() + 0.0 * K.cast(x, "float32"))
    return [run(0.0) for _ in range(times)]


@pytest.mark.parametrize("name", DRAWS)
def test_a_seed_gives_one_sequence_on_every_engine_and_in_every_way(name, engine):
    def draw():
        return DRAWS[name]((4, 5), "float32", 42)

    with dt.engine("numpy"):
        expected = eagerly(draw, 3)
    assert all((a != b).any() for a, b in itertools.combinations(expected, 2))
    K.clear_session()
    for way in (eagerly, compiled, symbolically):
        np.testing.assert_allclose(way(draw, 3), expected, rtol=1e-5, atol=1e-5)


def test_every_engine_begins_with_the_first_numbers():
    """Check that each engine begins with the first numbers, also one after the other in one program."""
    found = []
    for engine in ENGINES:
        with dt.engine(engine):
            found.append(K.random_uniform((4,), seed=7).numpy())
    np.testing.assert_array_equal(found, [found[0]] * len(found))


def test_functions_and_dtypes_have_sequences_of_their_own():
    first = K.random_normal((3,), seed=1).numpy()
    K.random_uniform((3,), seed=1)
    K.random_normal((3,), seed=1, dtype="float64")
    K.random_normal((3,), seed=2)
    second = K.random_normal((3,), seed=1).numpy()
    K.clear_session()
    np.testing.assert_array_equal(eagerly(lambda: K.random_normal((3,), seed=1), 2), [first, second])


def test_a_missing_seed_is_numpys(engine):
    def program():
        numbers = eagerly(lambda: K.random_normal((3,)), 2), K.random_normal_variable((3,), 0.0, 1.0).numpy()
        return np.concatenate([*numbers[0], numbers[1], compiled(lambda: K.random_uniform((3,)), 2)[1]])

    np.random.seed(SEED)
    first = program()
    second = program()
    np.random.seed(SEED)
    np.testing.assert_array_equal(program(), first)
    assert (second != first).all()


def test_loading_an_engine_leaves_numpys_generator_as_it_is():
    program = f"""
import numpy as np
import dovetail as dt
for name in {ENGINES!r}:
    np.random.seed(0)
    with dt.engine(name):
        print(np.random.rand())
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    np.random.seed(0)
    assert done.stdout.split() == [str(np.random.rand())] * len(ENGINES)


def test_numpys_generator_goes_on_as_in_keras_2():
    np.random.seed(5)
    seed, variable_seed = np.random.randint(10e6), np.random.randint(10e8)
    following = np.random.rand()
    with_seeds = (
        K.random_normal((3,), seed=seed).numpy(),
        K.random_normal_variable((3,), 0, 1, seed=variable_seed).numpy(),
    )
    K.clear_session()
    np.random.seed(5)
    np.testing.assert_array_equal(K.random_normal((3,)).numpy(), with_seeds[0])
    np.testing.assert_array_equal(K.random_normal_variable((3,), 0, 1).numpy(), with_seeds[1])
    assert np.random.rand() == following


def test_seeds_drawn_from_longest_ago_are_forgotten(monkeypatch):
    monkeypatch.setattr(seeds, "_SEQUENCES_LIMIT", 2)
    first = K.random_uniform((3,), seed=1).numpy()
    K.random_uniform((3,), seed=2)
    second = K.random_uniform((3,), seed=1).numpy()
    K.random_uniform((3,), seed=3)
    third = K.random_uniform((3,), seed=1).numpy()
    assert len({x.tobytes() for x in (first, second, third)}) == 3
    for other in (4, 5):
        K.random_uniform((3,), seed=other)
    np.testing.assert_array_equal(K.random_uniform((3,), seed=1).numpy(), first)


def test_keys_generators_and_tensors_are_seeds_too(engine):
    key = dt.ops.random.key(3)
    expected = dt.ops.random.normal(key, (4,)).numpy()
    for seed in (key, key.numpy(), dt.ops.convert(3)):
        for _ in range(2):
            np.testing.assert_array_equal(K.random_normal((4,), seed=seed).numpy(), expected)
    run = dt.function(lambda key: K.random_normal((4,), seed=key))
    np.testing.assert_allclose(run(key).numpy(), expected, rtol=1e-6)
    generator = dt.Generator(1)
    assert len({x.tobytes() for x in eagerly(lambda: K.random_normal((4,), seed=generator), 3)}) == 3


# -- new numbers ------------------------------------------------------------------------------------------------------


def steps_of_a_loop(x):
    """Random numbers in each step of a loop, and in each slice of a map."""
    step = K.rnn(lambda x, s: (x * 0.0 + K.random_uniform((1, 2)), [s[0]]), x, [K.zeros_like(x[:, 0])])[1]
    mapped = K.map_fn(lambda x: x * 0.0 + K.random_uniform((2,)), x[0])
    return K.concatenate([step[0], mapped], axis=0)


def test_each_step_of_a_loop_draws_anew(engine):
    x = np.zeros((1, 5, 2), "float32")
    run = dt.function(steps_of_a_loop)
    p = K.placeholder((1, 5, 2))
    symbolic = K.function([p], steps_of_a_loop(p))
    found = [run(x).numpy(), run(x).numpy(), symbolic([x]), symbolic([x])]
    assert len(np.unique(found)) == 80


def test_programs_of_one_graph_go_on_where_the_other_stopped(engine):
    with dt.engine("numpy"):
        expected = eagerly(lambda: K.random_uniform((2,), seed=3), 4)
    x = K.placeholder((2,))
    noise = K.random_uniform((2,), seed=3) + x
    other = K.random_uniform((2,), seed=4)
    f, g, neither = K.function([x], noise), K.function([x], [noise, other]), K.function([x], x + 1.0)
    zeros = np.zeros(2, "float32")
    found = [f([zeros])]
    neither([zeros])
    found.append(g([zeros])[0])
    neither([zeros])
    found += [f([zeros]), K.get_session().run(noise, {x: zeros})]
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_two_draws_of_one_seed_differ_in_a_graph():
    x = K.placeholder(())
    a, b = K.function([x], [K.random_uniform((3,), seed=1), K.random_uniform((3,), seed=1)])(0.0)
    assert (a != b).all()


def test_variables_have_values_also_while_a_graph_is_built():
    x = K.placeholder(())
    v = K.random_normal_variable((2,), 0.0, 1.0, seed=1)
    np.testing.assert_array_equal(K.function([x], v + 0.0 * x)(0.0), v.numpy())
    made = []
    dt.function(lambda: made or made.append(K.random_uniform_variable((2,), 0.0, 1.0)))()
    assert made[0].numpy().shape == (2,)


def test_gradients_see_the_numbers_of_the_run(engine):
    x = K.placeholder((None, 3))
    y = K.dropout(x, 0.5)
    f = K.function([x], [y, K.gradients(K.sum(y * y), x)[0]])
    for _ in range(2):
        value, gradient = f([np.ones((4, 3), "float32")])
        np.testing.assert_allclose(gradient, 4 * value, rtol=1e-6)


# -- engines' own values ----------------------------------------------------------------------------------------------


def test_torch_values():
    torch = pytest.importorskip("torch")
    x = torch.ones(3, 4, requires_grad=True)
    y = K.dropout(x, 0.5, seed=1)
    assert type(y) is torch.Tensor
    y.sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), y.detach().numpy())
    noise = K.random_normal(K.shape(x), seed=2)
    assert type(noise) is torch.Tensor
    np.testing.assert_allclose(noise.numpy(), K.random_normal((3, 4), seed=2).numpy(), rtol=1e-5)


def test_jax_draws_anew_only_from_what_the_program_is_given():
    jax = pytest.importorskip("jax")
    x = jax.numpy.ones((3, 4))
    with pytest.raises(ValueError, match=r"K.dropout .*jax traces this program.*seed=keras.random.SeedGenerator"):
        jax.jit(lambda x: K.dropout(x, 0.5))(x)
    with pytest.raises(ValueError, match=r"K.random_normal .*jax traces"):
        jax.jit(lambda x: x + K.random_normal((3, 4)))(x)
    run = jax.jit(lambda x, key: (K.dropout(x, 0.5, seed=key), K.random_normal((3, 4), seed=key)))
    first, second = (run(x, jax.numpy.asarray(key, "int32")) for key in ([0, 1], [0, 2]))
    for a, b in zip(first, second, strict=True):
        assert isinstance(a, jax.Array)
        assert (a != b).any()
    np.testing.assert_allclose(first[1], K.random_normal((3, 4), seed=np.array([0, 1], "int32")).numpy(), rtol=1e-5)
    constant = jax.jit(lambda x: x + K.random_normal((3, 4), seed=3))
    np.testing.assert_array_equal(constant(x), constant(x))


def test_functions_of_tensorflow_draw_anew_in_each_run():
    tf = pytest.importorskip("tensorflow")

    def program():
        @tf.function
        def draw(x):
            return K.dropout(x, 0.5), K.random_normal((3, 4)), K.random_uniform((3, 4), seed=3)

        return [[t.numpy() for t in draw(tf.ones((3, 4)))] for _ in range(2)]

    np.random.seed(SEED)
    first, second = program()
    for a, b in zip(first, second, strict=True):
        assert (a != b).any()
    np.random.seed(SEED)
    for a, b in zip(program()[0], first, strict=True):
        np.testing.assert_array_equal(a, b)


def test_layers_and_functional_models_of_keras_draw_anew_and_alike():
    for library in ("keras", *BACKENDS):
        pytest.importorskip(library)
    if not BACKENDS:
        pytest.skip("DOVETAIL_TEST_ENGINES leaves out Keras' backends")
    first, *others = (told("tests.backend.keras3_random", backend) for backend in BACKENDS)
    assert all(model.count(call) == 1 for model in first for call in model)
    assert others == [first] * len(others)


# -- messages ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: K.random_normal((2, None)), ValueError, r"K.random_normal .*\(2, None\).*K.shape\(x\)\[i\]"),
        (lambda: K.random_normal(3), ValueError, "K.random_normal .*a list of integers"),
        (lambda: K.random_normal((2,), dtype="int32"), TypeError, "K.random_normal .*are floats, not int32"),
        (lambda: K.random_normal_variable((2,), 0, 1, dtype="int32"), ValueError, "K.random_normal_variable .*floats"),
        (lambda: K.random_uniform((2,), 0.0, 5.0, "int32"), TypeError, "K.random_uniform .*must be integers, not 0.0"),
        (lambda: K.random_uniform((2,), 0, None, "int32"), ValueError, "K.random_uniform .*maxval must be given"),
        (lambda: K.random_uniform((2,), 5, 5, "int32"), ValueError, r"K.random_uniform.*no integer in \[5, 5\)"),
        (lambda: K.random_uniform((2,), dtype="bool"), ValueError, "K.random_uniform .*floats or integers, not bool"),
        (lambda: K.random_bernoulli((2,), "a"), TypeError, "K.random_bernoulli .*p must be a number"),
        (lambda: K.truncated_normal((2,), seed="a"), TypeError, "K.truncated_normal .*a seed is .*not 'a'"),
        (lambda: K.dropout(K.ones((2,)), 1.5), ValueError, r"K.dropout .*level must be in \[0, 1\), not 1.5"),
        (lambda: K.dropout(np.ones(2, "int32"), 0.5), ValueError, r"K.dropout .*floats.*int32\[2\]"),
        (lambda: K.dropout(K.ones((2,)), 0.5, (None, 2)), ValueError, "K.dropout .*not known"),
    ],
)
def test_errors_say_what_is_needed(call, error, words):
    with pytest.raises(error, match=words):
        call()


def test_the_old_name_warns():
    with pytest.warns(DeprecationWarning, match="random_bernoulli") as caught:
        K.random_binomial((2,), 0.5)
    assert caught[0].filename == __file__
