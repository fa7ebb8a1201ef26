"""`dovetail sample`: folders of model files that the commands open."""

from __future__ import annotations

from pathlib import Path

import pytest

from dovetail.cli.main import main
from dovetail.cli.sample import SAMPLES
from tests.libraries import require

require("google.protobuf", "the models are TensorFlow's files")


@pytest.mark.parametrize("name", SAMPLES)
def test_a_folder_is_written_and_its_models_open(name, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["sample", name]) == 0
    assert capsys.readouterr().out.startswith(f"wrote {name}: ")
    assert [path.name for path in tmp_path.iterdir()] == [name]
    models = [path for path in Path(name).iterdir() if path.suffix != ".npz" and ".data" not in path.name]
    assert models and all(main(["show", str(path)]) == 0 for path in models)


def test_they_are_listed(capsys):
    assert main(["sample"]) == 0
    assert {*SAMPLES} <= {*capsys.readouterr().out.split()}


def test_a_folder_that_is_there_stays(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "models").mkdir()
    assert main(["sample", "models"]) == 1
    assert "models is there already" in capsys.readouterr().err
    assert [*(tmp_path / "models").iterdir()] == []
