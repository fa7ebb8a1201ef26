"""The `dovetail` command: help, the list of engines, and error messages."""

from __future__ import annotations

import subprocess
import sys

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


def test_help_imports_no_engine():
    code = (
        "import sys\nfrom dovetail.cli.main import main\n"
        "try: main(['--help'])\nexcept SystemExit: pass\n"
        "large = ('torch', 'jax', 'tensorflow', 'keras', 'sklearn', 'matplotlib')\n"
        "print('IMPORTED', [m for m in large if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.endswith("IMPORTED []\n")


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
        ([], "required: command"),
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
