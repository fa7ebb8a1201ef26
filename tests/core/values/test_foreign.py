"""Values of other libraries that keep some elements alone, or rows of several lengths."""

from __future__ import annotations

import contextlib
import warnings

import numpy as np
import pytest

from dovetail import ops
from tests.frames import frames

DENSE = np.array([[0, 2, 0], [3, 0, 4]], "float32")
ROWS = [[1.0, 2.0], [3.0]]


def _of_scipy(kind):
    return lambda: getattr(pytest.importorskip("scipy.sparse"), kind)(DENSE)


def _of_jax(kind):
    return lambda: getattr(pytest.importorskip("jax.experimental.sparse"), kind).fromdense(DENSE)


def _of_tensorflow():
    return pytest.importorskip("tensorflow").sparse.from_dense(DENSE)


def _of_torch(layout):
    return lambda: getattr(pytest.importorskip("torch").from_numpy(DENSE), layout)()


SPARSE = {
    **{
        f"scipy.{kind}": _of_scipy(kind)
        for kind in ("csr_matrix", "csr_array", "coo_matrix", "lil_array", "dia_matrix")
    },
    **{f"jax.{kind}": _of_jax(kind) for kind in ("BCOO", "BCSR")},
    "tensorflow": _of_tensorflow,
    **{f"torch.{layout}": _of_torch(layout) for layout in ("to_sparse", "to_sparse_csr", "to_sparse_csc")},
}


def _nested(layout):
    torch = pytest.importorskip("torch")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch calls them a prototype
        return torch.nested.nested_tensor([torch.tensor(row) for row in ROWS], layout=getattr(torch, layout))


RAGGED = {
    "tensorflow": (lambda: pytest.importorskip("tensorflow").ragged.constant(ROWS), r"x\.to_tensor\(\)"),
    "torch, strided": (lambda: _nested("strided"), r"x\.to_padded_tensor\(0\.0\)"),
    "torch, jagged": (lambda: _nested("jagged"), r"x\.to_padded_tensor\(0\.0\)"),
}
CALLS = {
    "convert": lambda x: ops.convert(x),
    "to an engine": lambda x: ops.convert(x, engine="numpy"),
    "a dtype": lambda x: ops.convert(x, "float64"),
    "in a list": lambda x: ops.convert([x, x]),
    "one argument": lambda x: ops.exp(x),
    "two arguments": lambda x: ops.matmul(x, np.ones((3, 2), "float32")),
    "with a Tensor": lambda x: ops.add(ops.convert(DENSE), x),
}
TORCHS_OWN = {"in a list", "one argument", "two arguments", "with a Tensor"}  # calls that torch computes


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("name", SPARSE)
def test_a_sparse_value_becomes_dense_with_a_line(name, call):
    value = SPARSE[name]()
    if name.startswith("torch") and call in TORCHS_OWN:
        pytest.skip("torch computes with its own values")
    with pytest.warns(UserWarning, match=r"ops\.convert at \S+: the sparse \w+ of \w+ becomes dense, \(2, 3\)"):
        found = np.asarray(CALLS[call](value))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        wanted = np.asarray(CALLS[call](DENSE))
    assert found.dtype == wanted.dtype
    np.testing.assert_allclose(found, wanted, rtol=1e-6)


def test_the_line_comes_once_for_each_line_of_a_program():
    value = SPARSE["scipy.csr_array"]()
    with warnings.catch_warnings(record=True) as told:
        warnings.resetwarnings()
        for _ in range(3):
            ops.exp(value)
    assert len(told) == 1 and told[0].filename == __file__


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("name", RAGGED)
def test_a_ragged_value_is_refused_at_once(name, call):
    make, advice = RAGGED[name]
    value = make()
    with pytest.raises(ValueError, match=f"ragged .*{advice}"):
        CALLS[call](value)
    assert frames(lambda: _refused(CALLS[call], value)) < 500  # no element is looked at


def _refused(call, value):
    with contextlib.suppress(ValueError):
        call(value)
