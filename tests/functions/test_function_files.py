"""Compiled functions in files: called like the original, differentiated, in other processes and on other engines."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
from collections import OrderedDict

import numpy as np
import pytest

import dovetail as dt
from dovetail import ops
from dovetail.core.base.errors import FormatError
from dovetail.functions.function import GraphFunction
from dovetail.functions.function_files import TracedFunction
from dovetail.ops.control.host_calls import py_func
from tests.formats.test_saved import again, changed

X = np.arange(6, dtype="float32").reshape(2, 3) - 2.0


def model(calls):
    w, c = dt.Variable(np.linspace(-1.0, 1.0, 6, dtype="float32").reshape(3, 2), name="w"), ops.constant([0.5, -0.5])

    @dt.function
    def predict(x, mode="plain", *, scale=1.0):
        calls.append(mode)
        y = ops.tanh(x @ w + c) * scale
        return {"y": y, "mode": mode, "parts": (x, [None, 3])} if mode == "plain" else y

    return w, predict


def same(found, expected):
    leaves, structure = dt.core.values.structure.flatten(found)
    others, other = dt.core.values.structure.flatten(expected)
    assert structure == other and len(leaves) == len(others)
    for leaf, original in zip(leaves, others, strict=True):
        assert type(leaf) is type(original)
        np.testing.assert_allclose(leaf, original, 1e-5) if hasattr(leaf, "shape") else leaf == original


CALLS = [((X,), {}), ((X, "short"), {}), ((X, "short"), {"scale": 2.0}), ((X[:1],), {"scale": 3.0})]


def test_a_function_is_called_like_the_original(tmp_path, engine):
    calls = []
    w, predict = model(calls)
    given = [((ops.constant(args[0]), *args[1:]), kwargs) for args, kwargs in CALLS]
    expected = [predict(*args, **kwargs) for args, kwargs in given]
    found = again({"predict": predict, "w": w}, tmp_path / "x")
    count = len(calls)
    for (args, kwargs), result in zip(given, expected, strict=True):
        same(found["predict"](*args, **kwargs), result)
        same(found["predict"](X[: args[0].shape[0]], *args[1:], **kwargs), result)
    assert len(calls) == count and repr(found["predict"]) == "<function predict: 4 traces>"
    found["w"].assign(np.zeros((3, 2), "float32"))
    assert np.unique(found["predict"](X)["y"]).tolist() == pytest.approx([-np.tanh(0.5), np.tanh(0.5)])
    same(predict(ops.constant(X)), expected[0])


def test_gradients(tmp_path, engine):
    w, predict = model([])
    predict(X)
    found = again({"predict": predict, "w": w}, tmp_path / "x")

    def slopes(function, variable):
        x = ops.constant(X)
        with dt.GradientTape() as outer:
            outer.watch(x)
            with dt.GradientTape() as tape:
                tape.watch(x)
                total = ops.sum(function(x)["y"] ** 2)
            first = tape.gradient(total, [x, variable])
            slope = ops.sum(first[0])
        return [*first, *outer.gradient(slope, [x, variable])]

    for ours, expected in zip(slopes(found["predict"], found["w"]), slopes(predict, w), strict=True):
        np.testing.assert_allclose(ours, expected, 1e-4, 1e-5)


def test_steps_assign_the_variables_that_were_read(tmp_path, engine):
    w, count = dt.Variable([1.0, 2.0], name="w"), dt.Generator(3)

    @dt.function
    def step(rate):
        w.assign_sub(w * rate + ops.random.normal(count, (2,)))
        return w.read()

    step(ops.constant(0.1))
    found = again({"step": step, "state": [w, count.count]}, tmp_path / "x")
    for _ in range(3):
        np.testing.assert_allclose(found["step"](ops.constant(0.1)), step(ops.constant(0.1)), 1e-5)
    np.testing.assert_array_equal(found["state"][0], w)
    assert int(found["state"][1]) == int(count.count) == 4


def test_inside_other_functions(tmp_path):
    w, predict = model([])
    predict.concrete(dt.spec((None, 3)))
    found = again(predict, tmp_path / "x")
    same(dt.function(lambda x: found(x)["y"] + 1.0)(X), ops.tanh(X @ w + [0.5, -0.5]) + 1.0)
    graph = dt.function(lambda x: found(x)["y"]).graph(dt.spec((4, 3)))
    assert graph.outputs[0].op.type == "Mul" and graph.find(type="Tanh")


@dataclasses.dataclass
class Batch:
    x: object
    weight: float = 1.0


def test_dataclasses_among_the_arguments_and_results(tmp_path):
    f = dt.function(lambda batch: Batch(batch.x * batch.weight))
    f(Batch(ops.ones(2), 3.0))
    dt.save(f, tmp_path / "x")
    found = dt.load(tmp_path / "x", classes=[Batch])(Batch(ops.ones(2), 3.0))
    assert type(found) is Batch and found.x.tolist() == [3.0, 3.0] and found.weight == 1.0
    assert dt.load(tmp_path / "x")(OrderedDict(x=ops.ones(2), weight=3.0))["x"].tolist() == [3.0, 3.0]


def test_a_trace_of_known_dimensions_goes_first(tmp_path):
    f = dt.function(lambda x: x * (1.0 if None in x.shape else 2.0))
    f.concrete(dt.spec((None,)))
    f(ops.ones(2))
    found = again(f, tmp_path / "x")
    assert found(ops.ones(2)).tolist() == [2.0, 2.0] and found(ops.ones(1)).tolist() == [1.0]


def test_input_signatures(tmp_path):
    f = dt.function(lambda x, y: x + y["a"], input_signature=[dt.spec((None,)), {"a": dt.spec(())}])
    f(np.ones(1), {"a": 2.0})
    found = again(f, tmp_path / "x")
    assert found(np.array([1.0, 2.0]), {"a": 3}).tolist() == [4.0, 5.0]
    with pytest.raises(ValueError, match="does not fit the input signature"):
        found(np.ones((1, 1)), {"a": 3})
    assert len(found.plans) == len(f.plans) == 1


def test_functions_of_graphs_and_copies_of_copies(tmp_path):
    graph = dt.function(lambda x: ops.tanh(x)).graph(dt.spec((2,)))
    found = again([dt.function(graph, name="own", engine="numpy"), dt.function(graph)], tmp_path / "x")
    assert type(found[0]) is GraphFunction and found[0]._options.engine == "numpy" and found[0]._name == "own"
    _, predict = model([])
    predict(X)
    twice = again(again(predict, tmp_path / "x"), tmp_path / "y")
    assert type(twice) is TracedFunction
    same(twice(X), predict(X))
    assert (tmp_path / "x").read_bytes() == (tmp_path / "y").read_bytes()


def test_a_chosen_strategy_is_kept(tmp_path):
    f = dt.function(lambda x: x + 1.0, engine="auto", deterministic=True)
    f(ops.ones(2))
    found = again(f, tmp_path / "x")
    assert found._options == f._options._replace(passes=()) and found._options.fixed is not None
    assert found(ops.ones(2)).tolist() == [2.0, 2.0]


def test_passes_are_part_of_the_traces(tmp_path):
    @dt.graph_pass
    def twice(graph):
        graph.outputs = [graph.outputs[0] * 2.0]

    f = dt.function(lambda x: x + 1.0, passes=[twice])
    f(ops.ones(2))
    assert again(f, tmp_path / "x")(ops.ones(2)).tolist() == [4.0, 4.0]
    with pytest.raises(TypeError, match="'<lambda>' has passes"):
        dt.save(dt.function(f.graph(ops.ones(2)), passes=[twice]), tmp_path / "x")


def test_traces_under_other_settings_are_left_out(tmp_path):
    f = dt.function(lambda x: x * dt.config.epsilon())
    f(ops.ones(1))
    before = dt.config.epsilon()
    try:
        dt.config.set_epsilon(0.5)
        f(ops.ones(1))
        f(ops.ones(2))
        found = again(f, tmp_path / "x")
    finally:
        dt.config.set_epsilon(before)
    assert found(ops.ones(1)).tolist() == [0.5] and len(found.recordings) == 2


def test_other_arguments_are_refused_with_the_traces_there_are(tmp_path):
    _, predict = model([])
    predict(X)
    found = again(predict, tmp_path / "x")
    for args, kwargs in [
        ((X[:1],), {}),
        ((X, "loud"), {}),
        ((X,), {"scale": 2.0}),
        ((X.astype("int32"),), {}),
        ((1.0,), {}),
    ]:
        with pytest.raises(TypeError, match=r"predict at .*no trace for the arguments .*for \(float32\[2,3\],\)"):
            found(*args, **kwargs)


def test_functions_that_cannot_be_saved(tmp_path):
    never = dt.function(lambda x: x, name="never")
    with pytest.raises(TypeError, match=r"at 0, the function 'never' has no trace .*call it"):
        dt.save([never], tmp_path / "x")
    calls = dt.function(lambda x: py_func([x], lambda v: v + 1, ("float32",), ((2,),))[0])
    calls.concrete(dt.spec((2,)))
    with pytest.raises(
        TypeError, match=r"PyFunc at .*test_function_files.py:\d+: function: <function .*cannot be written"
    ):
        dt.save(calls, tmp_path / "x")
    own = dt.function(lambda layer, x: x)
    own(object(), ops.ones(2))
    with pytest.raises(TypeError, match=r"<object object at .* is not a number"):
        dt.save(own, tmp_path / "x")
    assert not list(tmp_path.iterdir())


WRITER = """
import sys, numpy as np, dovetail as dt
from dovetail import ops
dt.set_engine(sys.argv[1])
w = dt.Variable(np.linspace(-1, 1, 6, dtype="float32").reshape(3, 2), name="w")
@dt.function
def step(x):
    w.assign_add(ops.ones((3, 2)))
    return ops.tanh(x @ w)
