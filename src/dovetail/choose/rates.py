"""Rates: the speed of engines, as a shipped table for each kind of machine, measured by `dovetail tune`."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import NamedTuple


class Rates(NamedTuple):
    """The speed of an engine.

    Attributes:
        a_call, an_op, a_turn: seconds of a call of a program, of each op, and of each op in an iteration of a loop.
        load, build, an_op_built: seconds to import the library, to make a program, and more for each of its ops.
        work: family → floating-point operations or bytes a second.
    """

    a_call: float
    an_op: float
    a_turn: float
    load: float
    build: float
    an_op_built: float
    work: Mapping[str, float]


AVX2, AVX512, GPU = "AVX2", "AVX-512", "GPU"

# The rates with AVX-512 are a fit to the steps of 15 Keras models and to predictions of 12, on two cores: least squares
# of the logarithms of times, drawn to medians of three runs of `dovetail tune`, whose arrays are larger than most of
# models.  Rates of convolutions are means of the operation and its gradient by the input.  The tables of two cores
# with AVX2 and of a Hopper GPU come from `dovetail tune`.  With AVX2 they have the ratio of the fit to `dovetail tune`
# that AVX-512 has, and half as many launches and steps.  The GPU's rates include the time of launches and steps.
# The seconds of an op in an iteration are not of that fit.  For interpreters they are rough means of two loops: of
# elementwise ops alone, and of a language model's step, whose ops take up to ten times as long.
# Seconds to start are rough means of the first calls of these models; AVX2 has twice those of AVX-512.
# Measurements on another machine correct the tables.
TABLES: Mapping[str, Mapping[str, Rates]] = {
    AVX2: {
        "numpy": Rates(6.5e-7, 1.3e-6, 2e-6, 0.0, 0.05, 8e-4, {
            "product": 88e9, "convolution": 92e9, "strided": 19e9, "thin": 6.5e9, "unit": 76e9, "depthwise": 4.2e9,
            "filter": 30e9, "launches": 7e3, "recurrent": 35e9, "steps": 14e3, "window": 2.9e9, "unpool": 0.39e9,
            "reduction": 24e9, "map": 2.9e9, "optimizer": 3.8e9, "random": 0.18e9,
        }),
        "torch": Rates(6.2e-6, 1.4e-5, 6e-6, 2.3, 0.05, 8e-4, {
            "product": 110e9, "convolution": 170e9, "strided": 19e9, "thin": 14e9, "unit": 92e9, "depthwise": 20e9,
            "filter": 32e9, "launches": 5e3, "recurrent": 92e9, "steps": 27e3, "window": 20e9, "unpool": 17e9,
            "reduction": 35e9, "map": 7.3e9, "optimizer": 15e9, "random": 0.22e9,
        }),
        "jax": Rates(1.2e-4, 2.4e-7, 4.4e-7, 1.1, 0.4, 13e-3, {
            "product": 45e9, "convolution": 130e9, "strided": 22e9, "thin": 20e9, "unit": 3.9e9, "depthwise": 0.17e9,
            "filter": 13e9, "launches": 3.3e3, "recurrent": 48e9, "steps": 150e3, "window": 36e9, "unpool": 1.3e9,
            "reduction": 9.8e9, "map": 15e9, "optimizer": 6e9, "random": 0.4e9,
        }),
        "tensorflow": Rates(1.6e-4, 7.2e-6, 8e-6, 6.9, 0.3, 11e-3, {
            "product": 61e9, "convolution": 87e9, "strided": 29e9, "thin": 8.7e9, "unit": 59e9, "depthwise": 12e9,
            "filter": 48e9, "launches": 5e3, "recurrent": 51e9, "steps": 16e3, "window": 7.2e9, "unpool": 6.3e9,
            "reduction": 18e9, "map": 12e9, "optimizer": 5.8e9, "random": 0.18e9,
        }),
        "onnxruntime": Rates(2e-5, 2e-6, 4e-6, 0.2, 0.04, 1.6e-3, {
            "product": 80e9, "convolution": 170e9, "strided": 37e9, "thin": 20e9, "unit": 85e9, "depthwise": 35e9,
            "filter": 20e9, "launches": 25e3, "recurrent": 55e9, "steps": 75e3, "window": 10e9, "unpool": 0.4e9,
            "reduction": 8e9, "map": 8e9, "optimizer": 4e9, "random": 0.03e9,
        }),
    },
    AVX512: {
        "numpy": Rates(2.2e-7, 4.4e-7, 1e-6, 0.0, 0.03, 4e-4, {
            "product": 210e9, "convolution": 160e9, "strided": 38e9, "thin": 12e9, "unit": 170e9, "depthwise": 4e9,
            "filter": 53e9, "launches": 14e3, "recurrent": 73e9, "steps": 28e3, "window": 9.7e9, "unpool": 1.3e9,
            "reduction": 25e9, "map": 4.6e9, "optimizer": 7e9, "random": 0.35e9,
        }),
        "torch": Rates(2.8e-6, 6.3e-6, 3e-6, 1.0, 0.03, 4e-4, {
            "product": 290e9, "convolution": 750e9, "strided": 110e9, "thin": 35e9, "unit": 220e9, "depthwise": 64e9,
            "filter": 140e9, "launches": 9.9e3, "recurrent": 210e9, "steps": 54e3, "window": 39e9, "unpool": 32e9,
            "reduction": 55e9, "map": 20e9, "optimizer": 36e9, "random": 0.41e9,
        }),
        "jax": Rates(3.9e-5, 7.8e-8, 1.3e-7, 0.36, 0.2, 7e-3, {
            "product": 140e9, "convolution": 570e9, "strided": 56e9, "thin": 39e9, "unit": 21e9, "depthwise": 0.58e9,
            "filter": 56e9, "launches": 6.6e3, "recurrent": 120e9, "steps": 300e3, "window": 36e9, "unpool": 1.3e9,
            "reduction": 8.9e9, "map": 19e9, "optimizer": 12e9, "random": 0.48e9,
        }),
        "tensorflow": Rates(4.2e-4, 1.9e-5, 4e-6, 2.5, 0.15, 6e-3, {
            "product": 200e9, "convolution": 560e9, "strided": 96e9, "thin": 58e9, "unit": 230e9, "depthwise": 56e9,
            "filter": 310e9, "launches": 10e3, "recurrent": 140e9, "steps": 33e3, "window": 16e9, "unpool": 14e9,
            "reduction": 13e9, "map": 17e9, "optimizer": 15e9, "random": 0.21e9,
        }),
        "onnxruntime": Rates(1e-5, 1e-6, 2e-6, 0.1, 0.02, 8e-4, {
            "product": 200e9, "convolution": 500e9, "strided": 90e9, "thin": 50e9, "unit": 230e9, "depthwise": 100e9,
            "filter": 40e9, "launches": 50e3, "recurrent": 130e9, "steps": 150e3, "window": 20e9, "unpool": 0.7e9,
            "reduction": 15e9, "map": 15e9, "optimizer": 8e9, "random": 0.06e9,
        }),
    },
    GPU: {
        "torch": Rates(1.3e-5, 6.3e-6, 7.6e-6, 1.5, 0.03, 4e-4, {
            "product": 15000e9, "convolution": 6600e9, "strided": 6600e9, "thin": 740e9, "unit": 3400e9,
            "depthwise": 500e9, "filter": 6600e9, "launches": 1e6, "recurrent": 590e9, "steps": 1e7,
            "window": 220e9, "unpool": 220e9, "reduction": 310e9, "map": 1900e9, "optimizer": 660e9, "random": 1.7e9,
        }),
        "jax": Rates(3.3e-5, 4.1e-7, 8.3e-7, 0.55, 0.5, 10e-3, {
            "product": 3500e9, "convolution": 3100e9, "strided": 3100e9, "thin": 320e9, "unit": 1300e9,
            "depthwise": 220e9, "filter": 3100e9, "launches": 1e6, "recurrent": 230e9, "steps": 1e7,
            "window": 91e9, "unpool": 91e9, "reduction": 71e9, "map": 520e9, "optimizer": 370e9, "random": 33e9,
        }),
    },
}  # fmt: skip
STRANGER = Rates(1e-4, 1e-5, 1e-5, 2.0, 0.5, 5e-3, TABLES[AVX2]["numpy"].work)  # an engine of another package
DRIVER = Path("/proc/driver/nvidia/version")
# The packages with which engines use a GPU by themselves.
ON_GPUS = {"jax": ("jax-cuda12-plugin", "jax-cuda13-plugin"), "tensorflow": ("nvidia-cudnn-cu12",)}


@functools.cache
def rates(engine: str) -> Rates:
    """The rates of an engine on this machine, from the table that fits the machine best.

    Example:
        >>> rates("torch").work["convolution"] > rates("numpy").work["convolution"]
        True
    """
    kinds = [GPU] * _is_on_gpu(engine) + [AVX512] * ("avx512f" in _features()) + [AVX2]
    return next((TABLES[kind][engine] for kind in kinds if engine in TABLES[kind]), STRANGER)


def _is_on_gpu(engine: str) -> bool:
    """Whether an engine computes on a GPU unless it is asked not to."""
    return DRIVER.exists() and any(map(_is_installed, ON_GPUS.get(engine, ())))


def _is_installed(distribution: str) -> bool:
    try:
        return bool(version(distribution))
    except PackageNotFoundError:
        return False


def _features() -> list[str]:
    """The features of the processor, as Linux names them."""
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        return []
    return next((line.split() for line in text.splitlines() if line.startswith("flags")), [])
