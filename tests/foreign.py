"""Files that tests write, opened by the libraries for which they are written.

    results = saved_model(folder, {"x": x})     # TensorFlow's numbers, by the keys of the signature

Each process of tests starts one process a library, since importing one takes seconds. A request is a line of JSON, and
arrays travel in files. Where a library is missing, a test is skipped with the reason in the environment of the quick
tests, and wherever somebody runs tests by themselves; in the parts that CI runs, it fails.
"""

from __future__ import annotations

import atexit
import contextlib
import importlib
import json
import os
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable, Mapping
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests import parts

Arrays = Mapping[str, Any]  # name of a tensor → its value
READERS: dict[str, tuple[str, Callable[..., dict[str, Any]]]] = {}  # kind of file → (library, its reader)

# Kinds of files that no other library opens in the tests, each with the reason.
WITHOUT = {
    "Dovetail's own file, safetensors": "safetensors opens the container in tests/formats/test_safetensors.py",
    "npz": "NumPy itself defines them, and opens them in tests/cli",
    "Keras 2 metadata": "Dovetail reads these files, and writes none",
    "page of a graph": "a browser opens it, Chromium in tests/formats/test_page.py",
    "timeline of Chrome": "a page of the browser opens it; no library does",
    "graph for Model Explorer": "a page of the browser opens it; no library does",
    "plan, and a compiled function": "Dovetail alone opens them",
}


def reader(library: str, kind: str) -> Any:
    """Declare how a library reads a kind of file; in tests the function asks the library's process."""

    def declare(function: Callable[..., dict[str, Any]]) -> Callable[..., dict[str, np.ndarray]]:
        READERS[kind] = library, function

        def ask(path: str | os.PathLike[str], given: Arrays | None = None, **options: Any) -> dict[str, np.ndarray]:
            return _process(library).ask(kind, str(path), given or {}, options)

        ask.__doc__ = function.__doc__
        return ask

    return declare


# -- the readers ------------------------------------------------------------------------------------------------------


@reader("tensorflow", "SavedModel")
def saved_model(path: str, given: Arrays, signature: str = "serving_default", old: bool = False) -> dict[str, Any]:
    """The results of a signature by their keys; of an `old` loading, by the main graph and TensorFlow 1's session."""
    import tensorflow as tf

    if not old:
        found = tf.saved_model.load(path).signatures[signature]
        return dict(found(**{key: tf.constant(value) for key, value in given.items()}))
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        meta = tf.compat.v1.saved_model.load(session, ["serve"], path).signature_def[signature]
        feeds = {meta.inputs[key].name: value for key, value in given.items()}
        return dict(session.run({key: info.name for key, info in meta.outputs.items()}, feeds))


@reader("tensorflow", "GraphDef")
def graph_def(path: str, given: Arrays, fetches: list[str]) -> dict[str, Any]:
    """The tensors of the names `fetches`; the keys of `given` are names of tensors, too."""
    import tensorflow as tf
    from google.protobuf import text_format

    message = tf.compat.v1.GraphDef()
    is_text = path.endswith(".pbtxt")
    text_format.Parse(Path(path).read_text(), message) if is_text else message.ParseFromString(Path(path).read_bytes())
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        tf.import_graph_def(message, name="")
        return dict(zip(fetches, session.run(fetches, dict(given)), strict=True))


@reader("tensorflow", "MetaGraphDef")
def meta_graph(path: str, given: Arrays, fetches: list[str]) -> dict[str, Any]:
    """The tensors of the names `fetches`; variables have their first values, if a checkpoint of this name has none."""
    import tensorflow as tf

    v1 = tf.compat.v1
    with tf.Graph().as_default(), v1.Session() as session:
        saver = v1.train.import_meta_graph(path)
        prefix = path.removesuffix(".meta")
        if saver is not None and os.path.exists(f"{prefix}.index"):
            saver.restore(session, prefix)
        return dict(zip(fetches, session.run(fetches, dict(given)), strict=True))


