"""Keras divides batches and variables among four devices of jax; `layouts_checks` has what such a process checks."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ENGINES
from tests.libraries import require

require("keras", "it trains")

CHECKS = {
    "jax": ("same_numbers", "programs", "single_steps", "files", "values", "refusals"),
    "auto": ("chosen",),
}


def checked(engine, devices, checks):
    """Run checks in a process with an engine, in which jax has a number of devices."""
    flags = f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count={devices}"
    chosen = {"XLA_FLAGS": flags, "JAX_PLATFORMS": "cpu", "KERAS_BACKEND": "dovetail", "DOVETAIL_ENGINE": engine}
    command = [sys.executable, "-m", "tests.keras_dovetail.layouts_checks", *checks]
    root = Path(__file__).parents[2]
    done = subprocess.run(command, cwd=root, env={**os.environ, **chosen}, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("engine", CHECKS)
def test_four_devices_compute_the_numbers_of_one(engine):
    require("jax", "it divides")
    checked(engine, 4, CHECKS[engine])


@pytest.mark.parametrize("engine", ENGINES)
def test_without_several_devices_of_jax(engine):
    checked(engine, 1, ["elsewhere"])


def test_one_device_changes_no_engine():
    checked("auto", 1, ["one_device"])
