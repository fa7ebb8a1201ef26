"""Programs for rates: one for each family of ops, by which `dovetail tune` measures the rates of an engine."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from dovetail import ops
from dovetail.autodiff.tape import GradientTape
from dovetail.choose import calibration, costs
from dovetail.choose.candidate import Candidate
from dovetail.core.engines.engine_registry import share_devices
from dovetail.execute.choice import Strategy
from dovetail.functions.function import function

LEAST, MOST, SECONDS = 3, 20, 0.3  # timed calls of a sample, and about how long they take together

Shape = tuple[int, ...]


def _chain(x: Any) -> Any:
    for _ in range(100):
        x = ops.tanh(x)
    return x


def _conv(strides: int) -> Callable[..., Any]:
    """Convolutions, and their gradients by the input."""

    def program(x: Any, *kernels: Any) -> Any:
        with GradientTape() as tape:
            tape.watch(x)
            y = x
            for kernel in kernels:
                y = ops.conv(y, kernel, strides, padding="same")
        return y, tape.gradient(y, x, output_gradients=y)

    return program


def _filter(x: Any, kernel: Any) -> Any:
    with GradientTape() as tape:
        tape.watch(kernel)
        y = ops.conv(x, kernel, padding="same")
    return tape.gradient(y, kernel, output_gradients=x)


def _unpool(x: Any, gradient: Any) -> Any:
    with GradientTape() as tape:
        tape.watch(x)
        y = ops.max_pool(x, 2)
    return tape.gradient(y, x, output_gradients=gradient)


def _launches(x: Any, kernel: Any) -> Any:
    for _ in range(20):
        x = ops.conv(x, kernel, padding="same")
    return x


def _lstm(*given: Any) -> Any:
    """A recurrent layer and its gradients, as in a training step."""
    with GradientTape() as tape:
        tape.watch(list(given))
        y, *_ = ops.lstm(*given)
    return y, *tape.gradient(y, list(given), output_gradients=y)


def _noise(x: Any) -> Any:
    key = ops.cast(x[0, :2] * 1e6, "int32")  # from an argument, else the numbers would be computed only once
    return ops.random.normal(key, x.shape)


def _adam(*arrays: Any) -> Any:
    variable, gradient, mean, square_mean = ([array] for array in arrays)
    return ops.adam_step(variable, gradient, mean, square_mean, 0.1)


# A family → a program that does little else, and the shapes of its arguments.  A later one may include earlier ones.
SAMPLES: Mapping[str, tuple[Callable[..., Any], Sequence[Shape]]] = {
    "calls": (_chain, [(2, 2)]),
    "map": (lambda x: ops.tanh(x) * 2.0 + x, [(1024, 1024)]),
    "product": (lambda x, y: x @ y, [(512, 512), (512, 512)]),
    "launches": (_launches, [(1, 4, 4, 8), (3, 3, 8, 8)]),
    "convolution": (_conv(1), [(64, 32, 32, 32), (3, 3, 32, 32)]),
    "strided": (_conv(2), [(64, 32, 32, 32), (3, 3, 32, 32)]),
    "thin": (_conv(1), [(64, 32, 32, 3), (3, 3, 3, 32), (3, 3, 32, 3)]),
    "unit": (_conv(1), [(64, 32, 32, 64), (1, 1, 64, 64)]),
    "depthwise": (_conv(1), [(64, 32, 32, 64), (3, 3, 1, 64)]),
    "filter": (_filter, [(64, 32, 32, 32), (3, 3, 32, 32)]),
    "steps": (_lstm, [(1, 256, 8), (1, 8), (1, 8), (8, 32), (8, 32)]),
    "recurrent": (_lstm, [(128, 32, 128), (128, 128), (128, 128), (128, 512), (128, 512)]),
    "window": (lambda x: ops.max_pool(x, 2), [(16, 32, 32, 64)]),
    "unpool": (_unpool, [(16, 32, 32, 64), (16, 16, 16, 64)]),
    "reduction": (lambda x: ops.sum(x, axis=0), [(1024, 1024)]),
    "optimizer": (_adam, [(1024, 1024)] * 4),
    "random": (_noise, [(512, 1024)]),
}


def calibrate(engine: str, family: str, known: costs.Corrections) -> float:
    """Measure the program of a family on an engine, and correct the rates by its time.

    Args:
        engine: the name of an installed engine.
        family: a key of `SAMPLES`.
        known: the corrections to update.

    Returns:
        The seconds of a call.
    """
    share_devices()
    home = calibration.load(engine, known)
    program, shapes = SAMPLES[family]
    generator = np.random.default_rng(0)
    given = [generator.uniform(0.1, 1.0, shape).astype("float32") for shape in shapes]
    graph = function(program).graph(*given)
    work = costs.work_of(graph)
    arrays = [home.holder.asarray(array, t.dtype) for array, t in zip(given, graph.inputs, strict=True)]
    candidate = Candidate(Strategy(engine), graph, home, shapes)
    candidate.plan.prepare()
    candidate.wait(candidate.tensors(arrays))
    times: list[float] = []
    while len(times) < LEAST or (sum(times) < SECONDS and len(times) < MOST):
        start = time.perf_counter()
        candidate.wait(candidate.tensors(arrays))
        times.append(time.perf_counter() - start)
    seconds = statistics.median(times)
    known.learn(engine, work, seconds)
    return seconds
