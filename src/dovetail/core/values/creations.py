"""Variables that a function makes while it is traced.

Many calls share one trace, so they would share a variable that it makes, and another trace would have another one.
As in TensorFlow, the first call of a compiled function may make variables, and is traced twice if it does.  The second
trace must find them where the program keeps them.  It can make none, nor can the traces of later calls.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from dovetail.core.base.errors import op_error
from dovetail.core.base.scopes import Scoped, scopes

AGAIN = "each trace of the function would make another one, which forgets the values of the one before"
LATER = "only the first call of a compiled function can make variables, and this is a later one"
ADVICE = "Make it outside of the function, or make it once and keep it: `if self.v is None: self.v = Variable(...)`."
IN_BODY = "The body of a loop or branch is traced once, so it cannot make one in each iteration either."


class Creations:
    """The variables that one trace of a function makes.

    Args:
        function: its name.
        refusal: the reason why it can make none; "" if it can.
        given: placeholder of the trace → argument of the call, for computing first values.

    Attributes:
        given: as given.
        made: whether it has made a variable.
    """

    def __init__(self, function: str, refusal: str, given: Mapping[Any, Any]) -> None:
        self._function, self._refusal = function, refusal
        self.given = given
        self.made = False

    def note(self, variable: str, is_in_body: bool, is_made_by_keras: bool) -> None:
        """Note that a variable is about to be made.

        Raises:
            ValueError: the trace can make none.
        """
        if self._refusal and not (is_made_by_keras and self._refusal == LATER):
            problem = f"{variable} cannot be made here: {self._refusal}. {ADVICE}{f' {IN_BODY}' if is_in_body else ''}"
            raise op_error(ValueError, self._function, problem)
        self.made = True

    @contextmanager
    def of_call(self, function: str, is_first: bool) -> Iterator[None]:
        """Let another compiled function, which the `with` block calls, make variables in its own first call."""
        before = self._function, self._refusal
        if self._refusal != AGAIN:
            self._function, self._refusal = function, "" if is_first else LATER
        try:
            yield
        finally:
            self._function, self._refusal = before


def of_trace() -> Creations | None:
    """The creations of the function that is being traced; None if there is none."""
    return None if (graph := scopes().graph) is None else graph.outermost.creations


def note_creation(name: str | None, is_made_by_keras: bool = False) -> None:
    """Note that a variable is about to be made, maybe in the trace of a function.

    Args:
        name: its name, if it was given one.
        is_made_by_keras: whether it belongs to a layer of Keras, which keeps it, and may build the layer in any call.

    Raises:
        ValueError: it is made in a trace that can make none.
    """
    creations = of_trace()
    if creations is not None:
        described = "a variable" if name is None else f"the variable {name!r}"
        creations.note(described, scopes().graph.outer is not None, is_made_by_keras)


class Kept:
    """The variables that the first call of a function makes; later calls get them again, in their order."""

    def __init__(self) -> None:
        self.made: list[Any] = []

    @contextmanager
    def of_call(self) -> Iterator[None]:
        """A scope in which the function is called."""
        with _taken.scope((self, iter(list(self.made)))):
            yield


_taken: Scoped[tuple[Kept, Iterator[Any]] | None] = Scoped(None)  # and the variables that this call has not got yet


def once(make: Callable[[], Any]) -> Any:
    """Make a variable, or take the one of the first call, if a function that is called keeps its variables."""
    taking = _taken.get()
    if taking is None:
        return make()
    kept, rest = taking
    for variable in rest:
        return variable
    kept.made.append(make())
    return kept.made[-1]
