"""Graphs of Dovetail as nodes and functions of TensorFlow, which runs them and gives the same values."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dovetail as dt
from dovetail import ops
from dovetail.core.base.table import OPS
from dovetail.core.engines.collectives import COLLECTIVES
from dovetail.formats.tensorflow.attributes import constant_node
from dovetail.formats.tensorflow.ops import NO_WAY
from dovetail.formats.tensorflow.saved_model import SavedGraph, Signature
from dovetail.formats.tensorflow.writing import Writer
from dovetail.formats.wire.messages import TENSORFLOW
from tests.formats.dtypes import PAIRED, calls, tolerance
from tests.formats.graphs import CONTROL, built, comparable, graph_of, values, wide
from tests.formats.type_lists import FILES, text_of
from tests.libraries import Library, require
from tests.ops.table import CASES, cases, draw, identifier

require("tensorflow", "it runs what is written")
tf = Library("tensorflow")
op_def_registry = Library("tensorflow.python.framework.op_def_registry")


def graph_def(nodes: Sequence[Any], writer: Writer) -> Any:
    """The nodes and functions as TensorFlow's own message."""
    message = TENSORFLOW.GraphDef(node=nodes)
    message.library.function.extend(writer.library.values())
    message.versions.producer = 1882
    return tf.compat.v1.GraphDef.FromString(message.SerializeToString())


def run(graph: Any, feeds: dict[str, Any]) -> list[np.ndarray]:
    """The outputs of a graph, computed by TensorFlow."""
    writer = Writer()
    definition = graph_def(writer.nodes(graph), writer)
    with tf.Graph().as_default() as theirs:
        tf.graph_util.import_graph_def(definition, name="")
        with tf.compat.v1.Session(graph=theirs) as session:
            return session.run([t.name for t in graph.outputs], {f"{name}:0": x for name, x in feeds.items()})


def same(graph: Any, arrays: Sequence[np.ndarray], tolerance: float = 1e-5) -> None:
    """Check that TensorFlow computes what numpy does."""
    with dt.engine("numpy"):
        expected = values(dt.function(graph)(*arrays))
    found = run(graph, dict(zip((t.op.name for t in graph.inputs), arrays, strict=True)))
    for ours, theirs in zip(found, expected, strict=True):
        assert ours.dtype == theirs.dtype
        ours, theirs = map(wide, (ours, theirs))
        np.testing.assert_allclose(ours, theirs, rtol=tolerance, atol=tolerance)


# (op, number of a sample) → the reason why TensorFlow's kernel gives another value
DIFFERENT = {
    ("FloorDiv", 2): "it refuses to divide integers by zero",
    ("FloorMod", 2): "it refuses to divide integers by zero",
    ("Pow", 7): "it refuses negative powers of integers",
    ("ArgMax", 5): "it passes over NaN",
    ("ArgMin", 5): "it passes over NaN",
    ("Lu", 2): "it takes square matrices only",
    **{(f"Conv{rank}D", 3): "it gives an empty image back as it is" for rank in (1, 2, 3)},
    ("FusedConv", 3): "it gives an empty image back as it is",
}


def back(graph: Any, arrays: list[np.ndarray]) -> list[np.ndarray]:
    """The outputs of a graph that is written and read again, computed by numpy."""
    writer = Writer()
    message = TENSORFLOW.GraphDef(node=writer.nodes(graph))
    message.library.function.extend(writer.library.values())
    keys = {t.op.name: t.name for t in graph.inputs}, {f"y{number}": t.name for number, t in enumerate(graph.outputs)}
    read = SavedGraph(Path("a file"), message, {"f": Signature(*keys)}).read("f")
    assert read.opaque == {}
    with dt.engine("numpy"):
        return values(dt.function(read.graph)(*arrays))


WRITTEN = [(op, number) for op, number in CASES if (op.name, number) not in DIFFERENT and op.name not in NO_WAY]


