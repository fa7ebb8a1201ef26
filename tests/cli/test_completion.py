"""`dovetail completion`: the script for a shell, and the library that it needs."""

from __future__ import annotations

import shutil
import subprocess
import sys
from types import SimpleNamespace

import pytest

from dovetail.cli import completion
from dovetail.cli.main import COMMANDS, main
from tests.libraries import require


def test_without_the_library(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "shtab", None)
    assert main(["completion", "bash"]) == 1
    assert capsys.readouterr().err == "dovetail: completion needs shtab: pip install 'keras-dovetail[completion]'.\n"


def test_the_library_gets_all_commands_and_options(monkeypatch, capsys):
    def complete(parser, shell):
        (parsers,) = (action for action in parser._actions if isinstance(action.choices, dict))
        options = {name: {*made._option_string_actions} for name, made in parsers.choices.items()}
        assert options.keys() == COMMANDS.keys() and {"--import", "--flops"} <= options["show"]
        return f"a script for {shell}"

    monkeypatch.setitem(sys.modules, "shtab", SimpleNamespace(complete=complete))
    assert main(["completion", "zsh"]) == 0
    assert capsys.readouterr().out == "a script for zsh\n"
    assert completion.whole_parser().parse_args(["plan", "list"]).action == "list"


@pytest.mark.parametrize("shell", ["bash", "zsh", "tcsh"])
def test_the_script(shell, tmp_path, capsys):
    require("shtab", "it writes the script")
    assert main(["completion", shell]) == 0
    text = capsys.readouterr().out
    assert "doctor" in text and ("--import" in text or shell == "tcsh")
    if shell == "bash" and shutil.which("bash"):
        (tmp_path / "script").write_text(text)
        assert subprocess.run(["bash", "-n", tmp_path / "script"], check=False).returncode == 0
