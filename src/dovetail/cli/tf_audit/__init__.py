"""`dovetail tf-audit`: which of TensorFlow's names a program uses, where, and whether each works on Dovetail's engines.

`dovetail.compat.source` reads the programs and resolves their names.
"""

from __future__ import annotations

import argparse
import sys

from dovetail.cli.k_audit.report import Report
from dovetail.cli.k_audit.verdict import FAILS
from dovetail.cli.options import add_audit
from dovetail.cli.tf_audit.verdict import judge, tested_engines
from dovetail.compat.source.sources import read
from dovetail.compat.source.tensorflow_uses import find

DESCRIPTION = """\
Lists the names of TensorFlow that a program uses, under any name, where, and whether each works on each engine, or why
not and what to write.  Reads .py files and the code of .ipynb notebooks; nothing is executed.
"""

EXAMPLES = """\
examples:
  dovetail tf-audit train.py                     a file
  dovetail tf-audit src/ --verbose               all files of a folder; every place
  dovetail tf-audit src/ --engine jax --json     on one engine, for programs

The exit status is 0 if all works, 1 if something does not, 2 if a path is wrong.
"""

NEXT = """\
To bring the program over, change its imports: `import tensorflow as tf` to `import dovetail.compat.tensorflow as tf`,
`tensorflow.compat.v1` and TensorFlow 1 to `dovetail.compat.tensorflow.compat.v1`, what is in tf.keras to `keras`."""


declare = add_audit


def run(options: argparse.Namespace) -> int:
    """Print the report and return the exit status: 1 if anything does not work, 2 if a path has nothing to read."""
    try:
        sources, unread = read(options.paths)
    except FileNotFoundError as error:
        print(f"dovetail: {error}", file=sys.stderr)
        return 2
    found = find(sources)
    report = Report(sources, unread, found, judge(found.uses, options.engine or tested_engines()), "tf", NEXT)
    print(report.as_json() if options.json else report.as_text(options.verbose))
    return int(bool(report.in_state(FAILS)))
