"""Workers in Python, Node.js and C: they join one running server, and get the computation from it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import dovetail as dt
from dovetail import federated as fed
from dovetail.formats import safetensors
from tests.federated.conftest import make_pem
from tests.federated.problems import DATA, WEIGHTS, drawn, loss
from tests.federated.test_server import TOKENS, assert_equal, quiet, running, work
from tests.libraries import require

require("google.protobuf", "the models are messages")

EXAMPLES = Path(__file__).parents[2] / "examples"
TRAIN = fed.fed_prox(loss, WEIGHTS, DATA, mu=0.05, steps=3)
ROUNDS, LIMIT = 10, 60.0


def run(words, **options):
    return subprocess.run(words, capture_output=True, text=True, timeout=LIMIT, **options)


@pytest.fixture(scope="module")
def node():
    """The command of the worker in Node.js; `NODE_PATH` may name a folder with onnxruntime-node."""
    if shutil.which("node") is None:
        pytest.skip("node is not installed")
    folder = EXAMPLES / "worker_node"
    if run(["node", "-e", "require('onnxruntime-node')"], cwd=folder).returncode:
        pytest.skip("onnxruntime-node is not installed: npm install --ignore-scripts")
    return ["node", str(folder / "federated.js")]


@pytest.fixture(scope="module")
def c(tmp_path_factory):
    """The command of the worker in C, built as its comment says."""
    if shutil.which("gcc") is None or sys.platform != "linux":
        pytest.skip("gcc is not installed, or the program's comment is for Linux")
    if run(["gcc", "-E", "-include", "curl/curl.h", "-x", "c", os.devnull]).returncode:
        pytest.skip("libcurl's headers are not installed: libcurl4-openssl-dev")
    pytest.importorskip("onnxruntime", reason="the program runs on its library")
    folder = shutil.copytree(EXAMPLES / "worker_c", tmp_path_factory.mktemp("c") / "worker")
    lines = re.findall(r"^//     (.*)$", (folder / "federated.c").read_text(), re.MULTILINE)
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    done = run(["sh", "-ec", "\n".join(lines[:3])], cwd=folder, env={**os.environ, "PATH": path})
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    return [str(folder / "federated")]


class Other:
    """A worker in another language, in a process of its own.

    Args:
        command: of the worker.
        server: to join.
        pem: the certificate and its key.
        name: of the client.
        data: its arrays.
        folder: for its files.
    """

    def __init__(self, command, server, pem, name, data, folder):
        folder = folder / name
        folder.mkdir()
        (folder / "token.txt").write_text(TOKENS.get(name, name) + "\n")
        safetensors.write(folder / "data.safetensors", data, {})
        words = [*command, server.url, "token.txt", str(pem[0]), "data.safetensors", "last.safetensors"]
        self.folder = folder
        self.process = subprocess.Popen(words, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def end(self):
        try:
            return (*self.process.communicate(timeout=LIMIT), self.process.returncode)
        finally:
            self.process.kill()

    @property
    def weights(self):
        return safetensors.read(self.folder / "last.safetensors").tensors


def trained(state, data, pem, folder, commands):
    """The last state after ten rounds of three clients, of which some run other commands than Python's."""
    with running(state, pem, computation=TRAIN, rounds=ROUNDS) as server:
        others = [
            Other(command, server, pem, name, values, folder)
            for (name, command), values in zip(commands.items(), data, strict=True)
            if command is not None
        ]
        own = [pair for pair in zip(commands.items(), data, strict=True) if pair[0][1] is None]
        ends = work(server, pem, [values for _, values in own], [name for (name, _), _ in own])
        for other in others:
            lines, errors, status = other.end()
            assert (errors, status) == ("", 0)
            assert lines.splitlines() == [f"round {number}: sent" for number in range(1, ROUNDS + 1)]
            ends[other.folder.name] = other.weights
    for end in ends.values():
        assert_equal(end, server.result)
    return server.result


