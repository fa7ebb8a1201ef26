"""Packages that tests install."""

from __future__ import annotations

from pathlib import Path
from typing import Any

OUTSIDE = str(Path(__file__).parent / "engines" / "installed")  # the folder of installed engines, "boxed" and "whole"


def install(pyproject: dict[str, Any], folder: Path) -> None:
    """Make a package known to importlib.metadata, as pip would."""
    project = pyproject["project"]
    info = folder / f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n")
    lines = []
    for group, points in project["entry-points"].items():
        lines += [f"[{group}]", *(f"{name} = {target}" for name, target in points.items())]
    (info / "entry_points.txt").write_text("\n".join(lines))
