"""Loops of converted functions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from dovetail import ops
from dovetail.compat.autograph.statements import (
    NUMBERS,
    UNDEFINED,
    State,
    Words,
    condition_of,
    error,
    is_data_set,
    is_in_graph,
    is_iterator,
    kind_of_value,
    leaves_of,
    recorded,
    shape_of_value,
)
from dovetail.compat.tensorflow.names.array.structures import nest_flatten, pack_sequence_as
from dovetail.compat.tensorflow.names.array.tensor_array import TensorArray
from dovetail.compat.tensorflow.names.debugging import assert_ as assert_in_graph
from dovetail.compat.tensorflow.names.graph.control import while_loop
from dovetail.core.base.hooks import hooks
from dovetail.core.base.scopes import record_on, scopes
from dovetail.core.base.tensor_shape import shape_of
from dovetail.core.values.spec import TensorSpec
from dovetail.core.values.structure import flatten
from dovetail.core.values.value_kinds import is_tensor, static_shape
from dovetail.trace import trace

LOOP, FOR = "while loop", "for loop"
LATER = "started as non-Tensor, then changed to Tensor. Make it a tensor before the loop"


def while_(test: Callable[[], Any], body: Callable[[], None], names: Sequence[str], options: Any) -> None:
    """Do a block as long as a condition holds; a condition that only a run knows makes a loop of the graph.

    Args:
        test: says whether the condition holds.
        body: the block.
        names: the variables that change from one turn to the next.
        options: gives the keywords of `tf.autograph.experimental.set_loop_options`; or None.

    Raises:
        NotImplementedError: the condition becomes a tensor in the middle of a loop of Python.
        TypeError, ValueError: a variable has no value before a loop of the graph, or changes its dtype or shape there.
    """
    if trace.current_graph() is None:
        while _is_true(test()):
            body()
        return
    if is_in_graph(_tried(test)):
        _record(test, body, State(names, body), _options(options))
        return
    while _is_true(test()):
        body()


def for_(
    items: Iterable[Any],
    goes_on: Callable[[], Any] | None,
    body: Callable[[Any], None],
    names: Sequence[str],
    options: Any,
) -> None:
    """Do a block for each item; the slices of a tensor, and the elements of a data set, make a loop of the graph.

    Args:
        goes_on: says whether a `break` or `return` has ended the loop; or None.
        body, names, options: as for `while_`; the block takes an item.
    """
    if trace.current_graph() is not None and is_data_set(items):
        from dovetail.compat.autograph.data_loops import Elements  # few programs loop over data in a function

        _for_each(Elements(items), goes_on, body, State(names, body), _options(options))
    elif is_iterator(items):
        _for_each(items, goes_on, body, State(names, body), _options(options))
    elif is_in_graph(items):
        _for_each(_Slices(recorded(items)), goes_on, body, State(names, body), _options(options))
    elif goes_on is None:
        for item in items:
            body(item)
    elif _is_true(goes_on()):
        for item in items:
            body(item)
            if not _is_true(goes_on()):
                break


def _is_true(condition: Any) -> bool:
    if is_in_graph(condition):
        raise error(
            NotImplementedError,
            LOOP,
            f"its condition {LATER}; or a break or return inside the loop depends on a tensor: loop over a tensor, "
            "as tf.range, then.",
        )
    return bool(condition)


def _options(options: Any) -> dict[str, Any]:
    return {} if options is None else options()


def _tried(function: Callable[[], Any]) -> Any:
    """The result of a function that is recorded in a graph which nobody runs."""
    graph = hooks.new_graph("trial", trace.current_graph())
    with record_on(each.eager_only() for each in scopes().tapes), graph.as_default():
        result = function()
    graph.is_traced = True
    return result


class _Slices:
    """The slices of a tensor, which a loop takes one after the other.

    Args:
        whole: the tensor.

    Attributes:
        count: their number, if it is known.
    """

    def __init__(self, whole: Any) -> None:
        shape = static_shape(whole)
        if shape == ():
            raise error(ValueError, FOR, "len requires a non-scalar tensor, got one of shape []")
        self._whole, self.count = whole, None if shape is None else shape[0]
        self._length = ops.shape(whole)[0] if self.count is None else self.count

    def is_there(self, number: Any) -> Any:
        """Whether there is a slice of a number."""
        return number < self._length

    def at(self, number: Any) -> Any:
        """The slice of a number."""
        return self._whole[number]


class _Counted:
    """The variables of a `for` loop, with the number of its turn."""

    def __init__(self, state: State) -> None:
        self._state, self.number = state, recorded(ops.convert(0))
        self.names, self.is_result = ("<internal iterate>", *state.names), [False, *state.is_result]

    def get(self) -> list[Any]:
        return [self.number, *self._state.get()]

    def set(self, values: Sequence[Any]) -> None:
        self.number = values[0]
        self._state.set(values[1:])


def _for_each(
    items: Any, goes_on: Callable[[], Any] | None, body: Callable[[Any], None], state: State, options: Any
) -> None:
    """Record a loop over items that have numbers."""
    counted = _Counted(state)

    def test() -> Any:
        is_there = items.is_there(counted.number)
        return is_there if goes_on is None else ops.logical_and(is_there, goes_on())

    def turn() -> None:
        body(items.at(counted.number))
        counted.number = counted.number + 1

    if items.count is not None:
        options = {"maximum_iterations": items.count} | options
    _record(test, turn, counted, options)


def _record(test: Callable[[], Any], body: Callable[[], None], state: Any, options: dict[str, Any]) -> None:
    """Record a loop."""
    given = state.get()
    invariants = _invariants(options.get("shape_invariants", ()), given)
    has_none = [value is UNDEFINED or value is None for value in given]
    start = _completed(body, state, given, has_none) if any(has_none) else given
    start = [_as_tensors(value) for value in start]

    def keeps_on(_: Any, *values: Any) -> Any:
        state.set(values)
        return condition_of(test(), LOOP)

    def turn(_: Any, *values: Any) -> list[Any]:
        state.set(values)
        body()
        after = state.get()
        for name, entry, last, shape in zip(state.names, values, after, invariants, strict=True):
            _check_kept(name, entry, last, shape)
        return [True, *map(_as_tensors, after)]

    limit, first = options.get("maximum_iterations"), recorded(ops.convert(False))
    with Words() as words:
        did_turn, *last = while_loop(words.of(keeps_on), words.of(turn), [first, *start], maximum_iterations=limit)
    if any(has_none):
        names = ", ".join(
            "the function return value" if is_result else name
            for name, none, is_result in zip(state.names, has_none, state.is_result, strict=True)
            if none
        )
        check = assert_in_graph(did_turn, [f"loop must iterate at least once to initialize {names}"])
        last = [_after(check, value) for value in last]
    state.set(last)


def _after(check: Any, value: Any) -> Any:
    """A value whose tensors wait for a check."""
    with check.graph.control_dependencies([check]):
        leaves = [ops.identity(leaf) if is_tensor(leaf) else leaf for leaf in nest_flatten(value)]
    return pack_sequence_as(value, leaves)


def _as_tensors(value: Any) -> Any:
    """A structure with tensors in place of numbers."""
    leaves = [ops.convert(leaf) if isinstance(leaf, NUMBERS) else leaf for leaf in leaves_of(value)]
    return pack_sequence_as(value, leaves)


def _invariants(given: Any, values: Sequence[Any]) -> list[Any]:
    """The shape that a program says for each variable; None for those of which it says none."""
    shapes = {id(value): shape for value, shape in given}
    return [None if id(value) not in shapes else shape_of(shapes[id(value)]) for value in values]


def _check_kept(name: str, entry: Any, last: Any, invariant: Any) -> None:
    """Refuse a variable that a turn changes in its kind."""
    if last is None:
        raise error(ValueError, LOOP, f"'{name}' is None at the end of the iteration.")
    if last is UNDEFINED:
        raise error(ValueError, LOOP, f"'{name}' has no value at the end of the iteration.")
    (ones, form), (others, other_form) = flatten(entry), flatten(last)
    if form != other_form:
        problem = f"'{name}' does not have the same nested structure after one iteration: {entry!r}, {last!r}"
        raise error(TypeError, LOOP, problem)
    for one, other in zip(ones, others, strict=True):
        dtypes = kind_of_value(one), kind_of_value(other)
        if None in dtypes:
            continue
        if dtypes[0] != dtypes[1]:
            problem = f"'{name}' has dtype {dtypes[0]} before the loop, but dtype {dtypes[1]} after one iteration"
            raise error(TypeError, LOOP, problem)
        shapes = shape_of_value(one), shape_of_value(other)
        if not _says_no_less(shapes[1], shapes[0] if invariant is None else invariant):
            advice = "Use tf.autograph.experimental.set_loop_options to set shape invariants."
            problem = f"'{name}' has shape {shapes[0]} before the loop, but shape {shapes[1]} after one iteration."
            if invariant is not None:
                advice = f"It does not conform with the shape invariant {invariant}."
            raise error(ValueError, LOOP, f"{problem} {advice}")


def _says_no_less(shape: Any, wider: Any) -> bool:
    """Whether all that is known of one shape holds for another."""
    if wider.rank is None:
        return True
    if shape.rank != wider.rank:
        return False
    return all(a == b or b is None for a, b in zip(shape.as_list(), wider.as_list(), strict=True))


# -- variables that have no value before a loop -----------------------------------------------------------------------


def _completed(body: Callable[[], None], state: Any, given: list[Any], has_none: list[bool]) -> list[Any]:
    """The first values of a loop, with zeros for the variables that have none, as a turn would make them."""
    note, after = "", [None] * len(given)

    def one_turn() -> list[Any]:
        graph: Any = trace.current_graph()
        state.set([value if none else _placeholders(graph, value) for value, none in zip(given, has_none, strict=True)])
        body()
        return [_kinds(value) for value in state.get()]

    try:
        after = _tried(one_turn)
    except (NameError, TypeError, ValueError, KeyError) as problem:
        kind = "UnboundLocalError" if isinstance(problem, NameError) else type(problem).__name__
        note = f"\nNote: AutoGraph tried to define it automatically, but ran into a {kind}: {problem}"
    finally:
        state.set(given)
    rows = zip(state.names, given, has_none, after, state.is_result, strict=True)
    return [
        _zeros(name, kind, is_result, value, note) if none else value for name, value, none, kind, is_result in rows
    ]


def _placeholders(graph: Any, value: Any) -> Any:
    leaves = [
        graph.placeholder(TensorSpec((), kind_of_value(leaf))) if isinstance(leaf, NUMBERS) else leaf
        for leaf in leaves_of(value)
    ]
    return pack_sequence_as(value, leaves)


def _kinds(value: Any) -> Any:
    """A structure with specs in place of its tensors; `UNDEFINED` if a part is of another kind."""
    if value is UNDEFINED or value is None:
        return UNDEFINED
    kinds = []
    for leaf in leaves_of(value):
        if isinstance(leaf, TensorArray) or kind_of_value(leaf) is None:
            return UNDEFINED
        kinds.append(
            TensorSpec(
                tuple(shape_of_value(leaf)) if shape_of_value(leaf).rank is not None else None, kind_of_value(leaf)
            )
        )
    return pack_sequence_as(value, kinds)


def _zeros(name: str, kind: Any, is_result: bool, value: Any, note: str) -> Any:
    if kind is None or kind is UNDEFINED:
        if is_result:
            problem = (
                "a return statement cannot be placed inside this TensorFlow loop; this may happen if a return "
                "statement depends on a static Python condition such as a hyperparameter"
            )
            raise error(NotImplementedError, LOOP, problem)
        problem = "is not allowed to be None before the loop" if value is None else "must be defined before the loop"
        raise error(ValueError, LOOP, f"'{name}' {problem}{note}")
    leaves = [ops.zeros([size or 0 for size in spec.shape or ()], spec.dtype) for spec in nest_flatten(kind)]
    return pack_sequence_as(kind, leaves)
