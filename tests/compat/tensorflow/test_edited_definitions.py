"""Edited definitions run as edited: an edit of Dovetail's messages gives the values that it gives in TensorFlow."""

from __future__ import annotations

import copy
import functools
from collections import OrderedDict

import numpy as np
import pytest
from dovetail.compat.tensorflow.compat import v1 as ours

from tests.libraries import Library, require

require("tensorflow", "it runs the same edits")
require("google.protobuf", "definitions are messages")

theirs = Library("tensorflow")
text_format = Library("google.protobuf.text_format")
json_format = Library("google.protobuf.json_format")
X = np.array([[1.0, -2.0, 3.0], [0.5, 4.0, -1.0]], "float32")


def build(v1):
    """A net with a constant kernel, dropout that a placeholder guards, and a head."""
    x = v1.placeholder(v1.float32, [None, 3], name="x")
    keep = v1.placeholder(v1.float32, [], name="keep")
    w = v1.constant([[1.0, 2.0], [0.5, -1.0], [3.0, 0.25]], name="w")
    h = v1.matmul(x, w, name="h")
    r = v1.nn.relu(h, name="r")
    mask = v1.floor(v1.add(keep, 0.25, name="shifted"), name="mask")
    d = v1.multiply(r, mask, name="d")
    s = v1.reduce_sum(d, 1, name="s")
    values, _ = v1.nn.top_k(d, 1, name="top")
    with v1.control_dependencies([s.op]):
        i = v1.identity(values, name="i")
    v1.reshape(v1.add(i, s[:, None], name="a"), [-1], name="y")


@functools.cache
def definition(is_ours):
    v1 = ours if is_ours else theirs.compat.v1
    with v1.Graph().as_default() as graph:
        build(v1)
    return graph.as_graph_def()


def named(graph_def, name):
    return next(node for node in graph_def.node if node.name == name)


def rewired(v1, g):
    named(g, "s").input[0] = "r"
    named(g, "top").input[0] = "r:0"


def another_type(v1, g):
    named(g, "r").op = "Neg"


def inputs_anew(v1, g):
    node = named(g, "d")
    del node.input[:]
    node.input.extend(["r", "r"])


def a_node_is_removed(v1, g):
    (at,) = [i for i, node in enumerate(g.node) if node.name == "d"]
    del g.node[at]
    for node in g.node:
        for i, text in enumerate(node.input):
            node.input[i] = "r" if text == "d" else text


def remove(v1, g):
    g.node.remove(named(g, "r"))
    named(g, "d").input[0] = "h"


def a_node_is_added(v1, g):
    node = g.node.add()
    node.name, node.op = "twice", "AddV2"
    node.input.extend(["r", "r"])
    node.attr["T"].type = v1.float32.as_datatype_enum
    named(g, "d").input[0] = "twice"


def a_node_is_made(v1, g):
    kind = v1.AttrValue(type=v1.float32.as_datatype_enum)
    g.node.extend([v1.NodeDef(name="e", op="Exp", input=["h"], attr={"T": kind})])
    g.node[[node.name for node in g.node].index("r")].input[0] = "e"


def a_constant_is_changed(v1, g):
    tensor = v1.make_tensor_proto(np.ones((3, 2), "float32") * 2)
    named(g, "w").attr["value"].tensor.CopyFrom(tensor)


def a_constant_is_read(v1, g):
    array = v1.make_ndarray(named(g, "w").attr["value"].tensor)
    named(g, "w").attr["value"].CopyFrom(v1.AttrValue(tensor=v1.make_tensor_proto(array * 3)))


def a_placeholder_becomes_a_constant(v1, g):
    node = named(g, "keep")
    node.op = "Const"
    node.ClearField("attr")
    node.attr["dtype"].type = v1.as_dtype("float32").as_datatype_enum
    node.attr["value"].tensor.CopyFrom(v1.make_tensor_proto(2.0, v1.float32, []))


def a_constant_becomes_a_placeholder(v1, g):
    node = named(g, "w")
    node.op = "Placeholder"
    del node.attr["value"]
    node.attr["shape"].shape.CopyFrom(v1.TensorShape([3, 2]).as_proto())


def a_shape(v1, g):
    shape = named(g, "x").attr["shape"].shape
    assert [dim.size for dim in shape.dim] == [-1, 3]
    shape.dim[0].size = 2


