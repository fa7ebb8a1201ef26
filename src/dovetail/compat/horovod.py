"""The names of `horovod.keras` and `horovod.tensorflow`: `import dovetail.compat.horovod as hvd`.

Each rank brings batches of its own.  Optimizers average the gradients of all ranks; all else is the rank's own.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np

from dovetail import distributed, ops
from dovetail.core.collectives import WORLD
from dovetail.core.hooks import hooks
from dovetail.distributed import init as init
from dovetail.distributed import rank as rank

size = distributed.world_size


def local_rank() -> int:
    """The number of this process on its machine.

    Source: `horovod.keras.local_rank`.

    Example:
        >>> import dovetail.compat.horovod as hvd
        >>> hvd.rank(), hvd.size(), hvd.local_rank()
        (0, 1, 0)
    """
    return int(os.environ.get("LOCAL_RANK", rank()))


def DistributedOptimizer(optimizer: Any, *args: Any, **options: Any) -> Any:  # Horovod's name
    """The optimizer, of Keras or of `tf.train`, which averages its gradients over all ranks from now on.

    Source: `horovod.keras.DistributedOptimizer`.
    """
    optimizer.averages_over_ranks = True
    return optimizer


class DistributedGradientTape:
    """A tape whose gradients are averages over all ranks.

    Source: `horovod.tensorflow.DistributedGradientTape`.
    """

    def __init__(self, gradtape: Any, *args: Any, **options: Any) -> None:
        self._tape = gradtape

    def gradient(self, target: Any, sources: Any, output_gradients: Any = None) -> Any:
        """The averages of the ranks' gradients, as the tape's own `gradient` gives one rank's."""
        found = self._tape.gradient(target, sources, output_gradients)
        return distributed.average(found) if isinstance(found, (list, tuple)) else distributed.average([found])[0]


def allreduce(value: Any, name: str | None = None, average: bool = True) -> Any:
    """The average, or the sum, of a tensor over all ranks.

    Source: `horovod.keras.allreduce`.

    Example:
        >>> allreduce([1., 2.]).numpy()
        array([1., 2.], dtype=float32)
    """
    return ops.all_reduce(value, "mean" if average else "sum")


def allgather(value: Any, name: str | None = None) -> Any:
    """The rows of all ranks.

    Source: `horovod.keras.allgather`.
    """
    return ops.all_gather(value)


def broadcast(value: Any, root_rank: int, name: str | None = None) -> Any:
    """The tensor of one rank.

    Source: `horovod.keras.broadcast`.
    """
    return ops.broadcast_from(value, root_rank)


def broadcast_variables(variables: Iterable[Any], root_rank: int) -> list[Any]:
    """Give all ranks the variables of one rank; in a graph, the assignments that do so.

    Source: `horovod.tensorflow.broadcast_variables`.
    """
    return [variable.assign(broadcast(variable, root_rank)) for variable in variables]


def broadcast_global_variables(root_rank: int) -> Any:
    """The operation that gives all ranks the variables of a graph of one rank.

    Source: `horovod.tensorflow.broadcast_global_variables`.
    """
    from dovetail.compat import tensorflow as tf

    return tf.compat.v1.group(*broadcast_variables(tf.compat.v1.global_variables(), root_rank))


def _hook() -> Any:
    from dovetail.compat import tensorflow as tf

    class BroadcastGlobalVariablesHook(tf.compat.v1.train.SessionRunHook):
        """Gives all ranks the variables of one rank, once a session has made them."""

        def __init__(self, root_rank: int, device: str = "") -> None:
            self._root = root_rank

        def begin(self) -> None:
            self._operation = broadcast_global_variables(self._root)

        def after_create_session(self, session: Any, coord: Any) -> None:
            session.run(self._operation)

    return BroadcastGlobalVariablesHook


def _callbacks() -> Any:
    hooks.run_keras()
    import keras

    class BroadcastGlobalVariablesCallback(keras.callbacks.Callback):
        """Gives all ranks the model's variables of one rank, as training begins."""

        def __init__(self, root_rank: int, device: str = "") -> None:
            super().__init__()
            self._root = root_rank

        def on_train_begin(self, logs: Any = None) -> None:
            for variable in [*self.model.variables, *self.model.optimizer.variables]:
                value = keras.ops.convert_to_numpy(variable)
                variable.assign(WORLD.exchange("Broadcast", value, (), self._root))

    class MetricAverageCallback(keras.callbacks.Callback):
        """Averages the logs of each epoch over all ranks, for the callbacks after it."""

        def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
            for name, value in sorted(logs.items()):
                logs[name] = float(WORLD.exchange("AllReduce", np.asarray(float(value)), (), "mean"))

    class LearningRateWarmupCallback(keras.callbacks.Callback):
        """Raises the learning rate by the number of ranks in the first epochs (Goyal et al. 2017)."""

        def __init__(self, warmup_epochs: float = 5, **options: Any) -> None:
            super().__init__()
            self._epochs = warmup_epochs

        def on_train_begin(self, logs: Any = None) -> None:
            self._rate = float(keras.ops.convert_to_numpy(self.model.optimizer.learning_rate))

        def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
            self._epoch = epoch

        def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
            done = min(1.0, (self._epoch + batch / self.params["steps"]) / self._epochs)
            if self._epoch <= self._epochs:
                self.model.optimizer.learning_rate = self._rate * (1 + done * (size() - 1)) / size()

    kinds = (BroadcastGlobalVariablesCallback, MetricAverageCallback, LearningRateWarmupCallback)
    return SimpleNamespace(**{kind.__name__: kind for kind in kinds})


_MADE = {"callbacks": cache(_callbacks), "BroadcastGlobalVariablesHook": cache(_hook)}


def __getattr__(name: str) -> Any:
    if name not in _MADE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return _MADE[name]()
