"""Models and weights of Keras in files of every kind, which the first bytes of a file tell."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import keras
import numpy as np

from dovetail.core.base.errors import FormatError
from dovetail.core.base.files import replacing
from dovetail.core.base.read_limits import reading
from dovetail.formats import hdf5, safetensors
from dovetail.formats.keras.saved_model import is_folder
from dovetail.formats.keras.texts import config_of
from dovetail.formats.keras.weights import is_stored, stored
from dovetail.interop.keras_files import archive, checkpoint, layers
from dovetail.interop.keras_files.building import built
from dovetail.interop.keras_files.compiling import compile_as, load_optimizer
from dovetail.interop.keras_files.folder import load_folder

Path_ = str | os.PathLike[str]
ENDINGS = (".keras", ".h5", ".hdf5")  # a file of such a name that is damaged is refused here, and not given to Keras


def has_model(path: Path_) -> bool:
    """Whether a local file or folder may have a model that `load_model` reads."""
    file = Path(path)
    if is_folder(file) or not file.is_file():
        return is_folder(file)
    return file.suffix in ENDINGS or hdf5.is_file(file) or zipfile.is_zipfile(file)


def has_weights(path: Path_) -> bool:
    """Whether a local file may have weights that `load_weights` reads."""
    file = Path(path)
    if checkpoint.checkpoint_at(path) is not None:
        return True
    return file.is_file() and (
        file.suffix in (*ENDINGS, ".safetensors") or hdf5.is_file(file) or zipfile.is_zipfile(file)
    )


def load_model(
    path: Path_, custom_objects: Mapping[str, Any] | None = None, compile: bool = True, safe_mode: bool = True
) -> Any:
    """Load a model of Keras 1, 2 or 3: an HDF5 file, an archive `.keras`, or a SavedModel's folder of Keras 2.

    Nothing in a file is executed.  Functions and classes of the program come by `custom_objects`, and the function of a
    `Lambda` layer by the layer's name.

    Args:
        path: the file or folder.
        custom_objects: classes and functions of the program, by name.
        compile: whether the model is compiled as it was, with the state of its optimizer.
        safe_mode: whether an archive of Keras 3 may have no bytecode; other files never may.

    Raises:
        FormatError: the file is damaged, has no model, or a class that is not known.
        OSError: it cannot be read.

    Source: `keras.models.load_model` of Keras 1 to 3.
    """
    file = Path(path)
    size = sum(part.stat().st_size for part in ([file, *file.rglob("*")] if file.is_dir() else [file]))
    with reading(file, "its model", size=size, folds_alone=True):  # a configuration may say any sizes
        return _loaded(file, custom_objects or {}, compile, safe_mode)


def _loaded(file: Path, custom_objects: Mapping[str, Any], compile: bool, safe_mode: bool) -> Any:
    if is_folder(file):
        return load_folder(file, custom_objects, compile)
    if zipfile.is_zipfile(file) or file.suffix == ".keras":
        return archive.load_model(file, custom_objects, compile, safe_mode)
    return _of_hdf5(file, custom_objects, compile)


def _of_hdf5(file: Path, custom_objects: Mapping[str, Any], compile: bool) -> Any:
    root = hdf5.read(file)
    config = _json(root, "model_config", file)
    if config is None:
        needed = "a model that model.save wrote; for weights alone make the model, and say model.load_weights"
        raise FormatError(file, "model_config", "none", needed)
    weights = stored(root)
    model = built(config, file, custom_objects, old=weights.version < 3)
    layers.load(model, weights, file)
    training = _json(root, "training_config", file) if compile else None
    if training is not None and compile_as(model, training, file, custom_objects) and "optimizer_weights" in root:
        load_optimizer(model, root.group("optimizer_weights"), file, old=weights.version < 3)
    return model


def _json(root: hdf5.Group, name: str, file: Path) -> Any:
    text = root.attributes.get(name)
    return config_of(text, file, name) if isinstance(text, bytes) and text else None


# -- weights ----------------------------------------------------------------------------------------------------------


def load_weights(model: Any, path: Path_, by_name: bool = False, skip_mismatch: bool = False) -> None:
    """Give a model the weights of a file: all of them, or none.

    The file is HDF5 of Keras 1, 2 or 3, an archive `.keras`, a checkpoint of TensorFlow, or one of `save_weights`.

    Args:
        model: a Keras model that is built.
        path: the file.
        by_name: whether layers find their weights in HDF5 of Keras 1 and 2 by their names; others keep theirs.
        skip_mismatch: whether weights of other shapes stay as they are, with a warning.

    Raises:
        FormatError: the file is damaged, or has weights of another model.
        ValueError: the model is not built, or the file has no layers to be found by name.
        OSError: it cannot be read.

    Source: `keras.Model.load_weights` of Keras 1 to 3.
    """
    if not model.built:
        problem = f"the model {model.name!r} has no weights yet: call it on data, or build it with a shape, first."
        raise ValueError(f"load_weights: {problem}")
    file = Path(path)
    prefix = checkpoint.checkpoint_at(path)
    is_hdf5 = prefix is None and (file.suffix in ENDINGS[1:] or hdf5.is_file(file)) and not zipfile.is_zipfile(file)
    root = hdf5.read(file) if is_hdf5 else None
    if root is not None and is_stored(root):
        return layers.load(model, stored(root), file, by_name, skip_mismatch)
    if by_name:
        problem = f"{str(path)!r} has no weights by layer"
        raise ValueError(f"load_weights: {problem}: by_name only supports loading legacy '.h5' or '.hdf5' files.")
    if prefix is not None:
        return checkpoint.load_weights(model, prefix, skip_mismatch)
    if root is not None:
        return archive.load_weights(model, root, file, skip_mismatch)
    if (file.suffix == ".keras" or zipfile.is_zipfile(file)) and (inside := archive.weights(file)) is not None:
        return archive.load_weights(model, inside, file, skip_mismatch)
    return _assign(model, _arrays(file), file, skip_mismatch)


def _arrays(file: Path) -> Mapping[str, Any]:
    """Arrays by name of a file of NumPy or a safetensors file."""
    if not zipfile.is_zipfile(file):
        return safetensors.read(file).tensors
    try:
        with np.load(file, allow_pickle=False) as arrays:
            return {name: arrays[name] for name in arrays.files}
    except (ValueError, OSError, EOFError, zipfile.BadZipFile, KeyError, NotImplementedError, MemoryError) as error:
        raise FormatError(file, "the arrays", str(error)[:200], "a whole .npz file of numbers") from None


def _assign(model: Any, arrays: Mapping[str, Any], file: Path, skip_mismatch: bool) -> None:
    """Give the weights of a model arrays by their paths."""
    pairs = [(weight, arrays.get(weight.path)) for weight in model.weights]
    for weight, array in pairs:
        if (array is None or array.shape != tuple(weight.shape)) and not skip_mismatch:
            actual = "nothing" if array is None else f"the shape {array.shape}"
            raise FormatError(
                file, f"the array {weight.path!r}", actual, f"an array of the shape {tuple(weight.shape)}"
            )
    fitting = ((weight, array) for weight, array in pairs if array is not None and array.shape == tuple(weight.shape))
    layers.assign(model, fitting)


def save_weights(model: Any, path: Path_) -> None:
    """Write the weights of a model to a file, in the format of its ending.

    `.weights.h5` is Keras 3's format, `.safetensors` and `.npz` have arrays by the paths of weights, `.ckpt` is a
    checkpoint of TensorFlow, and any other name gets HDF5 by layer.  Keras 2 reads the last two.  The folder of a file
    that is not named as HDF5 is made, as TensorFlow makes the folders of checkpoints.

    Args:
        model: a Keras model that is built.
        path: the file; an old one is replaced as a whole.

    Raises:
        ValueError: the model is not built, or several weights have one path and the format needs several.
        OSError: it cannot be written.

    Source: `keras.Model.save_weights` of Keras 2 and 3.
    """
    if not model.built:
        problem = f"the model {model.name!r} has no weights yet: call it on data, or build it with a shape, first."
        raise ValueError(f"save_weights: {problem}")
    if not str(path).endswith((".h5", ".hdf5")):
        Path(path).parent.mkdir(parents=True, exist_ok=True)
    write = next((write for ending, write in WRITERS.items() if str(path).endswith(ending)), layers.save)
    write(model, Path(path))


def _values(model: Any) -> dict[str, np.ndarray]:
    values = {weight.path: keras.ops.convert_to_numpy(weight) for weight in model.weights}
    if len(values) < len(model.weights):
        raise ValueError("save_weights: several weights have the same path: give layers other names, or write .h5.")
    return values


def _write_npz(model: Any, file: Path) -> None:
    values = _values(model)
    with replacing(file) as opened:
        np.savez(opened, **values)  # type: ignore[arg-type]


def _write_safetensors(model: Any, file: Path) -> None:
    safetensors.write(file, _values(model), {"format": "keras"})


WRITERS: dict[str, Callable[[Any, Path], None]] = {
    ".weights.h5": archive.save_weights,
    ".safetensors": _write_safetensors,
    ".npz": _write_npz,
    ".ckpt": checkpoint.save_weights,
}
