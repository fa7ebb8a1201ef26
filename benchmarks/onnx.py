"""ONNX files that PyTorch exports: load, first run and later runs, by the time that ONNX Runtime takes.

Each way is a process of its own.  The last way is ONNX Runtime with the file that Dovetail saves of the loaded model.
All compute with as many threads as OMP_NUM_THREADS says.

    python benchmarks/onnx.py [MLP CNN Transformer MobileNet]
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from timing import table

MODELS = "MLP", "CNN", "Transformer", "MobileNet"
ENGINES = "numpy", "torch", "jax", "onnxruntime"
AGAIN = "file saved again"
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
first, times = time.perf_counter(), []
while not times or time.perf_counter() < first + float(seconds):
    began = time.perf_counter()
    call(known["x"])
    times.append(time.perf_counter() - began)
print(json.dumps([loaded - start, first - start, statistics.median(times[len(times) // 3:])]))
"""


def run(code: str, *arguments: str) -> str:
    """The last line that a program prints in a process of its own."""
    environment = os.environ | {"TF_CPP_MIN_LOG_LEVEL": "3"}
    done = subprocess.run([sys.executable, "-c", code, *arguments], stdout=-1, stderr=-3, check=True, env=environment)
    return done.stdout.decode().rstrip().rpartition("\n")[2]


def times(path: Path, library: str, seconds: float = 0.5, ending: str = ".onnx") -> list[float]:
    """The seconds to load a model, to load it and run it once, and of a later run."""
    return json.loads(run(CALL, f"{path}{ending}", f"{path}.npz", library, str(seconds)))


def rows_of(path: Path) -> list[list[str]]:
    """The ratios of a model in each way: medians of the rounds, and the smallest and the largest of later runs."""
    ratios: dict[str, list[list[float]]] = {name: [] for name in (*ENGINES, AGAIN)}
    for _ in range(ROUNDS):
        theirs = times(path, "library")
        for name, found in ratios.items():
            ours = times(path, "library", ending=".again.onnx") if name == AGAIN else times(path, name)
            found.append([a / b for a, b in zip(ours, theirs, strict=True)])
    rows = []
    for name, found in ratios.items():
        columns = [*zip(*found, strict=True)]
        middle = [f"{statistics.median(column):.2f}" for column in columns]
        rows.append([path.name, name, *middle, f"{min(columns[2]):.2f} to {max(columns[2]):.2f}"])
    return rows


def main() -> None:
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for name in sys.argv[1:] or MODELS:
            path = Path(folder, name)
            run(MAKE, str(path), name)
            rows += rows_of(path)
    header = ["model", "engine", "load", "load and first run", "later runs", "spread of these"]
    print(table("Models of ONNX (`onnx.py`), by ONNX Runtime's time", header, rows))


if __name__ == "__main__":
    main()
