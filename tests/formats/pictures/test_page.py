"""The page of a graph in a browser: opening, searching, colouring, its speed, and that it asks for nothing."""

from __future__ import annotations

import html
import io
import random
import xml.etree.ElementTree as ElementTree

import pytest

from dovetail.formats.pictures.page import BINS, page_of
from dovetail.formats.pictures.picture import Node, Picture
from tests.browser import CHROMIUM, Browser
from tests.formats.hostile import hostile_data, hostile_graph
from tests.formats.pictures.test_pictures import graph as small_graph  # noqa: F401  # a fixture

Image = pytest.importorskip("PIL.Image", reason="screenshots are read with Pillow")

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed, in which pages are looked at")

SVG = "{http://www.w3.org/2000/svg}"
SIZES = {"wide": (1400, 900), "narrow": (400, 800)}
MOST_DRAWN = 3000
PAN = """window.waiting = (async () => {
  const times = [];
  let most = 0;
  for (let k = 0; k < 60; k++) {
    const start = performance.now();
    view.x += (k % 2 ? 3 : -3) / view.scale; view.y += 9 / view.scale;
    frame();
    context.getImageData(0, 0, 1, 1);  // the drawing is done
    times.push(performance.now() - start);
    most = Math.max(most, page.drawn);
    await new Promise(requestAnimationFrame);
  }
  return [times.sort((a, b) => a - b)[30], most];
})()"""
PATIENCE = 10  # a page paints within 1 s and pans within 33 ms a frame; a busy machine may take so many times longer
PAINTED = """window.waiting = new Promise((done) => new PerformanceObserver((list) => {
  for (const entry of list.getEntriesByName("first-contentful-paint")) done(entry.startTime);
}).observe({ type: "paint", buffered: true }))"""


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    with Browser(tmp_path_factory.mktemp("chromium")) as found:
        yield found


@pytest.fixture
def opened(browser, small_graph, tmp_path):  # noqa: F811
    """The browser with the page of a small graph, which must cause no error and no request."""
    small_graph.show(tmp_path / "g.html", {"dense/MatMul": {"time": 1500.0}, "Exp": {"time": 20.0, "mean": -0.5}})
    browser.problems.clear()
    browser.open(tmp_path / "g.html")
    yield browser
    assert browser.problems == []


def colours(browser, tmp_path):
    """The colours of a screenshot, with their numbers of pixels."""
    image = Image.open(io.BytesIO(browser.picture(tmp_path / "shot.png"))).convert("RGB")
    return {colour: count for count, colour in image.getcolors(1 << 24)}


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("size", SIZES)
def test_it_fits_every_window(opened, tmp_path, size, dark):
    width, height = SIZES[size]
    opened.open(tmp_path / "g.html", width, height, dark)
    assert opened.run("[document.documentElement.scrollWidth, document.documentElement.scrollHeight]") == [
        width,
        height,
    ]
    found = colours(opened, tmp_path)
    background = max(found, key=found.get)
    assert (sum(background) < 150) == dark
    assert len(found) > 200  # boxes, lines and texts are there
    everything = (
        "page.picture.boxes.every((b) => b.X - b.w / 2 >= view.x && b.X + b.w / 2 <= view.x + view.width / view.scale)"
    )
    assert opened.run("fit(), frame(), page.drawn") >= 20 and opened.run(everything)


def test_a_click_shows_details(opened):
    at = "[(item.X - view.x) * view.scale, (item.Y + 8 - view.y) * view.scale + canvas.getBoundingClientRect().top]"
    find = "graph.items.find((item) => item.node && item.node.type === 'MatMul')"
    opened.click(*opened.run(f"(() => {{ const item = {find}; return {at}; }})()"))
    text = opened.run("byId('panel').innerText")
    for part in ("dense/MatMul", "Matrix product", "test_pictures.py:", "matmul(x, w)", "float32[4,2]", "transpose_a",
                 "False", "1.5 ms", "32 B", "dense/Mul"):  # fmt: skip
        assert part in text
    opened.press("ArrowDown")
    assert opened.run("fullName(look.selected)") == "dense/Mul"
    opened.press("Escape")
    assert opened.run("look.selected === null && byId('panel').innerText.includes('graph of')")


