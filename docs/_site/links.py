"""Links of the repository's pages, as links of the site.

The pages link to files of the repository, as `../benchmarks/README.md`. The site has some of these as pages of its own.
Other files are copied, so that a reader can get them; a folder that is no page has its name without a link.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
DOCS = ROOT / "docs"
PAGES = {  # file or folder of the repository → page of the site
    "README.md": "index.md",
    "CONTRIBUTING.md": "made/contributing.md",
    "CHANGELOG.md": "made/changes.md",
    "SECURITY.md": "made/security.md",
    "benchmarks/README.md": "made/measurements.md",
    "docs/tensorflow_names.md": "made/names.md",
    "docs/notebooks": "made/notebooks.md",
    "examples": "made/examples.md",
    "examples/seeds": "made/examples.md",
    **{f"examples/{path.name}": f"made/examples/{path.stem}.md" for path in sorted((ROOT / "examples").glob("*.py"))},
}
LINK = re.compile(r"\[([^\]\n]+)\]\((?![a-z]+:|#)([^)\s#]+)(#[^)\s]*)?\)")
CODE = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)


def of_site(text: str, source: str, target: str) -> str:
    """A page's text, with links for the place that the page has in the site.

    Args:
        text: Markdown.
        source: the page's file, from the root of the repository.
        target: the page's file, from the folder of the docs.

    Example:
        >>> of_site("[Speed](../benchmarks/README.md#auto), [tour](guide.md)", "docs/k.md", "k.md")
        '[Speed](made/measurements.md#auto), [tour](guide.md)'
        >>> of_site("[a tour](docs/guide.md), [tests](tests)", "CONTRIBUTING.md", "made/contributing.md")
        '[a tour](../guide.md), tests'
    """
    parts = CODE.split(text)
    parts[::2] = [LINK.sub(lambda found: _link(found, source, target), part) for part in parts[::2]]
    return "".join(parts)


def _link(found: re.Match[str], source: str, target: str) -> str:
    text, given, anchor = found.groups()
    file = os.path.normpath(os.path.join(os.path.dirname(source), given))
    if file not in PAGES and (ROOT / file).is_dir():
        return text
    page = DOCS / PAGES[file] if file in PAGES else ROOT / file
    return f"[{text}]({os.path.relpath(page, (DOCS / target).parent)}{anchor or ''})"
