"""SVG: a small graph as a drawing with all scopes open, for documents and notebooks."""

from __future__ import annotations

import html
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from dovetail.formats.pictures.layout import OUTSIDE, Layout
from dovetail.formats.pictures.page import box_width, scope_layouts
from dovetail.formats.pictures.picture import OUTPUT, Node, Picture
from dovetail.formats.pictures.tree import Edge, Tree

ROW, HEAD, INSET, LINE, LINES, EDGE = 44.0, 28.0, 16.0, 26.0, 40.0, 12.0
MOST = 2000  # nodes of a drawing; a page shows more
STYLE = """\
text { font: 600 12px system-ui, "Segoe UI", "Liberation Sans", Arial, sans-serif; fill: #1c2330; text-anchor: middle }
text.sub, text.spec { font-weight: 400; font-size: 10px; fill: #667085 }
text.spec, text.scope { text-anchor: start }
text.spec { paint-order: stroke; stroke: #fff; stroke-width: 3px }
rect { fill: #e8effd; stroke: #3b82f6; stroke-width: 1.2 }
rect.scope { fill: #8891a010; stroke: #c3c9d3 }
rect.start { fill: #e3f3e6; stroke: #2f9e44 } rect.state { fill: #faf0d9; stroke: #c98a00 }
rect.const { fill: #eef0f2; stroke: #8d96a3 }
path { fill: none; stroke: #98a2b3; stroke-width: 1.1 } path.waits { stroke-dasharray: 5 4 }
marker path { fill: #98a2b3; stroke: none }"""
CLASSES = {
    "Placeholder": "start", OUTPUT: "start", "Const": "const", "ReadVariableOp": "state", "AssignVariableOp": "state",
}  # fmt: skip

Point = tuple[float, float]


def svg_of(picture: Picture) -> str:
    """A picture as SVG.

    Raises:
        ValueError: it has too many operations for a drawing.

    Example:
        >>> import dovetail as dt
        >>> from dovetail.formats.pictures.picture import picture_of
        >>> text = svg_of(picture_of(dt.function(dt.ops.tanh).graph(dt.spec((3,)))))
        >>> text.startswith("<svg "), ">Tanh</text>" in text
        (True, True)
    """
    tree = Tree(picture)
    if len(tree.items) > MOST:
        problem = f"the graph {picture.name!r} has {len(tree.items)} operations and scopes, too many for a drawing"
        raise ValueError(f"{problem} (at most {MOST}); write a page, .html, instead.")
    drawing = _Drawing(tree)
    width, height = drawing.width + 2 * EDGE, drawing.height + 2 * EDGE
    size = f'width="{width:.0f}" height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}"'
    head = '<marker id="arrow" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img">',
            f"<title>{_escaped(picture.name)}</title><style>{STYLE}</style>",
            f'<defs>{head}<path d="M0 0L8 4L0 8z"/></marker></defs>',
            f'<g transform="translate({EDGE:.0f} {EDGE:.0f})">',
            *drawing.parts(),
            "</g></svg>\n",
        ]
    )


def _escaped(text: str) -> str:
    return html.escape("".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text))


class _Box(NamedTuple):
    """A rectangle: the middle, the top and the size."""

    x: float
    y: float
    width: float
    height: float


