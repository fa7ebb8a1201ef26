"""Eager calls against the same without Dovetail: an add, an MLP trained with a tape, calls whose shapes vary.

python benchmarks/dispatch.py
"""

from __future__ import annotations

import itertools
import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from timing import compare, frames, table

import dovetail as dt
from dovetail import ops
from dovetail.core.base.cache import Cache
from dovetail.core.base.table import OPS
from dovetail.core.op import Op

SOURCE = str(Path(dt.__file__).parent)
MLPS = {"small": (32, (64, 128, 128, 10)), "as in steps.py": (128, (784, 512, 512, 10))}  # batch, widths of layers
LENGTHS = range(1, 201)


# -- one call ---------------------------------------------------------------------------------------------------------


def native_add(name: str, value: Any) -> Callable[[], Any]:
    if name == "numpy":
        return lambda: np.add(value, value)
    if name == "torch":
        import torch

        return lambda: torch.add(value, value)
    if name == "tensorflow":
        import tensorflow as tf

        return lambda: tf.add(value, value)
    import jax.numpy as jnp

    return lambda: jnp.add(value, value)


def taped(function: Callable[[], Any], watched: Any) -> Callable[[], Any]:
    def call() -> None:
        with dt.GradientTape() as tape:
            tape.watch(watched)
            function()

    return call


def frames_of(function: Callable[[], Any]) -> int:
    """How many Python functions of Dovetail's a call runs through."""
    for _ in range(3):
        function()
    return sum(count for code, count in frames(function).items() if code.co_filename.startswith(SOURCE))


def calls(name: str) -> list[list[str]]:
    array = np.ones((4, 4), "float32")
    x, ints = ops.convert(array), ops.convert(array.astype("int32"))
    native = x.value
    found = []
    tape = taped(lambda: None, x)
    for what, call, apart in (
        ("x + x", lambda: x + x, None),
        ("x + x, taped", taped(lambda: x + x, x), tape),
        ("x + ints", lambda: x + ints, None),
        ("add(NumPy arrays)", lambda: ops.add(array, array), None),
        ("add(its own arrays)", lambda: ops.add(native, native), None),
    ):
        count = frames_of(call)  # first: a call may import modules
        result = compare(call, native_add(name, native), rounds=9)
        ours = result.ours
        if apart is not None:  # the time of the tape itself
            ours -= compare(apart, apart, rounds=9).ours
            count -= frames_of(apart)
        found.append([name, what, f"{ours * 1e6:.1f}", f"{result.theirs * 1e6:.1f}", str(count)])
    return found


# -- the short way of elementwise calls -------------------------------------------------------------------------------


def short_way(name: str) -> list[list[str]]:
    """`x + x` by the short path of elementwise ops and by the path of all other ops, with one shape and with 200."""
    add, short = OPS["AddV2"], type(OPS["AddV2"])
    x = ops.convert(np.ones((4, 4), "float32"))
    varied = [ops.convert(np.ones(length, "float32")) for length in LENGTHS]

    def called(kind: type, values: Sequence[Any]) -> Callable[[], None]:
        def call() -> None:
            add.__class__ = kind
            try:
                for value in values:
                    add(value, value)
            finally:
                add.__class__ = short

        return call

    found = []
    for shapes, values in (("one", [x] * len(varied)), ("200", varied)):
        result = compare(called(short, values), called(Op, values), rounds=9)
        times = [f"{t / len(values) * 1e6:.1f}" for t in (result.ours, result.theirs)]
        found.append([name, shapes, *times, f"{result.ratio:.2f}"])
    return found


# -- a training step --------------------------------------------------------------------------------------------------


def parameters(widths: Sequence[int]) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    shapes = [s for a, b in itertools.pairwise(widths) for s in ((a, b), (b,))]
    return [rng.normal(0, 0.1, shape).astype("float32") for shape in shapes]