@pytest.mark.each("op")
@cases(WRITTEN)
def test_each_op_is_computed_by_tensorflow_and_read_again(op: Any, number: int, rng: Any):
    sample = op.samples[number]
    args, kwargs = draw(sample, rng)
    with dt.engine("numpy"):
        expected = values(op(*args, **kwargs))
    graph, arrays = graph_of(op, args, kwargs)
    found = run(graph, dict(zip((t.op.name for t in graph.inputs), arrays, strict=True)))
    assert [(x.dtype, x.shape) for x in found] == [(x.dtype, x.shape) for x in expected]
    for results in (found, back(graph, arrays)):
        for ours, theirs in zip(comparable(op, results), comparable(op, expected), strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=sample.tolerance, atol=sample.tolerance)


@pytest.mark.parametrize("turned", [(True, True), (True, False), (False, True)], ids=str)
def test_transposed_batches_of_complex_matrices_are_not_conjugated(turned: tuple[bool, bool]):
    x, y = (np.exp(1j * np.arange(8)).reshape(2, 2, 2).astype("complex64") * n for n in (1, 2))
    same(*graph_of(OPS["MatMul"], [x, y, *turned], {}))


@pytest.mark.parametrize("dtype", ["float16", "float64"])
def test_convolutions_of_three_axes_may_be_dilated(dtype: str, rng: np.random.Generator):
    x, kernel = (rng.normal(size=shape).astype(dtype) for shape in ((1, 5, 5, 5, 2), (2, 2, 2, 2, 3)))
    moves = (1, 1, 1), "valid", (2, 1, 2), "channels_last"
    same(*graph_of(OPS["Conv3D"], [x, kernel, *moves], {}), tolerance=0.02)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "uint64", "int64"])
@pytest.mark.parametrize("name", ["LeftShift", "RightShift"])
def test_shifts_by_all_bits_leave_none(name: str, dtype: str):
    bits = 8 * np.dtype(dtype).itemsize
    x, y = (np.array(values, dtype) for values in ([100] * 5 + [np.iinfo(dtype).min], [0, 3, bits - 1, bits, 99, bits]))
    same(*graph_of(OPS[name], [x, y], {}))
    same(built(lambda x: OPS[name](x, y), dt.spec(x.shape, dtype)), [x])


def test_complex_numbers_without_real_parts_are_true():
    z = np.array([1j, 1, 0, 1 + 1j], "complex64")
    for function in (lambda z: ops.cast(z, "bool"), ops.nonzero, lambda z: ops.logical_not(z)):
        same(built(function, dt.spec((4,), z.dtype)), [z])


UNKNOWN = (
    "GatherNd",
    "TensorScatterAdd",
    "TensorScatterMul",
    "MaxPool",
    "AvgPoolGrad",
    "RFFT",
    "SlidingWindows",
    "LSTM",
)


@pytest.mark.parametrize("name", UNKNOWN)
def test_sizes_may_be_unknown(name: str, rng: np.random.Generator):
    for sample in OPS[name].samples[:2]:
        args, kwargs = draw(sample, rng)
        same(*graph_of(OPS[name], args, kwargs, is_known=False))


HALF = (
    "MatMul",
    "Softmax",
    "Erfinv",
    "Cholesky",
    "MatrixSolve",
    "AvgPool3D",
    "LayerNormalization",
    "LSTM",
    "Conv2D",
    "InTopKV2",
)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("name", HALF)
def test_halves_are_computed(name: str, dtype: str, rng: np.random.Generator):
    args, kwargs = draw(OPS[name].samples[0], rng, dtype)
    same(*graph_of(OPS[name], args, kwargs), tolerance=0.05)


