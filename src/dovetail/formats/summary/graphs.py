"""Summaries of TensorFlow's graphs: GraphDef, MetaGraphDef and SavedModel, as bytes or as text."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from dovetail.core.base.errors import FormatError
from dovetail.formats.keras.saved_model import KINDS, read_folder
from dovetail.formats.summary.base import Shape, Summary, Table, Value, marked, operations, signature, summary, values
from dovetail.formats.summary.checkpoints import stored
from dovetail.formats.summary.keras import layers_of, model_of
from dovetail.formats.summary.source import Source
from dovetail.formats.wire import bundle
from dovetail.formats.wire.messages import TENSORFLOW, from_text
from dovetail.formats.wire.slim import BYTES, VARINT, Span, slim, spans
from dovetail.formats.wire.tensors import DTYPES, REFERENCE, STRING, shape_of

LOOKED_AT = 1000  # fields of a file by which its kind is recognised
LONGEST = 2**28  # bytes of a text
OP, NAME = re.compile(rb"[A-Z][A-Za-z0-9_>.]*\Z|_[A-Z][A-Za-z0-9_]*\Z"), re.compile(rb"[A-Za-z0-9.][\w.\\/>-]*\Z")
FIRST_WORD = re.compile(rb"\s*(?:#[^\n]*\n\s*)*([A-Za-z_]\w*)\s*[:{<]")
TEXTS = {  # the fields with which a text may begin → its message
    **dict.fromkeys((b"node", b"library", b"versions"), "GraphDef"),
    **dict.fromkeys(
        (b"meta_info_def", b"graph_def", b"saver_def", b"collection_def", b"signature_def"), "MetaGraphDef"
    ),
    **dict.fromkeys((b"saved_model_schema_version", b"meta_graphs"), "SavedModel"),
}
VARIABLES = "VarHandleOp", "VariableV2", "Variable"
PLACEHOLDERS = "Placeholder", "PlaceholderV2", "PlaceholderWithDefault"
NO_OUTPUTS = {"Assign", "AssignVariableOp", "Const", "NoOp", "SaveV2", "MergeV2Checkpoints", *PLACEHOLDERS, *VARIABLES}
COLLECTIONS = {"node_list": "names", "bytes_list": "messages", "int64_list": "ints", "float_list": "floats"}


# -- recognition ------------------------------------------------------------------------------------------------------


def _text_of(source: Source) -> str | None:
    """The name of the message of which a file is the text; None if it is no such text."""
    match = FIRST_WORD.match(source.data[:LOOKED_AT])
    return TEXTS.get(match[1]) if match else None


def _fields(source: Source) -> list[Span]:
    """The first fields of a message; none if the file does not begin with fields."""
    try:
        return list(islice(spans(source.data, 0, source.size), LOOKED_AT))
    except ValueError:
        return []


def _types(fields: Iterable[Span]) -> set[tuple[int, int]]:
    return {(span.number, span.kind) for span in fields}


def is_saved_model(source: Source) -> bool:
    """Whether a file is a SavedModel: its version, and graphs."""
    if text := _text_of(source):
        return text == "SavedModel"
    return _types(_fields(source)) == {(1, VARINT), (2, BYTES)}


def is_graph(source: Source) -> bool:
    """Whether a file is a GraphDef: it begins with a node, which has a name and the name of an op."""
    if text := _text_of(source):
        return text == "GraphDef"
    fields = _fields(source)
    known = _types(fields) <= {(1, BYTES), (2, BYTES), (3, VARINT), (4, BYTES)}
    return bool(fields) and known and fields[0].number == 1 and _is_node(source.data, fields[0])


def _is_node(data: Any, node: Span) -> bool:
    try:
        inner = {s.number: data[s.first : s.end] for s in spans(data, node.first, node.end) if s.number < 3}
    except ValueError:
        return False
    return bool(NAME.match(inner.get(1, b"")) and OP.match(inner.get(2, b"")))


def is_meta_graph(source: Source) -> bool:
    """Whether a file is a MetaGraphDef: it begins with facts about a graph, and the graph."""
    if text := _text_of(source):
        return text == "MetaGraphDef"
    types = _types(_fields(source))
    return types <= {(number, BYTES) for number in range(1, 8)} and {(1, BYTES), (2, BYTES)} <= types


def _message(source: Source, name: str) -> Any:
    """The message of a file, without weights."""
    kind = getattr(TENSORFLOW, name)
    if _text_of(source) is None:
        return slim(kind, source.data, source.path)
    if source.size > LONGEST:
        raise FormatError(source.path, "the text", f"{source.size} bytes", f"at most {LONGEST}: write it as bytes")
    try:
        return from_text(kind, source.data[:].decode(), source.path)
    except UnicodeDecodeError:
        raise FormatError(source.path, "the text", "bytes that are no UTF-8", f"the text of a {name}") from None


def graphs_of(source: Source) -> dict[str, Any]:
    """The messages `GraphDef` in a file of any of these kinds, without weights.

    Raises:
        FormatError: it is damaged.
    """
    name = source.path.stem
    if is_graph(source):
        return {name: _message(source, "GraphDef")}
    if is_saved_model(source):
        metas = _message(source, "SavedModel").meta_graphs
    else:
        metas = [_message(source, "MetaGraphDef")]
    names = [name] if len(metas) == 1 else [f"{number}_{name}" for number in range(len(metas))]
    return {place: meta.graph_def for place, meta in zip(names, metas, strict=True)}


# -- the parts of a graph ---------------------------------------------------------------------------------------------


def dtype_name(number: int) -> str:
    """The name of a dtype of TensorFlow, as `resource` or `float32`."""
    base = number % REFERENCE
    if base == STRING:
        return "string"
    if base in DTYPES:
        return DTYPES[base].name
    if not base:
        return "?"  # a node that does not say it
    names = TENSORFLOW.NodeDef.DESCRIPTOR.file.enum_types_by_name["DataType"].values_by_number
    return names[base].name.removeprefix("DT_").lower() if base in names else f"dtype {number}"


def _value(name: str, dtype: int, shape: Shape | None) -> Value:
    count = None if shape is None or None in shape else math.prod(shape)  # type: ignore[arg-type]  # no None is left
    known = DTYPES.get(dtype % REFERENCE)
    size = None if count is None or known is None or known.hasobject else count * known.itemsize
    return Value(name, dtype_name(dtype), shape, size)


def _attribute(node: Any, *names: str) -> Any:
    """The first attribute of a node among some names; None if it has none of them."""
    return next((node.attr[name] for name in names if name in node.attr), None)


def _of_node(node: Any) -> Value:
    """The name, dtype and shape of a node's result, as far as it says them."""
    dtype, shape = _attribute(node, "dtype", "T", "DstT", "out_type"), _attribute(node, "shape")
    known = _attribute(node, "_output_shapes")  # of a handle, not of its variable
    if shape is not None:
        shape = shape.shape
    elif known is not None and known.list.shape:
        shape = known.list.shape[0]
    return _value(node.name, dtype.type if dtype is not None else 0, None if shape is None else shape_of(shape))


