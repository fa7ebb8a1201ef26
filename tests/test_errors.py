"""Bad input: each a conventional exception that names the op, the user's line, what was given and what is needed."""

import numpy as np
import pytest

import dovetail as dt
from dovetail import ops
from dovetail.errors import EngineNotInstalled

a23 = np.ones((2, 3), "float32")

CALLS = {
    "inner dimensions": (ValueError, "MatMul", "inner dimensions", lambda x: ops.matmul(x, x)),
    "broadcast": (ValueError, "AddV2", "do not broadcast", lambda x: x + np.ones(2, "float32")),
    "reshape": (ValueError, "Reshape", "6 elements", lambda x: ops.reshape(x, (4, -1))),
    "axis": (IndexError, "Sum", "out of range", lambda x: ops.sum(x, axis=2)),
    "axis twice": (ValueError, "Sum", "twice", lambda x: ops.sum(x, axis=(0, -2))),
    "dtype": (TypeError, "BitwiseAnd", "integer", lambda x: ops.bitwise_and(x, 1)),
    "dtype name": (TypeError, "", "Known dtypes", lambda x: ops.cast(x, "float33")),
    "too many arguments": (TypeError, "Tanh", "", lambda x: ops.tanh(x, 1, 2)),
    "unknown argument": (TypeError, "Sum", "axes", lambda x: ops.sum(x, axes=1)),
    "missing argument": (TypeError, "Reshape", "'shape' is missing", lambda x: ops.reshape(x)),
    "permutation": (ValueError, "Transpose", "each of the 2 axes once", lambda x: ops.transpose(x, (0, 1, 2))),
    "not a list": (TypeError, "ConcatV2", "list of tensors", lambda x: ops.concatenate(3.0)),
}


@pytest.mark.parametrize("case", CALLS)
def test_eager(engine, case):
    kind, op, problem, call = CALLS[case]
    with pytest.raises(kind) as error:
        call(ops.convert(a23))
    text = str(error.value)
    assert op in text and problem in text
    assert not op or "test_errors.py:" in text


@pytest.mark.parametrize("case", CALLS)
def test_traced(case):
    """The same words while a graph is built, and with the same line."""
    kind, op, problem, call = CALLS[case]
    with pytest.raises(kind) as error:
        dt.function(call)(a23)
    assert op in str(error.value) and problem in str(error.value)


def test_the_message_shows_what_was_given():
    with pytest.raises(ValueError, match=r"MatMul at test_errors.py:\d+: .* x=float32\[2,3\], y=float32\[2,3\]"):
        ops.matmul(a23, a23)


def test_unknown_engine():
    with pytest.raises(ValueError, match="there is no engine 'abacus'; there are numpy"):
        dt.set_engine("abacus")
    assert (dt.ops.constant(1.0)).engine in dt.engines()


def test_engine_not_installed(monkeypatch):
    from dovetail.engines import BUILT_IN

    monkeypatch.setitem(BUILT_IN, "ghost", ("dovetail.engines.ghost", ("no_such_library",), "pip install ghost"))
    assert "ghost" not in dt.engines()
    with pytest.raises(EngineNotInstalled, match="pip install ghost"), dt.engine("ghost"):
        pass


def test_gradient_of_an_integer():
    x = ops.constant(3)
    with pytest.raises(TypeError, match="has no gradient, being int32"), dt.GradientTape() as tape:
        tape.watch(x)


def test_mixed_engines_own_values():
    torch = pytest.importorskip("torch")
    jnp = pytest.importorskip("jax.numpy")
    with pytest.raises(TypeError, match=r"torch and jax|jax and torch"):
        ops.add(torch.ones(2), jnp.ones(2))


def test_tensors_of_two_graphs():
    one, two = dt.Graph("one"), dt.Graph("two")
    x, y = one.placeholder(dt.spec((2,))), two.placeholder(dt.spec((2,)))
    before = len(one), len(two)
    with pytest.raises(ValueError, match=r"two graphs.*'two'.*'one'"):
        x + y
    assert (len(one), len(two)) == before
