"""Export of models as ONNX files by Dovetail's writer, and the refusal of LiteRT, in place of Keras' functions."""

from __future__ import annotations

import functools
import inspect
from pathlib import Path
from types import ModuleType
from typing import Any

import dovetail


def write_by_dovetail(module: ModuleType) -> None:
    """Let Keras' function for `model.export(path, format="onnx")` call Dovetail's.

    Args:
        module: `keras.src.export.onnx`, which has just been imported.
    """
    signature_of: Any = module.get_input_signature

    def export_onnx(
        model: Any,
        filepath: Any,
        verbose: bool | None = None,
        input_signature: Any = None,
        opset_version: int | None = None,
        external: bool = False,
    ) -> None:
        """Export the model's call as an ONNX file; inputs and outputs have the model's names.

        Args:
            model: the model, which is built.
            filepath: the file.
            verbose: whether to print a line; True if not given.
            input_signature: a list with a spec or a structure of specs for each argument.
            opset_version: 13 to 28; 18 if not given.
            external: whether the weights go to a second file.

        Raises:
            ValueError: the model was never called, or the opset is not known.
            NotImplementedError: ONNX has no way to compute an operation.

        Source: `keras.Model.export`.
        """
        from dovetail.formats.wire.libraries import need  # `import keras` does without the tables of files
        from dovetail.onnx.saving import write
        from dovetail.saved_model.saving import endpoint, traced
        from keras_dovetail.src.export import specs_of

        need("keras.Model.export")
        signature = signature_of(model) if input_signature is None else input_signature
        if not signature:
            raise ValueError("The model provided has never been called, so the shapes of its inputs are not known.")
        specs, names = specs_of(signature)
        phase = {"training": False} if "training" in inspect.signature(model.call).parameters else {}
        compiled = dovetail.function(lambda *args: model(*args, **phase), name=model.name)
        one = endpoint([traced(compiled.trace(*specs), None)], names)
        outputs = dict(zip(_names_of(model) or one.outputs, one.outputs.values(), strict=True))
        write(one.inputs, outputs, Path(filepath), opset_version or 18, external, batch="batch")
        if verbose is not False:
            print(f"Saved {filepath!s}: {model.name}({', '.join(one.inputs)}) -> {', '.join(outputs)}")

    module.export_onnx = export_onnx  # type: ignore[attr-defined]


def refuse_litert(module: ModuleType) -> None:
    """Let `model.export` to LiteRT name the way to small devices; Keras asks for another backend.

    Args:
        module: `keras.src.models.model`, which has just been imported.
    """
    export: Any = module.Model.export

    @functools.wraps(export)
    def refusing(model: Any, filepath: Any, format: str = "tf_saved_model", *args: Any, **kwargs: Any) -> None:
        if format in ("litert", "tflite"):
            advice = 'write ONNX by model.export("model.onnx", format="onnx"), of which `emx-onnx-cgen` makes C'
            raise ValueError(f"Dovetail writes no models of LiteRT, as {format=} asks: {advice} for small devices.")
        export(model, filepath, format, *args, **kwargs)

    module.Model.export = refusing


def _names_of(model: Any) -> list[str]:
    """The names of the layers that give the model's outputs; none for a class of the user's own."""
    import keras

    if isinstance(model, keras.Sequential):
        return [model.layers[-1].name]
    is_dict = isinstance(getattr(model, "output", None), dict)
    return [] if is_dict or not isinstance(model, keras.Model) else list(getattr(model, "output_names", ()))
