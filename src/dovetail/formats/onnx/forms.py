"""The opsets in which a node is possible, and in which it is the same.

`forms.txt` lists types, attributes with their defaults, and numbers of inputs that came behind the lowest opset.
`versions.txt` lists types and their versions; a `!` marks one in which a node of the version before may be another.
`tests.formats.type_lists` makes both of the schemas.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from pathlib import Path
from typing import Any


@functools.cache
def _forms() -> Mapping[str, list[tuple[int, dict[str, str]]]]:
    """Type → opsets, and what each adds: "" for the type itself, "#2" for a second input, attributes → defaults."""
    forms: dict[str, list[tuple[int, dict[str, str]]]] = {}
    for line in Path(__file__).with_name("forms.txt").read_text().splitlines():
        type, first, *added = line.split()
        pairs = {name: default for name, _, default in (one.partition("=") for one in added or [""])}
        forms.setdefault(type, []).append((int(first), pairs))
    return forms


def form(type: str, inputs: int, attrs: Mapping[str, Any], opset: int) -> tuple[dict[str, Any], int, str]:
    """The attributes of a node that an opset has, the first opset that has all of the node, and what it adds.

    Args:
        type: of the node.
        inputs: their number.
        attrs: its attributes.
        opset: that it is written in, which lacks attributes that have their defaults.
    """
    kept, needed, reason = dict(attrs), 0, ""
    for first, added in _forms().get(type, ()):
        for name, default in added.items() if first > opset else ():
            if name in kept and str(kept[name]) == default:
                del kept[name]
            elif not name or name in kept or (name[0] == "#" and inputs >= int(name[1:])):
                needed, reason = first, name and f" with {'more inputs' if name[0] == '#' else repr(name)}"
    return kept, needed, reason


def exists(type: str, opset: int) -> bool:
    """Whether an opset has a type."""
    return not form(type, 0, {}, opset)[1]


@functools.cache
def _versions() -> Mapping[str, list[tuple[int, bool]]]:
    """Type → its versions, and whether each may change nodes."""
    lines = map(str.split, Path(__file__).with_name("versions.txt").read_text().splitlines())
    return {type: [(int(one.rstrip("!")), one.endswith("!")) for one in said] for type, *said in lines}


def is_same(type: str, before: int, opset: int) -> bool:
    """Whether a node of a type is the same in another opset; in an older one, only where no version is between.

    Args:
        type: of the default domain.
        before: the opset that the node is from.
        opset: the other one.
    """
    first, last = sorted((before, opset))
    return not any(
        first < version <= last and (changes or opset < before) for version, changes in _versions().get(type, ())
    )