@pytest.mark.each("op")
@pytest.mark.parametrize("op", [op for op in PAIRED if op.name not in NO_WAY], ids=identifier)
def test_each_dtype_of_an_op_is_computed_by_tensorflow(op: Any):
    for name, graph, arrays, expected in calls(op):
        if op.name != "SymbolicGradient":  # bools have no gradient
            assert [tensor.dtype.name for tensor in graph.outputs] == [x.dtype.name for x in expected], name
        found = run(graph, dict(zip((t.op.name for t in graph.inputs), arrays, strict=True)))
        assert [(x.dtype, x.shape) for x in found] == [(x.dtype, x.shape) for x in expected], name
        for ours, theirs in zip(comparable(op, found), comparable(op, expected), strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=tolerance(name), atol=tolerance(name), err_msg=name)


def test_the_lists_of_dtypes_are_the_libraries():
    assert FILES["tensorflow"].read_text() == text_of("tensorflow")


def test_few_ops_have_no_way():
    assert sorted({*NO_WAY} - {*COLLECTIVES}) == ["EagerPyFunc", "PyFunc", "PyFuncStateless"]
    graph = built(lambda x: OPS["PyFunc"]([x], np.sin, ["float32"]), dt.spec((2,)))
    with pytest.raises(NotImplementedError, match=r"'PyFunc': .*cannot hold its Python function.*Cut the graph"):
        Writer().nodes(graph)


X = np.arange(6, dtype="float32").reshape(2, 3) - 2


@pytest.mark.parametrize("spec", [(2, 3), (None, 3)], ids=str)
@pytest.mark.parametrize("name", CONTROL)
def test_branches_and_loops(name: str, spec: Any):
    graph = built(CONTROL[name], dt.spec(spec), dt.spec((), "int32"))
    for n in (2, 3):
        same(graph, [X, np.int32(n)])


def handle(variable: dt.Variable, name: str) -> Any:
    """The node of a variable."""
    node = TENSORFLOW.NodeDef(name=name, op="VarHandleOp")
    node.attr["dtype"].type = tf.as_dtype(str(variable.dtype)).as_datatype_enum
    node.attr["shape"].shape.dim.extend(TENSORFLOW.TensorShapeProto.Dim(size=n) for n in variable.shape)
    node.attr["shared_name"].s = name.encode()
    return node


def with_variables(nodes: list[Any], writer: Writer, variables: Sequence[Any], fetches: list[str]) -> list[Any]:
    """The values of tensors or nodes of a graph, then the values of its variables, of the nodes `v0` and `v1`."""
    handles = [handle(variable, f"v{number}") for number, variable in enumerate(variables)]
    with tf.Graph().as_default() as graph:
        tf.graph_util.import_graph_def(graph_def([*handles, *nodes], writer), name="")
        resources = [(graph.get_tensor_by_name(f"v{number}:0"), v) for number, v in enumerate(variables)]
        first = [tf.raw_ops.AssignVariableOp(resource=r, value=v.numpy()) for r, v in resources]
        last = [tf.raw_ops.ReadVariableOp(resource=r, dtype=str(v.dtype)) for r, v in resources]
        with tf.compat.v1.Session(graph=graph) as session:
            session.run(first)
            found = session.run([graph.as_graph_element(name) for name in fetches])
            return [*(value for value in found if value is not None), *session.run(last)]


def effects(a: dt.Variable, b: dt.Variable) -> Any:
    """A graph in which only the order of reads and assignments gives the right values."""
    graph = dt.Graph()
    with graph.as_default():
        x = graph.placeholder(dt.spec(()), "x")
        before = a.read() * 1
        a.assign(b.read() + x)
        b.assign(a.read() * before)
        a.assign(a.read() + dt.ops.cond(x > 1, lambda: b.read(), lambda: x))
        graph.outputs = [before, a.read() - b.read()]
    return graph


