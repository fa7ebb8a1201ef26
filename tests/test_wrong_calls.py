"""Wrong calls: each raises a conventional exception that names the function, the line, and the given value.

`wrong_calls` makes the calls from the op table's samples, the examples of docstrings and the parity cases of K. All of
them run on NumPy. A sample, drawn with the seed, runs on the other engines and inside `dovetail.function`.
"""

from __future__ import annotations

import contextlib
import functools
import io
import random
import re
import warnings
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

import dovetail as dt
from tests.conftest import SEED
from tests.libraries import require
from tests.wrong_calls import Call, k_calls, ops_calls, wrong_calls

require("tf_keras", "the cases of K need it")

KINDS = (ValueError, TypeError, IndexError, LookupError, KeyError, OverflowError, NotImplementedError)
SAMPLE = 150  # of the calls, for each engine and way

# Words of Python or a library, which show that no code of ours checks the argument.
RAW = re.compile(
    r"has no attribute|not supported between|unsupported operand|is not iterable|has no len\(\)|not subscriptable"
    r"|inhomogeneous|not callable|recursion|dtype\('O'\)|could not convert|bad operand|unpack|invalid literal"
    r"|zip\(\)|unhashable|real number, not|is not a valid|UFuncTypeError"
)

# Calls that need not raise this way: pattern of "function-fault" → why.
EXCEPTIONS = {
    r"ops\.strided_slice-(begin|end|strides)_is_negative": "they count from the end, or go backwards",
    r"K\.(normalize_batch_in_training|batch_normalization)-(gamma|beta)_is_None": "as in Keras, they may be left out",
    r"K\.batch_normalization-axis_is_out_of_range": "as in Keras, no axis is needed where the shapes broadcast",
    r"K\.(switch|in_train_phase|in_test_phase)-\w+_is_(None|a_number|text)": "what is not chosen may be anything",
    r"K\.function-outputs_is_(None|ragged)": "what is no tensor comes out as it is, in its structure",
    r"K\.placeholder-shape_is_None_inside": "a dimension that is not known",
    r"K\.dropout-noise_shape_is_\w+": "nothing is dropped outside of training, or at the rate 0",
    r"K\.(stop_gradient|concatenate)-\w+_is_ragged": "a list of tensors, which here are lists",
    r"K\.batch_get_value-tensors_is_\w+": "the value of what is no tensor is itself",
    r"K\.ndim-x_is_(an_array_of_\w+|dates|fields|masked)": "every array of NumPy has axes",
    r"K\.rnn-(initial_states|constants)_is_ragged": "it is the user's step function that raises",
}


@functools.cache
def calls() -> list[Call]:
    """All wrong calls."""
    with dt.engine("numpy"):
        return [wrong for valid in (*ops_calls(), *k_calls()) for wrong in wrong_calls(valid)]


@functools.cache
def sample(way: str) -> list[Call]:
    """Some of the calls, the same for one seed and way."""
    certain = [call for call in calls() if call.certain]  # other calls may return a result, so they would compile
    return random.Random(f"{SEED} {way}").sample(certain, SAMPLE)


def traced(call: Call) -> Call:
    """The call inside `dovetail.function`, with its arrays as arguments."""
    arrays = {name: value for name, value in call.kwargs.items() if is_array(value)}
    run = dt.function(lambda given: call.function(*call.args, **{**call.kwargs, **given}))
    return replace(call, run=lambda: run(arrays))


def is_array(value: Any) -> bool:
    return isinstance(value, dt.Tensor) or (type(value) is np.ndarray and value.dtype.kind in "biufc")


def state_of(call: Call) -> list[Any]:
    """The state that a failing call must not change."""
    variables = [value.numpy().tolist() for value in call.kwargs.values() if isinstance(value, dt.Variable)]
    return [dt.config.version, dt.ops.constant(1.0).engine, *variables]


def fault_of(call: Call) -> str | None:
    """The problem of the answer to a wrong call; None if there is none."""
    before = state_of(call)
    try:
        call()
    except Exception as error:
        problem = _fault_of(call, error)
        if state_of(call) != before:
            problem = "changes variables or settings"
        return problem and f"{call}: {problem}: {type(error).__name__}: {error}"
    finally:
        dt.config.set_floatx("float32")
        dt.config.set_image_data_format("channels_last")
    return f"{call}: does not raise" if call.certain else None


def _fault_of(call: Call, error: Exception) -> str | None:
    text = str(error)
    checks = {
        "not of a conventional type": type(error) in KINDS,
        "does not name the function": any(title in text for title in call.titles()),
        "does not name the line": re.search(r" at \w+\.py:\d+: ", text),
        "does not say what it got": "Given: " in text or "missing" in text,
        "not of our words": not RAW.search(text),
    }
    return next((problem for problem, fine in checks.items() if not fine), None)


def faults(tried: Iterable[Call]) -> list[str]:
    """The problems of the answers to calls, without the exceptions."""
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        found = [(call, fault_of(call)) for call in tried]
    return [fault for call, fault in found if fault and not any(re.fullmatch(e, str(call)) for e in EXCEPTIONS)]


def test_all_on_numpy():
    with dt.engine("numpy"):
        found = faults(calls())
    assert len(calls()) > 10_000
    assert not found, "\n".join(found)


def test_each_exception_is_one():
    names = [str(call) for call in calls()]
    assert not [e for e in EXCEPTIONS if not any(re.fullmatch(e, name) for name in names)]


def test_some_on_each_engine(engine):
    found = faults(sample(engine))
    assert not found, "\n".join(found)


def test_some_while_a_graph_is_built(engine):
    found = faults(traced(call) for call in sample(f"graph {engine}"))
    assert not found, "\n".join(found)
