"""All models of `models/`, edited and saved, and saved as they are: TensorFlow loads them, and computes the same."""

from __future__ import annotations

import copy
from pathlib import Path

import numpy as np
import pytest

from dovetail import saved_model
from dovetail.formats.nodes.constants import is_tensor
from dovetail.saved_model import LoadedModel, Signature
from tests import foreign
from tests.formats.tensorflow.calls import FOLDER, Call, Known, difference, models, plain
from tests.formats.tensorflow.test_models import COARSE

SERVING, MODELS = "serving_default", [*models(FOLDER)]


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


@pytest.mark.parametrize("is_edited", [True, False], ids=["edited", "same"])
@pytest.mark.parametrize(("name", "path", "known"), MODELS, ids=[name for name, *_ in MODELS])
def test_tensorflow_runs_a_model_that_was_saved(name: str, path: Path, known: Known, is_edited: bool, tmp_path: Path):
    model = saved_model.load(path)
    signature, call = main_signature(model, path, copy.deepcopy(known))
    if is_edited:
        edit(signature, call)
    is_frozen = path.suffix in (".pb", ".pbtxt")
    file = tmp_path / (f"{name}.pb" if is_frozen else name)
    saved_model.save(signature if path.suffix == ".meta" else model, file)
    signature.keep(*call.results)
    ours = signature(**call.inputs)
    if is_frozen:  # the results have the names of tensors
        names = {key: signature._program.values[signature.outputs.index(key)].op.name for key in call.results}
        names = names if is_edited else {key: key for key in names}
        feeds = {f"{key}:0": value for key, value in call.inputs.items()}
        found = foreign.graph_def(file, feeds, fetches=[f"{name}:0" for name in names.values()])
        theirs = {key: found[f"{name}:0"] for key, name in names.items()}
    else:
        theirs = foreign.saved_model(file, call.inputs, signature=call.signature or SERVING)
        assert theirs.keys() >= call.results.keys()
    limit = COARSE.get(name, 1e-5)
    for key, value in call.results.items():
        assert difference(plain(ours[key]), value) < limit, key
        assert difference(theirs[key], value) < 2 * limit, key  # TensorFlow rounds bfloat16 by the processor
