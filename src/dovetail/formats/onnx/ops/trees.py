"""Ensembles of trees of ai.onnx.ml, through which all rows walk at once: TreeEnsemble, TreeEnsembleClassifier."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from dovetail import ops
from dovetail.core.base.read_limits import fold
from dovetail.formats.nodes.constants import PYTHON_NUMBER, filled, known_size, recorded, within
from dovetail.formats.nodes.opaque import Unreadable, Words
from dovetail.formats.onnx.nodes import Node
from dovetail.formats.onnx.ops.linear_models import LINKS, in_rows, labels_at, wide
from dovetail.formats.onnx.table import special
from dovetail.ops.shapes.shape import dims_of, known_dims

Array = np.ndarray
TESTS: dict[str, Callable[[Any, Any], Any]] = {  # in the order of the numbers of version 5
    "LEQ": ops.less_equal,
    "LT": ops.less,
    "GTE": ops.greater_equal,
    "GT": ops.greater,
    "EQ": ops.equal,
    "NEQ": ops.not_equal,
}
EQUAL, MEMBER = 4, 6  # numbers of modes
LINK_NUMBERS = Words(
    enumerate(("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"))
)  # in the order of the numbers of version 5
# a word for the way in which leaves' numbers become one → how a number is added to a result, and the result of none
SUMS: Mapping[str, tuple[Callable[..., Any], float]] = Words(
    {
        "AVERAGE": (ops.tensor_scatter_add, 0.0),
        "SUM": (ops.tensor_scatter_add, 0.0),
        "MIN": (ops.tensor_scatter_min, np.inf),
        "MAX": (ops.tensor_scatter_max, -np.inf),
    }
)


class Trees(NamedTuple):
    """The nodes of all trees, leaves among them, as arrays.

    Attributes:
        modes: numbers of tests; any for leaves.
        features: the column of the row that a test looks at.
        limits: the number that it compares with.
        missing: whether the test holds for NaN.
        yes, no: the next node; a leaf is its own.
        roots: the first node of each tree.
    """

    modes: Array
    features: Array
    limits: Array
    missing: Array
    yes: Array
    no: Array
    roots: Array

    def depth(self) -> int:
        """The number of tests on the longest way from a root to a leaf.

        Raises:
            Unreadable: a node leads to none, or a way does not end.
        """
        ways = np.stack([self.yes, self.no])
        named = np.concatenate([*ways, self.roots])
        if not self.roots.size or not ((named >= 0) & (named < len(self.yes))).all():
            raise Unreadable("its nodes lead to nodes that are not there")
        level, count = np.unique(self.roots), 0
        while True:
            level = np.unique(ways[:, level[(ways[:, level] != level).any(0)]])
            fold(2 * level.size * PYTHON_NUMBER)
            if not level.size:
                return count
            count += 1
            if count > len(self.yes):
                raise Unreadable("its nodes lead in a circle")

    def leaves(self, x: Any) -> Any:
        """The leaf of each row in each tree, of the shape (rows, trees)."""
        width, last = known_dims(x)[-1], int(self.features.max(initial=0))
        if self.features.min(initial=0) < 0 or (width is not None and last >= width):
            raise Unreadable(f"it looks at the column {last}, and its input has {width}")
        features, limits = recorded(self.features, "int32"), recorded(self.limits, x.dtype)
        yes, no, modes = (recorded(part, "int32") for part in (self.yes, self.no, self.modes))
        used = np.unique(self.modes[self.yes != self.no]).tolist()
        if not {*used} <= {*range(len(TESTS))}:
            raise Unreadable(f"its tests have the numbers {used}, and there are {len(TESTS)}")

        def step(_: Any, at: Any) -> Any:
            value, limit = ops.take_along_axis(x, ops.take(features, at, 0), 1), ops.take(limits, at, 0)
            holds, *others = (list(TESTS.values())[mode](value, limit) for mode in used)
            for mode, other in zip(used[1:], others, strict=True):
                holds = ops.where(ops.equal(ops.take(modes, at, 0), mode), other, holds)
            if self.missing.any():
                holds = holds | (ops.isnan(value) & ops.take(recorded(self.missing, "bool"), at, 0))
            return ops.where(holds, ops.take(yes, at, 0), ops.take(no, at, 0))

        first = ops.broadcast_to(recorded(self.roots, "int32"), [dims_of(x)[0], len(self.roots)])
        return ops.fori_loop(0, self.depth(), step, first) if used else first


class Gains(NamedTuple):
    """The numbers of leaves.

    Attributes:
        nodes, targets: the node and the column of the result that each number belongs to.
        numbers: the numbers.
    """

    nodes: Array
    targets: Array
    numbers: Array

    def of(self, leaves: Any, count: int, width: int, way: str, dtype: Any) -> Any:
        """The numbers of some leaves in one, of the shape (rows, width).

        Args:
            leaves: (rows, trees).
            count: the number of all nodes.
            width: the number of columns.
            way: a key of `SUMS`.
            dtype: of the result.
        """
        if self.targets.size and not 0 <= self.targets.min() <= self.targets.max() < width:
            raise Unreadable(f"its leaves have columns that are not among {width}")
        add, nothing = SUMS[way]
        order = np.argsort(self.nodes, kind="stable")
        nodes = self.nodes[order]
        place = np.arange(len(nodes)) - np.searchsorted(nodes, nodes)  # among the numbers of a node
        shape = count, int(place.max(initial=0)) + 1
        within(*shape)
        targets, numbers = np.zeros(shape, "int32"), np.full(shape, nothing)
        targets[nodes, place], numbers[nodes, place] = self.targets[order], self.numbers[order]
        rows = dims_of(leaves)[0]
        first = ops.reshape(ops.arange(rows) * width, [-1, 1, 1])
        at = ops.reshape(ops.take(recorded(targets, "int32"), leaves, 0) + ops.cast(first, "int32"), [-1, 1])
        gains = ops.reshape(ops.take(recorded(numbers, dtype), leaves, 0), [-1])
        totals = ops.reshape(add(filled([rows * width], nothing, dtype), at, gains), [rows, width])
        totals = totals if np.isfinite(nothing) else ops.where(ops.isinf(totals), ops.zeros_like(totals), totals)
        return totals / known_size(leaves, 1) if way == "AVERAGE" else totals


# -- versions 1 and 3 -------------------------------------------------------------------------------------------------


def _list(node: Node, name: str) -> Array:
    """The numbers of an attribute, which version 3 also takes as a tensor."""
    return np.asarray(node.attrs.get(f"{name}_as_tensor", node.attrs.get(name, ())))


def _aligned(node: Node, prefix: str, *names: str) -> None:
    """Check that lists of a node, which have a prefix before their names, are equally long.

    Raises:
        Unreadable: they are not.
    """
    lengths = {f"{prefix}_{name}": _list(node, f"{prefix}_{name}").size for name in names}
    if len({*lengths.values()}) > 1:
        raise Unreadable(f"its lists have different lengths: {lengths}")


def _named_trees(node: Node, kind: str) -> tuple[Trees, Gains]:
    """The trees of nodes that have the numbers of their tree and of themselves."""
    attrs = node.attrs
    _aligned(node, "nodes", "treeids", "nodeids", "modes", "featureids", "values", "truenodeids", "falsenodeids")
    _aligned(node, kind, "treeids", "nodeids", "ids", "weights")
    names = [*zip(attrs["nodes_treeids"], attrs["nodes_nodeids"], strict=True)]
    place = {name: i for i, name in enumerate(names)}
    words = [word.removeprefix("BRANCH_") for word in attrs["nodes_modes"]]

    def at(name: tuple[int, int]) -> int:
        if name not in place:
            raise Unreadable(f"it leads to the node {name[1]} of the tree {name[0]}, which is not there")
        return place[name]

    def ways(key: str) -> Array:
        pairs = zip(names, words, attrs[key], strict=True)
        return np.array([at(name if word == "LEAF" else (name[0], to)) for name, word, to in pairs], "int64")

    known = Words({word: number for number, word in enumerate(TESTS)})
    trees = Trees(
        np.array([0 if word == "LEAF" else known[word] for word in words]),
        np.asarray(attrs["nodes_featureids"], "int64") * [word != "LEAF" for word in words],
        _list(node, "nodes_values"),
        np.asarray(attrs.get("nodes_missing_value_tracks_true") or [0] * len(names), bool),
        ways("nodes_truenodeids"),
        ways("nodes_falsenodeids"),
        np.array([*{tree: i for i, (tree, _) in reversed([*enumerate(names)])}.values()][::-1]),
    )
    owners = zip(attrs[f"{kind}_treeids"], attrs[f"{kind}_nodeids"], strict=True)
    nodes = np.array([at(name) for name in owners], "int64")
    return trees, Gains(nodes, np.asarray(attrs[f"{kind}_ids"], "int64"), _list(node, f"{kind}_weights"))


def _found(node: Node, trees: Trees, gains: Gains, width: int, way: str) -> Any:
    """The numbers of the leaves of all trees for each row."""
    x = wide(in_rows(node.tensor(0)))
    return gains.of(trees.leaves(x), len(trees.yes), width, way, x.dtype)


@special("ai.onnx.ml.TreeEnsembleRegressor")
def _regressor(node: Node) -> Any:
    trees, gains = _named_trees(node, "target")
    base = _list(node, "base_values")
    totals = _found(node, trees, gains, node.attrs.get("n_targets", 1), node.attrs.get("aggregate_function", "SUM"))
    totals = totals + recorded(base, totals.dtype) if base.size else totals
    return ops.cast(LINKS[node.attrs.get("post_transform", "NONE")](totals), "float32")


@special("ai.onnx.ml.TreeEnsembleClassifier")
def _classifier(node: Node) -> Any:
    """The labels and the scores; all leaves may give the score of one class of two."""
    trees, gains = _named_trees(node, "class")
    numbers, words = (node.attrs.get(f"classlabels_{kind}") for kind in ("int64s", "strings"))
    base, count = _list(node, "base_values"), len(numbers or words or ())
    link = node.attrs.get("post_transform", "NONE")
    scores = _found(node, trees, gains, count, "SUM")
    scores = (
        scores + recorded(np.pad(base, (0, count - base.size)), scores.dtype) if base.size in (1, count) else scores
    )
    if count == 2 and len({*gains.targets.tolist()}) == 1:
        place, scores = _one_of_two(scores, int(gains.targets[0]), link, bool(gains.numbers.min() >= 0))
    else:
        place, scores = ops.argmax(scores, -1), LINKS[link](scores)
    return [labels_at(place, numbers, words), ops.cast(scores, "float32")]


def _one_of_two(found: Any, column: int, link: str, is_share: bool) -> tuple[Any, Any]:
    """The places of labels, and the scores of two classes from one that leaves give, as ONNX Runtime computes them.

    Args:
        found: (rows, 2).
        column: the one with the scores, which belong to the second class.
        link: a key of `LINKS`.
        is_share: whether no leaf gives a negative number.
    """
    score = found[:, column : column + 1]
    place = ops.cast(ops.greater(score[:, 0], 0.5 if is_share else 0.0), "int64")
    if column:
        return place, LINKS[link](ops.concatenate([ops.zeros_like(score), score], -1))
    score = ops.sigmoid(score) if link == "LOGISTIC" else score
    other = 1 - score if is_share or link == "LOGISTIC" else -score
    return place, ops.concatenate([other, score], -1)


# -- version 5 --------------------------------------------------------------------------------------------------------


def _chained(trees: Trees, members: Array) -> Trees:
    """Tests for being one of some numbers as chains of tests for being equal.

    Args:
        trees: with modes `MEMBER`.
        members: the numbers of all such nodes in their order, with NaN behind each node's.
    """
    places = np.flatnonzero(trees.modes == MEMBER).tolist()
    groups = [part[:-1] for part in np.split(members, np.flatnonzero(np.isnan(members)) + 1)[:-1]]
    parts = [array.tolist() for array in trees[:-1]]
    modes, _, limits, _, _, no = parts
    if len(groups) != len(places):
        raise Unreadable(f"it has {len(places)} tests of membership, and {len(groups)} groups of members")
    for at, group in zip(places, groups, strict=True):
        modes[at], limits[at] = EQUAL, group[0] if len(group) else np.nan
        for number in group[1:]:
            for part in parts:
                part.append(part[at])
            no[at], limits[-1], at = len(no) - 1, number, len(no) - 1
    return Trees(*map(np.array, [*parts, trees.roots]))


@special("ai.onnx.ml.TreeEnsemble")
def _ensemble(node: Node) -> Any:
    """Nodes and leaves are numbered apart here; leaves stand behind the nodes in the arrays."""
    attrs = node.attrs
    _aligned(node, "nodes", "modes", "featureids", "splits", "truenodeids", "falsenodeids", "trueleafs", "falseleafs")
    _aligned(node, "leaf", "targetids", "weights")
    modes, count, leaves = attrs["nodes_modes"], len(attrs["nodes_modes"]), len(attrs["leaf_targetids"])
    own = count + np.arange(leaves)

    def padded(values: Any, rest: Any = 0) -> Array:
        return np.concatenate([np.asarray(values), np.broadcast_to(rest, leaves)])

    def ways(kind: str) -> Array:
        places = np.asarray(attrs[f"nodes_{kind}nodeids"])
        return padded(np.where(attrs[f"nodes_{kind}leafs"], places + count, places), own)

    trees = Trees(
        padded(modes.astype("int64")),
        padded(attrs["nodes_featureids"]),
        padded(attrs["nodes_splits"]),
        padded(attrs.get("nodes_missing_value_tracks_true") or [0] * count).astype(bool),
        ways("true"),
        ways("false"),
        np.asarray(attrs["tree_roots"]),
    )
    trees = _chained(trees, attrs["membership_values"]) if MEMBER in modes else trees
    gains = Gains(own, np.asarray(attrs["leaf_targetids"]), attrs["leaf_weights"])
    totals = _found(
        node, trees, gains, attrs.get("n_targets", 1), Words(enumerate(SUMS))[attrs.get("aggregate_function", 1)]
    )
    return ops.cast(LINKS[LINK_NUMBERS[attrs.get("post_transform", 0)]](totals), node.tensor(0).dtype)
