"""A function's syntax tree in which statements and calls ask this package what to do.

    if x > 0:          def ag__body():            # the lines stay the same
        y = x              nonlocal y
    else:                  y = x
        y = -x         def ag__else():
                           nonlocal y
                           y = -x
                       ag__.if_(x > 0, ag__body, ag__else, ("y",), 1)

The functions for the blocks share the variables of the function around them, by `nonlocal`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import Any

from dovetail.compat.autograph.bindings import (
    GOES_ON,
    NONE,
    Names,
    blocks,
    live_before,
    live_in_loop,
    loaded,
    parameters,
)
from dovetail.compat.autograph.bindings import stored as bound
from dovetail.compat.autograph.exits import lowered
from dovetail.compat.autograph.features import Options
from dovetail.compat.source.trees import own

HERE = "ag__"  # the runtime, in the code of a function
BODY, ELSE, ITEM = (f"{HERE}{name}" for name in ("body", "else", "item"))
OPTIONS = "set_loop_options"
AS_THEY_ARE = {"locals", "globals", "eval", "exec", "vars", "dir"}  # they look at the frame that calls them
STAYING = ast.Yield, ast.YieldFrom, ast.Await, ast.AsyncFor, ast.AsyncWith, ast.NamedExpr


def can_be_rewritten(node: ast.FunctionDef | ast.Lambda) -> bool:
    """Whether a function has only what TensorFlow converts: no `yield`, no `else` of loops, no private names."""
    return not any(
        isinstance(part, STAYING)
        or (isinstance(part, (ast.For, ast.While)) and part.orelse)
        or (isinstance(part, ast.Attribute) and part.attr.startswith("__") and not part.attr.endswith("__"))
        for part in ast.walk(node)
    )


def rewritten(node: ast.FunctionDef | ast.Lambda, options: Options) -> None:
    """Change a function.

    Args:
        node: its syntax tree, which is changed.
        options: the optional parts.
    """
    _Expressions(options, _first_parameter(node)).function(node)
    ast.fix_missing_locations(node)


def _first_parameter(node: ast.FunctionDef | ast.Lambda) -> str | None:
    first = [*node.args.posonlyargs, *node.args.args][:1]
    return first[0].arg if first else None


def _ask(name: str, place: ast.AST, *arguments: ast.expr) -> Any:
    """A call of the runtime's function, at the place of a node; of several lines, it is at the first one."""
    call = ast.Call(ast.Attribute(ast.Name(HERE, ast.Load()), name, ast.Load()), [*arguments], [])
    ast.copy_location(call, place)
    if call.end_lineno != call.lineno:
        call.end_lineno, call.end_col_offset = call.lineno, call.col_offset
    return ast.fix_missing_locations(call)


def _later(value: ast.expr) -> ast.Lambda:
    """A function of no arguments that computes a value."""
    return ast.Lambda(ast.arguments([], [], None, [], [], None, []), value)


