"""Runs the measurements of benchmarks/README.md that take about a minute each, one after the other.

python -m benchmarks
"""

import runpy
import sys
from pathlib import Path

from tqdm import tqdm

SHORT = ("imports", "dispatch", "tracing", "steps", "k_calls", "files --megabytes 20 --rounds 1")
HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))
for command in tqdm(SHORT, desc="benchmarks", file=sys.stderr):
    sys.argv = command.split()
    runpy.run_path(str(HERE / f"{sys.argv[0]}.py"), run_name="__main__")
