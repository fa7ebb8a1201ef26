"""The writers of files, by the ends of their names and by what is written."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

import dovetail as dt
from dovetail.cli import WrongInput
from dovetail.cli.forms import Arrays, Layers, Model, forms_of, signature_of
from dovetail.cli.npz import write_npz
from dovetail.cli.progress import tracked
from dovetail.core.base.errors import FormatError
from dovetail.formats import safetensors
from dovetail.formats.outside import outside
from dovetail.formats.tensorflow.saved_model import GRAPH
from dovetail.formats.wire.bundle import exists, write_bundle
from dovetail.onnx.saving import write as write_onnx
from dovetail.saved_model import Signature
from dovetail.saved_model.saving import endpoint_of
from dovetail.saved_model.signatures import SERVING

FOLDER, INDEX = "", ".index"
FORMS = (Layers, Model, Arrays)  # each can be made of the ones before it
NAMES = {Layers: "layers of Keras", Model: "a model", Arrays: "arrays"}


def ending(path: Path) -> str:
    """The end of a name that says how a file is written; none for a folder.

    Raises:
        WrongInput: no file with such a name is written.
    """
    suffix = next((end for end in sorted(WRITERS, key=len, reverse=True) if path.name.endswith(end)), FOLDER)
    if suffix != FOLDER or not path.suffix or path.is_dir():
        return suffix
    advice = outside(path) or f"the name says no kind of file: end it in {', '.join(filter(None, WRITERS))}, or nothing"
    raise WrongInput(f"{str(path)!r} cannot be written: {advice}.")


def write(value: Any, path: Path, opset: int | None = None) -> None:
    """Write a file or a folder, which replaces an old one as a whole.

    Args:
        value: `Layers`, `Model` or `Arrays`; lower forms are made of it if need be.
        path: the end of the name says the kind of file.
        opset: the version of ONNX's operators, for its files.

    Raises:
        WrongInput: such a file holds something else, or the format has no words for an operation.
        OSError: it cannot be written.
    """
    writers, options = WRITERS[ending(path)], {} if opset is None else {"opset": opset}
    if options and ending(path) != ".onnx":
        raise WrongInput(f"--opset is for files of ONNX, and {str(path)!r} is none.")
    if FORMS.index(type(value)) > max(map(FORMS.index, writers)):
        needed = " or ".join(NAMES[form] for form in writers)
        raise WrongInput(f"{str(path)!r} holds {needed}, which cannot be made of {NAMES[type(value)]}.")
    if ending(path) != FOLDER and not path.parent.is_dir():
        raise WrongInput(f"{str(path)!r} cannot be written: there is no folder {str(path.parent)!r}; make it first.")
    try:
        form = next(form for form in forms_of(value) if type(form) in writers)
        writers[type(form)](form, path, **options)
    except (FormatError, WrongInput):
        raise
    except (ArithmeticError, LookupError, NotImplementedError, TypeError, ValueError) as error:
        raise WrongInput(f"{str(path)!r} cannot be written: {error or type(error).__name__}") from error


def is_there(path: Path) -> bool:
    """Whether writing to a path would replace something."""
    return exists(_prefix(path)) if ending(path) in (INDEX, ".ckpt") else path.exists()


# -- models -----------------------------------------------------------------------------------------------------------


def _named(model: Model) -> dict[str, Signature]:
    """The signatures by name; that of a frozen graph, which has none, is `serving_default`."""
    return {SERVING if name == GRAPH else name: signature for name, signature in model.signatures.items()}


def _folder(model: Model, path: Path) -> None:
    if model.is_whole:
        dt.saved_model.save(model.loaded, path)
    else:
        dt.saved_model.save(_named(model), path, _named(model))


def _exported(layers: Layers, path: Path) -> None:
    layers.model.export(path, verbose=False)


def _own(model: Model, path: Path) -> None:
    dt.save({name: signature.as_function() for name, signature in _named(model).items()}, path)


def _frozen(model: Model, path: Path) -> None:
    dt.saved_model.save(signature_of(model, None, []), path)


def _onnx(model: Model, path: Path, opset: int | None = None) -> None:
    one, source = signature_of(model, None, []), model.source
    is_same = source is not None and (one.graph, one.inputs, one.outputs) == (
        source.graph,
        source.inputs,
        source.outputs,
    )
    if source is not None and is_same and source.is_unedited:
        dt.onnx.save(source, path, opset)
        return
    endpoint = endpoint_of(one, "onnx.save")
    write_onnx(endpoint.inputs, endpoint.outputs, path, opset, source=source)


def _onnx_of_keras(layers: Layers, path: Path, opset: int | None = None) -> None:
    with _beside(path) as temporary:
        options = {} if opset is None else {"opset_version": opset}
        layers.model.export(temporary, format="onnx", verbose=False, **options)


# -- layers and arrays ------------------------------------------------------------------------------------------------


def _keras(layers: Layers, path: Path) -> None:
    with _beside(path) as temporary:
        layers.model.save(temporary)


def _weights(layers: Layers, path: Path) -> None:
    with _beside(path) as temporary:
        layers.model.save_weights(temporary)


@contextmanager
def _beside(path: Path) -> Iterator[Path]:
    """A name in the same folder for a file that replaces another one at the end."""
    end = ending(path)
    temporary = path.with_name(f".{path.name.removesuffix(end)}.{secrets.token_hex(8)}{end}")
    try:
        yield temporary
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _npz(arrays: Arrays, path: Path) -> None:
    write_npz(path, _read(arrays))


def _safetensors(arrays: Arrays, path: Path) -> None:
    safetensors.write(path, _read(arrays), {})


def _bundle(arrays: Arrays, path: Path) -> None:
    write_bundle(_prefix(path), _read(arrays, strings=True))


def _read(arrays: Arrays, strings: bool = False) -> dict[str, np.ndarray]:
    """The arrays, read one after the other; strings, which most formats lack, are left out."""
    read = {name: arrays.values[name] for name in tracked(arrays.values, "reading")}
    return {name: array for name, array in read.items() if strings or not array.dtype.hasobject}


def _prefix(path: Path) -> str:
    return str(path).removesuffix(INDEX)


WRITERS: dict[str, dict[type, Callable[..., None]]] = {  # end of the name → form → writer
    FOLDER: {Layers: _exported, Model: _folder},
    ".pb": {Model: _frozen},
    ".pbtxt": {Model: _frozen},
    ".onnx": {Layers: _onnx_of_keras, Model: _onnx},
    ".safetensors": {Model: _own, Arrays: _safetensors},
    ".keras": {Layers: _keras},
    ".h5": {Layers: _keras},
    ".weights.h5": {Layers: _weights},
    ".npz": {Arrays: _npz},
    INDEX: {Arrays: _bundle},
    ".ckpt": {Arrays: _bundle},
}
