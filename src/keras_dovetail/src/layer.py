"""The base class that Keras' Layer inherits from a backend."""

from __future__ import annotations

import re
from contextlib import nullcontext
from typing import Any

from dovetail import ops
from dovetail.compat.autograph.status import converts_layers
from dovetail.core.base.lacking import AUTOGRAD, lacks
from dovetail.core.base.scopes import scopes
from dovetail.core.values.value_kinds import default_graph, dtype_of
from keras_dovetail.src import lines
from keras_dovetail.src.tensors import is_tensor
from keras_dovetail.src.variable import session_graph


@lacks("parameters named_parameters zero_grad train eval", AUTOGRAD)
class BackendLayer:
    """A layer that K's default graph records as a whole, with its assignments, if the graph records its variables."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if converts_layers():
            from dovetail.compat.autograph.layers import convert_methods  # of programs that use `tf.keras`

            convert_methods(cls)

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        """Make a layer that keeps the user's line."""
        layer = super().__new__(cls, *args, **kwargs)
        lines.keep(layer)
        return layer

    def _post_track_variable(self, variable: Any) -> None:
        """Put a weight that is made while a session graph is open into its collections."""
        graph = session_graph()
        if graph is not None:
            variable.join(_name_in(graph, variable), graph)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the layer; Keras' Layer calls this method once it has prepared the arguments."""
        around = scopes()
        if (session := session_graph()) is not None:
            for variable in (*self._trainable_variables, *self._non_trainable_variables):  # type: ignore[attr-defined]
                variable.join(_known_name(variable), session)
        graph = None if around.graphs else default_graph()
        with nullcontext() if graph is None else graph.as_default():
            output = super().__call__(*args, **kwargs)  # type: ignore[misc]  # defined by Keras' Operation
        return tapped(output, self.path or self.name) if around.probes else output  # type: ignore[attr-defined]


def _scopes() -> tuple[list[str], list[str]]:
    """The names of the open scopes of Keras' layers, and those of functional models, which TensorFlow leaves out."""
    from dovetail.interop.privates import Functional, Sequential, global_state  # they inherit from this class

    scopes = global_state.get_global_attribute("name_scope_stack", [])
    return [s.name for s in scopes], [s.name for s in scopes if isinstance(s.caller, (Functional, Sequential))]


def _name_in(graph: Any, variable: Any) -> str:
    """The name of a new weight in a graph: its open scopes, then Keras'."""
    of_keras, of_models = _scopes()
    outside = graph.scope.split("/")[:-1]
    for name in reversed("/".join(of_keras).split("/")):
        if outside and re.fullmatch(rf"{re.escape(name)}(_\d+)?", outside[-1]):
            outside.pop()
    return "/".join([*outside, *(name for name in of_keras if name not in of_models), variable.name])


def _known_name(variable: Any) -> str:
    """The name of a weight that was made before, by its path."""
    _, of_models = _scopes()
    path = variable.path
    for name in of_models:
        path = path.removeprefix(f"{name}/")
    return path


def tapped(value: Any, name: str) -> Any:
    """A tensor at a point of this name, if probes look at points; other values as they are."""
    if not any(probe.has_points for probe in scopes().probes or ()):
        return value
    return ops.tap(value, name, name=f"{name}/tap") if is_tensor(value) and dtype_of(value).is_floating else value
