"""Messages: the rows against the descriptors of TensorFlow, TensorBoard and ONNX; bytes and text of each."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib import import_module

import pytest

from dovetail.core.base.errors import FormatError
from dovetail.formats.wire import libraries, rows
from dovetail.formats.wire.messages import ONNX, PACKAGES, PROFILER, TENSORFLOW, from_text, parsed, to_text
from tests.libraries import Library, require

require("google", "the messages stand on protobuf")

tensorflow, onnx = Library("tensorflow.core"), Library("onnx")

MODULES = {  # modules of TensorFlow that declare its messages
    "protobuf": "meta_graph saved_model saved_object_graph trackable_object_graph tensor_bundle struct saver config",
    "framework": "graph summary op_def step_stats",
    "util": "event",
    "example": "example",
}

PROJECTOR = ("ProjectorConfig", "EmbeddingInfo", "SpriteMetadata")  # TensorBoard declares them now, in its own package


def theirs():
    """TensorFlow's descriptors, by full name."""
    found = {}

    def add(descriptor):
        found[descriptor.full_name] = descriptor
        for inner in (*descriptor.nested_types, *descriptor.enum_types):
            found[inner.full_name] = inner
            add(inner) if hasattr(inner, "nested_types") else None

    names = [f"tensorflow.core.{folder}.{word}_pb2" for folder, words in MODULES.items() for word in words.split()]
    files = [import_module(name).DESCRIPTOR for name in names]
    files += [import_module("tensorflow.python.training.checkpoint_state_pb2").DESCRIPTOR]
    seen = set()
    while files:
        file = files.pop()
        if file.name not in seen:
            seen.add(file.name)
            files += file.dependencies
            for one in (*file.message_types_by_name.values(), *file.enum_types_by_name.values()):
                add(one) if hasattr(one, "nested_types") else found.setdefault(one.full_name, one)
    return found


def field(descriptor):
    """All that a row says of a field, and the names of its types."""
    inner = descriptor.message_type or descriptor.enum_type
    group = descriptor.containing_oneof
    entries = ()
    if descriptor.message_type is not None and inner.GetOptions().map_entry:
        entries, inner = tuple(field(one) for one in inner.fields), None
    return (
        descriptor.number,
        descriptor.name,
        descriptor.type,
        descriptor.is_repeated,
        None if inner is None else inner.full_name,
        None if group is None else group.name,
        entries,
    )


def names(text):
    lines = [line.partition(":")[0] for line in text.splitlines() if line and not line.startswith(" ")]
    return [line for line in lines if not line.startswith("enum ")], [line[5:] for line in lines if line[:5] == "enum "]


def check(package, pool_of_theirs, messages):
    kinds, enums = names(PACKAGES[package][0])
    for name in kinds:
        if name in PROJECTOR:
            continue
        first, *rest = name.split(".")
        ours = getattr(messages, first)
        for word in rest:
            ours = getattr(ours, word)
        real = pool_of_theirs[f"{package}.{name}"]
        by_number = {one.number: field(one) for one in real.fields}
        for one in ours.DESCRIPTOR.fields:
            assert field(one) == by_number[one.number], name
    pool = (TENSORFLOW.NodeDef if package == "tensorflow" else ONNX.NodeProto).DESCRIPTOR.file.pool
    for name in enums:
        ours = {one.name: one.number for one in pool.FindEnumTypeByName(f"{package}.{name}").values}
        real = {one.name: one.number for one in pool_of_theirs[f"{package}.{name}"].values}
        assert ours and ours.items() <= real.items(), name
    assert len(kinds) > 20


def test_rows_are_those_of_tensorflow():
    require("tensorflow", "it declares the messages")
    check("tensorflow", theirs(), TENSORFLOW)


def test_messages_of_graphs_have_each_field():
    require("tensorflow", "it declares the messages")
    declared, waiting, seen = theirs(), [TENSORFLOW.MetaGraphDef.DESCRIPTOR, TENSORFLOW.VariableDef.DESCRIPTOR], set()
    while waiting:
        ours = waiting.pop()
        seen.add(ours.full_name)
        real = declared[ours.full_name]
        if hasattr(ours, "values"):
            assert len(ours.values) == len(real.values), ours.full_name
            continue
        assert {one.name for one in ours.fields} == {one.name for one in real.fields}, ours.full_name
        inner = [one.message_type or one.enum_type for one in ours.fields]
        waiting += [one for one in inner if one and one.full_name not in seen and one.full_name in declared]
    assert {f"tensorflow.{name}" for name in ("OpDef", "FunctionDef", "TensorProto", "SaverDef", "DataType")} <= seen


