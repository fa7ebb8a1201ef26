"""The layout of scopes: layers, rows without overlaps, bends, and its speed."""

from __future__ import annotations

import random
import time
from itertools import pairwise

import pytest

from dovetail.formats.pictures.layout import GAP, OUTSIDE, layout, spread


def random_edges(count, seed=1):
    """Edges as in a deep net: mostly to the node before, some further up."""
    chance = random.Random(seed)
    edges = []
    for node in range(1, count):
        edges.append((max(0, node - 1 - int(chance.random() * min(3, node))), node))
        if chance.random() < 0.35 and node > 8:
            edges.append((max(0, node - 1 - int(chance.random() * 8)), node))
    return edges


@pytest.mark.parametrize("seed", range(5))
def test_edges_go_down_and_nothing_overlaps(seed):
    count = 120
    widths = [40.0 + 10 * (node % 7) for node in range(count)]
    edges = [(OUTSIDE, 3), *random_edges(count, seed), (17, OUTSIDE)]
    found = layout(widths, edges)
    rows = {}
    for node, layer in enumerate(found.layers):
        rows.setdefault(layer, []).append((found.centers[node], widths[node]))
    for source, target in edges:
        if OUTSIDE not in (source, target):
            assert found.layers[source] < found.layers[target]
    for (source, target), bends in found.bends.items():
        first = 0 if source == OUTSIDE else found.layers[source] + 1
        last = found.depth if target == OUTSIDE else found.layers[target]
        assert len(bends) == last - first
        for layer, center in enumerate(bends, first):
            rows[layer].append((center, 8.0))
    for row in rows.values():
        row.sort()
        for (x, width), (other, wide) in pairwise(row):
            assert other - x >= (width + wide) / 2 + GAP - 1e-6


def test_constants_come_right_before_their_users():
    # 0 is an input and 1 a constant; 2, 3, 4 follow the input; 5 takes the constant's cast, 6
    edges = [(0, 2), (2, 3), (3, 4), (1, 5), (4, 6), (5, 6)]
    assert layout([40.0] * 7, edges, late=[0]).layers == [0, 2, 1, 2, 3, 3, 4]


def test_an_edge_against_the_order_moves_no_node():
    assert layout([40.0] * 3, [(0, 1), (1, 2), (2, 0)]).layers == [0, 1, 2]


def test_nothing_and_single_nodes():
    assert layout([], []).depth == 0
    assert layout([40.0, 40.0], []).centers == [-32.0, 32.0]


def test_rows_keep_to_the_wanted_positions():
    assert spread([0.0, 100.0, 300.0], [40.0] * 3, [1.0] * 3) == [0.0, 100.0, 300.0]
    moved = spread([0.0, 10.0], [40.0, 40.0], [3.0, 1.0])  # the heavy one moves a third as far as the other
    assert moved[1] - moved[0] == pytest.approx(40 + GAP)
    assert 3 * (0.0 - moved[0]) == pytest.approx(moved[1] - 10.0)


def test_ten_thousand_nodes_take_about_ten_times_as_long_as_a_thousand():
    seconds = {}
    for count in (1000, 10_000):
        edges, times = random_edges(count), []
        for _ in range(3):
            start = time.process_time()
            found = layout([90.0] * count, edges)
            times.append(time.process_time() - start)
        seconds[count] = min(times)
    assert seconds[10_000] < 30 * seconds[1000]
    assert sum(map(len, found.bends.values())) <= 20_100
