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

# Medians of three runs of `dovetail tune`: on two cores with AVX2, on two with AVX-512, and on a Hopper GPU.
# Rates of convolutions include both gradients, as in a training step, and so do rates of recurrent layers.  The latter
# are means of the probe, a GRU and an LSTM with AVX-512; elsewhere, rates of LSTM alone times the ratio found there.
# The steps of twelve Keras models, and predictions of three, corrected the rates with AVX-512: probes are larger than
# most arrays of models, and bodies of loops are fused.  The correction is a least-squares fit of the logarithms of
# times, drawn to none at all; torch's products stay at the probe's rate.  Imports there are means of two processes,
# one of which has Keras imported.
# The seconds to make a program come from the first training step of four Keras models with AVX2, since programs of
# probes are made more quickly.  They are halved for AVX-512, and for the rest of the work on a GPU.
# Measurements on another machine correct the tables.
TABLES: Mapping[str, Mapping[str, Rates]] = {
    AVX2: {
        "numpy": Rates(6.5e-7, 9.7e-7, 9.7e-7, 0.0, 0.05, 8e-4, {
            "product": 130e9, "convolution": 43e9, "strided": 20e9, "thin": 6e9, "unit": 67e9, "depthwise": 2.2e9,
            "recurrent": 16e9, "window": 1.6e9, "reduction": 24e9, "map": 5.7e9, "optimizer": 5.9e9, "random": 0.19e9,
        }),
        "torch": Rates(5.8e-6, 2.9e-6, 3.5e-6, 2.3, 0.05, 8e-4, {
            "product": 120e9, "convolution": 66e9, "strided": 16e9, "thin": 24e9, "unit": 75e9, "depthwise": 18e9,
            "recurrent": 22e9, "window": 14e9, "reduction": 27e9, "map": 9.1e9, "optimizer": 15e9, "random": 0.23e9,
        }),
        "jax": Rates(1.8e-5, 2.2e-7, 4.4e-7, 1.1, 0.8, 15e-3, {
            "product": 93e9, "convolution": 27e9, "strided": 17e9, "thin": 13e9, "unit": 3.9e9, "depthwise": 0.15e9,
            "recurrent": 27e9, "window": 17e9, "reduction": 11e9, "map": 33e9, "optimizer": 12e9, "random": 0.36e9,
        }),
        "tensorflow": Rates(7.5e-5, 2.5e-6, 5e-6, 6.9, 0.3, 11e-3, {
            "product": 76e9, "convolution": 51e9, "strided": 33e9, "thin": 9e9, "unit": 46e9, "depthwise": 10e9,
            "recurrent": 11e9, "window": 4e9, "reduction": 5.6e9, "map": 15e9, "optimizer": 5e9, "random": 0.18e9,
        }),
    },
    AVX512: {
        "numpy": Rates(2.2e-7, 3.2e-7, 2.6e-7, 0.0, 0.03, 4e-4, {
            "product": 310e9, "convolution": 75e9, "strided": 39e9, "thin": 11e9, "unit": 150e9, "depthwise": 2.1e9,
            "recurrent": 33e9, "window": 5.4e9, "reduction": 25e9, "map": 9e9, "optimizer": 11e9, "random": 0.36e9,
        }),
        "torch": Rates(2.6e-6, 1.3e-6, 5.3e-7, 1.05, 0.03, 4e-4, {
            "product": 310e9, "convolution": 290e9, "strided": 94e9, "thin": 62e9, "unit": 180e9, "depthwise": 57e9,
            "recurrent": 50e9, "window": 27e9, "reduction": 43e9, "map": 25e9, "optimizer": 35e9, "random": 0.43e9,
        }),
        "jax": Rates(5.8e-6, 7.3e-8, 1.3e-7, 0.45, 0.4, 8e-3, {
            "product": 290e9, "convolution": 120e9, "strided": 44e9, "thin": 25e9, "unit": 21e9, "depthwise": 0.52e9,
            "recurrent": 67e9, "window": 17e9, "reduction": 10e9, "map": 41e9, "optimizer": 24e9, "random": 0.43e9,
        }),
        "tensorflow": Rates(2e-4, 6.6e-6, 1.2e-6, 2.5, 0.15, 6e-3, {
            "product": 250e9, "convolution": 330e9, "strided": 110e9, "thin": 60e9, "unit": 180e9, "depthwise": 48e9,
            "recurrent": 30e9, "window": 8.9e9, "reduction": 4.1e9, "map": 21e9, "optimizer": 13e9, "random": 0.21e9,
        }),
    },
    GPU: {
        "torch": Rates(1.3e-5, 6.3e-6, 7.6e-6, 1.5, 0.03, 4e-4, {
            "product": 15000e9, "convolution": 6600e9, "strided": 6600e9, "thin": 740e9, "unit": 3400e9,
            "depthwise": 500e9, "recurrent": 590e9, "window": 220e9, "reduction": 310e9, "map": 1900e9,
            "optimizer": 660e9, "random": 1.7e9,
        }),
        "jax": Rates(3.3e-5, 4.1e-7, 8.3e-7, 0.55, 0.5, 10e-3, {
            "product": 3500e9, "convolution": 3100e9, "strided": 3100e9, "thin": 320e9, "unit": 1300e9,
            "depthwise": 220e9, "recurrent": 230e9, "window": 91e9, "reduction": 71e9, "map": 520e9,
            "optimizer": 370e9, "random": 33e9,
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
