"""Summaries of TensorFlow's files, compared with TensorFlow's own readers."""

from __future__ import annotations

import random
import shutil
import subprocess
import sys
import tracemalloc
from collections import Counter
from pathlib import Path

import pytest

from dovetail.core.base.errors import FormatError
from dovetail.formats.summary.kinds import summarize
from dovetail.formats.wire.messages import TENSORFLOW, parsed
from dovetail.formats.wire.slim import SHORT, slim
from dovetail.formats.wire.state import write_state
from dovetail.formats.wire.table import varint
from tests.formats.summary.written import LARGE, examples
from tests.libraries import Library, require

require("google_crc32c", "the files have its checksums")
require("tensorflow", "it writes the files")

tf, v1 = Library("tensorflow"), Library("tensorflow.compat.v1")
loader = Library("tensorflow.python.saved_model.loader_impl")
loaders = Library("tensorboard.backend.event_processing.event_file_loader")
FILES = {  # file → kind
    "saved": "SavedModel",
    "saved/saved_model.pb": "SavedModel",
    "objects": "TensorFlow checkpoint (tensor bundle)",
    "objects.index": "TensorFlow checkpoint (tensor bundle)",
    "objects.data-00000-of-00001": "TensorFlow checkpoint (tensor bundle)",
    "tf1": "state of a folder of checkpoints",
    "tf1/checkpoint": "state of a folder of checkpoints",
    "tf1/model-2.meta": "MetaGraphDef",
    "graph.pb": "GraphDef",
    "graph.pbtxt": "GraphDef",
    "examples.tfrecord": "TFRecord",
    "examplesGZIP.tfrecord": "TFRecord",
    "examplesZLIB.tfrecord": "TFRecord",
    "texts": "TFRecord",
    "sequences": "TFRecord",
}


def tables(found):
    return {table.title: table for table in found.tables}


@pytest.mark.parametrize("name", FILES)
def test_the_kind_is_recognised_under_any_name(written, name, tmp_path):
    assert summarize(written / name).kind == FILES[name]
    if (written / name).is_file() and ".index" not in name and ".data" not in name:
        shutil.copy(written / name, tmp_path / "file")
        assert summarize(tmp_path / "file").kind == FILES[name]


def counts(nodes):
    return dict(Counter(node.op for node in nodes))


def signature_rows(signatures):
    """The rows of signatures that TensorFlow reads."""
    for name, signature in sorted(signatures.items()):
        for way, infos in (("input", signature.inputs), ("output", signature.outputs)):
            for key, info in sorted(infos.items()):
                shape = None if info.tensor_shape.unknown_rank else tuple(d.size for d in info.tensor_shape.dim)
                shape = None if shape is None else tuple(None if size < 0 else size for size in shape)
                yield name, way, key, tf.dtypes.as_dtype(info.dtype).name if info.dtype else "?", shape


def test_a_saved_model(written):
    found = summarize(written / "saved")
    (meta,) = loader.parse_saved_model(str(written / "saved")).meta_graphs
    assert found.facts["tags"] == "serve" and found.facts["written by"] == f"TensorFlow {tf.version.VERSION}"
    assert found.facts["functions"] == len(meta.graph_def.library.function)
    parts = tables(found)
    rows = parts["inputs and outputs"].rows
    assert rows == list(signature_rows(meta.signature_def))
    assert ("predict", "input", "rows", "float32", (None, 300)) in rows
    every = {row[0]: row[1:] for row in parts["operations"].rows}
    functions = counts(node for function in meta.graph_def.library.function for node in function.node_def)
    assert {kind: row[0] for kind, row in every.items() if row[0]} == counts(meta.graph_def.node)
    assert {kind: row[1] for kind, row in every.items() if row[1]} == functions and functions["MatMul"] >= 1
    listed = dict(tf.train.list_variables(str(written / "saved" / "variables" / "variables")))
    assert {row[0]: list(row[2]) for row in parts["variables"].rows} == listed
    kernel = parts["variables"].rows[0]
    assert kernel[0].startswith("kernel/") and kernel[1:] == ("float32", (300, 200), 60_000, 240_000)
    assert sum(count for _, count in parts["objects"].rows) == len(meta.object_graph_def.nodes)


@pytest.mark.parametrize("prefix", ["objects", "tf1/model-2"])
def test_a_checkpoint(written, prefix):
    (table,) = summarize(written / prefix).tables
    reader = tf.train.load_checkpoint(str(written / prefix))
    dtypes = reader.get_variable_to_dtype_map()
    assert {row[0]: (row[1], list(row[2])) for row in table.rows} == {
        name: (dtypes[name].name, shape) for name, shape in reader.get_variable_to_shape_map().items()
    }
    assert table.total[-1] == (written / f"{prefix}.data-00000-of-00001").stat().st_size
    assert [row[-1] for row in table.rows] == sorted((row[-1] for row in table.rows), reverse=True)


