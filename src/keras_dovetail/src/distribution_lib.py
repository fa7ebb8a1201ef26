"""Keras' distribution API: data parallel training over processes, each with a device."""

from __future__ import annotations

import os
from typing import Any, NoReturn

from dovetail.core.collectives import WORLD
from dovetail.core.engine_registry import current_engine
from dovetail.distributed import init


def list_devices(device_type: str | None = None) -> list[str]:
    """The devices of the current engine, as "cpu:0".

    Args:
        device_type: "cpu", "gpu" or "tpu": only devices of this kind.

    Example:
        >>> list_devices("cpu")
        ['cpu:0']
    """
    own = list(current_engine().devices())
    names = own if WORLD.size == 1 else [f"{own[0].partition(':')[0]}:{rank}" for rank in range(WORLD.size)]
    return [name for name in names if device_type is None or name.startswith(device_type.lower())]


def get_device_count(device_type: str | None = None) -> int:
    """The number of devices of the current engine, of a kind if one is given."""
    return len(list_devices(device_type))


def num_processes() -> int:
    """The number of processes that train a model together."""
    return WORLD.size


def process_id() -> int:
    """The number of this process."""
    return WORLD.rank


def initialize(
    job_addresses: str | None = None, num_processes: int | None = None, process_id: int | None = None
) -> None:
    """Join the other processes; without arguments, the ones that `dovetail run --processes` or torchrun started.

    Args:
        job_addresses: "host:port" of the first process, or of all with commas between.
        num_processes: their number.
        process_id: the number of this one.
    """
    if process_id is not None and job_addresses:
        host, _, port = job_addresses.split(",")[0].rpartition(":")
        given = {"MASTER_ADDR": host, "MASTER_PORT": port, "RANK": process_id, "WORLD_SIZE": num_processes}
        os.environ |= {name: str(value) for name, value in given.items()}
    init()


def initialize_rng() -> None:
    """Do nothing: `fit` gives all ranks the random state of rank 0."""


def _refuse(*args: Any, **kwargs: Any) -> NoReturn:
    raise NotImplementedError(
        "the dovetail backend divides batches among processes, not tensors among devices: use "
        "keras.distribution.DataParallel(), and start the program by dovetail run --processes N script.py."
    )


distribute_tensor = distribute_data_input = _refuse
_to_backend_mesh = _to_backend_layout = _refuse
