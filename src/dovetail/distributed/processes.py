"""The processes of a program: how they find each other, and what each knows of itself."""

from __future__ import annotations

import atexit
import ctypes
import os
import signal
import socket
import sys
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from dovetail.core.base.errors import EngineNotInstalled, op_error, place
from dovetail.core.engines.collectives import WORLD, check_wire
from dovetail.ops.collective import barrier as _barrier

if TYPE_CHECKING:
    import torch.distributed as dist

STORE = "DOVETAIL_STORE"  # the variable of the environment that names the file by which processes meet
LAUNCHER = "DOVETAIL_LAUNCHER"  # the one that has the number of the process that started the ranks
_END_WITH_PARENT = 1  # Linux' PR_SET_PDEATHSIG
_LOOPBACK = ("localhost", "127.0.0.1")


def init(timeout: float = 300.0, start: float = 300.0, wire: str | None = None, shares: str | None = None) -> None:
    """Join the other processes, which torchrun or `dovetail run --processes` started; the first call counts.

    It reads the environment that these set: RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT.  Without RANK, the process
    stays alone, and a collective returns its input.  On one machine, nothing listens but on 127.0.0.1.

    Args:
        timeout: the seconds that a rank waits for the others in a collective.
        start: the seconds in which all ranks must have come here.
        wire: "bfloat16" or "float16": `average` sends wider gradients as these; "" for their own dtype, the default.
        shares: "equal", the default, or "measured": batches of Keras and of `tf.distribute` are divided by the measured
            speed of the ranks.  Give this and `wire` alike on all ranks; a later call may change them.

    Raises:
        ValueError: `wire` or `shares` is another word.
        EngineNotInstalled: there are several processes, and torch is not installed.
        RuntimeError: the program computed or recorded a collective before, or the processes did not meet.

    Source: `torch.distributed.init_process_group`, of whose groups the transport makes its own.

    Example:
        >>> init()
        >>> rank(), world_size()
        (0, 1)
    """
    if shares not in (None, "equal", "measured"):
        raise op_error(ValueError, "distributed.init", f"shares are 'equal' or 'measured', not {shares!r}.")
    WORLD.wire = WORLD.wire if wire is None else check_wire(wire)
    WORLD.shares = shares or WORLD.shares
    _end_with_launcher()
    size = int(os.environ.get("WORLD_SIZE", "1"))
    if "RANK" not in os.environ or size == 1 or WORLD.transport is not None:
        return
    if WORLD.early:
        problem = f"{place(WORLD.early[0])} computed or recorded a collective before it, for one process alone."
        raise op_error(RuntimeError, "distributed.init", f"{problem} Call init first, at the start of the program.")
    try:
        import torch.distributed as dist

        from dovetail.distributed.transport import Transport
    except ImportError as error:
        raise EngineNotInstalled("several processes need torch: pip install 'keras-dovetail[distributed]'.") from error
    rank = int(os.environ["RANK"])
    store = _store(dist, rank, size, timedelta(seconds=start))
    store.set(f"here/{rank}", "")
    try:
        store.wait([f"here/{other}" for other in range(size)], timedelta(seconds=start))
    except RuntimeError as error:
        missing = [other for other in range(size) if not store.check([f"here/{other}"])]
        problem = f"of {size} processes, those of the ranks {missing} did not start within {start:g} s."
        raise op_error(RuntimeError, "distributed.init", problem) from error
    transport = Transport(store, rank, timeout)
    atexit.register(transport.close)
    WORLD.rank, WORLD.size, WORLD.transport = rank, size, transport
    for follow in WORLD.followers:
        follow()


def _end_with_launcher() -> None:
    """Let Linux kill this process, also if it is stopped, when the launcher that started it ends in any way."""
    if sys.platform == "linux" and "TORCHELASTIC_RUN_ID" in os.environ:
        ctypes.CDLL(None).prctl(_END_WITH_PARENT, signal.SIGKILL)
        if os.environ.get(LAUNCHER, str(os.getppid())) != str(os.getppid()):
            raise op_error(RuntimeError, "distributed.init", "the launcher has ended.")


def _store(dist: Any, rank: int, size: int, limit: timedelta) -> dist.Store:
    """The store by which the ranks meet; on one machine it is a file, or listens on 127.0.0.1."""
    again = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")  # a new start of all processes has a new store
    file, address = os.environ.get(STORE), os.environ.get("MASTER_ADDR", "127.0.0.1")
    if file or address in _LOOPBACK:
        names = [name for _, name in socket.if_nameindex()]
        os.environ.setdefault("GLOO_SOCKET_IFNAME", next(name for name in ("lo", "lo0") if name in names))
    if file:
        return dist.FileStore(f"{file}.{again}", size)
    port = int(os.environ["MASTER_PORT"])
    if dist.is_initialized() or os.environ.get("TORCHELASTIC_USE_AGENT_STORE") == "True":  # the port is taken
        return dist.PrefixStore(f"dovetail/{again}", dist.TCPStore(address, port, size, False, limit))
    if rank > 0:
        return dist.TCPStore(address, port, size, False, limit)
    bound = socket.create_server((address, port))
    return dist.TCPStore(address, port, size, True, limit, master_listen_fd=bound.detach())


def rank() -> int:
    """The number of this process, from 0.

    Source: `torch.distributed.get_rank`.

    Example:
        >>> rank()
        0
    """
    return WORLD.rank


def world_size() -> int:
    """The number of processes.

    Source: `torch.distributed.get_world_size`.

    Example:
        >>> world_size()
        1
    """
    return WORLD.size


def barrier() -> None:
    """Wait until all ranks have come here.

    Raises:
        CollectiveError: a rank did not come in time, or computes another collective.

    Source: `torch.distributed.barrier`.

    Example:
        >>> barrier()
    """
    _barrier(0)
