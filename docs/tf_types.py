"""The page docs/tensorflow_types.md: the types of TensorFlow's nodes that are read, and those that are not.

- `python docs/tf_types.py` writes the page.
- `python docs/tf_types.py --check` says whether the page is stale; status 1 if so.
"""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Iterable, Mapping
from pathlib import Path

from dovetail.formats.tensorflow.host import HOST
from dovetail.formats.tensorflow.ops import READ
from dovetail.formats.tensorflow.table import NO_ROW
from dovetail.formats.tensorflow.unread import UNREAD

PAGE = Path(__file__).parent / "tensorflow_types.md"
MADE = "<!-- made by docs/tf_types.py -->"


def page() -> str:
    """The text of the page."""
    both = [row.type for row in READ.values() if row.is_written]
    one = [row.type for row in READ.values() if not row.is_written and row.body is None]
    several = [row.type for row in READ.values() if row.body is not None]
    groups = {
        "One op computes it, and is written as it": both,
        "One op computes it, and is written as another type": one,
        "Several ops compute it": several,
        "The host computes it": HOST.keys() - READ.keys() - NO_ROW.keys(),
    }
    parts = [
        MADE,
        "# Types of TensorFlow's nodes",
        "[Models of TensorFlow](saved_model.md) may have nodes of these types. The random types draw numbers of"
        "\nTensorFlow's distributions, and not its bits.",
        *(f"## {title}: {len({*names})}\n\n{_listed(names)}" for title, names in groups.items()),
        f"## A function of its own reads it: {len(NO_ROW)}\n\nEach has the reason why no row of a table says it.",
        _with_reasons(NO_ROW),
        "## Not computed\n\nSuch a node is an opaque operation, with the reason.",
        _with_reasons(UNREAD),
    ]
    return "\n\n".join(parts) + "\n"


def _with_reasons(reasons: Mapping[str, str]) -> str:
    by_reason: dict[str, list[str]] = {}
    for name, reason in reasons.items():
        by_reason.setdefault(reason, []).append(name)
    return "\n".join(f"- {_listed(names)}:\n  {reason}." for reason, names in by_reason.items())


def _listed(names: Iterable[str]) -> str:
    return "\n".join(textwrap.wrap(", ".join(f"`{name}`" for name in sorted({*names})), 120))


if __name__ == "__main__":
    if "--check" in sys.argv:
        stale = PAGE.read_text(encoding="utf-8") != page()
        print("docs/tensorflow_types.md is stale: run python docs/tf_types.py" if stale else "", end="\n" * stale)
        sys.exit(stale)
    PAGE.write_text(page(), encoding="utf-8")
