"""`dt.save` and `dt.load` of structures, variables and graphs: round trips, sharing, memory, and damaged documents."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import json
import subprocess
import sys
from collections import OrderedDict
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

import dovetail as dt
from dovetail import ops
from dovetail.core import dtypes
from dovetail.core.base.errors import FormatError, StaleValueError
from dovetail.core.engines.engine_registry import get_engine
from dovetail.formats import saved, strict_json
from dovetail.formats.safetensors import read
from dovetail.formats.summary.kinds import summarize
from tests.formats import versions
from tests.formats.files import by_hand, numbers, parts, tensor
from tests.libraries import require


def again(value, path, **options):
    dt.save(value, path)
    return dt.load(path, **options)


PLAIN = {
    "numbers": [1, -2.5, 2**70, float("inf"), 1 + 2j, True, None],
    "words": ("é", b"\0\xff", ""),
    3: {"spec": dt.spec((None, 3), name="x"), "dtype": dtypes.as_dtype("bfloat16"), "slice": slice(1, None)},
    "empty": [{}, [], ()],
    ("a", 1): np.float32(0.1),
    "ordered": OrderedDict([("b", 1), ("a", 2)]),
}


def test_plain_values(tmp_path):
    assert repr(again(PLAIN, tmp_path / "x")) == repr(PLAIN)
    assert repr(again(3, tmp_path / "x")) == "3" and again(PLAIN, tmp_path / "x")[3]["spec"].name == "x"


@pytest.mark.parametrize("dtype", dtypes.ALL)
def test_tensors_and_variables_of_all_dtypes(tmp_path, engine, dtype):
    array = numbers(dtypes.as_dtype(dtype).numpy, (3, 2))
    given = {"t": ops.constant(array), "v": dt.Variable(array, name="v"), "a": array, "s": ops.constant(array)[0, 0]}
    found = again(given, tmp_path / "x")
    assert [type(x) for x in found.values()] == [type(x) for x in given.values()]
    for name, value in found.items():
        assert value.dtype == dtype and tuple(value.shape) == tuple(given[name].shape)
        assert np.asarray(value).tobytes() == np.asarray(given[name]).tobytes()
    assert found["t"].engine == found["v"].engine == engine


def test_variables_keep_what_they_are(tmp_path):
    w = dt.Variable([1.0], name="w", trainable=False)
    generator = dt.Generator(3)
    generator.next_key()
    found = again([w, {"again": w, "other": dt.Variable([2.0], name="w")}, generator.count], tmp_path / "x")
    assert found[0] is found[1]["again"] and found[1]["other"].name == "w" and found[1]["other"].trainable
    assert not found[0].trainable and found[2].is_counter and int(found[2]) == 1
    found[0].assign([5.0])
    assert w.numpy() == 1.0 and dt.load(tmp_path / "x")[0].numpy() == 1.0


def test_tensors_are_found_by_their_places(tmp_path):
    require("safetensors", "it defines the format")
    from safetensors.numpy import load_file

    layers = [{"kernel": dt.Variable(np.ones((2, 2)), name="k")}, {"kernel": np.zeros(3)}]
    dt.save({"layers": layers, "scale": ops.constant(2.0)}, tmp_path / "x")
    assert set(load_file(tmp_path / "x")) == {"layers.0.kernel", "layers.1.kernel", "scale"}
    dt.save(ops.constant(2.0), tmp_path / "x")
    assert set(load_file(tmp_path / "x")) == {"value"}


def test_other_safetensors_files_are_dicts_of_tensors(tmp_path, engine):
    (tmp_path / "x").write_bytes(by_hand({"a": tensor(), "__metadata__": {"format": "pt"}}, bytes(8)))
    found = dt.load(tmp_path / "x")
    assert list(found) == ["a"] and found["a"].engine == engine and found["a"].tolist() == [0.0, 0.0]


def program():
    w, c = dt.Variable(np.ones((3, 2), "float32"), name="w"), ops.constant([1.0, 2.0])

    def step(x):
        y = ops.cond(ops.sum(x) > 0, lambda: x @ w + c, lambda: x[:, :2] * 2.0)
        w.assign_add(ops.ones((3, 2)))
        return ops.while_loop(lambda i, v: i < 3, lambda i, v: (i + 1, v * 2.0), (0, y))[1]

    return w, step


def test_graphs_with_their_variables(tmp_path, engine):
    w, step = program()
    graph = dt.function(step).graph(dt.spec((None, 3)))
    found = again({"graph": graph, "w": w}, tmp_path / "x")
    assert str(found["graph"]) == str(graph)
    found["graph"].validate()
    x = np.arange(6, dtype="float32").reshape(2, 3)
    expected = dt.function(graph)(x).numpy()
    np.testing.assert_array_equal(dt.function(found["graph"])(x), expected)
    assert found["w"].numpy().tolist() == [[2.0, 2.0]] * 3 == w.numpy().tolist()


class Point(NamedTuple):
    x: float
    y: float


@dataclasses.dataclass
class Layer:
    kernel: object


VALUES = {"at": Point(1.0, ops.constant([2.0])), "layers": [Layer({"w": 3})]}


def test_named_tuples_and_dataclasses_are_their_fields(tmp_path):
    found = again(VALUES, tmp_path / "x")
    assert found == {"at": {"x": 1.0, "y": found["at"]["y"]}, "layers": [{"kernel": {"w": 3}}]}
    assert found["at"]["y"].tolist() == [2.0] and set(read(tmp_path / "x").tensors) == {"at.y"}


def test_classes_that_the_program_gives(tmp_path):
    found = again(VALUES, tmp_path / "x", classes=[Point, Layer])
    assert type(found["at"]) is Point and found["at"].x == 1.0 and found["layers"] == [Layer({"w": 3})]
    half = again(VALUES, tmp_path / "x", classes=[Layer])
    assert type(half["at"]) is OrderedDict and half["layers"] == found["layers"]


def test_classes_that_do_not_fit(tmp_path):
    other = dataclasses.make_dataclass("Layer", ["kernel", "bias"])
    with pytest.raises(FormatError, match=r"the class Layer has the fields \['kernel', 'bias'\], and there are"):
        again(VALUES, tmp_path / "x", classes=[other])
    with pytest.raises(TypeError, match=r"load at .*named tuples and dataclasses, not <class 'int'>"):
        dt.load(tmp_path / "x", classes=[int])


def test_no_method_is_replaced(tmp_path):
    class Point(NamedTuple):
        x: float

    layer = Layer(1)
    layer.__eq__ = 3
    for value, kind in ((layer, Layer), (dataclasses.make_dataclass("Point", ["x", "_make"])(1, 2), Point)):
        with pytest.raises(FormatError, match="has the fields"):
            again(value, tmp_path / "x", classes=[kind])


def test_a_graph_at_two_places_is_one_graph(tmp_path):
    graph = dt.function(lambda x: ops.tanh(x)).graph(dt.spec((2,)))
    runs = dt.function(graph)
    found = again({"graph": graph, "runs": [runs, runs]}, tmp_path / "x")
    assert found["runs"][0] is found["runs"][1]
    found["graph"].outputs = [found["graph"].outputs[0] * 2.0]
    np.testing.assert_allclose(found["runs"][0](ops.ones(2)), 2 * np.tanh([1.0, 1.0]), rtol=1e-6)


REFUSED = {
    "a lambda": (lambda: {"a": [1, lambda x: x]}, TypeError, r"save at .*: at a\.1, <function .*save its parts"),
    "an object": (lambda: [object()], TypeError, "at 0, <object"),
    "a dataclass of an object": (lambda: {"layer": Layer(object())}, TypeError, r"at layer\.kernel, <object"),
    "a set": (lambda: {1, 2}, TypeError, "is not a number"),
    "a constraint": (lambda: dt.Variable([1.0], name="w", constraint=abs), TypeError, "'w' has a constraint"),
    "an array of objects": (lambda: np.array([None]), TypeError, "'value' cannot be written"),
    "a variable without a value": (lambda: deleted(), StaleValueError, "'gone' has no value"),
    "a list in itself": (lambda: circle(), ValueError, "holds itself"),
    "too many levels": (lambda: deep(200), ValueError, "more than 100 levels"),
    "a reserved name": (lambda: {"__metadata__": ops.ones(2)}, ValueError, "no tensor can be named"),
}


def deleted():
    found = dt.Variable([1.0], name="gone")
    found.delete()
    return found


def circle():
    found = []
    found.append({"a": found})
    return found


def deep(levels):
    return [deep(levels - 1)] if levels else []


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_saved_leaves_the_old_file(tmp_path, case):
    make, kind, text = REFUSED[case]
    (tmp_path / "x").write_text("before")
    with pytest.raises(kind, match=text):
        dt.save(make(), tmp_path / "x")
    assert (tmp_path / "x").read_text() == "before" and [p.name for p in tmp_path.iterdir()] == ["x"]


def test_saving_in_a_trace_is_refused(tmp_path):
    with pytest.raises(RuntimeError, match="a graph is being built"):
        dt.function(lambda x: dt.save(1, tmp_path / "x"))(ops.ones(2))


def test_structures_of_a_hundred_levels(tmp_path):
    assert again(deep(99), tmp_path / "x") == deep(99)


def test_a_long_document_is_a_tensor(tmp_path, monkeypatch):
    monkeypatch.setattr(saved, "LONGEST", 100)
    assert repr(again(PLAIN, tmp_path / "x")) == repr(PLAIN)
    found = read(tmp_path / "x")
    assert set(found.tensors) == {"__document__"} and set(found.metadata) == {"digest"}


def test_a_file_has_the_size_that_its_document_needs(tmp_path, monkeypatch):
    monkeypatch.setattr(strict_json, "ROOM", 50_000)
    graph = dt.function(lambda x: functools.reduce(lambda y, _: y * y, range(300), x)).graph(dt.spec((2,)))
    values = [[[]] * 50, [[]] * 500, graph]
    for number, value in enumerate(values):
        dt.save(value, tmp_path / str(number))
    sizes = [(tmp_path / str(number)).stat().st_size for number in range(3)]
    texts = [len(read(tmp_path / str(number)).metadata["dovetail"]) for number in range(3)]
    assert sizes[0] < 1000 < texts[1] < sizes[1] / 5 and 2 * texts[2] < sizes[2] < 6 * texts[2]
    assert dt.load(tmp_path / "1") == values[1] and len(dt.load(tmp_path / "2").operations) == 301
    assert "__room__" not in str(summarize(tmp_path / "2"))
    monkeypatch.setattr(saved, "LARGEST", 60_000)
    with pytest.raises(ValueError, match=r"save at .*to read the graphs and lists would take .*save several files"):
        dt.save([[]] * 1000, tmp_path / "y")
    assert not (tmp_path / "y").exists()


def test_arrays_may_have_the_names_of_the_own_tensors_of_a_file(tmp_path):
    value = {"__room__": np.ones(2), "__document__": np.zeros(3)}
    found = again(value, tmp_path / "x")
    assert {name: array.tolist() for name, array in found.items()} == {"__room__": [1, 1], "__document__": [0] * 3}


def test_another_process_reads_it_on_another_engine(tmp_path):
    dt.save({"x": ops.constant([1.5, 2.5]), "v": dt.Variable([3, 4], name="v")}, tmp_path / "x")
    code = (
        "import sys, dovetail as dt\n"
        "with dt.engine(sys.argv[2]): found = dt.load(sys.argv[1])\n"
        "print(found['x'].engine, found['x'].tolist(), found['v'].engine, found['v'].numpy().tolist())"
    )
    for name in dt.list_engines():
        done = subprocess.run([sys.executable, "-c", code, tmp_path / "x", name], capture_output=True, text=True)
        holder = get_engine(name).holder.name
        assert done.stdout == f"{holder} [1.5, 2.5] {holder} [3, 4]\n", done.stderr


# -- versions ---------------------------------------------------------------------------------------------------------

RELEASED = sorted((Path(__file__).parent / "released").glob("*.safetensors"))


@pytest.mark.parametrize("file", RELEASED, ids=lambda file: file.stem)
def test_files_of_released_versions(tmp_path, engine, file):
    versions.check(dt.load(file, classes=[versions.Point, versions.Layer]))
    versions.check(again(versions.value(), tmp_path / "x", classes=[versions.Point, versions.Layer]))


def test_each_version_has_its_file(tmp_path):
    assert [file.stem for file in RELEASED] == [f"version_{number}" for number in range(1, saved.VERSION + 1)]


def test_a_file_of_a_later_version(tmp_path):
    (tmp_path / "x").write_bytes(RELEASED[-1].read_bytes())
    changed(tmp_path / "x", lambda document: {**document, "version": saved.VERSION + 1, "parts": "of another kind"})
    with pytest.raises(FormatError, match=r"version 2; needed: version 1, which Dovetail .*install the Dovetail that"):
        dt.load(tmp_path / "x")


# -- damaged documents ------------------------------------------------------------------------------------------------


def changed(path, change):
    """Write the file again with another document, and the digest that goes with it."""
    header, body = parts(path)
    metadata = header["__metadata__"]
    document = change(json.loads(metadata["dovetail"]))
    metadata["dovetail"] = document if isinstance(document, str) else json.dumps(document)
    metadata["digest"] = hashlib.blake2b(metadata["dovetail"].encode(), digest_size=16).hexdigest()
    path.write_bytes(by_hand(header, body))


def with_object(data):
    return lambda document: {**document, "object": data}


DAMAGED = {
    "no JSON": (lambda d: "{", "no JSON"),
    "a list": (lambda d: [d], "version None"),
    "a later version": (lambda d: {**d, "version": 2}, "version 2; needed: version 1, which Dovetail"),
    "a strange version": (lambda d: {**d, "version": "1" * 1000}, "version '1+; needed"),
    "no object": (lambda d: {"version": 1, "variables": {}}, "KeyError"),
    "no variables": (lambda d: {"version": 1, "object": 1}, "KeyError"),
    "parts that are none": (lambda d: {**d, "parts": 3, "object": {"part": 0}}, "TypeError"),
    "an unknown part": (with_object({"part": 0}), "there is no part 0"),
    "a part by its name": (with_object({"part": "graph"}), "there is no part 'graph'"),
    "a part that is a list": (lambda d: {**d, "parts": [{"list": []}], "object": {"part": 0}}, "part 0 is none of"),
    "a part that holds itself": (
        lambda d: {**d, "parts": [{"plan": {"graph": {"part": 0}}}], "object": {"part": 0}},
        "part 0 holds itself",
    ),
    "fields in a list": (with_object({"fields": ["Point"]}), "what cannot be decoded"),
    "fields under numbers": (with_object({"fields": ["Point", [[[], 1]]]}), "what cannot be decoded"),
    "variables in a list": (lambda d: {**d, "variables": [1]}, "what cannot be decoded"),
    "a variable without numbers": (lambda d: {**d, "variables": {"nothing": {"name": "a"}}}, "nothing"),
    "a variable without a name": (lambda d: {**d, "variables": {"w": {}}}, "name"),
    "a variable with a wrong name": (lambda d: {**d, "variables": {"w": {"name": ["a"]}}}, "has the name"),
    "an unknown variable": (with_object({"variable": "v9"}), "v9"),
    "an unknown array": (with_object({"array": "v9"}), "v9"),
    "an unknown tensor": (with_object({"tensor": ["v9"]}), "unhashable"),
    "an unknown kind": (with_object({"abacus": 1}), "its kind is unknown"),
    "an object of pickles": (with_object({"object": "os.system"}), "KeyError"),
    "a function of no name": (with_object({"function": "os.system"}), "KeyError"),
    "a wrong dtype": (with_object({"dtype": "float33"}), "not a dtype"),
    "a dict of no pairs": (with_object({"dict": [1, 2]}), "what cannot be decoded"),
    "a dict with a list as key": (with_object({"dict": [[{"list": []}, 1]]}), "unhashable"),
    "lists in lists": (
        lambda d: '{"version": 1, "variables": {}, "parts": [], "object": ' + "[" * 900 + "]" * 900 + "}",
        "nested too deeply",
    ),
    "lists without end": (lambda d: "[" * 100_000, "nested too deeply"),
}


@pytest.mark.parametrize("case", DAMAGED)
def test_damaged_documents(tmp_path, case):
    change, text = DAMAGED[case]
    dt.save([dt.Variable([1.0], name="w"), ops.ones(3)], tmp_path / "x")
    changed(tmp_path / "x", change)
    with pytest.raises(FormatError, match=f"x' cannot be read: .*{text}"):
        dt.load(tmp_path / "x")


def in_graph(change):
    """A change of the document of a graph that is the saved object."""

    def changing(document):
        change(document["parts"][0]["graph"])
        return document

    return changing


def of_operation(**changes):
    return in_graph(lambda graph: graph["operations"][-1].update(changes))


DAMAGED_GRAPHS = {
    "a later version": (in_graph(lambda g: g.update(version=2)), "is of version 2"),
    "an unknown op": (of_operation(type="Abacus"), "no op is called 'Abacus' here.* register it first"),
    "an op that is no text": (of_operation(type=["MatMul"]), "what cannot be decoded"),
    "no operations": (in_graph(lambda g: g.pop("operations")), "operations"),
    "an operation before its inputs": (of_operation(inputs=[[99, 0]]), "IndexError"),
    "an output that is not there": (of_operation(inputs=[[0, 7]]), "IndexError"),
    "too few inputs": (of_operation(inputs=[]), "'Sum': it has 0 inputs"),
    "another layout": (of_operation(layout=[-1]), "'Sum': .*layout"),
    "a layout of words": (of_operation(layout=["a", None, None]), "what cannot be decoded"),
    "attributes of another op": (of_operation(attrs={"height": 2}), "'Sum': .*attributes"),
    "an attribute of another type": (of_operation(attrs={"axis": "a", "keepdims": False}), "'Sum': .*axis"),
    "a part in an operation": (of_operation(attrs={"axis": {"part": 0}, "keepdims": False}), "no part 0 here"),
    "no outputs": (of_operation(outputs=3), "what cannot be decoded"),
    "a negative dimension": (of_operation(outputs=[["float32", [-1]]]), "dimension"),
    "a name of dots": (of_operation(name=7), "what cannot be decoded"),
}


@pytest.mark.parametrize("case", DAMAGED_GRAPHS)
def test_damaged_graphs(tmp_path, case):
    change, text = DAMAGED_GRAPHS[case]
    dt.save(dt.function(lambda x: ops.sum(x + 1.0)).graph(dt.spec((2,))), tmp_path / "x")
    changed(tmp_path / "x", change)
    with pytest.raises(FormatError, match=text):
        dt.load(tmp_path / "x")


def test_a_document_that_its_digest_does_not_fit(tmp_path):
    dt.save({"rate": 1}, tmp_path / "x")
    path = tmp_path / "x"
    path.write_bytes(path.read_bytes().replace(b'\\"rate\\",1', b'\\"rate\\",3'))
    with pytest.raises(FormatError, match="another text than its digest says"):
        dt.load(path)
