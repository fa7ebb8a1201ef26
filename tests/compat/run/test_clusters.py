"""Programs for parameter servers, and for TensorFlow Federated, are told what to write instead."""

from __future__ import annotations

import subprocess
import sys

import pytest

SERVERS = """
import tensorflow as tf

tf.app.flags.DEFINE_string("job_name", "worker", "ps or worker")
cluster = tf.train.ClusterSpec({"ps": ["localhost:2222"], "worker": ["localhost:2223"]})
server = tf.train.Server(cluster, job_name=tf.app.flags.FLAGS.job_name, task_index=0)
with tf.device(tf.train.replica_device_setter(cluster=cluster)):
    w = tf.get_variable("w", [2])
optimizer = tf.train.SyncReplicasOptimizer(tf.train.GradientDescentOptimizer(0.1), replicas_to_aggregate=2)
"""
FEDERATED = """
import tensorflow as tf
import tensorflow_federated as tff

@tff.federated_computation(tff.type_at_clients(tf.float32))
def mean(x):
    return tff.federated_mean(x)
"""
RANKS = "the ranks of `dovetail run --processes N` find each other"
CASES = {
    "servers": (
        SERVERS,
        {
            "tf.train.ClusterSpec": f"Leave the cluster out: {RANKS}",
            "tf.train.Server": f"Leave the cluster out: {RANKS}",
            "tf.train.replica_device_setter": f"Leave the device scope out: {RANKS}",
            "tf.train.SyncReplicasOptimizer": "Write hvd.DistributedOptimizer(optimizer)",
        },
    ),
    "federated": (FEDERATED, {"tensorflow_federated": "Write dt.federated.computation, federated_map"}),
}


@pytest.mark.parametrize("name", CASES)
def test_each_name_says_what_to_write(name, tmp_path):
    program, advice = CASES[name]
    (tmp_path / "old.py").write_text(program)
    command = [sys.executable, "-m", "dovetail", "run", "--engine", "numpy", "old.py"]
    run = subprocess.run(command, capture_output=True, text=True, timeout=120, cwd=tmp_path)
    told = dict(zip(run.stderr.splitlines(), run.stderr.splitlines()[1:], strict=False))
    for name, start in advice.items():
        said = [line for above, line in told.items() if above.strip().startswith(f"{name}  (old.py:")]
        assert len(said) == 1 and said[0].strip().startswith(start), run.stderr
    assert run.returncode == 3, run.stderr  # of programs that use names which are not offered
