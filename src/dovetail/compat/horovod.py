"""The names of Horovod for programs of Keras: `import dovetail.compat.horovod as hvd`.

As with Horovod, each rank brings batches of its own, and its optimizer gets the average of all ranks' gradients.
"""

from __future__ import annotations

import os
from functools import cache
from types import SimpleNamespace
from typing import Any

from dovetail import distributed, ops
from dovetail.distributed import rank as rank

size = distributed.world_size


def init() -> None:
    """Join the other processes; Keras then averages gradients over them.

    Source: `horovod.keras.init`.

    Example:
        >>> import dovetail.compat.horovod as hvd
        >>> hvd.rank(), hvd.size(), hvd.local_rank()
        (0, 1, 0)
    """
    import keras

    distributed.init()
    keras.distribution.set_distribution(keras.distribution.DataParallel(auto_shard_dataset=False))


def local_rank() -> int:
    """The number of this process on its machine.

    Source: `horovod.keras.local_rank`.
    """
    return int(os.environ.get("LOCAL_RANK", rank()))


def DistributedOptimizer(optimizer: Any) -> Any:  # Horovod's name
    """The optimizer itself: after `init`, each optimizer of Keras averages its gradients.

    Source: `horovod.keras.DistributedOptimizer`.
    """
    return optimizer


def allreduce(value: Any, average: bool = True) -> Any:
    """The average, or the sum, of a tensor over all ranks.

    Source: `horovod.keras.allreduce`.

    Example:
        >>> allreduce([1., 2.]).numpy()
        array([1., 2.], dtype=float32)
    """
    return ops.all_reduce(value, "mean" if average else "sum")


def allgather(value: Any) -> Any:
    """The rows of all ranks.

    Source: `horovod.keras.allgather`.
    """
    return ops.all_gather(value)


def broadcast(value: Any, root_rank: int) -> Any:
    """The tensor of one rank.

    Source: `horovod.keras.broadcast`.
    """
    return ops.broadcast_from(value, root_rank)


@cache
def _callbacks() -> SimpleNamespace:
    import keras

    class BroadcastGlobalVariablesCallback(keras.callbacks.Callback):
        """Gives all ranks the model's variables of one rank, as training begins."""

        def __init__(self, root_rank: int) -> None:
            super().__init__()
            self._root = root_rank

        def on_train_begin(self, logs: Any = None) -> None:
            for variable in [*self.model.variables, *self.model.optimizer.variables]:
                variable.assign(broadcast(variable.value, self._root))

    class MetricAverageCallback(keras.callbacks.Callback):
        """Averages the logs of each epoch over all ranks, for the callbacks after it."""

        def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
            logs.update({name: float(allreduce(float(value))) for name, value in sorted(logs.items())})

    return SimpleNamespace(
        BroadcastGlobalVariablesCallback=BroadcastGlobalVariablesCallback, MetricAverageCallback=MetricAverageCallback
    )


def __getattr__(name: str) -> Any:
    if name != "callbacks":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return _callbacks()
