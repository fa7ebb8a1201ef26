"""The pages about all functions of K: the differences from tf.keras, and the results on each engine.

Their sources are the docstrings, and the counts of src/dovetail/backend/support.json.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from dovetail import backend
from dovetail.backend.docstring import read, takes_more
from dovetail.backend.table import FUNCTIONS

ROOT = Path(__file__).parent.parent.parent
SUPPORT = json.loads((ROOT / "src/dovetail/backend/support.json").read_text())


def pages() -> dict[str, str]:
    """File → text, for the folder of made pages."""
    return {"k_differences.md": differences(), "k_support.md": support()}


def link(name: str) -> str:
    """A function's name, which leads to its docstring."""
    module = "dovetail.backend" if name in vars(backend) else "dovetail.backend.experimental"
    return f"{{any}}`{name} <{module}.{name}>`" if name in FUNCTIONS else f"`{name}`"


def cell(text: str) -> str:
    return text.replace("|", "\\|")


def differences() -> str:
    """The tables of all differences."""
    rows: dict[bool, list[str]] = {True: [], False: []}
    for name in sorted(FUNCTIONS):
        for sentence in read(FUNCTIONS[name]).differences:
            rows[takes_more(sentence)].append(f"| {link(name)} | {cell(sentence[:1].upper() + sentence[1:])} |")
    head = "| function | difference |\n| --- | --- |\n"
    parts = [
        "# K: differences from tf.keras",
        "The reference is `tf_keras.backend`, with which the parity suite (`tests/backend`) compares every function. "
        "These differences are on purpose, and a case of the suite pins each of them.",
        "## Other results",
        head + "\n".join(rows[False]),
        "## What tf.keras refuses and Dovetail computes",
        "A program of tf.keras never meets these; `dovetail audit` counts such functions as working.",
        head + "\n".join(rows[True]),
    ]
    return "\n\n".join(parts) + "\n"


def totals(entry: dict[str, Any]) -> dict[str, list[int]]:
    """Engine → the numbers of runs that agree, that differ as pinned, and that fail, over all ways."""
    found: dict[str, list[int]] = {}
    for engines in entry.values():
        for engine, counts in engines.items():
            found[engine] = [sum(pair) for pair in zip(found.get(engine, [0, 0, 0]), counts, strict=True)]
    return found


def results(name: str) -> str:
    """The results of the suite for one function, in words, as reStructuredText."""
    entry = SUPPORT["functions"].get(name, {})
    if "uncompared" in entry:
        return f"Not compared with tf.keras: {entry['uncompared']}."
    texts: dict[str, list[str]] = {}
    for engine, counts in totals(entry).items():
        texts.setdefault(verdict(counts), []).append(engine)
    said = "; ".join(f"{text} on {' and '.join(engines)}" for text, engines in texts.items())
    return f":doc:`Runs of the parity suite <../k_support>`: {said}."


def verdict(counts: list[int]) -> str:
    """Counts in words."""
    agree, differ, fail = counts
    if fail:
        return f"**fails {fail} of {sum(counts)}**"
    return f"works {agree}" if not differ else f"works {agree}, differs {differ}"


def support() -> str:
    """The table of functions × engines."""
    versions = ", ".join(f"{name} {number}" for name, number in SUPPORT["versions"].items())
    engines = [name for name in SUPPORT["versions"] if name not in ("python", "dovetail", "tf_keras")]
    entries = SUPPORT["functions"]
    rows, uncompared, absent = [], [], []
    for name in sorted(entries):
        if "absent" in entries[name]:
            absent.append(f"| `{name}` | {cell(entries[name]['absent'])} |")
        elif "uncompared" in entries[name]:
            uncompared.append(f"| {link(name)} | {cell(entries[name]['uncompared'])} |")
        else:
            found = totals(entries[name])
            cells = " | ".join(verdict(found[engine]) if engine in found else "" for engine in engines)
            rows.append(f"| {link(name)} | {cells} |")
    ruled = " | ".join(["---"] * len(engines))
    parts = [
        "# K: results on each engine",
        f"Counted while the parity suite ran: {versions}. A number counts the runs whose values, shapes, dtypes and "
        "errors agree with tf.keras, or with the case if tf.keras lacks the function. A run is a case in one of three "
        "ways: eagerly, inside `dovetail.function`, and on placeholders. If a function differs from tf.keras on "
        "purpose, the number of runs that pin it follows; [differences](k_differences.md) lists these differences.",
        "\n".join([f"| function | {' | '.join(engines)} |", f"| --- | {ruled} |", *rows]),
        "## Not compared",
        "\n".join(["| function | why |", "| --- | --- |", *uncompared]),
        "## Not in K",
        "Names of old Keras versions that programs may use:",
        "\n".join(["| name | why, and what to use |", "| --- | --- |", *absent]),
    ]
    return "\n\n".join(parts) + "\n"
