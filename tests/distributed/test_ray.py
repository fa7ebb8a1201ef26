"""Ray's TorchTrainer starts the same program; `pip install 'ray[train]'` lets this test run."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.distributed import ranks
from tests.libraries import require

require("torch", "it carries")
require("ray", "it starts the workers")


def test_workers_of_ray_are_ranks(tmp_path):
    variables = {
        "PYTHONPATH": os.pathsep.join(map(str, (Path(__file__).parents[2] / "src", Path(__file__).parents[2]))),
        "DOVETAIL_ENGINE": "numpy",
        "RAY_TRAIN_V2_ENABLED": "1",
        "RAY_USAGE_STATS_ENABLED": "0",
    }
    command = [sys.executable, "-m", "tests.distributed.ray_checks", str(tmp_path)]
    done = subprocess.run(command, env=os.environ | variables, capture_output=True, text=True, timeout=ranks.LIMIT)
    assert done.returncode == 0 and "error: None" in done.stdout, done.stdout + done.stderr
    assert len(list((tmp_path / "checkpoints").glob("*.safetensors"))) == 2
