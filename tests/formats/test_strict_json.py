"""JSON of files: the levels of lists and objects, which Python's own parser limits or not, by its version."""

from pathlib import Path

import pytest

from dovetail.core.base.errors import FormatError
from dovetail.formats.strict_json import DEEPEST, parse

INSIDE = ['"]]]]"', r'"\"]]"', r'"\\"', r'"\\\"]"', '"[[["', "{}"]  # values with signs that open and close nothing


@pytest.mark.parametrize("value", INSIDE)
@pytest.mark.parametrize("opening", ["[", '{"a":'])
def test_too_many_levels_are_refused(opening, value):
    closing = "]" if opening == "[" else "}"
    beside = f"{value}," if opening == "[" else f'"b": {value}, '
    for levels, is_refused in ((DEEPEST - 1, False), (DEEPEST + 1, True)):
        text = (opening[0] + beside + opening[1:]) * levels + "1" + closing * levels
        if is_refused:
            with pytest.raises(FormatError, match=f"nested too deeply; needed: at most {DEEPEST} levels"):
                parse(text, Path("x"), "the text")
        else:
            parse(text, Path("x"), "the text")


def test_many_lists_beside_each_other_are_no_levels():
    assert len(parse(f"[{','.join(['[[]]'] * 10 * DEEPEST)}]", Path("x"), "the text")) == 10 * DEEPEST
