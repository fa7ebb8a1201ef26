"""Ensembles of trees, drawn from a seed, as ONNX Runtime computes them."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import dovetail as dt
from tests.formats.onnx.running import session_of

MODES = ["LEQ", "LT", "GTE", "GT", "EQ", "NEQ"]
rng = np.random.default_rng(5)
X = rng.integers(-3, 4, (40, 3)).astype("float32")  # few numbers, so that some are equal to limits
X[rng.random(X.shape) < 0.1] = np.nan


def trees(count: int, dtype: str = "float32") -> tuple[dict[str, Any], list[tuple[int, int]]]:
    """The attributes of random trees with all modes, and the tree and the number of each leaf."""
    keys = ["treeids", "nodeids", "featureids", "modes", "values", "truenodeids", "falsenodeids"]
    keys.append("missing_value_tracks_true")
    rows: list[tuple[Any, ...]] = []

    def grow(tree: int, node: int, depth: int) -> int:
        """Add a node and those below it; the first number behind them."""
        at = len(rows)
        if depth == 4 or (depth and rng.random() < 0.3):
            rows.append((tree, node, 0, "LEAF", 0.0, 0, 0, 0))
            return node + 1
        rows.append(())
        other = grow(tree, node + 1, depth + 1)
        test = int(rng.integers(3)), f"BRANCH_{rng.choice(MODES)}", float(rng.integers(-3, 4))
        rows[at] = (tree, node, *test, node + 1, other, int(rng.integers(2)))
        return grow(tree, other, depth + 1)

    for tree in range(count):
        grow(tree, 0, 0)
    attrs: dict[str, Any] = {
        f"nodes_{key}": list(column) for key, column in zip(keys, zip(*rows, strict=True), strict=True)
    }
    if dtype == "float64":
        attrs["nodes_values_as_tensor"] = numpy_helper.from_array(np.array(attrs.pop("nodes_values"), dtype))
    return attrs, [(row[0], row[1]) for row in rows if row[3] == "LEAF"]


def model(
    type: str, attrs: dict[str, Any], outputs: dict[str, int], version: int = 3, dtype: int = 1
) -> onnx.ModelProto:
    node = helper.make_node(type, ["x"], list(outputs), domain="ai.onnx.ml", **attrs)
    values = [helper.make_tensor_value_info(name, kind, None) for name, kind in outputs.items()]
    graph = helper.make_graph([node], "trees", [helper.make_tensor_value_info("x", dtype, ["rows", 3])], values)
    imports = [helper.make_opsetid("", 18), helper.make_opsetid("ai.onnx.ml", version)]
    return helper.make_model(graph, opset_imports=imports, ir_version=9)


def agree(proto: onnx.ModelProto, x: np.ndarray = X, oracle: onnx.ModelProto | None = None) -> None:
    """Compare all results with ONNX Runtime's, of the same model or of another one."""
    wanted = session_of((oracle or proto).SerializeToString()).run(None, {"x": x})
    for mine, theirs in zip(dt.onnx.load(proto).run([x]), wanted, strict=True):
        array = mine if isinstance(mine, np.ndarray) else mine.numpy()
        if theirs.dtype.kind == "f":
            np.testing.assert_allclose(array, theirs, rtol=3e-4, atol=1e-5)  # it approximates PROBIT
        else:
            assert array.tolist() == theirs.tolist()


def gains(kind: str, leaves: list[tuple[int, int]], columns: list[int], low: float = -0.4) -> dict[str, Any]:
    """The numbers of leaves, one for each of some columns."""
    owners = [leaf for leaf in leaves for _ in columns]
    numbers = rng.uniform(low, 0.4, len(owners)).tolist()
    found = {"treeids": [tree for tree, _ in owners], "nodeids": [node for _, node in owners]}
    return {f"{kind}_{key}": value for key, value in found.items()} | {
        f"{kind}_ids": columns * len(leaves),
        f"{kind}_weights": numbers,
    }


@pytest.mark.parametrize("way", ["SUM", "AVERAGE", "MIN", "MAX"])
def test_regressors(engine: str, way: str):
    attrs, leaves = trees(5)
    attrs |= gains("target", leaves, [0, 1]) | {"aggregate_function": way, "n_targets": 2, "base_values": [0.5, -1.0]}
    agree(model("TreeEnsembleRegressor", attrs, {"y": TensorProto.FLOAT}))


@pytest.mark.parametrize("dtype", ["float64", "int64", "int32"])
def test_rows_of_other_numbers(dtype: str):
    attrs, leaves = trees(3, dtype)
    attrs |= gains("class", leaves, [0, 1, 2]) | {"classlabels_int64s": [3, 5, 8]}
    if dtype == "float64":
        attrs["class_weights_as_tensor"] = numpy_helper.from_array(np.array(attrs.pop("class_weights")))
    number = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    outputs = {"y": TensorProto.INT64, "z": TensorProto.FLOAT}
    agree(model("TreeEnsembleClassifier", attrs, outputs, dtype=number), np.nan_to_num(X).astype(dtype))


