"""Model Explorer: a graph as the JSON of Google's viewer of that name.

The graphs of loops and branches are graphs of their own there, to which their operations point.

Source: github.com/google-ai-edge/model-explorer, `input_graph.ts`.
"""

from __future__ import annotations

import json
from typing import Any

from dovetail.formats.pictures.picture import Node, Picture


def model_explorer_of(picture: Picture) -> str:
    """A picture as a graph collection in JSON.

    Example:
        >>> import dovetail as dt
        >>> from dovetail.formats.pictures.picture import picture_of
        >>> graph = dt.function(dt.ops.tanh, name="f").graph(dt.spec((3,)))
        >>> found = json.loads(model_explorer_of(picture_of(graph)))["graphs"][0]
        >>> [(node["label"], node["incomingEdges"]) for node in found["nodes"][:1]], found["id"]
        ([('Placeholder', [])], 'f')
    """
    graphs: list[dict[str, Any]] = []
    _add(picture, picture.name, graphs)
    return json.dumps({"label": picture.name, "graphs": graphs}, separators=(",", ":"))


def _add(picture: Picture, name: str, graphs: list[dict[str, Any]]) -> str:
    """Add a picture under a name, and the pictures in it, to a list; return the name."""
    nodes: list[dict[str, Any]] = []
    graphs.append({"id": name, "nodes": nodes})
    for number, node in enumerate(picture.nodes):
        inner = [_add(graph, f"{name}/{node.name}/{key}", graphs) for key, graph in node.inner]
        nodes.append(_node(number, node, inner))
    return name


def _node(number: int, node: Node, inner: list[str]) -> dict[str, Any]:
    attributes = [("name", node.name), *node.attributes, *((key, str(value)) for key, value in node.facts.items())]
    if node.line is not None:
        attributes.append(("line", node.line.place))
    edges = [(source, str(output)) for source, output in node.inputs] + [(source, "control") for source in node.waits]
    encoded = {
        "id": str(number),
        "label": node.type,
        "namespace": node.name.rpartition("/")[0],
        "attrs": [{"key": key, "value": value} for key, value in attributes],
        "incomingEdges": [
            {"sourceNodeId": str(source), "sourceNodeOutputId": output, "targetNodeInputId": str(place)}
            for place, (source, output) in enumerate(edges)
        ],
        "outputsMetadata": [
            {"id": str(output), "attrs": [{"key": "tensor_shape", "value": spec}]}
            for output, spec in enumerate(node.outputs)
        ],
    }
    return encoded | {"subgraphIds": inner} if inner else encoded
