"""The table of TensorFlow's names: Dovetail's function for each, with the parameters of TensorFlow 1 and TensorFlow 2.

    row("reduce_sum math.reduce_sum", ops.sum, "input_tensor:x axis keepdims", v1="+reduction_indices:axis")

    @function("nn.conv3d", v1="input filter:filters strides padding data_format dilations name filters")
    def conv3d(input, filters, strides, padding, data_format=None, dilations=None, name=None): ...

A row is one of Dovetail's functions under another name, with other parameter names.  A function computes something that
no function of Dovetail's computes.  `V1` and `V2` are the two views; a name in only one view is found from the other,
too.

Words for parameters stand in TensorFlow's order.  `theirs:ours` is a parameter with another name here, `theirs=literal`
has another default, and a parameter that the function does not have is ignored.
"""

from __future__ import annotations

import ast
import functools
import inspect
import sys
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any, TypeVar

import numpy as np

from dovetail import ops
from dovetail.backend.table import as_value_error
from dovetail.backend.values import known_value
from dovetail.compat.tensorflow import graph_mode
from dovetail.compat.tensorflow.entries import value
from dovetail.compat.tensorflow.settled import settling
from dovetail.core.base.errors import CONVENTIONAL, annotate, describe_arguments
from dovetail.core.base.hooks import hooks
from dovetail.core.dtypes import as_dtype, is_of_strings
from dovetail.core.op import Op
from dovetail.core.tensor import Tensor
from dovetail.core.values.host import cast_like
from dovetail.core.values.structure import refuse_nesting
from dovetail.core.values.value_kinds import dtype_of, is_tensor, static_shape
from dovetail.ops.shapes.shape import shaped

Function = TypeVar("Function", bound=Callable[..., Any])
Wrapper = Callable[[Callable[..., Any]], Callable[..., Any]]

IGNORED: set[str] = set()  # parameters that functions do not have, as "conv2d.use_cudnn_on_gpu"
_CALLED: dict[Callable[..., Any], Callable[..., Any]] = {}  # a declared function → the one that programs call


def function(
    names: str,
    views: str = "v1 v2",
    *,
    v1: str | None = None,
    scope: bool | str = False,
    defers: bool = False,
    default_name: str | None = None,
    around: Wrapper | None = None,
    around_v1: Wrapper | None = None,
) -> Callable[[Function], Function]:
    """Decorator: add a function with TensorFlow's parameters.

    Args:
        names: with spaces between; errors begin with the first.
        views: the views that get the names.
        v1: words for the parameters in TensorFlow 1, including "name", if they differ.
        scope: whether `name` is a name scope for recorded operations; else the function gives the name to an operation.
            A string is the name scope of calls without a name.
        defers: whether it only computes, and must know ranks; if a rank is not known, the function is called later.
        default_name: the name of a constant that is recorded without a name; by default, the last part of the first.
        around: (the function that programs call) → the function that they call in its place, for all views.
        around_v1: the same for TensorFlow 1 alone, around the other.
    """

    def decorate(function: Function) -> Function:
        title = names.split()[0]
        made = _around(told(title, function, scope, default_name, defers), around)
        renamed = made
        if v1 is not None:
            renamed = _around(told(title, _renamed(function, v1), scope, default_name, defers), around)
        called = {view: made if view == "v2" else _around(renamed, around_v1) for view in views.split()}
        for view, own in called.items():
            value(names, own, view)
        _CALLED.setdefault(function, called.get("v1", made))
        return function

    return decorate


def row(
    names: str,
    target: Callable[..., Any],
    parameters: str,
    v1: str = "+",
    *,
    alike: bool = False,
    scope: bool | None = None,
    defers: bool = True,
    around: Wrapper | None = None,
    around_v1: Wrapper | None = None,
) -> Callable[..., Any]:
    """Add one of Dovetail's functions under TensorFlow's names.

    Args:
        names: with spaces between; errors begin with the first.
        target: the function.
        parameters: words for TensorFlow's parameters.  "name" is always added as the last.
        v1: the words in TensorFlow 1, including "name"; after a plus only the words that follow the others.
        alike: whether arrays and lists among the arguments take the dtype of the tensors among them.
        scope: as in `function`; by default, whether the function takes no name.
        defers, around, around_v1: as in `function`.

    Returns:
        The function that programs of TensorFlow 1 call.
    """
    old = f"{parameters} name {v1[1:]}" if v1.startswith("+") else v1
    title, scope = names.split()[0], not _takes_name(target) if scope is None else scope
    default_name = target.name if isinstance(target, Op) else None
    for view, words in (("v2", f"{parameters} name"), ("v1", old)):
        made = _around(told(title, _renamed(target, words, alike), scope, default_name, defers), around)
        made = _around(made, around_v1) if view == "v1" else made
        value(names, made, view)
    if not isinstance(target, Op):
        _CALLED.setdefault(target, made)
    return made


