"""TensorShapes and Dimensions answer as TensorFlow's: each question of each shape, with each other shape."""

from __future__ import annotations

import operator

import numpy as np
import pytest

import dovetail.compat.tensorflow as tf
from tests.libraries import Library

theirs = Library("tensorflow")

SHAPES = [None, [], [2, 3], [None, 3], [4], [None], (2, None), 5, np.array([2, 3]), "x", [-1, 2], [2.5], [[1]], -1]
OTHERS = [None, [], [2, 3], (2, 3), [None, 3], [5], 5, 4, [1, 2, 3], [np.int64(2), 3]]
OF_ONE = {
    "text": str,
    **{f"[{place}]": operator.itemgetter(place) for place in (0, -1, 5, "a")},
    **{str(place): operator.itemgetter(place) for place in (slice(1), slice(1, None), slice(-1), slice(1, 4))},
    **{name: operator.attrgetter(name) for name in ("ndims", "rank", "dims")},
    **{name: operator.methodcaller(name) for name in ("as_list", "num_elements", "is_fully_defined")},
    **{name: operator.methodcaller(name) for name in ("assert_is_fully_defined",)},
    **{call.__name__: call for call in (len, list)},
    "contains": lambda shape: 3 in shape,
    "hash": lambda shape: {shape: 1}[shape],
    "proto": lambda shape: str(shape.as_proto()),
    **{
        f"{name} {rank}": operator.methodcaller(name, rank)
        for name in ("with_rank", "with_rank_at_least", "with_rank_at_most", "assert_has_rank")
        for rank in (0, 1, 2, 3)
    },
}
METHODS = ["is_compatible_with", "assert_is_compatible_with", "merge_with", "concatenate", "assert_same_rank"]
METHODS += ["is_subtype_of", "most_specific_compatible_shape"]
OF_TWO = {
    **{call.__name__: call for call in (operator.eq, operator.ne, operator.add)},
    "added": lambda shape, other: other + shape,
    **{name: lambda shape, other, name=name: getattr(shape, name)(other) for name in METHODS},
}


def plain(found):
    """An answer, in words of neither library."""
    if hasattr(found, "as_list"):
        return "shape", str(found), None if found.rank is None else found.as_list()
    if isinstance(found, (list, tuple)):
        return [plain(each) for each in found]
    return found.value if hasattr(found, "value") else found


def answers(lib):
    found, made = {}, lib.TensorShape

    def ask(key, question, *given):
        try:
            found[key] = plain(question(*given))
        except Exception as error:
            found[key] = type(error)

    for dims in SHAPES:
        ask((str(dims), "made"), lib.TensorShape, dims)
        if isinstance(found[str(dims), "made"], type):
            continue
        shape = lib.TensorShape(dims)
        for name, question in OF_ONE.items():
            ask((str(dims), name), question, shape)
        for name, question in OF_TWO.items():
            for other in OTHERS:
                ask((str(dims), name, str(other)), question, shape, other)
                ask((str(dims), name, f"shape {other}"), question, shape, lib.TensorShape(other))
        ask((str(dims), "read"), lambda s: made(s.as_proto()), shape)
        ask((str(dims), "super"), lambda s: s.most_specific_common_supertype([made([2, 3]), made([4, 3])]), shape)
        ask((str(dims), "none"), lambda s: s.most_specific_common_supertype([3]), shape)
    return found


@pytest.mark.parametrize("version", ["v2", "v1"])
def test_a_shape_answers_as_tensorflows(version):
    ours, wanted = (tf, theirs) if version == "v2" else (tf.compat.v1, theirs.compat.v1)
    if version == "v1":
        wanted.disable_v2_tensorshape()
    try:
        expected = answers(wanted)
    finally:
        wanted.enable_v2_tensorshape() if version == "v1" else None
    found = answers(ours)
    assert {key: (found[key], value) for key, value in expected.items() if found[key] != value} == {}


def test_a_dimension_computes_as_tensorflows():
    names, found = ["add", "sub", "mul", "floordiv", "mod", "eq", "ne", "lt", "le", "gt", "ge"], []
    for lib in (tf.compat.v1, theirs.compat.v1):
        pairs = [(lib.Dimension(a), b) for a in (6, None) for b in (3, 0, lib.Dimension(4), lib.Dimension(None))]
        pairs += [(lib.Dimension(None), None)]
        results = []
        for name in names:
            for a, b in pairs:
                try:
                    results.append((name, plain(getattr(operator, name)(a, b))))
                except ZeroDivisionError:
                    results.append((name, ZeroDivisionError))
        results += [plain(lib.Dimension(6) + None), bool(lib.Dimension(None)), bool(lib.Dimension(2))]
        with pytest.raises(TypeError):
            lib.Dimension(2.5)
        found.append(results)
    assert found[0] == found[1]


def _of_unknown_rank(lib):
    """Shapes of unknown rank, and sums of shapes, in a function."""
    seen = []

    @lib.function(input_signature=[lib.TensorSpec(None)])
    def f(u):
        y, three = lib.reshape(u, [2, -1]), [3]
        seen.extend([u.shape[0], u.shape[-1], str(u.shape[1:]), str(u.shape[:2] + three), str(three + y.shape)])
        return lib.reshape(u, y.shape[:1] + three)

    y = f(lib.ones([3, 2]))
    return seen, y.shape == [2, 3], y.shape != [2, 3], str(y.shape + 1)


def test_a_tensor_of_unknown_rank_has_unknown_dimensions():
    assert _of_unknown_rank(tf) == _of_unknown_rank(theirs)


SHAPED = {  # functions of the size of an axis → their tensors, as TensorFlow 1 takes whole floats
    "placeholder": lambda n: tf.placeholder(tf.float32, [None, n]),
    "get_variable": lambda n: tf.get_variable("v", [2, n]),
    "zeros": lambda n: tf.zeros([2, n]),
    "ones": lambda n: tf.ones((2, n), tf.int32),
    "constant": lambda n: tf.constant(1.0, shape=[2, n]),
    "set_shape": lambda n: given_shape(tf.placeholder(tf.float32), [2, n]),
    "TensorShape": lambda n: tf.placeholder(tf.float32, tf.TensorShape([2, n])),
    "Dimension": lambda n: tf.placeholder(tf.float32, [2, tf.Dimension(n)]),
    "dense": lambda n: tf.layers.dense(tf.ones([2, 3]), n),
    "zero_state": lambda n: tf.nn.rnn_cell.GRUCell(n).zero_state(2, tf.float32),
}


def given_shape(x, shape):
    x.set_shape(shape)
    return x


@pytest.mark.parametrize("name", SHAPED)
def test_whole_floats_are_dimensions(engine, name):
    for size in (3.0, np.float32(3), np.float64(3)):
        with tf.Graph().as_default(), tf.Session() as session:
            x = SHAPED[name](size)
            assert x.shape.as_list()[-1] == 3 and x.shape.ndims == 2
            session.run(tf.global_variables_initializer())
            given = {x: np.zeros((2, 3))} if x.op.type == "Placeholder" else {}
            assert session.run(x, given).shape == (2, 3)
    if name != "dense":  # there TensorFlow 1, too, takes 2 for 2.5
        with tf.Graph().as_default(), pytest.raises(TypeError, match=r"must be an? int.*, not.* 2.5"):
            SHAPED[name](2.5)
