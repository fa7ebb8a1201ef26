"""Keras' BackupAndRestore over ranks: it writes checkpoints of `dovetail.distributed`, and resumes within an epoch."""

from __future__ import annotations

import shutil
from typing import Any

import numpy as np

from dovetail.core.engines.collectives import WORLD
from dovetail.distributed import Checkpoints, barrier
from dovetail.distributed.random_states import random_state, set_random_state
from dovetail.interop.privates import BackupAndRestore, Callback
from keras_dovetail.src.batches import Batches
from keras_dovetail.src.parallel import merging


class Backup(Callback):
    """A callback that does for several ranks what Keras' `BackupAndRestore` does for one process.

    A checkpoint has all variables of the model, its optimizer and metrics, and the random states from which the order
    of the data follows.  Training goes on at the batch after it, also with another number of ranks.

    Args:
        given: Keras' callback, whose settings count.
        batches: the batches of `fit`.
    """

    def __init__(self, given: Any, batches: Batches) -> None:
        super().__init__()
        self._folder, self._is_deleted = given.backup_dir, given.delete_checkpoint
        self._keep = 2 if given.double_checkpoint else 1
        self._each_epoch = given.save_freq == "epoch"
        self._every = 0 if self._each_epoch else int(given.save_freq)
        self._batches = batches
        self._epoch = self._step = 0
        self._ended = self._unsaved = 0  # batches of this epoch, and since the last checkpoint
        self._begin: dict[str, Any] | None = None  # the epoch in which Keras began to read the data; the random states
        self._resumed: dict[str, Any] | None = None  # the position in the data
        self._metrics: list[_Later] = []  # of metrics that Keras resets first
        if self._every:  # else Keras would call it after each batch
            self.on_train_batch_end = self._batch_ended

    def on_train_begin(self, logs: Any = None) -> None:
        """Restore the last checkpoint."""
        self._checkpoints = Checkpoints(self._folder, self._keep)
        optimizer = self.model.optimizer
        if optimizer is not None and not optimizer.built:
            optimizer.build(self.model.trainable_variables)
        self._metrics = [_Later(variable) for metric in self.model.metrics for variable in metric.variables]
        checkpoint = self._checkpoints.restore(
            self._variables() | {f"metrics/{i}": v for i, v in enumerate(self._metrics)}
        )
        if checkpoint is not None:
            self._step, self._resumed = checkpoint.step, checkpoint.position
            self.model._initial_epoch = checkpoint.position["epoch"]

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        """Find the place in the data."""
        resumed, self._resumed = self._resumed, None
        self._epoch, self._ended = epoch, resumed["batch"] if resumed else 0
        if resumed is None:
            if self._begin is None or self._batches.steps_per_epoch is None:  # the data are read from the first on
                self._begin = {"epoch": epoch, "random": random_state()}
            return
        self._begin = resumed["begin"]
        set_random_state(self._begin["random"])
        self._batches.skip(epoch - self._begin["epoch"], resumed["batch"])
        summed = {id(variable) for variable, how in merging.partial(self.model) if how == "sum" and WORLD.rank}
        for metric in self._metrics if resumed["batch"] else ():
            if id(metric.variable) not in summed:  # else rank 0 has the sum
                metric.restore()

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        """Write a checkpoint, if each epoch has one."""
        if self._each_epoch:
            begin = {"epoch": epoch + 1, "random": random_state()}
            self._save(epoch + 1, 0, begin if self._batches.steps_per_epoch is None else self._begin)

    def _batch_ended(self, batch: int, logs: Any = None) -> None:
        self._unsaved, self._ended = self._unsaved + batch + 1 - self._ended, batch + 1
        if self._unsaved >= self._every:  # as Keras counts: through the epochs
            self._unsaved = 0
            self._save(self._epoch, self._ended, self._begin)

    def on_train_end(self, logs: Any = None) -> None:
        """Wait for the last checkpoint, and delete all if the callback says so."""
        self._checkpoints.wait()
        barrier()
        if self._is_deleted and WORLD.rank == 0:
            shutil.rmtree(self._folder)

    def _save(self, epoch: int, batch: int, begin: Any) -> None:
        self._step += 1
        pairs = merging.partial(self.model)
        of_all = {id(variable): value for (variable, _), value in zip(pairs, merging.merged(pairs), strict=True)}
        own = self._variables() | {f"metrics/{i}": metric.variable for i, metric in enumerate(self._metrics)}
        values = {name: of_all.get(id(variable), variable) for name, variable in own.items()}
        self._checkpoints.save(self._step, values, {"epoch": epoch, "batch": batch, "begin": begin})

    def _variables(self) -> dict[str, Any]:
        """The variables of the model and the optimizer, by their places."""
        model, optimizer = self.model.variables, self.model.optimizer.variables if self.model.optimizer else []
        named = {f"model/{i}": variable for i, variable in enumerate(model)}
        return named | {f"optimizer/{i}": variable for i, variable in enumerate(optimizer)}


class _Later:
    """A metric's variable that gets a restored value when Keras has reset it."""

    def __init__(self, variable: Any) -> None:
        self.variable, self.shape, self.dtype = variable, variable.shape, variable.dtype

    def assign(self, value: np.ndarray) -> None:
        self._value = value

    def restore(self) -> None:
        self.variable.assign(self._value)


def over_ranks(callbacks: list[Any], batches: Batches) -> list[Any]:
    """The callbacks, with a `Backup` for each of Keras' `BackupAndRestore`."""
    return [Backup(one, batches) if type(one) is BackupAndRestore else one for one in callbacks]
