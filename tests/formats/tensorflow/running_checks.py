"""Run the models of `models/` where importing TensorFlow, Keras or ONNX raises; it prints what it found as JSON.

    python -m tests.formats.tensorflow.running_checks FOLDER numpy torch jax

For each model and engine it prints the largest difference of a result, by the largest number in it, or the error.  For
the first engine it also prints the number of nodes, and the largest difference of gradients.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

BARRED = ("tensorflow", "keras", "tf_keras", "onnx")


class Barred:
    """A finder that refuses some libraries."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> None:
        if name.partition(".")[0] in BARRED:
            raise ImportError(f"{name} is barred")


sys.meta_path.insert(0, Barred())  # type: ignore[arg-type]

import numpy as np

import dovetail as dt
from dovetail import ops, saved_model
from tests.formats.tensorflow.calls import Call, Known, difference, models, plain


def called(model: Any, path: Path, call: Call) -> dict[str, Any]:
    """The tensors of a call, by key."""
    if path.is_file():
        found = model.results(*call.results)(**call.inputs)
    elif isinstance(call.inputs, dict):
        found = model.signatures[call.signature or "serving_default"](**call.inputs)
    else:
        found = model(*call.inputs)
    if isinstance(found, (list, tuple)):
        found = dict(enumerate(found))
    return {str(key): value for key, value in (found if isinstance(found, dict) else {"": found}).items()}


def of_calls(path: Path, known: Known) -> float:
    """The largest difference of a model's calls."""
    model, gaps = saved_model.load(path), [0.0]
    for call in known.calls:
        found = called(model, path, call)
        if not call.signature and not path.is_file() and isinstance(call.inputs, dict) and len(call.results) == 1:
            found = dict(zip(call.results, found.values(), strict=True))  # TensorFlow's signatures number it
        assert found.keys() == call.results.keys(), f"the results {[*found]}, not {[*call.results]}"
        gaps += [difference(plain(found[key]), call.results[key]) for key in found]
    return max(gaps)


def of_gradients(path: Path, known: Known) -> float:
    """The largest difference of the gradients of a model's first call."""
    model, gaps = saved_model.load(path), [0.0]
    with dt.GradientTape() as tape:
        found = called(model, path, known.calls[0])
        numbers = [value for value in found.values() if not isinstance(value, np.ndarray)]
        loss = sum(ops.sum(ops.square(ops.cast(value, "float32"))) for value in numbers)
    variables = [variable for variable in model.variables if variable.dtype.is_floating]
    for variable, gradient in zip(variables, tape.gradient(loss, variables), strict=True):
        expected = [g for w, g in known.gradients if w.shape == variable.shape and np.array_equal(w, variable.numpy())]
        if expected and gradient is not None:
            gaps.append(difference(plain(gradient), expected[0]))
    assert len(gaps) == 1 + len(known.gradients), f"{len(gaps) - 1} gradients, not {len(known.gradients)}"
    return max(gaps)


def opened(path: Path) -> float:
    """Open a model, and list its nodes; the number of nodes in its signatures."""
    model = saved_model.load(path)
    nodes = [node for signature in model.signatures.values() for node in signature.graph.operations]
    for node in nodes:
        assert node.type and all(output.dtype is not None for output in node.outputs), node
    return len(nodes)


def main(folder: str, *engines: str) -> None:
    found: dict[str, Any] = {}
    checks = [("opened", engines[0], opened), *(("calls", engine, of_calls) for engine in engines)]
    for name, path, known in models(Path(folder)):
        own = [("gradients", engines[0], of_gradients)] if known.gradients else []
        for check, engine, function in [*checks, *own]:
            try:
                with dt.engine(engine):
                    value = function(path, known) if function is not opened else function(path)
            except Exception as error:
                value = f"{type(error).__name__}: {error}"
            found[f"{name} {check} on {engine}"] = value
    print(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
