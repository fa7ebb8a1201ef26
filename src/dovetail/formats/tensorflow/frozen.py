"""Frozen graphs: a graph of Dovetail without variables as a message `GraphDef`."""

from __future__ import annotations

from typing import Any

from dovetail.formats.tensorflow.writing import Writer
from dovetail.formats.wire.messages import TENSORFLOW

PRODUCER = 1882  # the version of graphs that TensorFlow 2.17 writes


def graph_def_of(graph: Any) -> Any:
    """A graph as a message `GraphDef`, with the functions that its branches and loops call.

    Args:
        graph: it reads no variables.

    Raises:
        NotImplementedError: TensorFlow has no way to compute an operation.
        LookupError: the graph reads a variable.
    """
    writer = Writer()
    message = TENSORFLOW.GraphDef()
    message.versions.producer = PRODUCER
    message.node.extend(writer.nodes(graph))
    message.library.function.extend(writer.library.values())
    return message
