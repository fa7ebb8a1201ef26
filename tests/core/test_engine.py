"""The class of engines: parts of few members each."""

import pytest

from dovetail.core.engine import Engine
from dovetail.core.engines.engine_registry import get_engine

MEMBERS = 90  # of an engine, all parts and attributes together: the number does not grow
IN_PART = 25


@pytest.mark.parametrize("part", Engine.__bases__, ids=lambda part: part.__name__)
def test_no_part_has_many_members(part):
    own = {*vars(part), *vars(part).get("__annotations__", ())}
    assert len([name for name in own if not name.startswith("_")]) <= IN_PART


def test_an_engine_gets_no_more_members():
    found = get_engine("numpy")
    names = {*dir(Engine), *vars(found), *Engine.__annotations__}
    assert len([name for name in names if not name.startswith("_")]) == MEMBERS
