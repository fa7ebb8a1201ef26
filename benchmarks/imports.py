"""Import time: `import dovetail`, its K and TensorFlow's names, in a fresh interpreter, beside `import numpy`.

python benchmarks/imports.py
"""

from __future__ import annotations

import os
import subprocess
import sys

from timing import compare, table

# Bytecode is kept, as it is wherever Python may write beside the source.
ENVIRONMENT = {**os.environ, "PYTHONDONTWRITEBYTECODE": ""}


def fresh(statement: str):
    return lambda: subprocess.run([sys.executable, "-c", statement], check=True, env=ENVIRONMENT)


def main() -> None:
    rows = []
    for statement in ("import dovetail", "import dovetail.backend", "import dovetail.compat.tensorflow.compat.v1"):
        found = compare(fresh(statement), fresh("import numpy"), rounds=11, seconds=0.01)
        rows.append([f"`{statement}`", f"{found.ours:.3f}", f"{found.theirs:.3f}", f"{found.ratio:.2f}"])
    print(table("Import", ["statement", "s", "import numpy s", "ratio"], rows))


if __name__ == "__main__":
    main()
