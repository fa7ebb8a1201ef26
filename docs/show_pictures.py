"""The picture of docs/show.md: the page that its first block writes, as a headless Chromium shows it.

    python docs/show_pictures.py

The picture has few colours, so that it stays small.
"""

from __future__ import annotations

import contextlib
import io
import re
import runpy
import sys
import tempfile
from pathlib import Path

from PIL import Image

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from tests.browser import Browser

SIZE = 1200, 720
COLOURS = 256
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SELECT = """
const opened = ["conv_1", "conv_2", "dense", "loss"];
for (const item of graph.items) item.isOpen = item.children.length > 0 && opened.includes(fullName(item));
select(graph.items.find((item) => item.node && item.node.type === "Conv2D" && fullName(item).startsWith("conv_2")));
view.scale = 0.78; view.x = -view.width / 2 / view.scale; view.y = -16 / view.scale;
frame();
"""


def main() -> None:
    """Write docs/show.png."""
    found = BLOCK.search((ROOT / "docs" / "show.md").read_text())
    assert found is not None
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        Path("train.py").write_text(found[1])  # so that pictures show its lines
        runpy.run_path("train.py")
        with Browser(Path(folder)) as browser:
            browser.open(Path("digits.html"), *SIZE)
            browser.run(SELECT)
            shot = browser.picture(Path("shot.png"))
    image = Image.open(io.BytesIO(shot)).convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)
    image.save(ROOT / "docs" / "show.png", optimize=True)


if __name__ == "__main__":
    main()
