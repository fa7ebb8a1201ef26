"""The names that parts of a function bind and read, and the ones whose values are still needed."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import Any, TypeAlias

from dovetail.compat.source.scopes import COMPREHENSIONS, FUNCTIONS

Names: TypeAlias = "frozenset[str]"
NONE: Names = frozenset()
GOES_ON = "goes_on"  # the attribute of a `for` loop with the expression that says whether it goes on


def stored(nodes: Iterable[ast.AST]) -> Names:
    """The names that parts of a function bind or delete in its own scope."""
    return frozenset(name for node in nodes for name in _stored(node))


def _stored(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.FunctionDef(name) | ast.AsyncFunctionDef(name) | ast.ClassDef(name):
            yield name
            return
        case ast.Lambda():
            return
        case ast.Name(name, ast.Store() | ast.Del()):
            yield name
        case ast.alias(name, asname):
            yield asname or name.partition(".")[0]
        case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
            yield name
        case ast.MatchMapping(rest=str(name)):
            yield name
    if not isinstance(node, COMPREHENSIONS):
        for part in ast.iter_child_nodes(node):
            yield from _stored(part)


def loaded(nodes: Iterable[ast.AST | None]) -> Names:
    """The names of a function that parts of it read, also in functions inside."""
    return frozenset(name for node in nodes if node is not None for name in _loaded(node))


def _loaded(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
        yield node.id
    if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
        yield node.target.id
    inside = {name for part in ast.iter_child_nodes(node) for name in _loaded(part)}
    if isinstance(node, FUNCTIONS):
        inside -= parameters(node.args) | stored(node.body if isinstance(node.body, list) else [])
    elif isinstance(node, COMPREHENSIONS):
        inside -= stored([part.target for part in node.generators])
    yield from inside


def parameters(arguments: ast.arguments) -> Names:
    """The names of a function's parameters."""
    return frozenset(part.arg for part in ast.walk(arguments) if isinstance(part, ast.arg))


def blocks(node: ast.AST) -> Iterator[tuple[Any, str]]:
    """The places of the blocks of a statement: the node, and the name of its list of statements."""
    for name in ("body", "orelse", "finalbody"):
        if isinstance(getattr(node, name, None), list):
            yield node, name
    for part in (*getattr(node, "handlers", ()), *getattr(node, "cases", ())):
        yield part, "body"


def live_before(statements: Iterable[ast.stmt], after: Names) -> Names:
    """The names whose values a block needs, if some are needed after it.

    The block has no `break` and `continue`, and at most one `return`, at its end.
    """
    for statement in reversed([*statements]):
        after = _live(statement, after)
    return after


def _live(node: ast.stmt, after: Names) -> Names:
    match node:
        case ast.If():
            return loaded([node.test]) | live_before(node.body, after) | live_before(node.orelse, after)
        case ast.While() | ast.For():
            return live_in_loop(node, after) | loaded([getattr(node, "iter", None)])
        case ast.With():
            bound = stored(item.optional_vars for item in node.items if item.optional_vars)
            return loaded(node.items) | (live_before(node.body, after) - bound)
        case ast.Try():
            last = live_before(node.finalbody, after)
            handled = last.union(*(live_before(handler.body, last) for handler in node.handlers))
            needed = handled | loaded(handler.type for handler in node.handlers)
            return needed | live_before(node.body, live_before(node.orelse, last) | needed)
        case ast.Match():
            parts = [live_before(case.body, after) | loaded([case.guard, case.pattern]) for case in node.cases]
            return loaded([node.subject]) | after.union(*parts)
        case ast.Return():
            return loaded([node.value])
    return (after - stored([node])) | loaded([node])


def live_in_loop(node: ast.While | ast.For, after: Names) -> Names:
    """The names whose values are needed where a loop decides whether it goes on."""
    bound = stored([node.target]) if isinstance(node, ast.For) else NONE
    needed = after | loaded([getattr(node, "test", None), getattr(node, GOES_ON, None)])
    while (wider := needed | (live_before(node.body, needed) - bound)) != needed:
        needed = wider
    return needed
