"""The base class that Keras' Layer inherits from a backend."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

from dovetail import ops
from dovetail.core.base.scopes import scopes
from dovetail.core.values.value_kinds import default_graph, dtype_of
from keras_dovetail.src.tensors import is_tensor


class BackendLayer:
    """A layer that K's default graph records as a whole, with its assignments, if the graph records its variables."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the layer; Keras' Layer calls this method once it has prepared the arguments."""
        around = scopes()
        graph = None if around.graphs else default_graph()
        with nullcontext() if graph is None else graph.as_default():
            output = super().__call__(*args, **kwargs)  # type: ignore[misc]  # defined by Keras' Operation
        return tapped(output, self.path or self.name) if around.probes else output  # type: ignore[attr-defined]


def tapped(value: Any, name: str) -> Any:
    """A tensor at a point of this name, if probes look at points; other values as they are."""
    if not any(probe.has_points for probe in scopes().probes or ()):
        return value
    return ops.tap(value, name, name=f"{name}/tap") if is_tensor(value) and dtype_of(value).is_floating else value
