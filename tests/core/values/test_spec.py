"""`dt.spec`."""

import pytest

import dovetail as dt


@pytest.mark.parametrize("given", ["float32", ""])
def test_a_dtype_in_the_place_of_the_shape_is_an_error_with_the_right_call(given):
    with pytest.raises(TypeError, match="the shape comes first") as caught:
        dt.spec(given)
    assert f"write dt.spec((None, 3), {given!r})" in str(caught.value)
