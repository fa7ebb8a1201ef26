"""The kinds of files that can be summarised.  A kind is recognised by the contents of a file, not by its name."""

from __future__ import annotations

import os
import re
from fnmatch import fnmatch
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from dovetail.core.base.errors import FormatError
from dovetail.formats.outside import outside
from dovetail.formats.summary.base import Summary
from dovetail.formats.summary.source import INDEX, Source, opened


class Kind(NamedTuple):
    """A kind of file.

    Attributes:
        name: for users.
        module: the module of this folder with its functions, imported when a file may be of the kind.
        what: its functions are `is_{what}(source)`, which looks at the first or last bytes, and `of_{what}(source)`,
            the summary.
        names: patterns of the names of such files; they tell the kind if the contents do not.
    """

    name: str
    module: str
    what: str
    names: tuple[str, ...]

    def fits(self, source: Source) -> bool:
        """Whether a file is of this kind."""
        return getattr(self._module(), f"is_{self.what}")(source)

    def summarize(self, source: Source) -> Summary:
        """The summary of such a file."""
        return getattr(self._module(), f"of_{self.what}")(source)

    def _module(self) -> Any:
        return import_module(f"dovetail.formats.summary.{self.module}")


KINDS = (
    Kind("Dovetail's own file, safetensors", "own", "safetensors", ("*.safetensors",)),
    Kind("npz", "arrays", "npz", ("*.npz",)),
    Kind("Keras model", "keras", "keras", ("*.keras",)),
    Kind("HDF5", "keras", "hdf5", ("*.h5", "*.hdf5")),
    Kind("Keras 2 metadata", "keras", "metadata", ("keras_metadata.pb",)),
    Kind("TensorFlow checkpoint", "checkpoints", "bundle", ("*.index",)),
    Kind("state of checkpoints", "checkpoints", "state", ("checkpoint",)),
    Kind("ONNX model", "onnx", "onnx", ("*.onnx",)),
    Kind("SavedModel", "graphs", "saved_model", ("saved_model.pb", "saved_model.pbtxt")),
    Kind("GraphDef", "graphs", "graph", ("*.pb", "*.pbtxt")),
    Kind("MetaGraphDef", "graphs", "meta_graph", ("*.meta",)),
    Kind("TFRecord, event file", "records", "records", ("*.tfrecord*", "*tfevents*")),
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
        if _kind(source).module != "graphs":
            return None
        from dovetail.formats.summary.graphs import graphs_of

        return graphs_of(source)


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
