"""What the code of converted functions calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dovetail.compat.autograph import builtins, expressions
from dovetail.compat.autograph.loops import for_, while_
from dovetail.compat.autograph.statements import if_, returned


class Runtime:
    """The functions that converted code calls.

    Args:
        options: the optional parts that are asked for.
        converted: converts a function that the code calls.
    """

    if_ = staticmethod(if_)
    while_ = staticmethod(while_)
    for_ = staticmethod(for_)
    returned = staticmethod(returned)
    and_ = staticmethod(expressions.and_)
    or_ = staticmethod(expressions.or_)
    not_ = staticmethod(expressions.not_)
    chosen = staticmethod(expressions.chosen)
    compared = staticmethod(expressions.compared)
    stored = staticmethod(expressions.stored)
    assert_ = staticmethod(expressions.assert_)

    def __init__(self, options: Any, converted: Callable[[Any], Any]) -> None:
        self._options, self._converted = options, converted

    def called(self, function: Any) -> Any:
        """The function that a call calls."""
        try:
            other = builtins.OTHERS.get(function)
        except TypeError:  # an object that is no key
            other = None
        return self._converted(function) if other is None else other
