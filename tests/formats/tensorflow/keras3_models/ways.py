"""The ways to save a model; each is a decorator that adds a row to the table of models."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

os.environ |= {"KERAS_BACKEND": "tensorflow", "TF_USE_LEGACY_KERAS": "0"}

import keras
import numpy as np
import tensorflow as tf

from tests.formats.tensorflow.calls import Call, Known

v1 = tf.compat.v1
Save = Callable[[Path], Known]
MODELS: dict[str, Save] = {}


def array(*shape: int, low: float = -0.4, high: float = 1.0, dtype: str = "float32") -> np.ndarray:
    """Numbers that are the same in each run."""
    return np.random.RandomState(sum(shape)).uniform(low, high, shape).astype(dtype)


def numbers(*shape: int, below: int, dtype: str = "int32") -> np.ndarray:
    """Integers that are the same in each run."""
    return np.random.RandomState(sum(shape)).randint(0, below, shape).astype(dtype)


def flat(results: Any) -> dict[str, np.ndarray]:
    """The arrays of a result: of a dict by their keys, of a list by their numbers."""
    if isinstance(results, (list, tuple)):
        results = dict(enumerate(results))
    return {
        str(key): np.asarray(value) for key, value in (results if isinstance(results, dict) else {"": results}).items()
    }


def gradients(call: Callable[[], Any], variables: Iterable[Any]) -> list[tuple[np.ndarray, np.ndarray]]:
    """The gradients of the sum of the squares of a result, for each variable."""
    variables = list(variables)

    @tf.function  # without AVX-512, a single call of Conv2DBackpropFilter reads memory that nobody wrote
    def slopes() -> Any:
        with tf.GradientTape() as tape:
            parts = [part for part in tf.nest.flatten(call()) if part.dtype != tf.string]
            loss = tf.add_n([tf.reduce_sum(tf.square(tf.cast(part, "float32"))) for part in parts])
        return tape.gradient(loss, variables)

    pairs = zip(variables, slopes(), strict=True)
    return [(w.numpy(), tf.convert_to_tensor(g).numpy()) for w, g in pairs if g is not None]


def of_keras(
    *inputs: Any, library: Any = keras, calls: int = 1, exported: bool = True
) -> Callable[[Callable[[], Any]], None]:
    """Decorator of a function that gives a model, or its layers; the model is exported, with random weights.

    If not `exported`, `tf.saved_model.save` writes it, with a signature alone.
    """

    def save(make: Callable[[], Any], folder: Path) -> Known:
        library.utils.set_random_seed(0)
        built, random = make(), np.random.RandomState(0)
        model = library.Sequential(built) if isinstance(built, list) else built
        for weight in model.weights:  # also moments, which begin with zeros and ones
            if "seed" not in weight.name and "state" not in weight.name:
                weight.assign(random.uniform(0.1, 0.9, weight.shape))
        path = str(folder / make.__name__)
        if exported:
            model.export(path, verbose=False) if library is keras else model.save(path)
        else:
            tf.saved_model.save(model, path)
        variables = [getattr(weight, "_value", weight) for weight in model.trainable_weights]
        found = gradients(lambda: model(*inputs), variables)
        for layer in model.layers:
            if getattr(layer, "stateful", False):
                layer.reset_state()
        results = [flat(model(*inputs)) for _ in range(calls)]
        if not exported:
            return Known([Call("serving_default", {"inputs": inputs[0]}, {"output_0": results[0][""]})])
        if isinstance(inputs[0], dict):
            return Known([Call("serving_default", inputs[0], results[0])], found)
        return Known([Call("", inputs, result) for result in results], found)

    return lambda make: MODELS.update({make.__name__: lambda folder: save(make, folder)})


def of_module(*inputs: Any, calls: int = 1, **signatures: dict[str, Any]) -> Callable[[Any], None]:
    """Decorator of a class of modules: `__call__` is called with the inputs, and other methods with theirs."""

    def save(make: Any, folder: Path) -> Known:
        name, module = make.__name__.lower(), make()
        functions = {method: getattr(module, method) for method in signatures}
        if inputs and module.__call__.input_signature is not None:
            functions["serving_default"] = module.__call__
        tf.saved_model.save(module, str(folder / name), signatures=functions or None)
        model = tf.saved_model.load(str(folder / name))
        made = [Call("", inputs, flat(model(*inputs))) for _ in range(calls if inputs else 0)]
        for method, given in signatures.items():
            results = model.signatures[method](**{key: tf.constant(value) for key, value in given.items()})
            made.append(Call(method, given, flat(results)))
        return Known(made, gradients(lambda: module(*inputs), module.trainable_variables) if inputs else [])

    return lambda make: MODELS.update({make.__name__.lower(): lambda folder: save(make, folder)})


def of_graph(ending: str, **inputs: Any) -> Callable[[Callable[..., Any]], None]:
    """Decorator of a function of placeholders that builds a graph of TensorFlow 1.

    The endings `pb` and `pbtxt` freeze the graph, `meta` saves it with a checkpoint, and none makes a SavedModel.
    """

    def save(make: Callable[..., Any], folder: Path) -> Known:
        path = folder / make.__name__
        with tf.Graph().as_default() as graph, v1.Session() as session:
            v1.set_random_seed(0)
            shapes = {key: (None, *value.shape[1:]) if value.ndim else () for key, value in inputs.items()}
            given = {key: v1.placeholder(value.dtype, shapes[key], key) for key, value in inputs.items()}
            y = make(**given)
            fill = v1.tables_initializer()
            session.run([v1.global_variables_initializer(), fill])
            definition = graph.as_graph_def()
            if not ending:
                v1.saved_model.simple_save(session, str(path), given, {y.op.name: y}, fill)
            elif ending == "meta":
                v1.train.Saver().save(session, str(path), write_state=False)
            else:
                if v1.global_variables():
                    definition = v1.graph_util.convert_variables_to_constants(session, definition, [y.op.name])
                tf.io.write_graph(definition, str(folder), f"{path.name}.{ending}", as_text=ending == "pbtxt")
            found = {y.op.name: session.run(y, {given[key]: value for key, value in inputs.items()})}
        return Known([Call("", {**inputs}, found)])

    def save_as_once(make: Callable[..., Any], folder: Path) -> Known:
        """Save with the control flow and the variables of TensorFlow 1."""
        v1.disable_control_flow_v2()
        v1.disable_resource_variables()
        try:
            return save(make, folder)
        finally:
            v1.enable_control_flow_v2()
            v1.enable_resource_variables()

    return lambda make: MODELS.update({make.__name__: lambda folder: save_as_once(make, folder)})