def test_scopes_open_and_close(opened):
    assert opened.run("standIn(graph.items.find((item) => item.label === 'Neg')).label") == "While"
    opened.run("select(graph.items.find((item) => item.label === 'While'))")
    opened.press("Enter")
    body = opened.run("page.picture.boxes.filter((box) => box.isOpen).map((box) => box.label)")
    assert {"While", "body", "condition", "dense"} == {*body}
    inside = """page.picture.boxes.every((b) => !b.parent.parent || (
      b.Y > b.parent.Y && b.Y + b.h < b.parent.Y + b.parent.h &&
      b.X - b.w / 2 > b.parent.X - b.parent.w / 2 && b.X + b.w / 2 < b.parent.X + b.parent.w / 2))"""
    assert opened.run(inside)
    opened.press("c")
    shown = [box["label"] for box in opened.run("page.picture.boxes.map(({ label }) => ({ label }))")]
    assert "dense" in shown and "MatMul" not in shown
    opened.press("e")
    assert opened.run("page.picture.boxes.length") == opened.run("graph.items.length") - 1


def test_search(opened):
    opened.press("c")
    opened.press("/")
    for key in "tanh":
        opened.press(key)
    assert opened.run("[byId('search').value, page.found.map(fullName)]") == ["tanh", ["dense/Tanh"]]
    opened.press("Enter")
    assert opened.run("[fullName(look.selected), look.selected.parent.isOpen]") == ["dense/Tanh", True]
    opened.press("Escape")
    assert opened.run("[byId('search').value, look.found, look.dims]") == ["", None, False]


def test_an_address_names_an_operation(opened):
    assert opened.run("select(null), follow()") is False
    opened.run("select(graph.items.find((item) => item.label === 'Tanh'))")
    assert opened.run("location.hash") == "#op=dense%2FTanh"
    opened.run("history.replaceState(null, '', '#op=dense%2FMatMul')")
    assert opened.run("follow() && fullName(look.selected)") == "dense/MatMul"
    assert opened.run("history.replaceState(null, '', '#op=nothing'), follow()") is False
    assert opened.run("select(null), location.hash") == ""


def test_an_address_that_is_no_text_opens_the_page(browser, small_graph, tmp_path):  # noqa: F811
    small_graph.show(tmp_path / "g.html")
    browser.problems.clear()
    browser.open(tmp_path / "g.html")
    assert browser.run("history.replaceState(null, '', '#op=%'), follow()") is False
    assert browser.problems == []


def test_a_page_in_a_notebook_has_no_address(browser, small_graph, tmp_path):  # noqa: F811
    """Notebooks show it in a frame of their own page, whose address cannot be changed."""
    small_graph.show(tmp_path / "g.html")
    page = html.escape((tmp_path / "g.html").read_text())
    (tmp_path / "notebook.html").write_text(f'<!doctype html><iframe id="shown" srcdoc="{page}"></iframe>')
    browser.problems.clear()
    browser.open(tmp_path / "notebook.html")
    frame = "document.getElementById('shown').contentWindow"
    wait = f"const wait = () => {frame}.page ? done(1) : setTimeout(wait, 20)"
    browser.run(f"window.waiting = new Promise((done) => {{ {wait}; wait(); }})")
    found = f"{frame}.page.graph.items.find((item) => item.label === 'MatMul')"
    assert browser.run(
        f"{frame}.select({found}), {frame}.document.getElementById('panel').innerText.includes('MatMul')"
    )
    assert browser.problems == []


def test_weights_are_in_their_operation(opened):
    opened.run("select(graph.items.find((item) => item.label === 'MatMul'))")
    text = opened.run("byId('panel').innerText")
    assert "w float32[3,2]" in text and "1, 1, 1, 1, 1, 1" in text and "Reads" not in text
    assert opened.run("byId('panel').querySelectorAll('.histogram i').length") == BINS
    assert opened.run("look.selected.node.subtitle") == "w [3,2]"
    opened.run("search('w')")
    assert "dense/MatMul" in opened.run("page.found.map(fullName)")


