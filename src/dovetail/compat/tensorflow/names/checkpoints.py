"""TensorFlow's names of saving: the values of variables in a file of NumPy's arrays, and files themselves.

A checkpoint `model-7` is the file `model-7.npz`; a file `checkpoint` beside it says which ones there are, last one
last.  Files are replaced as a whole, and hold no pickles.
"""

from __future__ import annotations

import glob
import json
import os
import shutil
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import numpy as np

from dovetail.compat.tensorflow import graph_mode
from dovetail.compat.tensorflow.names.core import is_nested
from dovetail.compat.tensorflow.names.graph import GraphKeys
from dovetail.compat.tensorflow.table import function, value
from dovetail.core.dtypes import as_dtype
from dovetail.core.errors import op_error
from dovetail.core.files import replacing
from dovetail.core.variable import Variable

_DTYPES = "__dtypes__"  # the entry that says dtypes which NumPy does not know

# -- files of arrays --------------------------------------------------------------------------------------------------


def _write(path: str, values: Mapping[str, Any]) -> str:
    """Writes variables by name; the path, which has no suffix."""
    arrays = {name: np.asarray(variable.numpy()) for name, variable in values.items()}
    own = {name: as_dtype(a.dtype).name for name, a in arrays.items() if a.dtype.isbuiltin != 1}
    stored = {name: a.view(f"u{a.dtype.itemsize}") if name in own else a for name, a in arrays.items()}
    file_path = Path(f"{path}.npz")
    file_path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(file_path) as file:
        np.savez(file, **stored, **{_DTYPES: np.array(json.dumps(own))})  # type: ignore[arg-type]
    return path


def _read(path: str) -> dict[str, np.ndarray]:
    """The arrays of a checkpoint.

    Raises:
        FileNotFoundError: there is no such checkpoint.
    """
    file_path = Path(f"{path}.npz")
    if not file_path.is_file():
        raise FileNotFoundError(f"there is no checkpoint {path!r}: no file {str(file_path)!r}.")
    with np.load(file_path, allow_pickle=False) as stored:
        own = json.loads(str(stored[_DTYPES]))
        found = {name: stored[name] for name in stored.files if name != _DTYPES}
    return {name: a.view(as_dtype(own[name]).numpy) if name in own else a for name, a in found.items()}


def _give(values: Mapping[str, Any], arrays: Mapping[str, np.ndarray], path: str) -> None:
    """Gives variables the values of a checkpoint: all of them, or none.

    Raises:
        KeyError: one is not in the checkpoint.
        ValueError: one has another shape.
    """
    for name, variable in values.items():
        if name not in arrays:
            raise KeyError(f"the checkpoint {path!r} has no variable {name!r}; it has {', '.join(sorted(arrays))}.")
        if tuple(arrays[name].shape) != tuple(variable.shape):
            problem = (
                f"{name!r} has the shape {arrays[name].shape} in {path!r}, and the variable {tuple(variable.shape)}."
            )
            raise ValueError(problem)
    for name, variable in values.items():
        variable.load(arrays[name]) if hasattr(variable, "load") else variable.assign(arrays[name])


def _note(path: str, known: list[str], state_name: str = "checkpoint") -> None:
    """Says in the file of a folder which checkpoints there are."""
    folder = Path(path).parent
    names = [os.path.relpath(p, folder) for p in known]
    lines = [f'model_checkpoint_path: "{names[-1]}"'] + [f'all_model_checkpoint_paths: "{name}"' for name in names]
    with replacing(folder / state_name) as file:
        file.write(("\n".join(lines) + "\n").encode())


@function("train.latest_checkpoint")
def latest_checkpoint(checkpoint_dir: str, latest_filename: str | None = None) -> str | None:
    """The last checkpoint of a folder; None if there is none.

    Source: `tf.train.latest_checkpoint`.
    """
    state = Path(checkpoint_dir) / (latest_filename or "checkpoint")
    if not state.is_file():
        return None
    first = state.read_text().splitlines()[0]
    path = str(Path(checkpoint_dir) / first.partition('"')[2].rstrip('"'))
    return path if Path(f"{path}.npz").is_file() else None


def _prefix(path: str) -> str:
    found = latest_checkpoint(path) if Path(path).is_dir() else path
    if found is None:
        raise FileNotFoundError(f"there is no checkpoint in the folder {path!r}.")
    return found


@function("train.list_variables")
def list_variables(ckpt_dir_or_file: str) -> list[tuple[str, list[int]]]:
    """The names and shapes of a checkpoint.

    Source: `tf.train.list_variables`.
    """
    return [(name, list(array.shape)) for name, array in sorted(_read(_prefix(ckpt_dir_or_file)).items())]


@function("train.load_variable")
def load_variable(ckpt_dir_or_file: str, name: str) -> np.ndarray:
    """A value of a checkpoint.

    Source: `tf.train.load_variable`.
    """
    return CheckpointReader(_prefix(ckpt_dir_or_file)).get_tensor(name)


