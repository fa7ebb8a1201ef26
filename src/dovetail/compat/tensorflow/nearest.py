"""Advice for a name that is not offered: the offered name that was meant, if there is one."""

from __future__ import annotations

import functools
import sys
from collections.abc import Iterable, Mapping
from types import ModuleType
from typing import Any

from dovetail import ops
from dovetail.compat.tensorflow.entries import VIEWS, words_of
from dovetail.compat.tensorflow.names.absences import ABSENT


@functools.cache
def public() -> dict[str, str]:
    """TensorFlow 2.21's public names, of `tf` and `tf.compat.v1` → "class", "function", "module" or "value"."""
    return {name: kind for kind, name, *_ in words_of("public_names.txt")}


def kind_of(found: Any) -> str:
    """The kind of an offered value, in the words of `public`."""
    if isinstance(found, ModuleType):
        return "module"
    return "class" if isinstance(found, type) else "function" if callable(found) else "value"


def advice(full: str, modules: Iterable[str]) -> str:
    """Say why a name is not offered and what to write.

    Args:
        full: the name, without "tf.".
        modules: the names of the offered modules.
    """
    parts = full.split(".")
    for count in range(len(parts), 0, -1):
        known = ".".join(parts[:count])
        for key in (known, f"{known}."):
            if key in ABSENT and (key.endswith(".") or count == len(parts)):
                return ABSENT[key]
    kind = public().get(full)
    if kind == "module":
        return "Dovetail offers nothing of this module."
    every = {name: place.kind for view in VIEWS.values() for name, place in view.index.items()}
    offered = {name: public().get(name) or kind for name, kind in every.items() if not name.startswith("python.")}
    meant = nearest(full, {**offered, **dict.fromkeys(modules, "module")})
    hint = ""
    if meant is not None:
        hint = f"There is tf.{meant}, whose last part is the same. " if kind else f"Did you mean tf.{meant}? "
    if parts[-1] in ops.__all__ and kind in (None, "function"):
        return f"{hint}Dovetail has dovetail.ops.{parts[-1]}."
    return f"{hint}dovetail.ops and dovetail.backend (K) have more functions."


def nearest(full: str, offered: Mapping[str, str]) -> str | None:
    """Find the offered name that was meant by another name.

    A name of TensorFlow's own is not misspelt: only a name of the same kind with the same last part will do.
    Another name may have the wrong case, or up to two wrong letters.

    Args:
        full: the name that is not offered.
        offered: name → kind, as in `kind_of`.

    Returns:
        The name; None if no offered name is like it.
    """
    module, _, last = full.rpartition(".")
    kind = public().get(full)

    def best(found: dict[str, int]) -> str | None:
        """The name with the fewest wrong letters; among equals, one of the same module, then the shortest."""
        return min(found, key=lambda name: (found[name], _module(name) != module, len(name), name), default=None)

    same = {name: 0 for name in offered if _last(name) == last and (kind is None or offered[name] == kind)}
    if same or kind is not None:
        return best(same)
    other_case = {name: 0 for name in offered if _last(name).lower() == last.lower()}
    near = {name: _wrong_letters(last, _last(name)) for name in offered if _is_alike(last, offered[name])}
    return best(other_case or {name: wrong for name, wrong in near.items() if wrong <= allowed(last)})


def close_op(name: str, known: Iterable[str]) -> str | None:
    """Find the known name that was meant by a misspelt one; TensorFlow's own ops are not misspelt."""
    if f"raw_ops.{name}" in public():
        return None
    near = {other: _wrong_letters(name, other) for other in known}
    misspelt = {other: wrong for other, wrong in near.items() if wrong <= allowed(name)}
    return min(misspelt, key=lambda other: (misspelt[other], other), default=None)


def allowed(name: str) -> int:
    """The number of letters that may be wrong in a name: fewer in a short name, since many names are like it."""
    return 0 if len(name) < 3 else 1 if len(name) < 6 else 2


def _is_alike(name: str, kind: str) -> bool:
    """Whether a name is written like names of a kind: classes begin with a capital."""
    return name[:1].isupper() == (kind == "class")


def _module(name: str) -> str:
    return name.rpartition(".")[0]


def _last(name: str) -> str:
    return name.rpartition(".")[2]


def _wrong_letters(name: str, other: str) -> int:
    """The edit distance in letters added, removed or replaced; `sys.maxsize` if the lengths differ by more than two.

    Source: Levenshtein 1966, "Binary codes capable of correcting deletions, insertions, and reversals".
    """
    if abs(len(name) - len(other)) > 2:
        return sys.maxsize
    row = list(range(len(other) + 1))
    for i, letter in enumerate(name, 1):
        before, row = row, [i]
        for j, its in enumerate(other, 1):
            row.append(min(before[j] + 1, row[-1] + 1, before[j - 1] + (letter != its)))
    return row[-1]