def _type(node: Any, functions: Collection[str]) -> str:
    """The type of a node; it is marked as opaque if nothing computes it."""
    return node.op if node.op in functions else marked("tensorflow", node.op)


def _nodes(graph: Any) -> tuple[Table, Table, Table]:
    """The tables of a graph: operations, variables, constants."""
    functions = {function.signature.name for function in graph.library.function}
    inner = Counter(_type(node, functions) for function in graph.library.function for node in function.node_def)
    every = [*graph.node, *(node for function in graph.library.function for node in function.node_def)]
    constants = [node for node in every if node.op == "Const" and "value" in node.attr]
    tensors = ((node.name, node.attr["value"].tensor) for node in constants)
    return (
        operations({"graph": Counter(_type(node, functions) for node in graph.node), "functions": inner}),
        values("variables", [_of_node(node) for node in graph.node if node.op in VARIABLES]),
        values("constants", [_value(name, t.dtype, shape_of(t.tensor_shape)) for name, t in tensors]),
    )


def _ends(graph: Any) -> Iterator[tuple[str, str, Value]]:
    """The placeholders, and the results that no node takes."""
    taken = {name.partition(":")[0] for node in graph.node for name in node.input}
    for node in graph.node:
        if node.op in PLACEHOLDERS:
            yield node.op, "input", _of_node(node)
    for node in graph.node:
        if node.name not in taken and node.op not in NO_OUTPUTS:
            yield node.op, "output", _of_node(node)


