"""Strings in graphs: placeholders, results of runs, and the calls that move or compare strings.

Strings stay on the host.  A graph computes with a number for each string; equal strings have one number, and 0 is the
empty string.  The number of a string that a run makes is free again after the run.  Numbers of constants, and of values
of variables, stay.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from operator import attrgetter
from typing import Any

import numpy as np

from dovetail import ops
from dovetail.compat.tensorflow import graph_mode
from dovetail.compat.tensorflow.names.strings.text import STRING, Strings, Text, is_text, strings_of, text
from dovetail.core.base.errors import op_error
from dovetail.core.base.scopes import Scoped, not_building
from dovetail.core.base.table import OPS
from dovetail.core.dtypes import as_dtype
from dovetail.core.op import Op
from dovetail.core.values.structure import flatten, leaf, unflatten
from dovetail.core.values.value_kinds import ValueKind, is_recorded, is_tensor, register
from dovetail.formats.host.numbers import Numbers
from dovetail.sessions import session as sessions
from dovetail.trace import trace

COMPARING = {"Equal", "NotEqual"}
COUNTING = {"Shape", "ZerosLike", "OnesLike"}  # ops that ask for the shape alone
MOVING = {
    *("BroadcastTo", "ConcatV2", "ExpandDims", "GatherNd", "GatherV2", "Identity", "Pack", "Reshape", "ReverseV2"),
    *("Roll", "SelectV2", "SplitV", "Squeeze", "StridedSlice", "Tile", "Transpose", "Unpack"),
}

NUMBER = as_dtype("int64")

# -- numbers of strings -----------------------------------------------------------------------------------------------

_run: Scoped[set[int] | None] = Scoped(None)  # the numbers that the run of this thread has used


class _NumbersOfRuns(Numbers):
    """The numbers of the strings that graphs compute with."""

    def __init__(self) -> None:
        super().__init__()
        self._lock, self._kept = threading.Lock(), {0}
        self._runs: Counter[int] = Counter()  # how many runs use a number

    def of(self, values: np.ndarray, keep: bool = False) -> np.ndarray:
        """The numbers of an array of strings, until the run ends, or for ever."""
        run = None if keep else _run.get()
        with self._lock:
            numbers = super().of(values)
            used = {*numbers.reshape(-1).tolist()}
            if run is None:
                self._kept |= used
            else:
                self._runs.update(used - run)
                run |= used
        return numbers

    def end(self, run: set[int]) -> None:
        """Free the numbers that only this run has used."""
        with self._lock:
            self._runs.subtract(run)
            for number in run:
                if self._runs[number] <= 0:
                    del self._runs[number]
                    if number not in self._kept:
                        del self._numbers[self._values.pop(number)]


NUMBERS = _NumbersOfRuns()


@contextmanager
def strings_of_a_run() -> Iterator[None]:
    """A run of a session, after which the numbers of its strings are free."""
    used: set[int] = set()
    try:
        with _run.scope(used):
            yield
    finally:
        NUMBERS.end(used)


# -- tensors ----------------------------------------------------------------------------------------------------------


@leaf
class StringTensor(Strings):
    """A tensor of strings whose values runs make; sessions return them as bytes.

    Args:
        numbers: the tensor of their numbers, or the variable that holds it.

    Source: the tensors of `tf.string` in graphs.
    """

    def __init__(self, numbers: Any) -> None:
        self.numbers, self.tensors = numbers, [numbers]
        numbers.face = self

    graph, op, name, shape = (property(attrgetter(f"numbers.{one}")) for one in ("graph", "op", "name", "shape"))

    def get_shape(self) -> Any:
        """The shape, with its dimensions."""
        return self.numbers.get_shape()

    def set_shape(self, shape: Any) -> None:
        """Say more about its shape."""
        self.numbers.set_shape(shape)

    def consumers(self) -> Any:
        """The operations that take it."""
        return self.numbers.consumers()

    def written(self, arrays: Any) -> Any:
        """The result in a session: bytes, or an array of them."""
        strings = NUMBERS.values(arrays[0])
        return strings if strings.ndim else strings.item()

    def eval(self, feed_dict: Any = None, session: Any = None) -> Any:
        """The result in a session."""
        return sessions.run(self, feed_dict, self.graph, session)

    def __getitem__(self, index: Any) -> StringTensor:
        return StringTensor(self.numbers[index])

    def __add__(self, other: Any) -> StringTensor:
        return called(np.add, [self, other], [STRING], name="add")[0]

    def __radd__(self, other: Any) -> StringTensor:
        return called(np.add, [other, self], [STRING], name="add")[0]

    def __repr__(self) -> str:
        return f'Tensor("{self.name}", shape={self.shape}, dtype=string)'


class StringVariable(StringTensor):
    """A variable of strings in a graph; collections have the variable of their numbers.

    Source: `tf.compat.v1.Variable`.
    """

    def __getattr__(self, name: str) -> Any:
        return getattr(self.numbers, name)

    def assign(self, value: Any, *args: Any, **options: Any) -> StringTensor:
        """Assign it, whenever the result is run."""
        kept = called(lambda strings: NUMBERS.of(strings, keep=True), [value], [NUMBER], [numbers_of(value).shape])[0]
        return StringTensor(self.numbers.assign(kept, *args, **options))

    def value(self) -> StringTensor:
        """The value, as a tensor."""
        return StringTensor(self.numbers.value())

    read_value = initialized_value = value


def numbers_of(value: Any) -> Any:
    """The numbers of strings: a tensor of a graph's, and an array of known strings."""
    return value.numbers if isinstance(value, StringTensor) else NUMBERS.of(strings_of(value), keep=True)


