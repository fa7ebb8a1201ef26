"""Random numbers: RandomUniform, StatelessRandomNormal, RandomShuffle, Multinomial, RngReadAndSkip, SobolSample.

They have TensorFlow's distributions, and not its bits.
A node draws other numbers in each run, from its seeds or, if they are 0, from a seed of the operating system.  Types
whose names begin with `Stateless` draw the same numbers for the same seed or key, on every engine.
"""

from __future__ import annotations

import functools
import secrets
from collections.abc import Callable
from typing import Any

import numpy as np

from dovetail import ops
from dovetail.core.base import threefry
from dovetail.core.base.hooks import hooks
from dovetail.core.base.read_limits import need_bytes
from dovetail.core.base.scopes import not_building
from dovetail.core.base.table import OPS
from dovetail.core.dtypes import as_dtype
from dovetail.core.values.spec import spec
from dovetail.core.values.value_kinds import static_shape
from dovetail.formats.nodes.constants import is_tensor, known_size
from dovetail.formats.tensorflow.ops.shapes import scalar
from dovetail.formats.tensorflow.table import body, row
from dovetail.ops.random.generator import Generator
from dovetail.ops.shapes.shape import dims_of

_SEEDS = "seed seed2"
_KEY = "key counter alg"


def key_of(seed: Any = 0, seed2: int = 0, key: Any = None, counter: Any = None, alg: Any = None) -> Any:
    """The key of a draw: of a node's seeds, of a tensor with two seeds, or of TensorFlow's key and counter."""
    if key is not None:
        return _folded(ops.reshape(ops.bitcast(key, "int32"), [2]), ops.bitcast(counter, "int64"))
    if is_tensor(seed):
        return _folded(ops.random.key(seed[0]), seed[1:])
    with not_building():  # the generator belongs to the graph, and is no part of a trace
        generator = Generator(((seed & 0xFFFFFFFF) << 32) ^ seed2 if seed or seed2 else secrets.randbits(62))
    return generator.next_key()


def _folded(key: Any, words: Any) -> Any:
    for i in range(known_size(words, 0)):
        key = ops.random.fold_in(key, words[i])
    return key


def _with(shape: Any, x: Any) -> list[Any]:
    """A shape with the dimensions of a tensor behind it."""
    return [*(shape if isinstance(shape, list) else [shape[i] for i in range(known_size(shape, 0))]), *dims_of(x)]


def _drawn(draw: Callable[..., Any], shape: Any, dtype: Any, **source: Any) -> Any:
    return draw(key_of(**source), shape, dtype=dtype)


for _types, _draw in {
    "RandomUniform StatelessRandomUniform": ops.random.uniform,
    "RandomStandardNormal StatelessRandomNormal": ops.random.normal,
    "TruncatedNormal StatelessTruncatedNormal": ops.random.truncated_normal,
}.items():
    _seeded, _stateless = _types.split()
    row(
        f"{_seeded}: shape?; dtype {_SEEDS}",
        f"{_stateless}: shape? seed; dtype",
        f"{_stateless}V2: shape? {_KEY}; dtype",
    )(functools.partial(_drawn, _draw))


@row(
    f"RandomUniformInt: shape? low high; {_SEEDS}",
    "StatelessRandomUniformInt: shape? seed low high",
    f"StatelessRandomUniformIntV2: shape? {_KEY} low high",
)
def _(shape: Any, low: Any, high: Any, **source: Any) -> Any:
    return ops.random.randint(key_of(**source), shape, low, high, low.dtype)


@row(
    "StatelessRandomUniformFullInt: shape? seed; dtype",
    f"StatelessRandomUniformFullIntV2: shape? {_KEY}; dtype",
)
def _(shape: Any, dtype: Any, **source: Any) -> Any:
    words = [2] if ops.zeros([], dtype).dtype.itemsize == 8 else []
    return ops.bitcast(ops.random.bits(key_of(**source), [*shape, *words]), dtype)


@row(
    f"Multinomial: logits count?; output_dtype:dtype {_SEEDS}",
    "StatelessMultinomial: logits count? seed; output_dtype:dtype",
)
def _(logits: Any, count: Any, dtype: Any, **source: Any) -> Any:
    return ops.random.categorical(key_of(**source), logits, [scalar(count)], dtype)


