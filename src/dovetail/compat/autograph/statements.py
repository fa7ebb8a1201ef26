"""Branches of converted functions, and the variables that statements change."""

from __future__ import annotations

import re
from ast import literal_eval
from collections.abc import Callable, Sequence
from types import CellType
from typing import Any

from dovetail import ops
from dovetail.compat.tensorflow.names.array.structures import nest_flatten
from dovetail.compat.tensorflow.names.array.tensor_array import TensorArray
from dovetail.compat.tensorflow.names.graph.control import cond
from dovetail.compat.tensorflow.names.strings.text import STRING, is_text, text
from dovetail.core.base.errors import op_error
from dovetail.core.base.tensor_shape import shape_of
from dovetail.core.dtypes import as_dtype
from dovetail.core.values.structure import flatten
from dovetail.core.values.value_kinds import dtype_of, is_recorded, is_tensor, static_shape
from dovetail.trace import trace


class _Undefined:
    """The value of a variable that has none."""

    def __repr__(self) -> str:
        return "undefined"


UNDEFINED = _Undefined()
RETURN = "return:"  # the beginning of the name of the variable with a function's result
NUMBERS = bool, int, float
_STEP = re.compile(r"\.(\w+)|\[(.+?)\]")  # an attribute, or an item


def is_in_graph(x: Any) -> bool:
    """Whether a value is a tensor, while a graph is built."""
    return is_recorded(x) or (trace.current_graph() is not None and is_tensor(x))


def is_data_set(x: Any) -> bool:
    """Whether a value is a data set, whose modules few programs need."""
    return hasattr(type(x), "in_graph") and hasattr(x, "_elements")


def is_iterator(x: Any) -> bool:
    """Whether a value is an iterator over a data set, while a graph is built."""
    return hasattr(type(x), "is_there") and trace.current_graph() is not None


def recorded(x: Any) -> Any:
    """A tensor as one of the graph that is built."""
    graph = trace.current_graph()
    return x if graph is None or is_recorded(x) else graph.constant(ops.convert(x).numpy())


def condition_of(x: Any, what: str) -> Any:
    """A condition as a scalar of the graph.

    Raises:
        ValueError: it is no scalar of bools.
    """
    shape, dtype = static_shape(x), dtype_of(x)
    hint = "to check for None, use `is not None`"
    if dtype != "bool":
        cast = "to use as boolean Tensor, use `tf.cast`"
        raise error(ValueError, what, f"condition of {what} expected to be `tf.bool` scalar, got {x!r}; {cast}; {hint}")
    if shape is not None and any(size not in (None, 1) for size in shape):
        raise error(ValueError, what, f"condition of {what} expected to be `tf.bool` scalar, got {x!r}; {hint}")
    return recorded(x if shape == () else ops.reshape(x, ()))


class Words:
    """The words of the errors that blocks raise, which stay though the op around them would add to them."""

    def __init__(self) -> None:
        self._said: dict[int, tuple[Any, ...]] = {}

    def of(self, block: Callable[..., Any]) -> Callable[..., Any]:
        """Wrap a block."""

        def run(*args: Any) -> Any:
            try:
                return block(*args)
            except Exception as problem:
                self._said[id(problem)] = problem.args, getattr(problem, "dovetail", None)
                raise

        return run

    def __enter__(self) -> Words:
        return self

    def __exit__(self, kind: Any, problem: Any, traceback: Any) -> None:
        if id(problem) in self._said:
            problem.args, problem.dovetail = self._said[id(problem)]


def error(kind: type[Exception], what: str, problem: str) -> Exception:
    """An error with TensorFlow's words, and the line of the program."""
    return op_error(kind, what, problem)


class State:
    """The variables that a statement changes; they live in the function around it.

    Args:
        names: their names, and paths of attributes and items as "self.count".
        functions: the functions of its blocks, which share them.
    """

    def __init__(self, names: Sequence[str], *functions: Any) -> None:
        self._keys = [name.removeprefix(RETURN) for name in names]
        self.names = tuple("retval_" if name.startswith(RETURN) else name for name in names)
        self.is_result = [name.startswith(RETURN) for name in names]
        self._cells: dict[str, CellType] = {}
        for function in functions:
            self._cells |= zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
        self._globals = functions[0].__globals__

    def get(self) -> list[Any]:
        """The values now; `UNDEFINED` for those that have none."""
        return [self._read(key) for key in self._keys]

    def set(self, values: Sequence[Any]) -> None:
        """Give the variables values."""
        for key, value in zip(self._keys, values, strict=True):
            self._write(key, value)

    def _read(self, key: str) -> Any:
        name, steps = _parts(key)
        try:
            value = self._cells[name].cell_contents if name in self._cells else self._globals[name]
            for attribute, item in steps:
                value = getattr(value, attribute) if attribute else value[self._place(item)]
        except (ValueError, AttributeError, LookupError, TypeError):
            return UNDEFINED
        return value

    def _place(self, item: str) -> Any:
        """The place of an item: a variable's value, or a constant."""
        return self._read(item) if item.isidentifier() else literal_eval(item)

    def _write(self, key: str, value: Any) -> None:
        name, steps = _parts(key)
        if not steps and name in self._cells:
            if value is not UNDEFINED:
                self._cells[name].cell_contents = value
            elif self._read(name) is not UNDEFINED:
                del self._cells[name].cell_contents
        elif self._read(key) is not value:
            attribute, item = steps[-1] if steps else ("", repr(name))
            owner = self._read(_without_last(key)) if steps else self._globals
            if attribute:
                delattr(owner, attribute) if value is UNDEFINED else setattr(owner, attribute, value)
            elif value is UNDEFINED:
                del owner[self._place(item)]
            else:
                owner[self._place(item)] = value


