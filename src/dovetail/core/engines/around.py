"""Around: the wrappers of an engine's methods, by which a refusal, a profile and limits of memory see its calls.

Only this class replaces methods of engines.  A wrapper gives each of some methods a form that calls the form inside of
it.  The kinds have an order, so it does not matter which was pushed first.  Without wrappers, the engine has its own
methods and rules, and a call costs nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

KINDS = "memory", "profile", "refusal"  # the innermost first

Wrapper: TypeAlias = Mapping[
    str, Callable[[Any], Any]
]  # attribute of the engine → (its form inside) → its form outside


class Around:
    """The wrappers around an engine.

    Args:
        engine: the engine.

    Attributes:
        refused: raises an error if the engine cannot be used; None if it can.

    Example:
        >>> import dovetail as dt
        >>> from dovetail.core.engines.engine_registry import get_engine
        >>> numpy, seen = get_engine("numpy"), []
        >>> numpy.around.push("profile", {"asarray": lambda run: lambda *args: seen.append(args[0]) or run(*args)})
        >>> numpy.asarray(3, dt.dtypes.as_dtype("int32")), seen
        (array(3, dtype=int32), [3])
        >>> numpy.around.pop("profile")
        >>> "asarray" in vars(numpy)
        False
    """

    def __init__(self, engine: Any) -> None:
        self._engine = engine
        self.refused: Callable[[], Any] | None = None
        self._wrappers: dict[str, Wrapper] = {}
        self._own: dict[str, tuple[Any, bool]] = {}  # replaced attribute → the engine's own, and if an instance has it

    def push(self, kind: str, wrapper: Wrapper) -> None:
        """Put a wrapper around the engine; a former one of its kind goes.

        Args:
            kind: one of `KINDS`.
            wrapper: the attributes that it replaces, among them "eager_rules", each with the function that makes the
                outer form of the inner one.
        """
        self._wrappers[kind] = wrapper
        self._compose()

    def pop(self, kind: str) -> None:
        """Take the wrapper of a kind away, if there is one."""
        if self._wrappers.pop(kind, None) is not None:
            self._compose()

    def _compose(self) -> None:
        """Set each attribute once, so that calls in other threads have the old form or the new one."""
        engine, wrappers = self._engine, [self._wrappers[kind] for kind in KINDS if kind in self._wrappers]
        for name in dict.fromkeys([*self._own, *(name for wrapper in wrappers for name in wrapper)]):
            method, is_of_instance = self._own.get(name) or (getattr(engine, name), name in vars(engine))
            forms = [wrapper[name] for wrapper in wrappers if name in wrapper]
            if not forms:
                del self._own[name]
            else:
                self._own[name] = method, is_of_instance
            for form in forms:
                method = form(method)
            if forms or is_of_instance:
                setattr(engine, name, method)
            else:
                delattr(engine, name)
