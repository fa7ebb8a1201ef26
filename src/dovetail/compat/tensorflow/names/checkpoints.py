"""TensorFlow's names for saving: the values of variables in a file of NumPy's arrays.

A checkpoint `model-7` is the file `model-7.npz`; the file `checkpoint` in its folder lists the checkpoints, the latest
last.  Files are replaced as a whole, and hold no pickles.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import numpy as np

from dovetail.compat.tensorflow import graph_mode
from dovetail.compat.tensorflow.names.core import is_nested
from dovetail.compat.tensorflow.names.graph import GraphKeys
from dovetail.compat.tensorflow.names.kept_checkpoints import KeptCheckpoints
from dovetail.compat.tensorflow.table import function, value
from dovetail.core.dtypes import as_dtype
from dovetail.core.errors import op_error
from dovetail.core.files import replacing
from dovetail.core.variable import Variable

_DTYPES = "__dtypes__"  # the entry for dtypes that NumPy does not know

# -- files of arrays --------------------------------------------------------------------------------------------------


def _write(path: str, values: Mapping[str, Any]) -> str:
    """Write variables by name, and return the path, which has no suffix."""
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


def _give(values: Mapping[str, Any], arrays: Mapping[str, np.ndarray], path: str, reshape: bool = False) -> None:
    """Give variables the values of a checkpoint: all of them, or none.

    Args:
        reshape: whether a value may have another shape of as many elements.

    Raises:
        KeyError: a variable is not in the checkpoint.
        ValueError: a variable has another shape.
    """
    for name, variable in values.items():
        if name not in arrays:
            raise KeyError(f"the checkpoint {path!r} has no variable {name!r}; it has {', '.join(sorted(arrays))}.")
        if reshape and arrays[name].size == math.prod(variable.shape):
            continue
        if tuple(arrays[name].shape) != tuple(variable.shape):
            problem = (
                f"{name!r} has the shape {arrays[name].shape} in {path!r}, and the variable {tuple(variable.shape)}."
            )
            raise ValueError(problem)
    for name, variable in values.items():
        array = arrays[name].reshape(variable.shape)
        variable.load(array) if hasattr(variable, "load") else variable.assign(array)


def _note(path: str, known: list[str], state_name: str = "checkpoint") -> None:
    """List the checkpoints of a folder in its state file."""
    folder = Path(path).parent
    names = [os.path.relpath(p, folder) for p in known]
    lines = [f'model_checkpoint_path: "{names[-1]}"'] + [f'all_model_checkpoint_paths: "{name}"' for name in names]
    with replacing(folder / state_name) as file:
        file.write(("\n".join(lines) + "\n").encode())


@function("train.latest_checkpoint")
def latest_checkpoint(checkpoint_dir: str, latest_filename: str | None = None) -> str | None:
    """The latest checkpoint of a folder; None if there is none.

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
    """The names and shapes of the values in a checkpoint.

    Source: `tf.train.list_variables`.
    """
    return [(name, list(array.shape)) for name, array in sorted(_read(_prefix(ckpt_dir_or_file)).items())]


@function("train.load_variable")
def load_variable(ckpt_dir_or_file: str, name: str) -> np.ndarray:
    """A value in a checkpoint.

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
        """Whether there is a value with a name."""
        return name in self._arrays

    def get_tensor(self, name: str) -> np.ndarray:
        """The value with a name."""
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
    """A saver, which writes variables of a graph to checkpoints and restores them.

    Args:
        var_list: variables, or names → variables; by default all global variables of the graph.
        reshape: whether a value may be restored in another shape of as many elements.
        max_to_keep: how many checkpoints stay; None or 0 for all.
        keep_checkpoint_every_n_hours: as in `KeptCheckpoints`.
        defer_build: whether the saver takes the variables of the graph only at `build`, or when it is first used.
        allow_empty: whether there may be no variables.
        pad_step_number: whether the step in a path has eight digits.

    Raises:
        NotImplementedError: a definition of a saver, or another builder of one, is given.
        ValueError: there are no variables.

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
        write_version: Any = None,
        pad_step_number: bool = False,
        save_relative_paths: bool = False,
        filename: str | None = None,
    ) -> None:
        if saver_def is not None or builder is not None:
            problem = "savers are made of variables: leave saver_def and builder out."
            raise op_error(NotImplementedError, "tf.train.Saver", problem)
        self._given, self._reshapes, self._may_be_empty = var_list, reshape, allow_empty
        self._digits = 8 if pad_step_number else 0
        self._kept = KeptCheckpoints(max_to_keep, keep_checkpoint_every_n_hours)
        self._variables: dict[str, Any] | None = None
        if not defer_build:
            self.build()

    def build(self) -> None:
        """Take the variables."""
        given = self._given
        if given is None:
            given = graph_mode.open_graph().get_collection(GraphKeys.GLOBAL_VARIABLES)
        named = dict(given) if isinstance(given, Mapping) else {_name_of(v): v for v in given}
        if not named and not self._may_be_empty:
            raise op_error(ValueError, "tf.train.Saver", "there are no variables to save.")
        self._variables = named

    def _named(self) -> dict[str, Any]:
        if self._variables is None:
            self.build()
        return self._variables or {}

    @property
    def last_checkpoints(self) -> list[str]:
        """The kept checkpoints that it wrote, the latest last."""
        return list(self._kept.paths)

    def save(
        self,
        sess: Any,
        save_path: str,
        global_step: Any = None,
        latest_filename: str | None = None,
        meta_graph_suffix: str = "meta",
        write_meta_graph: bool = True,
        write_state: bool = True,
        strip_default_attrs: bool = False,
        save_debug_info: bool = False,
    ) -> str:
        """Write the values of a session, and return the path of the checkpoint, with the step at its end if given."""
        with _in_session(sess):
            step = None if global_step is None else int(np.asarray(_known(global_step)))
            path = str(save_path) if step is None else f"{save_path}-{step:0{self._digits}d}"
            _write(path, self._named())
        self._kept.add(path)
        if write_state:
            _note(path, self._kept.paths, latest_filename or "checkpoint")
        return path

    def restore(self, sess: Any, save_path: str) -> None:
        """Give the variables, in a session, the values of a checkpoint: all of them, or none.

        Raises:
            ValueError: there is no such checkpoint, or a shape differs.
            KeyError: a variable is not in it.
        """
        if save_path is None or not Path(f"{save_path}.npz").is_file():
            raise op_error(ValueError, "tf.train.Saver.restore", f"there is no checkpoint {save_path!r}.")
        with _in_session(sess):
            _give(self._named(), _read(str(save_path)), str(save_path), self._reshapes)


