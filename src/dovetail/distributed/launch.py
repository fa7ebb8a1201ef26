"""Starting the processes of a program, and starting them again when one is lost, by torchrun's launcher.

On one machine the launcher and the ranks meet by files, so gloo's sockets alone listen, on 127.0.0.1.  On several, the
launchers meet at an address.  If a rank fails, each launcher ends its other ranks, and starts all again or gives up.
"""

from __future__ import annotations

import os
import socket
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from torch.distributed.elastic.agent.server.api import RunResult, WorkerGroup, WorkerSpec
from torch.distributed.elastic.agent.server.local_elastic_agent import LocalElasticAgent
from torch.distributed.elastic.multiprocessing import DefaultLogsSpecs, SignalException
from torch.distributed.elastic.rendezvous import RendezvousParameters
from torch.distributed.elastic.rendezvous.registry import get_rendezvous_handler

from dovetail.distributed.processes import LAUNCHER, STORE

GRACE = 5  # seconds that a rank has after SIGTERM, until SIGKILL
LAST_CALL = 10  # seconds in which further machines may join, once there are enough


class _Agent(LocalElasticAgent):
    """torchrun's agent, which tells of failed ranks, and soon kills those that do not end."""

    def _start_workers(self, worker_group: WorkerGroup) -> dict[int, Any]:
        workers = super()._start_workers(worker_group)
        close = self._pcontext.close  # torch calls it in several places, some of which wait for 30 s
        self._pcontext.close = lambda death_sig=None, timeout=GRACE: close(death_sig, GRACE)
        return workers

    def _monitor_workers(self, worker_group: WorkerGroup) -> RunResult:
        state = super()._monitor_workers(worker_group)
        if state.is_failed():
            rank, status = _first_failure(state)
            left = self._remaining_restarts
            after = f"; all ranks start again (restarts left: {left - 1})" if left else ""
            print(f"dovetail: rank {rank} ended with the exit status {status}{after}", file=sys.stderr, flush=True)
        return state


def launch(
    command: Sequence[str],
    processes: int,
    restarts: int = 0,
    machines: tuple[int, int] = (1, 1),
    rendezvous: str | None = None,
) -> int:
    """Run a command of Python's in several processes, and wait for them.

    Args:
        command: arguments of the Python that runs now, such as `["-m", "dovetail", "run", "train.py"]`.
        processes: the number of processes on this machine.
        restarts: how often all processes start again after one has failed.
        machines: the least and the greatest number of machines, each of which runs this function.
        rendezvous: "host:port", where the machines meet; None for one machine.

    Returns:
        0, or the exit status of the rank that failed first; 128 and its number more for a signal, also this process's.

    Raises:
        OSError: this machine does not know the address of the rendezvous.

    Source: `torch.distributed.launcher.api.launch_agent`.
    """
    given = {
        LAUNCHER: str(os.getpid()),
        "TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1",  # each start has a store of its own, where its rank 0 says
        "OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS", str(max(1, (os.cpu_count() or 1) // processes))),
    }
    with tempfile.TemporaryDirectory() as folder:
        if rendezvous is None:
            given[STORE] = str(Path(folder) / "ranks")
        address = _address(rendezvous) if rendezvous else "127.0.0.1"
        parameters = RendezvousParameters(
            "c10d",
            rendezvous or str(Path(folder) / "launcher"),
            "dovetail",
            *machines,
            address,
            store_type="tcp" if rendezvous else "file",
            last_call_timeout=LAST_CALL,
        )
        spec = WorkerSpec(
            role="dovetail",
            local_world_size=processes,
            entrypoint=sys.executable,
            args=(*command,),
            rdzv_handler=get_rendezvous_handler(parameters),
            max_restarts=restarts,
            local_addr=address,
        )
        with _environment(given):  # which the ranks inherit
            return _run(spec)


@contextmanager
def _environment(given: Mapping[str, str]) -> Iterator[None]:
    """A scope with variables of the environment."""
    before = {name: os.environ.get(name) for name in given}
    os.environ.update(given)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _run(spec: WorkerSpec) -> int:
    """Run the ranks of this machine; return 0, or the exit status of the one that failed first."""
    try:
        result = _Agent(spec, DefaultLogsSpecs()).run()
    except SignalException as ended:  # this machine leaves; the others may go on, so the rendezvous stays open
        print(f"dovetail: ended by {ended.sigval.name}, and so are the ranks", file=sys.stderr)
        return 128 + ended.sigval
    except BaseException:
        spec.rdzv_handler.shutdown()
        raise
    spec.rdzv_handler.shutdown()
    if not result.is_failed():
        return 0
    _, status = _first_failure(result)
    return status if status > 0 else 128 - status


def _first_failure(found: RunResult) -> tuple[int, int]:
    """The rank that failed first, and its exit status."""
    rank = min(found.failures, key=lambda rank: found.failures[rank].timestamp)
    return rank, found.failures[rank].exitcode


def _address(rendezvous: str) -> str:
    """The address of this machine on the way to the rendezvous."""
    host, _, port = rendezvous.rpartition(":")
    try:
        family, kind, _, _, target = socket.getaddrinfo(host, int(port), type=socket.SOCK_DGRAM)[0]
    except (OSError, UnicodeError) as error:
        raise OSError(f"the rendezvous {rendezvous!r} is not an address that this machine knows: {error}.") from error
    with socket.socket(family, kind) as way:  # it sends nothing
        way.connect(target)
        return str(way.getsockname()[0])
