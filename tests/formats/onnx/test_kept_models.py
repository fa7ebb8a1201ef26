"""Models of ONNX of all kinds keep what nobody edited: message by message, in order, also beside an edit."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper, parser
from onnx.reference import ReferenceEvaluator

import dovetail as dt
from tests.formats.onnx.running import session_of
from tests.libraries import Library, require

require("onnxruntime", "it computes what is written")
torch = Library("torch")

RNG = np.random.default_rng(0)
Model = onnx.ModelProto
HEAD = '<ir_version: 10, opset_import: ["" : {opset}{more}]>\n'


def parsed(text: str, opset: int = 21, more: str = "") -> Model:
    return parser.parse_model(HEAD.format(opset=opset, more=more) + text)


def tensors(graph: Any, number: int = TensorProto.FLOAT, **arrays: Any) -> None:
    """Add initializers; those of floats have their numbers in `float_data`, others in `raw_data`."""
    for name, array in arrays.items():
        array = np.asarray(array)
        if array.dtype == np.float32:
            graph.initializer.append(helper.make_tensor(name, number, array.shape, array.reshape(-1).tolist()))
        else:
            graph.initializer.append(numpy_helper.from_array(array, name))


def weights(*shape: int) -> np.ndarray:
    return RNG.normal(size=shape).astype("float32")


def dense() -> Model:
    """Typed and raw data, values that no node takes, and attributes with their defaults written or left out."""
    model = parsed(
        """dense (float[batch, 4] x) => (float[batch, 3] y, float[batch, 5] z) {
        a = MatMul(x, w)
        h = Relu(a)
        [last] b = Gemm <alpha: float = 1.0, transA: int = 0> (h, v, c)
        y = Softmax(b)
        unused = Neg(a)
        z = LeakyRelu <alpha: float = 0.01> (h)
        }"""
    )
    tensors(model.graph, w=weights(4, 5), v=weights(5, 3), c=weights(3), lonely=np.arange(3), texts=np.array(["a"]))
    return model


NARROW = {"half": TensorProto.BFLOAT16, "eight": TensorProto.FLOAT8E4M3FN, "four": TensorProto.INT4}


def narrow() -> Model:
    """Initializers of dtypes that NumPy does not have."""
    model = parsed(
        """narrow (float[b, 3] x) => (float[b, 3] y) {
        one = Cast <to: int = 1> (half)
        two = DequantizeLinear(eight, scale)
        three = DequantizeLinear(four, scale)
        h = Relu(x)
        i = Mul(h, one)
        k = Add(i, two)
        y = Add(k, three)
        }"""
    )
    for name, number in NARROW.items():
        model.graph.initializer.append(helper.make_tensor(name, number, (3,), [1, -2, 3]))
    tensors(model.graph, scale=np.float32(0.5))
    return model


def branches() -> Model:
    """Names from around, own weights of the same names, and branches in branches."""
    model = parsed(
        """branches (float[2, 3] x, bool c) => (float[2, 3] y) {
        h = Tanh(x)
        i = If (c) <
          then_branch = yes () => (float[2, 3] t) { p = Mul(h, k)  q = Relu(p)  t = Add(q, w) },
          else_branch = no () => (float[2, 3] e) {
            p = Add(h, k)
            q = If (c) <then_branch = a () => (float[2, 3] r) { r = Neg(p) },
                        else_branch = b () => (float[2, 3] s) { s = Abs(p) }>
            e = Identity(q)
          }
        >
        y = Add(i, h)
        }"""
    )
    tensors(model.graph, w=weights(3))
    for one in model.graph.node[1].attribute:
        tensors(one.g, k=weights(3))
        one.g.doc_string = f"the branch {one.g.name}"
        one.g.value_info.append(helper.make_tensor_value_info("p", TensorProto.FLOAT, (2, 3)))
    return model


def loop() -> Model:
    return parsed(
        """loop (float[2, 3] x, int64 n) => (float[2, 3] y, float[m, 2, 3] all) {
        h = Exp(x)
        on = Constant <value: tensor = bool {1}> ()
        y, all = Loop (n, on, h) <
          body = body (int64 i, bool before, float[2, 3] a) => (bool after, float[2, 3] d, float[2, 3] row) {
            b = Add(a, h)
            q = Sigmoid(b)
            d = Mul(q, x)
            row = Neg(d)
            after = Identity(before)
          }>
        }"""
    )


def scan() -> Model:
    return parsed(
        """scan (float[2] x, float[n, 2] rows) => (float[2] y, float[n, 2] all) {
        h = Exp(x)
        y, all = Scan (h, rows) <num_scan_inputs: int = 1,
          body = body (float[2] a, float[2] row) => (float[2] d, float[2] q) {
            b = Add(a, row)
            q = Sigmoid(b)
            d = Mul(q, x)
          }>
        }"""
    )


def functions() -> Model:
    """Functions that call each other, with attributes of the call, and one that nothing calls."""
    model = parsed(
        """functions (float[2, 3] x) => (float[2, 3] y) {
        [first] a = own.Scaled <by: float = 2.0> (x)
        h = Relu(a)
        [second] y = own.Twice(h)
        }
        <domain: "own", opset_import: ["" : 21]>
        Scaled <by> (v) => (r) { c = Constant <value_float: float = @by> ()  r = Mul(v, c) }
        <domain: "own", opset_import: ["" : 21, "own" : 1]>
        Twice (v) => (r) { q = own.Scaled <by: float = 3.0> (v)  r = own.Scaled <by: float = 0.5> (q) }
        <domain: "own", opset_import: ["" : 21]>
        Lonely (v) => (r) { r = Neg(v) }""",
        more=', "own" : 1',
    )
    model.functions[0].doc_string = "scales"
    return model


def foreign() -> Model:
    """A node of a domain that nobody knows, whose results the file declares."""
    model = parsed(
        """foreign (float[2, 3] x) => (float[2, 3] y, float[2, 3] z) {
        h = Relu(x)
        a = nobody.Knows <level: int = 3> (h)
        y = Neg(a)
        z = Tanh(h)
        }""",
        more=', "nobody" : 7',
    )
    model.graph.value_info.append(helper.make_tensor_value_info("a", TensorProto.FLOAT, (2, 3)))
    return model


def shapes() -> Model:
    """Shapes that are computed, as exporters write them, inputs that are left out, and nodes without effect."""
    model = parsed(
        """shapes (float[batch, 4] x) => (float[batch, 2, 2] y) {
        c = Clip(x, , most)
        h = Relu(c)
        d = Dropout(h)
        s = Shape(d)
        zero = Constant <value: tensor = int64[1] {0}> ()
        first = Gather(s, zero)
        rest = Constant <value_ints: ints = [2, 2]> ()
        shape = Concat <axis: int = 0> (first, rest)
        k = Reshape(d, shape)
        i = Identity(k)
        y = Add(i, one)
        }"""
    )
    tensors(model.graph, most=np.float32(1.5), one=np.float32(1))
    return model


def fixed() -> Model:
    """Shapes that are known before a run."""
    model = shapes()
    for one in (*model.graph.input, *model.graph.output):
        one.type.tensor_type.shape.dim[0].dim_value = 2
    return model


def defaults() -> Model:
    """Initializers that are inputs, too."""
    model = parsed(
        """defaults (float[2, 4] x, float[4, 3] w, float scale, int64[1] axes) => (float[2, 1] y) {
        a = MatMul(x, w)
        h = Relu(a)
        b = Mul(h, scale)
        y = ReduceSum(b, axes)
        }"""
    )
    tensors(model.graph, w=weights(4, 3), scale=np.float32(2), axes=np.array([1]))
    return model


def images() -> Model:
    """Names as TensorFlow's exporter writes them, and Transposes around a convolution."""
    model = parsed("g (float[n, 6, 6, 2] x) => (float[n, 4, 4, 3] y) { h = Relu(x) }", 13)
    attrs = {"dilations": [1, 1], "strides": [1, 1], "kernel_shape": [3, 3], "group": 1}
    nodes = [
        helper.make_node("Transpose", ["h"], ["net/conv__6:0"], "net/conv__6", perm=[0, 3, 1, 2]),
        helper.make_node("Conv", ["net/conv__6:0", "w", "bias"], ["net/conv:0"], "net/conv", **attrs),
        helper.make_node("Relu", ["net/conv:0"], ["net/relu:0"], "net/relu"),
        helper.make_node("Transpose", ["net/relu:0"], ["y"], "net/relu__8", perm=[0, 2, 3, 1]),
    ]
    model.graph.node.extend(nodes)
    tensors(model.graph, w=weights(3, 2, 3, 3), bias=weights(3))
    return model


