"""Host calls: the ops of an engine that Python computes, as prints, users' functions and exchanges of processes."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from dovetail.core.base.errors import describe
from dovetail.core.base.hooks import hooks
from dovetail.core.base.scopes import not_building, record_on
from dovetail.core.base.tensor_shape import shape_of
from dovetail.core.dtypes import DType
from dovetail.core.engines.collectives import COLLECTIVES, WORLD
from dovetail.core.engines.control_flow import Values
from dovetail.core.rules import Rule

if TYPE_CHECKING:
    from dovetail.core.values.spec import TensorSpec


class _Called(threading.local):
    """The number of calls of users' functions in a thread, which a program that failed must not make again."""

    count = 0


CALLED = _Called()


class HostCalls:
    """The part of an engine that calls Python with its arrays; `Engine` is one."""

    def _host_rules(self: Any) -> dict[str, Rule]:
        """The rules of the ops that Python computes."""
        return {
            "Print": self._print,
            **dict.fromkeys(("PyFunc", "PyFuncStateless", "EagerPyFunc"), self._call_python),
            "Assert": self._require,
            "CheckNumerics": self._require_finite,
            **{name: functools.partial(self._meet, name) for name in COLLECTIVES},
        }

    def _print(self: Any, value: Any, message: str, summarize: int) -> Any:
        """Print a value, also inside a program, and return it."""
        print_array(self.to_numpy(value), message, summarize)
        return value

    def _call_python(
        self: Any, inputs: Values, function: Callable[..., Any], dtypes: Sequence[DType], shapes: Sequence[Any]
    ) -> list[Any]:
        """The results of a Python function of arrays."""
        CALLED.count += 1
        results = call(function, [np.array(self.to_numpy(value)) for value in inputs], dtypes, shapes)
        return [self.asarray(array, dtype) for array, dtype in zip(results, dtypes, strict=True)]

    def _require(self: Any, condition: Any, data: Values, message: str, summarize: int) -> Any:
        """Return the condition; raise an error if it does not hold everywhere."""
        if not np.all(self.to_numpy(condition)):
            arrays, parts = [np.asarray(self.to_numpy(value)) for value in data], message.split("{}")
            if len(parts) == len(arrays) + 1:
                shown = [summary(array, summarize) for array in arrays]
                raise ValueError("".join(text for pair in zip(["", *shown], parts, strict=True) for text in pair))
            raise ValueError(f"{message} {' and '.join(array_text(array, summarize) for array in arrays)}.")
        return condition

    def _require_finite(self: Any, value: Any, message: str) -> Any:
        """Return a value; raise an error if an element is NaN or infinite."""
        array = np.asarray(self.to_numpy(value))
        if not np.isfinite(array).all():
            kinds = [name for name, test in (("Inf", np.isinf), ("NaN", np.isnan)) if test(array).any()]
            raise ValueError(f"{message} : Tensor had {' and '.join(kinds)} values")
        return value

    # collectives

    def _meet(self: Any, name: str, x: Any, *static: Any) -> Any:
        """The result of a collective of processes, whose group is the last static argument; alone, `x` itself."""
        *options, ranks = static
        if len(WORLD.members(ranks)) == 1:
            return x
        if self.is_traced(x):
            return hooks.meet_traced(self, name, x, static)
        return self._received(WORLD.exchange(name, self._sent(x), ranks, *options), x)

    def _differentiated(self: Any, name: str, rule: Rule) -> Rule:
        """The rule for users' values, which the library differentiates by the op's gradient."""

        def run(*args: Any) -> Any:
            if name in COLLECTIVES and (len(WORLD.members(args[-1])) == 1 or not self.dtype(args[0]).is_differentiable):
                return rule(*args)
            return hooks.differentiated(self.native, name, rule, args)

        return run

    def _sent(self: Any, value: Any) -> Any:
        """The array of a value for other processes: NumPy's, in the same memory if possible, or a tensor on a GPU."""
        return self.to_numpy(value)

    def _received(self: Any, array: Any, like: Any) -> Any:
        """The library's array of a new array from other processes, in the same memory if possible.

        Args:
            array: an array as of `sent`, which nobody else uses.
            like: a native array of the dtype, and on the device.
        """
        made = self.asarray(array, self.dtype(like))
        return self.to_device(made, self.device_of(like)) if self.has_devices else made

    def traced_call(self: Any, function: Callable[[np.ndarray], np.ndarray], value: Any, result: TensorSpec) -> Any:
        """The result of a function that Python computes each time that a program of the library runs.

        Args:
            function: from a NumPy array to one; calls have an order.
            value: an array that the library is tracing.
            result: the shape and the dtype of the function's result.
        """
        raise NotImplementedError


def call(
    function: Callable[..., Any], arrays: Sequence[np.ndarray], dtypes: Sequence[DType], shapes: Sequence[Any]
) -> list[np.ndarray]:
    """Call a function of arrays; none of its computations is recorded.

    Args:
        function: returns an array, a number, or a list of them.
        arrays: its arguments, which it may keep or change.
        dtypes: the dtypes of the results.
        shapes: the known parts of the results' shapes; empty if none is known.

    Raises:
        TypeError: there are more or fewer results.
        ValueError: a result has another shape.
    """
    with not_building(), record_on(()):
        returned = function(*arrays)
    name = getattr(function, "__name__", "function")
    results = returned if isinstance(returned, (list, tuple)) else [returned]
    if len(results) != len(dtypes) or any(result is None for result in results):
        problem = f"{name} must give {len(dtypes)} results ({', '.join(dtypes)}), not {describe(returned)}."
        raise TypeError(problem)
    made = [np.asarray(result).astype(dtype.numpy) for result, dtype in zip(results, dtypes, strict=True)]
    for array, shape in zip(made, shapes, strict=False):
        if not shape_of(shape).is_compatible_with(array.shape):
            raise ValueError(f"{name} gave the shape {array.shape}, where set_shape said {tuple(shape)}.")
    return made


def print_array(array: np.ndarray, message: str, summarize: int) -> None:
    """Print a message and an array, with `summarize` elements at each end of an axis; -1 for all."""
    print(message, array_text(array, summarize))


def array_text(array: np.ndarray, summarize: int) -> str:
    """An array as text, with `summarize` elements at each end of an axis; -1 for all."""
    threshold = array.size if summarize < 0 else 0
    writers: Any = {"int": str, "float": _written}
    return np.array2string(array, threshold=threshold, edgeitems=max(summarize, 1), formatter=writers)


def summary(array: np.ndarray, count: int) -> str:
    """The first elements of an array, as many as `count`, as errors of TensorFlow show them; -1 for all."""
    elements = array.reshape(-1)[: None if count < 0 else count]
    texts = map(_written if array.dtype.kind == "f" else str, elements if array.dtype != bool else elements.astype(int))
    return _summed_up(array.reshape(array.shape or 1), texts, True) + "..." * (len(elements) < array.size)


def _summed_up(array: np.ndarray, texts: Iterator[str], is_first: bool = False) -> str:
    if array.ndim == 1:
        words = [*islice(texts, len(array))]
        return " ".join(words) + "..." * (not is_first and len(words) < len(array))
    parts = [_summed_up(part, texts) for part in array]
    return "".join(f"[{part}]" for part in parts if part not in ("", "..."))


def _written(number: np.floating[Any]) -> str:
    """A float as TensorFlow prints it: in six digits, or in as many as distinguish it from all others."""
    short = f"{number:g}"
    return short if type(number)(short) == number else f"{number:.{17 if number.itemsize == 8 else 9}g}"
