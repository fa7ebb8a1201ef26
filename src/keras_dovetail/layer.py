"""What Keras' Layer inherits of a backend."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

from dovetail.core.scopes import scopes
from dovetail.core.value_kinds import default_graph


class DovetailLayer:
    """A layer whose variables are recorded in K's default graph is recorded there as a whole, with what it assigns."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Calls the layer; Keras' Layer does so once it has prepared the arguments."""
        graph = None if scopes().graphs else default_graph()
        with nullcontext() if graph is None else graph.as_default():
            return super().__call__(*args, **kwargs)  # type: ignore[misc]  # that of Keras' Operation
