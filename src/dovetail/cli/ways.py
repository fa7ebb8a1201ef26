"""Ways to run models: inputs and outputs by keys, and a function."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from dovetail.cli import WrongInput
from dovetail.cli.forms import Layers, Model, classes_of, read, signature_of
from dovetail.core.values.spec import spec


class Way(NamedTuple):
    """A way to run a model.

    Attributes:
        name: of a signature.
        inputs, outputs: key → shape and dtype, which is None for strings.
        run: gives the results for the inputs, in order.
        names: all ways to run the model.
    """

    name: str
    inputs: dict[str, Any]
    outputs: dict[str, Any]
    run: Callable[..., Sequence[Any]]
    names: Sequence[str]


def way_of(path: Path, name: str | None, outputs: Sequence[str], imports: Sequence[str] = ()) -> Way:
    """The way to run the model in a file.

    Args:
        path: a file, or the folder of a SavedModel.
        name: of a signature; None for the main one.
        outputs: keys of the results, or names of tensors; all results of the signature if empty.
        imports: Python files with the classes of a model of Keras.

    Raises:
        WrongInput: the file has no such signature or output, or no model.
        FormatError: it is damaged.
        ImportError: a library that reads it is not installed.
    """
    contents = read(path, classes=classes_of(imports))
    if type(contents) not in WAYS:
        raise WrongInput(f"{str(path)!r} has arrays and no model to run; `dovetail show {path}` prints them.")
    return WAYS[type(contents)](contents, name, outputs)


def _of_model(model: Model, name: str | None, outputs: Sequence[str]) -> Way:
    signature = signature_of(model, name, outputs)
    return Way(
        signature.name,
        signature.input_specs,
        signature.output_specs,
        lambda *values: list(signature(*values).values()),
        list(model.signatures),
    )


def _of_layers(layers: Layers, name: str | None, outputs: Sequence[str]) -> Way:
    model = layers.model
    if not hasattr(model, "output_names"):  # Sequential has no names for its results
        model = import_module("keras").Model(model.inputs, model.outputs, name=model.name)
    results = {key: spec(t.shape, t.dtype) for key, t in zip(model.output_names, model.outputs, strict=True)}
    wrong = [key for key in outputs if key not in results]
    if name not in (None, model.name) or wrong:
        problem = f"a model of Keras has no signatures and the results {', '.join(results)}"
        raise WrongInput(f"{problem}, not {wrong[0] if wrong else name!r}: dovetail convert it to a SavedModel.")
    kept = list(outputs) or list(results)

    def run(*values: Any) -> list[Any]:
        predicted = model.predict_on_batch(list(values))
        named = dict(zip(results, predicted if isinstance(predicted, list) else [predicted], strict=True))
        return [named[key] for key in kept]

    inputs = {tensor.name: spec(tensor.shape, tensor.dtype) for tensor in model.inputs}
    return Way(model.name, inputs, {key: results[key] for key in kept}, run, [model.name])


WAYS: dict[type, Callable[[Any, str | None, Sequence[str]], Way]] = {Model: _of_model, Layers: _of_layers}
