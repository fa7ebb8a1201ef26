"""Nodes at the edges of their domains, read and written, against ONNX Runtime."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

import dovetail as dt
from dovetail import ops
from tests.libraries import require

require("onnxruntime", "it computes the right values")
RANDOM = np.random.RandomState(0)
SCORES = np.array([[1, 2, 3], [np.inf, 0, np.nan], [0, -np.inf, 1], [3, 1, 2]], "float32")


def described(name: str, array: np.ndarray, shape: Any) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), shape)


def compare(op: str, given: list, constants: list, opset: int = 20, dtype: str = "float32", **attributes: Any) -> None:
    """Compute a node of some inputs and constants, of known and unknown sizes."""
    names = [f"x{i}" for i in range(len(given) + len(constants))]
    weights = [numpy_helper.from_array(a, name) for a, name in zip(constants, names[len(given) :], strict=True)]
    node = helper.make_node(op, names, ["y"], **attributes)
    for is_known in (True, False):
        shapes = [a.shape if is_known or op == "GridSample" else [None] * a.ndim for a in given]
        inputs = [described(name, a, shape) for name, a, shape in zip(names, given, shapes, strict=False)]
        graph = helper.make_graph([node], "g", inputs, [described("y", np.zeros(0, dtype), None)], weights)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=9)
        expected = run(model, given)
        found = dt.onnx.load(model)(*given).numpy()
        assert found.dtype == expected.dtype
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


def run(model: Any, given: list) -> np.ndarray:
    import onnxruntime

    content = model if isinstance(model, str) else model.SerializeToString()
    session = onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"])
    return session.run(None, {one.name: a for one, a in zip(session.get_inputs(), given, strict=True)})[0]


@pytest.mark.parametrize("dtype", ["int16", "int32", "int64", "float32", "float64"])
@pytest.mark.parametrize("ends", [(0, 300, 7), (5, -5, -2), (2, 2, 1)], ids=str)
def test_ranges_have_the_dtype_of_their_ends(ends: Any, dtype: str):
    compare("Range", [], [np.array(end, dtype) for end in ends], dtype=dtype)


def test_ranges_of_large_numbers():
    compare("Range", [], [np.array(end, "int64") for end in (2**33, 2**33 + 5, 2)], dtype="int64")


@pytest.mark.parametrize("reduction", ["add", "mul"])
def test_scattered_bools_stay_bools(reduction: str):
    """Their sum is whether one is True, their product whether all are."""
    x, updates = np.array([[1, 0, 1], [0, 0, 1]], bool), np.array([[1, 0, 1], [1, 0, 0]], bool)
    compare("ScatterND", [x, np.array([[1], [1]]), updates], [], dtype="bool", reduction=reduction)
    places = np.array([[1, 1, 0], [1, 1, 0]])
    compare("ScatterElements", [x, places, updates], [], dtype="bool", reduction=reduction)


STEPS_BACK = [
    (-9, -99),
    (-9, -(2**62)),
    (-5, -99),
    (-1, -99),
    (9, -9),
    (-9, 2),
    (-6, -6),
    (2, -99),
    (3, 2**31 - 1),
    (-9, 2**63 - 1),
]


@pytest.mark.parametrize("ends", STEPS_BACK, ids=str)
@pytest.mark.parametrize("step", [-1, -2, 1])
def test_slices_from_before_the_first_element(ends: tuple[int, int], step: int):
    parts = [np.array([one], "int64") for one in (*ends, 0, step)]
    compare("Slice", [np.arange(10, dtype="float32").reshape(5, 2)], parts)


def test_slices_whose_ends_are_values(tmp_path: Path):
    """An end that is the largest integer is none for ONNX Runtime, also where the slice goes backwards."""
    declared = [helper.make_tensor_value_info("x", 1, ("n", 2))]
    declared += [helper.make_tensor_value_info(name, 7, (1,)) for name in "abcd"]
    node, y = helper.make_node("Slice", ["x", *"abcd"], ["y"]), helper.make_tensor_value_info("y", 1, ("m", 2))
    graph = helper.make_graph([node], "graph", declared, [y])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    loaded, path = dt.onnx.load(model), str(tmp_path / "model.onnx")
    inside = dt.function(lambda *args: loaded(*args), input_signature=list(loaded.input_specs.values()))
    dt.onnx.save(inside, path)
    x = np.arange(10, dtype="float32").reshape(5, 2)
    for ends in STEPS_BACK:
        for step in (-1, -2, 1):
            args = [x, *(np.array([one], "int64") for one in (*ends, 0, step))]
            right = run(model, args)
            np.testing.assert_array_equal(inside(*args).numpy(), right)
            np.testing.assert_array_equal(run(path, args), right)


@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
@pytest.mark.parametrize(
    "places", ["tf_crop_and_resize", "pytorch_half_pixel", "half_pixel_symmetric", "align_corners"]
)
def test_images_of_one_row(places: str, mode: str):
    image = RANDOM.randn(1, 1, 49, 7).astype("float32")
    parts = [np.array([0, 0, 0.2, 0.3, 1, 1, 0.9, 0.8], "float32"), np.zeros(0, "float32")]
    sizes = np.array([1, 1, 1, 3], "int64")  # 1 / 49 * 49 is less than 1
    compare("Resize", [image], [*parts, sizes], mode=mode, coordinate_transformation_mode=places)


@pytest.mark.parametrize("size", [5, None])
def test_written_slices_from_before_the_first_element(size: int | None, tmp_path: Path):
    slices = [slice(-9, None, -1), slice(-9, -20, -2), slice(-5, None, -1), slice(-6, 0, -1), slice(None, None, -1)]
    slices += [slice(3, 2**31 - 1, -1), slice(-1, 2**63 - 1, -2)]
    x, path = np.arange(10, dtype="float32").reshape(5, 2), str(tmp_path / "model.onnx")
    for one in (*slices, slice(-2, -9, -1), (slice(3, None, -1), slice(-7, None, -1))):
        dt.onnx.save(dt.function(lambda x, one=one: x[one], input_signature=[dt.spec((size, 2))]), path)
        np.testing.assert_array_equal(run(path, [x]), x[one])


def test_a_roll_along_unknown_axes_is_written(tmp_path: Path):
    path = str(tmp_path / "model.onnx")
    roll = lambda x: ops.roll(x, (1, -4), (0, 1))  # noqa: E731
    dt.onnx.save(dt.function(roll, input_signature=[dt.spec((None, None))]), path)
    for shape in ((4, 3), (1, 5), (0, 3)):
        x = RANDOM.randn(*shape).astype("float32")
        np.testing.assert_array_equal(run(path, [x]), np.roll(x, (1, -4), (0, 1)))


@pytest.mark.parametrize("padding", ["border", "reflection", "zeros"])
@pytest.mark.parametrize("mode", ["cubic", "linear", "nearest"])
def test_positions_outside_of_an_image(mode: str, padding: str):
    grid = RANDOM.uniform(-1.9, 1.9, (1, 4, 4, 2)).astype("float32")
    for aligned in (0, 1):
        image = RANDOM.randn(1, 2, 5, 6).astype("float32")
        compare("GridSample", [image, grid], [], mode=mode, padding_mode=padding, align_corners=aligned)


@pytest.mark.parametrize("weight", [[], [np.array([1, 2, 0.5], "float32")]], ids=["plain", "weighted"])
@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
@pytest.mark.parametrize("op", ["NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss"])
def test_losses_leave_out_ignored_rows(op: str, reduction: str, weight: list):
    target = np.array([0, -1, -1, 2])
    compare(op, [SCORES, target], weight, opset=18, reduction=reduction, ignore_index=-1)


LIMITS = np.array([[2**63 - 1, -(2**63), 0, -1, 1, 5]])
OUT = np.float32([[np.nan, 1, -np.inf, np.inf, 0, 3]])


@pytest.mark.parametrize("dtype", ["int8", "int32", "int64"])
@pytest.mark.parametrize("by", [3, -3, 5])
def test_rests_of_the_least_integers(by: int, dtype: str):
    limits = np.iinfo(dtype)
    x = np.array([limits.min, limits.max, -1, 0, 7], dtype)
    if dtype == "int8":  # whose rests have the sign of the divisor alone
        compare("Mod", [x, np.full_like(x, by)], [], dtype=dtype)
    else:
        compare("Mod", [x, np.full_like(x, by)], [], dtype=dtype, fmod=1)


def test_indices_of_64_bits_are_no_others():
    compare("OneHot", [LIMITS], [np.array(3), np.float32([0, 1])])


@pytest.mark.parametrize("dtype", ["int32", "int64"])
@pytest.mark.parametrize("type", ["ReduceLogSum", "ReduceLogSumExp"])
def test_logarithms_of_integers_are_integers(type: str, dtype: str):
    compare(type, [np.array([[1, 5, 9], [2, 2, 2]], dtype)], [np.array([1])], dtype=dtype, keepdims=0)


@pytest.mark.parametrize("limits", [(), (-1,), (2, None)], ids=str)
def test_limits_of_clip_are_finite(limits: Any):
    compare("Clip", [OUT], [np.float32(one) for one in limits if one is not None])


def test_positions_that_are_none():
    x = np.random.RandomState(0).randn(1, 2, 4, 4).astype("float32")
    grid = np.random.RandomState(1).uniform(-1.5, 1.5, (1, 3, 3, 2)).astype("float32")
    grid[0, 0, 0, 0], grid[0, 1, 1, 1], grid[0, 2, 2, 0] = np.nan, np.inf, -np.inf
    for mode in ("linear", "nearest", "cubic"):
        for padding in ("zeros", "border", "reflection"):
            compare("GridSample", [x, grid], [], mode=mode, padding_mode=padding)


@pytest.mark.parametrize("mode", ["linear", "cubic"])
def test_resize_of_nan_stays_near_it(mode: str):
    x = np.random.RandomState(0).randn(1, 1, 9, 9).astype("float32")
    x[0, 0, 4, 4] = np.nan
    node = helper.make_node("Resize", ["x", "", "s"], ["y"], mode=mode)
    scales = numpy_helper.from_array(np.float32([1, 1, 1.7, 2.3]), "s")
    graph = helper.make_graph([node], "g", [described("x", x, x.shape)], [described("y", x, None)], [scales])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)
    np.testing.assert_allclose(dt.onnx.load(model)(x).numpy(), run(model, [x]), rtol=1e-4, atol=1e-5)
