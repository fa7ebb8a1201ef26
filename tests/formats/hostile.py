"""Names that would break a page, a drawing or a text if they were not written with care."""

from __future__ import annotations

import dovetail as dt

NAMES = (
    "</script><script>document.title='broken'</script>",
    "<!--<script>",
    "\"'`\\\n\t\x00\x1b]]>",
    "{{script}} {{title}} \\u003c ${1} %s",
    "日本語 ∑ 🙂 \u202e\u2028",
    "__proto__",
    "constructor",
    "a//b/ /",
)


def hostile_graph(name: str = "</title><script>1</script>") -> dt.Graph:
    """A chain of operations with these names."""
    graph = dt.Graph(name)
    value = graph.placeholder(dt.spec((3,)), "x")
    for text in NAMES:
        value = dt.ops.tanh(value)
        graph._call(value.op, text)
    graph.outputs = [value]
    return graph


def hostile_data() -> dict[str, dict[str, object]]:
    """Data for the operations, under names and with texts of this kind."""
    return {name: {"</script>": name, "__proto__": 1.0, "time": float("nan")} for name in NAMES}
