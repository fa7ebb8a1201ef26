"""The `dovetail` command: help, the list of engines, and error messages."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

import dovetail as dt
from dovetail.cli import INTERRUPTED
from dovetail.cli import engines as engines_command
from dovetail.cli.main import main
from dovetail.core.engines.engine_registry import BUILT_IN, BuiltIn, get_engine


def test_help_teaches(capsys):
    with pytest.raises(SystemExit) as stop:
        main(["--help"])
    assert stop.value.code == 0
    text = capsys.readouterr().out
    assert "dovetail demo --compare" in text
    assert "dovetail engines" in text


def modules(*arguments):
    """The modules that the command has imported at its end, and its status and output."""
    env = os.environ | {"PYTHONPROFILEIMPORTTIME": "1"}
    done = subprocess.run([sys.executable, "-m", "dovetail", *arguments], capture_output=True, text=True, env=env)
    lines = [line for line in done.stderr.splitlines() if line.startswith("import time:")]
    told = done.stdout + "\n".join(line for line in done.stderr.splitlines() if line not in lines)
    return {line.rpartition("|")[2].strip() for line in lines}, done.returncode, told


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        ([], 0, "dovetail demo --compare"),
        (["--help"], 0, "dovetail demo --compare"),
        (["--version"], 0, "dovetail "),
        (["shwo"], 2, "Did you mean 'show'?"),
        (["--versoin"], 2, "Did you mean '--version'?"),
    ],
)
def test_help_needs_neither_numpy_nor_the_package(arguments, status, said):
    names, *result = modules(*arguments)
    assert result[0] == status and said in result[1]
    assert not names & {"numpy", "dovetail.ops", "dovetail.engines", "dovetail.core.tensor"}


@pytest.mark.parametrize("command", ["plan", "show", "doctor"])
def test_commands_that_import_little(command, tmp_path):
    dt.save({"w": np.ones(3, "float32")}, tmp_path / "w.safetensors")
    given = {"plan": ["list"], "show": [str(tmp_path / "w.safetensors")], "doctor": []}
    names, status, told = modules(command, *given[command])
    assert status == 0, told
    rooms = [
        "edit",
        "execute.plan",
        "functions",
        "sessions",
        "compat",
        "onnx",
        "saved_model",
        "formats.tensorflow",
        "formats.onnx",
    ]
    assert not names & {f"dovetail.{room}" for room in rooms}
    assert not names & {"torch", "jax", "tensorflow", "keras"}


def test_the_script_of_the_command_needs_neither(tmp_path):
    script = tmp_path / "dovetail"
    script.write_text("import sys\nfrom dovetail.cli.main import main\nmain([])")
    code = f"import runpy, sys; sys.argv = sys.orig_argv = [{str(script)!r}]\ntry: runpy.run_path({str(script)!r})"
    code += "\nexcept SystemExit: print('numpy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.endswith("\nFalse\n")


def test_a_program_of_the_commands_name_gets_the_package(tmp_path):
    script = tmp_path / "dovetail"
    script.write_text(
        "import dovetail as dt\nprint((dt.Tensor, dt.ops.ones(2) + 1)[1].numpy(), 'torch' in dt.list_engines())"
    )
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True)
    assert done.stdout == "[2. 2.] True\n" or done.stdout == "[2. 2.] False\n"


def test_runs_as_a_module():
    done = subprocess.run([sys.executable, "-m", "dovetail", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("dovetail ")


def test_engines_shows_versions_and_devices(capsys):
    assert main(["engines"]) == 0
    lines = capsys.readouterr().out.splitlines()
    for name in dt.list_engines():
        row = next(line.split() for line in lines if line.startswith(name))
        assert row == [name, get_engine(name).version(), *", ".join(get_engine(name).devices()).split(), "ready"]


def test_engines_says_how_to_install(capsys, monkeypatch):
    monkeypatch.setitem(BUILT_IN, "abacus", BuiltIn("abacus_engine", "no_such_library", "pip install abacus"))
    assert main(["engines"]) == 0
    assert "not installed: pip install abacus" in capsys.readouterr().out


def test_engines_survives_a_broken_library(capsys, monkeypatch):
    def broken(name):
        raise OSError("libcublas.so: cannot open shared object file\nmore")

    monkeypatch.setattr(engines_command, "get_engine", broken)
    assert main(["engines"]) == 0
    assert "broken: OSError: libcublas.so: cannot open shared object file\n" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("said", "line"),
    [
        ("jax", "Default: jax (from DOVETAIL_ENGINE)."),
        ("auto", "Default: auto (from DOVETAIL_ENGINE)."),
        (None, "Default: auto (DOVETAIL_ENGINE is not set)."),
    ],
)
def test_engines_names_the_default(capsys, monkeypatch, said, line):
    monkeypatch.delenv("DOVETAIL_ENGINE", raising=False)
    if said is not None:
        monkeypatch.setenv("DOVETAIL_ENGINE", said)
    main(["engines"])
    assert line in capsys.readouterr().out


def test_a_default_that_is_no_engine(capsys, monkeypatch):
    monkeypatch.setenv("DOVETAIL_ENGINE", "abacus")
    assert main(["engines"]) == 0
    assert "there is no such engine" in capsys.readouterr().out
    done = subprocess.run([sys.executable, "-m", "dovetail", "demo"], capture_output=True, text=True)
    assert done.returncode == 1
    assert "there is no engine 'abacus'" in done.stdout + done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["demo", "--engine", "abacus"], "invalid choice: 'abacus'"),
        (["demo", "--epochs", "0"], "must be a whole number, at least 1, but is '0'"),
        (["demo", "--seed", "-1"], "must be a whole number, at least 0, but is '-1'"),
        (["demo", "--engine", "numpy", "--compare"], "not allowed with"),
        (["plan", "lsit"], "Did you mean 'list'?"),
        (["show", "--josn", "x"], "unrecognized arguments: --josn. Did you mean '--json'?"),
        (["show", "--hlep"], "required: FILE, NAME=INPUT. Did you mean '--help'?"),
        (["federated", "jion"], "Did you mean 'join'?"),
    ],
)
def test_wrong_arguments(arguments, message, capsys):
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    assert stop.value.code == 2
    assert message in capsys.readouterr().err


def test_interrupted(monkeypatch, capsys):
    def interrupted():
        raise KeyboardInterrupt

    monkeypatch.setattr(engines_command, "report", interrupted)
    assert main(["engines"]) == INTERRUPTED
    assert "interrupted" in capsys.readouterr().err


def test_a_missing_engine_is_an_error_in_one_line(monkeypatch, capsys, tmp_path):
    monkeypatch.setitem(BUILT_IN, "torch", BuiltIn("dovetail.engines.torch", "no_such_library", "pip install it"))
    monkeypatch.setattr(sys.modules["dovetail.core.engines.engine_registry"], "_loaded", {})
    assert main(["demo", "--engine", "torch", "--out", str(tmp_path)]) == 1
    assert "which is not installed: pip install it" in capsys.readouterr().err


def test_output_that_nobody_reads_to_its_end():
    """As by `dovetail plan list | head -1`, which closes the pipe."""
    program = subprocess.Popen(
        [sys.executable, "-m", "dovetail", "plan", "list"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    program.stdout.close()
    assert (program.stderr.read(), program.wait()) == ("", 0)