@row(
    f"RandomGamma: shape? alpha; {_SEEDS}",
    "StatelessRandomGammaV2: shape? seed alpha; +whole=True",
    f"StatelessRandomGammaV3: shape? {_KEY} alpha; +whole=True",
)
def _(shape: Any, alpha: Any, whole: bool = False, **source: Any) -> Any:
    shape = shape if whole else _with(shape, alpha)
    return ops.random.gamma(key_of(**source), shape, alpha, dtype=alpha.dtype)


@row(
    f"RandomPoissonV2: shape? rate; dtype {_SEEDS}",
    "StatelessRandomPoisson: shape? seed rate; dtype +whole=True",
)
def _(shape: Any, rate: Any, dtype: Any, whole: bool = False, **source: Any) -> Any:
    return ops.random.poisson(key_of(**source), shape if whole else _with(shape, rate), rate, dtype)


@row("StatelessRandomBinomial: shape? seed counts probs; dtype")
def _(shape: Any, counts: Any, probs: Any, dtype: Any, **source: Any) -> Any:
    return ops.random.binomial(key_of(**source), shape, counts, probs, dtype)


@row(f"RandomShuffle: x; {_SEEDS}", f"StatelessShuffle: x {_KEY}")
def _(x: Any, **source: Any) -> Any:
    return ops.random.shuffle(key_of(**source), x)


# -- keys -------------------------------------------------------------------------------------------------------------


@row("StatelessRandomGetKeyCounter: seed", "StatelessRandomGetKeyCounterAlg: seed; +has_algorithm=True")
def _(seed: Any, has_algorithm: bool = False) -> list[Any]:
    key = ops.bitcast(ops.reshape(key_of(seed), [1, 2]), "uint64")
    return [key, ops.convert(np.zeros(2, "uint64")), *([ops.convert(np.int32(1))] if has_algorithm else [])]


@row("StatelessRandomGetAlg: ")
def _() -> Any:
    return ops.convert(np.int32(1))


@row("RngReadAndSkip: state^ alg delta")
def _(state: Any, alg: Any, delta: Any) -> list[Any]:
    moved = state[:1] + ops.cast(delta, "int64") * 256
    return [ops.concatenate([moved, state[1:]]), ops.identity(state)]


@row("SobolSample: dim! count! skip!; dtype")
def _(dim: int, count: int, skip: int = 0, dtype: Any = "float32") -> Any:
    """Points of Sobol's sequence, without the first one, 0; by SciPy's table of Joe and Kuo's numbers."""
    if dim < 1 or count < 1 or skip < 0:
        raise ValueError(f"dim and num_results must be at least 1, and skip 0; given: {dim}, {count} and {skip}.")
    need_bytes(8 * dim * (count + skip))
    from scipy.stats import qmc  # here, because importing it takes long

    points = qmc.Sobol(dim, scramble=False, bits=32).fast_forward(skip + 1).random(count)
    return ops.convert(points.astype(as_dtype(dtype).numpy))


# -- writing ----------------------------------------------------------------------------------------------------------


@functools.cache
def _cipher() -> Any:
    """The graph of the cipher, from a key and the words of the counters."""
    graph = hooks.new_graph("threefry")
    given = [
        graph.placeholder(spec(shape, "uint32"), name)
        for shape, name in (((2,), "key"), ((None,), "x"), ((None,), "y"))
    ]
    with graph.as_default():
        key, x, y = given
        graph.outputs = threefry.encrypt(key, x, y, signed=False)
    return graph


@body("StatelessRandomUniformFullInt")
def _bits(op: Any, key: Any, shape: Any, counter: Any, part: Any) -> Any:
    sizes = ops.convert(shape, dtype="int32")
    size = ops.prod(sizes)
    is_row = part is not None and static_shape(sizes) == (1,)
    if part is None:
        x = ops.arange((size + 1) // 2)
    else:
        columns = part[0] + ops.cast(ops.arange(sizes[-1]), "int64")
        period = threefry.part_period(part[1], is_row)
        is_first = columns < period
        x = ops.where(is_first, columns, columns - period)
    x = ops.cast(x, "uint32")
    y = ops.zeros_like(x)
    if counter is not None:
        words = OPS["Bitcast"](counter, "uint32")
        x, y = x + words[0], y + words[1]
    words = OPS["Call"]([OPS["Bitcast"](key, "uint32"), x, y], _cipher())
    words = ops.where(is_first, *words) if is_row else ops.concatenate(words, 0)[:size]
    return ops.reshape(OPS["Bitcast"](words, "int32"), shape)
