"""Bodies as programs: an engine's library traces them for shapes that it does not know."""

import numpy as np
import pytest

import dovetail as dt
from dovetail import ops
from dovetail.core.base.table import OPS
from dovetail.core.engines.engine_registry import get_engine
from dovetail.core.tensor import Tensor
from dovetail.execute import composite_programs
from dovetail.execute.composite_programs import run_body

ENGINE = get_engine("numpy").native
X = np.array([[1.0, 2.0], [3.0, 5.0]], "float32")


@pytest.fixture(autouse=True)
def kept(monkeypatch):
    monkeypatch.setattr(composite_programs, "_segments", {})
    return composite_programs._segments


def run(name, *values):
    return run_body(OPS[name], ENGINE, *(Tensor(v, ENGINE) if isinstance(v, np.ndarray) else v for v in values))


def test_calls_of_one_signature_have_one_segment(kept):
    for x in (X, X + 1, X * 2):
        np.testing.assert_allclose(run("Softmax", x, -1)._value, ops.softmax(x).numpy(), rtol=1e-6)
    assert len(kept) == 1


@pytest.mark.parametrize(
    "other",
    [("Softmax", X, 0), ("Softmax", X[:1], -1), ("Softmax", X.astype("float64"), -1), ("LogSoftmax", X, -1)],
    ids=["a static value", "a shape", "a dtype", "the op"],
)
def test_calls_that_differ_have_their_own(kept, other):
    run("Softmax", X, -1)
    name, *args = other
    np.testing.assert_allclose(run(*other)._value, OPS[name](*args).numpy(), rtol=1e-6)
    assert len(kept) == 2


def test_settings_are_part_of_the_signature(kept):
    run("Softmax", X, -1)
    dt.config.set_floatx("float64")
    run("Softmax", X, -1)
    assert len(kept) == 2


def test_lists_of_tensors(kept):
    tensors = tuple(Tensor(x, ENGINE) for x in (X, X + 1))
    for values in (tensors, tensors[:1], tensors):
        np.testing.assert_array_equal(run("Pack", values, 0)._value, np.stack([t._value for t in values]))
    assert len(kept) == 2


def test_what_is_like_no_other_is_not_kept(kept):
    """Check a static argument that is a unique object, alone or in a list; a key would keep it alive."""
    for value in (composite_programs._UNKNOWN, object(), [1, object()]):
        key = ("Softmax", composite_programs._key(value, []))
        composite_programs._segment(OPS["Softmax"], ENGINE, (Tensor(X, ENGINE), -1), key)
    assert kept == {}


def test_engines_that_write_into_buffers_keep_nothing(kept):
    run_body(OPS["Softmax"], get_engine("numpy"), Tensor(X, ENGINE), -1)
    assert kept == {}


def test_it_is_bounded(kept, monkeypatch):
    monkeypatch.setattr(composite_programs, "_LIMIT", 3)
    for axis in (0, 1, -1, -2):
        run("Softmax", X, axis)
    assert len(kept) == 1
    run("Softmax", X, -2)
    assert len(kept) == 1
