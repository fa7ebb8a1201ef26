"""TensorFlow's names for checkpoints of objects, which hold the variables among their attributes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from dovetail.compat.tensorflow.names import checkpoint_files as files
from dovetail.compat.tensorflow.names.checkpoints import known_number
from dovetail.compat.tensorflow.names.kept_checkpoints import KeptCheckpoints
from dovetail.compat.tensorflow.names.structures import is_nested
from dovetail.compat.tensorflow.table import value
from dovetail.core.variable import Variable
from dovetail.formats.wire import objects
from dovetail.formats.wire.libraries import need

COUNTER = ("save_counter",)  # the path of the variable that counts the saved checkpoints


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

    The file has TensorFlow's keys, as `net/w/.ATTRIBUTES/VARIABLE_VALUE`, and its graph of objects.

    Source: `tf.train.Checkpoint`.
    """

    def __init__(self, root: Any = None, **kwargs: Any) -> None:
        self._root, self._parts = root, kwargs
        self._counter: Any = None
        vars(self).update(kwargs)

    @property
    def save_counter(self) -> Any:
        """The variable that counts the saved checkpoints."""
        if self._counter is None:
            self._counter = Variable(0, dtype="int64", trainable=False, name="save_counter")
        return self._counter

    def _variables(self) -> dict[objects.Path, Any]:
        found: dict[objects.Path, Any] = {} if self._counter is None else {COUNTER: self._counter}
        given = {} if self._root is None else vars(self._root)
        for name, part in (given | self._parts).items():
            _collect(part, (name,), found, set())
        return found

    def write(self, file_prefix: str, options: Any = None) -> str:
        """Write the values, and return the path.

        Raises:
            ImportError: the extra `formats` is not installed.
        """
        need("tf.train.Checkpoint.write")
        graph, keyed = objects.object_graph(self._variables())
        return files.write(str(file_prefix), {**keyed, objects.GRAPH: graph}, "tf.train.Checkpoint.write")

    def save(self, file_prefix: str, options: Any = None) -> str:
        """Write the values into a checkpoint with a number, and return its path."""
        need("tf.train.Checkpoint.save")
        self.save_counter.assign(int(known_number(self.save_counter)) + 1)
        path = self.write(f"{file_prefix}-{int(known_number(self.save_counter))}")
        files.note(path, [path])
        return path

    def read(self, save_path: str, options: Any = None) -> _Status:
        """Give the variables the values of a checkpoint: all of them, or none.

        Raises:
            FileNotFoundError: there is no such checkpoint.
            KeyError, ValueError: a variable is not in it, or has another shape.
            FormatError: it is damaged.
        """
        path = str(save_path)
        arrays = files.read(path)
        keys = _keys(arrays, path)
        if keys(COUNTER) in arrays:
            self.save_counter  # noqa: B018  # it is made, to get its value
        named = {keys(place) or "/".join(place): variable for place, variable in self._variables().items()}
        if keys(COUNTER) not in arrays:
            named.pop("/".join(COUNTER), None)
        files.give(named, arrays, path)
        return _Status()

    def restore(self, save_path: str | None, options: Any = None) -> _Status:
        """Call `read`; do nothing for None."""
        return _Status() if save_path is None else self.read(save_path)


def _keys(arrays: Mapping[str, Any], path: str) -> Callable[[objects.Path], str | None]:
    """The key of the variable on a path, in a checkpoint of objects, or in one of other names."""
    if objects.GRAPH not in arrays:
        return "/".join
    return objects.StoredObjects(arrays[objects.GRAPH], path).key


def _collect(part: Any, path: objects.Path, found: dict[objects.Path, Any], seen: set[int]) -> None:
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
        pairs = vars(part).items() if hasattr(part, "__dict__") and not isinstance(part, (type, ModuleType)) else ()
    for name, inner in list(pairs):
        _collect(inner, (*path, str(name)), found, seen)


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
        found = files.latest_checkpoint(self._directory)
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
        step: Any = None if self._steps is None else int(known_number(self._steps))
        known = step is not None and self._last_step is not None
        if check_interval and self._interval and known and step - self._last_step < self._interval:
            return None
        latest = self.latest_checkpoint
        last = 0 if latest is None else int(latest.rpartition("-")[2])
        number = last + 1 if checkpoint_number is None else int(known_number(checkpoint_number))
        self._checkpoint.save_counter.assign(number)
        path = self._checkpoint.write(f"{self._prefix}-{number}")
        self._kept.add(path)
        self._last_step = step
        files.note(path, self._kept.paths)
        return path

    def restore_or_initialize(self) -> str | None:
        """Give the variables the values of the latest checkpoint; if there is none, call `init_fn`."""
        if self.latest_checkpoint is None and self._init is not None:
            self._init()
        self._checkpoint.restore(self.latest_checkpoint)
        return self.latest_checkpoint


value("train.CheckpointManager", CheckpointManager)
