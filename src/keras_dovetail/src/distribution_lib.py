"""Keras' distribution API: processes, each with a device, or several devices of jax in one process."""

from __future__ import annotations

import os
from typing import Any

from dovetail.core.engines.collectives import WORLD
from dovetail.core.engines.engine_registry import chooses_engine, current_engine, get_engine, is_installed
from dovetail.distributed import init
from keras_dovetail.src.parallel import layouts


def list_devices(device_type: str | None = None) -> list[str]:
    """The devices of the current engine, as "cpu:0"; of jax, if engines are chosen by measuring.

    Args:
        device_type: "cpu", "gpu" or "tpu"; by default, the kind of the best device.

    Example:
        >>> list_devices("cpu")
        ['cpu:0']
    """
    divides = WORLD.size == 1 and chooses_engine() and is_installed(layouts.ENGINE)
    own = (get_engine(layouts.ENGINE) if divides else current_engine()).devices()
    kind = (device_type or own[0].partition(":")[0]).lower()
    names = own if WORLD.size == 1 else [f"{own[0].partition(':')[0]}:{rank}" for rank in range(WORLD.size)]
    return [name for name in names if name.startswith(kind)]


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

    Raises:
        ValueError: some arguments are given, but not all three, or the first address has no port.
    """
    arguments = job_addresses, num_processes, process_id
    if any(argument is not None for argument in arguments):
        host, _, port = (job_addresses or "").split(",")[0].rpartition(":")
        if None in arguments or not (host and port.isdigit()):
            raise ValueError(
                f"initialize takes the addresses as host:port, the number of processes and the process' own number, or "
                f"nothing in processes that `{layouts.PROCESSES.format(2)}` started. Given: {arguments}."
            )
        given = {"MASTER_ADDR": host, "MASTER_PORT": port, "RANK": process_id, "WORLD_SIZE": num_processes}
        os.environ |= {name: str(value) for name, value in given.items()}
    init()


def initialize_rng() -> None:
    """Do nothing: `fit` gives all ranks the random state of rank 0."""


def distribute_tensor(tensor: Any, layout: Any) -> Any:
    """A tensor, also of a graph, that is divided among devices as a `keras.distribution.TensorLayout` says.

    Raises:
        NotImplementedError: the engine is not jax, or it lacks the devices; the message says what to do.
        ValueError: the layout does not fit the shape.
    """
    return layouts.divided(tensor, layout, "the tensor")


def distribute_data_input(per_process_batch: Any, layout: Any, batch_dim_name: str | None) -> Any:
    """A batch of this process that is divided among its devices."""
    return layouts.divided(per_process_batch, layout, "the batch")


def _to_backend_mesh(device_mesh: Any) -> tuple[str, ...]:
    devices = tuple(map(str, device_mesh.devices.flat))
    layouts.check_devices(devices)
    return devices


_to_backend_layout = layouts.Layout.of
