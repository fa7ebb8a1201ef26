"""Nodes whose sizes depend on values, or are not known while a graph is built, against ONNX Runtime."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

import dovetail as dt
from tests import foreign
from tests.formats.onnx.running import session_of
from tests.libraries import require

require("onnxruntime", "it computes the right values")
IMAGE = np.random.RandomState(0).randn(2, 3, 6, 7).astype("float32")
ROWS = np.arange(12, dtype="float32").reshape(3, 4)
N = helper.make_node


class Case(NamedTuple):
    """Nodes that make `outputs` of inputs, whose sizes the file does not say, and of weights.

    Inputs with at most one axis say sizes, scales or places; the file says how many they are.
    """

    nodes: list[Any]
    inputs: dict[str, np.ndarray]
    weights: dict[str, Any]
    outputs: list[str]


def case(nodes: Any, *outputs: str, weights: Any = None, **inputs: Any) -> Case:
    given = {
        name: value if isinstance(value, np.ndarray) else np.array(value, "int64") for name, value in inputs.items()
    }
    return Case(nodes if isinstance(nodes, list) else [nodes], given, weights or {}, [*outputs] or ["y"])


def pooled(size: Any, **attributes: Any) -> Any:
    return case(N("MaxPool", ["x"], ["y", "at"], kernel_shape=size, **attributes), "y", "at", x=IMAGE)


def padded(mode: str, pads: Any) -> Case:
    return case(N("Pad", ["x", "p"], ["y"], mode=mode), x=ROWS, p=pads)


def resized(axes: Any = None, **given: Any) -> Case:
    """Resize by roi, scales or sizes, which are inputs; the other words are attributes."""
    inputs = {name: np.asarray(given.pop(name)) for name in ("roi", "scales", "sizes") if name in given}
    named = ["x", *(name if name in inputs else "" for name in ("roi", "scales", "sizes"))]
    inputs = {name: a.astype("int64" if name == "sizes" else "float32") for name, a in inputs.items()}
    return case(N("Resize", named, ["y"], axes=axes, **given), x=IMAGE, **inputs)


def parts(*nodes: Any, outputs: Sequence[str] = ("y",), by: Any = 3, **weights: int) -> Case:
    """Nodes that take `q`, the parts of a size, which is an input, of the columns of `x`."""
    split = N("SplitToSequence", ["x", "s"], ["q"], axis=-1)
    return case([split, *nodes], *outputs, x=ROWS, s=np.array(by), weights=weights)


ADD_PART = helper.make_graph(
    [
        N("SequenceAt", ["q", "i"], ["part"]),
        N("ReduceSum", ["part"], ["sum"], keepdims=0),
        N("Add", ["total", "sum"], ["next"]),
        N("Identity", ["goes_on"], ["on"]),
    ],
    "body",
    [helper.make_tensor_value_info(name, number, []) for name, number in (("i", 7), ("goes_on", 9), ("total", 1))],
    [helper.make_tensor_value_info(name, number, []) for name, number in (("on", 9), ("next", 1))],
)


def values(*nodes: Any, **split: Any) -> Case:
    """Nodes that take `q`, the places of elements that are not 0; nobody knows their number before."""
    first = [N("NonZero", ["x"], ["n"]), N("SplitToSequence", ["n", *split.pop("by", [])], ["q"], axis=1, **split)]
    return case([*first, *nodes], x=ROWS, weights={"0": 0, "-1": -1, "4": 4})


def in_parts(count: int, axis: int) -> Case:
    names = [f"y{i}" for i in range(count)]
    return case(N("Split", ["x"], names, axis=axis, num_outputs=count), *names, x=IMAGE)


CASES = {
    "places of the largest": pooled([2, 2], strides=[2, 2]),
    "places with padding": pooled([3, 2], pads=[1, 0, 1, 1], strides=[2, 1]),
    "places by columns": pooled([2, 2], storage_order=1),
    **{f"Pad {mode}": padded(mode, [1, 2, 0, 1]) for mode in ("constant", "reflect", "edge", "wrap")},
    **{f"Pad {mode} cuts": padded(mode, [1, -1, 0, -1]) for mode in ("constant", "reflect", "edge", "wrap")},
    "Pad with a value": case(N("Pad", ["x", "p", "v"], ["y"]), x=ROWS, p=[1, 2, 0, 1], v=np.full((), 3, "float32")),
    **{
        f"Pad axes {mode}": case(N("Pad", ["x", "p", "", "a"], ["y"], mode=mode), x=ROWS, p=[-1, -1, 1, 1], a=[-1, 0])
        for mode in ("constant", "reflect", "edge", "wrap")
    },
    "Pad one of the axes": case(N("Pad", ["x", "p", "", "a"], ["y"]), x=ROWS, p=[1, 2], a=[-1]),
    **{f"Resize {mode} to sizes": resized(sizes=[2, 3, 9, 5], mode=mode) for mode in ("nearest", "linear", "cubic")},
    **{
        f"Resize {mode}": resized([2, 3], sizes=[1, 11], mode="linear", coordinate_transformation_mode=mode)
        for mode in ("asymmetric", "align_corners", "pytorch_half_pixel", "half_pixel_symmetric")
    },
    **{
        f"Resize {kind} of smooth images": resized([3, 2], sizes=[3, 4], mode=kind, antialias=1, exclude_outside=number)
        for kind, number in (("linear", 0), ("cubic", 1))
    },
    **{
        f"Resize {policy}": resized([2, 3], sizes=[4, 9], keep_aspect_ratio_policy=policy)
        for policy in ("not_larger", "not_smaller")
    },
    "Resize by scales": resized(scales=[1, 1, 0.6, 1.7], mode="linear", nearest_mode="floor"),
    "Resize a part": resized(
        roi=[0, 0, 0.1, -0.2, 1, 1, 0.9, 0.8],
        sizes=[2, 3, 5, 1],
        mode="linear",
        coordinate_transformation_mode="tf_crop_and_resize",
        extrapolation_value=7.0,
    ),
    "Pad an axis": case(N("Pad", ["x", "p", "", "a"], ["y"]), x=ROWS, p=[1, 2], weights={"a": [-1]}),
    **{
        f"CenterCropPad to {size}": case(N("CenterCropPad", ["x", "s"], ["y"]), x=ROWS, s=size)
        for size in ([5, 2], [6, 1], [3, 4], [2, 7])
    },
    "CenterCropPad an axis": case(N("CenterCropPad", ["x", "s"], ["y"], axes=[-1]), x=ROWS, s=[7]),
    **{f"Split in {count}": in_parts(count, axis) for count, axis in ((2, 2), (2, 3), (3, -1))},
    **{
        f"part {at} of size {size}": parts(N("SequenceAt", ["q", "at"], ["y"]), by=size, at=at)
        for size, at in ((3, 0), (3, 1), (3, -2), (2, -1), (9, 0))
    },
    "the number of parts": parts(N("SequenceLength", ["q"], ["y"])),
    "a loop over parts": parts(
        N("SequenceLength", ["q"], ["n"]),
        N("ReduceSum", ["x"], ["first"], keepdims=0),
        N("Loop", ["n", "", "first"], ["y"], body=ADD_PART),
    ),
    "parts together": parts(N("ConcatFromSequence", ["q"], ["y"], axis=1)),
    "parts of unknown rows": values(N("SequenceAt", ["q", "-1"], ["y"]), by=["4"]),
    "one of unknown rows": values(N("SequenceAt", ["q", "0"], ["y"]), keepdims=0),
    "unknown rows together": values(N("ConcatFromSequence", ["q"], ["y"], axis=0, new_axis=1), keepdims=0),
    "Split by sizes": case(N("Split", ["x", "s"], ["y", "z"], axis=1), "y", "z", x=ROWS, s=[1, 3]),
    "a sequence": case(
        [
            N("SplitToSequence", ["x", "s"], ["q"], axis=1),
            N("SequenceAt", ["q", "1"], ["y"]),
            N("ConcatFromSequence", ["q"], ["z"], axis=0),
        ],
        "y",
        "z",
        x=ROWS,
        s=[2, 2],
        weights={"1": 1},
    ),
}


def model(one: Case) -> onnx.ModelProto:
    inputs = [
        helper.make_tensor_value_info(
            name, helper.np_dtype_to_tensor_dtype(x.dtype), [None] * x.ndim if x.ndim > 1 else x.shape
        )
        for name, x in one.inputs.items()
    ]
    outputs = [onnx.ValueInfoProto(name=name) for name in one.outputs]
    weights = [numpy_helper.from_array(np.array(value, "int64"), name) for name, value in one.weights.items()]
    graph = helper.make_graph(one.nodes, "g", inputs, outputs, weights)
    found = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=9)
    return onnx.shape_inference.infer_shapes(found)


@pytest.mark.parametrize("name", CASES)
def test_sizes_that_are_not_known(name: str, engine: str):
    one = CASES[name]
    expected = session_of(model(one).SerializeToString()).run(None, one.inputs)
    loaded = dt.onnx.load(model(one))
    specs = [dt.spec([None] * x.ndim if x.ndim > 1 else x.shape, x.dtype.name) for x in one.inputs.values()]
    for call in (loaded, dt.function(loaded, input_signature=specs)):
        found: Any = call(*one.inputs.values())
        found = [found[key] for key in one.outputs] if isinstance(found, dict) else [found]
        for ours, theirs in zip(found, expected, strict=True):
            assert ours.numpy().dtype == theirs.dtype
            np.testing.assert_allclose(ours.numpy(), theirs, rtol=1e-5, atol=1e-5)


def test_a_part_that_is_not_there_is_refused(engine: str):
    one = parts(N("SequenceAt", ["q", "at"], ["y"]), at=2)
    compiled = dt.function(dt.onnx.load(model(one)))
    assert compiled(ROWS, np.array(1)).shape == (3, 1)
    for size in (3, 9):
        with pytest.raises(ValueError, match="out of range for the parts of SplitToSequence 'q'"):
            compiled(ROWS, np.array(size))


LISTS = {
    "a result": parts(outputs=["q"]),
    "SequenceErase": parts(N("SequenceErase", ["q"], ["r"]), N("SequenceAt", ["r", "0"], ["y"]), **{"0": 0}),
    "ConcatFromSequence": parts(N("ConcatFromSequence", ["q"], ["y"], axis=0), by=2),
}


@pytest.mark.parametrize("name", LISTS)
def test_lists_of_lengths_that_depend_on_values_are_refused_in_functions(name: str):
    one = LISTS[name]
    loaded = dt.onnx.load(model(one))
    reason = "SplitToSequence 'q' gives as many parts as values say.* arrays from outside the function, or call"
    with pytest.raises(NotImplementedError, match=reason):
        dt.function(loaded)(*one.inputs.values())
    (expected,) = session_of(model(one).SerializeToString()).run(None, one.inputs)
    size = one.inputs["s"]
    for found in (loaded(ROWS, size), dt.function(lambda x: loaded(x, size))(ROWS)):  # as the error says
        pairs = zip(found, expected, strict=True) if isinstance(expected, list) else [(found, expected)]
        for ours, theirs in pairs:
            np.testing.assert_array_equal(ours.numpy(), theirs)


def test_lists_of_lengths_that_depend_on_open_sizes_are_refused_in_functions():
    loaded = dt.onnx.load(model(case(N("SplitToSequence", ["x", "3"], ["q"], axis=1), "q", x=ROWS, weights={"3": 3})))
    compiled = dt.function(loaded, input_signature=[dt.spec((None, None))])
    with pytest.raises(NotImplementedError, match=r"SplitToSequence 'q' .* an axis of unknown size .* of known shapes"):
        compiled(ROWS)
    for call in (loaded, dt.function(loaded)):  # as the error says
        assert [part.shape for part in call(ROWS)] == [(3, 3), (3, 1)]


# -- integers as values -----------------------------------------------------------------------------------------------

CUBE = np.abs(np.random.RandomState(1).randn(2, 4, 6)).astype("float32")
REDUCED = ("Sum", "Mean", "Max", "Min", "Prod", "L1", "L2", "SumSquare", "LogSum", "LogSumExp")


def reduced(name: str, axes: Any, **attributes: Any) -> Case:
    return case(N(f"Reduce{name}", ["x", "a"], ["y"], **attributes), x=CUBE, a=axes)


BY_VALUES: dict[str, Case] = {
    "Slice": case(N("Slice", ["x", "a", "b"], ["y"]), x=CUBE, a=[0, 1, 2], b=[2, 3, 5]),
    "Slice backwards": case(
        N("Slice", ["x", "a", "b", "c", "d"], ["y"]),
        x=CUBE,
        a=[1, -1],
        b=[3, -(2**63)],
        d=[1, -2],
        weights={"c": [1, 2]},
    ),
    "Slice of an axis": case(N("Slice", ["x", "a", "b", "c"], ["y"]), x=CUBE, a=[-3], b=[2**63 - 1], c=[-1]),
    "TopK": case(N("TopK", ["x", "k"], ["y", "z"]), "y", "z", x=np.round(CUBE), k=[3]),
    "TopK smallest": case(N("TopK", ["x", "k"], ["y", "z"], axis=1, largest=0), "y", "z", x=np.round(CUBE), k=[2]),
    **{f"Reduce{name}": reduced(name, [1]) for name in REDUCED},
    "ReduceSum of two": reduced("Sum", [0, -1]),
    "ReduceMax without axes": reduced("Max", [1], keepdims=0),
    "ReduceMean of none": reduced("Mean", [], noop_with_empty_axes=1),
    "Squeeze": case(N("Squeeze", ["x", "a"], ["y"]), x=CUBE[:, :1], a=[-2]),
    "Unsqueeze": case(N("Unsqueeze", ["x", "a"], ["y"]), x=CUBE, a=[0, -1]),
    "CumSum": case(N("CumSum", ["x", "a"], ["y"], reverse=1, exclusive=1), x=CUBE, a=-1),
    "Trilu": case(N("Trilu", ["x", "k"], ["y"]), x=CUBE, k=1),
    "Trilu lower": case(N("Trilu", ["x", "k"], ["y"], upper=0), x=CUBE, k=-2),
    "OneHot": case(
        N("OneHot", ["x", "d", "v"], ["y"], axis=0), x=np.array([[-5, 4], [9, 0]]), d=5, weights={"v": [1, 7]}
    ),
    "Range": case(N("Range", ["a", "b", "c"], ["y"]), a=11, b=2, c=-3),
    "Tile": case(N("Tile", ["x", "r"], ["y"]), x=CUBE, r=[2, 1, 3]),
}


@pytest.mark.parametrize("is_open", [False, True])
@pytest.mark.parametrize("name", BY_VALUES)
def test_integers_may_be_values_in_a_function(name: str, is_open: bool, engine: str):
    one = BY_VALUES[name]
    message = model(one)
    right = dict(zip(one.outputs, session_of(message.SerializeToString()).run(None, one.inputs), strict=True))
    loaded = dt.onnx.load(message)
    shapes = {key: [None] * a.ndim if is_open and key == "x" else a.shape for key, a in one.inputs.items()}
    signature = [dt.spec(shapes[key], one.inputs[key].dtype.name) for key in loaded.inputs]
    call = dt.function(lambda *arrays: loaded(*arrays), input_signature=signature)
    found = call(*[one.inputs[key] for key in loaded.inputs])
    for key, array in found.items() if isinstance(found, dict) else zip(one.outputs, [found], strict=True):
        assert array.numpy().dtype == right[key].dtype
        np.testing.assert_allclose(array.numpy(), right[key], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", ["Slice backwards", "TopK", "ReduceSum of two", "Unsqueeze", "CumSum", "Trilu"])
def test_files_take_integers_as_values(name: str, tmp_path: Path):
    message = model(BY_VALUES[name])
    right = session_of(message.SerializeToString()).run(None, BY_VALUES[name].inputs)
    loaded = dt.onnx.load(message)
    dt.saved_model.save(loaded, tmp_path / "folder")
    loaded.save(tmp_path / "model.onnx", opset=20)
    found = foreign.saved_model(tmp_path / "folder", BY_VALUES[name].inputs)
    again = session_of(str(tmp_path / "model.onnx")).run(None, BY_VALUES[name].inputs)
    for key, array, other in zip(BY_VALUES[name].outputs, right, again, strict=True):
        np.testing.assert_allclose(found[key], array, rtol=1e-5, atol=1e-5)
        np.testing.assert_allclose(other, array, rtol=1e-5, atol=1e-5)
