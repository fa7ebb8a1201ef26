"""The notebooks of the docs: each runs from its first cell to its last one."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from dovetail.cli import sample
from tests.libraries import require

require("nbclient", "it runs the notebooks")
require("ipykernel", "it runs the notebooks")

import nbformat
from nbclient import NotebookClient

SAMPLES = Path(sample.__file__).parent / "samples"
NOTEBOOKS = sorted((Path(__file__).parent.parent / "docs" / "notebooks").glob("*.ipynb"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_and_its_last_value_is_shown(path, tmp_path):
    notebook = nbformat.read(path, as_version=4)
    assert not any(cell.get("outputs") for cell in notebook.cells)  # none are kept
    NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(tmp_path)}}).execute()
    shown = [output for cell in notebook.cells for output in cell.get("outputs", ())]
    assert sum("text/html" in output.get("data", {}) for output in shown) >= 1


READING = """
from dovetail.core.base import notebook, progress
import dovetail as dt

progress.LARGE = 1
shown, bar = [], notebook.bar

def watched():
    tell = bar()
    return lambda *told: (shown.append(told), tell(*told))

notebook.bar = watched
dt.saved_model.load("models/mlp").signatures["serving_default"](dt.ops.zeros((2, 6)))
assert shown and all(0 < done <= size for _, done, size in shown)
"""


def test_long_reading_shows_a_bar(tmp_path):
    shutil.copytree(SAMPLES / "models", tmp_path / "models")
    cells = [nbformat.v4.new_code_cell(READING)]
    notebook = nbformat.v4.new_notebook(cells=cells)
    NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(tmp_path)}}).execute()
    shown = [output["data"]["text/html"] for output in cells[0]["outputs"] if output["output_type"] == "display_data"]
    assert shown and set(shown) == {""}  # each is gone at its end


def test_there_are_four():
    assert len(NOTEBOOKS) == 4
