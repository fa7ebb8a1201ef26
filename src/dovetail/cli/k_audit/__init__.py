"""`dovetail k-audit`: which functions of K a program uses, where, and whether each works on Dovetail's engines."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from dovetail.cli.k_audit.report import Report
from dovetail.cli.k_audit.sources import read
from dovetail.cli.k_audit.uses import find
from dovetail.cli.k_audit.verdict import FAILS, judge, known_names, tested_engines


def run(paths: Sequence[Path], engines: Sequence[str] | None, as_json: bool, verbose: bool) -> int:
    """Print the report and return the exit status: 1 if anything does not work, 2 if a path has nothing to read.

    Args:
        paths: files and folders.
        engines: where to run the program; None for every engine that K was tested on.
        as_json: JSON instead of text.
        verbose: every place instead of the first few.
    """
    try:
        sources, unread = read(paths)
    except FileNotFoundError as error:
        print(f"dovetail: {error}", file=sys.stderr)
        return 2
    found = find(sources, known_names())
    report = Report(sources, unread, found, judge(found.uses, engines or tested_engines()))
    print(report.as_json() if as_json else report.as_text(verbose))
    return int(bool(report.in_state(FAILS)))
