"""Gradients by name: `RegisterGradient` names a gradient function, and an override map gives it to an op.

    @RegisterGradient("GuidedRelu")
    def _(op, g):
        return ops.where(g > 0, g, 0) * ops.cast(op.outputs[0] > 0, g.dtype)

    with gradient_override_map({"Relu": "GuidedRelu"}):
        y = model(x)

If a name is not registered, it may be the type of an op: `{"Round": "Identity"}` lets gradients through.  Operations
carry the map under which they were made; the name is looked up when a gradient is computed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from difflib import get_close_matches
from typing import Any

from dovetail.core.base.context import register_context
from dovetail.core.base.errors import op_error
from dovetail.core.base.scopes import scopes, within
from dovetail.core.base.table import OPS

GradientFunction = Callable[..., Any]

REGISTERED: dict[str, GradientFunction] = {}  # by name

register_context(lambda: frozenset(found.items()) if (found := scopes().overrides) else None)


class RegisterGradient:
    """A decorator that registers a gradient function under a name, for use in override maps.

    The function takes the operation (`.inputs`, `.outputs`, `.type`, `.attr(name)`) and one gradient per output.  It
    returns one gradient per input, None for an input without one.  A single gradient need not be in a list.  If the
    name is the type of a user's op that has no gradient yet, the function becomes the gradient of that op.

    Raises:
        KeyError: the name is taken, by another registration or by an op of the table.

    Source: `tf.RegisterGradient`.

    Example:
        >>> from dovetail import GradientTape, ops
        >>> @RegisterGradient("TwiceAsSteep")
        ... def _(op, g):
        ...     return 2 * g
        >>> x = ops.constant(3.)
        >>> with GradientTape() as tape, gradient_override_map({"Tanh": "TwiceAsSteep"}):
        ...     tape.watch(x)
        ...     y = ops.tanh(x)
        >>> float(tape.gradient(y, x))
        2.0
    """

    def __init__(self, name: str) -> None:
        if not isinstance(name, str) or not name:
            raise TypeError(f"a gradient is registered under a name, a str, not {name!r}.")
        self._name = name

    def __call__(self, function: GradientFunction) -> GradientFunction:
        op = OPS.get(self._name)
        if op is not None and op.is_users and op.gradient_function is None:
            return op.gradient(function)
        taken = OPS.get(self._name) or REGISTERED.get(self._name)
        if taken is not None:
            problem = f"{self._name!r} is taken, by {_place_of(taken)}; choose another name,"
            raise KeyError(f"{problem} and map the op to it with gradient_override_map.")
        REGISTERED[self._name] = function
        return function


def _place_of(function: Any) -> str:
    code = getattr(function, "__code__", None)
    return f"{code.co_filename}:{code.co_firstlineno}" if code else repr(function)


def registered_gradient(name: str, node: Any) -> GradientFunction:
    """The gradient function that a node's override map names.

    Raises:
        LookupError: nothing is registered under the name, and it is not the type of an op that has a gradient function.
    """
    gradient = _gradient_named(name)
    if gradient is None:
        raise op_error(LookupError, node.op.name, _not_registered(name), where=node.where)
    return gradient


def _gradient_named(name: str) -> GradientFunction | None:
    return REGISTERED.get(name) or (OPS[name].gradient_function if name in OPS else None)


def _not_registered(name: str) -> str:
    if name in OPS:
        return f"the op {name!r} has no gradient function that another op could use."
    close = get_close_matches(name, REGISTERED)
    hint = f"did you mean {' or '.join(close)}?" if close else "register it with RegisterGradient(name)."
    return f"no gradient is registered as {name!r}; {hint}"


def checked_overrides(overrides: Mapping[str, str], title: str = "gradient_override_map") -> dict[str, str]:
    """Check an override map, and return it as a dict.

    Args:
        overrides: op type → name of a gradient, which may be registered later.
        title: the beginning of errors.

    Raises:
        LookupError: a key is not the type of an op.
    """
    for op_type in overrides:
        if op_type not in OPS:
            close = get_close_matches(str(op_type), OPS)
            hint = f"; did you mean {' or '.join(close)}?" if close else "."
            raise LookupError(f"{title}: there is no op of the type {op_type!r}{hint}")
    return dict(overrides)


def registered_overrides(overrides: Mapping[str, str | None], title: str) -> dict[str, Any]:
    """Check an override map, all of whose gradients must exist now, and return it as a dict.

    None means an op's own gradient.

    Raises:
        LookupError: a key is not the type of an op, or there is no gradient of a name.
    """
    for name in overrides.values():
        if name is not None and _gradient_named(name) is None:
            raise LookupError(f"{title}: {_not_registered(name)}")
    return checked_overrides(overrides, title)  # type: ignore[arg-type]  # it keeps the values


@contextmanager
def gradient_override_map(overrides: Mapping[str, str]) -> Iterator[None]:
    """Give ops used inside the `with` block, in any graph or on a tape, their gradients by name.

    This also holds for a graph that is imported or called there, and for a compiled function that is called there.

    Args:
        overrides: op type → name of a registered gradient, or the type of another op, whose gradient it then has.

    Raises:
        LookupError: a key is not the type of an op; or a name is not registered when a gradient is computed.

    Source: `tf.Graph.gradient_override_map`.

    Example:
        >>> from dovetail import GradientTape, ops
        >>> _ = RegisterGradient("Halved")(lambda op, g: g / 2)
        >>> x = ops.constant(3.)
        >>> with GradientTape() as tape, gradient_override_map({"Neg": "Halved"}):
        ...     tape.watch(x)
        ...     y = -x
        >>> float(tape.gradient(y, x))
        0.5
    """
    with within(overrides={**scopes().overrides, **checked_overrides(overrides)}):
        yield


def exactly(overrides: Mapping[str, str]) -> AbstractContextManager[None]:
    """A scope in which ops get these gradients by name and no others, as when they were first computed."""
    return within(overrides=overrides, exact=True)
