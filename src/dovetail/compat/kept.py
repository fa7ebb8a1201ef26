"""Variables of functions that are traced again and again, as metrics of Keras are, and the `call` of layers.

Each trace finds those of the first.  In TensorFlow 1 such a function was called once, and its variables stayed in the
graph.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from dovetail.core.base.scopes import Scoped, not_building, record_on

NAME = "_kept_of_calls"  # an attribute of the owner
_place: Scoped[tuple[list[Any], Iterator[int]] | None] = Scoped(None)


@contextmanager
def kept_by(owner: Any) -> Iterator[None]:
    """Let variables that are made in the `with` block stay with their owner, in their order."""
    with _place.scope((vars(owner).setdefault(NAME, []), itertools.count())):
        yield


def has_owner() -> bool:
    """Whether variables would stay with an owner."""
    return _place.get() is not None


def kept(make: Callable[[], Any]) -> Any:
    """The owner's next variable, which is made, outside of traces, if there is none yet."""
    place = _place.get()
    assert place is not None, "has_owner() says whether there is one"
    variables, numbers = place
    if (number := next(numbers)) == len(variables):
        with not_building(), record_on(()):
            variables.append(make())
    return variables[number]