def sequences() -> Model:
    """Values that are no tensors."""
    return parsed(
        """sequences (float[4, 3] x) => (float[2, 3] y) {
        h = Relu(x)
        parts = SplitToSequence <axis: int = 0> (h, size)
        at = Constant <value_int: int = 1> ()
        a = SequenceAt(parts, at)
        y = Neg(a)
        } """.replace("=> (float[2, 3] y) {", "=> (float[2, 3] y) <int64 size = {2}> {")
    )


def sparse() -> Model:
    """An initializer that is sparse."""
    model = parsed("sparse (float[2, 4] x) => (float[2, 3] y) { h = Relu(x)  y = MatMul(h, w) }")
    values = numpy_helper.from_array(np.array([1.5, -2], "float32"), "w")
    places = numpy_helper.from_array(np.array([1, 7]), "w_places")
    model.graph.sparse_initializer.append(helper.make_sparse_tensor(values, places, [4, 3]))
    return model


def exported() -> Model:
    """A model of PyTorch."""
    require("torch", "it exports a model")
    require("onnxscript", "torch.onnx.export needs it")
    nn = torch.nn
    torch.manual_seed(0)
    layers = nn.Linear(4, 8), nn.LayerNorm(8), nn.ReLU(), nn.Linear(8, 3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        program = torch.onnx.export(
            nn.Sequential(*layers).eval(),
            (torch.ones(2, 4),),
            dynamo=True,
            verbose=False,
            input_names=["x"],
            output_names=["y"],
        )
    model = program.model_proto
    relu = next(node for node in model.graph.node if node.op_type == "Relu")
    before = relu.output[0]
    for node in model.graph.node:
        node.input[:] = ["h" if name == before else name for name in node.input]
    relu.output[0] = relu.name = "h"
    return model


MODELS = {
    one.__name__: one
    for one in (
        *(dense, narrow, branches, loop, scan, functions, foreign),
        *(shapes, fixed, defaults, images, sequences, sparse, exported),
    )
}


def told(name: str) -> Model:
    """A model with descriptions everywhere."""
    model = MODELS[name]()
    model.producer_name, model.producer_version, model.domain, model.model_version = "us", "1.2", "here", 7
    model.doc_string, model.graph.doc_string = "a model", "a graph"
    for owner in (model, model.graph, *model.graph.node):
        owner.metadata_props.add(key="key", value=f"of {owner.DESCRIPTOR.name}")
        owner.metadata_props.add(key="pkg.torch", value="other")
    for number, node in enumerate(model.graph.node):
        node.doc_string = f"node {number}"
    model.graph.quantization_annotation.add(tensor_name="h").quant_parameter_tensor_names.add(key="SCALE", value="s")
    info = model.training_info.add()
    info.initialization.name = "begins"
    known = {one.name for one in (*model.graph.output, *model.graph.value_info)}
    inferred = onnx.shape_inference.infer_shapes(model).graph.value_info
    model.graph.value_info.extend(one for one in inferred if one.name == "h" and one.name not in known)
    return model


def given(model: Model) -> dict[str, np.ndarray]:
    """Values of the inputs."""
    known, found = {one.name for one in model.graph.initializer}, {}
    for one in model.graph.input:
        if one.name not in known:
            shape = [dim.dim_value or 2 for dim in one.type.tensor_type.shape.dim]
            dtype = helper.tensor_dtype_to_np_dtype(one.type.tensor_type.elem_type)
            found[one.name] = np.asarray(RNG.normal(size=shape) * 2 + 1).astype(dtype)
    return found


def takers(model: Model, name: str) -> set[str]:
    """The first results of the nodes that take a value, also inside of graphs."""

    def names(node: Any) -> Iterator[str]:
        yield from node.input
        for one in node.attribute:
            for inner in one.g.node:
                yield from names(inner)

    return {node.output[0] for node in model.graph.node if name in [*names(node)]}


# -- edits: (model, message) → the first results of the nodes, and the names of the others, that are not as before ----

Touched = tuple[set[str], set[str]]


def in_place(loaded: Any, message: Model) -> Touched:
    graph = loaded.graph
    graph.get_tensor("h:0").op.change("Sin")
    return {"h"}, {"h"}


def replaced(loaded: Any, message: Model) -> Touched:
    graph = loaded.graph
    old = graph.get_tensor("h:0")
    with graph.insert_after(old.op):
        new = dt.ops.sin(old.op.inputs[0])
    graph.replace_all_uses(old, new)
    graph.prune()
    return {"h"}, {"h"}


def inserted(loaded: Any, message: Model) -> Touched:
    loaded.graph.insert_after(loaded.graph.get_tensor("h:0"), lambda t: t * 2.0 + 1.0)
    return takers(message, "h"), set()


def removed(loaded: Any, message: Model) -> Touched:
    graph = loaded.graph
    old = graph.get_tensor("h:0")
    graph.replace_all_uses(old, old.op.inputs[0])
    return {"h"} | takers(message, "h"), {"h"}


def weighed(loaded: Any, message: Model) -> Touched:
    names = {one.name for one in message.graph.initializer}
    found = [one for one in loaded.variables if one.name in names]
    if not found:
        pytest.skip("the model has no weights")
    variable = found[0]
    variable.assign(variable.numpy() * 2)
    loaded.graph.insert_after(loaded.graph.outputs[0], lambda t: t * 2.0)
    return {node.output[0] for node in message.graph.node if "y" in node.output}, {variable.name}


def renamed(loaded: Any, message: Model) -> Touched:
    loaded.rename(outputs={"y": "scores"})
    return {node.output[0] for node in message.graph.node if "y" in node.output}, {"y"}


def more(loaded: Any, message: Model) -> Touched:
    loaded.keep(*loaded.outputs, "h:0")
    return set(), set()


def behind(loaded: Any, message: Model) -> Touched:
    loaded.graph.insert_after(loaded.graph.outputs[0], lambda t: t * 2.0)
    return {node.output[0] for node in message.graph.node if "y" in node.output}, set()


def inside(loaded: Any, message: Model) -> Touched:
    parts = [part for part in loaded.graph.everywhere() if part is not loaded.graph]
    found = [op for part in parts for op in part if op.name.rpartition("/")[2] == "q" and len(op.outputs) == 1]
    if not found:
        pytest.skip("the model has no graphs inside")
    part = found[0].graph
    part.insert_after(found[0].outputs[0], lambda t: t * 2.0)
    return {node.output[0] for node in message.graph.node if any(one.HasField("g") for one in node.attribute)}, set()


EDITS: dict[str, Callable[[Any, Model], Touched]] = {
    one.__name__: one for one in (in_place, replaced, inserted, removed, weighed, renamed, more, behind, inside)
}
LISTS = {  # the lists of a graph → the name of each
    "initializer": lambda one: one.name,
    "sparse_initializer": lambda one: one.values.name,
    "value_info": lambda one: one.name,
    "quantization_annotation": lambda one: one.tensor_name,
    "input": lambda one: one.name,
    "output": lambda one: one.name,
    "metadata_props": lambda one: one.key,
}


def gone_with(model: Model, nodes: set[str]) -> set[str]:
    """The results that only nodes need that are touched."""
    found = set(nodes)
    results = {one.name for one in model.graph.output}
    for node in reversed(model.graph.node):
        users = [takers(model, name) for name in node.output]
        if any(users) and set().union(*users) <= found and not results & {*node.output}:
            found.add(node.output[0])
    return found - nodes


def check_kept(before: Model, after: Model, nodes: set[str], names: set[str]) -> None:
    """Check that all else is as before, in order."""
    whole = {one.SerializeToString() for one in before.graph.node}
    old = [one for one in before.graph.node if one.output[0] not in nodes]
    gone = gone_with(before, nodes)
    old = [one for one in old if one.output[0] not in gone or one in after.graph.node]
    assert [one for one in after.graph.node if one.SerializeToString() in whole and one.output[0] not in nodes] == old
    for field, name in LISTS.items():
        old = [one for one in getattr(before.graph, field) if name(one) not in names]
        known = {name(one) for one in old}
        assert [one for one in getattr(after.graph, field) if name(one) in known] == old, field
    for one, other in ((before, after), (before.graph, after.graph)):
        for field in one.DESCRIPTOR.fields:
            if field.name not in ("graph", "node", *LISTS):
                assert getattr(one, field.name) == getattr(other, field.name), field.name
    assert before.metadata_props == after.metadata_props


def check_values(message: Model, inputs: dict[str, Any], expected: dict[str, np.ndarray]) -> None:
    """Check what ONNX Runtime, or else ONNX's own reference, computes."""
    try:
        ready = session_of(message.SerializeToString())
        found = dict(zip([one.name for one in ready.get_outputs()], ready.run(None, inputs), strict=True))
    except Exception:  # it lacks types and domains
        found = dict(zip(expected, ReferenceEvaluator(message).run([*expected], inputs), strict=True))
    assert found.keys() == expected.keys()
    for name, array in expected.items():
        np.testing.assert_allclose(found[name], array, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", MODELS)
def test_an_unedited_model_is_equal(name: str, tmp_path: Path):
    message = told(name)
    dt.onnx.load(message).save(tmp_path / "model.onnx")
    assert onnx.load(tmp_path / "model.onnx") == message


@pytest.mark.parametrize("edit", EDITS)
@pytest.mark.parametrize("name", MODELS)
def test_an_edited_model_keeps_what_nobody_edited(name: str, edit: str, tmp_path: Path):
    message = told(name)
    loaded = dt.onnx.load(message)
    touched = EDITS[edit](loaded, message)
    loaded.save(tmp_path / "model.onnx")
    saved = onnx.load(tmp_path / "model.onnx")
    check_kept(message, saved, *touched)
    if name != "foreign":
        onnx.checker.check_model(saved)
        inputs = given(message)
        found = loaded.run([*inputs.values()])
        check_values(saved, inputs, {key: one.numpy() for key, one in zip(loaded.outputs, found, strict=True)})


def test_names_that_others_have_make_place(tmp_path: Path):
    message = told("dense")
    loaded = dt.onnx.load(message)
    loaded.variables[0].assign(loaded.variables[0].numpy() * 2)
    loaded.rename({"x": "h"}, {"y": "a", "z": "w"})
    loaded.save(tmp_path / "model.onnx")
    saved = onnx.load(tmp_path / "model.onnx")
    onnx.checker.check_model(saved, full_check=True)
    assert [node.op_type for node in saved.graph.node] == [node.op_type for node in message.graph.node]
    x = weights(2, 4)
    check_values(saved, {"h": x}, {name: one.numpy() for name, one in loaded(x).items()})


@pytest.mark.parametrize("external", [False, True])
def test_data_beside_the_file_stays_there_if_that_is_asked_for(external: bool, tmp_path: Path):
    message = parsed("g (float[2, 40] x) => (float[2, 40] y) { h = MatMul(x, w)  y = Relu(h) }")
    tensors(message.graph, w=weights(40, 40))
    onnx.save_model(message, tmp_path / "model.onnx", save_as_external_data=True, location="data", size_threshold=0)
    loaded = dt.onnx.load(tmp_path / "model.onnx")
    behind(loaded, message)
    loaded.save(tmp_path / "edited.onnx", external=external)
    saved = onnx.load(tmp_path / "edited.onnx", load_external_data=False)
    assert [one.data_location for one in saved.graph.initializer if one.name == "w"] == [int(external)]
    check_kept(message, onnx.load(tmp_path / "edited.onnx"), {"y"}, {"w"})
    x = weights(2, 40)
    expected = loaded(x).numpy()
    np.testing.assert_allclose(session_of(str(tmp_path / "edited.onnx")).run(None, {"x": x})[0], expected, atol=1e-4)


def test_nodes_of_a_function_that_is_edited_stay(tmp_path: Path):
    loaded = dt.onnx.load(told("functions"))
    inner = loaded.graph.get_tensor("second/q:0")
    loaded.graph.insert_after(inner, lambda t: t + 1.0)
    loaded.save(tmp_path / "model.onnx")
    saved = onnx.load(tmp_path / "model.onnx")
    assert [node.op_type for node in saved.graph.node] == ["Scaled", "Relu", "Scaled", "Add", "Scaled"]
    assert [one.name for one in saved.functions] == ["Scaled", "Lonely"]
    inputs = given(saved)
    check_values(saved, inputs, {"y": loaded(**inputs).numpy()})


OLD = {  # an old opset, and a newer one → nodes, and those that the newer one has otherwise
    (12, 18): ("h = Relu(x) s = Softmax(h) m = ReduceMean <axes: ints = [1]> (s) y = Neg(m)", ["s", "m"]),
    (17, 13): ("h = Relu(x) n = LayerNormalization(h, one) y = Neg(n)", ["h", "n"]),
    (9, None): ("h = Relu(x) c = Clip <min: float = 0.5> (h) y = Tanh(c)", ["c"]),
}


@pytest.mark.parametrize("opsets", OLD)
def test_nodes_that_another_opset_has_otherwise_are_named_and_written_anew(opsets: Any, tmp_path: Path):
    (before, opset), (nodes, others) = opsets, OLD[opsets]
    message = parsed(f"g (float[2, 4] x) => (float[a, b] y) {{ {nodes} }}", before)
    tensors(message.graph, one=weights(4))
    types = {node.output[0]: node.op_type for node in message.graph.node}
    loaded = dt.onnx.load(message)
    with pytest.warns(UserWarning, match=", ".join(f"{types[one]} '{one}'" for one in others)):
        if opset is None:
            behind(loaded, message)
        loaded.save(tmp_path / "model.onnx", opset=opset)
    saved = onnx.load(tmp_path / "model.onnx")
    onnx.checker.check_model(saved, full_check=True)
    kept = {node.output[0] for node in message.graph.node if node in saved.graph.node}
    assert types.keys() - kept - ({"y"} if opset is None else set()) == {*others}
    x = weights(2, 4)
    check_values(saved, {"x": x}, {"y": loaded(x).numpy()})