CLASSIFIERS = [
    # columns of each leaf, labels, post transform, the least number, base values
    ([0, 1, 2], [3, 5, 8], "NONE", -0.4, []),
    ([0, 1, 2], [3, 5, 8], "SOFTMAX", -0.4, [0.1, 0.2, 0.3]),
    ([0, 1, 2], ["a", "b", "c"], "LOGISTIC", -0.4, []),
    ([0, 2], [3, 5, 8], "SOFTMAX_ZERO", 0.1, []),
    ([0], [3, 5], "NONE", -0.4, []),
    ([0], [3, 5], "NONE", 0.01, []),
    ([0], ["a", "b"], "LOGISTIC", -0.4, [0.2]),
    ([0], [3, 5], "LOGISTIC", 0.01, []),
    ([1], [3, 5], "LOGISTIC", -0.4, []),
]


@pytest.mark.parametrize(("columns", "labels", "link", "low", "base"), CLASSIFIERS)
def test_classifiers(columns: list[int], labels: list[Any], link: str, low: float, base: list[float]):
    is_text = isinstance(labels[0], str)
    attrs, leaves = trees(4)
    attrs |= gains("class", leaves, columns, low) | {"post_transform": link}
    attrs["classlabels_strings" if is_text else "classlabels_int64s"] = labels
    attrs |= {"base_values": base} if base else {}
    kind = TensorProto.STRING if is_text else TensorProto.INT64
    agree(model("TreeEnsembleClassifier", attrs, {"y": kind, "z": TensorProto.FLOAT}))


@pytest.mark.parametrize("link", range(5))
@pytest.mark.parametrize("way", range(4))
def test_ensembles_of_version_5(link: int, way: int):
    """Two trees share leaves; the test of node 2 has several members, and node 3 has none."""
    array = numpy_helper.from_array
    modes = [0, 3, 6, 6, 4]
    attrs = {
        "tree_roots": [0, 2],
        "nodes_modes": array(np.array(modes, "uint8")),
        "nodes_splits": array(np.array([0.5, -1.0, 0.0, 0.0, 2.0], "float32")),
        "nodes_featureids": [0, 1, 2, 1, 0],
        "nodes_truenodeids": [1, 0, 3, 0, 2],
        "nodes_trueleafs": [0, 1, 0, 1, 1],
        "nodes_falsenodeids": [1, 1, 4, 1, 3],
        "nodes_falseleafs": [1, 1, 0, 1, 1],
        "nodes_missing_value_tracks_true": [1, 0, 1, 0, 0],
        "membership_values": array(np.array([-2.0, 1.0, 3.0, np.nan, 2.0, np.nan], "float32")),
        "leaf_targetids": [0, 1, 0, 1],
        "leaf_weights": array(np.array([0.1, 0.2, 0.3, 0.4], "float32")),
        "n_targets": 2,
        "aggregate_function": way,
        "post_transform": link,
    }
    swapped = attrs | {"post_transform": {1: 2, 2: 1}.get(link, link)}  # ONNX Runtime has its own numbers of these
    proto, oracle = (model("TreeEnsemble", one, {"y": TensorProto.FLOAT}, version=5) for one in (attrs, swapped))
    agree(proto, X, oracle)


def test_rows_may_be_none_and_trees_may_be_leaves(engine: str):
    leaf = {"nodes_treeids": [0], "nodes_nodeids": [0], "nodes_featureids": [0], "nodes_modes": ["LEAF"]}
    leaf |= {"nodes_values": [0.0], "nodes_truenodeids": [0], "nodes_falsenodeids": [0]}
    attrs = leaf | {"target_treeids": [0], "target_nodeids": [0], "target_ids": [0], "target_weights": [0.25]}
    loaded = dt.onnx.load(model("TreeEnsembleRegressor", attrs | {"n_targets": 1}, {"y": TensorProto.FLOAT}))
    assert loaded(X[:2]).numpy().tolist() == [[0.25], [0.25]]
    assert loaded(X[:0]).shape == (0, 1)


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("nodes_truenodeids", [1, 0, 0], "lead in a circle"),
        ("nodes_featureids", [9, 0, 0], "the column 9, and its input has 3"),
        ("nodes_falsenodeids", [7, 0, 0], "the node 7 of the tree 0, which is not there"),
        ("target_ids", [0, 4], "columns that are not among 1"),
    ],
)
def test_wrong_trees_are_refused(key: str, value: list[int], words: str):
    attrs: dict[str, Any] = {
        "nodes_treeids": [0, 0, 0],
        "nodes_nodeids": [0, 1, 2],
        "nodes_featureids": [0, 0, 0],
        "nodes_modes": ["BRANCH_LEQ", "LEAF", "LEAF"],
        "nodes_values": [0.0, 0.0, 0.0],
        "nodes_truenodeids": [1, 0, 0],
        "nodes_falsenodeids": [2, 0, 0],
        "target_treeids": [0, 0],
        "target_nodeids": [1, 2],
        "target_ids": [0, 0],
        "target_weights": [1.0, 2.0],
    }
    attrs[key] = value
    if "circle" in words:
        attrs |= {"nodes_modes": ["BRANCH_LEQ", "BRANCH_LEQ", "LEAF"], "nodes_truenodeids": [1, 0, 0]}
    loaded = dt.onnx.load(model("TreeEnsembleRegressor", attrs, {"y": TensorProto.FLOAT}))
    with pytest.raises(NotImplementedError, match=words):
        loaded(X)
