"""Calls of the models of `models/`: what TensorFlow was given, and what it computed, in a file `NAME.npz`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np

FOLDER = Path(__file__).parent / "models"
ENDINGS = (".pb", ".pbtxt", ".meta", "")
BFLOAT16 = np.dtype(ml_dtypes.bfloat16)  # NumPy's files have no such dtype, so its numbers are kept as float32


@dataclass
class Call:
    """A call of a model, or of a signature.

    Attributes:
        signature: its name; empty for the model itself.
        inputs: by position or by key.
        results: by key; by "" if there is one.
    """

    signature: str
    inputs: Any
    results: dict[str, np.ndarray]


@dataclass
class Known:
    """The calls of a model in order, and gradients of the first one.

    Attributes:
        calls: in the order in which they were made.
        gradients: pairs of a variable's value and the gradient of the sum of the squares of the first call's results.
    """

    calls: list[Call]
    gradients: list[tuple[np.ndarray, np.ndarray]] = field(default_factory=list)


def write_calls(path: Path, known: Known) -> None:
    """Write the file: `x0` and `y` are of the first call, `.1/x0` of the second, `look_up.2/y.words` of a signature."""
    arrays = {}
    for number, call in enumerate(known.calls):
        keys = call.inputs if isinstance(call.inputs, Mapping) else dict(enumerate(call.inputs))
        named = {f"x{key}" if isinstance(key, int) else f"x.{key}": value for key, value in keys.items()}
        named |= {f"y.{key}" if key else "y": value for key, value in call.results.items()}
        prefix = f"{call.signature}.{number}/" if number or call.signature else ""
        arrays |= {prefix + name: value for name, value in named.items()}
    for number, pair in enumerate(known.gradients):
        arrays |= {f"gradients/{letter}{number}": value for letter, value in zip("wg", pair, strict=True)}
    numbers = {name: np.asarray(value) for name, value in arrays.items()}
    kept = {np.dtype(object): "S", BFLOAT16: "float32"}
    np.savez_compressed(
        path, **{name: value.astype(kept.get(value.dtype, value.dtype)) for name, value in numbers.items()}
    )


def read_calls(path: Path) -> Known:
    """Read such a file."""
    found, calls, gradients = np.load(path), dict[str, Call](), list[tuple[np.ndarray, np.ndarray]]()
    for name in found.files:
        prefix, _, key = name.rpartition("/")
        if prefix == "gradients":
            if key.startswith("g"):
                gradients.append((found[f"{prefix}/w{key[1:]}"], found[name]))
            continue
        call = calls.setdefault(prefix, Call(prefix.partition(".")[0], {}, {}))
        place = call.inputs if key.startswith("x") else call.results
        place[key[1:].removeprefix(".")] = found[name]
    for call in calls.values():
        if all(key.isdecimal() for key in call.inputs):
            call.inputs = tuple(call.inputs[str(number)] for number in range(len(call.inputs)))
    return Known(list(calls.values()), gradients)


def models(folder: Path) -> Iterator[tuple[str, Path, Known]]:
    """The models of a folder: their names, paths and calls."""
    for known in sorted(folder.glob("*.npz")):
        paths = (known.with_suffix(ending) for ending in ENDINGS)
        yield known.stem, next(path for path in paths if path.exists()), read_calls(known)


def difference(found: np.ndarray, expected: np.ndarray) -> float:
    """The largest difference, by the largest number, but by 1 at least; infinite for another shape or dtype."""
    if found.shape != expected.shape:
        return float("inf")
    if expected.dtype.kind in "SO":
        return 0.0 if np.array_equal(found, expected.astype(found.dtype)) else float("inf")
    gap = np.abs(found.astype("float64") - expected.astype("float64"))
    return float((gap / np.maximum(1, np.abs(expected).max(initial=0))).max(initial=0))


def plain(value: Any) -> np.ndarray:
    """The array of a tensor; strings are in an array already."""
    return value if isinstance(value, np.ndarray) else np.asarray(value.numpy())
