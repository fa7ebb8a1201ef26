"""Control flow as Python runs it: the rules of every engine that has no control flow of its own.

Subgraphs come in as functions of native arrays that return tuples.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Program = Callable[..., tuple[Any, ...]]


def if_rule(condition: Any, inputs: list[Any], then_branch: Program, else_branch: Program) -> tuple[Any, ...]:
    """Runs one of two branches."""
    return (then_branch if condition else else_branch)(*inputs)


def while_rule(init: list[Any], constants: list[Any], condition: Program, body: Program, limit: int | None) -> tuple[Any, ...]:
    """Runs the body while the condition holds, at most `limit` times."""
    state = tuple(init)
    count = 0
    while (limit is None or count < limit) and condition(*state, *constants)[0]:
        state = body(*state, *constants)
        count += 1
    return state


HOST_CONTROL: dict[str, Callable[..., Any]] = {"If": if_rule, "While": while_rule}
