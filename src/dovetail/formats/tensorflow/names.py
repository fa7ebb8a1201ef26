"""Names of tensors in TensorFlow's nodes and functions."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

ORIGINAL = "_dovetail_name"  # the attribute of a node with the name that it has in Dovetail, if TensorFlow's differs


def node_name(name: str) -> str:
    """A name as TensorFlow takes it for nodes and functions: letters and digits of ASCII, and a few marks.

    Example:
        >>> node_name("/0/Gemm"), node_name("my kernel:0"), node_name("_x"), node_name("a>b>"), node_name("a/")
        ('0/Gemm', 'my_kernel_0', 'x_x', 'a>b_', 'a')
    """
    plain = re.sub(r"[^A-Za-z0-9_./>-]|>(?![A-Za-z0-9.])", "_", name.strip("/"))
    return plain if re.match(r"[A-Za-z0-9.]", plain) else f"x{plain}"


def original(node: Any) -> str:
    """The name of a message `NodeDef` in Dovetail."""
    said = node.attr[ORIGINAL].s if ORIGINAL in node.attr else b""
    return str(said, "utf-8", "replace") or str(node.name)


def split(reference: str) -> tuple[str, str, int]:
    """The node, the output's name and the output's number in the name of an input.

    Example:
        >>> split("a:1"), split("a:indices:0"), split("^a")
        (('a', '', 1), ('a', 'indices', 0), ('a', '', 0))
    """
    name, *parts = reference.removeprefix("^").split(":")
    number = parts[-1] if parts else "0"
    return name, parts[0] if len(parts) > 1 else "", int(number) if number.isdecimal() else -1


def behind(reference: str, nodes: Mapping[str, Any]) -> str:
    """The reference behind identities, which may lie in a circle."""
    for _ in range(len(nodes)):
        node = nodes.get(split(reference)[0])
        if node is None or node.op != "Identity" or not node.input:
            break
        reference = node.input[0]
    return reference


def parameter_name(key: str) -> str:
    """The name that TensorFlow gives the parameter of an input when it loads a signature.

    Example:
        >>> parameter_name("a:0"), parameter_name("0")
        ('a_0', 'arg_0')
    """
    plain = "".join(c if c.isalnum() else "_" for c in key)
    return plain if not plain or plain[0].isalpha() else f"arg_{plain}"


def argument_name(name: str, taken: Iterable[str]) -> str:
    """A name for an argument or a result of a function, which no other one has."""
    plain = re.sub(r"[^a-z0-9_]", "_", name.lower())
    plain = plain if plain[:1].isalpha() else f"x{plain}"
    unique, count, known = plain, 0, {*taken}
    while unique in known:
        unique, count = f"{plain}_{count}", count + 1
    return unique
