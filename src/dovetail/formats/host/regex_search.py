"""Searches by a pattern of Python's `re`, in this process or in one that can be stopped.

`re` tries one way after the other, so a pattern of a few characters can take for ever, and nothing ends its search.  As
a program, this file reads a task as JSON, and writes the results.  It imports nothing of Dovetail, to start quickly.
"""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Sequence
from typing import Any

LONGEST = 10**7  # steps of a search in this process, at most
# what a pattern has beside plain characters: escapes and classes as a whole, repeats, ends of groups, alternatives
PART = re.compile(
    r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|(?P<group>\))?(?P<repeat>[*+?]|\{\d*,\d*\})|(?P<count>\)\{\d+\})"
    r"|(?P<open>\()|(?P<other>\|)",
    re.S,
)


def is_short(pattern: str, texts: Sequence[str]) -> bool:
    """Whether each search in the texts takes few steps, whatever the pattern is.

    Without repeats of groups, a search goes over the text once for each repeat, inside of each other, and this for each
    choice of alternatives.  With them, each character can be taken in any of these ways.

    Example:
        >>> is_short("[a-z]+,", ["x" * 1000]), is_short("[a-z]+,", ["x" * 10000]), is_short("(a+)+", ["x" * 50])
        (True, False, False)
    """
    parts = list(PART.finditer(pattern))
    repeats, groups, others = (sum(part[kind] is not None for part in parts) for kind in ("repeat", "open", "other"))
    ways = (groups + 1) * math.log2(1 + others / (groups + 1))  # at most: as if each group had as many alternatives
    length = max(map(len, texts), default=0) + 2
    if any(part["group"] or part["count"] for part in parts):
        return length * (1 + repeats + ways) < math.log2(LONGEST)
    return (1 + repeats) * math.log2(length) + ways < math.log2(LONGEST)


def search(pattern: str, texts: Sequence[str], rewrite: str | None = None, count: int = 0) -> list[Any]:
    """Whether the pattern matches each text as a whole; with a rewrite, the texts with it in place of the matches.

    Args:
        pattern: of Python's `re`.
        texts: the texts.
        rewrite: of RE2, with `\\1` for a group, `\\0` for the match and `\\\\` for a backslash.
        count: how many matches of a text are replaced; 0 for all.
    """
    known = re.compile(pattern, re.ASCII)
    if rewrite is None:
        return [known.fullmatch(text) is not None for text in texts]
    parts = re.split(r"\\([0-9\\])", rewrite)

    def filled(match: re.Match[str]) -> str:
        return "".join(
            part if number % 2 == 0 else "\\" if part == "\\" else match[int(part)] or ""
            for number, part in enumerate(parts)
        )

    return [known.sub(filled, text, count) for text in texts]


if __name__ == "__main__":
    json.dump(search(*json.load(sys.stdin)), sys.stdout)
