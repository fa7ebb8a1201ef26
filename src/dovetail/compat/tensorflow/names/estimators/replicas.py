"""Estimators in several processes: `tf.estimator.RunConfig(train_distribute=tf.distribute.MirroredStrategy())`."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from dovetail import distributed, ops
from dovetail.compat.tensorflow.names.data.dataset import Dataset
from dovetail.compat.tensorflow.names.estimators.distribute import InputContext, Strategy
from dovetail.compat.tensorflow.names.graph.graph import group
from dovetail.compat.tensorflow.names.monitored.hook_base import SessionRunHook
from dovetail.compat.tensorflow.names.variables.variables import global_variables
from dovetail.core.base.errors import op_error
from dovetail.distributed.random_states import from_rank_0
from dovetail.distributed.replicas import as_replica, broadcast_variables


class SameVariables(SessionRunHook):
    """A hook that gives all ranks the variables of one rank, once a session has made them.

    Args:
        root: the rank.
    """

    def __init__(self, root: int = 0) -> None:
        self._root = root

    def begin(self) -> None:
        """Record the exchange."""
        self._operation = group(*broadcast_variables(global_variables(), self._root))

    def after_create_session(self, session: Any, coord: Any) -> None:
        """Run the exchange."""
        session.run(self._operation)


class Replicas:
    """The processes that train one estimator; only the first one writes into its folder.

    Args:
        strategy: of `train_distribute`; with None, this process trains alone.

    Source: `tf.estimator.RunConfig`.
    """

    def __init__(self, strategy: Strategy | None) -> None:
        self._strategy = strategy or Strategy()
        self._count, self._id = self._strategy.num_replicas_in_sync, self._strategy._id
        self.are_several, self.is_first = self._count > 1, self._id == 0
        self.hooks = [SameVariables()] if self.are_several else []

    def new_folder(self) -> str:
        """A new folder, which the first process makes."""
        if not self.are_several:
            return tempfile.mkdtemp()
        name = tempfile.mkdtemp() if self.is_first else ""
        return bytes(from_rank_0(np.frombuffer(name.encode(), np.uint8))).decode()

    @property
    def context(self) -> InputContext:
        """The argument `input_context` of an input function: one data set serves all replicas."""
        return InputContext(1, 0, self._count)

    def dealt(self, dataset: Any) -> Any:
        """The data set of this replica: each replica takes one batch of a group, and all replicas take as many.

        Raises:
            ValueError: an input function gave no data set.
        """
        if not self.are_several:
            return dataset
        if not isinstance(dataset, Dataset):
            problem = f"with a train_distribute, input_fn must return a tf.data.Dataset, not {dataset!r}."
            raise op_error(ValueError, "tf.estimator.Estimator.train", problem)

        def elements() -> Iterator[Any]:
            for batches in zip(*[iter(dataset._elements())] * self._count, strict=False):
                yield batches[self._id]

        return dataset._with(elements)

    @contextmanager
    def training(self) -> Iterator[None]:
        """A scope in which optimizers average over the replicas.

        All replicas enter it together, and leave it together: no other one reads the files that the first one writes.
        """
        if not self.are_several:
            yield
            return
        distributed.barrier()
        with self._strategy._as_current(), as_replica("mean"):
            yield
        distributed.barrier()

    def with_mean_loss(self, spec: Any) -> Any:
        """The specification of a model, with the mean of the replicas' losses."""
        return spec._replace(loss=ops.all_reduce(spec.loss, "mean")) if self.are_several else spec
