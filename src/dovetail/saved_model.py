"""Models in TensorFlow's files, to be called, edited and trained; TensorFlow is not needed."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from dovetail.core.errors import op_error
from dovetail.core.variable import Variable
from dovetail.edit.graph import Graph
from dovetail.formats.tensorflow import control as control
from dovetail.formats.tensorflow import lists as lists
from dovetail.formats.tensorflow import special as special
from dovetail.formats.tensorflow.saved_model import Read, SavedGraph, read_graph_def, read_saved_model
from dovetail.formats.wire.libraries import need
from dovetail.plan.function import function

SERVING = "serving_default"


class Signature:
    """A signature of a model, to be called with tensors by their keys.

    Attributes:
        inputs, outputs: the keys.
        graph: the graph of Dovetail; edits of it change the next call.
        opaque: names of operations that Dovetail does not compute → the reason.
    """

    def __init__(self, name: str, read: Read) -> None:
        self.name, self.graph, self.opaque = name, read.graph, read.opaque
        self.inputs, self.outputs = read.inputs, read.outputs
        self._run = function(read.graph)

    def __call__(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        """The results by their keys.

        Args:
            args: values of the inputs, in the order of `inputs`.
            kwargs: values by their keys.

        Raises:
            TypeError: an input is missing, given twice or not known.
        """
        given = dict(zip(self.inputs, args, strict=False))
        twice = [key for key in kwargs if key in given]
        given |= kwargs
        if len(args) > len(self.inputs) or twice or given.keys() != {*self.inputs}:
            needed = ", ".join(self.inputs) or "nothing"
            problem = f"it takes {needed}, not {len(args)} values and {', '.join(kwargs) or 'no keys'}."
            raise op_error(TypeError, self.name, problem)
        found = self._run(*[given[key] for key in self.inputs])
        found = found if isinstance(found, (list, tuple)) else [found]
        return dict(zip(self.outputs, found, strict=True))

    def keep(self, *outputs: str) -> None:
        """Leave out the other results, and the operations that only they need.

        Raises:
            KeyError: there is no result of a key.
        """
        for key in outputs:
            if key not in self.outputs:
                raise KeyError(f"{self.name!r} has no result {key!r}; it has {', '.join(self.outputs)}")
        places = [self.outputs.index(key) for key in outputs]
        self.graph.outputs = [self.graph.outputs[place] for place in places]
        self.outputs = list(outputs)

    def __repr__(self) -> str:
        return f"<signature {self.name}({', '.join(self.inputs)}) -> {', '.join(self.outputs)}>"


class _Signatures(Mapping[str, Signature]):
    """The signatures of a model; each is read when it is first used."""

    def __init__(self, saved: SavedGraph) -> None:
        self._saved = saved
        self._read: dict[str, Signature] = {}

    def __getitem__(self, name: str) -> Signature:
        if name not in self._saved.signatures:
            raise KeyError(f"no signature {name!r}; there are {', '.join(self._saved.signatures) or 'none'}")
        if name not in self._read:
            self._read[name] = Signature(name, self._saved.read(name))
        return self._read[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._saved.signatures)

    def __len__(self) -> int:
        return len(self._saved.signatures)

    def __repr__(self) -> str:
        return f"<signatures {', '.join(self)}>"


class LoadedModel:
    """A model from a file of TensorFlow; made by `load`.

    Attributes:
        signatures: name → `Signature`.
        graph_def: the message that was read, with all nodes and functions, called or not.
    """

    def __init__(self, saved: SavedGraph) -> None:
        self._saved = saved
        self.signatures: Mapping[str, Signature] = _Signatures(saved)
        self.graph_def = saved.graph_def

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The result of the signature `serving_default`, or of the only one: a tensor, or a dict of several by keys.

        Args:
            args, kwargs: as for `Signature`.

        Raises:
            ValueError: there are several signatures, and none of this name.
        """
        found = self._main(*args, **kwargs)
        return next(iter(found.values())) if len(found) == 1 else found

    @cached_property
    def _main(self) -> Signature:
        names = list(self.signatures)
        if SERVING not in names and len(names) != 1:
            problem = f"it has the signatures {', '.join(names) or 'none'}; call one, model.signatures[name](...)."
            raise op_error(ValueError, "saved_model", problem)
        return self.signatures[SERVING if SERVING in names else names[0]]

    @property
    def graph(self) -> Graph:
        """The graph of the signature that a call runs."""
        return self._main.graph

    @cached_property
    def variables(self) -> list[Variable]:
        """The variables that the signatures read or assign."""
        for name in self.signatures:
            self.signatures[name]  # reading makes its variables
        return list(self._saved.variables.values())

    @property
    def trainable_variables(self) -> list[Variable]:
        """The variables that training changes."""
        return [variable for variable in self.variables if variable.trainable]

    def __repr__(self) -> str:
        return f"<model {str(self._saved.file)!r}: {', '.join(self.signatures)}>"


def load(path: str | os.PathLike[str], tags: Iterable[str] | None = None) -> LoadedModel:
    """Load a SavedModel, or a frozen graph, of TensorFlow.

    Nothing in the file is executed, and TensorFlow is not needed.  A node that Dovetail cannot compute becomes an
    opaque operation of the graph: it can be looked at and cut away, and a run that needs it names it.

    Args:
        path: the folder of a SavedModel, or a file with a `GraphDef`: `.pb`, or `.pbtxt` for text.
        tags: which graph of a SavedModel to take, if it has several.

    Returns:
        The model: `model(x)` runs it, `model.signatures` has all ways to run it, `model.graph` can be edited, and
        `model.variables` are `Variable`s.

    Raises:
        FileNotFoundError: there is no such file.
        FormatError: it is damaged, or no graph has the tags.
        ImportError: the extra `formats` is not installed.

    Source: `tf.saved_model.load`.
    """
    need("saved_model.load")
    file = Path(path)
    return LoadedModel(read_saved_model(file, tags) if file.is_dir() else read_graph_def(file))


__all__ = ["LoadedModel", "Signature", "load"]
