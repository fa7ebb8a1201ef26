"""The notebooks of docs/notebooks as pages: their texts and code, and the files to get."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from links import DOCS

FOLDER = DOCS / "notebooks"


def pages() -> dict[str, str]:
    """File → text, for the folder of made pages."""
    found = {f"notebooks/{path.stem}.md": page(path) for path in sorted(FOLDER.glob("*.ipynb"))}
    return found | {"notebooks.md": index(found)}


def cells(path: Path) -> list[dict[str, Any]]:
    return json.loads(path.read_text())["cells"]


def page(path: Path) -> str:
    """The page of a notebook."""
    return "\n\n".join([*_parts(path), f"{{download}}`{path.name} <../../notebooks/{path.name}>`"]) + "\n"


def _parts(path: Path) -> Iterator[str]:
    for cell in cells(path):
        text = "".join(cell["source"])
        yield text if cell["cell_type"] == "markdown" else f"```python\n{text}\n```"


def index(found: dict[str, str]) -> str:
    """The page that leads to all notebooks."""
    names = "\n".join(name.removesuffix(".md") for name in found)
    text = "Four notebooks, which the tests run. Tensors, graphs, plans and profiles show themselves in their cells."
    return f"# Notebooks\n\n{text}\n\n```{{toctree}}\n:maxdepth: 1\n\n{names}\n```\n"
