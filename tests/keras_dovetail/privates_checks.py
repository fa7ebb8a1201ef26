"""Checks that the installed Keras has each part that Dovetail uses and Keras does not publish."""

from __future__ import annotations

from importlib.util import find_spec
from unittest.mock import patch

import keras
import pytest

from dovetail.interop import privates
from keras_dovetail import finder
from tests.keras_backends import main


def check_each_part_is_there():
    assert privates.missing() == []


def check_each_module_of_the_import_hook_is_there():
    rewritten = finder._rewritten(keras.__version__)
    names = {finder.CONFIG, *finder.PRECEDED, *finder.FOLLOWED, *rewritten} - {"jax", "tensorflow"}
    assert len(names) > 9 and len(rewritten) == (6 if finder.has_twins(keras.__version__) else 1)
    assert [name for name in sorted(names) if find_spec(name) is None] == []


def check_a_missing_part_is_named():
    rows = {"gone": "keras.src.tree:gone", "module": "keras.src.trainers.gone:Trainer"}
    with patch.dict(privates.PRIVATES, rows):
        first, second = privates.missing()
        with pytest.raises(privates.MissingPrivate, match=r"keras\.src\.tree\.gone"):
            from dovetail.interop.privates import gone  # noqa: F401
    assert first.startswith(f"Keras {keras.__version__} has no keras.src.tree.gone")
    assert "keras.src.trainers.gone" in second and f"pip install keras=={privates.TESTED[0]}" in second


if __name__ == "__main__":
    main(globals())
