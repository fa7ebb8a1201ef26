"""Tensors in notebooks."""

from __future__ import annotations

import re

import numpy as np
import pytest

import dovetail as dt


def test_numbers_and_their_range():
    text = dt.ops.constant([[1.5, 2.0], [float("nan"), -1.0]])._repr_html_()
    assert "float32[2,2] on numpy" in text and "-1 to 2, mean 0.8333, 1 of 4 not finite" in text
    assert re.findall(r"<td[^>]*>([^<]*)", text) == ["1.5", "2", "nan", "-1"]


@pytest.mark.parametrize("value", [3, True, 1 + 2j, [], [[[1, 2], [3, 4]]]], ids=str)
def test_other_tensors(value):
    assert "<div><b>" in dt.ops.constant(value)._repr_html_()


def test_long_axes_are_cut():
    text = dt.ops.reshape(dt.ops.arange(900), (30, 30))._repr_html_()
    assert text.count("<tr>") == 11 and text.count("<td") == 121 and ">899</td>" in text


def test_bfloat16():
    assert "1 to 2, mean 1.5" in dt.ops.cast(dt.ops.constant(np.array([1.0, 2.0])), "bfloat16")._repr_html_()
