"""Strings that a function does not take, which TensorFlow does not take, either."""

from __future__ import annotations

import numpy as np
import pytest

from dovetail.core.dtypes import as_dtype
from dovetail.formats.host import strings
from dovetail.formats.host.arrays import strings_of
from tests.libraries import Library

theirs = Library("tensorflow")


@pytest.mark.parametrize("dtype", ["float32", "int32"])
@pytest.mark.parametrize("text", ["1_0", "", "one", "0x", "1 0"])
def test_text_that_is_no_number(text, dtype):
    with pytest.raises(theirs.errors.InvalidArgumentError):
        theirs.strings.to_number([text], dtype)
    with pytest.raises(ValueError, match=f"is no {dtype}"):
        strings.to_number(strings_of([text]), out_type=as_dtype(dtype))


def test_raw_numbers_need_strings_of_one_length():
    for texts in ([b"ab", b"abcd"], [b"abc"]):
        with pytest.raises(theirs.errors.InvalidArgumentError):
            theirs.io.decode_raw(np.array(texts, object), "int16")
        with pytest.raises(ValueError, match="one length, a multiple of 2 bytes"):
            strings.decode_raw(strings_of(texts), out_type=as_dtype("int16"))
