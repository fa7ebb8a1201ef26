"""TensorFlow's names of checks and errors, and its switches: devices, settings, logging."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import numpy as np

from dovetail import ops
from dovetail.compat.tensorflow.table import absent, alike_values, function, value
from dovetail.core.errors import op_error
from dovetail.core.value_kinds import is_recorded

# -- errors: Python's own ---------------------------------------------------------------------------------------------

for _name, _kind in {
    "InvalidArgumentError": ValueError,
    "NotFoundError": FileNotFoundError,
    "FailedPreconditionError": RuntimeError,
    "OutOfRangeError": IndexError,
    "UnimplementedError": NotImplementedError,
    "InternalError": RuntimeError,
    "AbortedError": RuntimeError,
    "CancelledError": RuntimeError,
    "UnavailableError": RuntimeError,
    "UnknownError": RuntimeError,
    "DataLossError": RuntimeError,
    "ResourceExhaustedError": MemoryError,
    "AlreadyExistsError": FileExistsError,
    "PermissionDeniedError": PermissionError,
    "DeadlineExceededError": TimeoutError,
    "OpError": Exception,
}.items():
    value(f"errors.{_name}", _kind)
value("OpError", Exception, "v1")

# -- checks -----------------------------------------------------------------------------------------------------------

_CHECKED = (
    "the values are known only when the graph runs, and a graph holds no checks; fetch the condition, "
    "or check what is fed"
)


def _require(name: str, condition: Any, message: Any, x: Any = None, y: Any = None) -> Any:
    """Refuses a condition that does not hold everywhere; what a graph will know later is not checked."""
    if is_recorded(condition):
        raise op_error(NotImplementedError, f"tf.{name}", f"{_CHECKED}.")
    if not bool(ops.all(condition)):
        given = " and ".join(np.array2string(np.asarray(ops.convert(v)), threshold=10) for v in (x, y) if v is not None)
        text = f"{message} " if message else ""
        raise op_error(ValueError, f"tf.{name}", f"{text}the condition does not hold{given and f' for {given}'}.")
    return None


def _pair(name: str, compare: Callable[[Any, Any], Any]) -> None:
    names = f"debugging.{name} {name}"

    @function(names, "v2")
    def check(x: Any, y: Any, message: Any = None, summarize: Any = None, name: str | None = None) -> Any:
        return _require(names.split()[0], compare(*alike_values([x, y])), message, x, y)

    @function(names, "v1")
    def check_v1(
        x: Any, y: Any, data: Any = None, summarize: Any = None, message: Any = None, name: str | None = None
    ) -> Any:
        return _require(names.split()[0], compare(*alike_values([x, y])), message, x, y)


def _single(name: str, holds: Callable[[Any], Any]) -> None:
    names = f"debugging.{name} {name}"

    @function(names, "v2")
    def check(x: Any, message: Any = None, summarize: Any = None, name: str | None = None) -> Any:
        return _require(names.split()[0], holds(x), message, x)

    @function(names, "v1")
    def check_v1(x: Any, data: Any = None, summarize: Any = None, message: Any = None, name: str | None = None) -> Any:
        return _require(names.split()[0], holds(x), message, x)


for _name, _compare in {
    "assert_equal": ops.equal,
    "assert_none_equal": ops.not_equal,
    "assert_less": ops.less,
    "assert_less_equal": ops.less_equal,
    "assert_greater": ops.greater,
    "assert_greater_equal": ops.greater_equal,
}.items():
    _pair(_name, _compare)
for _name, _holds in {
    "assert_positive": lambda x: ops.greater(x, 0),
    "assert_negative": lambda x: ops.less(x, 0),
    "assert_non_negative": lambda x: ops.greater_equal(x, 0),
    "assert_non_positive": lambda x: ops.less_equal(x, 0),
}.items():
    _single(_name, _holds)


@function("debugging.assert_near assert_near")
def assert_near(
    x: Any,
    y: Any,
    rtol: Any = None,
    atol: Any = None,
    message: Any = None,
    summarize: Any = None,
    name: str | None = None,
    data: Any = None,
) -> Any:
    """Refuses numbers that are further apart than tolerances of 10 times the dtype's precision, or those given.

    Source: `tf.debugging.assert_near`.
    """
    x, y = alike_values([x, y])
    eps = 10 * ops.convert(x).dtype.eps
    bound = ops.add(eps if atol is None else atol, ops.multiply(eps if rtol is None else rtol, ops.absolute(y)))
    return _require("debugging.assert_near", ops.less(ops.absolute(ops.subtract(x, y)), bound), message, x, y)


@function("debugging.assert_rank assert_rank")
def assert_rank(x: Any, rank: Any, message: Any = None, name: str | None = None, **options: Any) -> None:
    """Refuses a tensor of another number of axes.

    Source: `tf.debugging.assert_rank`.
    """
    found = len(ops.convert(x).shape)
    if found != int(rank):
        raise op_error(ValueError, "tf.debugging.assert_rank", f"{message or ''} the rank is {found}, not {rank}.")


@function("debugging.Assert Assert")
def assert_(condition: Any, data: Any, summarize: Any = None, name: str | None = None) -> Any:
    """Refuses a condition that is false.

    Source: `tf.debugging.Assert`.
    """
    return _require("debugging.Assert", condition, " ".join(map(str, data)))


@function("debugging.check_numerics check_numerics")
def check_numerics(tensor: Any, message: str, name: str | None = None) -> Any:
    """A tensor, which must be finite.

    Source: `tf.debugging.check_numerics`.
    """
    _require("debugging.check_numerics", ops.isfinite(tensor), f"{message} : Tensor had NaN or Inf values;")
    return ops.identity(tensor, name=name)


_LATER = "Nothing checks each op for NaN yet: check what you suspect with tf.debugging.check_numerics(x, message)."
absent("debugging.enable_check_numerics debugging.disable_check_numerics add_check_numerics_ops", _LATER)

# -- logging ----------------------------------------------------------------------------------------------------------

logger = logging.getLogger("dovetail.compat.tensorflow")
for _name in ("debug", "info", "warning", "error", "fatal"):
    value(f"logging.{_name}", getattr(logger, _name))
value("logging.warn", logger.warning)
value("logging.log", logger.log)
value("logging.set_verbosity", logger.setLevel)
value("logging.get_verbosity", logger.getEffectiveLevel)
for _name in ("DEBUG", "INFO", "WARN", "ERROR", "FATAL"):
    value(f"logging.{_name}", getattr(logging, _name))