class _Expressions(ast.NodeTransformer):
    """The changes of expressions, and of the functions inside of a function.

    Args:
        options: as for `rewritten`.
        instance: the name of a method's first parameter.
    """

    def __init__(self, options: Options, instance: str | None) -> None:
        self._options, self._instance = options, instance

    def function(self, node: ast.FunctionDef | ast.Lambda) -> None:
        """Change a function in place."""
        if isinstance(node, ast.Lambda):
            node.body = self.visit(node.body)
            return
        used = {part.id for part in ast.walk(node) if isinstance(part, ast.Name)} | parameters(node.args)

        def fresh(name: str) -> str:
            while name in used:
                name += "_"
            used.add(name)
            return name

        node.body, result = lowered(node.body, fresh)
        for part in own(node.body):
            if (goes_on := getattr(part, GOES_ON, None)) is not None:
                setattr(part, GOES_ON, self.visit(goes_on))
        node.body = [self.visit(part) for part in node.body]
        if result is not None:
            value = _ask("returned", node.body[-1], _later(ast.Name(result, ast.Load())))
            node.body.append(ast.copy_location(ast.Return(value), node.body[-1]))
        _Statements(node, result).change()

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.decorator_list = [self.visit(part) for part in node.decorator_list]
        node.args = self.visit(node.args)
        if can_be_rewritten(node):
            self.function(node)
        return node

    def visit_AsyncFunctionDef(self, node: ast.AST) -> ast.AST:
        return node

    visit_ClassDef = visit_AsyncFunctionDef

    def visit_Call(self, node: ast.Call) -> ast.AST:
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        is_print = name == "print" and not self._options.has("BUILTIN_FUNCTIONS")
        if name == "super" and not node.args and self._instance is not None:
            node.args = [ast.Name("__class__", ast.Load()), ast.Name(self._instance, ast.Load())]
        self.generic_visit(node)
        if name != "super" and name not in AS_THEY_ARE and not is_print:
            node.func = _ask("called", node.func, node.func)
        return node

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        self.generic_visit(node)
        name = "and_" if isinstance(node.op, ast.And) else "or_"
        return _ask(name, node, node.values[0], *map(_later, node.values[1:]))

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        self.generic_visit(node)
        if len(node.ops) == 1:
            return node
        given = [ast.arg(f"{HERE}{side}") for side in ("left", "right")]
        pair = [ast.Name(part.arg, ast.Load()) for part in given]
        arguments = ast.arguments([], given, None, [], [], None, [])
        compares = [ast.Lambda(arguments, ast.Compare(pair[0], [op], [pair[1]])) for op in node.ops]
        others = ast.Tuple([*map(_later, node.comparators)], ast.Load())
        return _ask("compared", node, node.left, ast.Tuple([*compares], ast.Load()), others)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        self.generic_visit(node)
        return _ask("not_", node, node.operand) if isinstance(node.op, ast.Not) else node

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        text = ast.Constant(ast.unparse(node))
        self.generic_visit(node)
        return _ask("chosen", node, node.test, _later(node.body), _later(node.orelse), text)

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        self.generic_visit(node)
        match node.targets[0]:
            case ast.Subscript(ast.Name(name), place) if self._options.has("LISTS"):
                if not any(isinstance(part, ast.Slice) for part in ast.walk(place)):
                    node.targets = [ast.Name(name, ast.Store())]
                    node.value = _ask("stored", node, ast.Name(name, ast.Load()), place, node.value)
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        self.generic_visit(node)
        if not isinstance(node.target, ast.Name):
            return node
        plain = ast.Pass() if node.value is None else ast.Assign([node.target], node.value)
        return ast.copy_location(plain, node)  # a name with an annotation cannot be of the function around

    def visit_Assert(self, node: ast.Assert) -> ast.AST:
        self.generic_visit(node)
        if not self._options.has("ASSERT_STATEMENTS"):
            return node
        message = node.msg or ast.Constant("Assertion error")
        return ast.copy_location(ast.Expr(_ask("assert_", node, node.test, _later(message))), node)


