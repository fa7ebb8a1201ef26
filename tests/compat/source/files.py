"""Files for the tests of readers."""

from __future__ import annotations

import json
from pathlib import Path


def write(folder: Path, files: dict[str, str | bytes | dict]) -> None:
    """Write files: text, bytes, or a notebook."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        data = json.dumps(content) if isinstance(content, dict) else content
        path.write_bytes(data if isinstance(data, bytes) else data.encode())


def notebook(*cells: str, language: str = "python") -> dict:
    return {
        "nbformat": 4,
        "metadata": {"kernelspec": {"language": language}},
        "cells": [
            {"cell_type": "markdown", "source": ["K.nothing(x)"]},
            *({"cell_type": "code", "source": cell.splitlines(keepends=True)} for cell in cells),
        ],
    }
