"""The memory that graphs take to be read: python -m tests.formats.tensorflow.memory_checks FOLDER

It reads the file `graph.pb` of each folder inside, and prints the folder's name and the bytes.
"""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path

import dovetail as dt
from dovetail import saved_model
from dovetail.core.base.errors import FormatError
from tests.formats.memory import forget, memory

if __name__ == "__main__":
    dt.set_engine("numpy")
    dt.function(dt.ops.tanh).concrete(dt.spec((2,)))  # what all graphs need is imported
    for folder in sorted(Path(sys.argv[1]).iterdir()):
        forget()
        before = memory("VmRSS")
        with contextlib.suppress(FormatError):
            saved_model.load(folder / "graph.pb").results("y")
        print(folder.name, memory("VmHWM") - before)
