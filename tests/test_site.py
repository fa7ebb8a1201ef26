"""The site: each public name and each example has a page, and the search finds the guides."""

from __future__ import annotations

import doctest
import importlib
import re
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
sys.path[1:1] = [str(ROOT / "docs"), str(ROOT / "docs/_site")]

import gallery
import links
import reference

from dovetail.backend.table import FUNCTIONS
from tests.browser import CHROMIUM, Browser

SITE = ROOT / "site"
PAGES = reference.pages()


def test_each_public_name_has_a_page():
    assert reference.lacking() == set()
    assert reference.lacking(lambda: ["Graph", "graph_off"]) == {"graph_off"}


def test_the_reference_has_each_op_and_each_function_of_k():
    import dovetail as dt

    whole = "\n".join(PAGES.values())
    for name in dt.ops.__all__:
        assert f"autofunction:: dovetail.ops.{name}\n" in whole
    for name in FUNCTIONS:
        assert re.search(rf"autofunction:: dovetail\.backend(\.experimental)?\.{name}\n", whole)


def test_each_example_has_a_page():
    assert sorted(gallery.TITLES) == sorted(path.stem for path in (ROOT / "examples").glob("*.py"))


def test_links_lead_to_pages_of_the_site():
    text = links.of_site(
        "[all](../examples), [one](../examples/pool.py), [x](k.md#a)\n```\n[y](z)\n```", "docs/a.md", "a.md"
    )
    assert text == "[all](made/examples.md), [one](made/examples/pool.md), [x](k.md#a)\n```\n[y](z)\n```"


@pytest.mark.parametrize("name", ["charts", "docstrings", "links"])
def test_examples_of_the_scripts(name):
    pytest.importorskip("matplotlib")
    found = doctest.testmod(importlib.import_module(name))
    assert found.attempted and not found.failed


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    """A browser for the built site."""
    if CHROMIUM is None:
        pytest.skip("there is no chromium")
    if not (SITE / "index.html").is_file():
        pytest.skip("the site is not built: `make docs`")
    with Browser(tmp_path_factory.mktemp("browser")) as found:
        yield found


HIT = "document.querySelector('#search-results li a')?.getAttribute('href') ?? null"


@pytest.mark.parametrize(
    ("query", "page"),
    [
        ("gradient override", "gradients.html"),
        ("override gradient", "gradients.html"),
        ("onnx", "onnx.html"),
        ("old programs", "old_programs.html"),
    ],
)
def test_the_first_hit_of_a_search_is_the_guide(browser, query, page):
    browser.open(SITE / "search.html")
    browser.run(f"location.search = '?q={query.replace(' ', '+')}'; 0")
    until = time.monotonic() + 60
    while (hit := browser.run(HIT)) is None and time.monotonic() < until:
        time.sleep(0.1)
    assert (hit or "").partition("#")[0].partition("?")[0] == page


def test_the_filter_of_names_hides_the_others(browser):
    browser.open(SITE / "made/names.html")
    shown = "[...document.querySelectorAll('table.names tbody tr')].filter((row) => row.offsetParent).length"
    everything = browser.run(shown)
    field = "document.getElementById('filter')"
    browser.run(f"{field}.value = 'tf.nn.conv2d'; {field}.dispatchEvent(new Event('input')); 0")
    names = browser.run(
        "[...document.querySelectorAll('table.names tbody tr')].filter((row) => row.offsetParent)"
        ".map((row) => row.cells[0].textContent)"
    )
    assert 0 < len(names) < 100 < everything and all("nn.conv2d" in name.lower() for name in names)


@pytest.mark.parametrize("width", [1400, 420])
@pytest.mark.parametrize(
    "page", ["index.html", "gradients.html", "made/api/gradients.html", "made/examples.html", "made/names.html"]
)
def test_a_page_is_as_wide_as_the_window(browser, page, width):
    browser.problems.clear()
    browser.open(SITE / page, width)
    assert browser.run("document.documentElement.scrollWidth") <= width
    assert [problem for problem in browser.problems if not problem.startswith("asked for data:")] == []
