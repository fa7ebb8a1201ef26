"""Ways to write operations in other formats: tables of functions, and bodies that are traced."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from dovetail import ops
from dovetail.core.base.hooks import hooks
from dovetail.core.base.scopes import record_on
from dovetail.core.values.spec import TensorSpec
from dovetail.graph.operation import GraphTensor, Operation

When = Callable[[Operation], bool]
Table = dict[str, list[tuple[When, Callable[..., Any]]]]  # op type → functions, and the operations that each is for
Added = TypeVar("Added", bound=Callable[..., Any])


def unique(name: str, names: set[str]) -> str:
    """A name that is not among some names, to which it is added."""
    number, free = 0, name
    while free in names:
        number += 1
        free = f"{name}_{number}"
    names.add(free)
    return free


def always(operation: Operation) -> bool:
    """Whether a function is for an operation: it is for all."""
    return True


def adder(table: Table) -> Callable[..., Callable[[Added], Added]]:
    """Make a decorator, (types, when), that adds functions to a table."""

    def decorator(types: str, when: When = always) -> Callable[[Added], Added]:
        def add(function: Added) -> Added:
            for type in types.split():
                table.setdefault(type, []).append((when, function))
            return function

        return add

    return decorator


def way(table: Table, operation: Operation) -> Any:
    """The first function of a table that is for an operation; None if none is."""
    return next((function for when, function in table.get(operation.type, ()) if when(operation)), None)


def traced(name: str, function: Callable[..., Any], specs: Sequence[TensorSpec]) -> Any:
    """The graph of a function that calls ops on values of some specs."""
    graph = hooks.new_graph(name)
    tensors = [graph.placeholder(spec, "input") for spec in specs]
    with record_on(()), graph.as_default():
        result = function(*tensors)
        listed = result if isinstance(result, (list, tuple)) else [result]
        graph.outputs = [t if type(t) is GraphTensor else graph.constant(ops.convert(t).numpy()) for t in listed]
    return graph