def in_v1(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function that programs of TensorFlow 1 call, for one that a declaration took; see `told`.

    Other modules call it where a result may be a number, which it makes a constant of the graph.
    """
    return _CALLED[function]


def _around(function: Callable[..., Any], wrap: Wrapper | None) -> Callable[..., Any]:
    return function if wrap is None else wrap(function)


def _takes_name(target: Callable[..., Any]) -> bool:
    return isinstance(target, Op) or "name" in inspect.signature(target).parameters


def _renamed(target: Callable[..., Any], parameters: str, alike: bool = False) -> Callable[..., Any]:
    """Wrap a function, with other parameter names."""
    words = [word.partition("=") for word in parameters.split()]
    pairs = [word.partition(":") for word, _, _ in words]
    ours = {theirs: mine or theirs for theirs, _, mine in pairs}
    defaults = {ours[word.partition(":")[0]]: ast.literal_eval(literal) for word, _, literal in words if literal}
    known = inspect.signature(target).parameters
    takes = {*known, "name"} if _takes_name(target) else {*known}
    required = {name for name, p in known.items() if p.default is p.empty}
    if unknown := {mine for _, colon, mine in pairs if colon} - takes:
        raise ValueError(f"the function has no parameters {unknown}, but words for it say so: {parameters}.")
    title = target.name if isinstance(target, Op) else target.__name__
    IGNORED.update(f"{title}.{theirs}" for theirs, mine in ours.items() if mine not in {*takes, "name"})

    straight = 0  # the number of leading parameters that are the target's, in its order
    for mine, own in zip(ours.values(), known, strict=False):
        if mine != own or defaults:
            break
        straight += 1

    def call(*args: Any, **kwargs: Any) -> Any:
        if not kwargs and len(args) <= straight and all(arg is not None for arg in args):
            return target(*(alike_values(args) if alike and any(type(arg) is not Tensor for arg in args) else args))
        if len(args) > len(ours):
            raise TypeError(f"it takes {len(ours)} arguments but {len(args)} were given.")
        given: dict[str, Any] = {}
        for key, argument in (*zip(ours, args, strict=False), *kwargs.items()):
            if key not in ours:
                raise TypeError(f"no argument {key!r}; it takes {', '.join(ours)}.")
            if argument is not None and given.get(ours[key]) is not None:
                raise TypeError(f"the argument {key!r} is given twice.")
            if argument is not None or ours[key] not in given:
                given[ours[key]] = argument
        given = defaults | {k: v for k, v in given.items() if k in takes and (v is not None or k in required)}
        if alike:
            given = dict(zip(given, alike_values(list(given.values())), strict=True))
        return target(**given)

    call.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [_parameter(theirs, defaults.get(mine, _default(known.get(mine)))) for theirs, mine in ours.items()]
    )
    call.__doc__ = target.__doc__
    return call


def signature_of(words: str, options: str = "") -> inspect.Signature:
    """Parameters with their defaults in order: "labels weights=None"; `options` is the name of a `**` parameter."""
    pairs = [word.partition("=") for word in words.split()]
    kind, none = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.empty
    last = [inspect.Parameter(options, inspect.Parameter.VAR_KEYWORD)] if options else []
    return inspect.Signature(
        [inspect.Parameter(w, kind, default=ast.literal_eval(literal) if eq else none) for w, eq, literal in pairs]
        + last
    )


def takes(words: str, ignores: str = "") -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorator: give a function or a method TensorFlow's parameters.

    A last parameter `given` gets them all, as attributes, but those that it ignores.  Other functions get the
    parameters that they name, and ignore the others.

    Args:
        words: as in `signature_of`, without `self`.
        ignores: the parameters that `given` lacks.

    Example:
        >>> @takes("labels weights=None parallel_iterations=10")
        ... def weighted(labels, weights):
        ...     return labels, weights
        >>> weighted([1], parallel_iterations=1)
        ([1], None)
    """

    def decorate(target: Callable[..., Any]) -> Callable[..., Any]:
        own = list(inspect.signature(target).parameters)
        signature = signature_of(f"self {words}" if own[0] == "self" else words)
        title = target.__qualname__.split(".")[-2] if own[0] == "self" else target.__name__
        unread = ignores.split() if own[-1] == "given" else signature.parameters.keys() - {*own, "name"}
        IGNORED.update(f"{title}.{name}" for name in unread)

        @functools.wraps(target)
        def call(*args: Any, **kwargs: Any) -> Any:
            given = arguments_of(signature, args, kwargs)
            if own[-1] != "given":
                return target(**{name: given[name] for name in own})
            rest = {name: one for name, one in given.items() if name not in {*own, *unread}}
            return target(*(given[name] for name in own[:-1]), SimpleNamespace(**rest))

        call.__signature__ = signature  # type: ignore[attr-defined]
        return call

    return decorate


def arguments_of(signature: inspect.Signature, args: Any, kwargs: Any, defaults: bool = True) -> dict[str, Any]:
    """The arguments of a call by name, with the defaults of those that are not given.

    Raises:
        TypeError: one is missing, or not known.
    """
    try:
        bound = signature.bind(*args, **kwargs)
    except TypeError as error:  # it is Python's own, and `told` would leave it as it is
        names = ", ".join(name for name in signature.parameters if name != "self")
        raise TypeError(f"{error}; it takes {names}.") from None
    if defaults:
        bound.apply_defaults()
    return bound.arguments


def constructor(words: str, begin: Callable[..., None], options: str = "") -> Callable[..., None]:
    """The `__init__` of a class that a row says.

    Args:
        words, options: as in `signature_of`, without `self`.
        begin: (object, its arguments by name, further options as keywords) → None.
    """
    signature = signature_of(f"self {words}", options)

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        given = arguments_of(signature, (self, *args), kwargs)
        del given["self"]
        begin(self, given, **given.pop(options, {}))

    __init__.__signature__ = signature  # type: ignore[attr-defined]
    return __init__


def _default(parameter: inspect.Parameter | None) -> Any:
    return None if parameter is None else parameter.default


def _parameter(name: str, default: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default)


def told(
    title: str, function: Callable[..., Any], scope: bool | str, default_name: str | None = None, defers: bool = False
) -> Callable[..., Any]:
    """Wrap a function for programs: errors begin with its name, and its results in graph mode are in the graph.

    Args:
        title: its name.
        function: computes its results.
        scope, default_name, defers: as in `function`.
    """
    signature = inspect.signature(function).parameters
    default_name = default_name or title.rpartition(".")[2]
    parameters, takes_any = list(signature), any(p.kind is p.VAR_POSITIONAL for p in signature.values())
    run = deferring(f"tf.{title}", function) if defers else function
    place = (sys.maxsize if takes_any else parameters.index("name")) if "name" in parameters else None

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        name = None if place is None else args[place] if place < len(args) else kwargs.get("name")
        name = scope if name is None and isinstance(scope, str) else name
        try:
            if not scope or name is None:
                return graph_mode.recorded(run(*args, **kwargs), name or default_name)
            with graph_mode.name_scope(name) as whole:
                result = run(*args, **kwargs)
                return graph_mode.named(graph_mode.recorded(result, whole or name), whole)
        except CONVENTIONAL as error:
            annotate(error, f"tf.{title}", lambda: describe_arguments(parameters, args, kwargs))
            if isinstance(error, IndexError) and hasattr(error, "dovetail"):
                raise as_value_error(error) from error.__cause__
            raise
        except RecursionError:
            refuse_nesting(f"tf.{title}", (*args, *kwargs.values()))
            raise

    call.__name__ = title.rpartition(".")[2]  # Keras writes an activation by its name
    return settling(title, call, parameters)


def deferring(title: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a function that must know ranks: it is called later if a rank is not known."""

    def call(*args: Any, **kwargs: Any) -> Any:
        if hooks.has_unknown_rank((*args, *kwargs.values())):
            return hooks.with_unknown_rank(function, title, args, kwargs)
        return function(*args, **kwargs)

    return call


def of_rank(x: Any, rank: int) -> Any:
    """A tensor, which gets this rank if its own is not known."""
    x = shaped(x)
    if static_shape(x) is None:
        x = ops.identity(x)
        x.set_shape([None] * rank)
    return x


def constant_value(x: Any) -> Any:
    """The value of a tensor or number as an array; None if it is not known before a run."""
    node: Any = getattr(x, "op", None)
    return node.attrs["value"] if node is not None and node.type == "Const" else known_value(x)


def alike_values(values: Sequence[Any]) -> list[Any]:
    """Values with arrays and lists cast to the dtype of the first tensor among them, if it can hold their numbers."""
    tensors = (v for v in values if is_tensor(v) and not is_of_strings(getattr(v, "dtype", None)))
    dtype = next((as_dtype(dtype_of(v)) for v in tensors), None)
    if dtype is None:
        return list(values)
    return [cast_like(v, dtype) if isinstance(v, (list, tuple, np.ndarray, np.generic)) else v for v in values]
