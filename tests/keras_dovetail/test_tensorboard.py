"""Keras' TensorBoard callback: it writes event files where importing TensorFlow fails, and TensorBoard reads them."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from pathlib import Path

from tests.libraries import Library, require

for library in ("keras", "tensorboard"):
    require(library, "its callback writes what it reads")

accumulators = Library("tensorboard.backend.event_processing.event_accumulator")
tensor_util = Library("tensorboard.util.tensor_util")

PROGRAM = """
import sys
sys.modules["tensorflow"] = None  # importing it fails from here on
import keras, numpy as np
model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(2, name="last")])
model.compile("sgd", "mse")
options = dict(histogram_freq=1, write_images=True, update_freq=1, profile_batch=(2, 3))
callback = keras.callbacks.TensorBoard(sys.argv[1], **options)
x, y = np.ones((8, 3), "float32"), np.ones((8, 2), "float32")
history = model.fit(x, y, 4, epochs=2, validation_data=(x, y), callbacks=[callback], verbose=0)
import json, dovetail
print(json.dumps([history.history, sorted({"tensorflow", "torch", "jax"} & {k for k, v in sys.modules.items() if v})]))
"""


def test_fit_writes_what_tensorboard_reads(tmp_path):
    env = os.environ | {"KERAS_BACKEND": "dovetail", "DOVETAIL_ENGINE": "numpy"}
    run = subprocess.run(
        [sys.executable, "-c", f"import keras_dovetail\n{PROGRAM}", str(tmp_path)],
        capture_output=True, text=True, env=env, cwd=Path(__file__).parents[2], timeout=300,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    history, loaded = json.loads(run.stdout.splitlines()[-1])
    assert loaded == []
    found = {}
    for part in ("train", "validation"):
        accumulator = accumulators.EventAccumulator(str(tmp_path / part), size_guidance=dict.fromkeys(range(9), 0))
        found[part] = accumulator.Reload()
    tags = set(found["train"].Tags()["tensors"])
    assert {"epoch_loss", "batch_loss", "keras"} <= tags
    assert {"histogram", "image"} <= {tag.rpartition("/")[2] for tag in tags if "last" in tag}, tags
    assert [one.step for one in found["train"].Tensors("epoch_loss")] == [0, 1]
    for part, key in (("train", "loss"), ("validation", "val_loss")):
        tensors = found[part].Tensors("epoch_loss")
        numbers = [number for one in tensors for number in decoded(one.tensor_proto)]
        assert [round(one, 5) for one in numbers] == [round(one, 5) for one in history[key]]
    (trace,) = tmp_path.glob("train/plugins/profile/*/dovetail.trace.json.gz")
    spans = [event for event in json.loads(gzip.decompress(trace.read_bytes()))["traceEvents"] if event["ph"] == "X"]
    assert [span["name"] for span in spans if span["cat"] == "span"] == ["batch 1", "batch 0"]
    assert sum(span["name"] == "MatMul" for span in spans) >= 2
    (model,) = found["train"].Tensors("keras")
    assert json.loads(decoded(model.tensor_proto)[0])["class_name"] == "Sequential"


def decoded(proto):
    return tensor_util.make_ndarray(proto).reshape(-1).tolist()
