"""Devices: scopes, and values that stay on their device."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import dovetail as dt
from dovetail import ops
from dovetail.core.base.pin import ANYWHERE, Pin
from dovetail.core.base.scopes import scopes
from dovetail.core.dtypes import as_dtype
from dovetail.core.engines.devices import soft_placement_of_run
from dovetail.core.engines.engine_registry import current_engine


def test_values_stay_on_one_of_two_devices():
    pytest.importorskip("jax")
    several = f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count=2"
    flags = {"XLA_FLAGS": several, "JAX_PLATFORMS": "cpu"}
    command = [sys.executable, "-m", "tests.core.two_devices"]
    done = subprocess.run(
        command, cwd=Path(__file__).parents[3], env={**os.environ, **flags}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


def test_a_scope(engine):
    with dt.device("cpu:0"):
        assert scopes().device == Pin(engine, "cpu:0")
        x = ops.constant([1.0, 2.0])
        total = dt.function(lambda x: ops.sum(x) + ops.arange(2))(x)
    assert scopes().device is ANYWHERE
    assert x.device == total.device == dt.Variable(x).device == "cpu:0" and total.tolist() == [3, 4]
    assert ops.convert(x, device="cpu:0").device == "cpu:0"
    own, float32 = current_engine(), as_dtype("float32")
    assert own.device_of(own.asarray([1.0], float32, "cpu:0")) == "cpu:0"
    if own.out_rules:
        assert own.shape(own.allocate((2,), float32, "cpu:0")) == (2,)


@pytest.mark.parametrize("name", ["gpu:77", "", None])
def test_an_unknown_device(engine, name):
    problem = rf"device at .*: the engine '{engine}' has the devices .*cpu:0.* here, not"
    with soft_placement_of_run(False), pytest.raises(ValueError, match=problem), dt.device(name):
        pass
    assert scopes().device is ANYWHERE
    if name is not None:
        with pytest.raises(ValueError, match=problem.replace("device at", "convert: device at")):
            ops.convert([1.0], device=name)