@function("train.checkpoint_exists", "v1")
def checkpoint_exists(checkpoint_prefix: str) -> bool:
    """Whether there is a checkpoint.

    Source: `tf.compat.v1.train.checkpoint_exists`.
    """
    return Path(f"{checkpoint_prefix}.npz").is_file()


class CheckpointReader:
    """The values of a checkpoint by name.

    Source: `tf.compat.v1.train.NewCheckpointReader`.
    """

    def __init__(self, filepattern: str) -> None:
        self._path, self._arrays = filepattern, _read(filepattern)

    def has_tensor(self, name: str) -> bool:
        """Whether there is a value of a name."""
        return name in self._arrays

    def get_tensor(self, name: str) -> np.ndarray:
        """The value of a name."""
        if name not in self._arrays:
            raise KeyError(f"the checkpoint {self._path!r} has no {name!r}; it has {', '.join(sorted(self._arrays))}.")
        return self._arrays[name]

    def get_variable_to_shape_map(self) -> dict[str, list[int]]:
        """The shapes by name."""
        return {name: list(array.shape) for name, array in self._arrays.items()}

    def get_variable_to_dtype_map(self) -> dict[str, Any]:
        """The dtypes by name."""
        return {name: as_dtype(array.dtype) for name, array in self._arrays.items()}


value("train.NewCheckpointReader train.load_checkpoint", CheckpointReader)

# -- savers -----------------------------------------------------------------------------------------------------------


class Saver:
    """Saves variables of a graph, and gives them their values back.

    Source: `tf.compat.v1.train.Saver`.
    """

    def __init__(
        self,
        var_list: Any = None,
        reshape: bool = False,
        sharded: bool = False,
        max_to_keep: int | None = 5,
        keep_checkpoint_every_n_hours: float = 10000.0,
        name: str | None = None,
        restore_sequentially: bool = False,
        saver_def: Any = None,
        builder: Any = None,
        defer_build: bool = False,
        allow_empty: bool = False,
        **options: Any,
    ) -> None:
        if var_list is None:
            var_list = graph_mode.open_graph().get_collection(GraphKeys.GLOBAL_VARIABLES)
        named = dict(var_list) if isinstance(var_list, Mapping) else {_name_of(v): v for v in var_list}
        if not named and not allow_empty:
            raise op_error(ValueError, "tf.train.Saver", "there are no variables to save.")
        self._variables = named
        self._keep = max_to_keep or 0
        self._saved: list[str] = []

    @property
    def last_checkpoints(self) -> list[str]:
        """The checkpoints that it wrote and that are there, last one last."""
        return list(self._saved)

    def save(
        self,
        sess: Any,
        save_path: str,
        global_step: Any = None,
        latest_filename: str | None = None,
        meta_graph_suffix: str = "meta",
        write_meta_graph: bool = True,
        write_state: bool = True,
        **options: Any,
    ) -> str:
        """Writes the values; the path of the checkpoint, with the step behind it if one is given."""
        path = str(save_path) if global_step is None else f"{save_path}-{int(np.asarray(_known(global_step)))}"
        with _in_session(sess):
            _write(path, self._variables)
        self._saved = [p for p in self._saved if p != path] + [path]
        while self._keep and len(self._saved) > self._keep:
            Path(f"{self._saved.pop(0)}.npz").unlink(missing_ok=True)
        if write_state:
            _note(path, self._saved, latest_filename or "checkpoint")
        return path

    def restore(self, sess: Any, save_path: str) -> None:
        """Gives the variables the values of a checkpoint: all of them, or none.

        Raises:
            ValueError: there is no such checkpoint, or a shape is another one.
            KeyError: a variable is not in it.
        """
        if save_path is None or not Path(f"{save_path}.npz").is_file():
            raise op_error(ValueError, "tf.train.Saver.restore", f"there is no checkpoint {save_path!r}.")
        with _in_session(sess):
            _give(self._variables, _read(str(save_path)), str(save_path))


def _in_session(session: Any) -> AbstractContextManager[Any]:
    """Variables have the values of a session inside of the `with` block."""
    return nullcontext() if session is None else session.as_default()


def _name_of(variable: Any) -> str:
    return variable.op_name


def _known(number: Any) -> Any:
    return number.numpy() if hasattr(number, "numpy") else number


value("train.Saver", Saver, "v1")


class _Status:
    """What a restored checkpoint can be asked."""

    def assert_consumed(self) -> _Status:
        """All values went into variables: else restoring had failed."""
        return self

    assert_existing_objects_matched = assert_nontrivial_match = assert_consumed

    def expect_partial(self) -> _Status:
        """Nothing is said."""
        return self