def _in_session(session: Any) -> AbstractContextManager[Any]:
    """Give variables the values of a session inside of the `with` block."""
    return nullcontext() if session is None else session.as_default()


def _name_of(variable: Any) -> str:
    return variable.op_name


def _known(number: Any) -> Any:
    return number.numpy() if hasattr(number, "numpy") else number


value("train.Saver", Saver, "v1")


class _Status:
    """The status of a restored checkpoint."""

    def assert_consumed(self) -> _Status:
        """Do nothing: if a variable had no value in the checkpoint, restoring failed."""
        return self

    assert_existing_objects_matched = assert_nontrivial_match = assert_consumed

    def expect_partial(self) -> _Status:
        """Do nothing: there are no warnings to silence."""
        return self


class Checkpoint:
    """A checkpoint of objects: it saves and restores the variables among their attributes.

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
        """Write the values, and return the path."""
        return _write(str(file_prefix), self._variables())

    def save(self, file_prefix: str, options: Any = None) -> str:
        """Write the values into a checkpoint with a number, and return its path."""
        self._count += 1
        path = self.write(f"{file_prefix}-{self._count}")
        _note(path, [path])
        return path

    def read(self, save_path: str, options: Any = None) -> _Status:
        """Give the variables the values of a checkpoint: all of them, or none."""
        _give(self._variables(), _read(str(save_path)), str(save_path))
        return _Status()

    def restore(self, save_path: str | None, options: Any = None) -> _Status:
        """Call `read`; do nothing for None."""
        return _Status() if save_path is None else self.read(save_path)


def _collect(part: Any, path: str, found: dict[str, Any], seen: set[int]) -> None:
    """Collect the variables in an object, by the path of attributes to them."""
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
    """A manager of the latest checkpoints in a folder.

    Args:
        checkpoint, directory: the objects to save, and the folder.
        max_to_keep, keep_checkpoint_every_n_hours: as in `KeptCheckpoints`.
        checkpoint_name: the beginning of the files' names.
        step_counter, checkpoint_interval: a variable, and by how much it must grow for `save` to write another one.
        init_fn: called by `restore_or_initialize` where there is no checkpoint.

    Source: `tf.train.CheckpointManager`.
    """

    def __init__(
        self,
        checkpoint: Checkpoint,
        directory: str,
        max_to_keep: int | None,
        keep_checkpoint_every_n_hours: Any = None,
        checkpoint_name: str = "ckpt",
        step_counter: Any = None,
        checkpoint_interval: int | None = None,
        init_fn: Callable[[], Any] | None = None,
    ) -> None:
        self._checkpoint, self._directory, self._init = checkpoint, str(directory), init_fn
        self._steps, self._interval = step_counter, checkpoint_interval
        self._last_step: Any = None
        self._prefix = str(Path(directory) / checkpoint_name)
        self._kept = KeptCheckpoints(max_to_keep, keep_checkpoint_every_n_hours)
        found = latest_checkpoint(self._directory)
        self._kept.paths = [] if found is None else [found]

    @property
    def latest_checkpoint(self) -> str | None:
        """The latest checkpoint."""
        return self._kept.paths[-1] if self._kept.paths else None

    @property
    def checkpoints(self) -> list[str]:
        """The kept checkpoints, the latest last."""
        return list(self._kept.paths)

    def save(self, checkpoint_number: Any = None, check_interval: bool = True, options: Any = None) -> str | None:
        """Write a checkpoint, and delete the oldest if there are too many; None if it is too early."""
        step: Any = None if self._steps is None else int(_known(self._steps))
        known = step is not None and self._last_step is not None
        if check_interval and self._interval and known and step - self._last_step < self._interval:
            return None
        latest = self.latest_checkpoint
        last = 0 if latest is None else int(latest.rpartition("-")[2])
        number = last + 1 if checkpoint_number is None else int(_known(checkpoint_number))
        path = self._checkpoint.write(f"{self._prefix}-{number}")
        self._kept.add(path)
        self._last_step = step
        _note(path, self._kept.paths)
        return path

    def restore_or_initialize(self) -> str | None:
        """Give the variables the values of the latest checkpoint; if there is none, call `init_fn`."""
        if self.latest_checkpoint is None and self._init is not None:
            self._init()
        self._checkpoint.restore(self.latest_checkpoint)
        return self.latest_checkpoint


value("train.CheckpointManager", CheckpointManager)
