"""`K.print_tensor`: the text, when it is printed, and how often."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import dovetail as dt
from dovetail import backend as K


@pytest.fixture(autouse=True)
def _closed():
    yield
    K.clear_session()


@pytest.fixture
def printed(capfd):
    """The printed text, once programs have ended."""

    def read() -> str:
        if "jax" in sys.modules:
            sys.modules["jax"].effects_barrier()
        return capfd.readouterr().out

    return read


def test_eagerly(engine, printed):
    x = K.variable(np.arange(20).reshape(4, 5), dtype="int32")
    K.print_tensor(x, "x is", summarize=1)
    assert printed() == "x is [[0 ... 4]\n ...\n [15 ... 19]]\n"
    K.print_tensor(K.constant(np.arange(9.0)), summarize=None)
    assert printed() == " [0 1 2 ... 6 7 8]\n"
    K.print_tensor(K.constant(np.arange(9)), summarize=-1)
    assert printed() == " [0 1 2 3 4 5 6 7 8]\n"
    assert K.print_tensor(3.0, "a number").numpy() == 3.0
    assert printed() == "a number 3\n"


def test_each_time_that_it_runs_if_the_result_is_used(engine, printed):
    x = K.placeholder((2,))
    shown, constant = K.print_tensor(x, "x is"), K.print_tensor(K.variable([1.0]), "v is")
    K.print_tensor(x, "unused")
    twice = K.print_tensor(x * 2.0, "same") + K.print_tensor(x * 2.0, "same")
    f = K.function([x], [shown * 2.0, constant])
    assert printed() == ""
    for _ in range(2):
        f([[1.0, 2.0]])
        assert sorted(printed().splitlines()) == ["v is [1]", "x is [1 2]"]
    K.function([x], twice)([[1.0, 2.0]])
    assert printed().splitlines() == ["same [2 4]", "same [2 4]"]


def test_what_is_constant_is_not_printed_while_it_is_compiled(engine, printed):
    step = dt.function(lambda x: K.print_tensor(K.shape(x), "shape:"))
    for _ in range(2):
        assert step(K.constant([1.0, 2.0, 3.0])).numpy().tolist() == [3]
        assert printed() == "shape: [3]\n"


def test_numbers_have_the_digits_they_need(printed):
    K.print_tensor(K.constant([1 / 3, 1e-7, 1e10, np.nan, -2.5], dtype="float32"), summarize=-1)
    K.print_tensor(K.constant(1 / 3, dtype="float64"))
    assert printed() == " [0.333333343 1e-07 1e+10 nan -2.5]\n 0.33333333333333331\n"


def test_engines_own_values_while_their_library_traces(printed):
    jax = pytest.importorskip("jax")
    f = jax.jit(lambda x: K.print_tensor(x * 2.0, "jax:"))
    f(1.0), f(2.0)
    assert printed() == "jax: 2\njax: 4\n"
    tf = pytest.importorskip("tensorflow")
    g = tf.function(lambda x: K.print_tensor(x * 2.0, "tf:"))
    g(tf.constant([1.0])), g(tf.constant([2.0]))
    assert printed() == "tf: [2]\ntf: [4]\n"


def test_gradients_pass_through(engine, printed):
    x = K.placeholder(())
    assert K.function([x], K.gradients(K.square(K.print_tensor(x)), x))(3.0) == [6.0]
    assert printed() == " 3\n"