class Checkpoint:
    """Saves the variables of objects, found among their attributes, and gives them their values back.

    Source: `tf.train.Checkpoint`.
    """

    def __init__(self, root: Any = None, **kwargs: Any) -> None:
        self._root, self._parts, self._count = root, kwargs, 0
        vars(self).update(kwargs)

    def _variables(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        given = {} if self._root is None else vars(self._root)
        for name, part in (given | self._parts).items():
            _collect(part, name, found, set())
        return found

    def write(self, file_prefix: str, options: Any = None) -> str:
        """Writes the values; the path."""
        return _write(str(file_prefix), self._variables())

    def save(self, file_prefix: str, options: Any = None) -> str:
        """Writes the values into a checkpoint with a number; the path."""
        self._count += 1
        path = self.write(f"{file_prefix}-{self._count}")
        _note(path, [path])
        return path

    def read(self, save_path: str, options: Any = None) -> _Status:
        """Gives the variables the values of a checkpoint: all of them, or none."""
        _give(self._variables(), _read(str(save_path)), str(save_path))
        return _Status()

    def restore(self, save_path: str | None, options: Any = None) -> _Status:
        """As `read`; None does nothing."""
        return _Status() if save_path is None else self.read(save_path)


def _collect(part: Any, path: str, found: dict[str, Any], seen: set[int]) -> None:
    """The variables in an object, by the path of attributes to them."""
    if isinstance(part, Variable):
        found[path] = part
        return
    if id(part) in seen:
        return
    seen.add(id(part))
    pairs: Any
    if is_nested(part):
        pairs = part.items() if isinstance(part, Mapping) else enumerate(part)
    else:
        pairs = vars(part).items() if hasattr(part, "__dict__") and not isinstance(part, type) else ()
    for name, inner in list(pairs):
        _collect(inner, f"{path}/{name}", found, seen)


value("train.Checkpoint", Checkpoint)


class CheckpointManager:
    """Keeps the last checkpoints in a folder.

    Source: `tf.train.CheckpointManager`.
    """

    def __init__(
        self,
        checkpoint: Checkpoint,
        directory: str,
        max_to_keep: int | None,
        keep_checkpoint_every_n_hours: Any = None,
        checkpoint_name: str = "ckpt",
        **options: Any,
    ) -> None:
        self._checkpoint, self._directory, self._keep = checkpoint, str(directory), max_to_keep
        self._prefix = str(Path(directory) / checkpoint_name)
        found = latest_checkpoint(self._directory)
        self._paths = [] if found is None else [found]

    @property
    def latest_checkpoint(self) -> str | None:
        """The last checkpoint."""
        return self._paths[-1] if self._paths else None

    @property
    def checkpoints(self) -> list[str]:
        """The checkpoints that are there, last one last."""
        return list(self._paths)

    def save(self, checkpoint_number: Any = None, **options: Any) -> str:
        """Writes one more, and deletes the oldest if there are too many."""
        last = int(self._paths[-1].rpartition("-")[2]) if self._paths else 0
        number = last + 1 if checkpoint_number is None else int(_known(checkpoint_number))
        path = self._checkpoint.write(f"{self._prefix}-{number}")
        self._paths = [p for p in self._paths if p != path] + [path]
        while self._keep and len(self._paths) > self._keep:
            Path(f"{self._paths.pop(0)}.npz").unlink(missing_ok=True)
        _note(path, self._paths)
        return path

    def restore_or_initialize(self) -> str | None:
        """Gives the variables the values of the last checkpoint, if there is one."""
        self._checkpoint.restore(self.latest_checkpoint)
        return self.latest_checkpoint


value("train.CheckpointManager", CheckpointManager)

# -- files ------------------------------------------------------------------------------------------------------------


def GFile(name: str, mode: str = "r") -> Any:
    """A file of this machine.

    Source: `tf.io.gfile.GFile`.
    """
    return open(name, mode)


def _glob(pattern: Any) -> list[str]:
    """The files that fit a pattern, or several."""
    patterns = [pattern] if isinstance(pattern, str) else pattern
    return [path for one in patterns for path in sorted(glob.glob(one))]


def _remove(path: str) -> None:
    """Deletes a file."""
    os.remove(path)


for _new, _old, _function in (
    ("GFile", "GFile Open FastGFile", GFile),
    ("exists", "Exists", os.path.exists),
    ("isdir", "IsDirectory", os.path.isdir),
    ("listdir", "ListDirectory", os.listdir),
    ("makedirs", "MakeDirs", lambda path: os.makedirs(path, exist_ok=True)),
    ("mkdir", "MkDir", os.mkdir),
    ("glob", "Glob", _glob),
    ("remove", "Remove", _remove),
    ("rmtree", "DeleteRecursively", shutil.rmtree),
    ("rename", "Rename", os.replace),
    ("copy", "Copy", shutil.copyfile),
):
    value(f"io.gfile.{_new}", _function)
    value(" ".join(f"gfile.{name}" for name in _old.split()), _function, "v1")
