"""TensorFlow's strategies: a replica is a process, as `dovetail run --processes` starts them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass
from enum import Enum
from importlib import import_module
from operator import itemgetter
from typing import Any

import numpy as np

from dovetail import distributed, ops
from dovetail.backend.seeds import system_seed
from dovetail.compat.tensorflow.entries import value
from dovetail.compat.tensorflow.names.random.draws import has_seed, set_seed
from dovetail.compat.tensorflow.table import function
from dovetail.core.base.hooks import hooks
from dovetail.core.engines.collectives import WORLD
from dovetail.core.values.structure import flatten, map_structure
from dovetail.distributed.random_states import same_random_state
from dovetail.distributed.replicas import all_rows, as_replica
from dovetail.distributed.shares import parts


class ReduceOp(Enum):
    """How values of replicas become one.

    Source: `tf.distribute.ReduceOp`.
    """

    SUM = "SUM"
    MEAN = "MEAN"


class CollectiveCommunication(Enum):
    """Who carries values between replicas; here it is torch.distributed, whatever is named.

    Source: `tf.distribute.experimental.CollectiveCommunication`.
    """

    AUTO = "AUTO"
    RING = "RING"
    NCCL = "NCCL"


class CrossDeviceOps:
    """A way in which values of replicas become one, or options for it; it changes no numbers.

    Source: `tf.distribute.CrossDeviceOps`.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        pass


@dataclass(frozen=True)
class InputContext:
    """The argument of a function that makes a replica's data set.

    Source: `tf.distribute.InputContext`.
    """

    num_input_pipelines: int = 1
    input_pipeline_id: int = 0
    num_replicas_in_sync: int = 1

    def get_per_replica_batch_size(self, global_batch_size: int) -> int:
        """The rows of each replica."""
        if global_batch_size % self.num_replicas_in_sync:
            raise ValueError(f"{global_batch_size} rows do not divide among {self.num_replicas_in_sync} replicas.")
        return global_batch_size // self.num_replicas_in_sync


class DistributedDataset:
    """A data set of which each replica gets its rows of each batch, as `distributed.init(shares=…)` divides them.

    Source: `tf.distribute.DistributedDataset`.
    """

    def __init__(self, dataset: Iterable[Any]) -> None:
        self._dataset: Any = dataset

    def __iter__(self) -> Iterator[Any]:
        for batch in self._dataset:
            counts = parts(len(flatten(batch)[0][0]))
            start = sum(counts[: WORLD.rank])
            yield map_structure(itemgetter(slice(start, start + counts[WORLD.rank])), batch)

    def __len__(self) -> int:
        return len(self._dataset)


class Strategy:
    """The strategy of a program that names none: one replica computes.

    Source: `tf.distribute.Strategy`.
    """

    num_replicas_in_sync = 1
    _id = 0  # of this replica

    @contextmanager
    def scope(self) -> Iterator[None]:
        """A `with` block in which the strategy is the current one."""
        with self._as_current():
            yield

    def run(self, fn: Callable[..., Any], args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None) -> Any:
        """The result of a function of this replica; optimizers inside of it add up the gradients of all replicas."""
        with self._as_current(), as_replica() if self.num_replicas_in_sync > 1 else nullcontext():
            return fn(*args, **(kwargs or {}))

    experimental_run_v2 = run

    def reduce(self, reduce_op: Any, value: Any, axis: int | None = None) -> Any:
        """Reduce the values of all replicas to one.

        Args:
            reduce_op: "SUM" or "MEAN", or a `ReduceOp`.
            value: a number, a tensor, or a nested structure of them.
            axis: an axis of each value that is reduced, too; replicas may have different sizes of it.
        """
        how = reduction(reduce_op)

        def reduced(part: Any) -> Any:
            part = ops.convert(part)
            if axis is None:
                return self._all(part, how)
            total = self._all(ops.sum(part, axis), "sum")
            count = self._all(ops.convert(part.shape[axis], total.dtype), "sum") if how == "mean" else 1
            return total / count

        return map_structure(reduced, value)

    def gather(self, value: Any, axis: int) -> Any:
        """The values of all replicas, one after another along an axis."""
        if self.num_replicas_in_sync == 1:
            return value
        return ops.swapaxes(all_rows(ops.swapaxes(value, 0, axis)), 0, axis)

    def experimental_local_results(self, value: Any) -> tuple[Any, ...]:
        """The values of the replicas of this process, which is one."""
        return (value,)

    def experimental_distribute_dataset(self, dataset: Iterable[Any], options: Any = None) -> Any:
        """A data set of which each replica gets its rows of each batch."""
        return dataset if self.num_replicas_in_sync == 1 else DistributedDataset(dataset)

    def distribute_datasets_from_function(self, dataset_fn: Callable[[InputContext], Any], options: Any = None) -> Any:
        """The data set that a function makes for this replica."""
        return dataset_fn(InputContext(self.num_replicas_in_sync, self._id, self.num_replicas_in_sync))

    experimental_distribute_datasets_from_function = distribute_datasets_from_function

    @contextmanager
    def _as_current(self) -> Iterator[None]:
        before = _CURRENT.set(self)
        try:
            yield
        finally:
            _CURRENT.reset(before)

    def _all(self, value: Any, how: Any) -> Any:
        return value if self.num_replicas_in_sync == 1 else ops.all_reduce(value, how)


def reduction(reduce_op: Any) -> str:
    """The name of a reduction, as Dovetail's ops have it."""
    return str(ReduceOp(getattr(reduce_op, "value", str(reduce_op).upper())).value).lower()


