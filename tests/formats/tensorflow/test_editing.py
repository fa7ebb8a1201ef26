"""All models of `models/`, edited and saved, and saved as they are: TensorFlow loads them, and computes the same."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np

import dovetail as dt
from dovetail import saved_model
from dovetail.formats.constants import is_tensor
from dovetail.saved_model import LoadedModel, Signature
from tests.formats.tensorflow.calls import FOLDER, Call, Known, difference, models, plain, write_calls
from tests.formats.tensorflow.test_models import COARSE
from tests.libraries import require

SERVING = "serving_default"
WAYS = ("edited", "same")


def main_signature(model: LoadedModel, path: Path, known: Known) -> tuple[Signature, Call]:
    """The first signature that was called, and the call, by its keys."""
    if path.is_file():
        (call,) = known.calls
        signature = model.results(*call.results) if path.suffix == ".meta" else model.signatures["graph"]
        return signature, call
    call = next(call for call in known.calls if (call.signature or SERVING) in model.signatures)
    signature, inputs, results = model.signatures[call.signature or SERVING], call.inputs, call.results
    if path.name == "random":  # its signature is not the function that was called, and returns its input
        return signature, Call(SERVING, {"x": inputs[0], "training": np.False_}, {"output_0": inputs[0]})
    if not isinstance(inputs, dict):
        own = signature if model._own is None else model._own.signatures[0]
        names, specs = own.inputs, signature.input_specs  # a signature sorts its keys
        inputs = {key: value.astype(specs[key].dtype or value.dtype) for key, value in zip(names, inputs, strict=True)}
    if not results.keys() <= {*signature.outputs}:
        results = dict(zip(signature.outputs, results.values(), strict=True))
    return signature, Call(signature.name, inputs, results)


def edit(signature: Signature, call: Call) -> None:
    """Double the first result of floats and add one to it, or rename the first result; change the call so, too."""
    for key, value in zip(signature.outputs, signature._program.values, strict=True):
        if key in call.results and is_tensor(value) and value.dtype.is_floating:
            signature.graph.insert_after(value, lambda t: t * 2.0 + 1.0)
            call.results[key] = call.results[key] * 2 + 1
            return
    key = next(iter(call.results))
    signature.rename(outputs={key: "renamed"})
    call.results["renamed"] = call.results.pop(key)


def write(name: str, path: Path, known: Known, folder: Path, is_edited: bool) -> None:
    """Save a model to a folder, edited or as it is, and a call for TensorFlow."""
    model = saved_model.load(path)
    signature, call = main_signature(model, path, known)
    if is_edited:
        edit(signature, call)
    is_frozen = path.suffix in (".pb", ".pbtxt")
    file = folder / (f"{name}.pb" if is_frozen else name)
    saved_model.save(signature if path.suffix == ".meta" else model, file)
    signature.keep(*call.results)
    found = signature(**call.inputs)
    for key, value in call.results.items():
        assert difference(plain(found[key]), value) < COARSE.get(name, 1e-5), key
    if is_frozen and is_edited:
        ((key, value),) = call.results.items()
        call.results = {signature._program.values[signature.outputs.index(key)].op.name: value}
    write_calls(folder / f"{name}.npz", Known([Call(call.signature or SERVING, call.inputs, call.results)]))


def test_tensorflow_runs_all_models_that_were_edited_and_saved(tmp_path):
    require("tensorflow", "it runs the files")
    for way in WAYS:
        (tmp_path / way).mkdir()
        for name, path, known in models(FOLDER):
            with dt.engine("numpy"):
                write(name, path, known, tmp_path / way, way == "edited")
    command = [sys.executable, "-m", "tests.formats.tensorflow.editing_checks", *(str(tmp_path / way) for way in WAYS)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert len(found) == 2 * len([*models(FOLDER)]) >= 80
    limits = {name: COARSE.get(name.split()[0], 1e-5) for name in found}
    assert {name: gap for name, gap in found.items() if isinstance(gap, str) or not gap < limits[name]} == {}
