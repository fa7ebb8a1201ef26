"""Page: a graph as one HTML file that a browser shows without any network.

Python lays the graph out, scope by scope, and writes it as columns of numbers; each text is written once.  The scripts
of `viewer/` are part of the page, and so is its style.  Texts of the graph are data, never markup or code.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable, Hashable, Iterable
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np

from dovetail.core.base.table import OPS
from dovetail.formats.pictures.layout import OUTSIDE, Layout, layout
from dovetail.formats.pictures.picture import OUTPUT, Node, Picture, folded
from dovetail.formats.pictures.tree import Item, Tree

SCRIPTS = (
    "model",
    "arrange",
    "colours",
    "draw",
    "drawing",
    "panel",
    "main",
)  # in this order: later ones use earlier ones
STARTS = frozenset(["Placeholder"])  # these stay in the first layer


def page_of(picture: Picture) -> str:
    """A picture as an HTML page.

    Example:
        >>> import dovetail as dt
        >>> from dovetail.formats.pictures.picture import picture_of
        >>> text = page_of(picture_of(dt.function(dt.ops.tanh).graph(dt.spec((3,)))))
        >>> text.startswith("<!doctype html>"), "https://" in text
        (True, False)
    """
    data = json.dumps(page_data(Tree(folded(picture))), separators=(",", ":")).replace("<", "\\u003c")
    parts = {"title": html.escape(picture.name), "graph": data, "style": _file("page.css")}
    parts["script"] = "\n".join(_file(f"{name}.js") for name in SCRIPTS)
    return re.sub(r"\{\{(\w+)\}\}", lambda match: parts[match[1]], _file("page.html"))


@cache
def _file(name: str) -> str:
    return (files("dovetail.formats.pictures") / "viewer" / name).read_text(encoding="utf-8")


class _Numbers:
    """The numbers of distinct values, in the order in which they come."""

    def __init__(self) -> None:
        self.known: dict[Hashable, int] = {}

    def __call__(self, value: Hashable) -> int:
        return self.known.setdefault(value, len(self.known))


def page_data(tree: Tree) -> dict[str, Any]:
    """The data of the page: columns, with a row for each item or for each node.

    Returns:
        "parent", "label", "layer", "center": columns of all items.  "item", "type", "title", "subtitle", "outputs",
        "attributes", "line", "inputs": columns of nodes, with the numbers of their items.  "waits": the items for which
        some nodes wait.  "weights": the numbers of the values that nodes take.  "facts": more columns of nodes, by
        name.  "bends": lists of two items and positions.  "strings", "groups", "lines", "values": the values for which
        other columns have numbers.
    """
    strings, groups, lines, values = _Numbers(), _Numbers(), _Numbers(), _Numbers()
    placed = laid_out(tree)
    at = [item for item, entry in enumerate(tree.items) if entry.node is not None]
    nodes: list[Node] = [item.node for item in tree.items if item.node is not None]
    weights = {weight[:2]: weight for node in nodes for weight in node.weights}
    inputs: dict[int, list[int]] = {item: [] for item in at}
    waits: dict[int, list[int]] = {}
    for source, output, target in tree.edges:
        if output < 0:
            waits.setdefault(target, []).append(source)
        else:
            inputs[target] += (source, output)
    return {
        "name": tree.items[0].label,
        "operations": sum(node.type != OUTPUT for node in nodes),
        "parent": [item.parent for item in tree.items],
        "label": [strings(item.label) for item in tree.items],
        "layer": placed.layers,
        "center": placed.centers,
        "bends": placed.bends,
        "item": at,
        "type": [strings(node.type) for node in nodes],
        "title": [strings(node.title) for node in nodes],
        "subtitle": [strings(node.subtitle) for node in nodes],
        "outputs": [groups(tuple(map(strings, node.outputs))) for node in nodes],
        "attributes": [groups(tuple([strings(text) for pair in node.attributes for text in pair])) for node in nodes],
        "line": [-1 if node.line is None else lines(tuple(map(strings, node.line))) for node in nodes],
        "inputs": list(inputs.values()),
        "waits": {number: waits[item] for number, item in enumerate(at) if item in waits},
        "weights": [[values(weight[:2]) for weight in node.weights] for node in nodes],
        "facts": dict(_facts(nodes)),
        "documents": {name: _summary(name) for name in dict.fromkeys(node.type for node in nodes)},
        "strings": list(strings.known),
        "groups": list(groups.known),
        "lines": list(lines.known),
        "values": [[*key, numbers_of(weight.value())] for key, weight in weights.items()],
    }


def _facts(nodes: list[Node]) -> Iterable[tuple[str, Any]]:
    """The columns of facts: numbers as they are, and the distinct values of others with their numbers."""
    for key in dict.fromkeys(key for node in nodes for key in node.facts):
        column = [_plain(node.facts.get(key)) for node in nodes]
        if any(isinstance(value, str) for value in column):
            values = _Numbers()
            numbers = [values(value if value is None else str(value)) for value in column]
            yield key, {"values": list(values.known), "of": numbers}
        else:
            yield key, column


def _plain(value: Any) -> Any:
    """A fact as JSON holds it; numbers without a value, and NumPy's, as Python's numbers or texts."""
    value = value.item() if hasattr(value, "item") and not getattr(value, "ndim", 0) else value
    if isinstance(value, (tuple, list)):
        return ", ".join(map(str, value))
    if value is None or isinstance(value, (bool, str)):
        return str(value) if isinstance(value, bool) else value
    is_number = isinstance(value, (int, float)) and value - value == 0
    return value if is_number else str(value)


@cache
def _summary(name: str) -> str:
    """The first line of an op's documentation."""
    op = OPS.get(name)
    return "" if op is None else (op.__doc__ or "").strip().partition("\n")[0].replace("`", "")


