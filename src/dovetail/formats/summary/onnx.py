"""ONNX models: how they are recognised, without the tables of their types."""

from __future__ import annotations

from itertools import islice

from dovetail.formats.summary.base import Summary
from dovetail.formats.summary.source import Source
from dovetail.formats.wire.slim import BYTES, VARINT, spans

FIELDS = {(1, VARINT), (5, VARINT), *((number, BYTES) for number in (2, 3, 4, 6, 7, 8, 14, 20, 25, 26))}
GRAPH, IMPORT = (7, BYTES), (8, BYTES)


def is_onnx(source: Source) -> bool:
    """Whether a file is a ModelProto: it has a graph, and imports sets of operators."""
    try:
        fields = {(span.number, span.kind) for span in islice(spans(source.data, 0, source.size), 1000)}
    except ValueError:
        return False
    return fields <= FIELDS and GRAPH in fields and IMPORT in fields


def of_onnx(source: Source) -> Summary:
    """The summary of an ONNX model; the sizes of external weights are those that the file says.

    Raises:
        FormatError: it is damaged.
    """
    from dovetail.formats.summary.onnx_contents import contents_of  # files of other kinds do without its tables

    return contents_of(source)
