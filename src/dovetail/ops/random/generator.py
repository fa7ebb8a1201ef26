"""Generator: a source of keys that counts the keys it has given."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from dovetail.core.base.errors import describe, op_error
from dovetail.core.values.variable import Variable
from dovetail.ops import random


class Generator:
    """A source of another key each time; the functions of `ops.random` take it instead of a key.

    It holds a variable that counts the keys, so it also works in compiled functions and loops.

    Args:
        seed: an integer; generators of one seed give the same keys in the same order.

    Raises:
        TypeError: the seed is no integer.

    Example:
        >>> from dovetail import ops
        >>> generator = Generator(42)
        >>> x, y = ops.random.normal(generator, (2,)), ops.random.normal(generator, (2,))
        >>> bool((x.numpy() != y.numpy()).all())
        True
    """

    def __init__(self, seed: int) -> None:
        if not isinstance(seed, (int, np.integer)):
            raise op_error(TypeError, "Generator", f"the seed must be an integer, not {describe(seed)}.")
        self.seed = seed
        self.count = Variable(0, "int32", name="generator/count", trainable=False)
        self.count.is_counter = True

    def next_key(self) -> Any:
        """A key that was not given before."""
        key = random.fold_in(self.seed, self.count.read())
        self.count.assign_add(1)
        return key

    def __copy__(self) -> Generator:
        return copy.deepcopy(self)  # an independent generator, which goes on from the same key

    def __repr__(self) -> str:
        return f"<Generator of seed {self.seed}>"
