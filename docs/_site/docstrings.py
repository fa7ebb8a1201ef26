"""Our docstrings as reStructuredText: they are plain text with `code`, examples, lists and sections."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from typing import Any

MARKUP = re.compile(r"(?P<code>`[^`]+`)|(?P<mark>[*|\\]|(?<=\w)_(?!\w))")
PARAGRAPH = re.compile(r"(?P<title>Source|Differs|Modern): (?P<text>.*)")
SECTION = re.compile(r"[A-Z]\w+:$")


def setup(app: Any) -> dict[str, bool]:
    """Let Sphinx read docstrings and signatures as ours are written."""
    app.connect("autodoc-process-docstring", lambda *given: _replace(given[-1]), priority=400)  # before napoleon
    app.connect("autodoc-process-signature", lambda _, what, name, value, *others: signature(what, value))
    return {"parallel_read_safe": True}


def _replace(lines: list[str]) -> None:
    lines[:] = list(restructured(lines))


def restructured(lines: list[str]) -> Iterator[str]:
    """The lines of a docstring, for napoleon and reStructuredText.

    - `x` is code, and characters that would be markup are text.
    - A paragraph that begins with "Source:", "Differs:" or "Modern:" has this word in bold.
    - Indented text that belongs to no section is a block of code.

    Example:
        >>> print("\\n".join(restructured(["The `n`-th of *args.", "", "Source: `numpy.sum`;", "    as is."])))
        The ``n``-th of \\*args.
        <BLANKLINE>
        **Source:** ``numpy.sum``;
        as is.
        <BLANKLINE>
    """
    section = paragraph = block = example = False
    before = ""
    for line in lines:
        text = line.strip()
        indented = line.startswith("    ")
        if not text:
            paragraph = example = False
        elif not indented:
            section, block = bool(SECTION.match(text)), False
        example = example or text.startswith((">>>", "..."))
        if found := PARAGRAPH.match(line):
            if before:
                yield ""
            yield f"**{found['title']}:** {escaped(found['text'])}"
            paragraph = True
        elif paragraph:
            yield escaped(text)
        elif indented and not section and not example:
            if not block:
                yield from ("::", "")
            block = True
            yield line
        else:
            yield line if example else escaped(line)
        before = text
    yield ""


def escaped(line: str) -> str:
    """A line of text in which only code in backticks is markup."""
    return MARKUP.sub(_escape, line)


def _escape(found: re.Match[str]) -> str:
    if found["mark"]:
        return "\\" + found["mark"]
    start, end = found.span()
    left = "\\ " if found.string[:start][-1:].isalnum() else ""
    right = "\\ " if found.string[end:][:1].isalnum() else ""
    return f"{left}`{found['code']}`{right}"


def signature(what: str, value: Callable[..., Any]) -> tuple[str, str] | None:
    """The parameters and the result, with annotations as the source has them.

    Example:
        >>> def double(x: Float, axis: int | None = None) -> Tensor: ...
        >>> signature("function", double)
        ('(x: Float, axis: int | None = None)', 'Tensor')
    """
    if what not in ("function", "class", "method"):
        return None
    try:
        found = inspect.signature(value)
    except (TypeError, ValueError):
        return None
    parameters = [p.replace(annotation=_Text.of(p.annotation)) for p in found.parameters.values()]
    if what == "method" and parameters and parameters[0].name in ("self", "cls"):
        del parameters[0]
    bare = found.replace(parameters=parameters, return_annotation=found.empty)
    result = found.return_annotation
    is_said = what != "class" and result is not found.empty
    return str(bare), str(_Text.of(result)) if is_said else ""


class _Text:
    """An annotation that prints as its source."""

    def __init__(self, text: str) -> None:
        self.text = text

    @classmethod
    def of(cls, annotation: Any) -> Any:
        """Return the text of an annotation; none stays none."""
        if annotation is inspect.Parameter.empty:
            return annotation
        return cls(annotation if isinstance(annotation, str) else inspect.formatannotation(annotation))

    def __repr__(self) -> str:
        return self.text

    __str__ = __repr__