def test_rows_are_those_of_the_projector():
    require("tensorboard", "it declares the messages")
    declared = import_module("tensorboard.plugins.projector.projector_config_pb2").DESCRIPTOR.message_types_by_name
    for name in PROJECTOR:
        ours, real = (
            [(one.number, one.name, one.type, one.is_repeated) for one in descriptor.fields]
            for descriptor in (getattr(TENSORFLOW, name).DESCRIPTOR, declared[name])
        )
        assert ours == real, name


def test_rows_are_those_of_the_profiler():
    require("tensorflow", "it declares the messages")
    declared = import_module("tensorflow.tsl.profiler.protobuf.xplane_pb2").DESCRIPTOR.message_types_by_name
    for name in names(PACKAGES["tensorflow.profiler"][0])[0]:
        real = {one.number: field(one) for one in declared[name].fields}
        ours = getattr(PROFILER, name).DESCRIPTOR.fields
        assert {one.number: field(one) for one in ours} == real, name


def test_rows_are_those_of_onnx():
    require("onnx", "it declares the messages")
    found = {}

    def add(descriptor):
        found[descriptor.full_name] = descriptor
        found.update({one.full_name: one for one in descriptor.enum_types})
        for inner in descriptor.nested_types:
            add(inner)

    for descriptor in onnx.ModelProto.DESCRIPTOR.file.message_types_by_name.values():
        add(descriptor)
    check("onnx", found, ONNX)


def graph():
    made = TENSORFLOW.GraphDef(versions=TENSORFLOW.VersionDef(producer=24))
    node = made.node.add(name="net/x", op="Placeholder", device="/device:GPU:0", input=["a", "^b:0"])
    node.attr["dtype"].type = 1
    node.attr["shape"].shape.dim.add(size=-1)
    node.attr["f"].func.name = "body"
    return made


def test_a_message_keeps_its_contents_as_bytes_and_as_text(tmp_path):
    first = graph()
    assert parsed(TENSORFLOW.GraphDef, first.SerializeToString(), "x") == first
    text = to_text(first)
    assert "type: DT_FLOAT" in text and from_text(TENSORFLOW.GraphDef, text, "x") == first


def test_fields_without_a_row_are_kept():
    other = TENSORFLOW.Summary.Value.FromString(b"\xf2\x06\x03abc")
    assert other.SerializeToString() == b"\xf2\x06\x03abc"
    assert from_text(TENSORFLOW.NodeDef, 'name: "x" unheard_of { of: 3 }', "x").name == "x"


@pytest.mark.parametrize("cut", [1, 5, -1, -9])
def test_a_damaged_message_is_refused(cut, tmp_path):
    data = graph().SerializeToString()
    with pytest.raises(FormatError, match=r"'x.pb' cannot be read: the graph: found no GraphDef"):
        parsed(TENSORFLOW.GraphDef, data[:cut], "x.pb", "the graph")


def varint(number):
    while number > 127:
        yield number & 127 | 128
        number >>= 7
    yield number


def test_a_message_that_is_nested_too_deeply_is_refused():
    data = b""
    for _ in range(300):  # AttrValue.func.attr["x"].func.attr…
        entry = b"\x0a\x01x\x12" + bytes(varint(len(data))) + data
        attrs = b"\x12" + bytes(varint(len(entry))) + entry
        data = b"\x52" + bytes(varint(len(attrs))) + attrs
    with pytest.raises(FormatError, match="no AttrValue"):
        parsed(TENSORFLOW.AttrValue, data, "x")
    text = 'func { attr { key: "x" value { ' * 5000
    with pytest.raises(FormatError, match="the text"):
        from_text(TENSORFLOW.AttrValue, text, "x")


@pytest.mark.parametrize(
    "text", ["node {", "node { name: 3 }", "}", "\x00", "node: node", 'node { name: "\\xff\\xfe" }']
)
def test_text_of_no_message_is_refused(text):
    with pytest.raises(FormatError, match=r"'x\.pbtxt' cannot be read: the text"):
        from_text(TENSORFLOW.GraphDef, text, "x.pbtxt")


def test_a_missing_library_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "google_crc32c", None)
    with pytest.raises(
        ImportError, match=r"tf.x at .*: it needs google-crc32c, .*pip install 'keras-dovetail\[formats\]'"
    ):
        libraries.need("tf.x")


def test_the_libraries_are_imported_when_a_message_is_made():
    program = (
        "import sys; import dovetail.compat.tensorflow as tf; tf.compat.v1.train.Saver; "
        "assert not {'google.protobuf', 'google_crc32c', 'tensorflow', 'tensorboard'} & sys.modules.keys()"
    )
    subprocess.run([sys.executable, "-c", program], check=True, env=os.environ, timeout=120)


def test_no_message_has_two_rows():
    for text in (rows.TENSORFLOW, rows.ONNX):
        found = [name for group in names(text) for name in group]
        assert len(found) == len(set(found)) >= 30
