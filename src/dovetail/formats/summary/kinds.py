"""The kinds of files that can be summarised.  A kind is recognised by the contents of a file, not by its name."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from fnmatch import fnmatch
from pathlib import Path
from typing import Any, NamedTuple

from dovetail.core.base.errors import FormatError
from dovetail.formats.outside import outside
from dovetail.formats.summary.arrays import is_npz, of_npz
from dovetail.formats.summary.base import Summary
from dovetail.formats.summary.checkpoints import INDEX, is_bundle, is_state, of_bundle, of_state
from dovetail.formats.summary.graphs import (
    graphs_of,
    is_graph,
    is_meta_graph,
    is_saved_model,
    of_graph,
    of_meta_graph,
    of_saved_model,
)
from dovetail.formats.summary.keras import is_hdf5, is_keras, is_metadata, of_hdf5, of_keras, of_metadata
from dovetail.formats.summary.onnx import is_onnx, of_onnx
from dovetail.formats.summary.own import is_safetensors, of_safetensors
from dovetail.formats.summary.records import is_records, of_records
from dovetail.formats.summary.source import Source, opened


class Kind(NamedTuple):
    """A kind of file.

    Attributes:
        name: for users.
        fits: whether a file is of this kind, by its first or last bytes.
        summarize: makes the summary of such a file.
        names: patterns of the names of such files; they tell the kind if the contents do not.
    """

    name: str
    fits: Callable[[Source], bool]
    summarize: Callable[[Source], Summary]
    names: tuple[str, ...]


KINDS = (
    Kind("Dovetail's own file, safetensors", is_safetensors, of_safetensors, ("*.safetensors",)),
    Kind("npz", is_npz, of_npz, ("*.npz",)),
    Kind("Keras model", is_keras, of_keras, ("*.keras",)),
    Kind("HDF5", is_hdf5, of_hdf5, ("*.h5", "*.hdf5")),
    Kind("Keras 2 metadata", is_metadata, of_metadata, ("keras_metadata.pb",)),
    Kind("TensorFlow checkpoint", is_bundle, of_bundle, ("*.index",)),
    Kind("state of checkpoints", is_state, of_state, ("checkpoint",)),
    Kind("ONNX model", is_onnx, of_onnx, ("*.onnx",)),
    Kind("SavedModel", is_saved_model, of_saved_model, ("saved_model.pb", "saved_model.pbtxt")),
    Kind("GraphDef", is_graph, of_graph, ("*.pb", "*.pbtxt")),
    Kind("MetaGraphDef", is_meta_graph, of_meta_graph, ("*.meta",)),
    Kind("TFRecord, event file", is_records, of_records, ("*.tfrecord*", "*tfevents*")),
)
IN_FOLDERS = "saved_model.pb", "saved_model.pbtxt", "checkpoint"  # the files of which a folder is shown
SHARD = re.compile(r"\.data-\d{5}-of-\d{5}$")


def summarize(path: str | os.PathLike[str]) -> Summary:
    """The contents of a file as plain data.  Weights are not read, and nothing is executed.

    Args:
        path: a file, the folder of a SavedModel or of checkpoints, or the prefix of a checkpoint.

    Raises:
        FormatError: the file is damaged, or of no kind that is known.
        ImportError: a library that reads this kind of file is not installed.
        OSError: the file cannot be read.

    Example:
        >>> import dovetail as dt
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     dt.save({"w": dt.Variable([1.0, 2.0])}, f"{folder}/model")
        ...     found = summarize(f"{folder}/model")
        >>> found.kind, found.tables[-1].title, found.tables[-1].rows
        ("Dovetail's own file", 'variables', [('w', 'float32', (2,), 2, 8)])
    """
    with opened(_file(Path(path))) as source:
        kind = _kind(source)
        try:
            return kind.summarize(source)
        except RecursionError:
            raise FormatError(source.path, "the contents", "parts that are nested too deeply", "some levels") from None


def kind_of(path: str | os.PathLike[str]) -> tuple[str, Path]:
    """The kind of a file, by its name in `KINDS`, and the file: of a folder, the one that tells its kind.

    Raises:
        FormatError: the file is of no kind that is known.
        OSError: it cannot be read.

    Example:
        >>> kind_of("tests/formats/tensorflow/models/frozen.pb")[0]
        'GraphDef'
    """
    file = _file(Path(path))
    with opened(file) as source:
        return _kind(source).name, file


def foreign_graphs(path: str | os.PathLike[str]) -> dict[str, Any] | None:
    """The messages `GraphDef` in a file of TensorFlow's, by names; None for files of other kinds.

    Raises:
        FormatError, ImportError, OSError: as for `summarize`.
    """
    with opened(_file(Path(path))) as source:
        return graphs_of(source) if _kind(source).summarize in (of_graph, of_meta_graph, of_saved_model) else None


def _file(path: Path) -> Path:
    """The file that a path names: itself, a file in a folder, or the index of a checkpoint."""
    if path.is_dir():
        file = next((path / name for name in IN_FOLDERS if (path / name).is_file()), None)
        if file is None:
            raise FormatError(path, "the folder", "no such file", f"one of {', '.join(IN_FOLDERS)}")
        return file
    index = Path(SHARD.sub("", os.fspath(path)) + INDEX)
    if index.is_file() and (not path.exists() or SHARD.search(path.name)):
        return index
    if not path.exists():
        raise FileNotFoundError(f"there is no file {os.fspath(path)!r}.")
    return path


def _kind(source: Source) -> Kind:
    fitting = next((kind for kind in KINDS if kind.fits(source)), None)
    named = fitting or next(
        (kind for kind in KINDS if any(fnmatch(source.path.name.lower(), name) for name in kind.names)), None
    )
    if named is None:
        if advice := outside(source.path):
            raise FormatError(source.path, "the file", advice, "a file that Dovetail reads")
        actual = f"the bytes {bytes(source.data[:8])!r}" if source.size else "nothing, the file is empty"
        needed = f"a file of one of these kinds: {'; '.join(kind.name for kind in KINDS)}"
        raise FormatError(source.path, "the beginning", actual, needed)
    return named
