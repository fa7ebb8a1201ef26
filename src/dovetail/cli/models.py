"""Models in files, as ways to run them: inputs and outputs by keys."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from dovetail import saved_model
from dovetail.cli import WrongInput
from dovetail.cli.program import KERAS_BACKEND
from dovetail.core.spec import TensorSpec, spec
from dovetail.core.structure import unflatten
from dovetail.edit.graph import Graph
from dovetail.formats.saved import leaves, load
from dovetail.formats.summary.kinds import kind_of
from dovetail.plan.function import Function, function
from dovetail.plan.measured_plan import MeasuredPlan
from dovetail.plan.plan import Plan
from dovetail.plan.traced import TracedFunction


class Way(NamedTuple):
    """A way to run a model.

    Attributes:
        name: of a signature.
        inputs, outputs: key → shape and dtype.
        run: gives the results for the inputs, in order.
        names: all ways to run the model.
    """

    name: str
    inputs: dict[str, TensorSpec]
    outputs: dict[str, TensorSpec]
    run: Callable[..., Sequence[Any]]
    names: Sequence[str]


def way_of(path: Path, name: str | None, outputs: Sequence[str]) -> Way:
    """The way to run the model in a file.

    Args:
        path: a file, or the folder of a SavedModel.
        name: of a signature; None for the main one.
        outputs: keys of the results, or names of tensors; all results of the signature if empty.

    Raises:
        WrongInput: the file has no such signature or output, or no model.
        FormatError: it is damaged.
        ImportError: a library that reads it is not installed.
    """
    kind, file = kind_of(path)
    if kind not in READERS:
        raise WrongInput(f"{str(path)!r} has no model to run ({kind}); `dovetail show {path}` prints its contents.")
    return READERS[kind](file, name, outputs)


def chosen(names: Sequence[str], name: str | None, main: str | None = None) -> str:
    """The signature that is named, or else the main one, or the only one.

    Raises:
        WrongInput: there is no such signature, or there are several and none is named.
    """
    if name is None:
        name = main if main in names else next(iter(names)) if len(names) == 1 else None
    if name is None and names:
        raise WrongInput(f"it has several signatures, so add --signature NAME, one of {', '.join(names)}.")
    if name is None:
        raise WrongInput("it has no signature, so add --outputs NAME, a tensor of its graph.")
    if name not in names:
        raise WrongInput(f"there is no signature {name!r}; there are {', '.join(names) or 'none'}.")
    return name


# -- TensorFlow -------------------------------------------------------------------------------------------------------


def signature_of(model: saved_model.LoadedModel, name: str | None, outputs: Sequence[str]) -> saved_model.Signature:
    """A signature of a model, with some results only; results that are no keys are tensors of its graph.

    Raises:
        WrongInput: there is no such signature or tensor.
    """
    names = list(model.signatures)
    if outputs and (not names or (name is None and not _has(model, names, outputs))):
        try:
            return model.results(*outputs)
        except KeyError as error:
            raise WrongInput(error.args[0]) from None
    found = model.signatures[chosen(names, name, saved_model.SERVING)]
    if outputs:
        try:
            found.keep(*outputs)
        except KeyError as error:
            raise WrongInput(error.args[0]) from None
    return found


def _has(model: saved_model.LoadedModel, names: Sequence[str], outputs: Sequence[str]) -> bool:
    main = saved_model.SERVING if saved_model.SERVING in names else names[0]
    return {*outputs} <= {*model.signatures[main].outputs}


def _of_tensorflow(file: Path, name: str | None, outputs: Sequence[str]) -> Way:
    model = saved_model.load(file.parent if file.stem == "saved_model" else file)
    signature = signature_of(model, name, outputs)
    graph = signature.graph
    return Way(
        signature.name,
        {key: tensor.spec for key, tensor in zip(signature.inputs, graph.inputs, strict=True)},
        {key: tensor.spec for key, tensor in zip(signature.outputs, graph.outputs, strict=True)},
        lambda *values: list(signature(*values).values()),
        list(model.signatures),
    )


# -- Dovetail's own file ----------------------------------------------------------------------------------------------


def graphs_in(value: Any) -> Iterator[tuple[str, Any]]:
    """The functions, graphs and plans in a loaded value, by their places."""
    for place, leaf in leaves(value):
        if isinstance(leaf, (Graph, Function, Plan, MeasuredPlan)):
            yield ".".join(place) or "function", leaf


def _of_own(file: Path, name: str | None, outputs: Sequence[str]) -> Way:
    found = dict(graphs_in(load(file)))
    if not found:
        raise WrongInput(f"{str(file)!r} has no function and no graph; `dovetail show {file}` prints its contents.")
    name = chosen(list(found), name, saved_model.SERVING)
    graph, inputs, results = _traced(found[name])
    for key in outputs:
        if key not in results:
            raise WrongInput(f"{name!r} has no result {key!r}; it has {', '.join(results)}.")
    kept = list(outputs) or results
    graph.outputs = [graph.outputs[results.index(key)] for key in kept]
    run = function(graph)
    return Way(
        name,
        dict(zip(inputs, [tensor.spec for tensor in graph.inputs], strict=True)),
        dict(zip(kept, [tensor.spec for tensor in graph.outputs], strict=True)),
        lambda *values: _listed(run(*values)),
        list(found),
    )


def _traced(found: Any) -> tuple[Graph, list[str], list[str]]:
    """The graph of a function, graph or plan, and the names of its inputs and results."""
    graph = found if isinstance(found, Graph) else found.graphs[-1] if isinstance(found, Function) else found.graph
    inputs, results = [tensor.op.name for tensor in graph.inputs], [tensor.name for tensor in graph.outputs]
    if isinstance(found, TracedFunction):
        recording = found.recordings[-1]
        arguments = unflatten(recording.structure, recording.leaves)
        keywords = sorted(arguments[-1]) if len(arguments) == 2 and type(arguments[-1]) is dict else []
        if keywords and all(type(arguments[-1][key]) is TensorSpec for key in keywords):
            inputs[-len(keywords) :] = keywords
        if type(recording.result) is dict and len(recording.result) == len(results):
            results = sorted(recording.result)
    return graph, inputs, results


def _listed(value: Any) -> list[Any]:
    return list(value) if isinstance(value, (list, tuple)) else [value]


# -- Keras ------------------------------------------------------------------------------------------------------------


def keras_model(file: Path) -> Any:
    """The model in a file of Keras, on Dovetail.

    Raises:
        ImportError: Keras is not installed.
        WrongInput: the file has no model, or Keras cannot make it.
    """
    import_module(KERAS_BACKEND)
    keras: Any = import_module("keras")
    try:
        return keras.models.load_model(file, compile=False)
    except (ValueError, TypeError, KeyError, OSError) as error:
        raise WrongInput(f"Keras cannot make the model of {str(file)!r}: {error}") from None


def _of_keras(file: Path, name: str | None, outputs: Sequence[str]) -> Way:
    model = keras_model(file)
    results = {key: spec(t.shape, t.dtype) for key, t in zip(model.output_names, model.outputs, strict=True)}
    chosen([model.name], name)
    for key in outputs:
        if key not in results:
            raise WrongInput(f"{model.name!r} has no result {key!r}; it has {', '.join(results)}.")

    def run(*values: Any) -> list[Any]:
        found = dict(zip(results, _listed(model.predict_on_batch(list(values))), strict=True))
        return [found[key] for key in outputs or results]

    inputs = {tensor.name: spec(tensor.shape, tensor.dtype) for tensor in model.inputs}
    return Way(model.name, inputs, {key: results[key] for key in outputs or results}, run, [model.name])


READERS: dict[str, Callable[[Path, str | None, Sequence[str]], Way]] = {  # kind of file → the way to run its model
    "SavedModel": _of_tensorflow,
    "GraphDef": _of_tensorflow,
    "MetaGraphDef": _of_tensorflow,
    "Dovetail's own file, safetensors": _of_own,
    "Keras model": _of_keras,
    "HDF5": _of_keras,
}
