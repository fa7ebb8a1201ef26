"""`dovetail plan`: the measurements on disk, by which engines are chosen."""

from __future__ import annotations

import sys
from pathlib import Path

from dovetail.cli.table import printable, table
from dovetail.core import cache_folder
from dovetail.plan import records
from dovetail.plan.records import Kept
from dovetail.plan.report import Row

SHORTEST = 8  # the digits shown of a key, enough to name an entry


def run(action: str, key: str | None) -> int:
    """List, show or forget the measurements, and return the exit status."""
    if action == "clear" and (count := records.clear(key or "")):
        print(f"forgot {count} of {records.folder()}")
        return 0
    found = [entry for entry in records.entries() if key is None or entry.key.startswith(key)]
    if not found and key is not None:
        print(f"dovetail: nothing is kept under {key!r}; `dovetail plan list` shows what is.", file=sys.stderr)
        return 1
    if not found:
        where = cache_folder.place()
        print(f"nothing is kept in {where} yet" if isinstance(where, Path) else f"nothing is kept, since {where}")
    elif action == "list":
        print(_listed(found))
    else:
        print(*map(_shown, found), sep="\n")
    return 0


def _listed(found: list[Kept]) -> str:
    table_rows = [["key", "graph", "fastest", "ms a step", "of", "steps", "measured"]]
    for kept in found:
        (strategy, best), *others = kept.times.items()
        numbers = [f"{best.median * 1e3:.3g}", f"{1 + len(others)}", str(kept.steps)]
        texts = map(printable, (kept.name, strategy.name))
        table_rows.append([kept.key[:SHORTEST], *texts, *numbers, printable(kept.made)])
    return table(table_rows)


def _shown(kept: Kept) -> str:
    """The latest process's report, extended by the times of every strategy that was measured."""
    rows = {row.strategy: row for row in kept.report.rows}
    for strategy, each in kept.times.items():
        rows[strategy] = rows.get(strategy, Row(strategy))._replace(measured=each.median, calls=each.calls)
    report = kept.report._replace(rows=sorted(rows.values(), key=lambda row: (not row.measured, row.measured)))
    lines = [f"{kept.name}, measured {kept.made}, {kept.steps} steps", *str(report).splitlines()]
    return "\n  ".join(map(printable, lines)) + "\n"
