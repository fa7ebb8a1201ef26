"""The pages of the site that are made: the reference, tables, and files from outside of the folder of the docs.

Sphinx calls `setup`. The pages lie in docs/made/, which is not in the repository.
"""

from __future__ import annotations

from typing import Any

import charts
import gallery
import k_tables
import notebooks
import reference
import tf_table
from links import DOCS, PAGES, ROOT, of_site

MADE = DOCS / "made"


def setup(app: Any) -> dict[str, bool]:
    """Make the pages before Sphinx looks for files, and let links lead to the pages of the site."""
    app.connect("builder-inited", lambda app: write())
    app.connect("source-read", _relink)
    return {"parallel_read_safe": True}


def _relink(app: Any, name: str, source: list[str]) -> None:
    if (DOCS / f"{name}.md").is_file() and not name.startswith("made/"):
        source[0] = of_site(source[0], f"docs/{name}.md", f"{name}.md")


def pages() -> dict[str, str]:
    """File → text, of all pages that are made."""
    found = k_tables.pages() | reference.pages() | gallery.pages() | notebooks.pages() | {"names.md": tf_table.page()}
    for file, page in PAGES.items():
        if file.endswith(".md") and page.startswith("made/") and page != "made/names.md":
            found[page.removeprefix("made/")] = of_site((ROOT / file).read_text(), file, page)
    found["measurements.md"] = charts.with_charts(found["measurements.md"])
    return found


def write() -> None:
    """Write the pages, each only if its text is another one, so that Sphinx reads no page in vain."""
    made = pages()
    charts.draw(MADE / "charts")
    for path in [*MADE.rglob("*.md"), *MADE.rglob("*.rst")]:
        if str(path.relative_to(MADE)) not in made:
            path.unlink()
    for name, text in made.items():
        path = MADE / name
        if not path.is_file() or path.read_text() != text:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
