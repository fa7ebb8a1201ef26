"""TensorFlow's names for printing: at once, or by an operation whenever a graph is run."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any

import numpy as np

from dovetail import ops
from dovetail.compat.tensorflow import graph_mode
from dovetail.compat.tensorflow.names.graph.python_calls import done_in
from dovetail.compat.tensorflow.table import function
from dovetail.core.engines.host_calls import array_text
from dovetail.core.values.value_kinds import is_recorded, is_tensor
from dovetail.trace import trace


class Printer:
    """A printer of lines of words and arrays.

    Args:
        words: strings, and None for each array.
        separator, end: the texts between the words, and after the last.
        stream: the file; None for `sys.stderr` at the time of the call.
        summarize: how many elements at each end of an axis; -1 for all.
        first_n: the largest number of lines; None for no limit.
        text: writes an array, given `summarize`.
    """

    __name__ = "print"

    def __init__(
        self,
        words: Sequence[str | None],
        separator: str,
        end: str,
        stream: Any = None,
        summarize: int = 3,
        first_n: int | None = None,
        text: Callable[[np.ndarray, int], str] = array_text,
    ) -> None:
        self._words, self._separator, self._end, self._stream = words, separator, end, stream
        self._summarize, self._left, self._text = summarize, first_n, text

    def __call__(self, *arrays: np.ndarray) -> None:
        if self._left is not None:
            if self._left <= 0:
                return
            self._left -= 1
        given = [np.asarray(array, object) if isinstance(array, bytes) else array for array in arrays]
        texts = iter([self._text(array, self._summarize) for array in given])
        line = self._separator.join(next(texts) if word is None else word for word in self._words)
        print(line, end=self._end, file=self._stream or sys.stderr, flush=True)


def _printed(printer: Printer, tensors: Sequence[Any], name: str | None) -> Any:
    """Print at once, or return the operation that prints."""
    graph = trace.current_graph() or next((x.graph for x in tensors if is_recorded(x)), None) or graph_mode.graph()
    if graph is None:
        printer(*(np.asarray(ops.convert(x).numpy()) for x in tensors))
        return None
    return done_in(graph, printer, tensors, name)


@function("print")
def print_(
    *inputs: Any,
    output_stream: Any = None,
    summarize: int = 3,
    sep: str = " ",
    end: str = "\n",
    name: str | None = None,
) -> Any:
    """Print tensors and other values to stderr; in a graph, by an operation whenever that runs.

    A compiled function prints whenever it is called; in a graph of sessions the operation is run, or waited for.

    Source: `tf.print`.
    """
    words = [None if is_tensor(x) else str(x) for x in inputs]
    printer = Printer(words, sep, end, output_stream, summarize)
    return _printed(printer, [x for x in inputs if is_tensor(x)], name)


def summary(array: np.ndarray, summarize: int) -> str:
    """An array as TensorFlow 1 prints it: its first elements, in brackets for each axis; -1 for all elements.

    Source: `Tensor::SummarizeValue` of TensorFlow.
    """
    limit = array.size if summarize < 0 else min(summarize, array.size)
    left = [_element(x) for x in array.ravel()[:limit]]

    def inner(shape: tuple[int, ...], is_outer: bool) -> str:
        if len(shape) > 1:
            return "".join(f"[{inner(shape[1:], False)}]" for _ in range(shape[0]) if left)
        size = shape[0] if shape else 1
        more = "..." if len(left) < size and not is_outer else ""
        taken, left[:] = left[:size], left[size:]
        return " ".join(taken) + more

    return f"[{inner(array.shape, True)}{'...' if array.size > limit else ''}]"


def _element(x: Any) -> str:
    if isinstance(x, bytes):
        return x.decode(errors="backslashreplace")
    return str(int(x)) if isinstance(x, np.bool_) else array_text(np.asarray(x), -1)


@function("Print")
def print_v1(
    input_: Any,
    data: Sequence[Any],
    message: str | None = None,
    first_n: int | None = None,
    summarize: int | None = None,
    name: str | None = None,
) -> Any:
    """The first tensor; whenever it is computed, the other tensors are printed, but at most `first_n` times.

    Source: `tf.compat.v1.Print`.
    """
    many = None if first_n is None or first_n < 0 else first_n
    printer = Printer([message or "", *[None] * len(data)], "", "\n", None, summarize or 3, many, summary)
    done = _printed(printer, list(data), None)
    with nullcontext() if done is None else done.graph.control_dependencies([done]):
        return ops.identity(input_, name=name)
