"""Engines that a program registers, and the types of devices that they own."""

from __future__ import annotations

import numpy as np
import pytest

import dovetail as dt
import dovetail.compat.tensorflow as tf
from dovetail import ops
from dovetail.core.engine import Engine
from dovetail.core.engines import devices, engine_registry
from dovetail.core.engines.engine_registry import device_owner, known_engines
from dovetail.core.rules import Rules
from dovetail.engines.numpy import rules as numpy_rules

X = np.float32([[1.0, 2.0], [3.0, 4.0]])


class Counting(Engine):
    """An engine that computes tanh, and counts its calls."""

    name = "counting"
    eager = "numpy"
    compiles_programs = True
    device_types = ("box",)
    claimed = ("Tanh",)
    calls = 0

    def version(self):
        return "1"

    def devices(self):
        return ["box:0", "box:1"]

    def compile(self, segment):
        def run(*arrays):
            known = dict(zip(segment.inputs, arrays, strict=True))
            for op in segment.graph.find("Tanh"):
                known[op.outputs[0]] = np.tanh(known[op.inputs[0]])
                self.calls += 1
            return tuple(np.array(known[t]) for t in segment.outputs)

        return run


@pytest.fixture
def box():
    found = Counting(Rules())
    dt.register_engine(found)
    yield found
    dt.unregister_engine("counting")


def test_it_is_an_engine_like_others(box):
    assert "counting" in dt.list_engines() and device_owner("box") == "counting" and device_owner("gpu") is None
    with dt.engine("counting"):
        assert dt.function(lambda x: ops.tanh(x))(X).numpy().tolist() == np.tanh(X).tolist()
    assert box.calls == 1
    with dt.engine("auto"):
        plan = dt.function(lambda x: ops.tanh(x)).plan(X)
        assert "counting" not in {strategy.engine for strategy in plan.measurer.state.arms}


# a way to reach the device → a function that places the tanh of a function of x
REACHED = {
    "dt.place": lambda: dt.place(device="box:1"),
    "by kind": lambda: dt.place(device="box"),
    "dt.device": lambda: dt.device("box:0"),
    "inside of an engine": lambda: dt.place("numpy", part=1),
    "tf.device": lambda: tf.device("/device:BOX:1"),
    "not there": lambda: dt.device("box:7"),
}


@pytest.mark.parametrize("way", REACHED)
def test_its_devices_reach_it(box, engine, way):
    def f(x):
        with REACHED[way]():
            if way == "inside of an engine":
                with dt.device("box:0"):
                    x = ops.tanh(x)
            else:
                x = ops.tanh(x)
        return ops.exp(x)

    f = dt.function(f)
    np.testing.assert_allclose(f(X).numpy(), np.exp(np.tanh(X)), rtol=1e-6)
    assert box.calls == 1 and f(X).engine == engine
    placed = {op.type: s.engine.name for s in f.plan(X).segments for op in s.graph if op.inputs}
    assert placed == {"Tanh": "counting", "Exp": engine}


def test_sessions_reach_it_by_a_function(box, engine, capsys):
    v1 = tf.compat.v1
    with v1.Graph().as_default(), v1.device(lambda op: "/device:BOX:0" if op.type == "Tanh" else None):
        x = v1.placeholder(tf.float32, [2, 2])
        y = tf.exp(tf.tanh(x, name="y"), name="z")
        with v1.Session(config=v1.ConfigProto(log_device_placement=True, allow_soft_placement=False)) as session:
            np.testing.assert_allclose(session.run(y, {x: X}), np.exp(np.tanh(X)), rtol=1e-6)
    assert box.calls == 1
    lines = capsys.readouterr().err.splitlines()
    assert "y: (Tanh): /job:localhost/replica:0/task:0/device:BOX:0" in lines
    assert sum(line.startswith(("y: ", "z: ")) for line in lines) == 2


