"""TensorFlow's names for the files of checkpoints: the values of variables by name, and the state of a folder.

The checkpoint `model-7` is a bundle of TensorFlow's, `model-7.index` and `model-7.data-00000-of-00001`.  Older ones of
Dovetail's, `model-7.npz`, are read, too.  The file `checkpoint` in a folder lists its checkpoints, the latest last.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dovetail.compat.tensorflow.entries import lazy, value
from dovetail.compat.tensorflow.names.variables.partitions import Parts
from dovetail.compat.tensorflow.table import function
from dovetail.core.base.tensor_shape import shape_of
from dovetail.core.dtypes import as_dtype
from dovetail.formats.wire import bundle, state
from dovetail.formats.wire.bundle import Bundle
from dovetail.formats.wire.libraries import need
from dovetail.formats.wire.messages import TENSORFLOW

_DTYPES = "__dtypes__"  # the entry of older files for dtypes that NumPy does not know

# -- files of arrays --------------------------------------------------------------------------------------------------


def write(path: str, values: Mapping[str, Any], user: str) -> str:
    """Write variables, or arrays, by name, and return the path, which has no suffix.

    Raises:
        ImportError: the extra `formats` is not installed; `user` is the function that needs it.
    """
    need(user)
    bundle.write_bundle(path, {name: _written(value) for name, value in values.items()})
    return path


def _written(value: Any) -> Any:
    if isinstance(value, Parts):
        return value.cut()
    return np.asarray(value.numpy() if hasattr(value, "numpy") else value)


def exists(path: str) -> bool:
    """Whether there is a checkpoint."""
    return bundle.exists(path) or Path(f"{path}.npz").is_file()


def delete(path: str) -> None:
    """Delete the files of a checkpoint."""
    for file in (*bundle.files(path), Path(f"{path}.npz"), Path(f"{path}.meta")):
        file.unlink(missing_ok=True)


def read(path: str) -> Mapping[str, np.ndarray]:
    """The arrays of a checkpoint by name, of which a bundle reads each when it is asked for.

    Raises:
        FileNotFoundError: there is no such checkpoint.
        FormatError: it is damaged.
    """
    if bundle.exists(path):
        need("tf.train")
        return Bundle(path)
    if not Path(f"{path}.npz").is_file():
        raise FileNotFoundError(f"there is no checkpoint {path!r}: no file {f'{path}.index'!r}, nor {f'{path}.npz'!r}.")
    with np.load(f"{path}.npz", allow_pickle=False) as stored:
        own = json.loads(str(stored[_DTYPES]))
        arrays = {name: stored[name] for name in stored.files if name != _DTYPES}
    return {name: a.view(as_dtype(own[name]).numpy) if name in own else a for name, a in arrays.items()}


def shapes(arrays: Mapping[str, np.ndarray]) -> dict[str, tuple[int, ...]]:
    """The shapes of the arrays of a checkpoint."""
    return {name: arrays.shape(name) if isinstance(arrays, Bundle) else arrays[name].shape for name in arrays}


def give(values: Mapping[str, Any], arrays: Mapping[str, np.ndarray], path: str, reshape: bool = False) -> None:
    """Give variables the values of a checkpoint: all of them, or none.

    The `kernel` and the `bias` of a recurrent cell are also found by their names before TensorFlow 1.2.

    Args:
        reshape: whether a value may have another shape of as many elements.

    Raises:
        KeyError: a variable is not in the checkpoint.
        ValueError: a variable has another shape.
        FormatError: a value is damaged.
    """
    known = shapes(arrays)
    values = {_stored_name(name, known): variable for name, variable in values.items()}
    for name, variable in values.items():
        if name not in known:
            raise KeyError(f"the checkpoint {path!r} has no variable {name!r}; it has {', '.join(sorted(known))}.")
        shape = shape_of(variable.shape)
        if reshape and shape.is_fully_defined() and math.prod(known[name]) == math.prod(shape):
            continue
        if not shape.is_compatible_with(known[name]):
            raise ValueError(f"{name!r} has the shape {known[name]} in {path!r}, and the variable {shape}.")
    wanted = {name: arrays[name] for name in values}
    for name, variable in values.items():
        shape = shape_of(variable.shape)
        array = wanted[name].reshape(shape) if shape.is_fully_defined() else wanted[name]
        variable.load(array) if hasattr(variable, "load") else variable.assign(array)


_BEFORE = {"kernel": "weights", "bias": "biases"}  # the last name of a cell's variable → before TensorFlow 1.2


def _stored_name(name: str, known: Mapping[str, Any]) -> str:
    """The name of a variable in a checkpoint."""
    scope, slash, last = name.rpartition("/")
    before = f"{scope}{slash}{_BEFORE.get(last, last)}"
    return before if name not in known and before in known else name


# -- the state of a folder --------------------------------------------------------------------------------------------

lazy("train.CheckpointState", lambda: TENSORFLOW.CheckpointState)


def note(path: str, known: Sequence[str], state_name: str | None = None) -> None:
    """List the checkpoints of a folder in its state file."""
    state.write_state(Path(path).parent, known, state_name)


@function("train.get_checkpoint_state")
def get_checkpoint_state(checkpoint_dir: str, latest_filename: str | None = None) -> Any:
    """The state of a folder: `model_checkpoint_path` and `all_model_checkpoint_paths`; None if it has none.

    Raises:
        FormatError: the state file is damaged.

    Source: `tf.train.get_checkpoint_state`.
    """
    return state.read_state(os.fspath(checkpoint_dir), latest_filename)


@function("train.update_checkpoint_state", "v1")
def update_checkpoint_state(
    save_dir: str,
    model_checkpoint_path: str,
    all_model_checkpoint_paths: Sequence[str] | None = None,
    latest_filename: str | None = None,
    all_model_checkpoint_timestamps: Any = None,
    last_preserved_timestamp: Any = None,
) -> None:
    """Write the state of a folder.

    Source: `tf.compat.v1.train.update_checkpoint_state`.
    """
    others = [path for path in all_model_checkpoint_paths or () if path != model_checkpoint_path]
    need("tf.train.update_checkpoint_state")
    state.write_state(save_dir, [*others, model_checkpoint_path], latest_filename)


@function("train.generate_checkpoint_state_proto", "v1")
def generate_checkpoint_state_proto(
    save_dir: str,
    model_checkpoint_path: str,
    all_model_checkpoint_paths: Sequence[str] | None = None,
    all_model_checkpoint_timestamps: Any = None,
    last_preserved_timestamp: Any = None,
) -> Any:
    """The state of a folder as a message `CheckpointState`; relative paths are relative to the folder.

    Source: `tf.compat.v1.train.generate_checkpoint_state_proto`.
    """
    need("tf.train.generate_checkpoint_state_proto")
    known = [path for path in all_model_checkpoint_paths or () if path != model_checkpoint_path]
    paths = [
        path if os.path.isabs(save_dir) or os.path.isabs(path) else os.path.relpath(path, save_dir)
        for path in (*known, model_checkpoint_path)
    ]
    return TENSORFLOW.CheckpointState(model_checkpoint_path=paths[-1], all_model_checkpoint_paths=paths)


@function("train.remove_checkpoint", "v1")
def remove_checkpoint(
    checkpoint_prefix: str, checkpoint_format_version: Any = None, meta_graph_suffix: str = "meta"
) -> None:
    """Delete the files of a checkpoint.

    Source: `tf.compat.v1.train.remove_checkpoint`.
    """
    delete(checkpoint_prefix)
    Path(f"{checkpoint_prefix}.{meta_graph_suffix}").unlink(missing_ok=True)


@function("train.get_checkpoint_mtimes", "v1")
def get_checkpoint_mtimes(checkpoint_prefixes: Sequence[str]) -> list[float]:
    """The times when checkpoints were written, for each that exists.

    Source: `tf.compat.v1.train.get_checkpoint_mtimes`.
    """
    return [os.path.getmtime(bundle.files(path)[0]) for path in checkpoint_prefixes if bundle.exists(path)]


@function("train.latest_checkpoint")
def latest_checkpoint(checkpoint_dir: str, latest_filename: str | None = None) -> str | None:
    """The latest checkpoint of a folder; None if there is none.

    Raises:
        FormatError: the state file is damaged.

    Source: `tf.train.latest_checkpoint`.
    """
    latest = state.read_state(os.fspath(checkpoint_dir), latest_filename)
    return latest.model_checkpoint_path if latest is not None and exists(latest.model_checkpoint_path) else None


def _prefix(path: str) -> str:
    if not Path(path).is_dir():
        return path
    prefix = latest_checkpoint(path) or os.path.join(path, "")  # the latter for one with an empty name
    if not exists(prefix):
        raise FileNotFoundError(f"there is no checkpoint in the folder {path!r}.")
    return prefix


@function("train.list_variables")
def list_variables(ckpt_dir_or_file: str) -> list[tuple[str, list[int]]]:
    """The names and shapes of the values in a checkpoint.

    Source: `tf.train.list_variables`.
    """
    return [(name, list(shape)) for name, shape in sorted(shapes(read(_prefix(os.fspath(ckpt_dir_or_file)))).items())]


@function("train.load_variable")
def load_variable(ckpt_dir_or_file: str, name: str) -> Any:
    """A value in a checkpoint: an array; strings are `bytes`.

    Source: `tf.train.load_variable`.
    """
    return CheckpointReader(ckpt_dir_or_file).get_tensor(name)


@function("train.checkpoint_exists", "v1")
def checkpoint_exists(checkpoint_prefix: str) -> bool:
    """Whether there is a checkpoint.

    Source: `tf.compat.v1.train.checkpoint_exists`.
    """
    return exists(checkpoint_prefix)


class CheckpointReader:
    """The values of a checkpoint by name.

    Args:
        filepattern: its path, or a folder, whose latest one is read.

    Raises:
        FileNotFoundError: there is no such checkpoint.
        FormatError: it is damaged.

    Source: `tf.compat.v1.train.NewCheckpointReader`.
    """

    def __init__(self, filepattern: str) -> None:
        self._path = _prefix(os.fspath(filepattern))
        self._arrays = read(self._path)

    def has_tensor(self, name: str) -> bool:
        """Whether there is a value with a name."""
        return name in self._arrays

    def get_tensor(self, name: str) -> Any:
        """The value with a name: an array; strings are `bytes`."""
        if name not in self._arrays:
            raise KeyError(f"the checkpoint {self._path!r} has no {name!r}; it has {', '.join(sorted(self._arrays))}.")
        array = np.array(self._arrays[name])
        return array.item() if array.dtype.kind == "O" and array.shape == () else array

    def get_variable_to_shape_map(self) -> dict[str, list[int]]:
        """The shapes by name."""
        return {name: list(shape) for name, shape in shapes(self._arrays).items()}

    def get_variable_to_dtype_map(self) -> dict[str, Any]:
        """The dtypes by name; the word "string" for strings."""
        arrays = self._arrays
        kinds = {n: arrays.dtype(n) if isinstance(arrays, Bundle) else arrays[n].dtype for n in arrays}
        return {name: "string" if kind.kind == "O" else as_dtype(kind) for name, kind in kinds.items()}


value("train.NewCheckpointReader train.load_checkpoint", CheckpointReader)
