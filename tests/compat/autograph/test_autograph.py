"""AutoGraph against TensorFlow: statements on tensors in functions, methods, closures and branches."""

from __future__ import annotations

import functools
from pathlib import Path

import numpy as np
import pytest

from dovetail.compat import tensorflow as tf
from tests.foreign import autograph, loaded

PROGRAMS = Path(__file__).with_name("programs.py")


OURS = loaded(PROGRAMS, tf)
ROWS = [(name, way) for name in OURS.STATEMENTS for way in OURS.CONTEXTS]
REFUSED = [(name, way) for name in OURS.ERRORS for way in ("function", "called", "method")]


THEIRS = {"several_returns", "for_with_break_and_continue"}  # the programs that TensorFlow runs in each context

# Programs whose tensors change their shapes, and the engines that compute them, but not their gradients.
WITHOUT_GRADIENT = {"shapes_that_differ", "array_of_tensors", "shape_that_changes"}, {"jax", "tensorflow"}


@functools.cache
def wanted(name: str, way: str) -> dict[str, np.ndarray]:
    """TensorFlow's results of a program."""
    return autograph(PROGRAMS, name=name, way=way)


@pytest.mark.each("name", of=lambda name: name, engines=("numpy",))
@pytest.mark.parametrize(("name", "way"), ROWS, ids=list(map("-".join, ROWS)))
def test_a_statement_gives_the_values_and_the_gradient_of_tensorflow(name, way, engine):
    expected = wanted(name, way if name in THEIRS else "function")
    programs, engines = WITHOUT_GRADIENT
    has_gradient = name not in programs or engine not in engines
    rows = OURS.computed(name, way, has_gradient)
    assert sum(map(len, rows)) == len(expected)
    for key, other in expected.items():
        row, number = map(int, key.split())
        one = np.asarray(rows[row][number])
        is_gradient = number == len(rows[row]) - 1
        if is_gradient and (np.isnan(other) or not has_gradient):
            continue  # TensorFlow's own does not pass a loop over a data set
        assert is_gradient or one.dtype == other.dtype
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)


@pytest.mark.each("name", of=lambda name: name, engines=("numpy",))
@pytest.mark.parametrize(("name", "way"), REFUSED, ids=list(map("-".join, REFUSED)))
def test_a_program_is_refused_with_the_words_of_tensorflow(name, way, engine):
    kinds, text = OURS.problem(name, way)
    words, theirs = OURS.ERRORS[name].__doc__, wanted(name, "function")
    assert words in str(theirs["text"]), "the oracle says something else"
    assert words in text
    assert kinds[0] in str(theirs["kinds"]).split() or name == "no_turn"  # InvalidArgumentError is ValueError here
    first = OURS.ERRORS[name].__code__.co_firstlineno
    assert any(f"programs.py:{first + n}:" in text for n in range(12)), text
