"""Archives `.keras`, and weights in HDF5 by the objects of a model, as Keras 3 and late versions of Keras 2 do."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import keras
import numpy as np

from dovetail.core.base.errors import FormatError
from dovetail.core.base.read_limits import PastLimit
from dovetail.formats import hdf5
from dovetail.formats.keras.texts import config_of
from dovetail.formats.strict_json import parse
from dovetail.interop.keras_files import layers
from dovetail.interop.keras_files.building import built
from dovetail.interop.keras_files.compiling import compile_as, load_numbered
from dovetail.interop.privates import saving_lib

CONFIG, METADATA, WEIGHTS, ASSETS = "config.json", "metadata.json", "model.weights.h5", "assets"
LONGEST = 2**26  # bytes of a configuration
MORE = 100  # bytes of a part for each byte in the archive
DAMAGE = zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, KeyError, RuntimeError, OSError


class _Store(saving_lib.H5IOStore):
    """The arrays of a file, as Keras asks for them: by the path of an object, then by the number of its variable."""

    def __init__(self, root: hdf5.Group) -> None:
        self._root, self._objects = root, "_layer_checkpoint_dependencies" in root
        self._entry: hdf5.Group | dict[str, Any] = {}

    def __bool__(self) -> bool:
        return True

    def get(self, path: str) -> _Store:
        place = f"{path}/vars" if path else "vars"
        if place not in self._root and self._objects:  # the name of layers in Keras 2.12 and 2.13
            place = place.replace("layers", "_layer_checkpoint_dependencies")
        self._entry = self._root.group(place) if place in self._root else {}
        return self

    def has_path(self, path: str) -> bool:
        return path in self._root

    def keys(self) -> Any:
        return list(self._entry)

    def __len__(self) -> int:
        return len(self.keys())

    def __contains__(self, name: object) -> bool:
        return name in self._entry

    def __getitem__(self, name: str) -> Any:
        return np.asarray(array.read()) if isinstance(array := self._entry[name], hdf5.Array) else None


def load_weights(
    model: Any, root: hdf5.Group, file: Path, skip_mismatch: bool = False, assets: Any = None, skipped: Any = ()
) -> None:
    """Give the objects of a model the variables of a file: all of them, or none.

    Args:
        model: a Keras model that is built.
        root: the file's root.
        file: its path, for errors.
        skip_mismatch: whether variables of other shapes stay as they are, with a warning.
        assets: Keras' store of the files of layers, or None.
        skipped: objects that keep their variables.

    Raises:
        FormatError: the file has variables of another model.
    """
    before = [(variable, keras.ops.convert_to_numpy(variable)) for variable in model.variables]
    failed: set[int] = set()
    problems: dict[int, Any] = {}
    saving_lib._load_state(
        model, _Store(root), assets, "", skip_mismatch, {id(each) for each in skipped}, failed, problems
    )  # fmt: skip
    if not failed:
        return
    if skip_mismatch:
        saving_lib._raise_loading_failure(problems, warn_only=True)
        return
    layers.assign(model, before)
    part, problem = next(iter(problems.values()))
    needed = "the variables of the model; skip_mismatch=True leaves others as they are"
    raise FormatError(file, f"{getattr(part, 'name', part)}", f"{str(problem)[:300]}", needed)


def save_weights(model: Any, file: Path) -> None:
    """Write the variables of a model by its objects, as Keras 3 does."""
    saving_lib.save_weights_only(model, str(file))


# -- archives ---------------------------------------------------------------------------------------------------------


@contextmanager
def _opened(file: Path) -> Iterator[zipfile.ZipFile]:
    """An archive, whose damage is one error."""
    try:
        with zipfile.ZipFile(file) as opened:
            yield opened
    except DAMAGE as error:
        raise FormatError(file, "the archive", f"{type(error).__name__}: {error}", "a .keras file, whole") from None


def _part(archive: zipfile.ZipFile, name: str, file: Path, most: int | None = None) -> bytes:
    info = archive.getinfo(name)
    if info.file_size > (most or max(2**28, MORE * info.compress_size)):
        raise FormatError(file, name, f"{info.file_size} bytes", "a part of a size that fits the archive")
    return archive.read(name)


def weights(file: Path) -> hdf5.Group | None:
    """The root of the weights in an archive; None if it has none.

    Raises:
        FormatError: it is damaged.
    """
    with _opened(file) as archive:
        return hdf5.read(_part(archive, WEIGHTS, file), file) if WEIGHTS in archive.namelist() else None


def load_model(file: Path, custom_objects: Mapping[str, Any], compile: bool, safe_mode: bool) -> Any:
    """The model of an archive of Keras 2 or 3.

    Raises:
        FormatError: it is damaged, or has a class that is not known.
    """
    with _opened(file) as archive:
        text, metadata = _part(archive, CONFIG, file, LONGEST), _part(archive, METADATA, file, LONGEST)
        version = parse(metadata, file, METADATA)
        root = hdf5.read(_part(archive, WEIGHTS, file), file)
        config = config_of(text, file, CONFIG)
    if not isinstance(version, dict) or not isinstance(config, dict):
        raise FormatError(file, CONFIG, "no object", "the configuration of a model")
    if not str(version.get("keras_version")).startswith("2."):
        return _of_keras3(file, text, root, custom_objects, compile, safe_mode)
    model = built(config, file, custom_objects)
    given = config.get("compile_config")
    training = {**given, "optimizer_config": given.get("optimizer")} if isinstance(given, dict) and compile else None
    if training and compile_as(model, training, file, custom_objects):
        store = _Store(root).get("optimizer")
        load_numbered(model, [store[str(number)] for number in range(len(store))], file)
    load_weights(model, root, file, skipped=[model.optimizer] if getattr(model, "optimizer", None) else ())
    return model


def _of_keras3(
    file: Path, text: bytes, root: hdf5.Group, custom_objects: Mapping[str, Any], compile: bool, safe_mode: bool
) -> Any:
    try:
        model = saving_lib._model_from_config(text, dict(custom_objects), compile, safe_mode)
    except PastLimit:
        raise
    except Exception as error:  # Keras' constructors raise any error for arguments that they do not take
        needed = "a model that this version of Keras makes; pass classes of your own in custom_objects"
        raise FormatError(file, CONFIG, f"{type(error).__name__}: {str(error)[:500]}", needed) from error
    if not isinstance(model, keras.Model):
        raise FormatError(file, CONFIG, f"a {type(model).__name__}", "the configuration of a model")
    with _opened(file) as archive:
        many = any(name.startswith(f"{ASSETS}/") for name in archive.namelist())
        load_weights(
            model, root, file, assets=saving_lib.DiskIOStore(ASSETS, archive=archive, mode="r") if many else None
        )
    return model