def test_the_state_of_checkpoints(written, tmp_path):
    found = summarize(written / "tf1")
    assert found.facts == {"latest": "model-2"}
    assert found.tables[0].rows == [("model-1", "yes"), ("model-2", "yes")]
    write_state(tmp_path, [str(tmp_path / "gone"), str(written / "objects")])
    assert summarize(tmp_path).tables[0].rows == [("gone", "no bundle"), ("objects", "yes")]


@pytest.mark.parametrize("name", ["graph.pb", "graph.pbtxt"])
def test_a_graph(written, name):
    parts = tables(summarize(written / name))
    graph = v1.GraphDef.FromString((written / "graph.pb").read_bytes())
    assert dict(parts["operations"].rows) == counts(graph.node)
    rows = parts["inputs and outputs"].rows
    assert ("Placeholder", "input", "x", "float32", (None, LARGE)) in rows
    assert ("Identity", "output", "y", "float32", None) in rows
    assert {row[:4] for row in parts["variables"].rows} == {("w", "float32", (4, 3), 12), ("names", "string", (2,), 2)}
    if name == "graph.pb":
        assert parts["constants"].rows[0] == ("large", "float32", (LARGE,), LARGE, 4 * LARGE)


def test_a_meta_graph(written):
    found = summarize(written / "tf1" / "model-2.meta")
    meta = v1.MetaGraphDef.FromString((written / "tf1" / "model-2.meta").read_bytes())
    assert dict(tables(found)["operations"].rows) == counts(meta.graph_def.node)
    assert ("w", "float32", (4, 3), 12, 48) in tables(found)["variables"].rows
    assert ("Identity", "output", "y", "float32", ()) in tables(found)["inputs and outputs"].rows
    assert {row[0]: row[2] for row in tables(found)["collections"].rows} == {
        name: len(collection.bytes_list.value) for name, collection in meta.collection_def.items()
    }


def test_weights_are_not_read(written):
    tracemalloc.start()
    summarize(written / "graph.pb")
    summarize(written / "saved")
    assert tracemalloc.get_traced_memory()[1] < 2**20 < 4 * LARGE
    tracemalloc.stop()


def test_slim_messages_have_the_same_nodes(written):
    data = (written / "graph.pb").read_bytes()
    whole = parsed(TENSORFLOW.GraphDef, data, "x")
    found = slim(TENSORFLOW.GraphDef, data, "x")
    assert found.ByteSize() < len(data) - 4 * LARGE + SHORT
    for node in whole.node:
        if node.name == "large":
            assert len(node.attr["value"].tensor.tensor_content) == 4 * LARGE
            node.attr["value"].tensor.ClearField("tensor_content")
    assert found == whole


@pytest.mark.parametrize("compression", ["", "GZIP", "ZLIB"])
def test_examples(written, compression):
    found = summarize(written / f"examples{compression}.tfrecord")
    assert found.facts.get("compression", "") == compression
    assert (found.facts["records"], found.facts["bytes of records"]) == (5, sum(e.ByteSize() for e in examples()))
    assert found.tables[0].rows == [
        ("boxes", "float", 4, "1 to 4"),
        ("image", "bytes", 5, "1"),
        ("label", "int64", 5, "1"),
    ]


def test_other_records(written):
    found = summarize(written / "texts")
    assert found.facts == {"records": 3, "bytes of records": 5, "examples": "0 of the first 3 records"}
    assert summarize(written / "sequences").tables[0].rows == [("words", "sequence of int64", 1, "3")]


def test_only_the_first_records_are_read(written, monkeypatch):
    monkeypatch.setattr("dovetail.formats.summary.records.READ", 2)
    for compression in ("", "GZIP", "ZLIB"):
        found = summarize(written / f"examples{compression}.tfrecord")
        assert (found.facts["records"], found.facts["examples"]) == (5, "2 of the first 2 records")
        assert ("label", "int64", 2, "1") in found.tables[0].rows


def test_events_of_tensorflow_2(written):
    (path,) = (written / "events2").iterdir()
    found = summarize(path)
    assert found.kind == "event file of TensorBoard"
    assert found.tables[0].rows == [
        ("digits", "image", 1, 7, 7),
        ("loss", "scalar", 3, 1, 3),
        ("note", "text", 1, 0, 0),
        ("weights", "histogram", 3, 1, 3),
    ]
    assert found.facts["events"] == len(list(loaders.LegacyEventFileLoader(str(path)).Load()))
    assert found.facts["from"][:3] == "202" and found.facts["from"] <= found.facts["to"]


