"""DOT: a graph as text for Graphviz, with scopes as clusters.

Source: https://graphviz.org/doc/info/lang.html
"""

from __future__ import annotations

from collections.abc import Iterator

from dovetail.formats.pictures.picture import OUTPUT, Node, Picture
from dovetail.formats.pictures.tree import Tree

STYLES = {
    "Placeholder": 'shape=ellipse fillcolor="#e3f3e6"', OUTPUT: 'shape=ellipse fillcolor="#e3f3e6"',
    "Const": 'shape=plain fillcolor="#eef0f2"', "ReadVariableOp": 'shape=cylinder fillcolor="#faf0d9"',
    "AssignVariableOp": 'shape=cylinder fillcolor="#faf0d9"',
}  # fmt: skip
HEAD = """\
  node [shape=box style="rounded,filled" fillcolor="#e8effd" fontname="sans-serif" fontsize=11]
  edge [color="#98a2b3" fontname="sans-serif" fontsize=9]"""


def dot_of(picture: Picture) -> str:
    """A picture as DOT.

    Example:
        >>> import dovetail as dt
        >>> from dovetail.formats.pictures.picture import picture_of
        >>> print(dot_of(picture_of(dt.function(dt.ops.tanh, name="f").graph(dt.spec((3,))))))
        digraph "f" {
          node [shape=box style="rounded,filled" fillcolor="#e8effd" fontname="sans-serif" fontsize=11]
          edge [color="#98a2b3" fontname="sans-serif" fontsize=9]
          n1 [label="arg0\\nfloat32[3]" tooltip="arg0" shape=ellipse fillcolor="#e3f3e6"]
          n2 [label="Tanh" tooltip="Tanh"]
          n3 [label="Output\\nfloat32[3]" tooltip="output" shape=ellipse fillcolor="#e3f3e6"]
          n1 -> n2 [label="float32[3]"]
          n2 -> n3 [label="float32[3]"]
        }
    """
    tree = Tree(picture)
    lines = [f"digraph {_quoted(picture.name)} {{", HEAD, *_items(tree, 0, "  ")]
    for source, output, target in tree.edges:
        node = tree.items[source].node
        assert node is not None
        about = "style=dashed" if output < 0 else f"label={_quoted(node.outputs[output])}"
        lines.append(f"  n{source} -> n{target} [{about}]")
    return "\n".join([*lines, "}"])


def _items(tree: Tree, scope: int, indent: str) -> Iterator[str]:
    for number in tree.children[scope]:
        _, label, node = tree.items[number]
        if node is not None:
            yield indent + _node(number, node)
        if tree.children[number]:
            yield f"{indent}subgraph cluster_{number} {{"
            yield f'{indent}  label={_quoted(label)} style=rounded color="#c3c9d3" fontname="sans-serif"'
            yield from _items(tree, number, f"{indent}  ")
            yield f"{indent}}}"


def _node(number: int, node: Node) -> str:
    label = _quoted("\n".join(filter(None, (node.title, node.subtitle))))
    style = f" {STYLES[node.type]}" if node.type in STYLES else ""
    return f"n{number} [label={label} tooltip={_quoted(node.name)}{style}]"


def _quoted(text: str) -> str:
    """A text in quotes; only line breaks become escapes, which Graphviz reads as centred lines."""
    printable = "".join(c if c.isprintable() or c == "\n" else "\N{REPLACEMENT CHARACTER}" for c in text)
    return '"' + printable.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