def an_attribute(v1, g):
    node = named(g, "h")
    node.attr["transpose_b"].b = True
    named(g, "w").attr["value"].tensor.CopyFrom(v1.make_tensor_proto(np.ones((2, 3), "float32")))


def without_control_inputs(v1, g):
    node = named(g, "i")
    kept = [text for text in node.input if not text.startswith("^")]
    del node.input[:]
    node.input.extend(kept)


def renamed(v1, g):
    for node in g.node:
        node.name = f"p/{node.name}"
        node.input[:] = [f"^p/{text[1:]}" if text.startswith("^") else f"p/{text}" for text in node.input]


def copied(v1, g):
    made = v1.GraphDef()
    for node in g.node:
        new = made.node.add()
        new.CopyFrom(node)
        if node.name == "r":
            new.op = "Abs"
    return made


def extended(v1, g):
    made = v1.GraphDef()
    made.versions.CopyFrom(g.versions)
    made.node.extend([copy.deepcopy(node) for node in g.node if node.name != "r"])
    named(made, "d").input[0] = "h"
    return made


def made_of_nodes(v1, g):
    named(g, "d").input[1] = "keep"
    return v1.GraphDef(node=g.node, versions=g.versions)


def merged(v1, g):
    made = v1.GraphDef(node=g.node[:4])
    rest = v1.GraphDef()
    rest.node.extend(g.node[4:])
    named(rest, "s").input[0] = "r"
    made.MergeFrom(rest)
    return made


def parsed(v1, g):
    named(g, "d").input[0] = "h"
    data = g.SerializeToString()
    assert len(data) == g.ByteSize()
    return v1.GraphDef.FromString(data)


def merged_from_text(v1, g):
    named(g, "d").input[0] = "h"
    return text_format.Parse(text_format.MessageToString(g), v1.GraphDef())


def a_part(v1, g):
    named(g, "d").input[0] = "h"
    return v1.graph_util.extract_sub_graph(g, ["s", "y"])


def without_training_nodes(v1, g):
    named(g, "i").input[:] = ["top"]
    made = v1.graph_util.remove_training_nodes(g, ["y"])
    assert "i" not in [node.name for node in made.node]
    return made


def in_another_order(v1, g):
    named(g, "d").input[1] = "keep"
    return v1.GraphDef(node=sorted(g.node, key=lambda node: node.name))


def in_a_meta_graph(v1, g):
    meta = v1.MetaGraphDef()
    meta.graph_def.CopyFrom(g)
    named(meta.graph_def, "d").input[0] = "h"
    return meta.graph_def


def cleared(v1, g):
    for node in g.node:
        node.device = ""
        if "use_locking" in node.attr:
            del node.attr["use_locking"]
        node.attr["_class"].list.s.append(b"loc:@w")
        node.ClearField("device")
        assert node.HasField("experimental_type") is False and node.IsInitialized()
    named(g, "d").input[1] = "keep"


def shapes_are_noted(v1, g):
    shapes = v1.AttrValue.ListValue(shape=[v1.TensorShape([None, 2]).as_proto()])
    named(g, "h").attr["_output_shapes"].CopyFrom(v1.AttrValue(list=shapes))
    assert named(g, "h").attr["_output_shapes"].WhichOneof("value") == "list"
    assert [dim.size for dim in named(g, "h").attr["_output_shapes"].list.shape[0].dim] == [-1, 2]
    named(g, "s").input[:] = ["r", *named(g, "s").input[1:]]


def a_batch_norm_is_folded(v1, g):
    kernel = v1.NodeDef(op="Const", name="w_scaled")
    kernel.attr["dtype"].CopyFrom(named(g, "w").attr["dtype"])
    scaled = v1.make_ndarray(named(g, "w").attr["value"].tensor) * np.float32([2.0, 0.5])
    kernel.attr["value"].CopyFrom(v1.AttrValue(tensor=v1.make_tensor_proto(scaled, scaled.dtype.type, scaled.shape)))
    offset, bias = v1.NodeDef(), v1.NodeDef(op="BiasAdd", name="h")
    offset.CopyFrom(kernel)
    offset.name = "h_offset"
    offset.attr["value"].tensor.CopyFrom(v1.make_tensor_proto([0.5, -0.5], v1.float32))
    product = v1.NodeDef()
    product.MergeFrom(named(g, "h"))
    product.name, product.input[1] = "h_product", "w_scaled"
    bias.attr["T"].CopyFrom(product.attr["T"])
    bias.input.extend([product.name, offset.name])
    made = v1.GraphDef(library=g.library)
    made.node.extend(node for node in g.node if node.name != "h")
    made.node.extend([kernel, offset, product, bias])
    return made


