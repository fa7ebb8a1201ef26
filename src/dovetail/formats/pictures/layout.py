"""Layout: the nodes of one scope in layers from top to bottom, so that edges go down and seldom cross.

Sugiyama's way: layers by the longest path, an order within each layer by the neighbours' means, then positions.  A long
edge gets a bend in each layer that it crosses, as if there were a small node, so that other nodes make room for it.

Source: Sugiyama, Tagawa and Toda 1981, "Methods for visual understanding of hierarchical system structures".
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

GAP = 24.0  # between neighbours in a layer
BEND = 8.0  # the width of a bend
LIGHT = 0.05  # the weight of a bend, which makes room for nodes; a node's is 1
BENDS = 2  # bends for each node, at most: the longest edges of large graphs go without
FEW = 50  # bends that a small graph may have
SWEEPS, PLACINGS = 8, 4
OUTSIDE = -1  # in edges: they come from above the first layer, or go to below the last one


class Layout(NamedTuple):
    """The layers and positions of a scope's nodes.

    Attributes:
        layers: per node, the number of its layer.
        centers: per node, the horizontal position of its middle.
        bends: the horizontal positions of an edge's bends, by edge: one in each layer between its ends.
        depth: the number of layers.
    """

    layers: list[int]
    centers: list[float]
    bends: dict[tuple[int, int], list[float]]
    depth: int


def layout(widths: Sequence[float], edges: Iterable[tuple[int, int]], late: Iterable[int] = ()) -> Layout:
    """Lay the nodes of a scope out.

    Args:
        widths: of the nodes, in program order.
        edges: pairs of nodes, each once; OUTSIDE stands for all that is not in the scope.  An edge against the program
            order is drawn, but moves no node.
        late: nodes without inputs that stay in the first layer, such as a program's inputs.

    Example:
        >>> found = layout([40.0, 40.0, 40.0], [(0, 1), (1, 2), (0, 2)])
        >>> found.layers, list(map(round, found.centers)), list(map(round, found.bends[0, 2]))
        ([0, 1, 2], [0, -2, 0], [46])
    """
    pairs = list(dict.fromkeys(edges))
    layers = _layers(len(widths), pairs, set(late))
    depth = 1 + max(layers, default=-1)
    drawing = _Drawing(widths, layers, depth, pairs)
    drawing.order()
    drawing.place()
    bends = {edge: [drawing.centers[bend] for bend in nodes] for edge, nodes in drawing.bends.items()}
    return Layout(layers, drawing.centers[: len(widths)], bends, depth)


def _layers(count: int, edges: list[tuple[int, int]], fixed: set[int]) -> list[int]:
    """The layers by the longest path; what needs no input from elsewhere comes right before its first user."""
    before: list[list[int]] = [[] for _ in range(count)]
    after: list[list[int]] = [[] for _ in range(count)]
    from_outside = set()
    for source, target in edges:
        if source == OUTSIDE:
            from_outside.add(target)
        elif source < target:
            before[target].append(source)
            after[source].append(target)
    layers = [0] * count
    floats = [False] * count  # whether it has no input, or inputs alone that have none
    for node in range(count):
        layers[node] = max([layers[other] + 1 for other in before[node]], default=0)
        floats[node] = node not in from_outside and node not in fixed and all(floats[other] for other in before[node])
    for node in reversed(range(count)):
        if floats[node] and after[node]:
            layers[node] = min(layers[other] for other in after[node]) - 1
    return layers


class _Drawing:
    """Nodes and bends, numbered together: nodes first."""

    def __init__(self, widths: Sequence[float], layers: list[int], depth: int, edges: list[tuple[int, int]]) -> None:
        self.widths = list(widths)
        self.weights = [1.0] * len(widths)
        self.rows: list[list[int]] = [[] for _ in range(depth)]
        self.above: list[list[int]] = [[] for _ in widths]
        self.below: list[list[int]] = [[] for _ in widths]
        self.bends: dict[tuple[int, int], list[int]] = {}
        for node, layer in enumerate(layers):
            self.rows[layer].append(node)
        room = FEW + BENDS * len(widths)
        spans = [
            (depth if target == OUTSIDE else layers[target]) - (-1 if source == OUTSIDE else layers[source])
            for source, target in edges
        ]
        for number in sorted(range(len(edges)), key=spans.__getitem__):
            source, target = edges[number]
            span = spans[number]
            if span < 1:
                continue
            room -= span - 1
            if room < 0:
                self._chain([source, target])
                continue
            first = 0 if source == OUTSIDE else layers[source] + 1
            chain = [self._bend(layer) for layer in range(first, first + span - 1)]
            self._chain([source, *chain, target])
            if chain:
                self.bends[edges[number]] = chain
        self.centers = [0.0] * len(self.widths)

    def _bend(self, layer: int) -> int:
        number = len(self.widths)
        self.widths.append(BEND)
        self.weights.append(LIGHT)
        self.above.append([])
        self.below.append([])
        self.rows[layer].append(number)
        return number

    def _chain(self, chain: list[int]) -> None:
        """Note that each of some nodes is above the next one."""
        for upper, lower in pairwise(chain):
            if OUTSIDE not in (upper, lower):
                self.below[upper].append(lower)
                self.above[lower].append(upper)

    def order(self) -> None:
        """Order each layer by the means of the neighbours' places, down and up in turns."""
        places = [0.0] * len(self.widths)
        for row in self.rows:
            _number(row, places)
        for sweep in range(SWEEPS):
            neighbours, rows = (self.above, self.rows) if sweep % 2 == 0 else (self.below, reversed(self.rows))
            for row in rows:
                if len(row) > 1:
                    means = {node: _mean(neighbours[node], places, places[node]) for node in row}
                    row.sort(key=means.__getitem__)
                    _number(row, places)

    def place(self) -> None:
        """Give positions: as near to the neighbours' as the widths permit, down and up in turns."""
        for row in self.rows:
            self._spread(row, [0.0] * len(row))
        for turn in range(PLACINGS):
            neighbours, rows = (self.above, self.rows) if turn % 2 == 0 else (self.below, reversed(self.rows))
            for row in rows:
                self._spread(row, [self._pull(neighbours[node], self.centers[node]) for node in row])

    def _spread(self, row: list[int], wanted: list[float]) -> None:
        centers = spread(wanted, [self.widths[node] for node in row], [self.weights[node] for node in row])
        for node, center in zip(row, centers, strict=True):
            self.centers[node] = center

    def _pull(self, neighbours: list[int], otherwise: float) -> float:
        """The weighted mean of the neighbours' positions."""
        if len(neighbours) < 2:
            return self.centers[neighbours[0]] if neighbours else otherwise
        weights = [self.weights[node] for node in neighbours]
        return sum([self.centers[node] * weight for node, weight in zip(neighbours, weights, strict=True)]) / sum(
            weights
        )


