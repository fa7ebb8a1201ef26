"""`break`, `continue` and `return` in the middle of a function, as flags that its statements ask.

for x in xs:              stop = False
    if x > limit:         for x in xs:          # as long as not stop
        break                 if x > limit:
    total += x                    stop = True
                              if not stop:
                                  total += x
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from dovetail.compat.autograph.bindings import GOES_ON, blocks
from dovetail.compat.source.trees import at, own

LOOPS = (ast.For, ast.While)
SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
RETURNED = "retval_"  # the variable of a function's result


def lowered(body: list[ast.stmt], fresh: Callable[[str], str]) -> tuple[list[ast.stmt], str | None]:
    """The body of a function without `break` and `continue`, and with no `return` but one at its end.

    Args:
        body: the statements, which are changed.
        fresh: (beginning) → a name that the function does not have.

    Returns:
        The body, and the name of the variable with the result; None if a `return` at the end gives it.
    """
    for node in [part for part in own(body) if isinstance(part, LOOPS)][::-1]:  # inner loops come first
        _lower_loop(node, fresh)
    body = _with_flags(body)
    *before, last = body
    if not any(isinstance(part, ast.Return) for part in own(before if isinstance(last, ast.Return) else body)):
        return body, None
    flag, result = fresh("do_return"), fresh(RETURNED)
    body, _ = _flagged(body, _Return(flag, result))
    return [_set(flag, False, body[0]), *body], result


def _lower_loop(node: ast.For | ast.While, fresh: Callable[[str], str]) -> None:
    """Change the `break`s and `continue`s of one loop; the attribute `flag` has what is set before it."""
    ends, skips = _Exit(ast.Break, fresh("break_")), _Exit(ast.Continue, fresh("continue_"))
    node.body, can_break = _flagged(_with_flags(node.body), ends)
    node.body, can_skip = _flagged(node.body, skips)
    if can_skip:
        node.body.insert(0, _set(skips.flag, False, node))
    if can_break:
        node.flag = _set(ends.flag, False, node)  # type: ignore[union-attr]
        _go_on(node, ends.flag)


def _with_flags(statements: list[ast.stmt]) -> list[ast.stmt]:
    """The statements, with the flag of each loop before it."""
    result: list[ast.stmt] = []
    for node in statements:
        if not isinstance(node, SCOPES):
            for owner, name in blocks(node):
                setattr(owner, name, _with_flags(getattr(owner, name)))
        flag = vars(node).pop("flag", None)
        result += [node] if flag is None else [flag, node]
    return result


class _Exit:
    """One kind of statement that leaves a block.

    Args:
        kind: its class.
        flag: the name of the variable that says that it did.
    """

    is_return = False

    def __init__(self, kind: Any, flag: str) -> None:
        self.kind, self.flag = kind, flag

    def statements(self, node: Any) -> list[ast.stmt]:
        """The statements in its place."""
        return [_set(self.flag, True, node)]


class _Return(_Exit):
    is_return = True

    def __init__(self, flag: str, result: str) -> None:
        super().__init__(ast.Return, flag)
        self._result = result

    def statements(self, node: Any) -> list[ast.stmt]:
        value = node.value or ast.Constant(None)
        return [*super().statements(node), at(node, ast.Assign([ast.Name(self._result, ast.Store())], value))]


def _flagged(statements: list[ast.stmt], leaves: _Exit) -> tuple[list[ast.stmt], bool]:
    """The statements with the flag in place of each exit, and whether there is one."""
    result: list[ast.stmt] = []
    for number, node in enumerate(statements):
        rest = statements[number + 1 :]
        if isinstance(node, leaves.kind):
            return [*result, *leaves.statements(node)], True
        if leaves.is_return and isinstance(node, ast.If):
            rest = _moved(node, rest)
        result.append(node)
        if _flag_inside(node, leaves):
            if leaves.is_return and isinstance(node, LOOPS):
                _go_on(node, leaves.flag)
            guarded, _ = _flagged(rest, leaves)
            return [*result, *([_unless(leaves.flag, guarded)] if guarded else [])], True
    return result, False


def _flag_inside(node: ast.stmt, leaves: _Exit) -> bool:
    """Change the blocks of a statement; return whether it has an exit."""
    is_found = False
    if not isinstance(node, SCOPES) and (leaves.is_return or not isinstance(node, LOOPS)):
        for owner, name in blocks(node):
            block, has_exit = _flagged(getattr(owner, name), leaves)
            setattr(owner, name, block)
            is_found |= has_exit
    return is_found


def _moved(node: ast.If, rest: list[ast.stmt]) -> list[ast.stmt]:
    """Move what follows an `if` that returns in one branch into the other branch; return what still follows it."""
    first, second = _returns(node.body), _returns(node.orelse)
    if first and not second:
        node.orelse = [*node.orelse, *rest]
    elif second and not first:
        node.body = [*node.body, *rest]
    return [] if first or second else rest


def _returns(statements: list[ast.stmt]) -> bool:
    """Whether a block returns in any case."""
    return any(
        isinstance(node, ast.Return)
        or (isinstance(node, ast.If) and _returns(node.body) and _returns(node.orelse))
        or (isinstance(node, ast.With) and _returns(node.body))
        for node in statements
    )


def _go_on(node: ast.For | ast.While, flag: str) -> None:
    """Let a loop end once a flag is set."""
    more = _not(flag, node)
    if isinstance(node, ast.While):
        node.test = at(node, ast.BoolOp(ast.And(), [more, node.test]))
    else:
        known = getattr(node, GOES_ON, None)
        setattr(node, GOES_ON, more if known is None else at(node, ast.BoolOp(ast.And(), [more, known])))


def _not(flag: str, place: ast.AST) -> Any:
    return at(place, ast.UnaryOp(ast.Not(), ast.Name(flag, ast.Load())))


def _unless(flag: str, statements: list[ast.stmt]) -> Any:
    return at(statements[0], ast.If(_not(flag, statements[0]), statements, []))


def _set(flag: str, value: bool, place: ast.AST) -> Any:
    return at(place, ast.Assign([ast.Name(flag, ast.Store())], ast.Constant(value)))