def popped(v1, g):
    node = g.node.pop([one.name for one in g.node].index("d"))
    node.op, node.input[1] = "Sub", "r"
    g.node.insert(0, node)
    g.node.sort(key=lambda one: one.name)
    g.node.reverse()


def through_json(v1, g):
    named(g, "s").input[0] = "h"
    return json_format.Parse(json_format.MessageToJson(g), v1.GraphDef())


def a_node_of_a_set(v1, g):
    kept = {"x", "keep", "w", "h"}
    made = v1.GraphDef()
    made.CopyFrom(g)
    made.ClearField("node")
    for node in g.node:
        if node.name in kept or not node.name.startswith("mask"):
            made.node.append(node)
    made.node.add(name="mask", op="Identity", input=["keep"]).attr["T"].type = 1
    assert made != g and made.versions == g.versions and len(made.SerializePartialToString()) == made.ByteSize()
    return made


EDITS = [
    (edit, "p/" if edit is renamed else "")
    for edit in (
        rewired, another_type, inputs_anew, a_node_is_removed, remove, a_node_is_added, a_node_is_made,
        a_constant_is_changed, a_constant_is_read, a_placeholder_becomes_a_constant, a_constant_becomes_a_placeholder,
        a_shape, an_attribute, without_control_inputs, renamed, copied, extended, made_of_nodes, merged, parsed,
        merged_from_text, a_part, without_training_nodes, in_another_order, in_a_meta_graph, cleared, shapes_are_noted,
        a_batch_norm_is_folded, popped, through_json, a_node_of_a_set,
    )
]  # fmt: skip


def run(is_ours, edit, prefix):
    """The values of an edited definition, and its nodes."""
    v1, made = ours if is_ours else theirs.compat.v1, copy.deepcopy(definition(is_ours))
    made = edit(v1, made) or made
    with v1.Graph().as_default() as graph, v1.Session() as session:
        s, y = v1.import_graph_def(made, return_elements=[f"{prefix}s:0", f"{prefix}y"], name="net")
        feed = {"x": X, "keep": 0.9, "w": np.full((3, 2), 2.0)}
        known = {op.name: op.type for op in graph.get_operations()}
        feed = {f"net/{prefix}{key}:0": value for key, value in feed.items()}
        given = {key: value for key, value in feed.items() if known.get(key[:-2]) == "Placeholder"}
        return session.run([s, y.outputs[0]], given), [s.name, y.name, known["net/" + prefix + "h"]]


@functools.cache
def expected(edit, prefix):
    return run(False, edit, prefix)


@pytest.mark.parametrize(("edit", "prefix"), EDITS)
def test_an_edited_definition_runs_as_edited(edit, prefix, engine):
    values, names = run(True, edit, prefix)
    right, known = expected(edit, prefix)
    assert names == known
    for value, other in zip(values, right, strict=True):
        np.testing.assert_allclose(value, other, rtol=1e-5)


def test_definitions_say_what_those_of_tensorflow_say():
    nodes = [{node.name: node for node in definition(is_ours).node} for is_ours in (True, False)]
    assert ours.GraphDef is type(definition(True)) and ours.NodeDef is type(nodes[0]["h"])
    for name in ("x", "keep", "w", "h", "r", "d", "s", "i", "y"):
        mine, other = (of[name] for of in nodes)
        assert (mine.op, len(mine.input)) == (other.op, len(other.input)), name
        attrs = [{key: value for key, value in one.attr.items() if not key.startswith("_")} for one in (mine, other)]
        texts = [{key: text_format.MessageToString(value) for key, value in of.items()} for of in attrs]
        assert texts[1].items() - texts[0].items() <= {("grad_a", "b: false\n"), ("grad_b", "b: false\n")}, name


MAPS = {  # names that are mapped to what, nodes that are removed, and names of results
    "a tensor": ({"h:0": "b:0"}, [], ["s:0", "h:0"]),
    "a tensor of no node": ({"h:0": "b:0"}, ["h", "w", "x"], ["s:0"]),
    "a name without a number": ({"h": "b:0"}, ["h"], ["s:0", "y"]),
    "a tensor in the middle": ({"d:0": "b:0"}, ["d"], ["y:0"]),
    "a control input": ({"^s": "b:0", "h:0": "b:0"}, [], ["i:0"]),
    "a control input of no node": ({"^c": "b:0", "h:0": "b:0"}, [], ["i:0"]),
    "no node": ({"other:0": "b:0"}, [], ["s:0"]),
    "no result": ({"h:1": "b:0"}, [], ["s:0"]),
    "no such result": ({}, [], ["other:0"]),
}