def test_events_up_to_a_cut(written, tmp_path):
    (path,) = (written / "events2").iterdir()
    whole = summarize(path).facts["events"]
    (tmp_path / "cut").write_bytes(path.read_bytes()[:-5])
    found = summarize(tmp_path / "cut").facts
    assert found["events"] == whole - 1 and found["cut off"].startswith(f"within record {whole - 1}, after ")
    assert not summarize(path).facts.get("cut off")


def test_events_of_tensorflow_1(written):
    (path,) = (written / "events1").iterdir()
    found = summarize(path)
    assert found.tables[0].rows == [("h", "histogram", 4, 0, 3), ("loss", "scalar", 4, 0, 3)]
    assert (found.facts["graphs"], found.facts["meta graphs"]) == (1, 1)


# -- damage -----------------------------------------------------------------------------------------------------------

WHOLE = ["saved/saved_model.pb", "tf1/checkpoint", "tf1/model-2.meta", "graph.pbtxt", "examples.tfrecord", "texts"]
WHOLE += ["examplesGZIP.tfrecord", "examplesZLIB.tfrecord", "objects.index"]


@pytest.mark.parametrize("name", WHOLE)
def test_changed_files_are_shown_or_refused(written, name, tmp_path):
    data, draw = (written / name).read_bytes(), random.Random(0)
    path = tmp_path / Path(name).name
    found = Counter()
    for number in range(60):
        at = draw.randrange(len(data))
        changed = data[:at] if number % 2 else data[:at] + draw.randbytes(8) + data[at + 8 :]
        path.write_bytes(changed)
        try:
            summarize(path)
            found["shown"] += 1
        except FormatError as error:
            assert str(error).startswith(f"'{path}' cannot be read: ")
            found["refused"] += 1
    assert found["refused"] > 5


def test_a_shard_that_is_cut_or_missing(written, tmp_path):
    for path in written.glob("objects.*"):
        shutil.copy(path, tmp_path)
    shard = tmp_path / "objects.data-00000-of-00001"
    shard.write_bytes(shard.read_bytes()[:-1])
    with pytest.raises(FormatError, match=r"data-00000-of-00001.*the end"):
        summarize(tmp_path / "objects")
    shard.unlink()
    assert summarize(tmp_path / "objects").facts["missing shards"] == 1


def test_a_folder_without_a_model(tmp_path):
    with pytest.raises(FormatError, match=r"the folder: found no such file; needed: one of saved_model\.pb"):
        summarize(tmp_path)


def test_messages_that_are_nested_deeply(tmp_path):
    inner = b"x" * 5000
    for _ in range(150):  # AttrValue.func.attr.value
        entry = b"\x12" + varint(len(inner)) + inner
        function = b"\x12" + varint(len(entry)) + entry
        inner = b"\x52" + varint(len(function)) + function
    entry = b"\x0a\x01a\x12" + varint(len(inner)) + inner
    node = b"\x0a\x01n\x12\x02Op\x2a" + varint(len(entry)) + entry
    (tmp_path / "x.pb").write_bytes(b"\x0a" + varint(len(node)) + node)
    with pytest.raises(FormatError, match="nested too deeply"):
        summarize(tmp_path / "x.pb")


ALONE = """
import socket, sys
for name in ("tensorflow", "keras", "tf_keras", "tensorboard", "torch", "jax"):
    sys.modules[name] = None  # importing it fails from here on
def refused(*args, **kwargs):
    raise AssertionError("a socket was opened")
socket.socket = socket.create_connection = refused
from dovetail.cli.main import main
sys.exit(max(main(["show", path]) for path in sys.argv[1:]))
"""


def test_without_tensorflow(written):
    paths = [str(written / name) for name in FILES]
    paths += [str(path) for folder in ("events1", "events2") for path in (written / folder).iterdir()]
    done = subprocess.run([sys.executable, "-c", ALONE, *paths], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count("SavedModel") == 2 and done.stdout.count("TFRecord") == 5


def test_operations_without_a_rule_are_marked():
    found = summarize(Path(__file__).parents[1] / "tensorflow" / "models" / "frozen.pb")
    rows = next(table.rows for table in found.tables if table.title == "operations")
    assert [row[0] for row in rows if "opaque" in row[0]] == ["AudioSpectrogram (opaque)"]