def _parts(key: str) -> tuple[str, list[tuple[str, str]]]:
    """The name and the steps of a path: attributes, or the text of items."""
    name = re.match(r"\w+", key)[0]  # type: ignore[index]  # each has a name
    return name, _STEP.findall(key, len(name))


def _without_last(key: str) -> str:
    """The path of the object whose attribute or item a path is."""
    *_, last = _STEP.finditer(key)
    return key[: last.start()]


def returned(result: Callable[[], Any]) -> Any:
    """The result of a function; None if it returned without one."""
    try:
        return result()
    except NameError:
        return None


# -- branches ---------------------------------------------------------------------------------------------------------

IF = "if statement"


def if_(
    condition: Any, body: Callable[[], None], orelse: Callable[[], None], names: Sequence[str], results: int
) -> None:
    """Do one of two blocks; if only a run knows which, both are recorded.

    Args:
        condition: a value, or a tensor.
        body, orelse: the blocks.
        names: the variables that they bind.
        results: how many of these are needed afterwards; these come first.

    Raises:
        TypeError, ValueError: a variable has no value in one branch, or two structures or dtypes.
    """
    if not is_in_graph(condition):
        body() if condition else orelse()
        return
    condition = condition_of(condition, IF)
    state = State(names, body, orelse)
    before = state.get()
    branches: dict[str, list[Any]] = {}

    def branch(name: str, block: Callable[[], None]) -> Callable[[], Any]:
        def run() -> list[Any]:
            state.set(before)
            block()
            values = [_with_texts(value) for value in state.get()[:results]]
            _check_defined(values, state, name)
            branches[name] = values
            if len(branches) == 2:
                for row in zip(state.names, branches["main"], branches["else"], strict=False):
                    _check_alike(*row)
            return values or [0]

        return run

    with Words() as words:
        after = cond(condition, words.of(branch("main", body)), words.of(branch("else", orelse)))
    state.set([*after[:results], *before[results:]])


def _with_texts(value: Any) -> Any:
    """A value; a string of Python as one of a graph."""
    return text(value) if isinstance(value, (str, bytes)) else value


def _check_defined(values: Sequence[Any], state: State, branch: str) -> None:
    for name, value, is_result in zip(state.names, values, state.is_result, strict=False):
        if value is UNDEFINED and is_result:
            raise error(ValueError, IF, f"the {branch} branch must also have a return statement.")
        if value is UNDEFINED:
            raise error(ValueError, IF, f"'{name}' must also be initialized in the {branch} branch")


def _check_alike(name: str, first: Any, second: Any) -> None:
    """Refuse values of two branches of which no branch can be made."""
    for value, branch in ((first, "main"), (second, "else")):
        if value is None:
            raise error(ValueError, IF, f"'{name}' is None at the end of the {branch} branch.")
    (ones, form), (others, other_form) = flatten(first), flatten(second)
    if form != other_form:
        problem = f"'{name}' must have the same nested structure in the main and else branches: {first!r}, {second!r}"
        raise error(TypeError, IF, problem)
    for one, other in zip(ones, others, strict=True):
        dtypes = [kind_of_value(value) for value in (one, other)]
        if None not in dtypes and dtypes[0] != dtypes[1]:
            problem = f"'{name}' has dtype {dtypes[0]} in the main branch, but dtype {dtypes[1]} in the else branch"
            raise error(TypeError, IF, problem)


def kind_of_value(x: Any) -> Any:
    """The dtype of a tensor, array or number; None if it has none here."""
    if is_text(x):
        return STRING
    if isinstance(x, NUMBERS):
        x = ops.convert(x)
    return (
        as_dtype(dtype_of(x)) if not isinstance(x, TensorArray) and (is_tensor(x) or hasattr(x, "__array__")) else None
    )


def shape_of_value(x: Any) -> Any:
    """The shape of a tensor, array or number."""
    return shape_of(() if isinstance(x, NUMBERS) else static_shape(x))


def leaves_of(x: Any) -> list[Any]:
    """The tensors, arrays and numbers in a structure."""
    return nest_flatten(x)
