"""The parts of a K function's docstring, for its page and for the audit's notes."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

SECTIONS = ("Args", "Returns", "Raises", "Source", "Differs", "Modern", "Example")
HEADING = re.compile(rf"({'|'.join(SECTIONS)}):(?: |$)")
BEFORE_SECTION = re.compile(rf"\n\n(?=(?:{'|'.join(SECTIONS)}):)")
REFUSED = "tf.keras refuses"  # marks a difference that no program that ran with tf.keras can notice


@dataclass(frozen=True)
class Docstring:
    """The parts of a docstring.

    Attributes:
        summary: its first paragraph.
        text: the paragraphs that follow, outside all sections.
        sections: heading → the text under it, without indentation.
    """

    summary: str
    text: str
    sections: dict[str, str]

    @property
    def differences(self) -> list[str]:
        """The sentences that say how the function differs from tf.keras'."""
        text = " ".join(self.sections.get("Differs", "").split())
        return [sentence for sentence in re.split(r"(?<=\.)\s+", text) if sentence]


def read(function: Callable[..., Any]) -> Docstring:
    """The parts of a function's docstring.

    Raises:
        ValueError: the function has no docstring.

    Example:
        >>> from dovetail import backend as K
        >>> doc = read(K.set_floatx)
        >>> doc.summary
        'Set the default float type.'
        >>> doc.differences
        ['"bfloat16" is accepted, as in Keras 3; tf.keras refuses it.']
    """
    whole = inspect.getdoc(function)
    if not whole:
        raise ValueError(f"{function.__name__} has no docstring.")
    parts: dict[str, list[str]] = {"": []}
    current = before = ""
    for line in whole.splitlines():
        heading = HEADING.match(line)
        if heading is not None:
            current = heading[1]
            parts.setdefault(current, []).append(line[heading.end() :])
        elif current and not before and line and not line.startswith(" "):  # a paragraph after a section is outside it
            current = ""
            parts[""].append(line)
        else:
            parts[current].append(line)
        before = line
    summary, _, text = "\n".join(parts.pop("")).strip().partition("\n\n")
    sections = {name: inspect.cleandoc("\n".join(lines)) for name, lines in parts.items()}
    return Docstring(" ".join(summary.split()), text.strip(), sections)


def completed(text: str, shared: str, name: str) -> str:
    """The docstring of a function with the sections that it lacks and its module's docstring has.

    Args:
        text: the docstring.
        shared: the module's docstring, in which "{name}" stands for the function's name.
        name: the function's name.

    Example:
        >>> print(completed("The sum.\\n\\nModern: `+`.", "Sums.\\n\\nSource: `numpy.{name}`.", "add"))
        The sum.
        <BLANKLINE>
        Source: `numpy.add`.
        <BLANKLINE>
        Modern: `+`.
    """
    summary, *own = BEFORE_SECTION.split(inspect.cleandoc(text))
    _, *others = BEFORE_SECTION.split(shared.replace("{name}", name).rstrip())
    sections = {section.partition(":")[0]: section for section in (*others, *own)}
    return "\n\n".join([summary, *(sections[heading] for heading in SECTIONS if heading in sections)])


def says(difference: str, reason: str) -> bool:
    """Whether a difference contains the reason of a parity case."""
    return bool(reason) and " ".join(reason.split()).rstrip(".").lower() in difference.lower()


def takes_more(difference: str) -> bool:
    """Whether a difference is only that tf.keras refuses what Dovetail computes; no program that ran can notice it."""
    return REFUSED in difference
