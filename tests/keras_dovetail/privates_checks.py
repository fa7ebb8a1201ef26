"""Checks that the installed Keras has each part that Dovetail uses and Keras does not publish."""

from __future__ import annotations

from unittest.mock import patch

import keras
import pytest

from dovetail.interop import privates
from tests.keras_backends import main


def check_each_part_is_there():
    assert privates.missing() == []


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
