"""The names of `horovod.keras` and `horovod.tensorflow`: `import dovetail.compat.horovod as hvd`.

Each rank brings batches of its own.  Optimizers average the gradients of all ranks; all else is the rank's own.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from importlib import import_module
from types import SimpleNamespace
from typing import Any

from dovetail import distributed, ops
from dovetail.compat import tensorflow as tf
from dovetail.compat.tensorflow.names.estimators.replicas import SameVariables
from dovetail.core.base.hooks import hooks
from dovetail.distributed import init as init
from dovetail.distributed import rank as rank
from dovetail.distributed import replicas

size, shutdown = distributed.world_size, distributed.barrier
Average, Sum = "mean", "sum"  # `op` of allreduce
Compression = SimpleNamespace(none=None, fp16="float16")  # gradients travel as these
_PICKLED = "Objects would travel as pickles, which run code: broadcast or gather their numbers."
_ABSENT = {  # name → what to write
    "join": "Give all ranks as many batches, by steps_per_epoch; keras.distribution.DataParallel takes uneven ones.",
    "Adasum": "Write op=hvd.Average, and multiply the learning rate by hvd.size() with a warm-up.",
    "broadcast_object": _PICKLED,
    "allgather_object": _PICKLED,
    "ProcessSet": "Write dovetail.ops.all_reduce(x, ranks=(0, 1)), or another collective, for some ranks.",
    "elastic": "Start by `dovetail run --processes N --restarts N`, and save dovetail.distributed.Checkpoints.",
}


def local_rank() -> int:
    """The number of this process on its machine.

    Source: `horovod.keras.local_rank`.

    Example:
        >>> import dovetail.compat.horovod as hvd
        >>> hvd.rank(), hvd.size(), hvd.local_rank()
        (0, 1, 0)
    """
    return int(os.environ.get("LOCAL_RANK", rank()))


def local_size() -> int:
    """The number of processes on this machine.

    Source: `horovod.keras.local_size`.
    """
    return int(os.environ.get("LOCAL_WORLD_SIZE", size()))


def DistributedOptimizer(optimizer: Any, name: str | None = None, **options: Any) -> Any:  # Horovod's name
    """The optimizer, of Keras or of `tf.train`, which averages its gradients over all ranks from now on.

    Args:
        options: `compression`; others may be given if they do not change numbers.

    Source: `horovod.keras.DistributedOptimizer`.
    """
    return replicas.average_over_ranks(optimizer, _wire("DistributedOptimizer", options))


def DistributedGradientTape(gradtape: Any, **options: Any) -> Any:  # Horovod's name
    """The tape, whose `gradient` averages over all ranks from now on; with the options of `DistributedOptimizer`.

    Source: `horovod.tensorflow.DistributedGradientTape`.
    """
    wire, gradient = _wire("DistributedGradientTape", options), gradtape.gradient
    gradtape.gradient = lambda *args, **kwargs: replicas.averages(gradient(*args, **kwargs), wire)
    return gradtape


def _wire(title: str, options: dict[str, Any]) -> str | None:
    """The dtype that gradients travel as."""
    for name, default in {"op": Average, "backward_passes_per_step": 1}.items():
        if options.get(name, default) != default:
            raise ValueError(f"hvd.{title}: {name} is {default!r} here, not {options[name]!r}.")
    return options.get("compression")


def allreduce(tensor: Any, name: Any = None, average: bool = True, op: Any = None, **options: Any) -> Any:
    """The average, or the sum, of a tensor over all ranks.

    Source: `horovod.keras.allreduce`; `horovod.tensorflow.allreduce`, whose second parameter is `average`.

    Example:
        >>> allreduce([1., 2.]).numpy()
        array([1., 2.], dtype=float32)
    """
    how: Any = op or (Average if average and name is not False else Sum)
    return ops.all_reduce(tensor, how)


def allgather(tensor: Any, name: str | None = None) -> Any:
    """The rows of all ranks; outside of graphs and functions, ranks may have different numbers of them.

    Source: `horovod.keras.allgather`.
    """
    return replicas.all_rows(tensor)


def broadcast(tensor: Any, root_rank: int, name: str | None = None) -> Any:
    """The tensor of one rank.

    Source: `horovod.keras.broadcast`.
    """
    return ops.broadcast_from(tensor, root_rank)


def alltoall(tensor: Any, splits: Any = None, name: str | None = None) -> Any:
    """The n-th part of the rows of each rank, on the n-th rank.

    Args:
        tensor: its rows can be divided evenly among the ranks.
        splits: None; other numbers of rows are refused.

    Source: `horovod.tensorflow.alltoall`.
    """
    if splits is not None:
        raise ValueError(f"hvd.alltoall: splits is None here, not {splits!r}; pad all parts to as many rows.")
    return ops.all_to_all(tensor)


def load_model(
    filepath: Any, custom_optimizers: Iterable[type] = (), custom_objects: Any = None, compression: str | None = None
) -> Any:
    """A model of a file of Keras, whose optimizer averages its gradients over all ranks.

    Args:
        filepath: the file; a model that was saved uncompiled has no optimizer.
        custom_optimizers: further classes of optimizers.
        custom_objects: other classes and functions by name, as of `keras.models.load_model`.
        compression: of `Compression`.

    Source: `horovod.keras.load_model`.
    """
    hooks.run_keras()
    objects = {kind.__name__: kind for kind in custom_optimizers or ()} | dict(custom_objects or {})
    model = import_module("keras").models.load_model(filepath, custom_objects=objects)
    if getattr(model, "optimizer", None) is not None:
        DistributedOptimizer(model.optimizer, compression=compression)
    return model


def broadcast_variables(variables: Iterable[Any], root_rank: int) -> Any:
    """Give all ranks the variables of one rank; in a graph, the operation that does so.

    Source: `horovod.tensorflow.broadcast_variables`.
    """
    return tf.group(*replicas.broadcast_variables(variables, root_rank))


def broadcast_global_variables(root_rank: int) -> Any:
    """The operation that gives all ranks the variables of a graph of one rank.

    Source: `horovod.tensorflow.broadcast_global_variables`.
    """
    return broadcast_variables(tf.compat.v1.global_variables(), root_rank)


class BroadcastGlobalVariablesHook(SameVariables):
    """A hook that gives all ranks the variables of one rank, once a session has made them.

    Source: `horovod.tensorflow.BroadcastGlobalVariablesHook`.
    """

    def __init__(self, root_rank: int, device: str = "") -> None:
        super().__init__(root_rank)


def __getattr__(name: str) -> Any:
    if name == "callbacks":
        hooks.run_keras()
        return import_module(f"{__name__}.callbacks")
    raise AttributeError(f"hvd.{name} is not offered. {_ABSENT.get(name, '')}".strip())
