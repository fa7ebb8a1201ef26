"""`arg_scope` of `tf.contrib.framework`: default arguments of functions, for a block.

Source: `tf.contrib.framework`, the function of the same name.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from dovetail.compat.tensorflow.entries import value
from dovetail.compat.tensorflow.names.contrib.places import FRAMEWORK, under
from dovetail.compat.tensorflow.table import Function
from dovetail.core.base.errors import op_error
from dovetail.core.base.scopes import Scoped

_defaults: Scoped[dict[str, dict[str, Any]]] = Scoped({})  # key of a function → its default arguments


def add_arg_scope(func: Function) -> Function:
    """Decorator: let `arg_scope` give default arguments to a function."""
    key = arg_scope_func_key(func)

    @functools.wraps(func)
    def call(*args: Any, **kwargs: Any) -> Any:
        return func(*args, **{**_defaults.get().get(key, {}), **kwargs})

    call._key_op = key  # type: ignore[attr-defined]
    return call  # type: ignore[return-value]


@contextmanager
def arg_scope(list_ops_or_scope: Any, **kwargs: Any) -> Iterator[dict[str, dict[str, Any]]]:
    """Give functions default arguments in the `with` block, which add to the outer defaults.

    Args:
        list_ops_or_scope: functions that `add_arg_scope` decorated; or a scope, whose arguments replace all others.
        **kwargs: the arguments.

    Yields:
        The scope: the arguments of each function, by its key.

    Raises:
        TypeError: neither a list nor a scope is given.
        ValueError: a function is not decorated; or there are arguments beside a scope.
    """
    scope = _with(_defaults.get(), list_ops_or_scope, kwargs)
    with _defaults.scope(scope):
        yield scope


def _with(outer: Mapping[str, dict[str, Any]], given: Any, arguments: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The scope inside of another one."""
    title = "tf.contrib.framework.arg_scope"
    if isinstance(given, dict):
        if arguments:
            problem = f"a scope has its arguments: leave {', '.join(arguments)} out, or open two scopes."
            raise op_error(ValueError, title, problem)
        return dict(given)
    if not isinstance(given, (list, tuple)):
        raise op_error(TypeError, title, f"it takes a list of functions, or a scope, not {given!r}.")
    for func in given:
        if not has_arg_scope(func):
            name = getattr(func, "__name__", func)
            raise op_error(ValueError, title, f"{name} takes no defaults: decorate it by add_arg_scope.")
    keys = map(arg_scope_func_key, given)
    return {**outer, **{key: {**outer.get(key, {}), **arguments} for key in keys}}


def current_arg_scope() -> dict[str, dict[str, Any]]:
    """The scope of this block, which `arg_scope` takes."""
    return _defaults.get()


def has_arg_scope(func: Callable[..., Any]) -> bool:
    """Whether `add_arg_scope` decorated a function."""
    return hasattr(func, "_key_op")


def arg_scoped_arguments(func: Callable[..., Any]) -> Sequence[str]:
    """The arguments that `arg_scope` may give to a function: those with a default."""
    parameters = inspect.signature(func).parameters.values()
    return tuple(parameter.name for parameter in parameters if parameter.default is not parameter.empty)


def arg_scope_func_key(op: Callable[..., Any]) -> str:
    """The key of a function in scopes."""
    return getattr(op, "_key_op", str(op))


for _function in (
    add_arg_scope, arg_scope, current_arg_scope, has_arg_scope, arg_scoped_arguments, arg_scope_func_key
):  # fmt: skip
    value(under(FRAMEWORK, _function.__name__), _function, "v1")
