"""The traces of the library of an engine: those of its users' code, and those of what it ran."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar

from dovetail.core.rules import Rule

if TYPE_CHECKING:
    from dovetail.core.engine import Segment
    from dovetail.core.engines.routines import Routines


class Tracing:
    """The part of an engine that knows what its library traces."""

    _named_scope: ClassVar[Any] = None  # (name) → the library's scope of this name, in which it compiles
    _reports: ClassVar[str] = ""  # the module with the function `routines`

    def scoped(self, name: str, rule: Rule) -> Rule:
        """A rule whose part of a compiled program has a name in the library's traces, if these tell names."""
        scope = self._named_scope
        if scope is None:
            return rule

        @functools.wraps(rule)
        def named(*args: Any) -> Any:
            with scope(name):
                return rule(*args)

        return named

    def start_trace(self, folder: str) -> Callable[[], None] | None:
        """Let the library record a trace of its programs.

        Returns:
            A function that ends the trace, which is then in a file `.xplane.pb` below the folder; None if the library
            can record none now.
        """
        return None

    def traced_as(self, name: str) -> AbstractContextManager[Any]:
        """A span of this name in the trace, as long as the context."""
        return nullcontext()

    def routines(self, segment: Segment, arguments: Callable[[], Sequence[Any]]) -> Routines:
        """The library's functions that the operations of a segment call, and the routines that it reports of them.

        `dovetail.explain` asks for them.

        Args:
            segment: the segment.
            arguments: gives arrays for its function, which may then run once.

        Returns:
            Each operation of which the library reports something, or the path of its scopes, with its calls in order.
        """
        return import_module(self._reports).routines(segment, arguments) if self._reports else {}

    def settings(self) -> Mapping[str, Callable[[], AbstractContextManager[Any]]]:
        """Settings of the library with which it computes convolutions in another way: name → a scope of the setting."""
        return {}

    def is_tracing(self) -> bool:
        """Whether the library is tracing a user's function now, so that Python runs once and the program often."""
        return False

    def is_traced(self, value: Any) -> bool:
        """Whether an array has no numbers yet, since the library is tracing its computation."""
        return False

    def fresh_key(self, seed: int) -> Any:
        """A random key that changes on every run of the program that the library is tracing.

        Args:
            seed: where the sequence of these keys starts.

        Returns:
            Two int32 words in a native array, as `ops.random.key` makes them; None if the library's programs have no
            state to draw them from.
        """
        return None