def test_single_calls_at_its_device_are_its_holders_with_a_warning(box):
    with pytest.warns(UserWarning, match="counting computes graphs"), tf.device("/device:BOX:0"):
        assert tf.tanh(X).numpy().tolist() == np.tanh(X).tolist()
    assert box.calls == 0


def test_what_it_does_not_claim_runs_on_its_holder(box):
    def f(x):
        with dt.device("box:0"):
            return ops.exp(x)

    np.testing.assert_allclose(dt.function(f)(X).numpy(), np.exp(X), rtol=1e-6)


def test_a_type_that_nobody_owns_is_the_nearest_device(monkeypatch, caplog):
    monkeypatch.setattr(devices, "_told", set())
    with tf.compat.v1.Graph().as_default(), tf.device("/device:BOX:0"):
        y = tf.tanh(tf.zeros([2]))
        assert tf.compat.v1.Session().run(y).tolist() == [0, 0]
    assert any("has no device /device:BOX:0 here" in record.getMessage() for record in caplog.records)
    with pytest.raises(ValueError, match="not 'box:0'"), dt.device("box:0"):
        pass


def named(name, **attributes):
    return type("Other", (Engine,), {"name": name, "eager": "numpy", **attributes})(Rules())


REFUSED = {
    "taken": (lambda: named("torch"), ValueError, "there is an engine 'torch' already"),
    "twice": (lambda: named("counting"), ValueError, r"already: unregister_engine\('counting'\) takes it out"),
    "auto": (lambda: named("auto"), TypeError, "that has a name"),
    "no engine": (lambda: "fpga", TypeError, "not 'fpga'"),
    "a library's devices": (lambda: named("o", device_types=("gpu",)), ValueError, "'gpu' belong to the libraries"),
    "another's devices": (lambda: named("o", device_types=("box",)), ValueError, "'box' belong to counting"),
    "no holder": (lambda: named("o", eager="nobody"), ValueError, "no other engine of this name"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_wrong_engines_change_nothing(box, case):
    make, error, text = REFUSED[case]
    before = known_engines()
    with pytest.raises(error, match=text):
        dt.register_engine(make())
    assert known_engines() == before


def test_a_scope_of_an_engine_at_hand_reads_no_packages(box, monkeypatch):
    reads = []
    monkeypatch.setattr(engine_registry, "_points", lambda group: reads.append(group) or ())
    with dt.engine("numpy"), dt.place("numpy", part=1), dt.place("counting"):
        assert reads == []
    with pytest.raises(ValueError, match="there is no engine 'nunpy'"):
        dt.engine("nunpy")
    assert reads


def test_an_engine_with_rules_computes_single_calls():
    class Own(Engine):
        name = "own"
        device_types = ("own",)
        version = lambda self: "1"  # noqa: E731
        devices = lambda self: ["own:0"]  # noqa: E731
        owns_type = lambda self, kind: False  # noqa: E731
        shape = lambda self, value: value.shape  # noqa: E731
        dtype = lambda self, value: dt.dtypes.as_dtype(value.dtype)  # noqa: E731
        asarray = lambda self, value, dtype, device=None: np.array(value, dtype.numpy)  # noqa: E731
        to_numpy = lambda self, value: value  # noqa: E731
        copy = lambda self, value: value.copy()  # noqa: E731

    dt.register_engine(Own(Rules(dict(numpy_rules.items()))))
    try:
        with tf.device("/device:OWN:0"):
            assert ops.tanh([1.0]).engine == "own"
        with pytest.raises(ValueError, match="belongs to the engine 'own', not to 'torch'"):
            dt.place("torch", "own:0")
        with dt.engine("own"), pytest.raises(ValueError, match="is the current engine"):
            dt.unregister_engine("own")
    finally:
        dt.unregister_engine("own")
    with pytest.raises(LookupError, match="no engine 'own' was registered"):
        dt.unregister_engine("own")
