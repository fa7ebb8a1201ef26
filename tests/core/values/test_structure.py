"""Nested structures."""

import re
from collections import Counter, OrderedDict, defaultdict, namedtuple
from dataclasses import dataclass

import pytest

import dovetail as dt
from dovetail.core.base.tensor_shape import TensorShape
from dovetail.core.values.structure import flatten, flatten_like, map_structure, pack_as, unflatten

Point = namedtuple("Point", "x y")


@dataclass
class Data:
    x: object
    y: object


@dataclass(frozen=True, slots=True)
class FrozenData:
    x: object
    y: object


@pytest.mark.parametrize(
    ("value", "leaves"),
    [
        (1, [1]),
        (None, []),
        ([1, (2, None), {"b": 3, "a": 4}], [1, 2, 4, 3]),
        (Point(1, [2]), [1, 2]),
        (OrderedDict(b=1, a=2), [1, 2]),
        ({1: "x", "k": "y"}, ["x", "y"]),
        ([], []),
        (Data(1, [2]), [1, 2]),
        (FrozenData([1, Data(2, 3)], 4), [1, 2, 3, 4]),
    ],
)
def test_round_trip(value, leaves):
    found, structure = flatten(value)
    assert found == leaves
    again = unflatten(structure, found)
    assert again == value and type(again) is type(value)
    hash(structure)


def test_map_structure_of_two():
    assert map_structure(lambda a, b: a * b, [1, {"k": 2}], [3, {"k": 4}]) == [3, {"k": 8}]
    with pytest.raises(ValueError, match="structures differ"):
        map_structure(lambda a, b: a, [1], (1,))


def test_dataclasses_a8():
    @dataclass
    class Layer:
        units: int

        def __post_init__(self):
            self.weights = [self.units]  # this is no field

    leaves, structure = flatten(Layer(3))
    assert leaves == [3, 3] and unflatten(structure, [4, 5]).weights == [5]
    assert flatten_like(structure, Layer(7)) == [7, 7] and flatten_like(structure, None) == [None, None]
    with pytest.raises(ValueError, match="must be a Layer"):
        flatten_like(structure, 3)
    assert flatten(dt.spec((2,)))[0] == [dt.spec((2,))]  # this dataclass is a leaf


def test_keys_of_several_types_a10():
    shapes = [flatten({key: 0})[1] for key in (1, True, 1.0, "1", 0.0, -0.0)]
    assert len(set(shapes)) == len(shapes)
    assert flatten({1: 0})[1] == flatten({1: 5})[1]


@pytest.mark.parametrize(
    ("like", "value", "leaves"),
    [
        ([None, 1], [None, 2], [2]),
        ({"b": 1, "a": 2}, {"a": 3, "b": 4}, [3, 4]),
        ([1, [2, 3]], (4, None), [4, None, None]),
        (Point(1, 2), [3, 4], [3, 4]),
    ],
)
def test_leaves_of_a_value_like_another(like, value, leaves):
    assert flatten_like(flatten(like)[1], value) == leaves


@pytest.mark.parametrize(
    ("like", "value", "needed"),
    [
        ({"a": 1}, {"b": 1}, "a dict with the keys 'a'"),
        ({"a": 1}, {"a": 1, "b": 2}, "a dict with the keys 'a'"),
        ({"a": 1}, ["a"], "a dict with the keys 'a'"),
        ([1, 2], [1], "a list of 2"),
        ((1, 2), "ab", "a tuple of 2"),
    ],
)
def test_a_value_unlike_it_is_refused(like, value, needed):
    with pytest.raises(ValueError, match=f"must be {needed} here, not {re.escape(repr(value))}"):
        flatten_like(flatten(like)[1], value)


def test_of_shapes_and_lists_of_other_classes_plain_ones_are_made():
    class Items(list):
        pass

    for value, plain in ((TensorShape((2, 3)), (2, 3)), (Items([1, 2]), [1, 2])):
        leaves, structure = flatten(value)
        again = unflatten(structure, leaves)
        assert again == plain and type(again) is type(plain)


def test_what_only_resembles_a_named_tuple_is_a_leaf():
    class Pair(tuple):
        pass

    class Row:
        _fields = ("x", "y")

    for leaf in (Pair((1, 2)), Row()):
        assert flatten([leaf])[0] == [leaf]


@pytest.mark.parametrize(
    "value",
    [
        {"b": 1, "a": {"z": [2, None], "y": (3,)}},
        OrderedDict([("b", 1), ("a", 2)]),
        defaultdict(list, {"b": 1, "a": 2}),
        Counter({"b": 1, "a": 2}),
        Point(2, {"b": 1, "a": 2}),
        Data(2, {"b": 1, "a": 2}),
        TensorShape((2, 3)),
        5,
    ],
)
def test_dicts_are_packed_in_their_own_order(value):
    packed = pack_as(value, flatten(value)[0])
    assert packed == value and repr(packed) == repr(value if type(value) is not TensorShape else (2, 3))
    assert getattr(packed, "default_factory", None) is getattr(value, "default_factory", None)


@pytest.mark.parametrize(
    "value",
    [
        {"b": 1, "a": {"z": [2, None], "y": (3,)}},
        {2: 1, 1: 2},
        OrderedDict([("b", 1), ("a", 2)]),
        defaultdict(list, {"b": 1, "a": 2}),
        Counter({"b": 1, "a": 2}),
    ],
)
def test_dicts_are_built_in_their_own_order(value):
    leaves, structure = flatten(value)
    again = unflatten(structure, leaves)
    assert repr(again) == repr(value) and type(again) is type(value)
    turned = type(value)() if type(value) is not defaultdict else defaultdict(list)
    for key in reversed(value):
        turned[key] = value[key]
    same = flatten(turned)[1] == structure and hash(flatten(turned)[1]) == hash(structure)
    assert same is (type(value) is not OrderedDict)
