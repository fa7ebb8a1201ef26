"""Import time: `import dovetail` in a fresh interpreter, above importing NumPy.

python benchmarks/imports.py
"""

from __future__ import annotations

import subprocess
import sys

from timing import compare, table


def fresh(statement: str):
    return lambda: subprocess.run([sys.executable, "-c", statement], check=True)


def main() -> None:
    found = compare(fresh("import dovetail"), fresh("import numpy"), rounds=11, seconds=0.01)
    row = [f"{found.ours:.3f}", f"{found.theirs:.3f}", f"{found.difference:+.3f}"]
    print(table("Import", ["import dovetail s", "import numpy s", "difference s"], [row]))


if __name__ == "__main__":
    main()
