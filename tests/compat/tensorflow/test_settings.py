"""Settings of sessions and runs: each has an effect, or warns once that it has none."""

from __future__ import annotations

import importlib
import json
import warnings
from typing import Any

import numpy as np
import pytest

import dovetail as dt
from dovetail.compat import tensorflow as tf
from dovetail.compat.tensorflow import unused
from dovetail.compat.tensorflow.names.session import settings
from dovetail.compat.tensorflow.names.session.setting_groups import Message
from dovetail.compat.tensorflow.names.summary import timeline
from dovetail.compat.tensorflow.unused import UnusedSettingWarning
from dovetail.core.engines import devices
from dovetail.core.engines.engine_registry import current_engine
from tests.libraries import require

v1 = tf.compat.v1


@pytest.fixture(autouse=True)
def _nothing_was_said(monkeypatch):
    monkeypatch.setattr(unused, "_warned", set())


def warned(call: Any) -> list[str]:
    """The texts of the warnings about settings."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        call()
    return [str(one.message) for one in found if one.category is UnusedSettingWarning]


def session(**given: Any) -> None:
    with v1.Graph().as_default():
        v1.Session(config=v1.ConfigProto(**given)).close()


UNUSED: dict[str, Any] = {
    "gpu_options.per_process_gpu_memory_fraction": lambda c: setattr(
        c.gpu_options, "per_process_gpu_memory_fraction", 0.5
    ),
    "gpu_options.allow_growth": lambda c: setattr(c.gpu_options, "allow_growth", True),
    "gpu_options.allocator_type": lambda c: setattr(c.gpu_options, "allocator_type", "BFC"),
    "gpu_options.visible_device_list": lambda c: setattr(c.gpu_options, "visible_device_list", "0"),
    "gpu_options.force_gpu_compatible": lambda c: setattr(c.gpu_options, "force_gpu_compatible", True),
    "gpu_options.experimental.use_unified_memory": lambda c: setattr(
        c.gpu_options.experimental, "use_unified_memory", True
    ),
    "device_count": lambda c: c.device_count.update({"GPU": 0}),
    "inter_op_parallelism_threads": lambda c: setattr(c, "inter_op_parallelism_threads", 8),
    "use_per_session_threads": lambda c: setattr(c, "use_per_session_threads", True),
    "graph_options.optimizer_options.global_jit_level": lambda c: setattr(
        c.graph_options.optimizer_options, "global_jit_level", v1.OptimizerOptions.ON_1
    ),
    "graph_options.rewrite_options.memory_optimization": lambda c: setattr(
        c.graph_options.rewrite_options, "memory_optimization", 1
    ),
    "operation_timeout_in_ms": lambda c: setattr(c, "operation_timeout_in_ms", 10),
    "placement_period": lambda c: setattr(c, "placement_period", 3),
    "experimental.executor_type": lambda c: setattr(c.experimental, "executor_type", "x"),
}


@pytest.mark.parametrize("name", UNUSED)
def test_a_setting_that_does_nothing_warns_once(name):
    def make() -> None:
        config = v1.ConfigProto()
        UNUSED[name](config)
        with v1.Graph().as_default():
            v1.Session(config=config)
            v1.InteractiveSession(config=config).close()

    (text,) = warned(make)
    assert text.startswith(f"tf.ConfigProto: {name} at test_settings.py:") and "does nothing: " in text
    assert warned(make) == []


def test_each_field_of_a_config_acts_or_warns():
    others = {
        "allow_soft_placement": True, "log_device_placement": False, "intra_op_parallelism_threads": 0,
        "device_count": {"GPU": 1}, "session_inter_op_thread_pool": [1], "device_filters": ["x"],
    }  # fmt: skip
    for name, default in v1.ConfigProto.fields.items():
        if isinstance(default, type) and issubclass(default, Message):
            continue
        given = others.get(name, True if default is False else 7)
        acts = name in settings._ACTS
        assert bool(warned(lambda n=name, g=given: session(**{n: g}))) != acts, name


def test_what_a_setting_says_anyway_needs_no_warning():
    assert warned(lambda: session(inter_op_parallelism_threads=1, allow_soft_placement=True)) == []
    assert warned(lambda: session(gpu_options=v1.GPUOptions(allow_growth=False))) == []
    assert warned(lambda: v1.Session(config=v1.ConfigProto())) == []


def test_threads_hold_for_the_process_and_say_so(monkeypatch):
    said: list[int] = []
    monkeypatch.setattr(settings, "set_threads", said.append)
    monkeypatch.setattr(settings, "threads", lambda: said[-1] if said else None)
    (text,) = warned(lambda: [session(intra_op_parallelism_threads=n) for n in (2, 2, 0, 3)])
    assert "holds for all sessions and engines of the process, as dovetail.set_threads(2)" in text
    assert said == [2, 3]
    tf.config.threading.set_intra_op_parallelism_threads(5)
    assert (said[-1], tf.config.threading.get_intra_op_parallelism_threads()) == (5, 5)
    assert warned(lambda: tf.config.threading.set_inter_op_parallelism_threads(1)) == []
    (text,) = warned(lambda: [tf.config.threading.set_inter_op_parallelism_threads(4) for _ in range(2)])
    assert "a run computes one operation after the other" in text
    assert tf.config.threading.get_inter_op_parallelism_threads() == 1


def test_settings_of_tf_config_warn_once():
    device = tf.config.list_physical_devices()[0]
    assert len(warned(lambda: [tf.config.experimental.set_memory_growth(device, True) for _ in range(2)])) == 1
    try:
        assert warned(lambda: [tf.debugging.set_log_device_placement(True) for _ in range(2)]) == []
        assert tf.debugging.get_log_device_placement()
    finally:
        tf.debugging.set_log_device_placement(False)


def test_the_config_of_eager_execution_is_heeded():
    config = v1.ConfigProto(gpu_options=v1.GPUOptions(allow_growth=True))
    (text,) = warned(lambda: [v1.enable_eager_execution(config) for _ in range(2)])
    assert "gpu_options.allow_growth" in text
    with pytest.raises(TypeError, match=r"a tf\.ConfigProto"):
        v1.enable_eager_execution(config=3)


def test_the_device_of_each_call_is_printed(capsys, engine):
    tf.debugging.set_log_device_placement(True)
    try:
        x = tf.tanh(tf.constant([0.0, 1.0]))
    finally:
        tf.debugging.set_log_device_placement(False)
    tf.sin(x)
    lines = [line for line in capsys.readouterr().err.splitlines() if "Tanh" in line or "Sin" in line]
    assert len(lines) == 1
    assert lines[0].startswith("Executing op Tanh in device /job:localhost/replica:0/task:0/device:")


def test_the_devices_of_a_functions_operations_are_printed_once(capsys, engine):
    """Check claim 0.37: operations inside of a `tf.function` are printed when it first runs, also in its loops."""

    @tf.function
    def f(x):
        with tf.device("/cpu:0"):
            y = tf.tanh(x, name="y")
        z = tf.while_loop(lambda i, z: i < 3, lambda i, z: (i + 1, tf.nn.relu(z, name="inner")), (0, y))[1]
        return tf.add(z, 1.0, name="z")

    x = tf.constant([0.0, 1.0])
    f(x)
    assert "y: (Tanh)" not in capsys.readouterr().err
    tf.debugging.set_log_device_placement(True)
    try:
        for _ in range(2):
            np.testing.assert_allclose(f(x).numpy(), 1.0 + np.tanh([0.0, 1.0]), rtol=1e-6)
    finally:
        tf.debugging.set_log_device_placement(False)
    f(x)
    lines = capsys.readouterr().err.splitlines()
    assert lines.count("y: (Tanh): /job:localhost/replica:0/task:0/device:CPU:0") == 1
    for begin in ("inner: (Relu)", "z: (AddV2)"):
        assert sum(line.startswith(f"{begin}: /job:localhost/replica:0/task:0/device:") for line in lines) == 1


@pytest.mark.parametrize("by", ["config", "setting"])
def test_the_device_of_each_operation_is_printed_once(by, capsys, engine):
    config = v1.ConfigProto(log_device_placement=True) if by == "config" else None
    tf.debugging.set_log_device_placement(by == "setting")
    try:
        with v1.Graph().as_default(), v1.Session(config=config) as session:
            x = v1.placeholder(tf.float32, [2], name="x")
            with tf.device("/cpu:0"):
                y = tf.tanh(x, name="y")
            z = tf.add(y, 1.0, name="z")
            for fetched in (y, z, z):
                session.run(fetched, {x: [0.0, 1.0]})
    finally:
        tf.debugging.set_log_device_placement(False)
    lines = capsys.readouterr().err.splitlines()
    assert lines.count("y: (Tanh): /job:localhost/replica:0/task:0/device:CPU:0") == 1
    assert sum(line.startswith("z: (AddV2): /job:localhost/replica:0/task:0/device:") for line in lines) == 1
    assert not any(line.startswith("z: ") for line in lines[: lines.index(next(x for x in lines if x[0] == "y"))])


def test_the_nearest_device_computes_values_and_the_log_has_one_line(engine, monkeypatch, caplog):
    monkeypatch.setattr(devices, "_told", set())
    there = current_engine().devices()
    for _ in range(2):
        with tf.device("/tpu:3"), v1.device("/tpu:3"):
            assert tf.exp(tf.zeros([2])).numpy().tolist() == [1.0, 1.0]
            assert tf.zeros([2]).device == there[0]
    (line,) = [record.getMessage() for record in caplog.records if record.name == "dovetail.place"]
    assert line.startswith(f"{engine} has no device /device:TPU:3 here; it has {', '.join(there)}.")
    tf.config.set_soft_device_placement(False)
    try:
        with pytest.raises(ValueError, match=f"the engine '{engine}' has the devices"), tf.device("/tpu:3"):
            pass
    finally:
        tf.config.set_soft_device_placement(True)


def test_a_device_that_is_there_is_the_one_of_the_values(engine):
    for name in current_engine().devices():
        with tf.device(f"/job:localhost/{name}"):
            assert tf.zeros([2]).device == name
    assert warned(lambda: tf.device("/cpu:0").__enter__()) == []
    assert warned(lambda: tf.device("/job:localhost").__enter__()) == []
    assert warned(lambda: tf.device(None).__enter__()) == []


def test_an_engine_named_in_a_traced_function_computes_there():
    @dt.function
    def f(x):
        with dt.engine("torch"):
            y = dt.ops.tanh(x)
            with dt.engine("numpy"):
                y = dt.ops.exp(y)
            with dt.engine("auto"):
                y = dt.ops.absolute(y)
        return dt.ops.sin(y)

    require("torch", "operations are computed there")
    pins = {op.type: op.engine for op in f.graph(dt.spec((2,))) if op.inputs}
    assert pins == {"Tanh": "torch", "Exp": "numpy", "Abs": "torch", "Sin": None}
    np.testing.assert_allclose(f([0.5, 1.0]).numpy(), np.sin(np.exp(np.tanh(np.float32([0.5, 1.0])))), rtol=1e-5)


def test_groups_of_settings_are_as_protocol_buffers():
    config = v1.ConfigProto(gpu_options=v1.GPUOptions(allow_growth=True), device_count={"GPU": 1})
    assert (config.gpu_options.allow_growth, config.device_count["GPU"]) == (True, 1)
    assert (config.gpu_options.per_process_gpu_memory_fraction, config.gpu_options.allocator_type) == (0.0, "")
    assert config.graph_options.optimizer_options.global_jit_level == v1.OptimizerOptions.DEFAULT == 0
    other = v1.ConfigProto()
    assert other != config and not other.HasField("gpu_options")
    other.CopyFrom(config)
    assert other == config and "gpu_options.allow_growth: True" in repr(other)
    for refused in (lambda: v1.ConfigProto(allow_growht=True), lambda: v1.RunOptions(nothing=1)):
        with pytest.raises(ValueError, match="has no field"):
            refused()
    with pytest.raises(AttributeError, match="Did you mean 'allow_growth'"):
        config.gpu_options.allow_growht = True
    with pytest.raises(AttributeError, match=r"use gpu_options\.CopyFrom"):
        config.gpu_options = v1.GPUOptions()
    with pytest.raises(TypeError, match=r"a tf\.ConfigProto or tf\.RunOptions"):
        v1.Session(config=3)


@pytest.mark.parametrize(
    "name", ["ConfigProto", "GPUOptions", "GraphOptions", "OptimizerOptions", "RunOptions", "RunMetadata"]
)
def test_fields_are_those_of_tensorflow(name):
    require("tensorflow", "the oracle")
    import tensorflow

    theirs = getattr(tensorflow.compat.v1, name).DESCRIPTOR
    own = getattr(v1, name)
    assert set(own.fields) >= {field.name for field in theirs.fields} - {"session_metadata"}
    for kind in theirs.enum_types:
        assert [getattr(own, value.name) for value in kind.values] == [value.number for value in kind.values]


def test_a_run_tells_what_it_computed(engine):
    with v1.Graph().as_default(), v1.Session() as session:
        x = v1.placeholder(tf.float32, [None, 2], name="x")
        v = v1.get_variable("v", [2, 1], initializer=v1.ones_initializer())
        y, other = tf.matmul(x, v, name="y"), tf.exp(x, name="other")
        session.run(v.initializer)
        metadata = v1.RunMetadata()
        options = v1.RunOptions(trace_level=v1.RunOptions.FULL_TRACE)
        assert session.run(y, {x: [[1.0, 2.0]]}, options=options, run_metadata=metadata).tolist() == [[3.0]]
        (stats,) = metadata.step_stats.dev_stats
        assert stats.device in [device.name for device in session.list_devices()]
        nodes = {node.node_name: node for node in stats.node_stats}
        assert "y" in nodes and other.op.name not in nodes
        assert nodes["y"].all_start_micros > 0 and nodes["y"].timeline_label.startswith("y = MatMul(x, v/")
        assert 0 < nodes["y"].all_end_rel_micros < 60e6  # of any engine, since one operation is no fusion
        text = timeline.Timeline(metadata.step_stats).generate_chrome_trace_format()
        spans = {e["args"]["name"]: e for e in json.loads(text)["traceEvents"] if e["ph"] == "X"}
        assert spans["y"]["name"] == "MatMul" and spans["y"]["dur"] == nodes["y"].all_end_rel_micros
        assert spans["y"]["args"]["input0"] == "x" and spans["y"]["ts"] == nodes["y"].all_start_micros
        session.run(other, {x: [[1.0, 2.0]]}, options, metadata)
        assert {node.node_name for node in metadata.step_stats.dev_stats[0].node_stats} >= {"other"}
        assert "y" not in {node.node_name for node in metadata.step_stats.dev_stats[0].node_stats}
        for quiet in (None, v1.RunOptions()):
            session.run(y, {x: [[1.0, 2.0]]}, quiet, metadata)
            assert len(metadata.step_stats.dev_stats) == 0
        with pytest.raises(TypeError, match=r"options must be a tf\.RunOptions"):
            session.run(y, {x: [[1.0, 2.0]]}, options=3)
        (text,) = warned(lambda: session.run(y, {x: [[1.0, 2.0]]}, v1.RunOptions(timeout_in_ms=5)))
        assert "runs have no time limit" in text


def test_the_devices_of_a_session(engine):
    with v1.Graph().as_default(), v1.Session() as session:
        devices = session.list_devices()
        assert [d.device_type for d in devices] == [
            name.partition(":")[0].upper() for name in current_engine().devices()
        ]
        assert devices[-1].name == "/job:localhost/replica:0/task:0/device:CPU:0"


def _public_program(tf1: Any) -> Any:
    """The settings of TensorFlow 1's public programs."""
    gpu = tf1.GPUOptions(per_process_gpu_memory_fraction=0.333, allow_growth=True)
    config = tf1.ConfigProto(device_count={"GPU": 0}, gpu_options=gpu, intra_op_parallelism_threads=2)
    config.allow_soft_placement = config.log_device_placement = True
    config.gpu_options.visible_device_list = "0,1"
    config.gpu_options.experimental.use_unified_memory = True
    config.experimental.executor_type = "SINGLE_THREADED_EXECUTOR"
    config.graph_options.optimizer_options.opt_level = tf1.OptimizerOptions.L0
    config.graph_options.rewrite_options.disable_meta_optimizer = True
    config.graph_options.rewrite_options.memory_optimization = 1
    config.device_filters.append("/job:ps")
    return config


