"""Prose in plain English: few sentences of docs, docstrings and comments have a marker, or are too long."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
OPENERS = re.compile(r"(What|Whatever|Where|Wherever|Those|That of|Whoever|Who|Whose|So many|As ever)\b(?![^.]*\?$)")
CLAUSES = (
    "is was are were it they he a an the one has have had would can could else lies follows comes takes makes does did "
    "there you its their runs must may needs goes stands"
)
PHRASES = (
    "that of|those of|those that|of one's own|as ever|anew|but for|in the place of|so many|stands? for|stood for|"
    "(is|are|was|were|be) told|told of|by and by|as it were|no more than that|all that (is|was|there)|such as are|"
    "so far as|whatever (is|it)|where (none|there is none|that is)|one's"
)
MARKERS = re.compile(rf"\b(what ({CLAUSES.replace(' ', '|')})|{PHRASES})\b", re.IGNORECASE)
LONG, SHARE = 30, 0.03  # words of a sentence, and the share of marked sentences, at most
DOCS = [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("benchmarks/*.md")]
SOURCES = [p for part in ("src", "tests", "benchmarks", "docs", "examples") for p in (ROOT / part).rglob("*.py")]


def sentences(text):
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", re.sub(r"`[^`\n]*`", "`x`", text))
    for block in re.split(r"\n\s*\n|\n\s*[-*] |\n\s*\d+\. ", text):
        found = re.split(r"(?<=[.!?:;])\s+(?=[A-Z`(])", " ".join(block.split()))
        yield from (sentence for sentence in found if len(sentence.split()) >= 4)


def of_page(path):
    text = re.sub(r"```.*?```", "\n\n", path.read_text(), flags=re.DOTALL)
    return re.sub(r"(?m)^\s*(#|\||<).*$", "\n", text)


def of_source(path):
    """Docstrings without examples and names of arguments, and comments that are not settings."""
    text = path.read_text()
    nodes = [
        node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
    ]
    docs = [re.sub(r"(?m)^\s*(>>>|\.\.\.).*(\n(?!\s*\n|\s*>>>).*)*", "\n", ast.get_docstring(n) or "") for n in nodes]
    comments = [t.string for t in tokenize.generate_tokens(io.StringIO(text).readline) if t.type == tokenize.COMMENT]
    prose = [c.lstrip("# ") for c in comments if not re.match(r"#(:|!| ?(noqa|type:|ruff|pragma))", c)]
    return "\n\n".join([*(re.sub(r"(?m)^\s*[\w*`, ]+: ", "\n\n", doc) for doc in docs), *prose])


@pytest.mark.parametrize(("files", "read"), [(DOCS, of_page), (SOURCES, of_source)], ids=["docs", "docstrings"])
def test_prose_is_plain(files, read):
    found = [(path, sentence) for path in files for sentence in sentences(read(path))]
    marked = [(p, s) for p, s in found if OPENERS.match(s) or MARKERS.search(s) or len(s.split()) > LONG]
    assert len(found) > 600
    assert len(marked) <= SHARE * len(found), "\n".join(f"{path.relative_to(ROOT)}: {s}" for path, s in marked)
