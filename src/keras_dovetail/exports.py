"""Export of models by Dovetail's own writers, in place of Keras' functions, which ask for other backends.

`import keras` does without the tables of files and without libraries, so they are imported when a model is exported.
"""

from __future__ import annotations

import functools
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from dovetail.core.base.errors import op_error
from dovetail.core.base.files import replacing

USER = "keras.Model.export"


def write_by_dovetail(module: ModuleType) -> None:
    """Let `model.export` call Dovetail's writers; the one of SavedModels is a base class of Keras' own.

    Args:
        module: `keras.src.models.model`, which has just been imported.
    """
    export: Any = module.Model.export

    @functools.wraps(export)
    def exporting(
        model: Any,
        filepath: Any,
        format: str = "tf_saved_model",
        verbose: bool | None = None,
        input_signature: Any = None,
        **options: Any,
    ) -> None:
        if format in ("litert", "tflite"):
            advice = 'write ONNX by model.export("model.onnx", format="onnx"), of which `emx-onnx-cgen` makes C'
            raise ValueError(f"Dovetail writes no models of LiteRT, as {format=} asks: {advice} for small devices.")
        writer = WRITERS.get(format)
        if writer is None:
            export(model, filepath, format, verbose, input_signature, **options)
            return
        inputs, outputs = writer(model, Path(filepath), input_signature, **options)
        if verbose is not False:
            print(f"Saved {filepath!s}: {model.name}({', '.join(inputs)}) -> {', '.join(outputs)}")

    module.Model.export = exporting


def _check_ending(path: Path, ending: str) -> None:
    if path.suffix != ending:
        raise op_error(ValueError, USER, f"the path must end with {ending!r}, not {path.name!r}.")


def export_onnx(
    model: Any, path: Path, input_signature: Any = None, opset_version: int | None = None, external: bool = False
) -> tuple[list[str], list[str]]:
    """Export a model's call as an ONNX file; inputs and outputs have the model's names.

    Args:
        model: the model, which is built.
        path: the file.
        input_signature: a list with a spec or a structure of specs for each argument.
        opset_version: 13 to 28; 18 if not given.
        external: whether the weights go to a second file.

    Returns:
        The names of the inputs and of the outputs.

    Raises:
        ValueError: the model was never called, or the opset is not known.
        NotImplementedError: ONNX has no way to compute an operation.

    Source: `keras.Model.export`.
    """
    from dovetail.formats.wire.libraries import need
    from dovetail.onnx.saving import write
    from dovetail.saved_model.saving import endpoint, traced
    from keras_dovetail.src.export import call_of

    need(USER)
    trace, names = call_of(model, input_signature)
    one = endpoint([traced(trace, None)], names)
    outputs = dict(zip(_names_of(model) or one.outputs, one.outputs.values(), strict=True))
    write(one.inputs, outputs, path, opset_version or 18, external, batch="batch")
    return list(one.inputs), list(outputs)


def export_openvino(model: Any, path: Path, input_signature: Any = None) -> tuple[list[str], list[str]]:
    """Export a model's call as OpenVINO's two files, `.xml` and `.bin`, made of the ONNX model.

    Args:
        model, input_signature: as for `export_onnx`.
        path: the `.xml` file.

    Returns:
        The names of the inputs and of the outputs.

    Raises:
        ValueError: the model was never called, or the path has another ending.
        NotImplementedError: ONNX has no way to compute an operation.
        ImportError: OpenVINO is not installed.

    Source: `keras.Model.export`.
    """
    import openvino

    _check_ending(path, ".xml")
    with tempfile.TemporaryDirectory() as folder:
        onnx, made = Path(folder, "model.onnx"), Path(folder, "model.xml")
        names = export_onnx(model, onnx, input_signature, external=True)
        openvino.serialize(openvino.Core().read_model(onnx), made)
        for ending in (".bin", ".xml"):
            with made.with_suffix(ending).open("rb") as source, replacing(path.with_suffix(ending)) as file:
                shutil.copyfileobj(source, file)
    return names


def export_torch(model: Any, path: Path, input_signature: Any = None, **options: Any) -> tuple[list[str], list[str]]:
    """Export a model's call as a program of `torch.export`; the engine torch gives the functions that it calls.

    Args:
        model, input_signature: as for `export_onnx`.  The program takes the model's arguments.
        path: the `.pt2` file.
        options: other arguments of `torch.export.export`.  Without `dynamic_shapes`, all unknown first dimensions are
            one size of the program, and each other unknown dimension is a size of its own.

    Returns:
        The names of the inputs and of the outputs.

    Raises:
        ValueError: the model was never called, or the path has another ending.
        RuntimeError: `torch.export` cannot follow the computation, for example since a loop's length is not known.
        ImportError: torch is not installed.

    Source: `keras.Model.export`.
    """
    import torch

    from dovetail.interop.privates import normalize_dynamic_shapes
    from keras_dovetail.src.export import call_of
    from keras_dovetail.torch_program import Program, dimensions_of, samples_of

    _check_ending(path, ".pt2")
    trace, names = call_of(model, input_signature)
    module, samples = Program(trace), samples_of(trace)
    if options.get("dynamic_shapes") is None:
        options["dynamic_shapes"] = [dimensions_of(trace)]
    else:
        options["dynamic_shapes"] = normalize_dynamic_shapes(options["dynamic_shapes"], samples)
    try:
        exported = torch.export.export(module, samples, **{"strict": False, **options})
    except Exception as error:
        problem = f"torch.export cannot follow the computation of the model {model.name!r}: {error}"
        advice = "If a size must be known, give it: input_signature=[keras.InputSpec(shape=(8, 16), dtype='float32')]."
        raise op_error(RuntimeError, USER, f"{problem}\n{advice}") from error
    with replacing(path) as file:
        torch.export.save(exported, file)
    return names, _names_of(model)


# format → (model, path, input signature, options) → the names of inputs and outputs
WRITERS: dict[str, Callable[..., tuple[list[str], list[str]]]] = {
    "onnx": export_onnx,
    "openvino": export_openvino,
    "torch": export_torch,
}


def _names_of(model: Any) -> list[str]:
    """The names of the layers that give the model's outputs; none for a class of the user's own."""
    import keras

    if isinstance(model, keras.Sequential):
        return [model.layers[-1].name]
    is_dict = isinstance(getattr(model, "output", None), dict)
    return [] if is_dict or not isinstance(model, keras.Model) else list(getattr(model, "output_names", ()))
