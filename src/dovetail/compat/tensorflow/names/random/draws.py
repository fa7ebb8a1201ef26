"""TensorFlow's names for random numbers; they differ from TensorFlow's numbers, and are the same on every engine."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from dovetail import ops
from dovetail.backend import seeds
from dovetail.compat.tensorflow import graph_mode
from dovetail.compat.tensorflow.entries import value
from dovetail.compat.tensorflow.names.strings.moved import by_op
from dovetail.compat.tensorflow.table import constant_value, function, in_v1
from dovetail.core.base.errors import op_error
from dovetail.core.dtypes import as_dtype
from dovetail.core.values.value_kinds import is_tensor
from dovetail.graph.nesting import outermost_of
from dovetail.ops.random.generator import Generator as KeyGenerator
from dovetail.ops.random.keys import words_of
from dovetail.ops.shapes.shape import dims_of

_global: dict[str, Any] = {"seed": None, "draws": itertools.count()}


@function("random.set_seed set_random_seed random.set_random_seed")
def set_seed(seed: int) -> None:
    """Set the seed with which a program draws the same numbers in each run.

    Source: `tf.random.set_seed`.
    """
    seeds.restart()
    _global.update(seed=int(seed), draws=itertools.count())


def has_seed() -> bool:
    """Whether a program has set the seed."""
    return _global["seed"] is not None


def seed_of_draw(seed: Any) -> int | None:
    """The seed of one draw: from its own seed and the global one, or from the global one and the draw's number.

    It is None if a program has set neither, so that the operating system gives one.
    """
    if _global["seed"] is None:
        return None if seed is None else int(seed)
    own = next(_global["draws"]) if seed is None else int(seed)
    return (_global["seed"] * 1_000_003 + own) % 2**31


def key_of_draw(title: str, seed: Any, dtype: Any, *values: Any) -> Any:
    """The key of one draw: from its seed, from the global seed and the draw's number, or from the operating system.

    In a graph of sessions, draws with one seed have the same sequence.
    """
    has_own, graph = seed is not None, graph_mode.graph()
    seed = seed_of_draw(seed) if has_seed() else seed
    if has_own and graph is not None:
        drawing: Any = outermost_of(graph)
        return drawing.key(int(seed), f"tf.{title}", is_shared=True)
    return seeds.next_key(f"tf.{title}", seed, dtype, values, seeds.system_seed)


def _floats(names: str, draw: Callable[..., Any]) -> Callable[..., Any]:
    title = names.split()[0]

    @function(names, scope=True)
    def sample(
        shape: Any,
        mean: Any = 0.0,
        stddev: Any = 1.0,
        dtype: Any = "float32",
        seed: Any = None,
        name: str | None = None,
    ) -> Any:
        """Numbers from a distribution with a mean and a deviation.

        Source: `tf.random.normal`, `tf.random.truncated_normal`.
        """
        return draw(key_of_draw(title, seed, dtype, shape, mean, stddev), _shape(shape), mean, stddev, as_dtype(dtype))

    @function(title.replace(".", ".stateless_"), scope=True)
    def stateless(
        shape: Any,
        seed: Any,
        mean: Any = 0.0,
        stddev: Any = 1.0,
        dtype: Any = "float32",
        name: str | None = None,
        alg: Any = None,
    ) -> Any:
        """Numbers from the distribution that depend only on the seed, which is two integers.

        Source: `tf.random.stateless_normal`, `tf.random.stateless_truncated_normal`.
        """
        return draw(_stateless(seed, alg), _shape(shape), mean, stddev, as_dtype(dtype))

    return in_v1(sample)


def _shape(shape: Any) -> Any:
    return (int(shape),) if isinstance(shape, int) else shape


normal = _floats("random.normal random_normal", ops.random.normal)
truncated_normal = _floats("random.truncated_normal truncated_normal", ops.random.truncated_normal)


def _uniform(key: Any, shape: Any, minval: Any, maxval: Any, dtype: Any) -> Any:
    dtype = as_dtype(dtype)
    if dtype.is_floating:
        return ops.random.uniform(key, shape, minval, 1.0 if maxval is None else maxval, dtype)
    if minval is None and maxval is None:
        minval, maxval = dtype.min, dtype.max + 1
    if maxval is None:
        raise op_error(ValueError, "tf.random.uniform", "of integers it needs maxval.")
    minval, maxval = _known(minval), _known(maxval)
    return ops.random.randint(key, shape, minval, maxval, dtype)


def _known(bound: Any) -> Any:
    """A bound as an integer, if it is one that is known before a run."""
    constant = constant_value(bound) if is_tensor(bound) else None
    return bound if constant is None or np.ndim(constant) else int(constant)


@function("random.uniform random_uniform", scope=True)
def uniform(
    shape: Any,
    minval: Any = 0,
    maxval: Any = None,
    dtype: Any = "float32",
    seed: Any = None,
    name: str | None = None,
) -> Any:
    """Uniform numbers in [minval, maxval).

    Source: `tf.random.uniform`.
    """
    return _uniform(
        key_of_draw("random.uniform", seed, dtype, shape, minval, maxval), _shape(shape), minval, maxval, dtype
    )


@function("random.shuffle random_shuffle", scope=True, around=by_op("value"))
def shuffle(value: Any, seed: Any = None, name: str | None = None) -> Any:
    """The slices of the first axis in another order.

    Source: `tf.random.shuffle`.
    """
    return ops.random.shuffle(key_of_draw("random.shuffle", seed, "int32", value), value)


@function("random.gamma random_gamma", scope=True)
def gamma(
    shape: Any, alpha: Any, beta: Any = None, dtype: Any = "float32", seed: Any = None, name: str | None = None
) -> Any:
    """Numbers from gamma distributions, a tensor of this shape from each.

    Source: `tf.random.gamma`.
    """
    key = key_of_draw("random.gamma", seed, dtype, shape, alpha)
    whole = [*shape, *dims_of(ops.add(ops.convert(alpha), 0 if beta is None else beta))]
    return ops.random.gamma(key, whole, alpha, 1.0 if beta is None else beta, as_dtype(dtype))


@function("random.poisson", "v2", scope=True)
def poisson(shape: Any, lam: Any, dtype: Any = "float32", seed: Any = None, name: str | None = None) -> Any:
    """Numbers from Poisson distributions, a tensor of this shape from each.

    Source: `tf.random.poisson`.
    """
    key = key_of_draw("random.poisson", seed, dtype, shape, lam)
    return ops.cast(ops.random.poisson(key, [*shape, *dims_of(ops.convert(lam))], lam), as_dtype(dtype))


@function("random_poisson random.poisson", "v1", scope=True)
def poisson_v1(lam: Any, shape: Any, dtype: Any = "float32", seed: Any = None, name: str | None = None) -> Any:
    """Numbers from Poisson distributions, a tensor of this shape from each.

    Source: `tf.compat.v1.random_poisson`.
    """
    return poisson(shape, lam, dtype, seed)


@function("get_seed random.get_seed", "v1")
def get_seed(op_seed: int | None) -> tuple[int | None, int | None]:
    """The two seeds of an operation of TensorFlow with its own seed, if it has one.

    Source: `tf.compat.v1.get_seed`.
    """
    if not has_seed():
        return (None, None) if op_seed is None else (87654321, op_seed)
    return _global["seed"], next(_global["draws"]) if op_seed is None else op_seed


def _categorical(title: str, logits: Any, num_samples: Any, dtype: Any, seed: Any) -> Any:
    logits = ops.convert(logits)
    if len(logits.shape) != 2:
        raise op_error(ValueError, f"tf.{title}", f"logits have two axes, (batch, classes), not {logits.shape}.")
    key = key_of_draw(title, seed, "int32", logits)
    return ops.cast(ops.random.categorical(key, logits, (num_samples,)), as_dtype(dtype or "int64"))


@function("random.categorical", scope=True)
def categorical(logits: Any, num_samples: Any, dtype: Any = None, seed: Any = None, name: str | None = None) -> Any:
    """Classes, drawn by unnormalised logarithms of probabilities.

    Source: `tf.random.categorical`.
    """
    return _categorical("random.categorical", logits, num_samples, dtype, seed)


@function("multinomial random.multinomial", scope=True)
def multinomial(
    logits: Any, num_samples: Any, seed: Any = None, name: str | None = None, output_dtype: Any = None
) -> Any:
    """Classes, drawn by unnormalised logarithms of probabilities.

    Source: `tf.compat.v1.multinomial`.
    """
    return _categorical("multinomial", logits, num_samples, output_dtype, seed)


# -- stateless, and generators ----------------------------------------------------------------------------------------


@function("random.stateless_uniform", scope=True)
def stateless_uniform(
    shape: Any,
    seed: Any,
    minval: Any = 0,
    maxval: Any = None,
    dtype: Any = "float32",
    name: str | None = None,
    alg: Any = None,
) -> Any:
    """Uniform numbers that depend only on the seed, which is two integers.

    Source: `tf.random.stateless_uniform`.
    """
    return _uniform(_stateless(seed, alg), _shape(shape), minval, maxval, dtype)


def _stateless(seed: Any, alg: Any) -> Any:
    """The key of a seed of two integers, also if they need 64 bits."""
    _check_algorithm(alg)
    high, low = words_of(ops.convert(seed))
    if high is None:
        return low
    folded = ops.random.fold_in(ops.random.fold_in(low, high[0]), high[1])
    return ops.where(ops.any(ops.not_equal(high, 0)), folded, low)


def _check_algorithm(alg: Any) -> None:
    """Refuse a name of no algorithm of TensorFlow.  The numbers are Dovetail's own with each name."""
    if alg not in (None, 1, 2, 3, "philox", "threefry", "auto_select"):
        raise op_error(ValueError, "tf.random", f'alg is "philox", "threefry" or "auto_select", not {alg!r}.')


