"""A trained SavedModel of TensorFlow gets a normalization before its output.

The program loads the model without TensorFlow, and finds a tensor by its name.  All consumers of the tensor get the
normalization instead.  The edited model runs on an engine and is saved.  TensorFlow runs it again, if it is installed.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import dovetail as dt
from dovetail import ops


def normalized(t: Any) -> Any:
    """Rows with mean 0 and standard deviation 1."""
    return (t - ops.mean(t, axis=1, keepdims=True)) / (ops.std(t, axis=1, keepdims=True) + 1e-8)


def make(folder: Path) -> None:
    """Save a model with two layers, as somebody who trained it would."""
    random = np.random.default_rng(0)
    layers = {}
    for name, shape in {"dense": (10, 20), "dense_1": (20, 5)}.items():
        kernel = dt.Variable(random.normal(size=shape), "float32", name=f"{name}/kernel")
        layers[name] = kernel, dt.Variable(np.zeros(shape[1], "float32"), name=f"{name}/bias")

    @dt.function(input_signature=[dt.spec((None, 10))])
    def model(inputs: Any) -> Any:
        for name, (kernel, bias) in layers.items():
            inputs = ops.bias_add(ops.matmul(inputs, kernel), bias, name=f"{name}/BiasAdd")
            inputs = ops.relu(inputs) if name == "dense" else inputs
        return inputs

    dt.saved_model.save(model, folder)


def edit(source: Path, target: Path, tensor: str, engine: str) -> dict[str, np.ndarray]:
    """Load a model, normalize a tensor of its graph, run it and save it.

    Returns:
        The input, and the results before and after.
    """
    signature = dt.saved_model.load(source).signatures["serving_default"]
    (taken,) = signature.graph.inputs
    x = np.random.default_rng(1).random((3, *taken.shape[1:])).astype(taken.dtype.numpy)
    with dt.engine(engine):
        before = next(iter(signature(x).values())).numpy()
        signature.graph.insert_after(signature.graph.get_tensor(tensor), normalized)
        after = next(iter(signature(x).values())).numpy()
    dt.saved_model.save(signature, target)
    return {"x": x, "before": before, "after": after}


def in_tensorflow(folder: Path, x: np.ndarray) -> np.ndarray:
    """The result of a saved model in TensorFlow."""
    import tensorflow as tf

    run = tf.saved_model.load(str(folder)).signatures["serving_default"]
    (key,) = run.structured_input_signature[1]
    return next(iter(run(**{key: tf.constant(x)}).values())).numpy()


def main(arguments: Sequence[str] | None = None) -> dict[str, np.ndarray]:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--engine", default="numpy", help="where it runs (default: %(default)s)")
    parser.add_argument("--model", type=Path, help="the folder of a SavedModel (default: a small one that is made)")
    parser.add_argument("--tensor", default="dense_1/BiasAdd:0", help="its tensor to normalize (default: %(default)s)")
    parser.add_argument("--out", type=Path, help="the folder of the edited model (default: a temporary one)")
    options = parser.parse_args(arguments)
    with TemporaryDirectory() as folder:
        source, target = options.model or Path(folder) / "model", options.out or Path(folder) / "edited"
        if options.model is None:
            make(source)
        found = edit(source, target, options.tensor, options.engine)
        if find_spec("tensorflow"):
            found["tensorflow"] = in_tensorflow(target, found["x"])
    for name, array in found.items():
        print(name, array[0].round(3), sep=": ")
    return found


if __name__ == "__main__":
    main()