class MirroredStrategy(Strategy):
    """Each process of `dovetail run --processes` is a replica, which begins with the random numbers of the first.

    Models of Keras that are compiled after `scope` was entered train by all replicas' rows of each batch.

    Source: `tf.distribute.MirroredStrategy`, `tf.distribute.MultiWorkerMirroredStrategy`.

    Example:
        >>> from dovetail.compat import tensorflow as tf
        >>> strategy = tf.distribute.MirroredStrategy()  # in one process
        >>> strategy.num_replicas_in_sync, strategy.reduce("SUM", 2.0, axis=None).numpy().item()
        (1, 2.0)
    """

    def __init__(self, devices: Any = None, cross_device_ops: Any = None, **options: Any) -> None:
        distributed.init()
        self.num_replicas_in_sync, self._id = WORLD.size, WORLD.rank
        if WORLD.size > 1:
            same_random_state()
            seed = WORLD.exchange("Broadcast", np.array(system_seed()), (), 0)
            if not has_seed():
                set_seed(int(seed))

    @contextmanager
    def scope(self) -> Iterator[None]:
        """A `with` block in which the strategy is the current one; Keras' models train by it from then on."""
        if self.num_replicas_in_sync > 1:
            hooks.run_keras()
            distribution: Any = import_module("keras").distribution
            distribution.set_distribution(distribution.DataParallel())
        with super().scope():
            yield


class OneDeviceStrategy(Strategy):
    """Each process computes alone.

    Source: `tf.distribute.OneDeviceStrategy`.
    """

    def __init__(self, device: Any = None) -> None:
        pass


_STRATEGY = Strategy()
_CURRENT: ContextVar[Strategy] = ContextVar("strategy", default=_STRATEGY)


class ReplicaContext:
    """The replica that computes.

    Source: `tf.distribute.ReplicaContext`.
    """

    @property
    def strategy(self) -> Strategy:
        """The current strategy."""
        return _CURRENT.get()

    @property
    def num_replicas_in_sync(self) -> int:
        """The number of replicas."""
        return self.strategy.num_replicas_in_sync

    @property
    def replica_id_in_sync_group(self) -> int:
        """The number of this replica."""
        return self.strategy._id

    def merge_call(
        self, merge_fn: Callable[..., Any], args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        """The result of a function of the strategy and of the values of all replicas."""
        return merge_fn(self.strategy, *args, **(kwargs or {}))

    def all_reduce(self, reduce_op: Any, value: Any) -> Any:
        """Reduce the values of all replicas to one, as `Strategy.reduce`."""
        return self.strategy.reduce(reduce_op, value)


_REPLICA = ReplicaContext()
for _kind in (ReplicaContext, ReduceOp, InputContext, DistributedDataset, Strategy):
    value(f"distribute.{_kind.__name__}", _kind)
value(
    "distribute.MirroredStrategy distribute.MultiWorkerMirroredStrategy "
    "distribute.experimental.MultiWorkerMirroredStrategy contrib.distribute.MirroredStrategy "
    "contrib.distribute.CollectiveAllReduceStrategy",
    MirroredStrategy,
)
value(
    "distribute.CrossDeviceOps distribute.HierarchicalCopyAllReduce distribute.NcclAllReduce "
    "distribute.ReductionToOneDevice contrib.distribute.AllReduceCrossDeviceOps "
    "distribute.experimental.CommunicationOptions distribute.experimental.CollectiveHints",
    CrossDeviceOps,
)
value(
    "distribute.experimental.CollectiveCommunication distribute.experimental.CommunicationImplementation",
    CollectiveCommunication,
)
value("distribute.OneDeviceStrategy contrib.distribute.OneDeviceStrategy", OneDeviceStrategy)


@function("distribute.get_replica_context")
def get_replica_context() -> ReplicaContext:
    """The replica that computes.

    Source: `tf.distribute.get_replica_context`.
    """
    return _REPLICA


@function("distribute.get_strategy")
def get_strategy() -> Strategy:
    """The current strategy.

    Source: `tf.distribute.get_strategy`.
    """
    return _CURRENT.get()


@function("distribute.has_strategy")
def has_strategy() -> bool:
    """Whether the program is in the scope of a strategy that it named.

    Source: `tf.distribute.has_strategy`.
    """
    return _CURRENT.get() is not _STRATEGY


value("distribute.in_cross_replica_context", lambda: False)


@function("nn.compute_average_loss")
def compute_average_loss(per_example_loss: Any, sample_weight: Any = None, global_batch_size: Any = None) -> Any:
    """This replica's part of the mean of the losses of all replicas, which their gradients add up to.

    Args:
        per_example_loss: the losses of this replica's rows.
        sample_weight: weights that they are multiplied with.
        global_batch_size: the rows of all replicas; by default, as many on each.

    Source: `tf.nn.compute_average_loss`.
    """
    losses = ops.convert(per_example_loss)
    total = ops.sum(losses if sample_weight is None else losses * ops.cast(sample_weight, losses.dtype))
    rows = _CURRENT.get().num_replicas_in_sync * losses.shape[0] if global_batch_size is None else global_batch_size
    return total / ops.cast(rows, losses.dtype)


@function("nn.scale_regularization_loss")
def scale_regularization_loss(regularization_loss: Any) -> Any:
    """This replica's part of a loss that all replicas compute.

    Source: `tf.nn.scale_regularization_loss`.
    """
    return ops.sum(regularization_loss) / _CURRENT.get().num_replicas_in_sync
