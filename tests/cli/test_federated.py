"""`dovetail federated`: a server and workers in processes of their own, and what users see when a file is wrong."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import dovetail as dt
from dovetail import federated as fed
from dovetail.cli.main import main
from dovetail.formats import safetensors
from tests.conftest import ENGINES
from tests.federated.conftest import pem
from tests.federated.problems import DATA, WEIGHTS, drawn, loss

__all__ = ["pem"]
COMMAND = [sys.executable, "-m", "dovetail", "federated"]


@pytest.fixture
def files(tmp_path, rng):
    """A folder with a computation, its first state, tokens, and the data of three clients."""
    computation = fed.fed_prox(loss, WEIGHTS, DATA, mu=0.1, steps=2)
    state, data = drawn(rng)
    computation.save(tmp_path / "prox.computation")
    np.savez(tmp_path / "first.npz", **state)
    for name, values in zip("abc", data, strict=True):
        np.savez(tmp_path / f"{name}.npz", **values)
        (tmp_path / f"{name}.txt").write_text(name * 20 + "\n")
    (tmp_path / "tokens.txt").write_text("".join(f"{name} {name * 20}\n" for name in "abc"))
    for _ in range(3):
        state, _report = computation(state, data)
    return tmp_path, state


def serve_words(pem, *more):
    given = ["--state", "first.npz", "--rounds", "3", "--tokens", "tokens.txt", "--port", "0", *more]
    return ["serve", "prox.computation", "--certificate", str(pem[0]), "--key", str(pem[1]), *given]


def test_a_server_and_three_workers(files, pem):
    folder, expected = files
    server = subprocess.Popen(
        [*COMMAND, *serve_words(pem, "--out", "last.npz", "--engine", "numpy")],
        cwd=folder,
        stdout=subprocess.PIPE,
        text=True,
    )
    workers = []
    try:
        url = server.stdout.readline().split()[2]
        for name, engine in zip("abc", [*ENGINES, *ENGINES, *ENGINES][:3], strict=True):
            words = ["join", url, "--token-file", f"{name}.txt", "--data", f"{name}.npz", "--certificate", str(pem[0])]
            words += ["--engine", engine, "--out", f"end-{name}.npz"]
            workers.append(subprocess.Popen([*COMMAND, *words], cwd=folder, stdout=subprocess.PIPE, text=True))
        told = [worker.communicate(timeout=60)[0] for worker in workers]
        printed = server.communicate(timeout=60)[0]
    finally:
        for process in (server, *workers):
            process.kill()
    assert (server.returncode, [worker.returncode for worker in workers]) == (0, [0, 0, 0])
    assert told == ["".join(f"round {number} of 3: sent\n" for number in (1, 2, 3))] * 3
    assert [line.split(",")[0] for line in printed.splitlines()] == [
        f"round {n} of 3: 3 of 3 clients" for n in (1, 2, 3)
    ]
    for file in ("last.npz", "end-a.npz", "end-c.npz"):
        with np.load(folder / file) as found:
            for name, value in expected.items():
                np.testing.assert_allclose(found[name], value.numpy(), rtol=1e-5, atol=1e-6)


WRONG = {  # name → (file, its text, words of the error)
    "tokens": ("tokens.txt", "ada\n", "needs a line for each client: its name and its token"),
    "token": ("tokens.txt", "ada short\n", "ada need tokens of their own"),
    "state": ("first.npz", "no archive", "'first.npz' has no arrays of NumPy's"),
    "computation": ("prox.computation", "nonsense", "cannot be read"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_file_is_one_line(name, files, pem, monkeypatch, capsys):
    file, text, words = WRONG[name]
    monkeypatch.chdir(files[0])
    (files[0] / file).write_text(text)
    assert main(["federated", *serve_words(pem)]) == 1
    told = capsys.readouterr().err
    assert words in told and told.count("\n") == 1


def test_a_pickle_is_not_read(files, pem, monkeypatch, capsys):
    monkeypatch.chdir(files[0])
    np.savez("first.npz", w=np.array([{1}], dtype=object))
    assert main(["federated", *serve_words(pem)]) == 1
    assert (
        "'first.npz' has no arrays of NumPy's, .npy or .npz: Object arrays cannot be loaded" in capsys.readouterr().err
    )


def test_halves_are_in_safetensors(pem, tmp_path):
    """NumPy's files have no bfloat16; the first state, the data and the weights of the end are in the other format."""
    half = dt.spec((2,), "bfloat16")
    train = fed.fed_avg(lambda w, x: dt.ops.mean((x - w) ** 2), half, dt.spec((None, 2), "bfloat16"))
    train.save(tmp_path / "prox.computation")
    ones = np.ones((3, 2), half.dtype.numpy)
    for name, arrays in {"first": {"weights": ones[0]}, "data": {"data": 3 * ones}}.items():
        safetensors.write(tmp_path / f"{name}.safetensors", arrays, {})
    (tmp_path / "tokens.txt").write_text(f"ada {'a' * 20}\n")
    (tmp_path / "ada.txt").write_text("a" * 20)
    words = serve_words(pem, "--state", "first.safetensors", "--out", "last.safetensors", "--engine", "numpy")
    server = subprocess.Popen([*COMMAND, *words], cwd=tmp_path, stdout=subprocess.PIPE, text=True)
    try:
        words = ["join", server.stdout.readline().split()[2], "--token-file", "ada.txt", "--certificate", str(pem[0])]
        words += ["--data", "data.safetensors", "--out", "end.safetensors", "--engine", "numpy"]
        subprocess.run([*COMMAND, *words], cwd=tmp_path, check=True, timeout=60)
        assert server.wait(60) == 0
    finally:
        server.kill()
    expected = ones[0]
    for _ in range(3):
        expected, _report = train(expected, [3 * ones])
    for name, key in {"last": "weights", "end": "value"}.items():
        found = safetensors.read(tmp_path / f"{name}.safetensors").tensors[key]
        np.testing.assert_array_equal(found.astype("float32"), expected.numpy().astype("float32"))


def test_the_folder_of_the_result_exists(files, pem, monkeypatch, capsys):
    """It is seen before the rounds."""
    monkeypatch.chdir(files[0])
    assert main(["federated", *serve_words(pem, "--out", "none/last.npz")]) == 1
    assert "there is no folder 'none' for --out." in capsys.readouterr().err


def test_the_state_needs_all_arrays(files, pem, monkeypatch, capsys):
    monkeypatch.chdir(files[0])
    np.savez("first.npz", w=np.zeros((4, 6)))
    assert main(["federated", *serve_words(pem)]) == 1
    assert "it needs the arrays b, v, w. Given: w." in capsys.readouterr().err


@pytest.mark.parametrize("action", ["serve", "join"])
def test_the_help_teaches(action, capsys):
    with pytest.raises(SystemExit) as ended:
        main(["federated", action, "--help"])
    assert ended.value.code == 0
    assert f"dovetail federated {action} " in capsys.readouterr().out
