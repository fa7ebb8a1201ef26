"""`dovetail tf-audit`: the part of `dovetail audit` about TensorFlow."""

from __future__ import annotations

from functools import partial

from dovetail.cli import audit
from dovetail.cli.options import add_audit

DESCRIPTION = """\
Lists the names of TensorFlow that a program uses, under any name, where, and whether each works on each engine, or why
not and what to write.  Reads .py files and the code of .ipynb notebooks; nothing is executed.  `dovetail audit` tells
the rest of the program, too.
"""

EXAMPLES = """\
examples:
  dovetail tf-audit train.py                     a file
  dovetail tf-audit src/ --verbose               all files of a folder; every place
  dovetail tf-audit src/ --engine jax --json     on one engine, for programs

The exit status is 0 if all works, 1 if something does not, 2 if a path is wrong.
"""

declare = add_audit
run = partial(audit.run, only="tf")
