"""Expressions of converted functions: `and`, `or`, `not`, the conditional expression, and assertions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dovetail import ops
from dovetail.compat.autograph.statements import condition_of, error, is_in_graph, kind_of_value
from dovetail.compat.tensorflow.names.debugging import assert_ as assert_in_graph
from dovetail.compat.tensorflow.names.graph.control import cond

CHOICE = "conditional expression"


def and_(value: Any, *others: Callable[[], Any]) -> Any:
    """The first value that is false, or the last one."""
    return _first(value, others, stops=False)


def or_(value: Any, *others: Callable[[], Any]) -> Any:
    """The first value that is true, or the last one."""
    return _first(value, others, stops=True)


def _first(value: Any, others: tuple[Callable[[], Any], ...], stops: bool) -> Any:
    """The first value whose truth is `stops`, or the last one; further ones are not computed."""
    if not others:
        return value
    if is_in_graph(value):
        condition = condition_of(value, "boolean operator")
        branches = (lambda: condition), (lambda: _first(others[0](), others[1:], stops))
        return cond(condition, *(branches if stops else branches[::-1]))
    return value if bool(value) is stops else _first(others[0](), others[1:], stops)


def compared(left: Any, compares: tuple[Callable[[Any, Any], Any], ...], others: tuple[Callable[[], Any], ...]) -> Any:
    """Whether each comparison of a chain holds, as `a < b < c`; a value is computed once, and only if it is needed."""
    right = others[0]()
    holds = compares[0](left, right)
    return holds if len(others) == 1 else and_(holds, lambda: compared(right, compares[1:], others[1:]))


def not_(value: Any) -> Any:
    """Whether a value is false."""
    return ops.logical_not(value) if is_in_graph(value) else not value


def chosen(condition: Any, first: Callable[[], Any], second: Callable[[], Any], text: str) -> Any:
    """One of two values; only this one is computed.

    Args:
        text: the expression, for errors.

    Raises:
        TypeError: the values have two dtypes.
        ValueError: a value is None.
    """
    if not is_in_graph(condition):
        return first() if condition else second()
    branches: dict[str, Any] = {}

    def branch(name: str, value: Callable[[], Any]) -> Callable[[], Any]:
        def run() -> Any:
            branches[name] = result = value()
            if result is None:
                raise error(ValueError, CHOICE, f"'{text}' is None at the end of the {name} branch.")
            kinds = [kind_of_value(each) for each in (branches.get("main"), branches.get("else"))]
            if len(branches) == 2 and None not in kinds and kinds[0] != kinds[1]:
                problem = f"'{text}' has dtype {kinds[0]} in the main branch, but dtype {kinds[1]} in the else branch"
                raise error(TypeError, CHOICE, problem)
            return result

        return run

    return cond(condition_of(condition, CHOICE), branch("main", first), branch("else", second))


def stored(whole: Any, place: Any, value: Any) -> Any:
    """A list after `whole[place] = value`; a tensor of a graph with another slice there."""
    if is_in_graph(whole):
        return ops.tensor_scatter_update(whole, [[place]], ops.stack([ops.cast(ops.convert(value), whole.dtype)]))
    whole[place] = value
    return whole


def assert_(condition: Any, message: Callable[[], Any]) -> None:
    """Check a condition: when the graph runs if it is a tensor, else at once."""
    if is_in_graph(condition):
        assert_in_graph(condition, [message()])
    else:
        assert condition, message()