@reader("tensorflow", "TensorFlow checkpoint")
def checkpoint(path: str, given: Arrays) -> dict[str, Any]:
    """Each tensor of a checkpoint by its key; bytes are left out."""
    import tensorflow as tf

    found = tf.train.load_checkpoint(path)
    values = {name: found.get_tensor(name) for name in found.get_variable_to_shape_map()}
    return {name: value for name, value in values.items() if not isinstance(value, bytes)}


@reader("tensorflow", "state of checkpoints")
def latest(path: str, given: Arrays) -> dict[str, Any]:
    """The latest checkpoint of a folder."""
    import tensorflow as tf

    return {"latest": np.asarray(tf.train.latest_checkpoint(path) or "")}


@reader("tensorflow", "TFRecord, event file")
def events(path: str, given: Arrays) -> dict[str, Any]:
    """The steps of events as TensorBoard reads them, the names of what it shows, and numbers and texts by name."""
    from tensorboard.backend.event_processing import event_file_loader
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
    from tensorboard.util import tensor_util

    steps = [one.step for one in event_file_loader.LegacyEventFileLoader(path).Load()]
    shown = EventAccumulator(path).Reload()
    kinds = shown.Tags()
    tags = sorted(tag for some in kinds.values() if isinstance(some, list) for tag in some)
    values = {tag: [one.value for one in shown.Scalars(tag)] for tag in kinds["scalars"]}
    for tag in kinds["tensors"]:
        known = shown.summary_metadata.get(tag)
        if known is None or known.plugin_data.plugin_name != "images":
            values[tag] = [tensor_util.make_ndarray(one.tensor_proto) for one in shown.Tensors(tag)]
    return {"steps": np.asarray(steps), "tags": np.asarray(tags, str), **values}


def _predicted(model: Any, given: Arrays) -> dict[str, Any]:
    """The results of a model of Keras by their numbers; several inputs go by their names."""
    found = model(dict(given) if len(given) > 1 else next(iter(given.values())), training=False)
    return {str(number): array for number, array in enumerate(found if isinstance(found, (list, tuple)) else [found])}


@reader("tensorflow", "Keras model")
def keras(path: str, given: Arrays, imports: str = "") -> dict[str, Any]:
    """The predictions of a model in `.keras` or `.h5` by Keras 3 on TensorFlow, after an import of a module."""
    os.environ["KERAS_BACKEND"] = "tensorflow"
    import keras

    if imports:
        importlib.import_module(imports)
    return _predicted(keras.saving.load_model(path, compile=False), given)


@reader("tensorflow", "HDF5")
def tf_keras(path: str, given: Arrays, weights: str = "") -> dict[str, Any]:
    """The predictions of a model in `.h5` or a folder by Keras 2, with the weights of another file."""
    import tf_keras

    model = tf_keras.models.load_model(path, compile=False)
    if weights:
        model.set_weights([0 * array for array in model.get_weights()])
        model.load_weights(weights)
    return _predicted(model, given)


@reader("onnx", "ONNX model")
def onnx(path: str, given: Arrays) -> dict[str, Any]:
    """The outputs of a model by their names, by ONNX Runtime; onnx's checker takes the model, with its shapes."""
    import onnx
    import onnxruntime

    onnx.checker.check_model(path, full_check=True)
    options = onnxruntime.SessionOptions()
    options.log_severity_level, options.intra_op_num_threads = 3, 1
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    return dict(zip([one.name for one in session.get_outputs()], session.run(None, dict(given)), strict=True))


@reader("tensorflow", "program of AutoGraph")
def autograph(path: str, given: Arrays, name: str, way: str) -> dict[str, Any]:
    """The results of a program of `tests/compat/autograph` in a context, by row and number; or its error."""
    import tensorflow as tf

    module = loaded(path, tf)
    if name in module.ERRORS:
        kinds, text = module.problem(name, way)
        return {"kinds": " ".join(kinds), "text": text}
    rows = module.computed(name, way)
    return {f"{row} {n}": leaf for row, leaves in enumerate(rows) for n, leaf in enumerate(leaves)}


