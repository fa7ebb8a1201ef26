"""TensorFlow's names for checkpoints of objects, which hold the variables among their attributes."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from dovetail.compat.tensorflow.entries import value
from dovetail.compat.tensorflow.names.array.structures import is_nested
from dovetail.compat.tensorflow.names.saving import checkpoint_files as files
from dovetail.compat.tensorflow.names.saving.checkpoints import known_number
from dovetail.compat.tensorflow.names.saving.kept_checkpoints import KeptCheckpoints
from dovetail.core.base.errors import op_error
from dovetail.core.values.variable import Variable
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

    def _objects(self) -> _Objects:
        """The variables and Keras' optimizers among the attributes."""
        collected = _Objects()
        if self._counter is not None:
            collected.variables[COUNTER] = self._counter
        root = self._root
        given = {"": root} if _of_keras(root) else {} if root is None else vars(root)
        for name, part in (given | self._parts).items():
            collected.collect(part, (name,) if name else (), set())
        collected.collect_optimizers()
        return collected

    def write(self, file_prefix: str, options: Any = None) -> str:
        """Write the values, and return the path.

        Raises:
            ImportError: the extra `formats` is not installed.
        """
        need("tf.train.Checkpoint.write")
        graph, keyed = objects.object_graph(self._objects().variables)
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
        stored = objects.StoredObjects(arrays[objects.GRAPH], path) if objects.GRAPH in arrays else None
        key_of: Callable[[objects.Path], str | None] = "/".join if stored is None else stored.key
        if key_of(COUNTER) in arrays:
            self.save_counter  # noqa: B018  # it is made, to get its value
        known_objects = self._objects()
        known_objects.check_built(arrays)
        paths = known_objects.paths()
        if key_of(COUNTER) not in arrays:
            known_objects.variables.pop(COUNTER, None)
        kept = {
            place
            for path in known_objects.optimizers
            for place in known_objects.variables
            if stored and place[: len(path)] == path
        }
        named: dict[str, Any] = {}
        for variable in {
            id(each): each for place, each in known_objects.variables.items() if place not in kept
        }.values():
            known = [place for place, each in known_objects.variables.items() if each is variable]
            named[next((key for place in known if (key := key_of(place)) in arrays), None) or "/".join(known[0])] = (
                variable
            )
        givers = []
        for place, optimizer in known_objects.optimizers.items() if stored else ():
            givers.append(give := _Giver(optimizer, place, stored, paths, arrays, path))
            if optimizer.built:
                named |= give.named()
        files.give(named, arrays, path)
        for give in givers:
            tracked().give_when_built(give.optimizer, give)
        return _Status()

    def restore(self, save_path: str | None, options: Any = None) -> _Status:
        """Call `read`; do nothing for None."""
        return _Status() if save_path is None else self.read(save_path)


class _Objects:
    """The variables that objects hold, by the paths of attributes to them, and Keras' optimizers."""

    def __init__(self) -> None:
        self.variables: dict[objects.Path, Any] = {}
        self.optimizers: dict[objects.Path, Any] = {}
        self.unbuilt: dict[objects.Path, Any] = {}
        self._compiled: dict[objects.Path, Any] = {}

    def collect(self, part: Any, path: objects.Path, seen: set[int]) -> None:
        """Collect what is in an object."""
        if isinstance(part, Variable):
            self.variables[path] = part
        elif id(part) in seen:
            return
        elif _of_keras(part):
            if hasattr(part, "apply_gradients"):
                self.optimizers[path] = part
            elif getattr(part, "optimizer", None) is not None:
                self._compiled[(*path, "optimizer")] = part.optimizer
            if not getattr(part, "built", True):
                self.unbuilt[path] = part
            self.variables |= {(*path, *place): variable for place, variable in tracked().variables(part)}
        else:
            seen.add(id(part))
            for name, inner in _parts(part):
                self.collect(inner, (*path, str(name)), seen)

    def collect_optimizers(self) -> None:
        """Collect the optimizers of models that are compiled, unless they are among the objects."""
        for path, optimizer in self._compiled.items():
            if not any(optimizer is known for known in self.optimizers.values()):
                self.collect(optimizer, path, set())

    def paths(self) -> dict[int, list[objects.Path]]:
        """The paths to each variable, by its `id`."""
        paths_to: dict[int, list[objects.Path]] = {}
        for path, variable in self.variables.items():
            paths_to.setdefault(id(variable), []).append(path)
        return paths_to

    def check_built(self, arrays: Mapping[str, Any]) -> None:
        """Raise ValueError if a layer has no variables yet, and the checkpoint has some of it."""
        for path, part in self.unbuilt.items():
            if path not in self.optimizers and any(key.startswith("/".join((*path, ""))) for key in arrays):
                advice = "call it on data, or build it with a shape, first"
                problem = f"{'/'.join(path) or 'the root'}, {part.name!r}, has no variables yet: {advice}."
                raise op_error(ValueError, "tf.train.Checkpoint.restore", problem)


class _Giver:
    """A function that gives the variables of an optimizer their values in a checkpoint."""

    def __init__(self, optimizer: Any, *place: Any) -> None:
        self.optimizer, self._place = optimizer, place
        self._given = optimizer.built  # with all other variables

    def named(self) -> dict[str, Any]:
        """The variables by their keys."""
        path, stored, paths, *_ = self._place
        return tracked().restored(self.optimizer, path, stored, paths)

    def __call__(self) -> None:
        named = self.named()
        if not self._given:
            files.give(named, *self._place[3:])
        tracked().finish(self.optimizer, named)


def _parts(part: Any) -> list[tuple[Any, Any]]:
    """The members of a structure, or the attributes of an object."""
    if is_nested(part):
        return list(part.items() if isinstance(part, Mapping) else enumerate(part))
    has_attributes = hasattr(part, "__dict__") and not isinstance(part, (type, ModuleType))
    return list(vars(part).items()) if has_attributes else []


def tracked() -> Any:
    """The module that knows the parts of Keras."""
    return import_module("dovetail.interop.keras_files.tracked")


def _of_keras(part: Any) -> bool:
    """Whether an object is a part of Keras on Dovetail."""
    return "keras" in sys.modules and tracked().is_part(part)


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
        latest = files.latest_checkpoint(self._directory)
        self._kept.paths = [] if latest is None else [latest]

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
