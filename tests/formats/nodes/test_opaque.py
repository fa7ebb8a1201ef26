"""Opaque operations: only a refusal makes one, and a bug of a function that reads nodes comes out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pytest

import dovetail as dt
from dovetail import ops
from dovetail.core.base.errors import UnknownRank, op_error
from dovetail.core.base.hooks import hooks
from dovetail.core.dtypes import as_dtype
from dovetail.core.values.spec import TensorSpec
from dovetail.formats.nodes import opaque
from dovetail.formats.nodes.opaque import Unreadable, Words, is_refusal
from dovetail.formats.onnx import ops as ops_of_onnx
from dovetail.formats.onnx import table as onnx_table
from dovetail.formats.onnx.table import NEWEST
from dovetail.formats.tensorflow import ops as ops_of_tensorflow
from dovetail.formats.tensorflow import table
from dovetail.formats.tensorflow.attributes import constant_node, set_attribute
from dovetail.formats.tensorflow.op_defs import MISSING, Attr, definition
from dovetail.formats.tensorflow.saved_model import SavedGraph, Signature
from dovetail.formats.wire.messages import ONNX, TENSORFLOW
from dovetail.formats.wire.tensors import shape_proto, tensor_proto
from dovetail.ops.shapes.shape import dims_of, rank_of

assert ops_of_onnx
assert ops_of_tensorflow  # they fill the tables

INT = 3  # TensorFlow's number of int32
FLOAT = 1  # the number of float32 in both formats
BOOL = 9  # ONNX's number of truth values
OLDEST = 7  # the oldest opset that is read


class OurBug(KeyError):
    """A bug of Dovetail, of a kind that readers once took for a refusal."""


def buggy(node: Any = None, **given: Any) -> NoReturn:
    raise OurBug("a key that nobody has")


buggy.__code__ = buggy.__code__.replace(co_filename=opaque.__file__)  # an error of the package gets an op's name


# -- TensorFlow -------------------------------------------------------------------------------------------------------

VALUES = {"int": 1, "float": 1.0, "bool": False, "string": "", "shape": shape_proto(()), "type": as_dtype("float32")}


def tensorflow_graph(type: str) -> Any:
    """A graph with a node `y` of a type, whose inputs are constants and variables."""
    graph, known, row = TENSORFLOW.GraphDef(), definition(type), table.READ.get(type)
    graph.versions.producer = 1000
    node = TENSORFLOW.NodeDef(name="y", op=type)
    node.attr["dtype"].type = FLOAT  # of a constant, of whose types TensorFlow registers but one
    for one in known.attrs.values() if known is not None else ():
        if one.default is MISSING:
            fill(node.attr[one.name], one)
    ways = [one.way for one in row.inputs] if row is not None else []
    for number, arg in enumerate(known.inputs if known is not None else ()):
        is_variable = arg.dtype == "resource" or arg.is_ref or (number < len(ways) and ways[number] in ("&", "^"))
        made = graph.node.add(name=f"x{number}", op="VarHandleOp")
        if ways[number : number + 1] == ["#"]:
            made.op = "TensorListFromTensor"
            made.attr["element_dtype"].type = FLOAT
            constant_node(graph.node.add(name=f"rows{number}"), np.zeros((1, 1), "float32"))
            constant_node(graph.node.add(name=f"shape{number}"), np.zeros((1,), "int32"))
            made.input.extend([f"rows{number}", f"shape{number}"])
        elif is_variable:
            made.attr["dtype"].type = FLOAT
            made.attr["shape"].shape.SetInParent()
        else:
            constant_node(made, np.zeros((1, 1), "int32" if number < len(ways) and ways[number] == "!" else "float32"))
        node.input.append(made.name)
    for attribute in row.attributes if row is not None else ():
        if attribute.only is not None and attribute.theirs:
            set_attribute(node.attr[attribute.theirs], attribute.only)
    graph.node.append(node)
    return graph


def fill(attribute: Any, one: Attr) -> None:
    """Give an attribute a value that its definition allows."""
    kind = one.kind.removeprefix("list(").removesuffix(")")
    if kind == "tensor":
        attribute.tensor.CopyFrom(tensor_proto(np.zeros(())))
    elif kind == "func":
        attribute.func.name = "f"
    elif kind != one.kind:
        set_attribute(attribute, [VALUES[kind]] * (one.least or 1))
    else:
        set_attribute(attribute, one.allowed[0] if one.allowed and kind == "string" else VALUES[kind])


def read_tensorflow(graph: Any, **inputs: str) -> Any:
    values = {node.name: np.zeros((), "float32") for node in graph.node if node.op == "VarHandleOp"}
    return SavedGraph(Path("a file"), graph, {"f": Signature(inputs, {"0": "y:0"})}, bundle=values).read("f")


TENSORFLOW_TYPES = sorted({*table.SPECIAL, *(name for name, row in table.READ.items() if row.body is not None)})


@pytest.mark.parametrize("type", TENSORFLOW_TYPES)
def test_a_bug_of_a_function_of_tensorflows_types_comes_out(type: str, monkeypatch: pytest.MonkeyPatch):
    if type in table.SPECIAL:
        monkeypatch.setitem(table.SPECIAL, type, buggy)
    else:
        monkeypatch.setitem(table.READ, type, replace(table.READ[type], body=buggy))
    with pytest.raises(OurBug):
        read_tensorflow(tensorflow_graph(type))


def test_a_bug_for_an_axis_that_depends_on_values_comes_out(monkeypatch: pytest.MonkeyPatch):
    """The branches of all axes do not take the error for their own."""
    monkeypatch.setitem(table.READ, "Cumsum", replace(table.READ["Cumsum"], body=buggy))
    graph = tensorflow_graph("Cumsum")
    axis = graph.node[1]
    axis.Clear()
    axis.name, axis.op, axis.attr["dtype"].type = "x1", "Placeholder", INT
    axis.attr["shape"].shape.SetInParent()
    with pytest.raises(OurBug):
        read_tensorflow(graph, x1="x1:0")


# -- ONNX -------------------------------------------------------------------------------------------------------------


def onnx_model(type: str, version: int) -> Any:
    domain, _, op_type = type.rpartition(".")
    node = ONNX.NodeProto(op_type=op_type, domain=domain, name="y", output=["y"])
    y = ONNX.ValueInfoProto(name="y")
    y.type.tensor_type.elem_type = FLOAT
    model = ONNX.ModelProto(ir_version=8, graph=ONNX.GraphProto(name="g", node=[node], output=[y]))
    model.opset_import.add(domain="", version=NEWEST if domain else version)
    if domain:
        model.opset_import.add(domain=domain, version=version)
    return model


def bodies_of_rows() -> Iterator[Any]:
    for type, of_type in sorted(onnx_table.READ.items()):
        for number, row in enumerate(of_type):
            if row.body is not None and ("." in type or row.last >= OLDEST):
                yield pytest.param(type, number, id=f"{type} {row.first}")


@pytest.mark.parametrize("type", sorted(onnx_table.SPECIAL))
def test_a_bug_of_a_special_function_of_onnx_comes_out(type: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(onnx_table.SPECIAL, type, buggy)
    with pytest.raises(OurBug):
        dt.onnx.load(onnx_model(type, 1 if "." in type else NEWEST))


@pytest.mark.parametrize(("type", "number"), [*bodies_of_rows()])
def test_a_bug_of_the_function_of_a_row_of_onnx_comes_out(type: str, number: int, monkeypatch: pytest.MonkeyPatch):
    row = onnx_table.READ[type][number]
    monkeypatch.setitem(onnx_table.READ, type, [replace(row, body=buggy)])
    monkeypatch.delitem(onnx_table.SPECIAL, type, raising=False)
    oldest = 1 if "." in type else OLDEST
    with pytest.raises(OurBug):
        dt.onnx.load(onnx_model(type, max(row.first, oldest)))


@pytest.mark.parametrize("type", ["Identity", "Floor", "Gemm"])
def test_a_bug_in_a_branch_of_onnx_comes_out(type: str, monkeypatch: pytest.MonkeyPatch):
    """The op of the branches does not take the error for its own."""
    monkeypatch.setitem(onnx_table.SPECIAL, type, buggy)
    model = onnx_model("If", NEWEST)
    for name in ("then_branch", "else_branch"):
        branch = onnx_model(type, NEWEST).graph
        branch.node[0].output[0] = branch.output[0].name = name
        model.graph.node[0].attribute.add(name=name, type=5, g=branch)
    model.graph.node[0].input.append("go")
    go = model.graph.input.add(name="go")
    go.type.tensor_type.elem_type = BOOL
    go.type.tensor_type.shape.SetInParent()
    with pytest.raises(OurBug):
        dt.onnx.load(model)


# -- refusals ---------------------------------------------------------------------------------------------------------


def caught(function: Any) -> Exception:
    with pytest.raises(Exception) as info:
        function()
    return info.value


def test_errors_of_ops_are_refusals_and_bugs_are_none():
    assert is_refusal(Unreadable("no reason"))
    assert is_refusal(op_error(ValueError, "MatMul", "needs matrices."))
    assert is_refusal(caught(lambda: ops.matmul(np.zeros((2, 3)), np.zeros((2, 3)))))
    assert not any(is_refusal(kind("a bug")) for kind in (KeyError, TypeError, ValueError, IndexError))


def test_an_unknown_rank_is_a_refusal():
    graph = hooks.new_graph("g")
    x = graph.placeholder(TensorSpec(None, as_dtype("float32")), "x")
    assert is_refusal(caught(lambda: rank_of(x)))
    assert isinstance(caught(lambda: dims_of(x)), UnknownRank)


def test_a_word_that_a_table_lacks_is_unreadable():
    with pytest.raises(Unreadable, match="'C' is none of 'A', 'B'"):
        Words(A=1, B=2)["C"]