def loaded(path: str | os.PathLike[str], library: Any) -> Any:
    """A module of programs in which `tf` is a library."""
    spec: Any = spec_from_file_location(f"programs_of_{library.__name__.rpartition('.')[2]}", path)
    module: Any = module_from_spec(spec)
    module.tf = library
    spec.loader.exec_module(module)
    return module


# -- the processes ----------------------------------------------------------------------------------------------------

NEEDS = {"tensorflow": ("tensorflow", "tensorboard", "keras", "tf_keras"), "onnx": ("onnx", "onnxruntime")}
_ANSWER = "answer: "


class _Process:
    """A process with a library that reads files, one after the other."""

    def __init__(self, library: str) -> None:
        self.library, self.folder = library, tempfile.TemporaryDirectory()
        self.errors = open(Path(self.folder.name) / "errors", "w+")  # noqa: SIM115  which is open as long
        self.process = subprocess.Popen(
            [sys.executable, "-m", __name__],
            cwd=Path(__file__).parents[1],
            env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": "-1"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.errors,
            text=True,
        )

    def ask(self, kind: str, path: str, given: Arrays, options: Mapping[str, Any]) -> dict[str, np.ndarray]:
        """The arrays that a reader finds; its error is this one's."""
        assert self.process.stdin and self.process.stdout
        _write(self.folder.name, "given", given)
        print(json.dumps([kind, path, options, self.folder.name]), file=self.process.stdin, flush=True)
        for line in self.process.stdout:
            if line.startswith(_ANSWER):
                problem = json.loads(line.removeprefix(_ANSWER))
                if problem:
                    raise AssertionError(f"{self.library} does not read {path}: {problem}")
                return _read(self.folder.name, "found")
        self.errors.seek(0)
        end_processes()
        raise AssertionError(f"{self.library} ended its process with {path}:\n{self.errors.read()[-4000:]}")

    def end(self) -> None:
        """End the process."""
        assert self.process.stdin
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.errors.close()
        self.folder.cleanup()


_processes: dict[str, _Process] = {}


def _process(library: str) -> _Process:
    missing = [name for name in NEEDS[library] if find_spec(name) is None]
    if missing:
        reason = f"{', '.join(missing)} is not installed, and opens what the test writes"
        if parts.PART == "quick" or not (parts.PART or os.environ.get("CI")):
            pytest.skip(reason)
        pytest.fail(reason)
    if library not in _processes:
        _processes[library] = _Process(library)
    return _processes[library]


@atexit.register
def end_processes() -> None:
    """End the processes that wait for files."""
    while _processes:
        _processes.popitem()[1].end()


def _write(folder: str, name: str, arrays: Arrays) -> None:
    """Write arrays of any dtype: those that NumPy cannot write go as their bytes, and bytes as text."""
    listed = {key: np.asarray(value) for key, value in arrays.items()}
    listed = {key: array.astype(str) if array.dtype == object else array for key, array in listed.items()}
    about = [[key, str(array.dtype), array.shape] for key, array in listed.items()]
    Path(folder, f"{name}.json").write_text(json.dumps(about))
    Path(folder, f"{name}.bin").write_bytes(b"".join(array.tobytes() for array in listed.values()))


def _read(folder: str, name: str) -> dict[str, np.ndarray]:
    import ml_dtypes  # noqa: F401  which gives NumPy the names of its dtypes

    data, found = Path(folder, f"{name}.bin").read_bytes(), {}
    for key, dtype, shape in json.loads(Path(folder, f"{name}.json").read_text()):
        count = int(np.prod(shape)) * np.dtype(dtype).itemsize
        found[key], data = np.frombuffer(data[:count], dtype).reshape(shape).copy(), data[count:]
    return found


def serve() -> None:
    """Read the files that lines of JSON name, until there are no more."""
    for line in sys.stdin:
        (kind, path, options, folder), problem = json.loads(line), ""
        try:
            found = READERS[kind][1](path, _read(folder, "given"), **options)
            _write(folder, "found", {key: np.asarray(value) for key, value in found.items()})
        except BaseException:
            problem = traceback.format_exc()
        print("\n" + _ANSWER + json.dumps(problem), flush=True)


if __name__ == "__main__":
    serve()
