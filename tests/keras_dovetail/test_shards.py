"""Keras trains in several processes, with the numbers of one; `shards_checks` has what each rank does."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys

import pytest

from tests.distributed import ranks
from tests.libraries import require

require("torch", "it carries")
require("keras", "it trains")

SINGLE = ("single_batches", "exchanges")
CHECKS = (
    "same_numbers",
    "stops",
    *SINGLE,
    "changes",
    "stateful",
    "random_states",
    "own_batches",
    "metrics",
    "callbacks",
    "strategies",
    "old_names",
)
EACH = "numpy", "torch", "jax", "tensorflow"
MIXES = [
    (("numpy", "torch"), CHECKS),
    (("jax", "tensorflow", "numpy"), ("short", "stops", *SINGLE)),
    *(((engine, engine), CHECKS) for engine in EACH),
]


@pytest.mark.parametrize(("engines", "checks"), MIXES, ids=[" ".join(engines) for engines, _ in MIXES])
def test_ranks_train_as_one_process(engines, checks):
    for engine in {*engines} - {"numpy"}:
        require(engine, "a rank computes on it")
    for text in ranks.run("tests.keras_dovetail.shards_checks", engines, *checks, KERAS_BACKEND="dovetail"):
        found = [line.split()[1] for line in text.splitlines() if line.startswith("checked ")]
        assert found == [*checks], text


ALONE = """
import json, sys
import keras
import dovetail as dt
keras.distribution.initialize(*json.loads(sys.argv[1]))
print(keras.distribution.list_devices(), dt.ops.all_reduce(dt.ops.convert([1.0])).numpy())
"""


def started(*arguments):
    """A process that no launcher started."""
    command = [sys.executable, "-c", ALONE, json.dumps(arguments)]
    environment = {**os.environ, "KERAS_BACKEND": "dovetail", "DOVETAIL_ENGINE": "numpy"}
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def test_processes_join_by_addresses():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    ranks = [started(f"{address},127.0.0.1:1", 2, rank) for rank in range(2)]
    try:
        assert [rank.communicate(timeout=60)[0] for rank in ranks] == ["['cpu:0', 'cpu:1'] [2.]\n"] * 2
    finally:
        for rank in ranks:
            rank.kill()


@pytest.mark.parametrize("given", [("127.0.0.1:1",), (None, 2, 0), ("127.0.0.1", 2, 0)])
def test_incomplete_addresses_are_refused(given):
    process = started(*given)
    text = process.communicate(timeout=60)[0]
    assert process.returncode and "Given: (" in text and "dovetail run --processes 2" in text, text
