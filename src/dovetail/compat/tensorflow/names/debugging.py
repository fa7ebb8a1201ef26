"""TensorFlow's names for checks, errors and logging."""

from __future__ import annotations

import logging
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from dovetail import ops
from dovetail.compat.tensorflow import graph_mode
from dovetail.compat.tensorflow.entries import value
from dovetail.compat.tensorflow.table import alike_values, function, row
from dovetail.core.base.errors import describe, op_error
from dovetail.core.base.table import OPS
from dovetail.core.dtypes import as_dtype
from dovetail.core.engines.host_calls import array_text
from dovetail.core.values.value_kinds import dtype_of, is_recorded, is_tensor
from dovetail.functions.numerics import set_check_numerics
from dovetail.trace import trace

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
    "UnauthenticatedError": PermissionError,
    "OperatorNotAllowedInGraphError": TypeError,
    "OpError": Exception,
}.items():
    value(f"errors.{_name}", _kind)
value("OpError", Exception, "v1")
CODES = [
    "OK",
    "CANCELLED",
    "UNKNOWN",
    "INVALID_ARGUMENT",
    "DEADLINE_EXCEEDED",
    "NOT_FOUND",
    "ALREADY_EXISTS",
    "PERMISSION_DENIED",
    "RESOURCE_EXHAUSTED",
    "FAILED_PRECONDITION",
    "ABORTED",
    "OUT_OF_RANGE",
    "UNIMPLEMENTED",
    "INTERNAL",
    "UNAVAILABLE",
    "DATA_LOSS",
    "UNAUTHENTICATED",
]
for _code, _name in enumerate(CODES):
    value(f"errors.{_name}", _code)

# -- checks -----------------------------------------------------------------------------------------------------------


def require(name: str, condition: Any, message: Any, data: Sequence[Any] = (), summarize: int | None = None) -> Any:
    """Refuse a condition that does not hold everywhere: at once, or by an operation whenever a graph is run.

    Args:
        name: the name of the function that is called.
        condition: bools.
        message: the text of the error, or None.
        data: further strings for the text, and values that it shows.
        summarize: how many elements at each end of an axis are shown; -1 for all.
    """
    words = [str(x) for x in (message, *data) if isinstance(x, str) and x]
    values = [x if is_tensor(x) else ops.convert(x) for x in data if x is not None and not isinstance(x, str)]
    text = " ".join([*words, f"the condition does not hold{' for' if values else '.'}"])
    if is_recorded(condition):
        with graph_mode.inside(condition.graph):
            given = [condition, tuple(values), f"tf.{name}: {text}", summarize or 3]
            return trace.record(OPS["Assert"], given).op
    if not bool(ops.all(condition)):
        shown = " and ".join(_text(x, summarize) for x in values)
        raise op_error(ValueError, f"tf.{name}", f"{text} {shown}.".replace(". .", "."))
    return None


COMPARISONS: dict[str, Callable[..., Any]] = {}  # the assertions about two values, by name


