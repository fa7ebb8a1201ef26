"""`dovetail plan`: the measurements on disk, by which engines are chosen."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from dovetail.choose import records
from dovetail.choose.records import Kept
from dovetail.core.base import cache_folder
from dovetail.core.base.texts import printable, table
from dovetail.execute.choice import Row

DESCRIPTION = """\
Where no engine is named, or "auto" is, each function runs on the engine that is measured to be the fastest for it on
this machine.  What was measured is kept, so that the next start chooses at once.
"""

EXAMPLES = """\
examples:
  dovetail plan list                             what is kept: graphs, and what was chosen for them
  dovetail plan show 3f2a                        all that was measured for the graph whose key begins so
  dovetail plan clear                            forget it all; graphs are measured again

It is kept in $DOVETAIL_CACHE, or in dovetail/plans in your folder of caches; DOVETAIL_CACHE="" keeps nothing.
The guide `docs/glossary.md` explains the words: strategy, trial, gain, cost.
"""

SHORTEST = 8  # the digits shown of a key, enough to name an entry


def declare(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("action", choices=["list", "show", "clear"], help="what to do")
    parser.add_argument("key", nargs="?", help="the first digits of an entry's key (default: all)")


def run(options: argparse.Namespace) -> int:
    """List, show or forget the measurements, and return the exit status."""
    action, key = options.action, options.key
    if action == "clear" and (count := records.clear(key or "")):
        print(f"forgot {count} of {records.folder()}")
        return 0
    kept = [entry for entry in records.entries() if key is None or entry.key.startswith(key)]
    if not kept and key is not None:
        print(f"dovetail: nothing is kept under {key!r}; `dovetail plan list` shows what is.", file=sys.stderr)
        return 1
    if not kept:
        where = cache_folder.place()
        print(f"nothing is kept in {where} yet" if isinstance(where, Path) else f"nothing is kept, since {where}")
    elif action == "list":
        print(_listed(kept))
    else:
        print(*map(_shown, kept), sep="\n")
    return 0


def _listed(found: list[Kept]) -> str:
    table_rows = [["key", "program", "graph", "fastest", "ms a step", "of", "steps", "measured"]]
    for kept in found:
        (strategy, best), *others = kept.times.items()
        numbers = [f"{best.median * 1e3:.3g}", f"{1 + len(others)}", str(kept.steps)]
        texts = map(printable, (kept.script or "-", kept.name, strategy.name))
        table_rows.append([kept.key[:SHORTEST], *texts, *numbers, printable(kept.made)])
    return table(table_rows)


def _shown(kept: Kept) -> str:
    """The latest process's report, extended by the times of every strategy that was measured."""
    rows = {row.strategy: row for row in kept.report.rows}
    for strategy, each in kept.times.items():
        rows[strategy] = rows.get(strategy, Row(strategy))._replace(measured=each.median, calls=each.calls)
    report = kept.report._replace(rows=sorted(rows.values(), key=lambda row: (not row.measured, row.measured)))
    program = f" of {kept.script}" if kept.script else ""
    lines = [f"{kept.name}{program}, measured {kept.made}, {kept.steps} steps", *str(report).splitlines()]
    return "\n  ".join(map(printable, lines)) + "\n"