class _Drawing:
    """The boxes of all items."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self.sizes: dict[int, tuple[float, float]] = {}
        self.layouts: dict[int, Layout] = {}
        self.rows: dict[int, list[tuple[float, float]]] = {}  # per scope, the top and the bottom of each layer
        for scope, layout in scope_layouts(tree, self._width):
            self._size(scope, layout)
        self.width, self.height = self.sizes.get(0, (0.0, 0.0))
        self.boxes: dict[int, _Box] = {}
        if 0 in self.layouts:
            self._settle(0, _Box(self.width / 2, 0.0, self.width, self.height))

    def _width(self, number: int) -> float:
        return self._box(number)[0]

    def _box(self, number: int) -> tuple[float, float]:
        if number not in self.sizes:
            node = self.tree.items[number].node
            self.sizes[number] = box_width(self.tree, number), LINES if node is not None and node.subtitle else LINE
        return self.sizes[number]

    def _size(self, scope: int, found: Layout) -> None:
        """Note the layers of a scope, and its size."""
        heights = [0.0] * found.depth
        for child, layer in zip(self.tree.children[scope], found.layers, strict=True):
            heights[layer] = max(heights[layer], self._box(child)[1])
        at, rows = HEAD if scope else 0.0, []
        for height in heights:
            rows.append((at, at + height))
            at += height + ROW if height else 0.0
        low, high = self._ends(scope, found)
        label = len(self.tree.items[scope].label) * 7.0 + 2 * INSET
        self.layouts[scope], self.rows[scope] = found, rows
        self.sizes[scope] = max(high - low + 2 * INSET, label), at - ROW + (INSET if scope else 0.0)

    def _ends(self, scope: int, found: Layout) -> tuple[float, float]:
        """The left and the right end of what is in a scope."""
        boxes = list(zip(self.tree.children[scope], found.centers, strict=True))
        bends = [x for chain in found.bends.values() for x in chain]
        lefts = [x - self._box(child)[0] / 2 for child, x in boxes]
        rights = [x + self._box(child)[0] / 2 for child, x in boxes]
        return min([*lefts, *bends]), max([*rights, *bends])

    def _shift(self, scope: int) -> float:
        """The distance from positions in a scope to positions in the drawing."""
        return self.boxes[scope].x - sum(self._ends(scope, self.layouts[scope])) / 2

    def _settle(self, scope: int, box: _Box) -> None:
        """Give all that is in a scope its place, if the scope has the place of a box."""
        self.boxes[scope] = box
        layout, shift = self.layouts[scope], self._shift(scope)
        for child, layer, center in zip(self.tree.children[scope], layout.layers, layout.centers, strict=True):
            width, height = self._box(child)
            top, bottom = self.rows[scope][layer]
            down = (bottom - top - height) / 2 if bottom - top < 2 * LINES else 0.0
            placed = _Box(center + shift, box.y + top + down, width, height)
            if child in self.layouts:
                self._settle(child, placed)
            self.boxes[child] = placed

    def parts(self) -> Iterator[str]:
        """The elements: scopes, then edges, then nodes."""
        items = self.tree.items
        for number, box in sorted(self.boxes.items()):
            if number and number in self.layouts:
                node = items[number].node
                label = items[number].label if node is None else node.title
                yield _rect(box, "scope", 8)
                yield _text(label, box.x - box.width / 2 + 10, box.y + 18, "scope")
        told: set[tuple[int, int]] = set()
        for edge in dict.fromkeys(self.tree.edges):
            points = self._points(edge.source, edge.target)
            waits = ' class="waits"' if edge.output < 0 else ""
            yield f'<path d="{_curve(points)}" marker-end="url(#arrow)"{waits}/>'
            source = items[edge.source].node
            assert source is not None
            if edge.output >= 0 and source.type not in CLASSES and (edge.source, edge.output) not in told:
                told.add((edge.source, edge.output))
                yield _text(source.outputs[edge.output], points[0][0] + 6, points[0][1] + 13, "spec")
        for number, box in sorted(self.boxes.items()):
            node = items[number].node
            if node is not None and number not in self.layouts:
                yield from _node(node, box)

    def _points(self, source: int, target: int) -> list[Point]:
        """The points of an edge: from below a box, through bends and borders of scopes, to the top of another."""
        start, end = self.boxes[source], self.boxes[target]
        up: list[Point] = [(start.x, start.y + start.height)]
        down: list[Point] = [(end.x, end.y)]
        middle: list[Point] = []
        for scope, first, last in self.tree.steps(Edge(source, 0, target)):
            box = self.boxes[scope]
            if last == scope:
                up += self._bends(scope, first, last)
                up.append((up[-1][0], box.y + box.height))
            elif first == scope:
                down[:0] = self._bends(scope, first, last)
                down.insert(0, (down[0][0], box.y))
            else:
                middle = self._bends(scope, first, last)
        return [*up, *middle, *down]

    def _bends(self, scope: int, first: int, last: int) -> list[Point]:
        layout, children = self.layouts[scope], self.tree.children[scope]
        ends = [OUTSIDE if end == scope else children.index(end) for end in (first, last)]
        layer = 0 if first == scope else layout.layers[ends[0]] + 1
        shift, y = self._shift(scope), self.boxes[scope].y
        points: list[Point] = []
        for number, x in enumerate(layout.bends.get((ends[0], ends[1]), ())):
            top, bottom = self.rows[scope][layer + number]
            points += [(x + shift, y + top), (x + shift, y + bottom)]
        return points


def _curve(points: list[Point]) -> str:
    """The path through points: curves that leave and arrive vertically."""
    path = [f"M{points[0][0]:.1f} {points[0][1]:.1f}"]
    for (x, y), (to_x, to_y) in pairwise(points):
        if abs(to_x - x) < 0.5 and to_y >= y:
            path.append(f"V{to_y:.1f}")
        else:
            reach = max(abs(to_y - y) / 2, 0.0 if to_y >= y else 40.0)
            path.append(f"C{x:.1f} {y + reach:.1f} {to_x:.1f} {to_y - reach:.1f} {to_x:.1f} {to_y:.1f}")
    return "".join(path)


def _rect(box: _Box, kind: str, radius: float) -> str:
    place = f'x="{box.x - box.width / 2:.1f}" y="{box.y:.1f}" width="{box.width:.1f}" height="{box.height:.1f}"'
    return f'<rect class="{kind}" {place} rx="{radius:g}"/>'


def _text(text: str, x: float, y: float, kind: str) -> str:
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}">{_escaped(text)}</text>'


def _node(node: Node, box: _Box) -> Iterator[str]:
    most = int((box.width - 14) / 6.5)
    kind = CLASSES.get(node.type, "op")
    details = "\n".join([node.name, *(f"{key}={value}" for key, value in node.attributes), *_place(node)])
    yield f"<g><title>{_escaped(details)}</title>"
    yield _rect(box, kind, 6 if kind == "op" else box.height / 2)
    middle = box.y + box.height / 2
    yield _text(_cut(node.title, most), box.x, middle - 3 if node.subtitle else middle + 4, kind)
    if node.subtitle:
        yield _text(_cut(node.subtitle, int(most * 1.2)), box.x, middle + 12, "sub")
    yield "</g>"


def _place(node: Node) -> list[str]:
    return [] if node.line is None else [node.line.place]


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"
