"""Checks and prints: Assert, CheckNumerics, EnsureShape, PreventGradient, Print."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from dovetail import ops
from dovetail.core.base.table import OPS
from dovetail.formats.nodes.constants import is_tensor
from dovetail.formats.tensorflow.read_nodes import Node
from dovetail.formats.tensorflow.table import rows, special, writes
from dovetail.formats.tensorflow.values import Host
from dovetail.formats.tensorflow.written_nodes import Place, Ref
from dovetail.formats.wire.tensors import array_of

rows("""
CheckNumerics PreventGradient: x; message:message
CheckNumericsV2 > CheckNumerics: x; message:message
EnsureShape: x; shape:shape@shape
""")

ASSERTION = "assertion failed:"  # the first words of the error of a check, before its data


@special("Assert", "its data may be strings")
def _assert(node: Node) -> Any:
    data = node.inputs[1:]
    places = ["{}" if is_tensor(value) else " ".join(_words([value])) for value in data]
    text = " ".join([ASSERTION, *(f"[{place}]" for place in places)])
    OPS["Assert"](node.tensor(0), [*filter(is_tensor, data)], text, node.attrs("summarize", 3))
    return []


def _words(data: Sequence[Any]) -> Iterator[str]:
    """The constant strings among some values."""
    for value in data:
        if isinstance(value, Host) and value.node.type == "Const":
            array = array_of(value.node.proto.attr["value"].tensor)
            yield from (text.decode(errors="replace") for text in array.reshape(-1).tolist())


@special("Print", "its data may be strings")
def _print(node: Node) -> Any:
    """The first input, printed if it is all the data; other data are not printed."""
    x = node.tensor(0)
    if node.inputs[1:] != [x]:
        return ops.identity(x)
    return OPS["Print"](x, node.attrs("message", ""), node.attrs("summarize", 3))


# -- writing ----------------------------------------------------------------------------------------------------------


@writes("Assert")
def _write_assert(place: Place, condition: Ref, data: Sequence[Ref], message: str, summarize: int) -> list[Ref]:
    places = iter(data)
    is_own = message.startswith(f"{ASSERTION} [") and message.count("[{}]") == len(data)
    parts = message.removeprefix(f"{ASSERTION} [")[:-1].split("] [") if is_own else [message, *["{}"] * len(data)]
    words = (np.array(part.encode(), object) for part in parts)
    shown = [next(places) if word == b"{}" else place.constant(word, "message") for word in words]
    axes = place.constant([*range(len(place.shapes[0]))], "axes")
    holds = place.node("All", condition, axes, dtype="bool", keep_dims=False)
    place.result("Assert", holds, shown, dtypes=[], summarize=summarize)
    return [condition]


@writes("Print")
def _write_print(place: Place, x: Ref, message: str, summarize: int) -> list[Ref]:
    return place.result("Print", x, [x], message=message, summarize=summarize, first_n=-1)


@writes("EnsureShape", lambda operation: operation.attrs["shape"] is None)
def _any_shape(place: Place, x: Ref, shape: None) -> list[Ref]:
    """Any shape will do; TensorFlow refuses to say so of a value whose rank is known."""
    return place.result("Identity", x)
