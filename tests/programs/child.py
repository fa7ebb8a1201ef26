"""One old program on Dovetail, as `dovetail run` runs it, with the random numbers of the oracle.

    python -m tests.programs.child ENGINE PATH

Random numbers depend on their place in the tensor alone, as in `oracle_child`.
"""

from __future__ import annotations

import math
import sys
from typing import Any

import numpy as np

from dovetail import ops
from dovetail.cli.main import main
from dovetail.compat.tensorflow.names.random import samplers
from dovetail.core.op import op_named
from dovetail.ops.random import choices

PRIME, FACTORS = 2**31 - 1, (48271, 16807)


def unit(shape: Any) -> Any:
    """float64 numbers between 0 and 1, each from its index."""
    static = isinstance(shape, (list, tuple))
    library: Any = np if static else ops
    place = library.arange(1, (math.prod(shape) if static else ops.prod(ops.cast(shape, "int64"))) + 1, dtype="int64")
    found = place * FACTORS[0] % PRIME
    found = found * found % PRIME * FACTORS[1] % PRIME
    found = (found.astype("float64") if static else ops.cast(found, "float64")) + 0.5
    return library.reshape(found / 2.0**31, shape)


def uniform(key: Any, shape: Any, dtype: Any, part: Any = None) -> Any:
    return ops.cast(unit(shape), dtype)


def normal(key: Any, shape: Any, dtype: Any, part: Any = None) -> Any:
    return ops.cast(2**0.5 * ops.erfinv(2 * ops.convert(unit(shape)) - 1), dtype)


def bernoulli(key: Any, shape: Any, p: Any = 0.5, part: Any = None) -> Any:
    """True as TensorFlow's dropout keeps elements."""
    return uniform(key, shape, "float32") >= 1 - p


def first_classes(title: str, true: Any, count: int, unique: bool, probabilities: np.ndarray, seed: Any) -> Any:
    """The first classes in place of drawn ones."""
    return samplers._with_counts(true, ops.arange(count), lambda p: ops.multiply(p, float(count)), probabilities)


def draw_by_place() -> None:
    """Replace the two ops that all floats are drawn by, the choices of dropout, and the classes of samplers."""
    op_named("StatelessRandomUniform").body = uniform
    op_named("StatelessRandomNormal").body = normal
    choices.bernoulli = bernoulli
    samplers._sampled = first_classes


if __name__ == "__main__":
    draw_by_place()
    sys.exit(main(["run", "--engine", sys.argv[1], sys.argv[2]]))
