"""`dovetail k-audit`: which functions of K a program uses, where, and whether each works on Dovetail's engines."""

from __future__ import annotations

import argparse
import sys

from dovetail.cli.k_audit.report import Report
from dovetail.cli.k_audit.verdict import FAILS, judge, known_names, tested_engines
from dovetail.cli.options import add_audit
from dovetail.compat.source.k_uses import find
from dovetail.compat.source.sources import read

DESCRIPTION = """\
Lists the functions of the Keras backend that a program uses (keras.backend, tf.keras.backend, tf_keras.backend, under
any name), where, and whether each works, works with a difference, or does not, on each engine.  Reads .py files and
the code of .ipynb notebooks; nothing is executed.
"""

EXAMPLES = """\
examples:
  dovetail k-audit train.py model.ipynb          these files
  dovetail k-audit src/ --verbose                all files of a folder; every place
  dovetail k-audit src/ --engine jax             on one engine
  dovetail k-audit src/ --json > audit.json      for programs

To bring a program over, change its import of K to `from dovetail import backend as K`.
The exit status is 0 if all works, 1 if something does not, 2 if a path is wrong.
"""


declare = add_audit


def run(options: argparse.Namespace) -> int:
    """Print the report and return the exit status: 1 if anything does not work, 2 if a path has nothing to read."""
    try:
        sources, unread = read(options.paths)
    except FileNotFoundError as error:
        print(f"dovetail: {error}", file=sys.stderr)
        return 2
    found = find(sources, known_names())
    report = Report(sources, unread, found, judge(found.uses, options.engine or tested_engines()))
    print(report.as_json() if options.json else report.as_text(options.verbose))
    return int(bool(report.in_state(FAILS)))
