"""`tf.contrib.predictor`: a SavedModel as a function of a dict of arrays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dovetail.compat.tensorflow.entries import named
from dovetail.compat.tensorflow.names.saving.saved_models import load_into_session
from dovetail.compat.tensorflow.table import function
from dovetail.core.base.errors import op_error


class Predictor:
    """A graph in a session, called with arrays by name.

    Args:
        session: the session.
        feed_tensors, fetch_tensors: the tensors of the graph by name.

    Source: `tf.contrib.predictor.from_saved_model`.
    """

    def __init__(self, session: Any, feed_tensors: Mapping[str, Any], fetch_tensors: Mapping[str, Any]) -> None:
        self.session, self.graph = session, session.graph
        self.feed_tensors, self.fetch_tensors = dict(feed_tensors), dict(fetch_tensors)

    def __call__(self, input_dict: Mapping[str, Any]) -> dict[str, Any]:
        """The outputs by name for some inputs by name."""
        if unknown := input_dict.keys() - self.feed_tensors.keys():
            problem = f"no inputs are called {', '.join(map(repr, sorted(unknown)))}; there are {[*self.feed_tensors]}."
            raise op_error(ValueError, "the predictor", problem)
        fed = {self.feed_tensors[name]: array for name, array in input_dict.items()}
        return self.session.run(self.fetch_tensors, fed)


@function("contrib.predictor.from_saved_model", "v1")
def from_saved_model(
    export_dir: Any,
    signature_def_key: str | None = None,
    signature_def: Any = None,
    input_names: Mapping[str, str] | None = None,
    output_names: Mapping[str, str] | None = None,
    tags: Any = None,
    graph: Any = None,
    config: Any = None,
) -> Predictor:
    """A SavedModel as a function of a dict of arrays, which returns a dict of arrays.

    Args:
        export_dir: the folder of the model.
        signature_def_key, signature_def: the signature; by default, the one for serving.
        input_names, output_names: name → the name of a tensor, in place of a signature.
        tags: of the graph to take, with commas between; by default "serve".
        graph: the graph to which it is added; by default a new one.

    Raises:
        ValueError: there is no such signature.

    Source: `tf.contrib.predictor.from_saved_model`.
    """
    session = named("Session")(graph=graph or named("Graph")(), config=config)
    meta = load_into_session(session, tags.split(",") if isinstance(tags, str) else tags or ["serve"], export_dir)
    if input_names is None or output_names is None:
        key = signature_def_key or "serving_default"
        if signature_def is None and key not in meta.signature_def:
            problem = f"there is no signature {key!r}, but {[*meta.signature_def]}."
            raise op_error(ValueError, "tf.contrib.predictor.from_saved_model", problem)
        signature = signature_def or meta.signature_def[key]
        input_names, output_names = (
            {name: info.name for name, info in part.items()} for part in (signature.inputs, signature.outputs)
        )
    feeds, fetches = (
        {name: session.graph.get_tensor_by_name(tensor) for name, tensor in part.items()}
        for part in (input_names, output_names)
    )
    return Predictor(session, feeds, fetches)