def mapped(is_ours, names, removed, results):
    """The values of results, and the names of them and of what they wait for; or that it is refused."""
    v1, made = ours if is_ours else theirs.compat.v1, copy.deepcopy(definition(is_ours))
    if "^c" in names:
        named(made, "i").input[1] = "^c"
    kept = [node for node in made.node if node.name not in removed]
    del made.node[:]
    made.node.extend(kept)
    with v1.Graph().as_default() as graph, v1.Session() as session:
        a = v1.placeholder(v1.float32, [2, 2], name="a")
        v1.identity(a, name="b")
        given = {name: graph.get_tensor_by_name(other) for name, other in names.items()}
        try:
            found = v1.import_graph_def(made, given, results, name="net")
        except ValueError:
            return ValueError
        feed = {a: [[1.0, 2.0], [-3.0, 4.0]], "net/keep:0": 0.9}
        waits = [op.name for op in graph.get_operation_by_name("net/i").control_inputs]
        values = session.run([one.outputs[0] if hasattr(one, "outputs") else one for one in found], feed)
        return [value.tolist() for value in values], [one.name for one in found], waits


@pytest.mark.parametrize("case", MAPS)
def test_inputs_are_mapped_as_in_tensorflow(case):
    assert mapped(True, *MAPS[case]) == mapped(False, *MAPS[case])


def test_a_definition_without_versions_is_read():
    old = theirs.compat.v1.GraphDef()
    old.CopyFrom(definition(False))
    old.ClearField("versions")
    made = ours.GraphDef()
    made.ParseFromString(old.SerializeToString())
    with ours.Graph().as_default(), ours.Session() as session:
        (s,) = ours.import_graph_def(made, return_elements=["s:0"], name="")
        found = session.run(s, {"x:0": X, "keep:0": 0.9})
    np.testing.assert_allclose(found, expected(made_of_nodes_as_they_are, "")[0][0], rtol=1e-6)


def made_of_nodes_as_they_are(v1, g):
    return g


def program(calls_python=True):
    """A net with a variable, a branch, a loop, Python, random numbers, and a step that trains."""
    x = ours.placeholder(ours.float32, [None, 2], name="x")
    w = ours.get_variable("w", initializer=np.float32([[1.0], [2.0]]))
    h = ours.nn.relu(ours.matmul(x, w), name="h")
    c = ours.cond(ours.reduce_sum(h) > 4.0, lambda: h * 10.0, lambda: h, name="c")
    _, loop = ours.while_loop(lambda i, z: i < 2, lambda i, z: (i + 1, z + h), [0, c], name="loop")
    python = ours.py_func(lambda a: a + 100.0, [loop], ours.float32, name="python") if calls_python else loop + 1.0
    ours.add(python, 0.0 * ours.random_uniform([1]), name="y")
    loss = ours.reduce_sum(h, name="loss")
    ours.train.GradientDescentOptimizer(1.0).minimize(loss, name="step")


def test_an_edit_leaves_variables_effects_and_python_as_they_are(engine):
    with ours.Graph().as_default() as graph:
        program()
        init, w = ours.global_variables_initializer(), ours.global_variables()[0]
    made = ours.GraphDef()
    made.node.extend(ours.GraphDef.FromString(graph.as_graph_def().SerializeToString()).node)
    named(made, "h").op = "Square"
    with ours.Graph().as_default() as other, ours.Session() as session:
        y, step = ours.import_graph_def(made, return_elements=["y:0", "step"], name="")
        assert [op.name for op in other.get_operations()] == [op.name for op in graph.get_operations()][: len(other)]
        w.load([[1.0], [2.0]], session)
        assert session.run(y, {"x:0": [[1.0, 1.0]]}).tolist() == [[100.0 + 90.0 + 2 * 9.0]]
        session.run(step, {"x:0": [[1.0, 1.0]]})
        assert session.run(w).tolist() == [[0.0], [1.0]]  # by the gradient of relu, which nobody edited
        assert session.run(y, {"x:0": [[1.0, 1.0]]}).tolist() == [[100.0 + 1.0 + 2 * 1.0]]
    with ours.Session(graph=graph) as session:
        session.run(init)
        frozen = ours.graph_util.convert_variables_to_constants(session, made, ["loop"])
    assert named(frozen, "w").op == "Const" and all(node.op != "ReadVariableOp" for node in frozen.node)


