"""Starting the processes of a program on this machine, by torchrun's launcher.

The launcher and the ranks meet by files, so gloo's sockets alone listen, on 127.0.0.1.  If a rank fails, the
launcher ends the others; if the launcher ends, so do the ranks.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from dovetail.core.errors import EngineNotInstalled
from dovetail.distributed.processes import STORE


def launch(command: Sequence[str], processes: int) -> int:
    """Run a command of Python's in several processes, and wait for them.

    Args:
        command: arguments of the Python that runs now, such as `["-m", "dovetail", "run", "train.py"]`.
        processes: the number of processes.

    Returns:
        0, or the exit status of the rank that failed first.

    Raises:
        EngineNotInstalled: torch is not installed.

    Source: `torch.distributed.launcher.api.elastic_launch`.
    """
    try:
        from torch.distributed.elastic.multiprocessing.errors import ChildFailedError
        from torch.distributed.launcher.api import LaunchConfig, elastic_launch
    except ImportError as error:
        problem = "several processes need torch: pip install 'keras-dovetail[distributed]'."
        raise EngineNotInstalled(problem) from error
    with tempfile.TemporaryDirectory() as folder:
        os.environ |= {
            STORE: str(Path(folder) / "ranks"),
            "TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1",  # the launcher's own store would listen to all
            "OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS", str(max(1, (os.cpu_count() or 1) // processes))),
        }
        config = LaunchConfig(
            min_nodes=1,
            max_nodes=1,
            nproc_per_node=processes,
            run_id="dovetail",
            rdzv_backend="c10d",
            rdzv_endpoint=str(Path(folder) / "launcher"),
            rdzv_configs={"store_type": "file"},
            max_restarts=0,
            local_addr="127.0.0.1",
        )
        try:
            elastic_launch(config, sys.executable)(*command)
        except ChildFailedError as error:
            rank, failure = error.get_first_failure()
            print(f"dovetail: rank {rank} ended with the exit status {failure.exitcode}", file=sys.stderr)
            return failure.exitcode if failure.exitcode > 0 else 128 - failure.exitcode
    return 0
