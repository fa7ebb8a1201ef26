"""`dovetail k-audit`: the part of `dovetail audit` about K."""

from __future__ import annotations

from functools import partial

from dovetail.cli import audit
from dovetail.cli.options import add_audit

DESCRIPTION = """\
Lists the functions of the Keras backend that a program uses (keras.backend, tf.keras.backend, tf_keras.backend, under
any name), where, and whether each works, works with a difference, or does not, on each engine.  Reads .py files and
the code of .ipynb notebooks; nothing is executed.  `dovetail audit` tells the rest of the program, too.
"""

EXAMPLES = """\
examples:
  dovetail k-audit train.py model.ipynb          these files
  dovetail k-audit src/ --verbose                all files of a folder; every place
  dovetail k-audit src/ --engine jax             on one engine
  dovetail k-audit src/ --json > audit.json      for programs

The exit status is 0 if all works, 1 if something does not, 2 if a path is wrong.
"""

declare = add_audit
run = partial(audit.run, only="K")