step.concrete(dt.spec((None, 3)))
dt.save({"step": step, "w": w}, sys.argv[2])
print(np.round(step(np.eye(3, dtype="float32")).numpy(), 4).tolist())
"""
READER = """
import sys, numpy as np, dovetail as dt
for engine in sys.argv[2:]:
    dt.set_engine(engine)
    found = dt.load(sys.argv[1])
    x, step, w = dt.ops.constant(np.eye(3, dtype="float32")), found["step"], found["w"]
    print(np.round(step(x).numpy(), 4).tolist(), w.engine, step(x).engine)
    with dt.GradientTape() as tape:
        y = dt.ops.sum(step(x))
    print(tape.gradient(y, w) is not None)
"""


def run(code, *args):
    done = subprocess.run([sys.executable, "-c", code, *map(str, args)], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_two_processes_and_all_engines(tmp_path):
    names = [name for name in ("numpy", "torch", "jax", "tensorflow") if name in dt.list_engines()]
    for name in names:
        expected = run(WRITER, name, tmp_path / "x").strip()
        found = run(READER, tmp_path / "x", *names).splitlines()
        assert found == [line for other in names for line in (f"{expected} {other} {other}", "True")]


def of_function(change):
    def changing(document):
        change(document["parts"][0]["compiled"])
        return document

    return changing


DAMAGED = {
    "no traces": (of_function(lambda f: f.pop("traces")), "traces"),
    "a name of numbers": (of_function(lambda f: f.update(name=3)), "no name, engine and choice, but 3"),
    "an engine in a list": (of_function(lambda f: f.update(engine=["numpy"])), "no name, engine and choice"),
    "a choice of text": (of_function(lambda f: f.update(choice="numpy")), "no name, engine and choice"),
    "a wrong strategy": (of_function(lambda f: f.update(choice={"choice": {"strategy": [1], "rows": []}})), "strategy"),
    "a result too many": (
        of_function(lambda f: f["traces"][0].update(result=[{"spec": ["int8", []]}] * 9)),
        "beside it",
    ),
    "an argument too many": (of_function(lambda f: f["traces"][0].update(arguments=[])), "beside it"),
}


@pytest.mark.parametrize("case", DAMAGED)
def test_damaged_functions(tmp_path, case):
    change, text = DAMAGED[case]
    _, predict = model([])
    predict(X)
    dt.save(predict, tmp_path / "x")
    changed(tmp_path / "x", change)
    with pytest.raises(FormatError, match=text):
        dt.load(tmp_path / "x")


def test_a_loaded_function_sees_edits_of_its_graphs(tmp_path, engine):
    f = dt.function(lambda x: ops.relu(x) * 2.0)
    f.concrete(dt.spec((None,)))
    found = again(f, tmp_path / "x")
    x = ops.constant([-1.0, 2.0])
    np.testing.assert_array_equal(found(x), [0, 4])
    found.graphs[0].insert_after(found.graphs[0].inputs[0], lambda t: t + 2.0)
    np.testing.assert_array_equal(found(x), [2, 8])
