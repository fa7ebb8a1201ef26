"""Summaries of Dovetail's own files and of other safetensors files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from dovetail.core.base.errors import FormatError
from dovetail.core.base.texts import count_text
from dovetail.formats import safetensors
from dovetail.formats.saved import document_in
from dovetail.formats.summary.base import Summary, Table, Value, operations, signature, summary, values
from dovetail.formats.summary.source import Source

LONGEST = 60  # characters of a value in a table
MOST = 10_000  # values that are listed


def is_safetensors(source: Source) -> bool:
    """Whether a file begins as safetensors files do."""
    length = int.from_bytes(source.data[:8], "little")
    return source.size > 8 and length <= source.size - 8 and source.data[8:9] == b"{"


def of_safetensors(source: Source) -> Summary:
    """The summary of a safetensors file, which may be Dovetail's own.

    Raises:
        FormatError: it is damaged.
    """
    tensors, metadata = safetensors.read(source.path)
    document = document_in(tensors, metadata, source.path)
    described = {name: _value(name, array) for name, array in tensors.items()}
    if document is None:
        facts = {name: text for name, text in metadata.items() if len(text) <= LONGEST}
        return summary(source.path, "safetensors", facts, [values("tensors", described.values())])
    try:
        return _of_document(source, document, described)
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        problem = f"what cannot be decoded ({type(error).__name__}: {error})"
        raise FormatError(source.path, "the document", problem, "a document that dt.save wrote") from None


def _value(name: str, array: np.ndarray) -> Value:
    return Value(name, array.dtype.name, array.shape, array.nbytes)


def _of_document(source: Source, document: Any, found: dict[str, Value]) -> Summary:
    stored = document["parts"]
    parts = list(_parts(document["object"], "", stored))
    placed = [(place, graph) for place, kind, data in parts if kind in GRAPHS for graph in GRAPHS[kind](data, stored)]
    graphs = list({id(graph): (place, graph) for place, graph in reversed(placed)}.values())[::-1]  # each one once
    variables = [found[key] for key in document["variables"]]
    others = [value for name, value in found.items() if name not in document["variables"]]
    counts = Counter(kind for _, graph in graphs for kind in _types(graph))
    rows = [(place or "the value", _described(kind, data, found, stored)) for place, kind, data in parts[:MOST]]
    return summary(
        source.path,
        "Dovetail's own file",
        {"written by": f"Dovetail {document['release']}", "values": len(parts)},
        [
            Table("values", ("place", "value"), rows),
            signature([row for place, graph in graphs for row in _signature(place, graph)], "graph"),
            operations({"count": counts}),
            values("variables", variables),
            values("other tensors", others),
        ],
    )


def _graph(data: Any, stored: list[Any]) -> Any:
    """The graph of encoded data."""
    return _resolved(data, stored)["graph"]


def _traced(data: Any, stored: list[Any]) -> list[Any]:
    """The graphs of a compiled function."""
    encoded = [data["graph"]] if "graph" in data else [trace["graph"] for trace in data["traces"]]
    return [_graph(each, stored) for each in encoded]


# Kinds of values that have graphs → their graphs, by the data and the parts of the document.
GRAPHS: Mapping[str, Callable[[Any, list[Any]], list[Any]]] = {
    "graph": lambda data, stored: [data],
    "session graph": lambda data, stored: [data["graph"]],
    "compiled": _traced,
    "plan": lambda data, stored: [_graph(data["graph"], stored)],
}


def _resolved(data: Any, stored: list[Any]) -> Any:
    """Encoded data, or the part of the document for which it stands."""
    if type(data) is not dict or "part" not in data:
        return data
    part = stored[data["part"]]
    if not part.keys() <= GRAPHS.keys():
        raise ValueError(f"the part {data['part']} is neither a graph nor a function")
    return part


def _parts(data: Any, place: str, stored: list[Any]) -> Iterator[tuple[str, str, Any]]:
    """The values in nested lists and dicts: place, kind and data."""
    data = _resolved(data, stored)
    if type(data) is dict and len(data) != 1:
        raise ValueError(f"{data!r} is no encoded value")
    kind, inner = next(iter(data.items())) if type(data) is dict else ("list", data)
    if kind in ("list", "set") and type(inner) is list:
        pairs: Any = enumerate(inner)
    elif kind in ("dict", "ordered"):
        pairs = [(key if type(key) is str else _text(key), item) for key, item in inner]
    elif kind == "fields":  # of a named tuple or dataclass
        pairs = inner[1]
    else:
        yield place, kind if type(data) is dict else "plain", inner
        return
    for step, item in pairs:
        yield from _parts(item, f"{place}.{step}" if place else str(step), stored)


def _described(kind: str, data: Any, found: dict[str, Value], stored: list[Any]) -> str:
    if kind == "compiled":
        count, engine = len(_traced(data, stored)), data["engine"]
        return f"function with {count_text(count, 'trace')}{f' on {engine}' if engine else ''}"
    if kind in GRAPHS:
        return f"{kind} with {len(GRAPHS[kind](data, stored)[0]['operations'])} operations"
    if kind in ("variable", "tensor", "array"):
        value = found[data]
        return f"{kind} {value.dtype}[{','.join(map(str, value.shape or ()))}]"
    return _text(data) if kind == "plain" else f"{kind} {_text(data)}"


def _text(data: Any) -> str:
    text = repr(data)
    return text if len(text) <= LONGEST else text[: LONGEST - 3] + "..."


def _signature(place: str, graph: Any) -> Iterator[tuple[str, str, Value]]:
    for way in ("input", "output"):
        for number, output in graph[f"{way}s"]:
            op = graph["operations"][number]
            dtype, shape = op["outputs"][output]
            name = op["name"] if len(op["outputs"]) == 1 else f"{op['name']}:{output}"
            yield place or graph["name"], way, Value(name, dtype, None if shape is None else tuple(shape))


def _types(data: Any) -> Iterator[str]:
    """The types of the operations of a graph and of its subgraphs."""
    for op in data["operations"]:
        yield op["type"]
        yield from (kind for inner in _subgraphs(op["attrs"]) for kind in _types(inner))


def _subgraphs(data: Any) -> Iterator[Any]:
    """The graphs among encoded attributes."""
    if type(data) is dict and type(data.get("graph")) is dict:
        yield data["graph"]
    elif type(data) in (dict, list):
        for item in data.values() if type(data) is dict else data:
            yield from _subgraphs(item)
