"""A program whose function Ray's TorchTrainer runs in two workers; `test_ray.py` starts it."""

from __future__ import annotations

import os
import sys


def train(config):
    import dovetail as dt
    from dovetail import ops

    dt.distributed.init(timeout=60)
    rank, size = dt.distributed.rank(), dt.distributed.world_size()
    w = dt.Variable(float(ops.all_reduce(rank + 1.0).item()))
    checkpoints = dt.distributed.Checkpoints(config["folder"])
    checkpoints.save(size, {"w": w}, {"by": "ray"})
    checkpoints.wait()
    w.assign(0.0)
    found = checkpoints.restore({"w": w})
    assert (found.step, found.position, w.numpy()) == (2, {"by": "ray"}, 3.0), (found, w)


if __name__ == "__main__":
    import ray
    from ray.train import RunConfig, ScalingConfig
    from ray.train.torch import TorchTrainer

    variables = {name: os.environ[name] for name in ("PYTHONPATH", "DOVETAIL_ENGINE")}
    ray.init(num_cpus=2, include_dashboard=False, runtime_env={"env_vars": variables})
    trainer = TorchTrainer(
        train,
        train_loop_config={"folder": f"{sys.argv[1]}/checkpoints"},
        scaling_config=ScalingConfig(num_workers=2),
        run_config=RunConfig(storage_path=sys.argv[1]),
    )
    print("error:", trainer.fit().error)
