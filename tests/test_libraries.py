"""Libraries that tests on NumPy alone hide."""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.machinery import PathFinder
from importlib.util import find_spec

import pytest

from tests import libraries


def test_alone_the_libraries_of_other_engines_are_not_there(monkeypatch):
    finders = [libraries._Without if finder is PathFinder else finder for finder in sys.meta_path]
    monkeypatch.setattr(sys, "meta_path", finders)
    for name in libraries.OTHERS:
        monkeypatch.delitem(sys.modules, name, raising=False)
        assert find_spec(name) is None
        with pytest.raises(ModuleNotFoundError):
            import_module(name)
    assert find_spec("scipy") is not None