def test_settings_travel_as_bytes():
    real = pytest.importorskip("tensorflow").compat.v1
    config, theirs = _public_program(v1), _public_program(real)
    data = config.SerializeToString()
    assert data == theirs.SerializeToString(deterministic=True)
    again = v1.ConfigProto(inter_op_parallelism_threads=3)
    assert again.ParseFromString(data) == len(data)
    assert again == config == v1.ConfigProto.FromString(data)
    assert again.gpu_options.allow_growth and again.device_count == {"GPU": 0}
    again.MergeFromString(v1.ConfigProto(inter_op_parallelism_threads=5).SerializeToString())
    assert (again.inter_op_parallelism_threads, again.intra_op_parallelism_threads) == (5, 2)
    again.ClearField("inter_op_parallelism_threads")
    assert again == config
    options = v1.RunOptions(trace_level=v1.RunOptions.FULL_TRACE, timeout_in_ms=7)
    assert options.SerializeToString() == real.RunOptions(trace_level=3, timeout_in_ms=7).SerializeToString()


def test_repeated_groups_are_added_and_listed():
    require("tensorflow", "the oracle")
    real = importlib.import_module("tensorflow").compat.v1
    said = []
    for config in (v1.ConfigProto(), real.ConfigProto()):
        config.session_inter_op_thread_pool.add(num_threads=3).global_name = "mine"
        config.session_inter_op_thread_pool.add()
        config.allow_soft_placement = True
        again = type(config).FromString(config.SerializeToString())
        pools = [(one.num_threads, one.global_name) for one in again.session_inter_op_thread_pool][:1]
        said.append(
            [again.SerializeToString(), pools, [(field.name, field.number) for field, _ in config.ListFields()]]
        )
    assert said[0] == said[1]


def test_optimizers_of_programs_may_be_named():
    rewriting = v1.ConfigProto().graph_options.rewrite_options
    optimizer = rewriting.custom_optimizers.add(name="Npu")
    optimizer.parameter_map["use_off_line"].b = True
    rewriting.optimizers.append("constfold")
    assert rewriting.custom_optimizers[0].parameter_map["use_off_line"].b and rewriting.optimizers == ["constfold"]


def test_settings_without_bytes():
    config = v1.ConfigProto()
    config.cluster_def.job = "worker"
    with pytest.raises(ValueError, match=r"tf\.ConfigProto.*cluster_def is not written as bytes"):
        config.SerializeToString()
    with pytest.raises(TypeError):
        v1.ConfigProto(intra_op_parallelism_threads="two").SerializeToString()
