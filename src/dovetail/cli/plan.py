"""`dovetail plan`: what was measured where engines are chosen, and is kept."""

from __future__ import annotations

import sys

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
        where = store.folder()
        print(f'nothing is kept, since {store.VARIABLE} is ""' if where is None else f"nothing is kept in {where} yet")
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
        rows.append([entry.key[:SHORTEST], entry.name, entry.shapes, best.name, *numbers, entry.made])
    return table(rows)


def _shown(entry: Entry) -> str:
    fastest = entry.ranking[0].median
    rows = [["plan", "median ms", "best ms", "calls", "to the chosen"]]
    for each in entry.ranking:
        times = [f"{each.median * 1e3:.3g}", f"{each.best * 1e3:.3g}", str(each.calls), f"{each.median / fastest:.2f}"]
        rows.append([each.name, *times])
    return f"{entry.name} {entry.shapes}, measured {entry.made}\n\n{table(rows)}\n"
