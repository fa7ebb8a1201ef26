"""The page docs/tensorflow_types.md: the types of TensorFlow's nodes that are read, and those that are not.

- `python docs/tf_types.py` writes the page.
- `python docs/tf_types.py --check` says whether the page is stale; status 1 if so.
"""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Iterable
from pathlib import Path

from dovetail.formats.tensorflow.host import HOST
from dovetail.formats.tensorflow.ops import READ, SPECIAL
from dovetail.formats.tensorflow.unread import UNREAD

PAGE = Path(__file__).parent / "tensorflow_types.md"
MADE = "<!-- made by docs/tf_types.py -->"


def page() -> str:
    """The text of the page."""
    both = [row.type for row in READ.values() if row.is_written]
    one = [row.type for row in READ.values() if not row.is_written and row.body is None]
    several = [row.type for row in READ.values() if row.body is not None]
    others = HOST.keys() - READ.keys() - SPECIAL.keys()
    groups = {
        "One op computes it, and is written as it": both,
        "One op computes it, and is written as another type": one,
        "Several ops compute it": several,
        "It has functions, handles, lists or constants": SPECIAL.keys() - READ.keys(),
        "The host computes it": others,
    }
    reasons: dict[str, list[str]] = {}
    for name, reason in UNREAD.items():
        reasons.setdefault(reason, []).append(name)
    parts = [
        MADE,
        "# Types of TensorFlow's nodes",
        "[Models of TensorFlow](saved_model.md) may have nodes of these types. The random types draw numbers of"
        "\nTensorFlow's distributions, and not its bits.",
        *(f"## {title}: {len({*names})}\n\n{_listed(names)}" for title, names in groups.items()),
        "## Not computed\n\nSuch a node is an opaque operation, with the reason.",
        "\n".join(f"- {_listed(names)}:\n  {reason}." for reason, names in reasons.items()),
    ]
    return "\n\n".join(parts) + "\n"


def _listed(names: Iterable[str]) -> str:
    return "\n".join(textwrap.wrap(", ".join(f"`{name}`" for name in sorted({*names})), 120))


if __name__ == "__main__":
    if "--check" in sys.argv:
        stale = PAGE.read_text(encoding="utf-8") != page()
        print("docs/tensorflow_types.md is stale: run python docs/tf_types.py" if stale else "", end="\n" * stale)
        sys.exit(stale)
    PAGE.write_text(page(), encoding="utf-8")
