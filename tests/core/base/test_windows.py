"""The words for windows: numbers for each axis, padding and data formats."""

from __future__ import annotations

import numpy as np
import pytest

from dovetail.core.base.windows import moves, per_axis


@pytest.mark.parametrize("value", [2, [2], (2, 2), np.int64(2), np.array([2, 2]), [np.int32(2), 2]], ids=repr)
def test_one_number_is_for_all_axes(value):
    found = per_axis(value, 2)
    assert found == (2, 2) and {type(n) for n in found} == {int}


def test_a_fraction_is_no_number_of_elements():
    with pytest.raises(TypeError):
        per_axis([1.5, 2], 2)


@pytest.mark.parametrize(
    ("data_format", "strides", "padding"),
    [
        ("channels_last", [1, 2, 3, 1], [[0, 0], [1, 2], [3, 4], [0, 0]]),
        ("channels_first", [1, 1, 2, 3], [[0, 0], [0, 0], [1, 2], [3, 4]]),
        ("channels_last", [2, 3], [[1, 2], [3, 4]]),
    ],
)
def test_numbers_for_batch_and_channels(data_format, strides, padding):
    found = moves(2, strides, padding, data_format, around=True)
    assert found == ((2, 3), ((1, 2), (3, 4)), data_format, (1, 1))


@pytest.mark.parametrize("numbers", [(), (1, 2, 1), [1, 1, 1, 1]])
def test_too_many_or_too_few_numbers(numbers):
    with pytest.raises(ValueError, match=r"the strides must be one number or 2, not \("):
        moves(2, numbers, "valid", None)
    with pytest.raises(ValueError, match=r"the dilations must be one number or 2, not \("):
        moves(2, 1, "valid", None, numbers)


def test_nothing_moves_along_the_batch():
    with pytest.raises(ValueError, match=r"nothing moves along the batch and the channels: \[2, 1, 1, 1\]"):
        moves(2, [2, 1, 1, 1], "valid", None, around=True)