def of_graph(source: Source) -> Summary:
    """The summary of a GraphDef.

    Raises:
        FormatError: it is damaged.
    """
    graph = _message(source, "GraphDef")
    facts = {"producer": graph.versions.producer, "functions": len(graph.library.function)}
    return summary(source.path, "GraphDef", facts, [signature(_ends(graph), "operation"), *_nodes(graph)])


# -- graphs with facts about them -------------------------------------------------------------------------------------


def of_meta_graph(source: Source) -> Summary:
    """The summary of a MetaGraphDef.

    Raises:
        FormatError: it is damaged.
    """
    meta = _message(source, "MetaGraphDef")
    return summary(source.path, "MetaGraphDef", _facts(meta), _tables(meta, None))


def of_saved_model(source: Source) -> Summary:
    """The summary of a SavedModel; its variables are in files beside it.

    Raises:
        FormatError: it is damaged.
    """
    model = _message(source, "SavedModel")
    if not model.meta_graphs:
        raise FormatError(source.path, "meta_graphs", "no graph", "one at least")
    prefix = str(Path(source.path).parent / "variables" / "variables")
    variables = stored(prefix) if bundle.exists(prefix) else None
    first, *others = model.meta_graphs
    facts, tables = _facts(first), _tables(first, variables)
    objects = first.object_graph_def.nodes
    if objects and objects[0].user_object.identifier in KINDS:
        config = read_folder(Path(source.path).parent).config
        facts, tables = facts | model_of(config), [*tables, layers_of(config)]
    for other in others:
        named = f"graph {', '.join(other.meta_info_def.tags)}"
        facts |= {f"{named}: {name}": value for name, value in _facts(other).items()}
        tables += [table._replace(title=f"{named}: {table.title}") for table in _tables(other, variables)]
    return summary(source.path, "SavedModel", facts, tables)


def _facts(meta: Any) -> dict[str, Any]:
    assets = [asset.filename for asset in meta.asset_file_def]
    return {
        "tags": ", ".join(meta.meta_info_def.tags),
        "written by": f"TensorFlow {meta.meta_info_def.tensorflow_version}",
        "functions": len(meta.graph_def.library.function),
        "assets": ", ".join(assets),
        "saver": meta.saver_def.save_tensor_name,
    }


def _tables(meta: Any, variables: Table | None) -> list[Table]:
    counted, of_nodes, constants = _nodes(meta.graph_def)
    objects = Counter(node.WhichOneof("kind") or "plain" for node in meta.object_graph_def.nodes)
    signatures = list(_signatures(meta)) or list(_ends(meta.graph_def))
    return [
        signature(signatures, "signature" if meta.signature_def else "operation"),
        counted,
        variables or of_nodes,
        constants,
        Table("objects", ("kind", "count"), [(kind.replace("_", " "), n) for kind, n in objects.most_common()]),
        Table("collections", ("name", "kind", "count"), sorted(map(_collection, meta.collection_def.items()))),
    ]


def _signatures(meta: Any) -> Iterator[tuple[str, str, Value]]:
    for name, given in sorted(meta.signature_def.items()):
        for way, infos in (("input", given.inputs), ("output", given.outputs)):
            for key, info in sorted(infos.items()):
                yield name, way, _value(key, info.dtype, shape_of(info.tensor_shape))


def _collection(item: tuple[str, Any]) -> tuple[str, str, int]:
    name, collection = item
    kind = collection.WhichOneof("kind") or ""
    return name, COLLECTIONS.get(kind, "messages"), len(getattr(collection, kind).value) if kind else 0
