"""Nodes that contradict each other or their types: names, inputs, and attributes."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from typing import Any

from dovetail.compat.tf_graph.definition import KEPT
from dovetail.core.base.errors import FormatError
from dovetail.formats.tensorflow.names import split
from dovetail.formats.tensorflow.op_defs import DTYPES, FIELDS, MISSING, Attr, definition
from dovetail.formats.tensorflow.results import UNKNOWN, numbers_of
from dovetail.formats.wire.tensors import NUMBERS, REFERENCE

_NAMES = {number: name for name, number in NUMBERS.items()}
_NAME = re.compile(r"[A-Za-z0-9.][A-Za-z0-9_.\\/>-]*")  # TensorFlow's, of a node


def check_nodes(message: Any, file: str) -> None:
    """Refuse a message `GraphDef` whose nodes contradict each other, as TensorFlow does.

    Args:
        message: the graph.
        file: its name, for the error.

    Raises:
        FormatError: a name is there twice, or is none; a node is not given the dtypes or the number of inputs that it
            says; or it lacks an attribute of its type.
    """
    twice = [name for name, count in Counter(node.name for node in message.node).items() if count > 1]
    if twice:
        raise FormatError(file, "the graph", f"several nodes {twice[0]!r}", "another name for each node")
    made = {node.name: _dtypes(node, "results") for node in message.node}
    for node in message.node:
        _check_alone(node, file)
        wanted = _dtypes(node, "inputs")
        if wanted is not None:
            _check_inputs(node, wanted, made, file)


def _check_alone(node: Any, file: str) -> None:
    """Refuse a node with another name than TensorFlow takes, with inputs out of order, or without an attribute."""
    place = f"the node {node.name!r}"
    if not _NAME.fullmatch(node.name):
        raise FormatError(file, place, "this name", "letters, digits and '._\\/>-', the first no '_', '/' or '-'")
    waits = [text.startswith("^") for text in node.input]
    if waits != sorted(waits):
        raise FormatError(file, place, f"{list(node.input)}", "the inputs before the control inputs")
    known = None if KEPT in node.attr else definition(node.op)
    for one in () if known is None else known.attrs.values():
        field = "list" if one.kind.startswith("list(") else FIELDS.get(one.kind, one.kind)
        is_there = one.name in node.attr
        if is_there and node.attr[one.name].WhichOneof("value") not in (field, None, "placeholder"):
            raise FormatError(file, place, f"another attribute {one.name!r}", f"one of the type {one.kind}")
        if is_there and (allowed := _unmet(one, node.attr[one.name])):
            raise FormatError(file, place, f"another value of the attribute {one.name!r}", allowed)
        if not is_there and one.default is MISSING:
            needed = f"the attribute {one.name!r} ({one.kind}), as all nodes of the type {node.op} have it"
            raise FormatError(file, place, "none of this name", needed)


def _unmet(one: Attr, given: Any) -> str:
    """What the definition of an attribute says of its values, if a node has another one; else nothing."""
    kind, is_list = one.kind.removeprefix("list(").removesuffix(")"), given.WhichOneof("value") == "list"
    field = FIELDS.get(kind, kind)
    values = list(getattr(given.list, field)) if is_list else [getattr(given, field)]
    if one.least is not None and (len(values) if is_list else given.i) < one.least:
        return f"at least {one.least}{' values' * is_list}"
    if one.allowed is None or given.WhichOneof("value") in (None, "placeholder"):
        return ""
    if field == "type":
        names = one.allowed
        is_met = {value % REFERENCE for value in values} <= {DTYPES[name] for name in names}
    else:
        names = list(map(repr, one.allowed))
        is_met = {*values} <= {word.encode() for word in one.allowed}
    return "" if is_met else f"one of {', '.join(names)}"


def _check_inputs(node: Any, wanted: list[int], made: Mapping[str, list[int] | None], file: str) -> None:
    place, texts = f"the node {node.name!r}", [text for text in node.input if not text.startswith("^")]
    if len(texts) != len(wanted):
        raise FormatError(
            file, place, f"{len(texts)} inputs", f"{len(wanted)}, as its type {node.op} and attributes say"
        )
    for number, (text, dtype) in enumerate(zip(texts, wanted, strict=True)):
        name, _, index = split(text)
        given = (made.get(name) or [])[index : index + 1]
        if given and UNKNOWN not in (dtype, *given) and given[0] != dtype:
            wrong = f"{_name(given[0])} from {text!r} as input {number}"
            raise FormatError(file, place, wrong, f"{_name(dtype)}, as its attributes say")


def _dtypes(node: Any, field: str) -> list[int] | None:
    """The numbers of the dtypes of the inputs or results of a node; None if their number is not known."""
    known = None if KEPT in node.attr else definition(node.op)
    return None if known is None else numbers_of(node, getattr(known, field))


def _name(number: int) -> str:
    return _NAMES.get(number, f"the dtype {number}")
