"""TensorFlow's names that ask which replica computes: the only one, on one device."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from dovetail.compat.tensorflow.table import function, value


class Strategy:
    """The strategy of a program that names none: one replica computes.

    Source: `tf.distribute.Strategy`.
    """

    num_replicas_in_sync = 1

    def scope(self) -> AbstractContextManager[None]:
        """A `with` block that changes nothing."""
        return nullcontext()

    def run(self, fn: Callable[..., Any], args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None) -> Any:
        """The result of a function of each replica."""
        return fn(*args, **(kwargs or {}))


_STRATEGY = Strategy()


class ReplicaContext:
    """The replica that computes.

    Source: `tf.distribute.ReplicaContext`.
    """

    replica_id_in_sync_group, num_replicas_in_sync, strategy = 0, 1, _STRATEGY

    def merge_call(
        self, merge_fn: Callable[..., Any], args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        """The result of a function of the strategy and of the values of all replicas."""
        return merge_fn(self.strategy, *args, **(kwargs or {}))


_REPLICA = ReplicaContext()
value("distribute.ReplicaContext", ReplicaContext)


@function("distribute.get_replica_context")
def get_replica_context() -> ReplicaContext:
    """The replica that computes.

    Source: `tf.distribute.get_replica_context`.
    """
    return _REPLICA


@function("distribute.get_strategy")
def get_strategy() -> Strategy:
    """The strategy of a program that names none.

    Source: `tf.distribute.get_strategy`.
    """
    return _STRATEGY


for _name in ("has_strategy", "in_cross_replica_context"):
    value(f"distribute.{_name}", lambda: False)
