"""Summaries of Keras' files: archives `.keras`, models and weights in HDF5, and the layers of Keras 2's folders."""

from __future__ import annotations

import json
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator
from typing import Any

from dovetail.core.base.errors import FormatError
from dovetail.formats import hdf5
from dovetail.formats.keras import saved_model
from dovetail.formats.strict_json import parse
from dovetail.formats.summary.arrays import names_in_zip
from dovetail.formats.summary.base import Summary, Table, Value, elements, summary, values
from dovetail.formats.summary.source import Source

CONFIG, METADATA, WEIGHTS = "config.json", "metadata.json", "model.weights.h5"
LONGEST = 2**26  # bytes of a config
ROOM, MORE = 2**28, 100  # bytes of weights that any archive may have; for each byte in the archive
DAMAGE = zipfile.BadZipFile, zlib.error, ValueError, EOFError, OSError, NotImplementedError, RuntimeError, KeyError


def is_keras(source: Source) -> bool:
    """Whether a file is an archive with the config of a model."""
    return {CONFIG, METADATA} <= {*names_in_zip(source)}


def of_keras(source: Source) -> Summary:
    """The summary of an archive of Keras.

    Raises:
        FormatError: it is damaged.
    """
    try:
        with zipfile.ZipFile(source.path) as archive:
            config, metadata = _json(archive, CONFIG, source), _json(archive, METADATA, source)
            weights = _weights_in(archive, source) if WEIGHTS in archive.namelist() else b""
    except DAMAGE as error:
        if isinstance(error, FormatError):
            raise
        raise FormatError(source.path, "the archive", f"{error}", "a .keras file, whole") from None
    version = metadata.get("keras_version") if type(metadata) is dict else None
    facts = {"written by": f"Keras {version}" if version else ""}
    tables = [layers_of(config), *([_weights(hdf5.read(weights, source.path))] if weights else [])]
    return summary(source.path, "Keras model", facts | model_of(config), tables)


def _weights_in(archive: zipfile.ZipFile, source: Source) -> bytes:
    info = archive.getinfo(WEIGHTS)
    if info.file_size > max(ROOM, MORE * info.compress_size):
        raise FormatError(source.path, WEIGHTS, f"{info.file_size} bytes", "weights of a size that fits the archive")
    return archive.read(WEIGHTS)


def _json(archive: zipfile.ZipFile, name: str, source: Source) -> Any:
    size = archive.getinfo(name).file_size
    if size > LONGEST:
        raise FormatError(source.path, name, f"{size} bytes", f"at most {LONGEST}")
    return parse(archive.read(name), source.path, name)


def is_hdf5(source: Source) -> bool:
    """Whether a file is HDF5."""
    return hdf5.is_file(source.path)


def of_hdf5(source: Source) -> Summary:
    """The summary of a file of HDF5, which may have a model of Keras, or its weights.

    Raises:
        FormatError: it is damaged.
    """
    root = hdf5.read(source.path)
    text, version = root.attributes.get("model_config"), root.attributes.get("keras_version")
    config = parse(text, source.path, "model_config") if isinstance(text, (str, bytes)) else None
    facts = {"written by": f"Keras {_text(version)}" if version else ""}
    return summary(source.path, "HDF5", facts | model_of(config), [layers_of(config), _weights(root)])


def is_metadata(source: Source) -> bool:
    """Whether a file has the layers of a folder of Keras 2."""
    return source.path.name == saved_model.METADATA


def of_metadata(source: Source) -> Summary:
    """The summary of the layers of a folder of Keras 2.

    Raises:
        FormatError: it is damaged.
        ImportError: the extra `formats` is not installed.
    """
    config = saved_model.read_folder(source.path.parent).config
    return summary(source.path, "layers of a Keras 2 folder", model_of(config), [layers_of(config)])


def _text(value: Any) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)


# -- the config of a model --------------------------------------------------------------------------------------------


def model_of(config: Any) -> dict[str, Any]:
    """The class and the name of the model of a config."""
    if type(config) is not dict:
        return {}
    inner = config.get("config")
    name = inner.get("name") if type(inner) is dict else None
    return {"model": " ".join(json.dumps(x).strip('"') for x in (config.get("class_name"), name) if x)}


def layers_of(config: Any) -> Table:
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


def _weights(root: hdf5.Group) -> Table:
    """The table of the arrays of HDF5, which are not read.

    Raises:
        FormatError: it is damaged.
    """
    return values("weights", map(_array, root.arrays()))


def _array(array: hdf5.Array) -> Value:
    place, dtype, shape = array.place.lstrip("/"), array.dtype, array.shape
    if dtype is None:
        return Value(place, "string", shape)
    return Value(place, dtype.name, shape, (elements(shape) or 0) * dtype.itemsize)
