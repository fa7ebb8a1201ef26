"""Run the old programs with TensorFlow 2.21 and tf_keras, and keep the printed lines in files beside them.

    python tests/programs/oracle.py [--slim FOLDER] [NAMES]

Each program runs in its own process, which maps the names of its time to names of today.  FOLDER has the
package tf-slim.  Random numbers depend on their place in the tensor alone, so another library can draw the same.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
OLD = HERE / "old"


def main() -> None:
    """Run the programs that the command line names, or all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--slim", default="")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    for path in sorted(OLD.iterdir()):
        if path.suffix in (".py", ".ipynb") and (not options.names or path.stem in options.names):
            text = printed(path, options.slim)
            path.with_suffix(".txt").write_text(text)
            print(path.name, len(text.splitlines()), "lines")


def printed(path: Path, slim: str) -> str:
    """The lines that a program prints.

    Raises:
        subprocess.CalledProcessError: it failed.
    """
    from tests.programs.data import write_mnist

    with tempfile.TemporaryDirectory() as folder:
        write_mnist(Path(folder) / "MNIST_data")
        command = [sys.executable, "-m", "tests.programs.oracle_child", str(path)]
        settings = {
            "TF_USE_LEGACY_KERAS": "1",
            "TF_CPP_MIN_LOG_LEVEL": "3",
            "PYTHONWARNINGS": "ignore",
            "MPLBACKEND": "Agg",
        }
        places = os.pathsep.join(filter(None, [str(HERE.parents[1]), slim, os.environ.get("PYTHONPATH", "")]))
        found = subprocess.run(
            command, cwd=folder, env=os.environ | settings | {"PYTHONPATH": places}, capture_output=True, text=True
        )
    if found.returncode:
        print(found.stdout[-1500:], found.stderr[-3000:], sep="\n")
        found.check_returncode()
    return found.stdout


if __name__ == "__main__":
    main()
