"""`dovetail convert`: a model or its variables from one kind of file to another, with edits on the way."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import dovetail as dt
from dovetail.cli import WrongInput
from dovetail.cli.forms import Arrays, Model, classes_of, forms_of, read, signature_of
from dovetail.cli.options import add_imports, add_shapes
from dovetail.cli.progress import reading
from dovetail.cli.writers import WRITERS, ending, is_there, write
from dovetail.core.dtypes import as_dtype
from dovetail.formats.tensorflow.saved_model import read_of
from dovetail.passes.resolve import resolved
from dovetail.saved_model import Signature

DESCRIPTION = """\
Converts a model, or its variables, from one kind of file to another.  The contents of the first file say its kind, and
the end of the second name says what to write.  TensorFlow is not needed.

names that are written:
  exported               a SavedModel, in a folder
  NAME.onnx              a model of ONNX: the main signature
  NAME.pb, NAME.pbtxt    a frozen graph: the main signature, with constants for its variables
  NAME.safetensors       a model as a file of dt.save; of arrays, a plain file of tensors
  NAME.npz               arrays
  NAME.index, NAME.ckpt  arrays, as a checkpoint of TensorFlow
  NAME.keras, NAME.h5    a model of Keras; NAME.weights.h5 is its weights

A model of Keras becomes a SavedModel by `model.export`, and the variables of a model become arrays.  Models of LiteRT
(.tflite), TensorFlow.js (model.json) and Core ML are neither read nor written.
"""

EXAMPLES = """\
examples:
  dovetail convert exported model.pb             a SavedModel as a frozen graph
  dovetail convert model.pb exported             and back
  dovetail convert exported model.onnx           for ONNX Runtime
  dovetail convert model.onnx exported           and back, for TensorFlow
  dovetail convert exported model.safetensors    a file of dt.save
  dovetail convert model.h5 exported             a model of Keras as a SavedModel
  dovetail convert model.h5 model.keras          as a file of Keras 3
  dovetail convert training/model-1000 weights.npz
                                                 the variables of a checkpoint
  dovetail convert model.onnx small.onnx --shape input=1,3,224,224 --opset 20
                                                 for inputs of one shape
  dovetail convert exported small --half --batch 1 --rename-input keras_tensor=image
                                                 with 16 bits a weight, for one image at a time
  dovetail convert frozen.pb backbone.pb --outputs block4/Relu:0
                                                 cut behind a layer

