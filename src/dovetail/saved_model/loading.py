"""Models in TensorFlow's files, to be called, edited and trained; TensorFlow is not needed."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from dovetail.core.base.errors import op_error
from dovetail.core.values.variable import Variable
from dovetail.edit.graph import Graph
from dovetail.formats.outside import read_by
from dovetail.formats.tensorflow.objects import Objects
from dovetail.formats.tensorflow.patching import Patch
from dovetail.formats.tensorflow.saved_model import SavedGraph, read_graph_def, read_meta_graph, read_saved_model
from dovetail.formats.wire.libraries import need
from dovetail.saved_model.objects import LoadedObject, RestoredFunction, object_of
from dovetail.saved_model.signatures import (
    SERVING,
    OneSignature,
    Signature,
    Signatures,
    given_shapes,
)


class LoadedModel(OneSignature, LoadedObject):
    """A model from a file of TensorFlow; made by `load`.  The attributes of its objects are attributes.

    Attributes:
        signatures: name → `Signature`.
        graph_def: the message that was read, with all nodes and functions, called or not.
    """

    def __init__(self, saved: SavedGraph) -> None:
        LoadedObject.__init__(self, None if saved.object_graph is None else Objects(saved))
        self._saved = saved
        self.signatures = Signatures(saved)
        self.graph_def = saved.graph_def

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The result of the model's own `__call__`, if it has one.

        Else it is that of the signature `serving_default`, or of the only one: a tensor, or a dict of several by keys.

        Args:
            args, kwargs: as for the function, or for `Signature`.

        Raises:
            TypeError: the function was not saved for such arguments.
            ValueError: there are several signatures, and none of this name.
        """
        if self._own is not None:
            return self._own(*args, **kwargs)
        results = self._main(*args, **kwargs)
        return next(iter(results.values())) if len(results) == 1 else results

    @cached_property
    def _own(self) -> RestoredFunction | None:
        number = None if self._objects is None else self._objects.children(0).get("__call__")
        return None if number is None or self._objects is None else object_of(self._objects, "__call__", number)

    def results(self, *names: str, feeds: Iterable[str] = ()) -> Signature:
        """A new signature, from the placeholders of the file's graph to tensors of it.

        Args:
            names: of tensors, such as `dense_1/BiasAdd:0`; they are the keys of the results.
            feeds: names of placeholders with a default, such as `keep_prob`, that become inputs; others have it.

        Raises:
            KeyError: there is no such tensor, or no such placeholder; the message lists names that end alike.
            NotImplementedError: Dovetail has no value of one of them, such as a handle.
        """
        wanted = self._saved.results(names, feeds)
        read = self._saved.read_signature("results", wanted)
        lost = [repr(key) for key in wanted.outputs if key not in read.outputs]
        if lost:
            problem = f"Dovetail has no value of {', '.join(lost)}; ask for tensors that its node needs."
            raise op_error(NotImplementedError, "results", problem)
        return Signature("results", read)

    @cached_property
    def _main(self) -> Signature:
        names = list(self.signatures)
        if SERVING not in names and len(names) != 1:
            problem = f"it has the signatures {', '.join(names) or 'none'}; call one, model.signatures[name](...)."
            raise op_error(ValueError, "saved_model", problem)
        return self.signatures[SERVING if SERVING in names else names[0]]

    def _edits(self) -> list[Callable[[Patch], None]]:
        """The edited signatures and functions, as changes of the message in the file."""
        named = {name: one for name, one in self.signatures.made.items() if one.is_edited}
        made = [] if self._objects is None else self._objects.made.values()
        return [
            *(partial(Patch.signature, name=name, **one.parts) for name, one in named.items()),
            *(edit for one in made if isinstance(one, RestoredFunction) for edit in one.edits()),
        ]

    @property
    def graph(self) -> Graph:
        """The graph of the signature that a call runs."""
        return self._main.graph

    @property
    def signature(self) -> Signature:
        """The signature that a call runs: `serving_default`, or the only one."""
        return self._main

    @property
    def variables(self) -> list[Variable]:
        """The variables that the signatures read or assign."""
        for name in self.signatures:
            self.signatures[name]  # reading makes its variables
        return list(self._saved.variables.values())

    def __repr__(self) -> str:
        return f"<model {str(self._saved.file)!r}: {', '.join(self.signatures)}>"


@read_by("dt.saved_model.load")
def load(
    path: str | os.PathLike[str],
    tags: Iterable[str] | None = None,
    shapes: Mapping[str, Sequence[int | None]] | None = None,
) -> LoadedModel:
    """Load a SavedModel, a frozen graph, or a graph with its checkpoint, of TensorFlow.

    Nothing in the file is executed, and TensorFlow is not needed.  A node that Dovetail cannot compute becomes an
    opaque operation of the graph: it can be looked at and cut away, and a run that needs it names it.

    Args:
        path: the folder of a SavedModel; a file with a `GraphDef`, `.pb`, or `.pbtxt` for text; or a `.meta` beside
            its checkpoint.
        tags: which graph of a SavedModel to take, if it has several.
        shapes: keys of inputs of signatures → their shapes, in place of the shapes in the file.

    Returns:
        The model: `model(x)` runs it, `model.signatures` has all ways to run it, `model.graph` can be edited, and
        `model.variables` are `Variable`s.

    Raises:
        FileNotFoundError: there is no such file.
        FormatError: it is damaged, or no graph has the tags.
        ImportError: the extra `formats` is not installed.
        KeyError: no signature has an input of a key among `shapes`.

    Source: `tf.saved_model.load`.

    Example:
        >>> import numpy as np
        >>> model = load("tests/formats/tensorflow/models/mlp")
        >>> model(np.zeros((1, 6), "float32")).shape
        (1, 3)
        >>> model.graph.find("Relu")
        [<operation sequential_1/dense_1/Relu Relu>]
    """
    need("saved_model.load")
    file = Path(path)
    if file.is_dir():
        saved = read_saved_model(file, tags)
    else:
        saved = read_meta_graph(file) if file.name.endswith(".meta") else read_graph_def(file)
    keys = [key for signature in saved.signatures.values() for key in signature.inputs]
    saved.shapes = given_shapes(shapes or {}, keys)
    return LoadedModel(saved)
