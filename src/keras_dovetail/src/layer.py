"""The base class that Keras' Layer inherits from a backend."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

from dovetail.core.scopes import scopes
from dovetail.core.value_kinds import default_graph


class BackendLayer:
    """A layer that K's default graph records as a whole, with its assignments, if the graph records its variables."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the layer; Keras' Layer calls this method once it has prepared the arguments."""
        graph = None if scopes().graphs else default_graph()
        with nullcontext() if graph is None else graph.as_default():
            return super().__call__(*args, **kwargs)  # type: ignore[misc]  # defined by Keras' Operation
