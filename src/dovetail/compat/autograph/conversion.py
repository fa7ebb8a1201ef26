"""Which functions are converted, and their new code: old names, defaults, variables and lines, and new statements.

The code of libraries and of Python stays, and so does a function without source.
"""

from __future__ import annotations

import ast
import copy
import functools
import linecache
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from types import CellType, CodeType, FunctionType, MethodType
from typing import Any
from weakref import WeakKeyDictionary

from dovetail.compat.autograph import rewriting
from dovetail.compat.autograph.features import Options
from dovetail.compat.autograph.rewriting import HERE
from dovetail.compat.autograph.runtime import Runtime
from dovetail.compat.source.sources import NOT_THE_USERS, parse

STAYS = "__dovetail_as_it_is__"  # an attribute of functions that are not converted
PLAIN = Options()
_OURS = Path(__file__).parents[2]
_LIBRARIES = tuple(
    f"{Path(place)}/" for place in (_OURS, _OURS.with_name("keras_dovetail"), sysconfig.get_path("stdlib"))
)
_codes: WeakKeyDictionary[CodeType, dict[frozenset[str], CodeType | None]] = WeakKeyDictionary()


def converted(function: Any, options: Options = PLAIN) -> Any:
    """A function whose statements on tensors of a graph are recorded; what is not the program's own stays as it is.

    Args:
        function: a function, a method, a `functools.partial`, or an object with the method `__call__`.
        options: the optional parts that are asked for.

    Source: `tf.autograph.to_graph`.

    Example:
        >>> import dovetail as dt
        >>> def double(x):
        ...     while x < 10.0:
        ...         x = x * 2.0
        ...     return x
        >>> float(dt.function(converted(double))(3.0))
        12.0
    """
    if isinstance(function, FunctionType):
        return _new(function, options)
    if isinstance(function, MethodType):
        inner = converted(function.__func__, options)
        return function if inner is function.__func__ else MethodType(inner, function.__self__)
    if isinstance(function, functools.partial):
        return functools.partial(converted(function.func, options), *function.args, **function.keywords)
    call = None if isinstance(function, type) or not callable(function) else type(function).__call__
    if not isinstance(call, FunctionType) or not is_converted(call):
        return function
    return MethodType(_new(call, options), function)


def is_converted(function: FunctionType) -> bool:
    """Whether a function is the program's own, with its source."""
    code = function.__code__
    if hasattr(function, STAYS) or HERE in code.co_freevars:
        return False
    return _is_the_programs(code.co_filename)


@functools.lru_cache(maxsize=1000)
def _is_the_programs(path: str) -> bool:
    """Whether a file is no library's."""
    return not path.startswith(_LIBRARIES) and {*NOT_THE_USERS}.isdisjoint(Path(path).parts)


def _new(function: FunctionType, options: Options) -> Any:
    if not is_converted(function):
        return function
    code = code_of(function.__code__, options)
    if code is None:
        return function
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    cells[HERE] = CellType(Runtime(options, functools.partial(converted, options=options)))
    if not {*code.co_freevars} <= cells.keys():
        return function
    closure = tuple(cells[name] for name in code.co_freevars)
    made = FunctionType(code, function.__globals__, function.__name__, function.__defaults__, closure)
    functools.update_wrapper(made, function)
    made.__kwdefaults__ = function.__kwdefaults__
    return made


def code_of(code: CodeType, options: Options) -> CodeType | None:
    """The code of a function with the changes; None if it stays as it is."""
    known = _codes.setdefault(code, {})
    if options.names not in known:
        node = _changed(code, options)
        known[options.names] = None if node is None else _compiled(node, code)
    return known[options.names]


def source_of(function: Any, options: Options) -> str | None:
    """The changed source of a function; None if it stays as it is."""
    node = _changed(function.__code__, options)
    return None if node is None else ast.unparse(node)


def _changed(code: CodeType, options: Options) -> Any:
    """The syntax tree of a function with the changes."""
    tree = tree_of(code.co_filename)
    nodes = [] if tree is None else [*_functions(tree, code)]
    if not nodes or not rewriting.can_be_rewritten(nodes[-1]):
        return None
    node = copy.deepcopy(nodes[-1])  # the innermost one, if lambdas of one line are inside of each other
    rewriting.rewritten(node, options)
    return node


def tree_of(path: str) -> ast.Module | None:
    """The syntax tree of a file or of a notebook's cell, which nobody may change; None if there is no source."""
    linecache.checkcache(path)
    return _parsed("".join(linecache.getlines(path)))


@functools.lru_cache(maxsize=50)
def _parsed(text: str) -> ast.Module | None:
    try:
        return parse(text.encode()) if text.strip() else None
    except (SyntaxError, ValueError):
        return None


def _functions(tree: Any, code: CodeType) -> Iterator[Any]:
    """The functions at the place of a code."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef) and node.name == code.co_name:
            if code.co_firstlineno == min([node.lineno, *(part.lineno for part in node.decorator_list)]):
                yield node
        elif isinstance(node, ast.Lambda) and code.co_name == "<lambda>" and _is_at(node, code):
            yield node
        yield from _functions(node, code)


def _is_at(node: ast.Lambda, code: CodeType) -> bool:
    """Whether a lambda is the one of a code: the places of its instructions are inside of its body."""
    body = node.body
    if node.lineno != code.co_firstlineno:
        return False
    begin, end = (body.lineno, body.col_offset), (body.end_lineno, body.end_col_offset)
    places = [place for place in code.co_positions() if None not in place and place[3]]
    return all((p[0], p[2]) >= begin and (p[1], p[3]) <= end for p in places)


def _compiled(node: Any, old: CodeType) -> CodeType:
    """The code of a changed function; its free variables are those of the old code, and the runtime."""
    given = [ast.arg(name) for name in (*old.co_freevars, HERE)]
    arguments = ast.arguments([], given, None, [], [], None, [])
    if isinstance(node, ast.FunctionDef):
        node.name, node.decorator_list, node.returns = f"{HERE}function", [], None  # its own name is another variable
        for part in ast.walk(node.args):
            if isinstance(part, ast.arg):
                part.annotation = None
    node.args.defaults, node.args.kw_defaults = [], [None for _ in node.args.kwonlyargs]
    statement = node if isinstance(node, ast.stmt) else ast.copy_location(ast.Expr(node), node)
    factory = ast.copy_location(ast.FunctionDef(f"{HERE}factory", arguments, [statement], []), node)
    module = ast.fix_missing_locations(ast.Module([factory], []))
    outer = _code_inside(compile(module, old.co_filename, "exec", dont_inherit=True), f"{HERE}factory")
    made = _code_inside(outer, getattr(node, "name", old.co_name))
    return _named_alike(made, old.co_name, old.co_qualname)


def _code_inside(code: CodeType, name: str) -> CodeType:
    return next(part for part in code.co_consts if isinstance(part, CodeType) and part.co_name == name)


def _named_alike(code: CodeType, name: str, qualname: str) -> CodeType:
    """A code whose blocks have the name of their function, which tracebacks show."""
    parts = []
    for part in code.co_consts:
        if isinstance(part, CodeType):
            is_block = part.co_name.startswith(HERE)
            part = _named_alike(part, name if is_block else part.co_name, qualname if is_block else part.co_qualname)
        parts.append(part)
    return code.replace(co_name=name, co_qualname=qualname, co_consts=tuple(parts))


def stays(function: Any) -> Any:
    """Say that a function is not converted.

    Source: `tf.autograph.experimental.do_not_convert`.
    """

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    setattr(call, STAYS, True)
    return call
