"""Damaged and hostile files of TensorFlow: each is refused with its place, or read in bounds of time and memory."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dovetail import saved_model
from dovetail.core.base.errors import FormatError
from dovetail.formats.wire.messages import TENSORFLOW
from dovetail.formats.wire.tensors import tensor_proto
from tests.formats.memory import little
from tests.formats.tensorflow.mutations import mutations

FLOAT, INT, RESOURCE = 1, 3, 20


def test_changed_files_are_read_or_refused(tmp_path):
    found = mutations(500, 0, tmp_path)
    assert sum(found.values()) == 500
    for ending in ("saved_model.pb", ".pb", ".meta", ".index", "of-00001", ".pbtxt"):
        assert sum(count for name, count in found.items() if name.endswith(f"{ending}: refused")) > 2, found


def node(graph: Any, op: str, name: str, *inputs: str, **attrs: Any) -> Any:
    made = graph.node.add(op=op, name=name) if hasattr(graph, "node") else graph.node_def.add(op=op, name=name)
    made.input.extend(inputs)
    for key, value in attrs.items():
        made.attr[key].CopyFrom(value)
    return made


def constant(graph: Any, name: str, value: Any) -> Any:
    proto = tensor_proto(np.asarray(value))
    of = TENSORFLOW.AttrValue
    return node(graph, "Const", name, value=of(tensor=proto), dtype=of(type=proto.dtype))


def function(graph: Any, name: str, op: str, **attrs: Any) -> Any:
    """A function of a float, whose only node is a call."""
    made = graph.library.function.add()
    made.signature.name = name
    made.signature.input_arg.add(name="x", type=FLOAT)
    made.signature.output_arg.add(name="y", type=FLOAT)
    node(made, op, "inner", "x", *["x"] * (op == "If"), **attrs)
    made.ret["y"] = "inner:output:0"
    return made


def called(name: str) -> dict[str, Any]:
    return {"f": TENSORFLOW.AttrValue(func=TENSORFLOW.NameAttrList(name=name))}


def chain(graph: Any, count: int, last: str, op: str = "PartitionedCall") -> None:
    """Functions that call each other, and a node that calls the first one."""
    for number in range(count):
        following = f"f{number + 1}" if number < count - 1 else last
        branches = {"then_branch": called(following)["f"], "else_branch": called(following)["f"]}
        function(graph, f"f{number}", op, **(branches if op == "If" else called(following)))
    constant(graph, "x", np.float32(1))
    node(graph, "PartitionedCall", "y", "x", **called("f0"))


def functions_in_a_circle(graph: Any) -> None:
    chain(graph, 3, "f0")


def functions_that_are_deep(graph: Any) -> None:
    chain(graph, 60, "f0")


def branches_that_are_deep(graph: Any) -> None:
    chain(graph, 49, "f48", "If")


def a_function_that_is_missing(graph: Any) -> None:
    chain(graph, 1, "gone")


def an_input_that_is_missing(graph: Any) -> None:
    node(graph, "Relu", "y", "gone")


def identities_in_a_circle(graph: Any) -> None:
    for name, other in ("ab", "ba"):
        node(graph, "Identity", name, other)
    constant(graph, "x", np.float32(1))
    node(graph, "Switch", "switch", "x", "a")
    node(graph, "Merge", "y", "switch:0", "switch:1")


def a_negative_result(graph: Any) -> None:
    constant(graph, "x", np.float32(1))
    node(graph, "Relu", "y", "x:-1")


def a_shape_without_its_values(graph: Any) -> None:
    tensor = constant(graph, "x", np.zeros(8, "float32")).attr["value"].tensor
    tensor.tensor_shape.dim[0].size = 2**50
    node(graph, "Relu", "y", "x")


def calls(graph: Any, count: int, op: str) -> None:
    """Functions that each call the next one twice."""
    chain(graph, count, "end", op)
    for one in graph.library.function:
        inner = one.node_def.add()
        inner.CopyFrom(one.node_def[0])
        inner.name, inner.input[0] = "again", "inner:output:0"
        one.ret["y"] = "again:output:0"
    function(graph, "end", "Tanh")
    graph.library.function[-1].node_def[0].attr["T"].type = FLOAT


def functions_that_call_twice(graph: Any) -> None:
    calls(graph, 30, "PartitionedCall")


def branches_that_call_twice(graph: Any) -> None:
    calls(graph, 15, "If")


def loops_in_loops(graph: Any) -> None:
    """Functions that loop over the next one."""
    for number in range(16):
        one = graph.library.function.add()
        one.signature.name = f"f{number}"
        one.signature.input_arg.add(name="x", type=FLOAT)
        one.signature.output_arg.add(name="y", type=FLOAT)
        parts = {"cond": called("goes_on")["f"], "body": called(f"f{number + 1}")["f"]}
        types = TENSORFLOW.AttrValue()
        types.list.type.append(FLOAT)
        node(one, "StatelessWhile", "loop", "x", T=types, **parts)
        one.ret["y"] = "loop:output:0"
    function(graph, "f16", "Tanh")
    test = function(graph, "goes_on", "IsFinite")
    test.signature.output_arg[0].type = 10
    constant(graph, "x", np.float32(1))
    node(graph, "PartitionedCall", "y", "x", **called("f0"))


def a_chain(graph: Any, op: str, *others: str, end: str = "Reshape") -> None:
    """Nodes that each take what the last one gives, and a node that takes the end of them as a shape."""
    constant(graph, "c", np.array([1, 2], "int32"))
    constant(graph, "axis", np.int32(0))
    constant(graph, "two", np.array([2], "int32"))
    constant(graph, "pads", np.array([[10**8, 1]], "int32"))
    names = ["c", *(f"c{number}" for number in range(40))]
    for old, new in pairwise(names):
        node(graph, op, new, *(old if other == "same" else other for other in others))
    constant(graph, "x", np.zeros((1, 2), "float32"))
    node(graph, end, "y", "x", names[-1])


def concats(graph: Any) -> None:
    a_chain(graph, "ConcatV2", "same", "same", "axis")


def tiles(graph: Any) -> None:
    a_chain(graph, "Tile", "same", "two", end="Tile")


def pads(graph: Any) -> None:
    a_chain(graph, "Pad", "same", "pads")


def fills(graph: Any) -> None:
    constant(graph, "dims", np.array([2**31 - 1], "int32"))
    constant(graph, "one", np.int32(1))
    node(graph, "Fill", "shape", "dims", "one")
    constant(graph, "x", np.float32(1))
    node(graph, "BroadcastTo", "y", "x", "shape")


def outer_products(graph: Any) -> None:
    constant(graph, "flat", np.array([-1], "int32"))
    constant(graph, "c", np.array([1, 2], "int32"))
    old, equation = "c", TENSORFLOW.AttrValue(s=b"i,j->ij")
    for number in range(40):
        node(
            graph, "Einsum", f"e{number}", old, old, equation=equation, N=number_of(2), T=TENSORFLOW.AttrValue(type=INT)
        )
        node(graph, "Reshape", f"c{number}", f"e{number}", "flat")
        old = f"c{number}"
    constant(graph, "x", np.zeros((1, 2), "float32"))
    node(graph, "Reshape", "y", "x", old)


def number_of(value: int) -> Any:
    return TENSORFLOW.AttrValue(i=value)


def many_parts(op: str, count: int, **attrs: int) -> Callable[[Any], None]:
    """A builder of a node of many results, of which another one takes the last."""

    def build(graph: Any) -> None:
        constant(graph, "axis", np.int32(0))
        constant(graph, "sizes", np.ones(3, "int32"))
        node(graph, "Placeholder", "x", dtype=TENSORFLOW.AttrValue(type=FLOAT))
        inputs = {"Split": ("axis", "x"), "SplitV": ("x", "sizes", "axis")}.get(op, ("x",))
        given = {name: number_of(value) for name, value in attrs.items()}
        node(graph, op, "parts", *inputs, T=TENSORFLOW.AttrValue(type=FLOAT), **given)
        node(graph, "Relu", "y", f"parts:{count - 1}")

    build.__name__ = f"{op}_in_{count}"
    return build


def ranges(graph: Any) -> None:
    for name, value in (("start", 0), ("step", 1), ("axis", 0)):
        constant(graph, name, np.int32(value))
    for number in range(300):
        constant(graph, f"stop{number}", np.int32(10**6 - number))
        node(graph, "Range", f"r{number}", "start", f"stop{number}", "step", Tidx=TENSORFLOW.AttrValue(type=INT))
    node(graph, "ConcatV2", "y", *(f"r{number}" for number in range(300)), "axis", N=number_of(300))


def unique_of_many(graph: Any) -> None:
    of = TENSORFLOW.AttrValue(type=INT)
    constant(graph, "sizes", np.array([10**9], "int32"))
    constant(graph, "one", np.int32(1))
    constant(graph, "x", np.zeros(1, "float32"))
    node(graph, "Fill", "ones", "sizes", "one")
    node(graph, "Unique", "unique", "ones", T=of, out_idx=of)
    node(graph, "Reshape", "y", "x", "unique")


def a_large_image(graph: Any) -> None:
    constant(graph, "size", np.array([2**28, 2**28], "int32"))
    constant(graph, "x", np.zeros((1, 2, 2, 1), "float32"))
    node(graph, "ResizeBicubic", "y", "x", "size", T=TENSORFLOW.AttrValue(type=FLOAT))


def constants_that_repeat_a_value(graph: Any) -> None:
    for number in range(200):
        size = constant(graph, f"c{number}", np.float32(1)).attr["value"].tensor.tensor_shape.dim.add()
        size.size = 250_000
    node(graph, "AddN", "y", *(f"c{number}" for number in range(200)), N=number_of(200))


def keys_that_repeat_a_text(graph: Any) -> None:
    types = TENSORFLOW.AttrValue()
    types.list.type.append(FLOAT)
    for name in ("file", "keys", "slices"):
        constant(graph, name, np.array(b"", object)).attr["value"].tensor.tensor_shape.dim.add(size=2**35)
    node(graph, "RestoreV2", "restored", "file", "keys", "slices", dtypes=types)
    node(graph, "VarHandleOp", "v", dtype=TENSORFLOW.AttrValue(type=FLOAT))
    node(graph, "AssignVariableOp", "assigned", "v", "restored", dtype=TENSORFLOW.AttrValue(type=FLOAT))
    node(graph, "ReadVariableOp", "y", "v", dtype=TENSORFLOW.AttrValue(type=FLOAT))


TOO_MUCH = {
    constants_that_repeat_a_value: "bytes",
    keys_that_repeat_a_text: "bytes",
    outer_products: "",
    ranges: "bytes",
    unique_of_many: "bytes",
    a_large_image: "bytes",
    many_parts("Split", 10**6, num_split=10**6): "operations",
    many_parts("SplitV", 10**6, num_split=10**6): "operations",
    many_parts("Unpack", 10**6, num=10**6): "operations",
    many_parts("Unpack", 2**40, num=2**40): "operations",
    many_parts("Unheard", 60_000): "operations",
    functions_that_call_twice: "operations",
    branches_that_call_twice: "operations",
    loops_in_loops: "operations",
    concats: "bytes",
    tiles: "bytes",
    pads: "bytes",
    fills: "bytes",
}
REFUSED: list[tuple[Callable[[Any], None], str]] = [
    (functions_in_a_circle, "the function 'f0': found a function that calls itself"),
    (functions_that_are_deep, "a function that calls itself"),
    (branches_that_are_deep, "PartitionedCall 'y': found .* operations"),
    (a_function_that_is_missing, "a call of 'gone'"),
    (an_input_that_is_missing, "an input 'gone'"),
    (identities_in_a_circle, "among its own inputs"),
    (a_negative_result, "'x:-1' of a node with 1 results"),
    (a_shape_without_its_values, "the constant 'x'"),
]


def written(tmp_path: Path, build: Callable[[Any], None]) -> Path:
    graph = TENSORFLOW.GraphDef()
    build(graph)
    path = tmp_path / "graph.pb"
    path.write_bytes(graph.SerializeToString())
    return path


@pytest.mark.parametrize(("build", "message"), REFUSED, ids=lambda value: getattr(value, "__name__", ""))
def test_hostile_graphs_are_refused_with_the_place(tmp_path, build, message):
    start = time.perf_counter()
    with pytest.raises(FormatError, match=message):
        saved_model.load(written(tmp_path, build)).results("y")
    assert time.perf_counter() - start < 5


def an_attribute_of_another_kind(graph: Any) -> None:
    constant(graph, "x", np.ones((2, 2), "float32"))
    node(graph, "Pack", "z", "x", axis=TENSORFLOW.AttrValue(s=b"0"), N=TENSORFLOW.AttrValue(i=1))


def a_word_that_is_not_allowed(graph: Any) -> None:
    constant(graph, "x", np.ones((2, 2), "float32"))
    node(graph, "MirrorPad", "z", "x", "x", mode=TENSORFLOW.AttrValue(s=b"NEAREST"))


def an_input_too_few(graph: Any) -> None:
    constant(graph, "x", np.ones((2, 2), "float32"))
    node(graph, "TopKV2", "z", "x", T=TENSORFLOW.AttrValue(type=FLOAT))


@pytest.mark.parametrize(
    ("build", "reason"),
    [
        (an_attribute_of_another_kind, "its attribute 'axis' is no int"),
        (a_word_that_is_not_allowed, "its attribute 'mode' is 'NEAREST', not one of"),
        (an_input_too_few, "it has 1 inputs, and the op takes 2"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_a_node_that_lacks_something_says_what(tmp_path, build, reason):
    with pytest.raises(NotImplementedError, match=reason):
        saved_model.load(written(tmp_path, build)).results("z")()


@pytest.mark.parametrize("build", TOO_MUCH, ids=lambda build: build.__name__)
def test_graphs_that_ask_for_too_much_are_refused_with_the_limit(tmp_path, build):
    path = written(tmp_path, build)
    message = rf"set_read_limits\({TOO_MUCH[build]}=" if TOO_MUCH[build] else "more elements than 63 bits can number"
    with little(), pytest.raises(FormatError, match=rf"graph.pb.*: .*{message}"):
        saved_model.load(path).results("y")


def test_nodes_that_share_what_is_known_are_read_in_linear_time(tmp_path):
    def build(graph: Any) -> None:
        int_, float_ = TENSORFLOW.AttrValue(type=INT), TENSORFLOW.AttrValue(type=FLOAT)
        node(graph, "Placeholder", "x", dtype=float_)
        node(graph, "Shape", "c0", "x", T=float_)
        constant(graph, "one", np.int32(1))
        for number in range(300):
            node(graph, "Mul", f"c{number + 1}", f"c{number}", "one", T=int_)
            node(graph, "Reshape", f"r{number}", "x", f"c{number + 1}", T=float_)
        node(graph, "AddN", "y", *(f"r{number}" for number in range(300)), N=number_of(300), T=float_)

    with little(8):
        assert not saved_model.load(written(tmp_path, build)).results("y").opaque


# -- bounds of memory: files of some bytes that say large arrays ------------------------------------------------------


def a_large_constant(graph: Any) -> None:
    tensor = constant(graph, "x", np.zeros(1, "float32")).attr["value"].tensor
    tensor.ClearField("tensor_content")
    tensor.tensor_shape.dim[0].size = 2**34
    node(graph, "Relu", "y", "x")


def a_large_fill(graph: Any) -> None:
    constant(graph, "dims", np.array([2**31 - 1, 64], "int32"))
    constant(graph, "value", np.float32(0))
    node(graph, "Fill", "x", "dims", "value")
    node(graph, "Relu", "y", "x")


def a_large_list(graph: Any) -> None:
    constant(graph, "dims", np.array([2**20, 64], "int32"))
    constant(graph, "count", np.int32(2**20))
    dtype = TENSORFLOW.AttrValue(type=FLOAT)
    node(graph, "TensorListReserve", "list", "dims", "count", element_dtype=dtype)
    node(graph, "TensorListStack", "y", "list", "dims", element_dtype=dtype)


def a_large_range(graph: Any) -> None:
    for name, value in (("start", 0), ("stop", 2**31 - 1), ("step", 1)):
        constant(graph, name, np.int32(value))
    node(graph, "Range", "y", "start", "stop", "step", Tidx=TENSORFLOW.AttrValue(type=INT))


def many_results(graph: Any) -> None:
    constant(graph, "x", np.float32(1))
    node(graph, "Unheard", "z", "x")
    node(graph, "Relu", "y", f"z:{2**40}")


LARGE = [a_large_constant, a_large_fill, a_large_list, a_large_range, many_results]


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="this system does not tell the most memory")
def test_files_of_some_bytes_take_little_memory(tmp_path):
    for build in LARGE:
        folder = tmp_path / build.__name__
        folder.mkdir()
        written(folder, build)
    command = [sys.executable, "-m", "tests.formats.tensorflow.memory_checks", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    taken = {name: int(size) for name, size in map(str.split, done.stdout.splitlines())}
    assert taken.keys() == {build.__name__ for build in LARGE}
    assert {name: size for name, size in taken.items() if size > 64 << 20} == {}
