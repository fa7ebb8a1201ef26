"""TensorFlow's settings and figures of memory: they act where the engine's library has them, else warn once."""

from __future__ import annotations

import gc

import numpy as np
import pytest

import dovetail as dt
from dovetail.compat import tensorflow as tf
from dovetail.compat.tensorflow import unused
from dovetail.compat.tensorflow.names.session import memory
from dovetail.core.engines.engine_registry import current_engine
from tests.compat.tensorflow.test_settings import session, warned

v1 = tf.compat.v1
config, experimental = tf.config, tf.config.experimental
MEGABYTE = np.ones(2**18, "float32")


@pytest.fixture(autouse=True)
def _nothing_was_said(monkeypatch, engine):
    monkeypatch.setattr(unused, "_warned", set())
    for known in ("_seen", "_configured", "_grows"):
        monkeypatch.setattr(memory, known, {})
    gc.collect()  # what other tests left in cycles counts until a limit needs its room
    yield
    if engine in ("numpy", "torch"):
        dt.set_memory_limit(None, engine, "cpu:0")


@pytest.fixture
def gpu(monkeypatch, engine):
    """The settings that a GPU of the current engine is given, as its library would take them."""
    given: list[tuple] = []
    found = current_engine()
    monkeypatch.setattr(found, "devices", lambda: ["gpu:0", "cpu:0"])
    monkeypatch.setattr(found, "total_memory", lambda name: 1000 if name == "gpu:0" else None)
    monkeypatch.setattr(found, "limit_memory", lambda limit, device: given.append((limit, device)) or True)
    monkeypatch.setattr(found, "grow_memory", lambda enable, device: given.append((enable, device)) or True)
    return given


def test_figures_of_a_device(engine):
    before = experimental.get_memory_info("CPU:0")
    x = tf.constant(MEGABYTE)
    now = experimental.get_memory_info("/device:CPU:0")
    assert now["current"] - before["current"] == MEGABYTE.nbytes == now["peak"] - before["current"]
    assert x.shape == MEGABYTE.shape
    del x
    after = experimental.get_memory_info("CPU:0")
    assert after == {"current": before["current"], "peak": now["peak"]}
    experimental.reset_memory_stats("CPU:0")
    assert experimental.get_memory_info("CPU:0")["peak"] == before["current"]
    with pytest.raises(ValueError, match=rf"get_memory_info at test_memory.py:\d+: the engine {engine} has the"):
        experimental.get_memory_info("TPU:7")


def test_figures_of_the_library_come_first(monkeypatch, engine):
    figures = {"bytes_in_use": 5, "peak_bytes_in_use": 7, "bytes_limit": 9}
    monkeypatch.setattr(current_engine(), "reported_memory", lambda device: figures)
    assert experimental.get_memory_info("CPU:0") == {"current": 5, "peak": 7}


def test_a_limit_acts_or_warns_once(engine):
    (cpu,) = config.list_physical_devices("CPU")
    assert config.get_logical_device_configuration(cpu) is None
    in_use = experimental.get_memory_info("CPU:0")["current"]
    limit = config.LogicalDeviceConfiguration(memory_limit=in_use / 2**20 + 1.5)
    said = warned(lambda: [config.set_logical_device_configuration(cpu, [limit]) for _ in range(2)])
    assert config.get_logical_device_configuration(cpu) == [limit]
    if engine in ("jax", "tensorflow"):
        assert len(said) == 1 and "it does nothing: " in said[0] and "cannot be limited" in said[0]
        return
    assert said == []
    x = tf.constant(MEGABYTE)
    with pytest.raises(MemoryError, match=f"1,048,576 bytes on {engine}"):
        tf.exp(x)
    peak = experimental.get_memory_info("CPU:0")["peak"]
    assert peak >= in_use + MEGABYTE.nbytes
    config.set_logical_device_configuration(cpu, [config.LogicalDeviceConfiguration()])
    assert tf.exp(x).shape == x.shape
    with pytest.raises(NotImplementedError, match="has one configuration, not 2"):
        experimental.set_virtual_device_configuration(cpu, [limit, limit])


def test_growth_acts_or_warns_once(engine):
    (cpu,) = config.list_physical_devices("CPU")
    assert experimental.get_memory_growth(cpu) is True
    (text,) = warned(lambda: [experimental.set_memory_growth(cpu, False) for _ in range(2)])
    assert "engines take memory as they need it" in text and experimental.get_memory_growth(cpu) is False


def test_settings_of_a_gpu_act_where_there_is_one(gpu):
    options = v1.GPUOptions(per_process_gpu_memory_fraction=0.25, allow_growth=True)
    assert warned(lambda: session(gpu_options=options)) == []
    experimental.set_memory_growth(config.list_physical_devices("GPU")[0], False)
    config.set_logical_device_configuration(
        config.list_physical_devices("GPU")[0], [config.LogicalDeviceConfiguration(2)]
    )
    assert sorted(map(str, gpu)) == sorted(
        ["(250, 'gpu:0')", "(True, 'gpu:0')", "(False, 'gpu:0')", "(2097152, 'gpu:0')"]
    )


def test_settings_of_gpus_warn_once_without_one(engine):
    if current_engine().devices() != ["cpu:0"]:
        pytest.skip("there is a GPU, on which they act")
    options = v1.GPUOptions(per_process_gpu_memory_fraction=0.25)
    (text,) = warned(lambda: [session(gpu_options=options) for _ in range(2)])
    assert "gpu_options.per_process_gpu_memory_fraction" in text and "does nothing" in text
