"""The time to load a SavedModel and call it once, in fresh processes, by the time that TensorFlow takes.

python benchmarks/saved_models.py
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from timing import table

MODELS = Path(__file__).parents[1] / "tests" / "formats" / "tensorflow" / "models"
SMALL = ("mlp", "cnn", "recurrent", "transformer", "mobile")
ENGINES = ("numpy", "torch", "jax")
ROUNDS = 3

CALL = """
import sys, time
import numpy as np
path, library = sys.argv[1:]
known = np.load(path + ".npz")["x0"]
if library == "tensorflow":
    import tensorflow as tf
    load, given = tf.saved_model.load, tf.constant(known)
else:
    import dovetail as dt
    from dovetail import saved_model
    dt.set_engine(library)
    load, given = saved_model.load, known
    dt.function(dt.ops.tanh)(np.ones(2, "float32"))  # the engine's library is imported
start = time.perf_counter()
call = load(path).signatures["serving_default"]
loaded = time.perf_counter()
keys = [*call.structured_input_signature[1]] if library == "tensorflow" else call.inputs
next(iter(call(**{keys[0]: given}).values())).numpy()
print(loaded - start, time.perf_counter() - start)
"""

MAKE = """
import sys, keras, numpy as np
model = keras.applications.MobileNetV2((96, 96, 3), weights=None, classes=10)
model.export(sys.argv[1], verbose=False)
np.savez(sys.argv[1] + ".npz", x0=np.random.RandomState(0).rand(1, 96, 96, 3).astype("float32"))
"""


def run(code: str, *arguments: str) -> list[float]:
    """The numbers that a program prints in a process of its own."""
    environment = os.environ | {"KERAS_BACKEND": "tensorflow", "TF_CPP_MIN_LOG_LEVEL": "3"}
    done = subprocess.run([sys.executable, "-c", code, *arguments], stdout=-1, stderr=-3, check=True, env=environment)
    return [float(number) for number in done.stdout.split()] if code == CALL else []


def rows_of(path: Path) -> list[list[str]]:
    """The ratios of a model on each engine: the median of the rounds, the smallest and the largest."""
    ratios: dict[str, list[float]] = {name: [] for name in ENGINES}
    for _ in range(ROUNDS):
        theirs = run(CALL, str(path), "tensorflow")[1]
        for name, found in ratios.items():
            found.append(run(CALL, str(path), name)[1] / theirs)
    return [
        [path.name, name, f"{statistics.median(found):.2f}", f"{min(found):.2f} to {max(found):.2f}"]
        for name, found in ratios.items()
    ]


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        large = Path(folder, "MobileNetV2")
        run(MAKE, str(large))
        rows = [row for path in (*(MODELS / name for name in SMALL), large) for row in rows_of(path)]
    print(
        table(
            "Models of TensorFlow (`saved_models.py`): load and first call, by TensorFlow's time",
            ["model", "engine", "ratio", "spread"],
            rows,
        )
    )


if __name__ == "__main__":
    main()
