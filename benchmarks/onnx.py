"""ONNX files: load, first run and later runs, by the time and the processor time that ONNX Runtime takes.

PyTorch exports the models of capital letters; the others are networks in the package `onnx`, with constant weights.
Each way is a process of its own.  `auto` begins with an empty cache, and its later runs are those after some seconds.
The last way is ONNX Runtime with the file that Dovetail saves of the loaded model.
All compute with as many threads as OMP_NUM_THREADS says.

    python benchmarks/onnx.py [MLP CNN Transformer MobileNet]
    python benchmarks/onnx.py light --ways onnxruntime auto
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from timing import table

MODELS = "MLP", "CNN", "Transformer", "MobileNet"
LIGHT = [
    "bvlc_alexnet",
    "densenet121",
    "inception_v1",
    "inception_v2",
    "resnet50",
    "shufflenet",
    "squeezenet",
    "vgg19",
    "zfnet512",
]
ENGINES = "numpy", "torch", "jax", "onnxruntime"
AGAIN, AUTO = "file saved again", "auto"
SECONDS = {AUTO: 4.0}  # of later runs
ROUNDS = 3

MAKE = """
import sys
import numpy as np, torch
from torch import nn
from dovetail import onnx
path, name = sys.argv[1:]

def block(inner, outer, stride):
    depthwise = nn.Conv2d(inner, inner, 3, stride, 1, groups=inner, bias=False), nn.BatchNorm2d(inner), nn.ReLU()
    return *depthwise, nn.Conv2d(inner, outer, 1, bias=False), nn.BatchNorm2d(outer), nn.ReLU()

def conv(inner, outer):
    return nn.Conv2d(inner, outer, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)

LAYERS = {
    "MLP": ((32, 64), lambda: [nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 10)]),
    "CNN": ((64, 1, 28, 28), lambda: [*conv(1, 32), *conv(32, 64), nn.Flatten(), nn.Linear(3136, 10)]),
    "Transformer": ((32, 32, 64), lambda: [nn.TransformerEncoderLayer(64, 4, 128, batch_first=True) for _ in range(2)]),
    "MobileNet": ((32, 3, 32, 32), lambda: [
        nn.Conv2d(3, 16, 3, 2, 1, bias=False), nn.BatchNorm2d(16), nn.ReLU(),
        *block(16, 32, 1), *block(32, 64, 2), *block(64, 64, 1), *block(64, 128, 2), nn.AdaptiveAvgPool2d(1),
    ]),
}
shape, layers = LAYERS[name]
torch.manual_seed(0)
model, x = nn.Sequential(*layers()).eval(), torch.randn(*shape)
torch.onnx.export(model, (x,), path + ".onnx", external_data=False, verbose=False)
onnx.save(onnx.load(path + ".onnx").graph, path + ".again.onnx")
np.savez(path + ".npz", x=x.numpy(), y=model(x).detach().numpy())
"""

FETCH = """
import shutil, sys
from pathlib import Path
import numpy as np, onnx, onnxruntime
path, name = sys.argv[1:]
shutil.copy(Path(onnx.__file__).parent / f"backend/test/data/light/light_{name}.onnx", path + ".onnx")
session = onnxruntime.InferenceSession(path + ".onnx", providers=["CPUExecutionProvider"])
(x,) = session.get_inputs()
data = np.random.default_rng(0).random(x.shape, dtype="float32")
np.savez(path + ".npz", x=data, y=session.run(None, {x.name: data})[0])
from dovetail import onnx
onnx.save(onnx.load(path + ".onnx").graph, path + ".again.onnx")
"""

CALL = """
import json, os, statistics, sys, time
import numpy as np
path, data, library, seconds = sys.argv[1:]
known = np.load(data)
if library == "library":
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = int(os.environ.get("OMP_NUM_THREADS") or 0)
    start = time.perf_counter()
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    name = session.get_inputs()[0].name
    call = lambda x: session.run(None, {name: x})[0]
else:
    import dovetail as dt
    from dovetail import onnx
    dt.set_engine(library)
    dt.function(dt.ops.tanh)(np.ones(2, "float32"))  # the engine's library is imported
    start = time.perf_counter()
    model = onnx.load(path)
    call = lambda x: model(x).numpy()
loaded = time.perf_counter()
np.testing.assert_allclose(call(known["x"]), known["y"], rtol=1e-3, atol=1e-4)
first, times, used = time.perf_counter(), [], []
while len(times) < 3 or time.perf_counter() < first + float(seconds):
    began, processor = time.perf_counter(), time.process_time()
    call(known["x"])
    times.append(time.perf_counter() - began)
    used.append(time.process_time() - processor)
later = [statistics.median(each[len(each) // 2:]) for each in (times, used)]
print(json.dumps([loaded - start, first - start, *later]))
"""


def run(code: str, *arguments: str) -> str:
    """The last line that a program prints in a process of its own."""
    with tempfile.TemporaryDirectory() as cache:
        environment = os.environ | {"TF_CPP_MIN_LOG_LEVEL": "3", "DOVETAIL_CACHE": cache}
        command = [sys.executable, "-c", code, *arguments]
        done = subprocess.run(command, stdout=-1, stderr=-3, check=True, env=environment)
    return done.stdout.decode().rstrip().rpartition("\n")[2]


def times(path: Path, way: str) -> list[float]:
    """The seconds to load a model, to load it and run it once, and of a later run, with its processor time."""
    library, ending = ("library", ".again.onnx") if way == AGAIN else (way, ".onnx")
    return json.loads(run(CALL, f"{path}{ending}", f"{path}.npz", library, str(SECONDS.get(way, 0.5))))


def rows_of(path: Path, ways: list[str]) -> tuple[list[list[str]], dict[str, float]]:
    """The rows of a model, the ratios in each way, with those of later runs.

    The ratios are medians of the rounds; the spread is the least and the greatest of later runs.
    """
    ratios: dict[str, list[list[float]]] = {name: [] for name in ways}
    for _ in range(ROUNDS):
        theirs = times(path, "library")
        for way, found in ratios.items():
            found.append([a / b for a, b in zip(times(path, way), theirs, strict=True)])
    rows, later = [], {}
    for way, found in ratios.items():
        columns = [*zip(*found, strict=True)]
        middle = [statistics.median(column) for column in columns]
        later[way] = middle[2]
        rows.append(
            [path.name, way, *(f"{one:.2f}" for one in middle), f"{min(columns[2]):.2f} to {max(columns[2]):.2f}"]
        )
    return rows, later


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", default=MODELS, help='names; "light" are all networks of the package onnx')
    parser.add_argument("--ways", nargs="+", default=[*ENGINES, AGAIN], choices=[*ENGINES, AGAIN, AUTO])
    asked = parser.parse_args()
    rows: list[list[str]] = []
    later: list[dict[str, float]] = []
    with tempfile.TemporaryDirectory() as folder:
        for name in [each for model in asked.models for each in (LIGHT if model == "light" else [model])]:
            path = Path(folder, name)
            run(MAKE if name in MODELS else FETCH, str(path), name)
            new, ratios = rows_of(path, asked.ways)
            rows += new
            later.append(ratios)
    for way in asked.ways:
        mean = statistics.geometric_mean(ratios[way] for ratios in later)
        rows.append(["geometric mean", way, "", "", f"{mean:.2f}", "", ""])
    header = [
        "model",
        "way",
        "load",
        "load and first run",
        "later runs",
        "their processor time",
        "spread of later runs",
    ]
    print(table("Models of ONNX (`onnx.py`), by ONNX Runtime's time", header, rows))


if __name__ == "__main__":
    main()
