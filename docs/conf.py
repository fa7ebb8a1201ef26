"""The settings of the site: `make docs` builds it in `site/`, from these pages and from the sources."""

from __future__ import annotations

import os
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "docs" / "_site"), str(ROOT / "docs")]
os.environ.setdefault("DOVETAIL_ENGINE", "numpy")

from dovetail.core.base.version import VERSION

project = "Dovetail"
author = "the authors of Dovetail"
copyright = "the authors of Dovetail, Apache-2.0"  # Sphinx calls it so
version = release = VERSION

extensions = [
    "myst_parser",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "pages",  # docs/_site/pages.py: pages that are made of the sources
    "docstrings",  # docs/_site/docstrings.py: our docstrings as reStructuredText
]
root_doc = "index"
exclude_patterns = ["_site", "k", "tensorflow_names.md"]  # the site has the names in a page with a filter
suppress_warnings = [
    "myst.header",  # pages of tables begin at the second level
    "ref.python",  # two modules have a class of one name; the link leads to one of them
]

myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 4  # links as on a repository's pages: keras.md#programs-for-keras-2

autosummary_generate = False  # docs/_site/reference.py lists the names
autodoc_typehints = "none"  # signatures have the annotations as they are written
autodoc_member_order = "bysource"
napoleon_numpy_docstring = False
napoleon_use_ivar = True
napoleon_use_rtype = False

html_theme = "furo"
html_title = f"Dovetail {VERSION}"
html_static_path = ["_site/static"]
html_css_files = ["site.css"]
html_search_scorer = str(ROOT / "docs" / "_site" / "static" / "scorer.js")
html_copy_source = False
html_show_sphinx = False
html_theme_options = {"navigation_with_keys": True}
pygments_style = "default"
pygments_dark_style = "github-dark"
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
copybutton_selector = "div.highlight-python pre, div.highlight-sh pre, div.doctest pre"
