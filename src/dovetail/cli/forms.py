"""The forms of what files have, and their readers: layers of Keras, a model with signatures, or arrays by name."""

from __future__ import annotations

import argparse
import re
import zlib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType
from typing import Any, NamedTuple
from zipfile import BadZipFile, ZipFile, is_zipfile

import numpy as np

from dovetail import onnx, saved_model
from dovetail.choose.measured_plan import MeasuredPlan
from dovetail.cli import WrongInput
from dovetail.cli.inputs import module_of
from dovetail.cli.program import KERAS_BACKEND
from dovetail.core.base.errors import FormatError
from dovetail.core.tensor import Tensor
from dovetail.core.values.spec import TensorSpec
from dovetail.core.values.structure import unflatten
from dovetail.core.values.variable import Variable
from dovetail.edit.graph import Graph
from dovetail.execute.plan import Plan
from dovetail.formats.saved import leaves, load
from dovetail.formats.summary.kinds import kind_of
from dovetail.formats.tensorflow.saved_model import read_of
from dovetail.formats.wire.bundle import Bundle
from dovetail.functions.function import Function
from dovetail.functions.function_files import TracedFunction
from dovetail.saved_model import LoadedModel, Signature
from dovetail.saved_model.signatures import SERVING


class Layers(NamedTuple):
    """A model of Keras."""

    model: Any


class Model(NamedTuple):
    """A model with signatures.

    Attributes:
        signatures: by name.
        loaded: the model of TensorFlow's file, whose other tensors can be results; None of Dovetail's own file, and if
            the model is no longer that of its file.
        is_whole: whether the file is a SavedModel, which is saved again with all that it has.
        source: the model of ONNX that it was.
    """

    signatures: Mapping[str, Signature]
    loaded: LoadedModel | None = None
    is_whole: bool = False
    source: onnx.LoadedModel | None = None


class Arrays(NamedTuple):
    """Arrays by name."""

    values: Mapping[str, np.ndarray]


def read(
    path: Path, wanted: Collection[type] = (), shapes: Sequence[str] = (), classes: Mapping[str, Any] | None = None
) -> Any:
    """What a file has, as `Layers`, `Model` or `Arrays`.

    Args:
        path: the file or folder.
        wanted: the forms that are wanted, for kinds of files that can be read in several.
        shapes: texts KEY=1,3,none with the shapes of inputs, for models of TensorFlow and ONNX.
        classes: name → class or function of the user's, for models of Keras; see `classes_of`.

    Raises:
        WrongInput: it has none of them.
        FormatError: it is damaged, or of no kind that is known.
        ImportError: a library that reads it is not installed.
    """
    kind, file = kind_of(path)
    if kind not in READERS:
        problem = f"{str(path)!r} has no model and no arrays ({kind})"
        raise WrongInput(f"{problem}; `dovetail show {path}` prints its contents.")
    readers = READERS[kind]
    reader = next((readers[form] for form in readers if form in wanted), next(iter(readers.values())))
    if reader in (_tensorflow, _onnx):
        return reader(file, dict(map(_shape, shapes)))
    if shapes:
        raise WrongInput(f"--shape is for models of TensorFlow and ONNX, and {str(path)!r} is {kind}.")
    return reader(file, classes or {}) if reader is _keras else reader(file)


def model_of(options: argparse.Namespace) -> Model:
    """The model in the file of a command line, one of Keras with the signature by which it is served.

    Raises:
        WrongInput, FormatError, ImportError: as for `read`; or the file has no model.
    """
    contents = read(Path(options.path), (), options.shape, classes_of(options.imports))
    if isinstance(contents, Arrays):
        advice = "name a file of a model, or a function, file.py:function"
        raise WrongInput(f"{options.path!r} has arrays, so it has no signatures: {advice}.")
    return next(form for form in forms_of(contents) if isinstance(form, Model))


