"""Summaries of Keras' files: archives `.keras`, and weights in HDF5, which need h5py."""

from __future__ import annotations

import json
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator
from importlib import import_module
from typing import Any

from dovetail.core.errors import FormatError, op_error
from dovetail.core.memory import size_text
from dovetail.formats.strict_json import parse
from dovetail.formats.summary.arrays import names_in_zip
from dovetail.formats.summary.base import Summary, Table, Value, elements, summary, values
from dovetail.formats.summary.source import Source

MAGIC = b"\x89HDF\r\n\x1a\n"
CONFIG, METADATA, WEIGHTS = "config.json", "metadata.json", "model.weights.h5"
INSTALL = "pip install h5py"
LONGEST = 2**26  # bytes of a config
DAMAGE = zipfile.BadZipFile, zlib.error, ValueError, EOFError, OSError, NotImplementedError, RuntimeError, KeyError


def is_keras(source: Source) -> bool:
    """Whether a file is an archive with the config of a model."""
    return {CONFIG, METADATA} <= {*names_in_zip(source)}


def of_keras(source: Source) -> Summary:
    """The summary of an archive of Keras; without h5py, of all but the weights.

    Raises:
        FormatError: it is damaged.
    """
    try:
        with zipfile.ZipFile(source.path) as archive:
            config, metadata = _json(archive, CONFIG, source), _json(archive, METADATA, source)
            size = archive.getinfo(WEIGHTS).file_size if WEIGHTS in archive.namelist() else 0
            weights, problem = None, ""
            if size and (h5py := _h5py()) is not None:
                with archive.open(WEIGHTS) as file:
                    weights = _weights(h5py, file, source)
            elif size:
                problem = f"{size_text(size)}, which h5py shows: {INSTALL}"
    except DAMAGE as error:
        if isinstance(error, FormatError):
            raise
        raise FormatError(source.path, "the archive", f"{error}", "a .keras file, whole") from None
    version = metadata.get("keras_version") if type(metadata) is dict else None
    facts = {"written by": f"Keras {version}" if version else "", "weights": problem}
    return summary(
        source.path, "Keras model", facts | _model(config), [_layers(config), *([weights] if weights else [])]
    )


def _json(archive: zipfile.ZipFile, name: str, source: Source) -> Any:
    size = archive.getinfo(name).file_size
    if size > LONGEST:
        raise FormatError(source.path, name, f"{size} bytes", f"at most {LONGEST}")
    return parse(archive.read(name), source.path, name)


def is_hdf5(source: Source) -> bool:
    """Whether a file is HDF5."""
    return bool(source.data[: len(MAGIC)] == MAGIC)


def of_hdf5(source: Source) -> Summary:
    """The summary of a file of HDF5, which may have a model of Keras, or its weights.

    Raises:
        ImportError: h5py is not installed.
        FormatError: it is damaged.
    """
    h5py = _h5py()
    if h5py is None:
        raise op_error(ImportError, "dovetail.formats", f"files of HDF5 need h5py, which is not installed: {INSTALL}.")
    try:
        with h5py.File(source.path, "r") as file:
            text, version = file.attrs.get("model_config"), file.attrs.get("keras_version")
    except DAMAGE as error:
        raise FormatError(source.path, "the file", f"{error}", "a whole file of HDF5") from None
    with source.path.open("rb") as opened:
        weights = _weights(h5py, opened, source)
    config = parse(text, source.path, "model_config") if isinstance(text, (str, bytes)) else None
    facts = {"written by": f"Keras {_text(version)}" if version else ""}
    return summary(source.path, "HDF5", facts | _model(config), [_layers(config), weights])


def _h5py() -> Any:
    """The library h5py; None if it is not installed."""
    try:
        return import_module("h5py")
    except ImportError:
        return None


def _text(value: Any) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)


# -- the config of a model --------------------------------------------------------------------------------------------


def _model(config: Any) -> dict[str, Any]:
    """The class and the name of the model of a config."""
    if type(config) is not dict:
        return {}
    inner = config.get("config")
    name = inner.get("name") if type(inner) is dict else None
    return {"model": " ".join(json.dumps(x).strip('"') for x in (config.get("class_name"), name) if x)}


def _layers(config: Any) -> Table:
    """The layers of a config by class, the most frequent first."""
    counts = Counter(_classes(config, top=True))
    rows = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return Table("layers", ("layer", "count"), rows, ("total", counts.total()))


def _classes(config: Any, top: bool = False) -> Iterator[str]:
    """The classes of the layers of a model, and of the models inside it."""
    inner = config.get("config") if type(config) is dict else None
    layers = inner.get("layers") if type(inner) is dict else None
    if not top and type(config) is dict and layers is None:
        yield str(config.get("class_name"))
    for layer in layers if type(layers) is list else ():
        yield from _classes(layer)


# -- weights ----------------------------------------------------------------------------------------------------------


def _weights(h5py: Any, file: Any, source: Source) -> Table:
    """The table of the arrays of HDF5, which are not read.

    Raises:
        FormatError: it is damaged.
    """
    try:
        with h5py.File(file, "r") as opened:
            return values("weights", _arrays(h5py, opened, "", set()))
    except DAMAGE as error:
        raise FormatError(source.path, "the weights", f"{error}", "a whole file of HDF5") from None


def _arrays(h5py: Any, group: Any, place: str, seen: set[int]) -> Iterator[Value]:
    """The arrays in groups, each group once; links to other places and files are not followed."""
    address = h5py.h5o.get_info(group.id).addr
    if address in seen:
        return
    seen.add(address)
    for name in group:
        if not isinstance(group.get(name, getlink=True), h5py.HardLink):
            continue
        found, path = group[name], f"{place}/{name}" if place else name
        if isinstance(found, h5py.Group):
            yield from _arrays(h5py, found, path, seen)
        elif isinstance(found, h5py.Dataset):
            dtype = "string" if found.dtype.hasobject else found.dtype.name
            size = None if found.dtype.hasobject else (elements(found.shape) or 0) * found.dtype.itemsize
            yield Value(path, dtype, found.shape, size)