def in_graph(value: Any, name: str = "Const") -> StringTensor:
    """Strings as a tensor of the graph that is being built."""
    if isinstance(value, StringTensor):
        return value
    return StringTensor(_graph().constant(numbers_of(value), name))


def as_numbers(value: Any) -> tuple[Any, set[int]]:
    """A structure with numbers in place of strings, and the places of these among its leaves."""
    leaves, structure = flatten(value)
    places = {place for place, x in enumerate(leaves) if is_text(x)}
    if not places:
        return value, places
    recorded = trace.current_graph() is not None or graph_mode.graph() is not None or any(map(is_recorded, leaves))
    numbers = [numbers_in(x, recorded) if place in places else x for place, x in enumerate(leaves)]
    return unflatten(structure, numbers), places


def numbers_in(value: Any, recorded: bool) -> Any:
    """The numbers of strings as a tensor, of the graph that is being built if `recorded`."""
    return in_graph(value).numbers if recorded or isinstance(value, StringTensor) else ops.convert(numbers_of(value))


def with_strings(value: Any, places: set[int]) -> Any:
    """A structure with strings in place of their numbers, which are at some places among its leaves."""
    if not places:
        return value
    leaves, structure = flatten(value)
    return unflatten(structure, [_of_numbers(x) if place in places else x for place, x in enumerate(leaves)])


def _of_numbers(numbers: Any) -> Strings:
    return StringTensor(numbers) if is_recorded(numbers) else Text(NUMBERS.values(numbers.numpy()))


def joined(value: Any) -> Any:
    """A list of tensors of strings, or of such lists, stacked; any other value as it is."""
    return ops.stack([text(joined(part)) for part in value]) if _has_tensors(value) else value


def _has_tensors(value: Any) -> bool:
    """Whether a value is a list with a tensor of strings, also in lists inside of it."""
    is_list = isinstance(value, (list, tuple))
    return is_list and any(isinstance(part, Strings) or _has_tensors(part) for part in value)


def _graph() -> Any:
    """The graph that is traced, or the session graph that is being built, which is opened if need be."""
    return trace.current_graph() or graph_mode.open_graph()


# -- calls of Python --------------------------------------------------------------------------------------------------


def called(
    function: Callable[..., Any],
    inputs: Sequence[Any],
    dtypes: Sequence[Any],
    shapes: Sequence[Any] = (),
    name: str | None = None,
    op: str = "PyFunc",
) -> list[Any]:
    """The results of a function of arrays, in the graph that is being built; arrays of strings have bytes.

    Args:
        function: returns an array for each result, or a list of them.
        inputs: tensors, arrays, strings.
        dtypes: the dtypes of the results; `STRING` for strings.
        shapes: the shapes of the results, if they are known.
        op: the type of the operation: "PyFunc", or "PyFuncStateless" if calls may be left out.
    """
    inputs = [joined(x) for x in inputs]
    texts = [is_text(x) for x in inputs]
    with graph_mode.inside(_graph()):
        given = tuple(
            in_graph(x).numbers if text else x if is_tensor(x) else ops.convert(x)
            for x, text in zip(inputs, texts, strict=True)
        )
        made = tuple(NUMBER if dtype is STRING else as_dtype(dtype) for dtype in dtypes)
        gives = [dtype is STRING for dtype in dtypes]
        whole = _OnStrings(function, texts, gives) if any((*texts, *gives)) else function
        results = trace.record(OPS[op], [given, whole, made, tuple(shapes)], name)
    return [StringTensor(x) if dtype is STRING else x for x, dtype in zip(results, dtypes, strict=True)]


