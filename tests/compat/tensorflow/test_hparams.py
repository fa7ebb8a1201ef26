"""`tf.contrib.training.HParams`, which TensorFlow no longer has: what 1.15's documentation says of it."""

from __future__ import annotations

import dovetail.compat.tensorflow.compat.v1 as tf
import pytest


def settings():
    return tf.contrib.training.HParams(rate=0.1, layers=[8, 4], name="net", is_deep=False, steps=3)


def test_settings_are_attributes_that_keep_their_types():
    found = settings()
    found.set_hparam("rate", 1)
    found.add_hparam("extra", "x")
    assert (found.rate, type(found.rate), found.extra, "rate" in found, found.get("no", 7)) == (
        1.0,
        float,
        "x",
        True,
        7,
    )
    found.del_hparam("extra")
    assert found.values() == {"rate": 1.0, "layers": [8, 4], "name": "net", "is_deep": False, "steps": 3}
    assert tf.contrib.training.HParams(**found.values()).to_json() == found.to_json()


def test_texts_are_read():
    found = settings().parse("rate=1e-3, layers=[1,2,3],name=a b,is_deep=True,steps=-4")
    assert found.values() == {"rate": 1e-3, "layers": [1, 2, 3], "name": "a b", "is_deep": True, "steps": -4}
    assert settings().parse("").values() == settings().values()
    assert settings().parse_json('{"layers": [5], "rate": 2}').values()["layers"] == [5]


@pytest.mark.parametrize(
    ("call", "problem"),
    [
        (lambda: settings().set_hparam("rat", 1), "there is no 'rat'; it has rate, layers"),
        (lambda: settings().parse("steps=1.5"), "'steps' is of int, and 1.5 is not"),
        (lambda: settings().parse("is_deep=maybe"), "'is_deep' is of bool"),
        (lambda: settings().parse("layers=3"), "'layers' is a list"),
        (lambda: settings().parse("steps"), "it reads name=value"),
        (lambda: settings().add_hparam("values", 1), "there is 'values' already"),
        (lambda: settings().add_hparam("none", []), "the list 'none' is empty"),
    ],
)
def test_wrong_settings(call, problem):
    with pytest.raises(ValueError, match=problem):
        call()