class Generator:
    """A source of random numbers with a state.

    Source: `tf.random.Generator`.
    """

    def __init__(self, seed: int) -> None:
        self._keys = KeyGenerator(seed)

    @classmethod
    def from_seed(cls, seed: int, alg: Any = None) -> Generator:
        """A generator that always draws the same numbers."""
        _check_algorithm(alg)
        return cls(int(seed))

    @classmethod
    def from_non_deterministic_state(cls, alg: Any = None) -> Generator:
        """A generator that draws other numbers in each process."""
        _check_algorithm(alg)
        return cls(seeds.system_seed())

    def normal(self, shape: Any, mean: Any = 0.0, stddev: Any = 1.0, dtype: Any = "float32", name: Any = None) -> Any:
        """Normal numbers."""
        return ops.random.normal(self._keys, _shape(shape), mean, stddev, as_dtype(dtype))

    def truncated_normal(
        self, shape: Any, mean: Any = 0.0, stddev: Any = 1.0, dtype: Any = "float32", name: Any = None
    ) -> Any:
        """Normal numbers within two deviations."""
        return ops.random.truncated_normal(self._keys, _shape(shape), mean, stddev, as_dtype(dtype))

    def uniform(self, shape: Any, minval: Any = 0, maxval: Any = None, dtype: Any = "float32", name: Any = None) -> Any:
        """Uniform numbers in [minval, maxval)."""
        return _uniform(self._keys, _shape(shape), minval, maxval, dtype)

    def split(self, count: int = 1) -> list[Generator]:
        """Generators of other numbers."""
        words = [ops.convert(self._keys.next_key()).numpy() for _ in range(count)]
        return [Generator(int(word[0]) & 0x7FFFFFFF) for word in words]


value("random.Generator", Generator)
