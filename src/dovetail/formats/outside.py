"""Advice for files that a reader does not read: the reader of their kind, or what to use if Dovetail has none."""

from __future__ import annotations

import functools
import os
import zipfile
from collections.abc import Callable
from fnmatch import fnmatch
from pathlib import Path
from typing import Any, Concatenate, NamedTuple, ParamSpec, TypeAlias, TypeVar

from dovetail.core.base.errors import FormatError

EXPORT = "`torch.onnx.export` writes the module as ONNX, which `dt.onnx.load` reads"
OUTSIDE = {  # patterns of the names of files that Dovetail does not read → what to use
    "*.tflite": "a model of LiteRT (TensorFlow Lite), which `ai-edge-litert` runs: take the SavedModel it was made of, "
    "or write ONNX, of which `emx-onnx-cgen` makes C",
    "model.json": "a model of TensorFlow.js: `tensorflowjs_converter` makes a SavedModel of it",
    "*.mlmodel": "a model of Core ML, which `coremltools` reads: take the model it was made of",
    "*.mlpackage": "a model of Core ML, which `coremltools` reads: take the model it was made of",
    "*.pt2": f"a program of torch.export: {EXPORT}",
    "*.pt": f"a file of PyTorch: {EXPORT}",
    "*.pth": f"a file of PyTorch: {EXPORT}",
}
STARTS = {  # the first bytes of what stands in place of a file → what to do
    b"version https://git-lfs": "a pointer of Git LFS in place of the file: `git lfs pull` fetches it",
    b"<": "a text like HTML in place of the file: load the file itself down, often by a link `raw` or `resolve`",
}
PARTS = {  # patterns of the parts of an archive of PyTorch → what to use
    "*/constants.pkl": f"a program of TorchScript: {EXPORT}",
    "*/archive_format": f"a program of torch.export: {EXPORT}",
    "*/data.pkl": f"a pickle of PyTorch, which is not read: {EXPORT}, "
    "and `safetensors.torch.save_file` writes weights, which `dt.load` reads",
}


def outside(path: str | os.PathLike[str]) -> str:
    """What to use for a file that Dovetail does not read; empty if nothing of it tells."""
    file = Path(path)
    parts, begin = _contents(file)
    told = (advice for name, advice in PARTS.items() if any(fnmatch(part, name) for part in parts))
    named = (advice for name, advice in OUTSIDE.items() if fnmatch(file.name.lower(), name))
    starting = (advice for start, advice in STARTS.items() if begin.lstrip().startswith(start))
    return next(told, "") or next(starting, "") or next(named, "")


class Reader(NamedTuple):
    """A function that reads a kind of file.

    Attributes:
        name: the function, for users.
        kind: the kind.
        names: patterns of the names of such files.
        parts: a pattern of the parts of such an archive; "" if it is none.
        start: the first bytes of such a file.
    """

    name: str
    kind: str
    names: tuple[str, ...]
    parts: str = ""
    start: bytes = b""


READERS = (
    Reader("dt.load", "safetensors", ("*.safetensors",)),
    Reader("numpy.load", "npz", ("*.npz", "*.npy"), "*.npy", b"\x93NUMPY"),
    Reader("keras.saving.load_model", "Keras model", ("*.keras",), "model.weights.h5"),
    Reader("keras.saving.load_model", "HDF5", ("*.h5", "*.hdf5"), start=b"\x89HDF\r\n"),
    Reader("dt.onnx.load", "ONNX", ("*.onnx",)),
    Reader("dt.saved_model.load", "a graph of TensorFlow", ("*.pb", "*.pbtxt", "*.meta")),
    Reader("tf.train.load_checkpoint", "a checkpoint of TensorFlow", ("*.index", "*.data-*-of-*")),
    Reader("tf.data.TFRecordDataset", "TFRecord", ("*.tfrecord*",)),
)
P = ParamSpec("P")
R = TypeVar("R")
Reading: TypeAlias = Callable[Concatenate[Any, P], R]


def read_by(name: str) -> Callable[[Reading[P, R]], Reading[P, R]]:
    """Let the errors of a function that reads files name the function for a file of another kind.

    Args:
        name: the function's own name, as in `READERS`.
    """

    def decorate(read: Reading[P, R]) -> Reading[P, R]:
        @functools.wraps(read)
        def reading(path: Any, *args: P.args, **kwargs: P.kwargs) -> R:
            try:
                return read(path, *args, **kwargs)
            except FormatError as error:
                is_whole = isinstance(path, (str, os.PathLike)) and error.file == os.fspath(path)  # no part of a model
                other = _reader_of(error.file) if is_whole else None
                if other is None or other.name == name:
                    raise
                kind = f"a file of another kind ({other.kind}), which {other.name} reads"
                raise FormatError(error.file, "the file", kind, f"a file for {name}") from error.__cause__

        return reading

    return decorate


def _reader_of(path: str | os.PathLike[str]) -> Reader | None:
    """The reader of a file, by its parts, its first bytes or its name; None if nothing tells."""
    name, (parts, begin) = Path(path).name.lower(), _contents(Path(path))
    told = (one for one in READERS if one.parts and any(fnmatch(part, one.parts) for part in parts))
    starting = (one for one in READERS if one.start and begin.startswith(one.start))
    named = (one for one in READERS if any(fnmatch(name, pattern) for pattern in one.names))
    return next(told, None) or next(starting, None) or next(named, None)


def _contents(file: Path) -> tuple[list[str], bytes]:
    """The names of the parts of an archive, and the first bytes of a file; nothing of what cannot be read."""
    try:
        parts = list[str]()
        if file.is_file() and zipfile.is_zipfile(file):
            with zipfile.ZipFile(file) as archive:
                parts = archive.namelist()
        with file.open("rb") as opened:
            return parts, opened.read(64)
    except (OSError, ValueError, zipfile.BadZipFile):  # a path that is none, or a damaged archive
        return [], b""