def _number(row: list[int], places: list[float]) -> None:
    first = (1 - len(row)) / 2
    for number, node in enumerate(row):
        places[node] = first + number


def _mean(nodes: list[int], places: list[float], otherwise: float) -> float:
    if not nodes:
        return otherwise
    if len(nodes) == 1:
        return places[nodes[0]]
    return sum([places[node] for node in nodes]) / len(nodes)


def spread(wanted: Sequence[float], widths: Sequence[float], weights: Sequence[float]) -> list[float]:
    """Positions in a row that are nearest to the wanted ones (least squares), in their order and without overlaps.

    Example:
        >>> spread([0.0, 0.0, 200.0], [40.0, 40.0, 40.0], [1.0, 1.0, 1.0])
        [-32.0, 32.0, 200.0]
    """
    blocks: list[tuple[float, float, int]] = []  # neighbours that touch: their mean, their weight, their number
    offsets: list[float] = []
    offset = 0.0
    for number, width in enumerate(widths):
        if number:
            offset += (widths[number - 1] + width) / 2 + GAP
        offsets.append(offset)
        mean, weight, count = wanted[number] - offset, weights[number], 1
        while blocks and blocks[-1][0] > mean:
            other, heavy, others = blocks.pop()
            mean = (mean * weight + other * heavy) / (weight + heavy)
            weight, count = weight + heavy, count + others
        blocks.append((mean, weight, count))
    starts = [mean for mean, _, count in blocks for _ in range(count)]
    return [start + offset for start, offset in zip(starts, offsets, strict=True)]
