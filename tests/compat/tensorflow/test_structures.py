"""Structures of tensors: the order of keys and the classes that functions return, as TensorFlow's."""

from __future__ import annotations

from collections import OrderedDict, defaultdict, namedtuple
from typing import Any

import numpy as np
import pytest

from dovetail.compat import tensorflow as ours
from tests.libraries import Library

theirs = Library("tensorflow")

Pair = namedtuple("Pair", "second first")

KINDS = {  # name → a structure of two values, and one of the same places in another order
    "dict": (lambda a, b: {"b": b, "a": a}, lambda a, b: {"a": a, "b": b}),
    "ordered": (lambda a, b: OrderedDict([("b", b), ("a", a)]), None),
    "default": (lambda a, b: defaultdict(list, {"b": b, "a": a}), lambda a, b: defaultdict(list, {"a": a, "b": b})),
    "named": (lambda a, b: Pair(b, a), None),
    "nested": (
        lambda a, b: {"z": [b, {"d": a, "c": b}], "y": (a,)},
        lambda a, b: {"y": (a,), "z": [b, {"c": b, "d": a}]},
    ),
    "deep": (
        lambda a, b: {"z": (b, {"d": a, "c": b}), "y": (a,)},
        lambda a, b: {"y": (a,), "z": (b, {"c": b, "d": a})},
    ),
}


def shown(value: Any) -> Any:
    """A structure as plain data, with its classes and the order of its keys."""
    if isinstance(value, dict):
        return [type(value).__name__, *((key, shown(part)) for key, part in value.items())]
    if isinstance(value, (list, tuple)):
        return [type(value).__name__, *map(shown, value)]
    return np.asarray(value).tolist()


def elements(tf: Any, session: Any, data: Any) -> list[Any]:
    """The elements of a data set, and the structure of its types."""
    item = tf.data.make_one_shot_iterator(data).get_next()
    types = tf.nest.map_structure(lambda dtype: dtype.name, tf.data.get_output_types(data))
    return [types, session.run(item), session.run(item)]


def sum_of(x: Any, y: Any) -> Any:
    return x + y


def source(tf: Any) -> Any:
    return tf.data.Dataset.range(2)


TWO, ROWS = np.float32(2), np.float32([[1, 2], [3, 4], [5, 6]])

CASES = {  # (names, session, structure, the same in another order) → a result
    "run": lambda tf, s, of, other: s.run(of(tf.constant(1.0), tf.constant(2.0))),
    "cond": lambda tf, s, of, other: s.run(
        tf.cond(tf.placeholder_with_default(True, []), lambda: of(TWO, ROWS), lambda: other(TWO * 2, ROWS))
    ),
    "case": lambda tf, s, of, other: s.run(
        tf.case([(tf.placeholder_with_default(True, []), lambda: of(TWO, ROWS))], lambda: other(TWO, ROWS * 2))
    ),
    "switch_case": lambda tf, s, of, other: s.run(
        tf.switch_case(tf.placeholder_with_default(1, []), [lambda: of(TWO, ROWS), lambda: other(TWO * 2, ROWS)])
    ),
    "while_loop": lambda tf, s, of, other: s.run(
        tf.while_loop(
            lambda i, v: i < 3,
            lambda i, v: (i + 1, other(*[x + 1.0 for x in parts(v)])),
            [0, of(tf.constant(1.0), tf.constant(2.0))],
        )
    ),
    "map_fn": lambda tf, s, of, other: s.run(
        tf.map_fn(lambda v: other(*[x * 2.0 for x in parts(v)]), of(tf.constant(ROWS), tf.constant(ROWS[:, 0])))
    ),
    "map_fn with types": lambda tf, s, of, other: s.run(
        tf.map_fn(lambda row: other(row, row[0]), tf.constant(ROWS), dtype=of(tf.float32, tf.float32))
    ),
    "scan": lambda tf, s, of, other: s.run(
        tf.scan(lambda c, v: other(*map(sum_of, parts(c), parts(v))), of(tf.constant(ROWS), tf.constant(ROWS * 2)))
    ),
    "scan from a start": lambda tf, s, of, other: s.run(
        tf.scan(lambda c, v: other(*[x + v for x in parts(c)]), tf.constant(ROWS), of(tf.zeros(2), tf.ones(2)))
    ),
    "foldl": lambda tf, s, of, other: s.run(
        tf.foldl(lambda c, v: other(*[x + v for x in parts(c)]), tf.constant(ROWS), of(tf.zeros(2), tf.ones(2)))
    ),
    "map_structure": lambda tf, s, of, other: tf.nest.map_structure(lambda x, y: x * y, of(2, 3), other(4, 5)),
    "pack_sequence_as": lambda tf, s, of, other: tf.nest.pack_sequence_as(
        of(1, 2), list(range(len(tf.nest.flatten(of(1, 2)))))
    ),
    "flatten": lambda tf, s, of, other: tf.nest.flatten(of(1, 2)),
    "slices": lambda tf, s, of, other: elements(tf, s, tf.data.Dataset.from_tensor_slices(of(ROWS, ROWS[:, 0]))),
    "tensors": lambda tf, s, of, other: elements(tf, s, tf.data.Dataset.from_tensors(of(ROWS, TWO)).repeat(2)),
    "map of data": lambda tf, s, of, other: elements(tf, s, source(tf).map(lambda x: of(x, x * 2))),
    "maps of data": lambda tf, s, of, other: elements(
        tf, s, source(tf).map(lambda x: of(x, x * 2)).map(lambda v: other(*[x + 1 for x in parts(v)]))
    ),
    "zip of data": lambda tf, s, of, other: elements(tf, s, tf.data.Dataset.zip(of(source(tf), source(tf).batch(1)))),
    "batch": lambda tf, s, of, other: elements(tf, s, source(tf).repeat().map(lambda x: of(x, x * 2)).batch(2)),
    "generator": lambda tf, s, of, other: elements(
        tf, s, tf.data.Dataset.from_generator(lambda: iter([other(1, 2), other(3, 4)]), of(tf.int32, tf.int64))
    ),
    "py_func": lambda tf, s, of, other: s.run(of(*tf.py_func(lambda: (TWO, TWO), [], [tf.float32, tf.float32]))),
}


def parts(value: Any) -> list[Any]:
    """The two values of a structure of `KINDS`."""
    if isinstance(value, Pair):
        return [value.first, value.second]
    return [value["a"], value["b"]] if "a" in value else [value["y"][0], value["z"][0]]


def outcome(tf: Any, name: str, kind: str) -> Any:
    of, other = KINDS[kind]
    with tf.Graph().as_default(), tf.Session() as session:
        return shown(CASES[name](tf, session, of, other or of))


OF_DATA = ("slices", "tensors", "map of data", "maps of data", "zip of data", "batch", "generator")
NOT_OF_DATA = ("default", "nested")  # TensorFlow's data sets refuse a defaultdict, and make a tensor of a list
PAIRS = [(name, kind) for name in CASES for kind in KINDS if kind not in NOT_OF_DATA or name not in OF_DATA]


@pytest.mark.parametrize(("name", "kind"), PAIRS)
def test_structures_keep_their_order(name, kind, engine):
    assert outcome(ours.compat.v1, name, kind) == outcome(theirs.compat.v1, name, kind)
