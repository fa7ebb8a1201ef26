"""`dovetail run --processes`: what it refuses, and the command that each process runs."""

from __future__ import annotations

import pytest

from dovetail.cli import run
from dovetail.cli.main import main
from tests.libraries import require


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--restarts", "2"], "--restarts, --nnodes and --rendezvous need --processes"),
        (["--processes", "2", "--nnodes", "2"], "need each other"),
        (["--processes", "2", "--rendezvous", "host:1"], "need each other"),
    ],
)
def test_options_that_lack_another(options, message, tmp_path, capsys):
    (tmp_path / "train.py").write_text("")
    assert main(["run", *options, str(tmp_path / "train.py")]) == 1
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--processes", "0"], "at least 1, but is '0'"),
        (["--restarts", "-1"], "at least 0, but is '-1'"),
        (["--nnodes", "3:2"], "must be MIN:MAX, but 3 is more than 2"),
        (["--nnodes", "two"], "at least 1, but is 'two'"),
        (["--rendezvous", "host"], "must be HOST:PORT, but is 'host'"),
        (["--rendezvous", "host:70000"], "must be HOST:PORT, but is 'host:70000'"),
    ],
)
def test_options_of_another_form(options, message, capsys):
    with pytest.raises(SystemExit) as stop:
        main(["run", *options, "train.py"])
    assert stop.value.code == 2 and message in capsys.readouterr().err


@pytest.mark.parametrize("host", ["nobody.invalid", "a..b"])
def test_a_rendezvous_that_nobody_knows(host, tmp_path, capsys):
    require("torch", "its launcher starts the processes")
    (tmp_path / "train.py").write_text("")
    meeting = ["--processes", "1", "--nnodes", "1", "--rendezvous", f"{host}:29400"]
    assert main(["run", *meeting, str(tmp_path / "train.py")]) == 1
    assert f"the rendezvous '{host}:29400' is not an address that this machine knows" in capsys.readouterr().err


def test_each_process_runs_the_command_without_the_options_of_launchers():
    own = ["run", "--engine", "numpy", "train.py", "--processes", "9"]
    given = ["run", "--proc", "2", "--engine", "numpy", "--restarts=3", "train.py", "--processes", "9"]
    assert run._for_one_process(given, 3) == own