class _Statements:
    """The changes of a function's statements, last ones first, since they depend on what is needed after them.

    Args:
        function: the function, whose expressions are changed already.
        result: the variable of its result, if it has one.
    """

    def __init__(self, function: ast.FunctionDef, result: str | None) -> None:
        self._function, self._result = function, result
        inside = [*own(function.body)]
        declared = [part for part in inside if isinstance(part, (ast.Global, ast.Nonlocal))]
        self._globals = frozenset(n for part in declared if isinstance(part, ast.Global) for n in part.names)
        self._outer = frozenset(n for part in declared if isinstance(part, ast.Nonlocal) for n in part.names)
        functions = [part for part in inside if isinstance(part, ast.FunctionDef)]
        self._always = self._globals | self._outer | loaded(functions)  # a call may read them at any time

    def change(self) -> None:
        function, outside = self._function, self._globals | self._outer
        own_names = sorted(bound(function.body) - outside - parameters(function.args))
        function.body = self._block(function.body, NONE)
        if any(isinstance(part, ast.FunctionDef) and part.name.startswith(HERE) for part in own(function.body)):
            place = function.body[0]
            local = [
                ast.AnnAssign(ast.Name(name, ast.Store()), ast.Constant(0), None, 1)  # no value: it is a local name
                for name in own_names
            ]
            function.body[:0] = [ast.copy_location(part, place) for part in local]
        function.body[:0] = self._declared(outside, function.body[0])

    def _declared(self, names: Names, place: ast.AST) -> list[ast.stmt]:
        """The declarations of names that a block binds."""
        pairs = (ast.Global, names & self._globals), (ast.Nonlocal, names - self._globals)
        return [ast.copy_location(kind(sorted(its)), place) for kind, its in pairs if its]

    def _block(self, statements: list[ast.stmt], after: Names) -> list[ast.stmt]:
        """The statements of a block, if some names are needed after it."""
        result: list[ast.stmt] = []
        for node in reversed(statements):
            before = live_before([node], after)
            result[:0] = self._statement(node, after | self._always)
            after = before
        return result

    def _statement(self, node: ast.stmt, after: Names) -> list[ast.stmt]:
        match node:
            case ast.Global() | ast.Nonlocal():
                return [ast.copy_location(ast.Pass(), node)]
            case ast.If():
                return self._if(node, after)
            case ast.While() | ast.For():
                return self._loop(node, after)
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                return [node]
            case ast.Try():
                last = live_before(node.finalbody, after)
                handled = last.union(*(live_before(handler.body, last) for handler in node.handlers))
                node.body = self._block(node.body, live_before(node.orelse, last) | handled)
                node.orelse, node.finalbody = self._block(node.orelse, last), self._block(node.finalbody, after)
                for handler in node.handlers:
                    handler.body = self._block(handler.body, last)
            case _:
                for owner, name in blocks(node):
                    setattr(owner, name, self._block(getattr(owner, name), after))
        return [node]

    def _if(self, node: ast.If, after: Names) -> list[ast.stmt]:
        both = node.body + node.orelse
        names, paths = bound(both), _paths(both)
        results = sorted(names & after)
        state = [*results, *paths, *sorted(names - after)]
        body, other = (self._block(part, after) for part in (node.body, node.orelse))
        call = _ask(
            "if_",
            node,
            node.test,
            ast.Name(BODY, ast.Load()),
            ast.Name(ELSE, ast.Load()),
            self._state(state),
            ast.Constant(len(results) + len(paths)),
        )
        return [
            self._made(BODY, body, names, node),
            self._made(ELSE, other, names, node),
            ast.copy_location(ast.Expr(call), node),
        ]

    def _loop(self, node: ast.While | ast.For, after: Names) -> list[ast.stmt]:
        targets = bound([node.target]) if isinstance(node, ast.For) else NONE
        names = targets | bound(node.body)
        needed = live_in_loop(node, after)
        options, node.body = _taken_options(node.body)
        paths = _paths(node.body)
        state = [*sorted(names & needed), *paths]
        body = self._block(node.body, needed)
        if isinstance(node, ast.While):
            made = [self._made(BODY, body, names, node)]
            given: list[ast.expr] = [_later(node.test)]
        else:
            item = ast.Name(ITEM, ast.Load())
            body = [ast.copy_location(ast.Assign([node.target], item), node.target), *body]
            made = [self._made(BODY, body, names, node, ITEM)]
            goes_on = getattr(node, GOES_ON, None)
            given = [node.iter, ast.Constant(None) if goes_on is None else _later(goes_on)]
        name = "while_" if isinstance(node, ast.While) else "for_"
        call = _ask(name, node, *given, ast.Name(BODY, ast.Load()), self._state(state), options)
        return [*made, ast.copy_location(ast.Expr(call), node)]

    def _made(
        self, name: str, statements: list[ast.stmt], names: Names, place: ast.stmt, parameter: str | None = None
    ) -> ast.stmt:
        """The function of a block that binds some names."""
        given = [ast.arg(parameter)] if parameter else []
        arguments = ast.arguments([], given, None, [], [], None, [])
        body = [*self._declared(names, place), *(statements or [ast.Pass()])]
        function = ast.FunctionDef(name, arguments, body, [])
        return ast.fix_missing_locations(ast.copy_location(function, place))

    def _state(self, names: Iterable[str]) -> ast.expr:
        """The names of a statement's variables; the one of the function's result is marked."""
        shown = [f"return:{name}" if name == self._result else name for name in names]
        return ast.Tuple([ast.Constant(name) for name in shown], ast.Load())


def _paths(statements: list[ast.stmt]) -> list[str]:
    """The attributes and items that a block assigns, as "self.count", if it binds no name in them."""
    names = bound(statements)
    assigned = [part for part in own(statements) if isinstance(getattr(part, "ctx", None), ast.Store)]
    paths = [part for part in assigned if isinstance(part, (ast.Attribute, ast.Subscript)) and _is_path(part)]
    return sorted({ast.unparse(part) for part in paths if names.isdisjoint(loaded([part]))})


def _is_path(node: ast.expr) -> bool:
    """Whether an expression is a name, or attributes and items of one at places that are constants or names."""
    match node:
        case ast.Attribute(owner) | ast.Subscript(owner, ast.Constant() | ast.Name()):
            return _is_path(owner)
    return isinstance(node, ast.Name)


def _taken_options(body: list[ast.stmt]) -> tuple[ast.expr, list[ast.stmt]]:
    """What a loop's body says by `tf.autograph.experimental.set_loop_options`, as a function, and the rest of it."""
    for node in body:
        call = node.value if isinstance(node, ast.Expr) else None
        if isinstance(call, ast.Call) and isinstance(asked := call.func, ast.Call) and asked.args:
            name = asked.args[0]
            if OPTIONS in (getattr(name, "attr", None), getattr(name, "id", None)):
                keywords = ast.Call(ast.Name("dict", ast.Load()), call.args, call.keywords)
                return _later(ast.copy_location(keywords, call)), [part for part in body if part is not node]
    return ast.Constant(None), body
