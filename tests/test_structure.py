"""Nested structures."""

from collections import OrderedDict, namedtuple

import pytest

from dovetail.structure import flatten, map_structure, unflatten

Point = namedtuple("Point", "x y")


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
