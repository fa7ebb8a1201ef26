"""Show: a picture as a file, in the format that its name says, or as HTML for notebooks."""

from __future__ import annotations

import html
from collections.abc import Callable, Mapping
from pathlib import Path

from dovetail.core.base.errors import op_error
from dovetail.core.base.files import replacing
from dovetail.formats.pictures.dot import dot_of
from dovetail.formats.pictures.model_explorer import model_explorer_of
from dovetail.formats.pictures.page import page_of
from dovetail.formats.pictures.picture import Picture
from dovetail.formats.pictures.svg import svg_of

FORMATS: Mapping[str, tuple[Callable[[Picture], str], str]] = {
    ".html": (page_of, "a page"),
    ".svg": (svg_of, "a drawing"),
    ".dot": (dot_of, "text for Graphviz"),
    ".json": (model_explorer_of, "a graph for Model Explorer"),
}
DRAWN = 60  # nodes of a graph that a notebook shows as a drawing; larger ones are pages


def check_format(path: str | Path) -> None:
    """Check that a file's name says a format.

    Raises:
        ValueError: it does not.
    """
    if Path(path).suffix.lower() not in FORMATS:
        known = ", ".join(f"{suffix} ({what})" for suffix, (_, what) in FORMATS.items())
        raise op_error(ValueError, "show", f"{str(path)!r} does not say a format: end its name in one of {known}.")


def write(picture: Picture, path: str | Path) -> None:
    """Write a picture to a file, as a whole.

    Raises:
        ValueError: the file's name says no format, or the graph is too large for a drawing.
        OSError: the file cannot be written.
    """
    check_format(path)
    make, _ = FORMATS[Path(path).suffix.lower()]
    text = make(picture)
    with replacing(Path(path)) as file:
        file.write(text.encode("utf-8", "backslashreplace"))


def notebook_html(picture: Picture) -> str:
    """A picture as HTML for a cell of a notebook: a drawing if it is small, else a page in a frame."""
    if len(picture.nodes) <= DRAWN:
        return f'<div style="overflow: auto; background: #fff">{svg_of(picture)}</div>'
    page = html.escape(page_of(picture))
    return f'<iframe srcdoc="{page}" style="width: 100%; height: 600px; border: 1px solid #ccc"></iframe>'
