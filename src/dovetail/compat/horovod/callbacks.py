"""The callbacks of `horovod.keras`."""

from __future__ import annotations

from math import inf
from typing import Any

import keras
import numpy as np

from dovetail.compat import horovod as hvd
from dovetail.core.engines.collectives import WORLD


class BroadcastGlobalVariablesCallback(keras.callbacks.Callback):
    """Gives all ranks the model's weights and its optimizer's state of one rank, as training begins."""

    def __init__(self, root_rank: int, device: str = "") -> None:
        super().__init__()
        self._root = root_rank

    def on_train_begin(self, logs: Any = None) -> None:
        self.model.optimizer.build(self.model.trainable_variables)
        for variable in [*self.model.weights, *self.model.optimizer.variables]:  # at once, also with a graph open
            variable.assign(WORLD.exchange("Broadcast", keras.ops.convert_to_numpy(variable), (), self._root))


class MetricAverageCallback(keras.callbacks.Callback):
    """Averages the logs of each epoch over all ranks, for the callbacks after it."""

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        means = WORLD.exchange("AllReduce", np.array([float(logs[name]) for name in sorted(logs)]), (), "mean")
        logs.update(zip(sorted(logs), means.tolist(), strict=True))


class LearningRateScheduleCallback(keras.callbacks.Callback):
    """Multiplies the first learning rate in the epochs from `start_epoch` to before `end_epoch`.

    Args:
        multiplier: a number, or a function of the epoch; without `staircase`, of the epoch and its part so far.
        momentum_correction: whether SGD's velocities change with the rate (Goyal et al. 2017).

    Source: `horovod.keras.callbacks.LearningRateScheduleCallback` of 2018.
    """

    def __init__(
        self,
        multiplier: Any,
        start_epoch: int = 0,
        end_epoch: float | None = None,
        staircase: bool = True,
        momentum_correction: bool = True,
        steps_per_epoch: Any = None,
        initial_lr: float | None = None,
    ) -> None:
        super().__init__()
        self._multiplier = multiplier if callable(multiplier) else lambda epoch: multiplier
        self._start, self._end = start_epoch, inf if end_epoch is None else end_epoch
        self._is_staircase = staircase or not callable(multiplier)
        self._corrects, self._steps, self._first = momentum_correction, steps_per_epoch, initial_lr

    def on_train_begin(self, logs: Any = None) -> None:
        self._steps, self._first = self._steps or self.params["steps"], self._first or self._rate()

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        self._epoch = epoch

    def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
        if not self._start <= self._epoch < self._end or (self._is_staircase and batch):
            return
        part = 0 if self._is_staircase else batch / self._steps
        before, after = self._rate(), self._first * self._multiplier(self._epoch + part)
        self.model.optimizer.learning_rate = after
        for velocity in getattr(self.model.optimizer, "momentums", ()) if self._corrects else ():
            velocity.assign(keras.ops.convert_to_numpy(velocity) * (after / before))

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        logs["lr"] = self._rate()

    def _rate(self) -> float:
        return float(keras.ops.convert_to_numpy(self.model.optimizer.learning_rate))


class LearningRateWarmupCallback(LearningRateScheduleCallback):
    """Raises the learning rate by the number of ranks in the first epochs (Goyal et al. 2017)."""

    def __init__(
        self,
        warmup_epochs: float = 5,
        momentum_correction: bool = True,
        steps_per_epoch: Any = None,
        verbose: int = 0,
        initial_lr: float | None = None,
    ) -> None:
        def multiplier(epoch: float) -> float:
            return (1 + (epoch + 1 / self._steps) * (hvd.size() - 1) / warmup_epochs) / hvd.size()

        super().__init__(multiplier, 0, warmup_epochs, False, momentum_correction, steps_per_epoch, initial_lr)
        self._tells = bool(verbose) and hvd.rank() == 0

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        super().on_epoch_end(epoch, logs)
        if self._tells and epoch == self._end - 1:
            print(f"\nEpoch {epoch + 1}: the learning rate has risen to {logs['lr']:g}.")
