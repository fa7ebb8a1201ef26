"""Names: numbers for layers and the like, scopes for the nodes of a graph."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager

from dovetail.sessions.session_graph import recording_graph
from dovetail.trace import trace

__all__ = ["get_uid", "name_scope", "reset_uids"]

_uids: Counter[str] = Counter()


def get_uid(prefix: str = "") -> int:
    """The next number for a prefix, counting from 1.

    Args:
        prefix: the kind of thing to number.

    Source: `tf.keras.backend.get_uid`.

    Modern: `itertools.count(1)`, one for each prefix.

    Example:
        >>> reset_uids()
        >>> get_uid("dense"), get_uid("dense"), get_uid("conv")
        (1, 2, 1)
    """
    _uids[prefix] += 1
    return _uids[prefix]


def reset_uids() -> None:
    """Restart the numbers of `get_uid`.

    Source: `tf.keras.backend.reset_uids`.

    Modern: `keras.backend.clear_session()`, which does more than that.

    Example:
        >>> first = get_uid("pool")
        >>> reset_uids()
        >>> get_uid("pool")
        1
    """
    _uids.clear()


def name_scope(name: str) -> AbstractContextManager[str]:
    """Begin the names of nodes that are recorded inside the `with` block with `name/`.

    Args:
        name: the prefix.

    Source: `tf.keras.backend.name_scope`.

    Modern: `keras.name_scope(name)`.

    Example:
        >>> with name_scope("layer") as scope:
        ...     scope
        'layer/'
    """
    return _scope(name)


@contextmanager
def _scope(name: str) -> Iterator[str]:
    current = trace.current_graph()
    graph = recording_graph() if current is None else current
    if graph is None:
        yield f"{name.strip('/')}/"
    else:
        with graph.name_scope(name) as scope:
            yield scope
