"""The time to load a SavedModel and call it once, in fresh processes, by the time that TensorFlow takes.

A second table has the processor time of later calls of recurrent models, whose loops are while loops over lists.

python benchmarks/saved_models.py [first loops]
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
STEPS = 20, 100  # of the recurrent models

CALL = """
import sys, time
import numpy as np
path, library = sys.argv[1:]
known = np.load(path + ".npz")
if library == "tensorflow":
    import tensorflow as tf
    load, given = tf.saved_model.load, tf.constant(known["x0"])
else:
    import dovetail as dt
    from dovetail import saved_model
    dt.set_engine(library)
    load, given = saved_model.load, known["x0"]
    dt.function(dt.ops.tanh)(np.ones(2, "float32"))  # the engine's library is imported
start = time.perf_counter()
call = load(path).signatures["serving_default"]
loaded = time.perf_counter()
keys = [*call.structured_input_signature[1]] if library == "tensorflow" else call.inputs
run = lambda: next(iter(call(**{keys[0]: given}).values())).numpy()
result = run()
first = time.perf_counter() - start
if "y0" in known.files:
    np.testing.assert_allclose(result, known["y0"], atol=1e-5)
times = []
while len(times) < 20:
    began = time.process_time()
    run()
    times.append(time.process_time() - began)
print(loaded - start, first, sorted(times)[10])
"""

MAKE = """
import sys, keras, numpy as np
model = keras.applications.MobileNetV2((96, 96, 3), weights=None, classes=10)
model.export(sys.argv[1], verbose=False)
np.savez(sys.argv[1] + ".npz", x0=np.random.RandomState(0).rand(1, 96, 96, 3).astype("float32"))
"""

MAKE_LOOPS = """
import sys, keras, numpy as np, tensorflow as tf
folder, *steps = sys.argv[1:]

class Cell(tf.Module):
    def __init__(self):
        draw = np.random.RandomState(0).randn
        shapes = (32, 256), (64, 256), (256,)
        self.w, self.u, self.b = (tf.Variable((draw(*shape) / 10).astype("float32")) for shape in shapes)

    def step(self, x, h, c):
        i, f, g, o = tf.split(x @ self.w + h @ self.u + self.b, 4, 1)
        c = tf.sigmoid(f) * c + tf.sigmoid(i) * tf.tanh(g)
        return tf.sigmoid(o) * tf.tanh(c), c

class Arrays(Cell):  # the states of all steps, in a TensorArray
    def __call__(self, x):
        count, h = tf.shape(x)[1], tf.zeros([tf.shape(x)[0], 64])
        rows = tf.TensorArray("float32", count).unstack(tf.transpose(x, [1, 0, 2]))
        def body(t, h, c, states):
            h, c = self.step(rows.read(t), h, c)
            return t + 1, h, c, states.write(t, h)
        first = 0, h, h, tf.TensorArray("float32", count)
        return tf.transpose(tf.while_loop(lambda t, *_: t < count, body, first)[3].stack(), [1, 0, 2])

class Slices(Cell):  # the last state
    def __call__(self, x):
        h, step = tf.zeros([tf.shape(x)[0], 64]), lambda t, h, c: (t + 1, *self.step(x[:, t], h, c))
        return tf.while_loop(lambda t, *_: t < tf.shape(x)[1], step, (0, h, h))[1]

for count in map(int, steps):
    x = np.random.RandomState(0).randn(4, count, 32).astype("float32")
    layers = [keras.layers.Masking(), keras.layers.LSTM(64, return_sequences=True), keras.layers.GRU(64)]
    models = {"arrays": Arrays(), "slices": Slices(), "Keras": keras.Sequential([keras.Input((count, 32)), *layers])}
    for name, model in models.items():
        path = f"{folder}/{name}, {count} steps"
        run = tf.function(lambda x: model(x), input_signature=[tf.TensorSpec((None, count, 32))])
        model.export(path, verbose=False) if name == "Keras" else tf.saved_model.save(model, path, signatures=run)
        np.savez(path + ".npz", x0=x, y0=run(x))
"""


def run(code: str, *arguments: str) -> list[float]:
    """The numbers that a program prints in a process of its own."""
    environment = os.environ | {"KERAS_BACKEND": "tensorflow", "TF_CPP_MIN_LOG_LEVEL": "3"}
    done = subprocess.run([sys.executable, "-c", code, *arguments], stdout=-1, stderr=-3, check=True, env=environment)
    return [float(number) for number in done.stdout.split()] if code == CALL else []


def rows_of(path: Path, number: int = 1) -> list[list[str]]:
    """The ratios of a model on each engine: the median of the rounds, the smallest and the largest.

    Args:
        path: the model.
        number: of the time among those that a process prints.
    """
    ratios: dict[str, list[float]] = {name: [] for name in ENGINES}
    for _ in range(ROUNDS):
        theirs = run(CALL, str(path), "tensorflow")[number]
        for name, found in ratios.items():
            found.append(run(CALL, str(path), name)[number] / theirs)
    return [
        [path.name, name, f"{statistics.median(found):.2f}", f"{min(found):.2f} to {max(found):.2f}"]
        for name, found in ratios.items()
    ]


def show(title: str, rows: list[list[str]]) -> None:
    print(table(title, ["model", "engine", "ratio", "spread"], rows))


def main(parts: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        if "first" in parts:
            large = Path(folder, "MobileNetV2")
            run(MAKE, str(large))
            rows = [row for path in (*(MODELS / name for name in SMALL), large) for row in rows_of(path)]
            show("Models of TensorFlow (`saved_models.py`): load and first call, by TensorFlow's time", rows)
        if "loops" in parts:
            run(MAKE_LOOPS, folder, *map(str, STEPS))
            paths = sorted(path.with_suffix("") for path in Path(folder).glob("*steps.npz"))
            rows = [row for path in paths for row in rows_of(path, 2)]
            show("Recurrent models: later calls, by TensorFlow's processor time", rows)


if __name__ == "__main__":
    main(sys.argv[1:] or ["first", "loops"])