def classes_of(files: Sequence[str]) -> dict[str, Any]:
    """The classes and functions of the files that `--import` names, by name, for models that were made with them.

    Raises:
        FileNotFoundError: there is no such file.
    """
    modules = map(module_of, files)
    return {name: value for module in modules for name, value in vars(module).items() if _is_own(value, module)}


def _is_own(value: Any, module: ModuleType) -> bool:
    """Whether a module defines a class or a function, and does not only import it."""
    return callable(value) and getattr(value, "__module__", None) == module.__name__


def _shape(text: str) -> tuple[str, tuple[int | None, ...]]:
    key, equals, sizes = text.rpartition("=")
    try:
        shape = tuple(None if size.strip() in ("none", "?") else int(size) for size in sizes.split(",") if size)
    except ValueError:
        equals = ""
    if not equals:
        raise WrongInput(f"{text!r} is no shape: write KEY=1,3,224,224, with none for sizes that are not known.")
    return key, shape


# -- readers ----------------------------------------------------------------------------------------------------------


def _tensorflow(file: Path, shapes: Mapping[str, Any]) -> Model:
    is_whole = file.stem == "saved_model"
    loaded = _told(saved_model.load, file.parent if is_whole else file, None, shapes)
    return Model(loaded.signatures, loaded, is_whole)


def _onnx(file: Path, shapes: Mapping[str, Any]) -> Model:
    loaded = _told(onnx.load, file, shapes)
    return Model({SERVING: _told(lambda: loaded.signature)}, source=loaded)


def _own(file: Path) -> Model | Arrays:
    members = list(leaves(load(file)))
    programs = {".".join(place) or "function": leaf for place, leaf in members if isinstance(leaf, PROGRAMS)}
    if programs:
        return Model({name: _signature(name, leaf) for name, leaf in programs.items()})
    arrays = {
        ".".join(place) or "value": np.asarray(leaf)
        for place, leaf in members
        if isinstance(leaf, (Tensor, Variable, np.ndarray))
    }
    if not arrays:
        raise WrongInput(f"{str(file)!r} has no function, graph or array; `dovetail show {file}` prints its contents.")
    return Arrays(arrays)


PROGRAMS = (Graph, Function, Plan, MeasuredPlan)


def _signature(name: str, found: Any) -> Signature:
    """A function, graph or plan of a file as a signature."""
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
    return Signature(name, read_of(graph, inputs, results))


def _npz(file: Path) -> Arrays:
    try:
        with np.load(file, allow_pickle=False) as archive:
            return Arrays(dict(archive))
    except (BadZipFile, EOFError, OSError, ValueError, zlib.error) as error:
        raise FormatError(file, "the archive", f"{type(error).__name__}: {error}", "an .npz of arrays, whole") from None


def _bundle(file: Path) -> Arrays:
    return Arrays(Bundle(str(file).removesuffix(".index")))


def _keras(file: Path, classes: Mapping[str, Any]) -> Layers:
    file = file.parent if file.stem == "saved_model" else file
    import_module(KERAS_BACKEND)
    keras: Any = import_module("keras")
    try:
        _import_demo(file)
        model = keras.models.load_model(file, custom_objects=dict(classes), compile=False)
    except (ValueError, TypeError, KeyError, OSError) as error:
        if missing := UNKNOWN.search(f"{error} {error.__cause__}"):
            problem = f"{str(file)!r} has {missing['name']!r}, a class or function that Keras does not know"
            raise WrongInput(f"{problem}: add --import with the Python file that defines it.") from None
        if isinstance(error, FormatError):
            raise
        raise WrongInput(f"Keras cannot make the model of {str(file)!r}: {error}") from None
    if isinstance(model, keras.layers.TFSMLayer) or any(
        isinstance(one, keras.layers.TFSMLayer) for one in model.layers
    ):
        raise WrongInput(f"{str(file)!r} has a graph, whose layers are not known: convert it to a SavedModel or a .pb.")
    return Layers(model)


