"""`dovetail plan`: what was measured where engines are chosen, and is kept."""

from __future__ import annotations

import sys
from pathlib import Path

from dovetail.cli.table import table
from dovetail.plan import store
from dovetail.plan.store import Entry

SHORTEST = 8  # digits of a key that are shown, and are enough to name an entry


def run(action: str, key: str | None) -> int:
    """Lists, shows or forgets what is kept; the exit status."""
    if action == "clear" and (count := store.clear(key or "")):
        print(f"forgot {count} of {store.folder()}")
        return 0
    found = [entry for entry in store.entries() if key is None or entry.key.startswith(key)]
    if not found and key is not None:
        print(f"dovetail: nothing is kept under {key!r}; `dovetail plan list` shows what is.", file=sys.stderr)
        return 1
    if not found:
        where = store.place()
        print(f"nothing is kept in {where} yet" if isinstance(where, Path) else f"nothing is kept, since {where}")
    elif action == "list":
        print(_listed(found))
    else:
        print(*map(_shown, found), sep="\n")
    return 0


def _listed(found: list[Entry]) -> str:
    rows = [["key", "graph", "arguments", "chosen", "ms a call", "of", "measured"]]
    for entry in found:
        best, *others = entry.ranking
        numbers = [f"{best.median * 1e3:.3g}", f"{1 + len(others)}"]
        texts = map(_printable, (entry.name, entry.shapes, best.name))
        rows.append([entry.key[:SHORTEST], *texts, *numbers, _printable(entry.made)])
    return table(rows)


def _shown(entry: Entry) -> str:
    fastest = entry.ranking[0].median
    rows = [["plan", "median ms", "best ms", "calls", "to the chosen"]]
    for each in entry.ranking:
        times = [f"{each.median * 1e3:.3g}", f"{each.best * 1e3:.3g}", str(each.calls), f"{each.median / fastest:.2f}"]
        rows.append([_printable(each.name), *times])
    return f"{_printable(f'{entry.name} {entry.shapes}, measured {entry.made}')}\n\n{table(rows)}\n"


def _printable(text: str) -> str:
    """Text of a file that anybody may have written, without what terminals take for commands."""
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)