# -- weights -----------------------------------------------------------------------------------------------------------

BINS, MOST_COUNTED, MOST_SHOWN = 32, 1 << 20, 24  # of a histogram; numbers that it counts; numbers that are shown


def numbers_of(value: np.ndarray | None) -> dict[str, Any] | None:
    """The numbers of a weight that a page shows; None if the value is unknown, empty or not numeric.

    Returns:
        "least", "mean", "largest"; "first": the first numbers as text; "counts": how many of at most a million numbers
        are in each of some equal parts between the least and the largest; "odd": how many are not finite.

    Example:
        >>> numbers_of(np.array([[0.0, 1.0], [1.0, np.inf]]))["counts"][::31], numbers_of(np.zeros(0))
        ([1, 2], None)
    """
    if value is None or not value.size or value.dtype.kind not in "bifuV":
        return None
    flat = value.reshape(-1)
    numbers = flat[:: -(-flat.size // MOST_COUNTED)].astype("float64")
    finite = numbers[np.isfinite(numbers)]
    found: dict[str, Any] = {"first": ", ".join(f"{x:.6g}" for x in flat[:MOST_SHOWN].astype("float64").tolist())}
    if flat.size > MOST_SHOWN:
        found["first"] += ", …"
    if odd := numbers.size - finite.size:
        found["odd"] = odd
    if finite.size:
        found |= {"least": float(finite.min()), "mean": float(finite.mean()), "largest": float(finite.max())}
        found["counts"] = np.histogram(finite, BINS)[0].tolist()
    return found


# -- positions --------------------------------------------------------------------------------------------------------


class Placed:
    """The layer and the place of each item in its scope, and the bends of edges.

    Attributes:
        layers: per item.
        centers: per item, rounded.
        bends: two items and the positions of the bends of the edge between them; one may be the scope of the other.
    """

    def __init__(self, count: int) -> None:
        self.layers = [0] * count
        self.centers = [0] * count
        self.bends: list[list[int]] = []


def laid_out(tree: Tree) -> Placed:
    """Lay out each scope of a tree, with all scopes in it closed."""
    placed = Placed(len(tree.items))
    for scope, scope_layout in scope_layouts(tree, lambda number: box_width(tree, number)):
        children = tree.children[scope]
        for child, layer, center in zip(children, scope_layout.layers, scope_layout.centers, strict=True):
            placed.layers[child], placed.centers[child] = layer, round(center)
        for (first, last), bends in scope_layout.bends.items():
            ends = (scope if end == OUTSIDE else children[end] for end in (first, last))
            placed.bends.append([*ends, *map(round, bends)])
    return placed


def scope_layouts(tree: Tree, width: Callable[[int], float]) -> Iterable[tuple[int, Layout]]:
    """The layout of each scope, inner ones first.

    Args:
        width: the number of an item → its width, asked for when the layouts inside of it are known.
    """
    pieces: list[dict[tuple[int, int], None]] = [{} for _ in tree.items]
    for edge in tree.edges:
        for scope, first, last in tree.steps(edge):
            pieces[scope][first, last] = None
    for scope in reversed(range(len(tree.items))):
        if children := tree.children[scope]:
            local = {child: number for number, child in enumerate(children)} | {scope: OUTSIDE}
            edges = [(local[first], local[last]) for first, last in pieces[scope]]
            fixed = [number for number, child in enumerate(children) if _starts(tree.items[child])]
            yield scope, layout([width(child) for child in children], edges, fixed)


def _starts(item: Item) -> bool:
    return item.node is not None and item.node.type in STARTS


LETTER, MARGIN, NARROWEST, WIDEST = 6.9, 22.0, 52.0, 230.0


def box_width(tree: Tree, number: int) -> float:
    """The width of an item's box, for its texts."""
    _, label, node = tree.items[number]
    texts = (node.title, node.subtitle) if node is not None else (label, "     ")
    return min(WIDEST, max(NARROWEST, max(map(len, texts)) * LETTER + MARGIN))