A file or folder that is there is kept, unless --force is given; then it is replaced as a whole.
"""

FEW = 16  # elements of a constant that is no weight


def declare(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("input", type=Path, metavar="IN", help="a file, a folder, or the prefix of a checkpoint")
    parser.add_argument("output", type=Path, metavar="OUT", help="the file or folder to write")
    parser.add_argument("--force", action="store_true", help="replace OUT if it is there")
    parser.add_argument("--signature", metavar="NAME", help="keep this signature alone")
    parser.add_argument("--outputs", nargs="+", default=[], metavar="NAME", help="keep these results or tensors alone")
    rename = partial(parser.add_argument, action="append", default=[], metavar="OLD=NEW")
    rename("--rename-input", help="give an input another key; may be given several times")
    rename("--rename-output", help="give a result another key; may be given several times")
    add_shapes(parser)
    add_imports(parser)
    parser.add_argument(
        "--opset", type=int, metavar="N", help="the version of the operators of ONNX (default: the model's)"
    )
    parser.add_argument("--batch", metavar="N|none", help="fix the first dimension of the inputs, or make it unknown")
    parser.add_argument(
        "--half",
        nargs="?",
        const="float16",
        choices=["float16", "bfloat16"],
        help="store weights in 16 bits; the model computes with the dtypes that it has (default: float16)",
    )
    parser.add_argument("--freeze", action="store_true", help="make variables constants")


def run(options: argparse.Namespace) -> int:
    """Convert a file, and return the exit status."""
    writers = WRITERS[ending(options.output)]
    if is_there(options.output) and not options.force:
        raise WrongInput(f"{str(options.output)!r} is there already; add --force to replace it.")
    with reading():
        contents = read(options.input, writers, options.shape, classes_of(options.imports))
        changed = edited(contents, options)
        if isinstance(contents, Model) and isinstance(changed, Model):
            changed = changed._replace(source=contents.source)
        write(changed, options.output, options.opset)
    print(f"wrote {options.output}")
    return 0


def edited(value: Any, options: argparse.Namespace) -> Any:
    """A value with the edits that the options say, each for a model, or for arrays.

    Raises:
        WrongInput: an edit cannot be made.
    """
    names = [option for option in EDITS if getattr(options, option)]
    if not names:
        return value
    for form in forms_of(value):
        if all(type(form) in EDITS[option] for option in names):
            for option in names:
                form = _done(option, form, options)
            return form
    raise WrongInput(f"--{names[0].replace('_', '-')} is for models, and {str(options.input)!r} has none.")


def _done(option: str, value: Any, options: argparse.Namespace) -> Any:
    try:
        changed = EDITS[option][type(value)](value, options)
        return (
            Model(changed.signatures) if isinstance(changed, Model) else changed
        )  # it is not the model of the file any more
    except (KeyError, ValueError, TypeError, IndexError) as error:
        if isinstance(error, WrongInput):
            raise
        raise WrongInput(f"--{option.replace('_', '-')}: {error.args[0]}") from None


# -- edits of models --------------------------------------------------------------------------------------------------


def _one(model: Model, options: argparse.Namespace) -> Model:
    signature = signature_of(model, options.signature, options.outputs)
    return Model({signature.name: signature})


def _renamed_inputs(model: Model, options: argparse.Namespace) -> Model:
    return _renamed(model, "inputs", options.rename_input)


def _renamed_outputs(model: Model, options: argparse.Namespace) -> Model:
    return _renamed(model, "outputs", options.rename_output)


def _renamed(model: Model, way: str, texts: Iterable[str]) -> Model:
    keys = dict(map(_pair, texts))
    for signature in model.signatures.values():
        known = keys if len(model.signatures) == 1 else getattr(signature, way)  # a key may be another signature's
        signature.rename(**{way: {key: new for key, new in keys.items() if key in known}})
    return model


def _pair(text: str) -> tuple[str, str]:
    old, equals, new = text.partition("=")
    if not equals or not new:
        raise WrongInput(f"{text!r} renames nothing: write OLD=NEW.")
    return old, new


def _batched(model: Model, options: argparse.Namespace) -> Model:
    if options.batch != "none" and not options.batch.isdecimal():
        raise WrongInput(f"--batch is a whole number or none, not {options.batch!r}.")
    size = None if options.batch == "none" else int(options.batch)
    for signature in model.signatures.values():
        graph = signature.graph
        graph.set_input_shapes({tensor: (size, *tensor.shape[1:]) for tensor in graph.inputs if tensor.shape})
    return model


def _halved(model: Model, options: argparse.Namespace) -> Model:
    made: dict[Any, Any] = {}
    for signature in model.signatures.values():
        graph = signature.graph
        for operation in graph.find("ReadVariableOp"):
            old = operation.attrs["variable"]
            if old not in made and _is_long(old.dtype):
                made[old] = dt.Variable(old.numpy(), options.half, name=old.name, trainable=old.trainable)
        graph.replace_variables(made)
        _halve_constants(graph, options.half)
    return model


def _halve_constants(graph: dt.Graph, dtype: str) -> None:
    for operation in graph.find("Const"):
        (tensor,) = operation.outputs
        if _is_long(tensor.dtype) and operation.attrs["value"].size > FEW:
            value = operation.attrs["value"].astype(as_dtype(dtype).numpy)
            with graph.edit(), graph.insert_before(operation):
                long: Any = dt.ops.cast(graph.constant(value), tensor.dtype)
                graph.replace_all_uses(tensor, long)
    graph.prune()


def _is_long(dtype: Any) -> bool:
    return dtype.is_floating and dtype.itemsize > 2


def _frozen(model: Model, options: argparse.Namespace) -> Model:
    return Model({name: _without_variables(signature) for name, signature in model.signatures.items()})


def _without_variables(signature: Signature) -> Signature:
    if signature.has_host_nodes:
        raise WrongInput(f"--freeze: {signature.name!r} has strings or tables, which are no part of a frozen graph.")
    graph = resolved(signature.graph, signature.name)
    graph = graph.subgraph(graph.outputs, graph.inputs)  # it assigns nothing
    graph.freeze()
    return Signature(signature.name, read_of(graph, signature.input_keys, signature.output_keys, signature.opaque))


# -- edits of arrays --------------------------------------------------------------------------------------------------


def _halved_arrays(arrays: Arrays, options: argparse.Namespace) -> Arrays:
    dtype = as_dtype(options.half).numpy
    named: Iterable[tuple[str, np.ndarray]] = arrays.values.items()
    return Arrays({n: a.astype(dtype) if a.dtype.kind == "f" and a.itemsize > 2 else a for n, a in named})


EDITS: dict[str, dict[type, Any]] = {  # option → form → edit, in this order
    "signature": {Model: _one},
    "outputs": {Model: _one},
    "rename_input": {Model: _renamed_inputs},
    "rename_output": {Model: _renamed_outputs},
    "batch": {Model: _batched},
    "half": {Model: _halved, Arrays: _halved_arrays},
    "freeze": {Model: _frozen},
}