# Errors of Keras, and of files of Keras 1 and 2, about a class that they do not know.
UNKNOWN = re.compile(r"(?:[Cc]ould not locate (?:class|function)|[Uu]nknown \w+:|found the class) '?(?P<name>\w+)")


def _import_demo(file: Path) -> None:
    """Import the classes of `dovetail demo`, which its model needs; all other classes are the user's to import."""
    if is_zipfile(file):
        with ZipFile(file) as archive:
            if b'"dovetail.demo>' in archive.read("config.json"):
                import_module(f"{KERAS_BACKEND}.demo.model")


OWN = "Dovetail's own file, safetensors"

READERS: dict[str, dict[type, Callable[..., Any]]] = {  # kind of file → form → reader; the first one is usual
    "SavedModel": {Model: _tensorflow, Layers: _keras},
    "GraphDef": {Model: _tensorflow},
    "MetaGraphDef": {Model: _tensorflow},
    "ONNX model": {Model: _onnx},
    OWN: {Model: _own},
    "Keras model": {Layers: _keras},
    "HDF5": {Layers: _keras},
    "npz": {Arrays: _npz},
    "TensorFlow checkpoint": {Arrays: _bundle},
}


# -- from form to form ------------------------------------------------------------------------------------------------


def _exported(layers: Layers) -> Model:
    """A model of Keras with the signature by which it is served."""
    with TemporaryDirectory() as folder:
        layers.model.export(folder, verbose=False)
        loaded = saved_model.load(folder)
        return Model(dict(loaded.signatures))  # read before the folder is removed


def _variables(model: Model) -> Arrays:
    """The variables of a model, by name."""
    arrays: dict[str, np.ndarray] = {}
    for signature in model.signatures.values():
        for operation in signature.graph.find("ReadVariableOp"):
            arrays[operation.attrs["variable"].name] = operation.attrs["variable"].numpy()
    if not arrays:
        raise WrongInput("no signature of the model reads a variable; the .index of a checkpoint can be converted.")
    return Arrays(arrays)


LOWER: dict[type, Callable[[Any], Any]] = {Layers: _exported, Model: _variables}


def forms_of(value: Any) -> Iterator[Any]:
    """A value, and the lower forms that can be made of it, each made when it is asked for."""
    yield value
    while type(value) in LOWER:
        value = LOWER[type(value)](value)
        yield value


# -- one signature ----------------------------------------------------------------------------------------------------


def signature_of(model: Any, name: str | None, outputs: Sequence[str]) -> Signature:
    """A signature of a model, with some results only; they may be tensors of its graph.

    Args:
        model: a `Model`.
        name: of the signature; None for `serving_default`, or the only one.
        outputs: keys of results, or names of tensors; all results if empty.

    Raises:
        WrongInput: there is no such signature or tensor, or there are several signatures and none is named.
    """
    if not isinstance(model, Model):
        raise WrongInput("it has no signatures: they are in models of TensorFlow, and in files of dt.save.")
    names = list(model.signatures)
    if not names and outputs and model.loaded is not None:
        return _told(model.loaded.results, *outputs)
    signature = model.signatures[_chosen(names, name)]
    if outputs:
        _told(signature.keep, *outputs)
    return signature


def _chosen(names: Sequence[str], name: str | None) -> str:
    if name is None:
        name = SERVING if SERVING in names else names[0] if len(names) == 1 else None
    if name is None and names:
        raise WrongInput(f"it has several signatures, so add --signature NAME, one of {', '.join(names)}.")
    if name is None:
        raise WrongInput("it has no signature, so add --outputs NAME, a tensor of its graph.")
    if name not in names:
        raise WrongInput(f"there is no signature {name!r}; there are {', '.join(names) or 'none'}.")
    return name


def _told(function: Callable[..., Any], *args: Any) -> Any:
    """The result of a call, whose errors about names are the user's."""
    try:
        return function(*args)
    except FormatError:
        raise
    except (KeyError, ValueError) as error:
        raise WrongInput(error.args[0]) from None
