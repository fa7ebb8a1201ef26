"""Names of tensors in TensorFlow's nodes."""

from __future__ import annotations


def split(reference: str) -> tuple[str, str, int]:
    """The node, the output's name and the output's number in the name of an input.

    Example:
        >>> split("a:1"), split("a:indices:0"), split("^a")
        (('a', '', 1), ('a', 'indices', 0), ('a', '', 0))
    """
    name, *parts = reference.removeprefix("^").split(":")
    number = parts[-1] if parts else "0"
    return name, parts[0] if len(parts) > 1 else "", int(number) if number.isdecimal() else -1