def batch(size: int, widths: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(1)
    return rng.normal(size=(size, widths[0])).astype("float32"), rng.normal(size=(size, widths[-1])).astype("float32")


def with_tape(size: int, widths: Sequence[int]) -> Callable[[], Any]:
    ws = [dt.Variable(p) for p in parameters(widths)]
    x, y = map(ops.convert, batch(size, widths))

    def step() -> Any:
        with dt.GradientTape() as tape:
            h = x
            for w, b in zip(ws[:-2:2], ws[1:-2:2], strict=True):
                h = ops.relu(h @ w + b)
            loss = ops.mean(ops.square(h @ ws[-2] + ws[-1] - y))
        for w, g in zip(ws, tape.gradient(loss, ws), strict=True):
            w.assign_sub(0.01 * g)
        return loss

    return step


def by_hand_numpy(size: int, widths: Sequence[int]) -> Callable[[], Any]:
    ws = parameters(widths)
    x, y = batch(size, widths)

    def step() -> Any:
        hs = [x]
        for w, b in zip(ws[:-2:2], ws[1:-2:2], strict=True):
            hs.append(np.maximum(hs[-1] @ w + b, 0))
        difference = hs[-1] @ ws[-2] + ws[-1] - y
        g = difference * np.float32(2 / difference.size)
        for i in range(len(ws) - 2, -1, -2):
            h, w = hs[i // 2], ws[i]
            back = (g @ w.T) * (h > 0) if i else None
            ws[i], ws[i + 1] = w - np.float32(0.01) * (h.T @ g), ws[i + 1] - np.float32(0.01) * g.sum(0)
            g = back
        return np.mean(np.square(difference))

    return step


def by_autograd_torch(size: int, widths: Sequence[int]) -> Callable[[], Any]:
    import torch

    ws = [torch.tensor(p, requires_grad=True) for p in parameters(widths)]
    tx, ty = map(torch.tensor, batch(size, widths))

    def step() -> Any:
        h = tx
        for w, b in zip(ws[:-2:2], ws[1:-2:2], strict=True):
            h = torch.relu(h @ w + b)
        loss = torch.mean(torch.square(h @ ws[-2] + ws[-1] - ty))
        with torch.no_grad():
            for w, g in zip(ws, torch.autograd.grad(loss, ws), strict=True):
                w -= 0.01 * g
        return loss.detach()

    return step


BY_HAND = {"numpy": by_hand_numpy, "torch": by_autograd_torch}


def training(name: str, mlp: str) -> list[str]:
    ours, theirs = with_tape(*MLPS[mlp]), BY_HAND[name](*MLPS[mlp])
    for _ in range(3):
        np.testing.assert_allclose(float(ours()), float(theirs()), rtol=1e-4)
    found = compare(ours, theirs)
    return [name, mlp, f"{found.ours * 1e6:.0f}", f"{found.theirs * 1e6:.0f}", f"{found.ratio:.2f}"]


# -- shapes that vary -------------------------------------------------------------------------------------------------


def varied() -> float:
    """Seconds for 200 batch lengths, four calls of two composites each, from an empty cache."""
    for op in OPS.values():
        op.resolved.clear()
    inputs = [ops.convert(np.ones((length, 16), "float32")) for length in LENGTHS]
    start = time.perf_counter()
    for x in inputs:
        for _ in range(4):
            ops.log_softmax(ops.gelu(x))
    return time.perf_counter() - start


def lengths(name: str) -> list[str]:
    put, pairs = Cache.put, []
    for _ in range(7):
        try:
            ours = varied()
            Cache.put = lambda *_: None  # type: ignore[method-assign]
            pairs.append((ours, varied()))
        finally:
            Cache.put = put  # type: ignore[method-assign]
    ours, theirs = (statistics.median(column) for column in zip(*pairs, strict=True))
    return [name, f"{ours:.3f}", f"{theirs:.3f}", f"{statistics.median(a / b for a, b in pairs):.2f}"]


def main() -> None:
    rows, short, steps, shapes = [], [], [], []
    for name in dt.list_engines():
        with dt.engine(name):
            rows += calls(name)
            short += short_way(name)
            shapes.append(lengths(name))
            if name in BY_HAND:
                steps += [training(name, mlp) for mlp in MLPS]
    header = ["engine", "call", "Dovetail µs", "its own add µs", "Python frames"]
    print(table("Eager calls (`dispatch.py`), 4 by 4, float32", header, rows))
    header = ["engine", "shapes", "short way µs", "without µs", "ratio"]
    print(table("The short way of elementwise ops (`UnaryOp`, `BinaryOp`): an add", header, short))
    header = ["engine", "MLP", "Dovetail µs", "by hand µs", "ratio"]
    print(table("An MLP trained eagerly: a tape against NumPy by hand, and torch's autograd", header, steps))
    header = ["engine", "s", "s with nothing kept", "ratio"]
    print(table("200 batch lengths, four calls of gelu and log_softmax each", header, shapes))


if __name__ == "__main__":
    main()
