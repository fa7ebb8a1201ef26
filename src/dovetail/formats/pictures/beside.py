"""Beside: two graphs in one picture, matched by the names of their nodes, with what differs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from dovetail.formats.pictures.picture import Node, Picture, folded, joined

DIFFERENCE = "difference"  # the fact of each node that says it
SAME, CHANGED, ALONE = "the same", "changed", "only here"


def beside(first: Picture, second: Picture) -> Picture:
    """Two pictures in one, each in a scope of its name.

    Each node gets the fact "difference": it is the same in both, changed, or only here.  A changed node also gets the
    other one's texts where they differ.  Weights that are known are compared by value.

    Example:
        >>> import dovetail as dt
        >>> from dovetail.formats.pictures.picture import picture_of
        >>> one, other = (dt.function(f, name=name).graph(dt.spec((3,))) for name, f in (
        ...     ("one", lambda x: dt.ops.exp(dt.ops.sum(x, 0))), ("other", lambda x: dt.ops.sum(x, 0, keepdims=True))))
        >>> for node in beside(picture_of(one), picture_of(other)).nodes:
        ...     print(node.name, "is", node.facts["difference"])
        one/arg0 is the same
        one/Sum is changed
        one/Exp is only here
        one/output is changed
        other/arg0 is the same
        other/Sum is changed
        other/output is changed
    """
    pictures = [folded(first), folded(second)]
    names = [first.name, second.name if second.name != first.name else f"{second.name}, the other"]
    known = [{node.name: node for node in picture.nodes} for picture in pictures]
    for picture, others in zip(pictures, reversed(known), strict=True):
        for node in picture.nodes:
            node.facts = {**node.facts, DIFFERENCE: ALONE}
            if other := others.get(node.name):
                changes = dict(_changes(picture, node, pictures[picture is pictures[0]], other))
                node.facts[DIFFERENCE] = CHANGED if changes else SAME
                node.attributes = [*node.attributes, *((f"{key}, there", text) for key, text in changes.items())]
    return joined(" and ".join(names), dict(zip(names, pictures, strict=True)))


def _changes(picture: Picture, node: Node, other_picture: Picture, other: Node) -> Iterator[tuple[str, str]]:
    """The texts of the other node that differ, by their names."""
    mine, theirs = _texts(picture, node), _texts(other_picture, other)
    yield from ((key, theirs.get(key, "none")) for key in {**mine, **theirs} if mine.get(key) != theirs.get(key))
    values = {weight.name: weight.value() for weight in node.weights}
    for weight in other.weights:
        here, there = values.get(weight.name), weight.value()
        if here is not None and there is not None and here.shape == there.shape and not _are_equal(here, there):
            yield weight.name, _distance(here, there)


def _texts(picture: Picture, node: Node) -> dict[str, str]:
    sources = [f"{picture.nodes[source].name}:{output}" for source, output in node.inputs]
    weights = {f"weight {weight.name}": weight.spec for weight in node.weights}
    inner = {key: str(len(part.nodes)) for key, part in node.inner}
    found = {"type": node.type, "results": ", ".join(node.outputs), "inputs": ", ".join(sources)}
    return {**found, **dict(node.attributes), **weights, **inner}


def _are_equal(here: Any, there: Any) -> bool:
    """Whether two arrays have the same values; a NaN is like another."""
    return np.array_equal(here, there, equal_nan=here.dtype.kind == there.dtype.kind == "f")


def _distance(here: Any, there: Any) -> str:
    """How far two arrays of one shape are from each other."""
    if here.dtype.kind not in "biuf" or there.dtype.kind not in "biuf":
        return "other values"
    most = np.abs(here.astype("float64") - there.astype("float64")).max()
    return f"differs by at most {most:.4g}" if np.isfinite(most) else "other values, some of them not finite"
