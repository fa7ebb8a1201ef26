"""The notebooks of the docs: each runs from its first cell to its last one."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.libraries import require

require("nbclient", "it runs the notebooks")
require("ipykernel", "it runs the notebooks")

import nbformat
from nbclient import NotebookClient

NOTEBOOKS = sorted((Path(__file__).parent.parent / "docs" / "notebooks").glob("*.ipynb"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_and_its_last_value_is_shown(path, tmp_path):
    notebook = nbformat.read(path, as_version=4)
    assert not any(cell.get("outputs") for cell in notebook.cells)  # none are kept
    NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(tmp_path)}}).execute()
    shown = [output for cell in notebook.cells for output in cell.get("outputs", ())]
    assert sum("text/html" in output.get("data", {}) for output in shown) >= 1


def test_there_are_four():
    assert len(NOTEBOOKS) == 4