def test_python_node_and_c_train_as_three_of_python(node, c, pem, tmp_path, rng):
    state, data = drawn(rng)
    expected = trained(state, data, pem, tmp_path, dict.fromkeys(TOKENS))
    found = trained(state, data, pem, tmp_path, dict(zip(TOKENS, [None, node, c], strict=True)))
    differences = [float(np.abs(found[name] - expected[name]).max()) for name in WEIGHTS]
    print("largest difference after ten rounds:", max(differences))
    assert max(differences) <= 1e-6
    assert max(np.abs(expected["w"] - state["w"]).max(), 0) > 1e-2, "nothing was trained"


@pytest.mark.parametrize("language", ["node", "c"])
def test_a_worker_waits_for_the_others(language, request, pem, tmp_path, rng):
    """Its answers are 204 until the other clients have come."""
    state, data = drawn(rng)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("dovetail.federated.server.POLL", 0.2)
        with running(state, pem, computation=TRAIN, rounds=2) as server:
            other = Other(request.getfixturevalue(language), server, pem, "ada", data[0], tmp_path)
            threading.Event().wait(1.0)
            work(server, pem, data[1:], ["ben", "cy"])
            assert other.end()[1:] == ("", 0)


NUMBERS = ["float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]


@pytest.mark.parametrize("language", ["node", "c"])
def test_a_worker_knows_the_dtypes(language, request, pem, tmp_path):
    """It sends the sums of its data and of the weights, for each dtype of numbers."""
    kinds = {name: dt.spec((2,), name) for name in NUMBERS}
    own = {f"own.{name}": spec for name, spec in kinds.items()}

    @fed.computation(fed.FederatedType(kinds, fed.SERVER), fed.FederatedType(own, fed.CLIENTS))
    def total(state, data):
        add = lambda s, d: {name: s[name] + d[f"own.{name}"] for name in kinds}  # noqa: E731
        return fed.federated_sum(fed.federated_map(add, (fed.federated_broadcast(state), data))), {}

    state = {name: np.array([1, 5], name) for name in kinds}
    data = {f"own.{name}": np.array([2, 5], name) for name in kinds}
    with running(state, pem, computation=total, rounds=2, least=1, deadline=0.1) as server:
        other = Other(request.getfixturevalue(language), server, pem, "ada", data, tmp_path)
        assert other.end()[1:] == ("", 0)
    for name in kinds:
        np.testing.assert_array_equal(other.weights[name], server.result[name])
        np.testing.assert_array_equal(other.weights[name], np.array([5, 15], name))


WRONG = {  # name → (token's client, edit of the data, words of the error)
    "token": ("no such client", lambda data: data, "no client has this token"),
    "data": ("ada", lambda data: {"x": data["x"]}, "lacks the tensor"),
    "dtype": (
        "ada",
        lambda data: data | {"x": data["x"].astype("float8_e5m2")},
        "a dtype that this program does not know",
    ),
    "certificate": ("ada", lambda data: data, "certificate"),
}


@pytest.mark.parametrize("name", WRONG)
@pytest.mark.parametrize("language", ["node", "c"])
def test_a_worker_says_why_it_ends(language, name, request, pem, tmp_path, rng):
    client, edit, words = WRONG[name]
    state, data = drawn(rng)
    server = fed.Server(TRAIN, state, TOKENS, certificate=pem[0], key=pem[1], rounds=1, report=quiet)
    threading.Thread(target=server.run, daemon=True).start()
    pem = make_pem(tmp_path) if name == "certificate" else pem  # of another server
    other = Other(request.getfixturevalue(language), server, pem, client, edit(data[0]), tmp_path)
    lines, errors, status = other.end()
    assert (lines, status, words in errors) == ("", 1, True), errors


def test_the_worker_in_c_needs_no_python(c):
    libraries = run(["ldd", *c]).stdout
    assert "onnxruntime" in libraries and "libcurl" in libraries and "libpython" not in libraries