def computed(
    function: Callable[..., Any],
    inputs: Sequence[Any],
    dtypes: Sequence[Any],
    shapes: Sequence[Any] = (),
    name: str | None = None,
) -> list[Any]:
    """The results of a function of arrays without effects, at once or in the graph that is built; see `called`."""
    if graph_mode.graph() is not None or any(map(is_of_run, inputs)):
        return called(function, inputs, dtypes, shapes, name, "PyFuncStateless")
    returned = function(*(strings_of(x) if is_text(x) else np.asarray(x) for x in inputs))
    results = returned if isinstance(returned, (list, tuple)) else [returned]
    return [Text(strings_of(x)) if d is STRING else ops.convert(x, d) for x, d in zip(results, dtypes, strict=True)]


class _OnStrings:
    """A function of arrays, as one of numbers in place of strings.

    Args:
        function: the function.
        takes, gives: whether each argument, and each result, is of strings.
    """

    def __init__(self, function: Callable[..., Any], takes: Sequence[bool], gives: Sequence[bool]) -> None:
        self._takes, self._gives = takes, gives
        self.__name__ = getattr(function, "__name__", "function")
        self.once = getattr(function, "once", "")
        self.function = function

    def __call__(self, *arrays: np.ndarray) -> Any:
        given = [NUMBERS.values(x) if text else x for x, text in zip(arrays, self._takes, strict=True)]
        with not_building():
            returned = self.function(*given)
        results = returned if isinstance(returned, (list, tuple)) else [returned]
        if len(results) != len(self._gives):
            return returned
        return [NUMBERS.of(strings_of(x)) if text else x for x, text in zip(results, self._gives, strict=True)]


# -- calls of ops -----------------------------------------------------------------------------------------------------


class _OfText(ValueKind):
    """Calls with strings: ops that move them, compare them or ask for their shape."""

    rank = 9

    def apply(self, op: Op, values: list[Any], name: str | None) -> Any:
        if op.name not in MOVING | COMPARING | COUNTING:
            raise op_error(TypeError, op.name, "it takes no strings: compute them by tf.py_func, or in Python.")
        gives_strings = op.name in MOVING or (op.name == "ZerosLike" and values[-1] is None)
        if any(map(is_of_run, _tensors(op, values))):
            results = op(*_with_numbers(op, values, lambda text: in_graph(text).numbers), name=name)
            return _each(StringTensor, results) if gives_strings else results
        numbers = Numbers()
        given = _with_numbers(op, values, lambda text: numbers.of(strings_of(text)))
        if not gives_strings:
            return op(*given, name=name)
        with not_building():
            results = op(*given)
        return _each(lambda part: Text(numbers.values(part.numpy()), op.name, name), results)

    def in_graph(self, value: Any, graph: Any) -> Any:
        return numbers_of(value)

    def dtype(self, value: Any) -> Any:
        raise TypeError(f"{value!r} is of strings; a tensor of an engine is made of numbers, not of text.")


def is_of_run(value: Any) -> bool:
    """Whether only a run knows a value."""
    if isinstance(value, (list, tuple)):
        return any(map(is_of_run, value))
    return isinstance(value, StringTensor) or is_recorded(value)


def _mapped(op: Op, values: list[Any], function: Callable[[Any], Any]) -> list[Any]:
    """The arguments of a call with a function's results in place of the ones that may be tensors."""
    replaced = list(values)
    for place, many in op.tensor_places:
        replaced[place] = tuple(map(function, values[place])) if many else function(values[place])
    return replaced


def _tensors(op: Op, values: list[Any]) -> list[Any]:
    tensors: list[Any] = []
    _mapped(op, values, tensors.append)
    return tensors


def _with_numbers(op: Op, values: list[Any], numbers: Callable[[Any], Any]) -> list[Any]:
    """The arguments of a call with numbers in place of strings."""
    return _mapped(op, values, lambda value: numbers(value) if is_text(value) else value)


def _each(function: Callable[[Any], Any], results: Any) -> Any:
    """A function's result for a result of a call, or for each of them."""
    return [*map(function, results)] if isinstance(results, (list, tuple)) else function(results)


_OF_TEXT = _OfText()
register(Text, _OF_TEXT)
register(StringTensor, _OF_TEXT)
register(StringVariable, _OF_TEXT)
