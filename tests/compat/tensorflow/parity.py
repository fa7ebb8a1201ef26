"""Parity with TensorFlow: runs of a case here, eagerly and in a graph; cases and comparisons are K's.

call("reduce_sum", array(2, 3), axis=1)                       tf.reduce_sum(x, axis=1)
call("compat.v1.reduce_sum", array(2, 3), reduction_indices=1)
program("cond", lambda tf, x: tf.cond(tf.reduce_sum(x) > 0, lambda: x, lambda: -x), array(3))
"""

from __future__ import annotations

from typing import Any

import numpy as np

import dovetail as dt
from dovetail.compat import tensorflow as compat
from dovetail.core.values.structure import flatten, unflatten
from tests.backend.parity import Case, leaves
from tests.backend.parity import call as call_of_k
from tests.backend.parity import program as program_of_k

WAYS = ("eager", "graph", "fixed")  # in a graph, placeholders have unknown dimensions; in a fixed graph, known ones
EAGER, FIXED = ("eager",), ("eager", "fixed")


def call(name: str, /, *args: Any, ways: tuple[str, ...] = ("eager", "graph"), **options: Any) -> Case:
    """The case of one call."""
    return call_of_k(name, *args, ways=ways, **options)


def program(name: str, run: Any, *arrays: Any, ways: tuple[str, ...] = ("eager", "graph"), **options: Any) -> Case:
    """The case of a program: the tested names, separated by spaces, and any other text in parentheses."""
    made = program_of_k(name, run, *arrays, ways=ways, **options)
    return made.but(functions=tuple(name.partition(" (")[0].split()))


def actual(case: Case, way: str) -> list[np.ndarray]:
    """Dovetail's result of a case on the current engine."""
    if way == "eager":
        return leaves(case.run(compat, *[dt.ops.convert(a) for a in case.drawn()]))
    v1, arrays = compat.compat.v1, case.drawn()
    with v1.Graph().as_default(), v1.Session() as session:
        shapes = [a.shape if way == "fixed" else (None,) * a.ndim for a in arrays]
        inputs = [v1.placeholder(a.dtype, shape) for shape, a in zip(shapes, arrays, strict=True)]
        found, structure = flatten(case.run(compat, *inputs))
        tensors = {i: x for i, x in enumerate(found) if compat.is_tensor(x)}
        values = session.run(tensors, dict(zip(inputs, arrays, strict=True)))
        return leaves(unflatten(structure, [values.get(i, x) for i, x in enumerate(found)]))
