"""Calls: the inputs and attributes of a node as a row says, and the results of its op or function."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import numpy as np

from dovetail import ops
from dovetail.core.base.errors import FormatError
from dovetail.core.base.read_limits import need_operations
from dovetail.core.base.table import OPS
from dovetail.formats.nodes.constants import constant_of, is_tensor, recorded
from dovetail.formats.nodes.opaque import Unreadable
from dovetail.formats.nodes.rows import Row
from dovetail.formats.tensorflow.attributes import CONVERTERS
from dovetail.formats.tensorflow.values import Foreign, Host
from dovetail.graph.graph_scopes import scoped
from dovetail.ops.shapes.shape import rank_of

COUNTS = ("num", "num_split")  # attributes that are the number of results


def by_row(row: Row, node: Any) -> list[Any]:
    """Call the op or the function of a row with a node's inputs and attributes, and assign results to variables.

    Raises:
        Unreadable: the node has an attribute or an input that the row does not take.
    """
    if (place := _open_axis(row, node)) is not None:
        return _by_axis(row, node, place)
    assigned = [index for index, one in enumerate(row.inputs) if one.way == "^"]
    with scoped(node.reader.graph, in_order=[]) if assigned and node.reader.is_session else nullcontext():
        given = _inputs(row, node) | _attributes(row, node)
    results = listed(OPS[row.ours](**given) if row.body is None else row.body(**given))
    for attribute in row.attributes:
        if attribute.theirs in COUNTS and (said := node.attrs(attribute.theirs, len(results), int)) != len(results):
            where, said_now = f"the node {node.name!r}", f"{attribute.theirs}={said}"
            raise FormatError(node.reader.file, where, said_now, f"{len(results)}, as its inputs have it")
        if attribute.result is not None:
            dtype, number = node.attrs(attribute.theirs) if attribute.theirs else attribute.default, attribute.result
            results[number] = results[number] if results[number].dtype == dtype else ops.cast(results[number], dtype)
    assigned_values = [node.reader.assign(node.variable(index), results.pop(0)) for index in assigned]
    if not assigned or not node.inputs[0].is_reference:
        return results
    return [replace(node.inputs[0], after=tuple(value.op for value in assigned_values if is_tensor(value)))]


def _open_axis(row: Row, node: Any) -> int | None:
    """The number of an input that is an axis, and depends on values; None if there is none."""
    ways = [one.way for one in row.inputs]
    names = [one.param for one in row.inputs]
    if "axis" not in names or "*" in ways or len(node.inputs) != len(names):
        return None
    place = names.index("axis")
    is_open = ways[place] == "!" and constant_of(node.tensor(place)) is None
    return place if is_open and node.tensor(place).shape in ((), (1,)) and node.tensor(0).shape else None


def _by_axis(row: Row, node: Any, place: int) -> list[Any]:
    """The results for an axis that depends on values: those of one branch for each axis."""
    axis, inputs = node.tensor(place), list(node.inputs)
    rank, number = rank_of(node.tensor(0)), ops.reshape(axis, ())
    within = ops.logical_and(number >= -rank, number < rank)
    text = f"{node.type} {node.name!r}: the axis must be in [{-rank}, {rank}), and is"
    within = OPS["Assert"](within, (axis,), text)

    def along(known: int) -> list[Any]:
        given = [*inputs[:place], recorded(np.full(axis.shape, known), axis.dtype), *inputs[place + 1 :]]
        return by_row(row, node.of(given))

    def chosen(known: int) -> list[Any]:
        if known == rank - 1:
            return along(known)
        is_it = ops.logical_or(ops.equal(number, known), ops.equal(number, known - rank))
        return listed(ops.cond(ops.logical_and(within, is_it), lambda: along(known), lambda: chosen(known + 1)))

    return chosen(0)


def _inputs(row: Row, node: Any) -> dict[str, Any]:
    """The arguments that are inputs; lists have the same length."""
    lists = sum(one.way == "*" for one in row.inputs)
    spare = len(node.inputs) - len(row.inputs) + lists
    if (spare < 0 or spare % lists) if lists else spare:
        raise Unreadable(f"it has {len(node.inputs)} inputs, and the op takes {len(row.inputs)}")
    given: dict[str, Any] = {}
    at = 0
    for one in row.inputs:
        if one.way == "*":
            given[one.param] = [node.tensor(index) for index in range(at, at + spare // lists)]
        else:
            given[one.param] = _TAKEN[one.way](node, at)
        at += spare // lists if one.way == "*" else 1
    return given


def _attributes(row: Row, node: Any) -> dict[str, Any]:
    """The arguments that are attributes, or that the type says."""
    given: dict[str, Any] = {}
    for attribute in row.attributes:
        if attribute.theirs in COUNTS:
            need_operations(node.attrs(attribute.theirs, 0, int))
        if attribute.ours and not attribute.theirs:
            given[attribute.ours] = attribute.only
        elif attribute.only is not None and (actual := node.attrs(attribute.theirs)) != attribute.only:
            raise Unreadable(f"its attribute {attribute.theirs} is {actual}, and Dovetail computes {attribute.only}")
        elif attribute.ours:
            given[attribute.ours] = CONVERTERS[attribute.converter][0](node.attrs, attribute.theirs)
    return given


def _value(node: Any, index: int) -> Any:
    return node.reader.current(node.variable(index))


_TAKEN: dict[str, Callable[[Any, int], Any]] = {
    "": lambda node, index: node.tensor(index),
    "!": lambda node, index: node.constant(index),
    "?": lambda node, index: node.shape(index),
    "&": _value,
    "^": _value,
    "#": lambda node, index: node.tensor_list(index),
    "~": lambda node, index: node.item(index),
}


def listed(found: Any) -> list[Any]:
    """The results of a node as a list."""
    return list(found) if isinstance(found, (list, tuple)) and not isinstance(found, (Foreign, Host)) else [found]
