"""Random numbers without state: a function of a key, which gives the same numbers on every engine.

    key = random.key(42)
    first, second = random.split(key)
    x = random.normal(first, (3,))
    y = random.uniform(second, (3,))

One key gives one set of numbers, eagerly and compiled: to draw again, take another key, from `split` or `fold_in`.
Functions also take an integer seed, or a `dovetail.Generator`, which gives another key each time.  The bits come from
the cipher Threefry (see `StatelessRandomUniformFullInt`).  Floats that are computed from them by logarithms and similar
functions agree between engines up to rounding.

With `part=(offset, total)`, the result is the rows from `offset` on of a whole with `total` rows.  No other rows are
drawn, so several processes draw the numbers of one:

    whole = random.normal(key, (8, 3))
    random.normal(key, (2, 3), part=(4, 8))  # whole[4:6]

Offset and total may be tensors.  `gamma`, `beta`, `poisson`, `binomial`, `permutation` and `shuffle` have no parts: a
program draws the whole and takes its rows.

Gradients pass to parameters such as `low` and `mean`, unless the docstrings say otherwise.
"""

from dovetail.ops.random.choices import bernoulli, categorical, dropout, permutation, randint, shuffle
from dovetail.ops.random.counts import binomial, poisson
from dovetail.ops.random.floats import beta, exponential, gamma, normal, truncated_normal, uniform
from dovetail.ops.random.keys import bits, fold_in, key, split

__all__ = [
    "bernoulli", "beta", "binomial", "bits", "categorical", "dropout", "exponential", "fold_in", "gamma", "key",
    "normal", "permutation", "poisson", "randint", "shuffle", "split", "truncated_normal", "uniform",
]  # fmt: skip
