"""Runs all the measurements of benchmarks/README.md, one after the other.

python -m benchmarks
"""

import runpy
import sys
from pathlib import Path

from tqdm import tqdm

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))
for name in tqdm(["dispatch", "imports", "steps", "tracing", "edits", "tools"], desc="benchmarks", file=sys.stderr):
    sys.argv = [name]
    runpy.run_path(str(HERE / f"{name}.py"), run_name="__main__")