def test_the_view_is_saved(opened):
    drawing = ElementTree.fromstring(opened.run("svgOfView()"))
    texts = {element.text for element in drawing.iter(f"{SVG}text")}
    assert {"x", "Output", "MatMul", "w [3,2]"} <= texts and len(list(drawing.iter(f"{SVG}path"))) > 20
    assert [float(drawing.get(key)) for key in ("width", "height")] == opened.run("[view.width, view.height]")
    opened.run("window.saved = []; save = (content, ending) => saved.push([content.type, content.size > 1000, ending])")
    opened.run("byId('save-svg').click()")
    opened.run(
        "window.waiting = new Promise((done) => { byId('save-png').click(); setTimeout(done, 300); }).then(() => 1)"
    )
    assert opened.run("saved") == [["image/svg+xml", True, "svg"], ["image/png", True, "png"]]


def test_colours(opened, tmp_path):
    names = opened.run("[...byId('colours').options].map((option) => option.text)")
    assert names == ["type", "engine", "time", "memory", "mean"]
    assert opened.run("page.key") == "time"  # where there are times, they are what one looks for
    hot = opened.run("look.scale.fill(graph.items.find((item) => item.label === 'MatMul'))")
    assert tuple(bytes.fromhex(hot[1:])) in colours(opened, tmp_path)
    assert opened.run("byId('legend').innerText").split() == ["time", "0", "µs", "1.5", "ms"]
    opened.run("colour('engine')")
    assert opened.run("byId('legend').innerText").split() == ["torch", "1"]
    opened.run("byId('legend').querySelector('button').click()")
    assert opened.run("graph.items.filter((item) => item.node && !look.isDim(item)).map(fullName)") == ["dense/Tanh"]


def test_hostile_names(browser, tmp_path):
    hostile_graph().show(tmp_path / "g.html", hostile_data())
    browser.problems.clear()
    browser.open(tmp_path / "g.html")
    assert browser.run("document.title") == "</title><script>1</script>"
    assert browser.run("document.querySelectorAll('script').length") == 2
    browser.run("graph.items.forEach((item) => { select(item); frame(); })")
    browser.run("[...choices.keys()].forEach((key) => { colour(key); frame(); })")
    assert browser.run("byId('panel').querySelectorAll('script').length") == 0
    assert browser.run(
        "graph.items.map((item) => item.node ? fullName(item) : '').filter((name) => name.includes('日本'))"
    )
    assert browser.problems == []


def test_an_empty_graph(browser, tmp_path):
    (tmp_path / "g.html").write_text(page_of(Picture("empty")))
    browser.problems.clear()
    browser.open(tmp_path / "g.html")
    assert browser.run("frame(), [page.drawn, byId('counts').innerText]") == [0, "0 operations"]
    assert browser.problems == []


def large(scopes):
    """A picture of 10,000 operations; without scopes, all of them are shown at once."""
    chance = random.Random(1)
    nodes = []
    for number in range(10_000):
        inputs = [(max(0, number - 1 - chance.randrange(min(40, number))), 0) for _ in range(2)] if number else []
        name = f"block_{number // 200}/layer_{number // 25 % 8}/Op_{number}" if scopes else f"Op_{number}"
        nodes.append(Node(name, "MatMul", "MatMul", f"Op_{number}", inputs, outputs=["float32[32,64]"]))
    return Picture("large", nodes)


@pytest.mark.parametrize("scopes", [True, False])
def test_ten_thousand_operations(browser, tmp_path, scopes):
    (tmp_path / "g.html").write_text(page_of(large(scopes)))
    browser.problems.clear()
    browser.open(tmp_path / "g.html")
    assert browser.run(PAINTED) <= PATIENCE * 1000
    median, most = browser.run(PAN)
    assert median <= PATIENCE * 33 and 0 < most <= MOST_DRAWN
    browser.run("setAll(true)")
    for scale in (0.004, 0.05, 0.2, 1.0):
        browser.run(f"view.scale = {scale}; view.x = -view.width / 2 / {scale}; view.y = page.picture.height / 3")
        median, most = browser.run(PAN)
        assert median <= PATIENCE * 33 and 0 < most <= MOST_DRAWN, scale
    assert browser.problems == []