@pytest.mark.parametrize("x", [1.0, 2.0])
def test_reads_and_assignments_keep_their_order(x: float):
    a, b = dt.Variable(3.0, name="a"), dt.Variable(5.0, name="b")
    graph, writer = effects(a, b), Writer()
    results = zip(("before", "after"), graph.outputs, strict=True)
    name, captured = writer.function("serve", [("x", graph.inputs[0])], [*results])
    assert captured == [a, b]
    assert [argument.name for argument in writer.library[name].signature.input_arg] == ["x", "a", "b"]
    call = TENSORFLOW.NodeDef(name="call", op="StatefulPartitionedCall", input=["x", "v0", "v1"])
    call.attr["f"].func.name = name
    call.attr["Tin"].list.type.extend([1, 20, 20])
    call.attr["Tout"].list.type.extend([1, 1])
    given = TENSORFLOW.NodeDef(name="x")
    constant_node(given, np.float32(x))
    found = with_variables([given, call], writer, [a, b], ["call:0", "call:1"])
    nodes = [node for node in writer.nodes(graph, {a: "v0", b: "v1"}) if node.name != "x"]
    names = [f"{op.name}:0" for op in (t.op for t in graph.outputs)]
    ends = [node.name for node in nodes if node.op == "AssignVariableOp"]
    plain = with_variables([given, *nodes], writer, [a, b], [*names, *ends])
    with dt.engine("numpy"):
        expected = [*values(dt.function(graph)(np.float32(x))), a.numpy(), b.numpy()]
    np.testing.assert_allclose(found, expected)
    np.testing.assert_allclose(plain, expected)


# -- training ---------------------------------------------------------------------------------------------------------


def mlp(x: Any, w: Any, v: Any) -> Any:
    return dt.ops.matmul(dt.ops.gelu(dt.ops.matmul(dt.ops.reshape(x, [-1, 48]), w)), v)


def cnn(x: Any, w: Any, v: Any) -> Any:
    y = dt.ops.max_pool(dt.ops.relu(dt.ops.conv(x, w, padding="same")), 2, strides=2)
    return dt.ops.matmul(dt.ops.mean(y, axis=(1, 2)), v)


def lstm(x: Any, w: Any, v: Any) -> Any:
    steps, zero = dt.ops.reshape(x, [3, 4, 12]), dt.ops.zeros([3, 5])
    y, *_ = OPS["LSTM"](steps, zero, zero, w, dt.ops.ones([5, 20]) / 9)
    return dt.ops.matmul(y[:, -1], v)


MODELS = {"mlp": (mlp, (48, 6), (6, 4)), "cnn": (cnn, (3, 3, 3, 6), (6, 4)), "lstm": (lstm, (12, 20), (5, 4))}


@pytest.mark.parametrize("name", MODELS)
def test_a_training_step_runs_in_tensorflow(name: str, rng: np.random.Generator):
    model, *shapes = MODELS[name]
    weights = [dt.Variable(rng.normal(size=shape, scale=0.3).astype("float32"), name="w") for shape in shapes]
    graph, x = dt.Graph(), rng.normal(size=(3, 4, 4, 3)).astype("float32")
    with graph.as_default():
        given = graph.placeholder(dt.spec(x.shape), "x")
        read = [w.read() for w in weights]
        losses = OPS["SparseSoftmaxCrossEntropyWithLogits"](dt.ops.convert([0, 3, 1]), model(given, *read))
        loss = dt.ops.mean(losses)
        for weight, value, gradient in zip(weights, read, dt.gradients(loss, read), strict=True):
            weight.assign(value - 0.1 * gradient)
        graph.outputs = [loss]
    writer = Writer()
    nodes = [node for node in writer.nodes(graph, {w: f"v{i}" for i, w in enumerate(weights)}) if node.name != "x"]
    constant = TENSORFLOW.NodeDef(name="x")
    constant_node(constant, x)
    ends = [node.name for node in nodes if node.op == "AssignVariableOp"]
    found = with_variables([constant, *nodes], writer, weights, [f"{loss.op.name}:0", *ends])
    with dt.engine("numpy"):
        expected = [*values(dt.function(graph)(x)), *(w.numpy() for w in weights)]
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)