def _pair(name: str, compare: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    names = f"debugging.{name} {name}"

    def check(x: Any, y: Any, message: Any = None, summarize: Any = None, data: Any = None) -> Any:
        return require(names.split()[0], compare(*alike_values([x, y])), message, data or [x, y], summarize)

    return row(names, check, "x y message summarize", v1="x y data summarize message name", defers=False)


def _single(name: str, holds: Callable[[Any], Any]) -> None:
    names = f"debugging.{name} {name}"

    def check(x: Any, message: Any = None, summarize: Any = None, data: Any = None) -> Any:
        return require(names.split()[0], holds(x), message, data or [x], summarize)

    row(names, check, "x message summarize", v1="x data summarize message name", defers=False)


for _name, _compare in {
    "assert_equal": ops.equal,
    "assert_none_equal": ops.not_equal,
    "assert_less": ops.less,
    "assert_less_equal": ops.less_equal,
    "assert_greater": ops.greater,
    "assert_greater_equal": ops.greater_equal,
}.items():
    COMPARISONS[_name] = _pair(_name, _compare)
for _name, _holds in {
    "assert_positive": lambda x: ops.greater(x, 0),
    "assert_negative": lambda x: ops.less(x, 0),
    "assert_non_negative": lambda x: ops.greater_equal(x, 0),
    "assert_non_positive": lambda x: ops.less_equal(x, 0),
}.items():
    _single(_name, _holds)


@function("debugging.assert_near assert_near", scope=True, v1="x y rtol atol data summarize message name")
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
    """Refuse numbers that are further apart than tolerances; the default is 10 times the dtype's precision.

    Source: `tf.debugging.assert_near`.
    """
    x, y = alike_values([x, y])
    eps = 10 * ops.convert(x).dtype.eps
    bound = ops.add(eps if atol is None else atol, ops.multiply(eps if rtol is None else rtol, ops.absolute(y)))
    holds = ops.less(ops.absolute(ops.subtract(x, y)), bound)
    return require("debugging.assert_near", holds, message, data or [x, y], summarize)


def _ranked(title: str, words: str, holds: Callable[[int, Any], bool], parameter: str = "rank") -> None:
    """Add a function that refuses a tensor of another rank; `words` tell which ranks may be."""

    def check(x: Any, rank: Any, message: Any = None, data: Sequence[Any] = (), summarize: Any = None) -> None:
        shape = ops.convert(x).shape
        if shape is None:
            raise op_error(ValueError, f"tf.debugging.{title}", "the rank is not known: say it with set_shape.")
        if not holds(len(shape), rank):
            shown = [x if isinstance(x, str) else describe(x) if is_recorded(x) else _text(x, summarize) for x in data]
            said = [message or "", f"the rank is {len(shape)}, not {rank}{words}.", *shown]
            raise op_error(ValueError, f"tf.debugging.{title}", " ".join(filter(None, said)))

    check.__name__ = title
    check.__doc__ = f"""Refuse a tensor of another rank; its rank must be known.

    Source: `tf.debugging.{title}`.
    """
    words, old = f"x {parameter} message", f"x {parameter} data summarize message name"
    row(f"debugging.{title} {title}", check, words, v1=old, defers=False)


_ranked("assert_rank", "", lambda rank, wanted: rank == int(wanted))
_ranked("assert_rank_at_least", " or more", lambda rank, least: rank >= int(least))
_ranked("assert_rank_in", " or so", lambda rank, ranks: rank in map(int, ranks), "ranks:rank")


def assert_scalar(tensor: Any, message: str | None = None) -> Any:
    """A tensor, which must have no axes if its rank is known.

    Source: `tf.debugging.assert_scalar`.
    """
    scalar = ops.convert(tensor)
    if scalar.shape is not None and len(scalar.shape):
        problem = f"{message or ''} the shape is {scalar.shape}, not ().".strip()
        raise op_error(ValueError, "tf.debugging.assert_scalar", problem)
    return scalar


def assert_type(tensor: Any, tf_type: Any, message: str | None = None) -> None:
    """Refuse a tensor of another dtype.

    Source: `tf.debugging.assert_type`.
    """
    kind = ops.convert(tensor).dtype
    if kind != as_dtype(tf_type):
        problem = f"{message or ''} the dtype is {kind}, not {as_dtype(tf_type)}.".strip()
        raise op_error(TypeError, "tf.debugging.assert_type", problem)


def assert_integer(x: Any, message: str | None = None) -> None:
    """Refuse a tensor that is not of integers.

    Source: `tf.debugging.assert_integer`.
    """
    if not ops.convert(x).dtype.is_integer:
        problem = f"{message or ''} the dtype is {ops.convert(x).dtype}, which is not of integers.".strip()
        raise op_error(TypeError, "tf.debugging.assert_integer", problem)


def assert_proper_iterable(values: Any) -> None:
    """Refuse a value that is one tensor or text, or has no items.

    Source: `tf.debugging.assert_proper_iterable`.
    """
    if is_tensor(values) or isinstance(values, (str, bytes, np.ndarray)) or not hasattr(values, "__iter__"):
        problem = f"it takes a list of values, not {describe(values)}."
        raise op_error(TypeError, "tf.debugging.assert_proper_iterable", problem)


def assert_same_float_dtype(tensors: Any = None, dtype: Any = None) -> Any:
    """The one float dtype of some tensors and a dtype; without any, float32.

    Source: `tf.debugging.assert_same_float_dtype`.
    """
    kinds = {as_dtype(dtype_of(tensor)) for tensor in tensors or () if tensor is not None}
    kinds |= set() if dtype is None else {as_dtype(dtype)}
    if len(kinds) > 1 or not all(one.is_floating for one in kinds):
        problem = f"the dtypes must be one float dtype, not {', '.join(sorted(kinds))}."
        raise op_error(ValueError, "tf.debugging.assert_same_float_dtype", problem)
    return min(kinds, default=as_dtype("float32"))


row("debugging.assert_integer assert_integer", assert_integer, "x message", defers=False)
row("debugging.assert_proper_iterable assert_proper_iterable", assert_proper_iterable, "values", defers=False)
row("debugging.assert_same_float_dtype assert_same_float_dtype", assert_same_float_dtype, "tensors dtype", defers=False)
row("debugging.assert_scalar assert_scalar", assert_scalar, "tensor message", v1="tensor name message", defers=False)
row("debugging.assert_type assert_type", assert_type, "tensor tf_type message", defers=False)


def _text(x: Any, summarize: int | None) -> str:
    return array_text(np.asarray(ops.convert(x).numpy()), summarize or 3)


@function("debugging.Assert Assert", scope=True)
def assert_(condition: Any, data: Any, summarize: Any = None, name: str | None = None) -> Any:
    """Refuse a condition that is false, at once or whenever the graph is run; the error shows the data.

    Source: `tf.debugging.Assert`.
    """
    return require("debugging.Assert", condition, None, data, summarize)


@function("debugging.check_numerics check_numerics")
def check_numerics(tensor: Any, message: str, name: str | None = None) -> Any:
    """A tensor, which must be finite.

    Source: `tf.debugging.check_numerics`.
    """
    return OPS["CheckNumerics"](tensor, message, name=name)


@function("add_check_numerics_ops", "v1")
def add_check_numerics_ops() -> Any:
    """An operation that checks all floats of the graph, as it is now, for NaN and infinity, and names the first.

    Source: `tf.compat.v1.add_check_numerics_ops`.
    """
    graph = graph_mode.open_graph()
    floats = [t for op in graph.operations for t in op.outputs if t.dtype.is_floating]
    with graph_mode.inside(graph):
        said = {t: f"{t.name} has NaN or Inf values;" for t in floats}
        checks = [require("add_check_numerics_ops", ops.isfinite(t), text) for t, text in said.items()]
        return graph.group(*checks, name="check_numerics")


@function("debugging.enable_check_numerics")
def enable_check_numerics(stack_height_limit: int = 30, path_length_limit: int = 50) -> None:
    """Stop at the first NaN or infinity, with its operation, from now on in this thread; see `dovetail.check_numerics`.

    An error names one line, so the limits have no effect.

    Source: `tf.debugging.enable_check_numerics`.
    """
    set_check_numerics(True)


@function("debugging.disable_check_numerics")
def disable_check_numerics() -> None:
    """End the checks of `enable_check_numerics`.

    Source: `tf.debugging.disable_check_numerics`.
    """
    set_check_numerics(False)


# -- logging ----------------------------------------------------------------------------------------------------------

logger = logging.getLogger("dovetail.compat.tensorflow")


class _ToStderr(logging.Handler):
    """Write messages to stderr with TensorFlow's prefix, if the program has set up no logging itself."""

    def emit(self, record: logging.LogRecord) -> None:
        if not logging.getLogger().handlers:
            sys.stderr.write(f"{record.levelname}:tensorflow:{record.getMessage()}\n")


logger.addHandler(_ToStderr())
_calls: Counter[tuple[str, int]] = Counter()  # a line of the program → how often it was to log


def _log(holds: Callable[[int, Any], Any], level: int, msg: str, bound: Any, *args: Any) -> None:
    """Log a message if this call of the program's line shall."""
    frame = sys._getframe(1)
    line = frame.f_code.co_filename, frame.f_lineno
    _calls[line] += 1
    if holds(_calls[line] - 1, bound):
        logger.log(level, msg, *args)


for _name in ("debug", "info", "warning", "error", "fatal"):
    value(f"logging.{_name}", getattr(logger, _name))
value("logging.warn", logger.warning)
value("logging.log logging.vlog", logger.log)
value("get_logger", partial(logging.getLogger, logger.name))
value("logging.set_verbosity", logger.setLevel)
value("logging.get_verbosity", logger.getEffectiveLevel)
for _name, _logs in {
    "log_if": lambda count, condition: condition,
    "log_every_n": lambda count, n: count % n == 0,
    "log_first_n": lambda count, n: count < n,
}.items():
    value(f"logging.{_name}", partial(_log, _logs), "v1")
for _name in ("DEBUG", "INFO", "WARN", "ERROR", "FATAL"):
    value(f"logging.{_name}", getattr(logging, _name))
