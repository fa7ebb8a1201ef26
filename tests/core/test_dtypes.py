"""Dtypes: names, spellings and the promotion lattice."""

import ml_dtypes
import pytest

import dovetail as dt
from dovetail.core.dtypes import ALL, FLOAT8S, as_dtype, promote

NAMES = [name for name in ALL if name not in FLOAT8S]


@pytest.mark.parametrize("name", ALL)
def test_spellings_of_one_dtype(name):
    dtype = as_dtype(name)
    assert dtype is as_dtype(dtype.numpy) is as_dtype(str(dtype))
    assert dtype == name == dtype.numpy
    assert dtype != "nothing" and dtype is not None
    assert dtype.itemsize == dtype.numpy.itemsize


def test_spellings_of_engines():
    torch = pytest.importorskip("torch")
    jnp = pytest.importorskip("jax.numpy")
    assert as_dtype(torch.bfloat16) == as_dtype(jnp.bfloat16) == as_dtype(ml_dtypes.bfloat16) == "bfloat16"


def test_python_types():
    assert (as_dtype(bool), as_dtype(int), as_dtype(float), as_dtype(complex)) == (
        "bool",
        "int32",
        "float32",
        "complex64",
    )
    dt.config.set_floatx("float64")
    assert as_dtype(float) == "float64"


def test_second_names():
    assert list(map(as_dtype, ["half", "float", "double", "int"])) == ["float16", "float32", "float64", "int32"]


@pytest.mark.parametrize("bad", ["float33", object(), None, "torch.float33", [1]])
def test_what_is_no_dtype(bad):
    with pytest.raises(TypeError, match="is not a dtype"):
        as_dtype(bad)


def test_limits():
    assert (as_dtype("int8").min, as_dtype("int8").max) == (-128, 127)
    assert as_dtype("bfloat16").max == ml_dtypes.finfo("bfloat16").max


@pytest.mark.parametrize("a", NAMES)
@pytest.mark.parametrize("b", NAMES)
def test_lattice_is_that_of_jax(a, b):
    """Check the lattice against JAX, which documents the same one. Weak results aside, its promotion is the oracle."""
    jax = pytest.importorskip("jax")
    with jax.enable_x64(True):
        expected = jax.numpy.promote_types(a, b)
        weak = {a, b} & {"uint64"} and {a, b} & {"int8", "int16", "int32", "int64"}
    assert promote([a, b]) == ("float32" if weak else expected)
    assert promote([a, b]) == promote([b, a])


@pytest.mark.parametrize(
    ("items", "expected"),
    [
        (["float16", float], "float16"),
        (["int8", int], "int8"),
        (["int64", float], "float32"),
        (["bool", int], "int32"),
        ([float, int], "float32"),
        (["float32", complex], "complex64"),
        (["float64", complex], "complex128"),
        (["bool", bool], "bool"),
        (["float8_e5m2", float], "float8_e5m2"),
    ],
)
def test_python_numbers_are_weak(items, expected):
    assert promote(items) == expected


@pytest.mark.parametrize("other", ["float16", "float32", "int32", "float8_e4m3fn"])
def test_eight_bit_floats_do_not_promote(other):
    for items in (["float8_e5m2", other], [as_dtype(other), as_dtype("float8_e5m2")]):
        with pytest.raises(TypeError, match="no implicit promotion"):
            promote(items)
