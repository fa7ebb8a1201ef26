"""The picture of what a command line names: a function, or the graphs of a file."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from dovetail.cli import WrongInput
from dovetail.cli.forms import OWN, model_of
from dovetail.cli.inputs import graph_of, imported, inputs_of
from dovetail.cli.options import is_function
from dovetail.core.values.structure import flatten
from dovetail.edit.graph import Graph
from dovetail.execute.plan_base import Runnable
from dovetail.formats.pictures.picture import Picture, joined, picture_of
from dovetail.formats.pictures.tensorflow import Values, picture_of_proto
from dovetail.formats.saved import load
from dovetail.formats.summary.kinds import foreign_graphs, kind_of
from dovetail.formats.tensorflow.saved_model import read_meta_graph, read_saved_model
from dovetail.functions.function import Function


def picture_named(options: argparse.Namespace) -> Picture:
    """The picture of a function, `file.py:function`, with its example inputs; or of the graphs in a file.

    Raises:
        WrongInput: the inputs do not fit, or the file has no graph.
        FormatError: the file is damaged, or of a kind that has no graphs.
        OSError: the file cannot be read.
    """
    name = options.path
    if is_function(name):
        return picture_of(graph_of(imported(name), inputs_of(options.inputs), name))
    if options.inputs:
        raise WrongInput(f"{name!r} is a file, which takes no example inputs; a function is file.py:function.")
    protos = foreign_graphs(Path(name))
    if protos is not None:
        values = _values(name) if len(protos) == 1 else lambda name: None
        pictures = {place: picture_of_proto(place, proto, values) for place, proto in protos.items()}
    elif kind_of(name)[0] == OWN:
        pictures = {place: picture_of(graph) for place, graph in _graphs(load(name))}
    else:
        signatures = model_of(options).signatures.values()
        pictures = _distinct({signature.name: picture_of(signature.graph) for signature in signatures})
    if not pictures:
        raise WrongInput(f"{name!r} has no graph; `dovetail show {name}` prints its contents.")
    found = joined(Path(name).name, pictures)
    found.name = Path(name).name
    return found


def _values(name: str) -> Values:
    """What gives the values of the variables in a file of TensorFlow."""
    kind, file = kind_of(name)
    if kind == "SavedModel":
        return read_saved_model(file.parent).value_of
    return read_meta_graph(file).value_of if kind == "MetaGraphDef" else lambda name: None


def _distinct(pictures: dict[str, Picture]) -> dict[str, Picture]:
    """The pictures of a model's signatures, without lines of this program, and without those that are like a later one.

    Keras writes each model as `serve` and as `serving_default`.
    """
    found = {}
    for name, picture in pictures.items():
        _forget_lines(picture)
        found[_contents(picture)] = name
    return {name: pictures[name] for name in found.values()}


def _contents(picture: Picture) -> tuple[Any, ...]:
    """What a picture shows, without the names of its nodes."""
    return tuple(
        (
            *(node.type, *node.outputs, *node.inputs, *node.waits, *node.attributes),
            node.weight and node.weight[:2],
            *((key, _contents(inner)) for key, inner in node.inner),
        )
        for node in picture.nodes
    )


def _forget_lines(picture: Picture) -> None:
    for node in picture.nodes:
        node.line = None
        for _, inner in node.inner:
            _forget_lines(inner)


def _graphs(value: Any) -> Iterator[tuple[str, Graph]]:
    """The graphs of a loaded value, each with a name."""
    leaves, _ = flatten(value, "show")
    for number, leaf in enumerate(leaves):
        for graph in _graphs_of(leaf):
            yield f"{graph.name}" if len(leaves) == 1 else f"{number}_{graph.name}", graph


def _graphs_of(leaf: Any) -> list[Graph]:
    if isinstance(leaf, Graph):
        return [leaf]
    if isinstance(leaf, Function):
        return leaf.graphs
    return [leaf.graph] if isinstance(leaf, Runnable) else []