def test_a_function_of_the_library_is_edited():
    with ours.Graph().as_default() as graph:
        program()
    made = graph.as_graph_def()
    (body,) = [one for one in made.library.function for node in one.node_def if node.op == "Mul"]
    next(node for node in body.node_def if node.op == "Mul").op = "AddV2"
    with ours.Graph().as_default(), ours.Session() as session:
        (c,) = ours.import_graph_def(made, return_elements=["c:0"], name="")
        graph.get_collection("variables")[0].load([[1.0], [2.0]], session)
        assert session.run(c, {"x:0": [[1.0, 1.0], [1.0, 1.0]]}).tolist() == [[13.0], [13.0]]


def test_a_meta_graph_is_edited(engine):
    with ours.Graph().as_default():
        build(ours)
        meta = ours.train.export_meta_graph()
    named(meta.graph_def, "s").input[0] = "r"
    with ours.Graph().as_default(), ours.Session() as session:
        ours.train.import_meta_graph(meta)
        right = expected(rewired, "")[0]
        assert session.run("s:0", {"x:0": X, "keep:0": 0.9}).tolist() == right[0].tolist()


@pytest.mark.parametrize("calls_python", [False, True])
def test_another_process_reads_all_but_python(calls_python, monkeypatch):
    with ours.Graph().as_default() as graph:
        program(calls_python)
    made = graph.as_graph_def()
    monkeypatch.setattr("dovetail.compat.tf_graph.definition._known", OrderedDict())  # as in another process
    if not calls_python:
        named(made, "h").op = "Square"
    with ours.Graph().as_default() as other:
        step, y = ours.import_graph_def(made, return_elements=["step", "y:0"], name="")
    session, feed = ours.Session(graph=other), {"x:0": [[1.0, 1.0]]}
    with session.as_default():
        other.get_operation("w").outputs[0].load([[1.0], [2.0]], session)
    if calls_python:
        with pytest.raises(NotImplementedError, match="only the process that made the definition can compute PyFunc"):
            session.run(y, feed)
    else:
        session.run(step, feed)
        assert session.run(y, feed).tolist() == [[4.0]]


def by_text(message):
    return text_format.Parse(text_format.MessageToString(message), ours.GraphDef())


def by_bytes(message):
    return ours.GraphDef.FromString(message.SerializeToString())


def renamed_type(message):
    made = by_text(message)
    named(made, "r").op = "Neg"
    return made


@pytest.mark.parametrize(("way", "sign"), [(by_bytes, 1), (by_text, 1), (renamed_type, -1)])
def test_variables_and_functions_of_python_come_back(way, sign):
    """The definition's text has the marks by which an import in the same process finds them."""
    with ours.Graph().as_default() as graph, ours.Session() as session:
        x = ours.placeholder(ours.float32, [2], name="x")
        w = ours.Variable([1.0, 2.0], name="w")
        ours.nn.relu(ours.py_func(lambda a: a * 3.0, [x * w], ours.float32), name="r")
        definition = graph.as_graph_def()
        session.run(w.initializer)
        (r,) = ours.import_graph_def(way(definition), return_elements=["r:0"], name="again")
        np.testing.assert_array_equal(session.run(r, {"again/x:0": [1.0, 1.0]}), [sign * 3.0, sign * 6.0])
        session.run(w.assign([0.5, 0.5]))
        np.testing.assert_array_equal(session.run(r, {"again/x:0": [2.0, 4.0]}), [sign * 3.0, sign * 6.0])
    theirs.compat.v1.GraphDef.FromString(definition.SerializeToString())


def test_text_of_variables_is_read_by_tensorflow():
    with ours.Graph().as_default() as graph:
        w = ours.get_variable("w", initializer=[1.0, 2.0])
        ours.identity(w * 2.0, name="y")
        ours.group(w.initializer, name="start")
    made = text_format.Parse(text_format.MessageToString(graph.as_graph_def()), theirs.compat.v1.GraphDef())
    with theirs.Graph().as_default(), theirs.compat.v1.Session() as session:
        theirs.compat.v1.import_graph_def(made, name="")
        session.run("start")
        np.testing.assert_array_equal(session.run("y:0"), [2.0, 4.0])
