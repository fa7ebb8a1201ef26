"""Models of Keras 2 in folders: built again as models of Keras 3 if their classes are known, else run as they are."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from typing import Any

import keras

from dovetail.core.spec import TensorSpec
from dovetail.formats.keras.saved_model import SavedKeras, class_names, read_folder
from dovetail.formats.wire.bundle import exists
from dovetail.formats.wire.libraries import need
from dovetail.interop.keras_files.checkpoint import load_optimizer, load_weights
from dovetail.interop.privates import keras_option_scope, saving_utils, tree
from dovetail.saved_model import SERVING

logger = logging.getLogger("dovetail.keras")


def load_folder(
    path: str | os.PathLike[str], custom_objects: Mapping[str, Any] | None = None, compile: bool = True
) -> Any:
    """Load the model that Keras 2 saved in a folder, without TensorFlow.

    The model is built from its configuration and gets its weights.  If a class of it is not known, the model runs the
    graph of the folder: its layers are not there, but its variables are, and it can be trained.

    Args:
        path: the folder of a SavedModel.
        custom_objects: names → classes and functions of the program that the model has.
        compile: whether the model is compiled as it was, with the state of its optimizer.

    Raises:
        FormatError: a file is damaged.
        ValueError: a class is not known, and the folder has no graph that could run instead.
        ImportError: the extra `formats` is not installed.

    Source: `keras.models.load_model` of Keras 2.
    """
    need("load_model")
    saved = read_folder(path)
    custom = {**(custom_objects or {})}
    try:
        model = _built(saved, custom)
    except UNKNOWN as error:
        return _inference(saved, custom, error)
    if exists(saved.checkpoint):
        load_weights(model, saved.checkpoint)
    if compile and saved.training is not None:
        _compile(model, saved, custom)
    return model


UNKNOWN = (ValueError, TypeError, KeyError, AttributeError, NotImplementedError)  # of Keras, for a configuration


def _built(saved: SavedKeras, custom: dict[str, Any]) -> Any:
    """The model of a configuration, with weights of any values.

    Raises:
        ValueError, TypeError: a class is not known, or takes other arguments.
    """
    if saved.config is None:
        raise ValueError("Keras did not save a configuration in it.")
    with keras_option_scope(use_legacy_config=True):
        model = saving_utils.model_from_config(saved.config, custom)
    if not model.built:
        if saved.inputs is None:
            raise ValueError("the model was saved before it was called, so the shapes of its weights are not known.")
        model(tree.map_structure(_input, saved.inputs))
    return model


def _input(spec: TensorSpec) -> Any:
    """A symbolic input of a model."""
    return keras.KerasTensor(spec.shape, spec.dtype.name)


def _compile(model: Any, saved: SavedKeras, custom: dict[str, Any]) -> None:
    try:
        model.compile(**saving_utils.compile_args_from_training_config(saved.training, custom))
    except UNKNOWN as error:
        advice = "compile it, or give what it was compiled with in custom_objects"
        logger.warning("The model of %s is not compiled (%s): %s.", saved.folder, error, advice)
        return
    if exists(saved.checkpoint) and not load_optimizer(model, saved.checkpoint):
        logger.warning("The folder %s has no whole state of the optimizer, which begins anew.", saved.folder)


def _inference(saved: SavedKeras, custom: dict[str, Any], error: Exception) -> Any:
    """A model that runs the graph of a folder, from the inputs of its signature.

    Raises:
        ValueError: the folder has no signature.
    """
    unknown = [name for name in dict.fromkeys(class_names(saved.config)) if not _is_known(name, custom)]
    advice = f"custom_objects={{{', '.join(f'{name!r}: {name}' for name in unknown) or '...'}}}"
    try:
        layer = keras.layers.TFSMLayer(str(saved.folder), call_endpoint=SERVING)
    except ValueError:
        problem = f"the model of {str(saved.folder)!r} is not built: {error}"
        raise ValueError(f"load_model: {problem} It has no graph to run instead: say {advice}.") from error
    logger.warning(
        "load_model runs the graph of %s for inference, since its layers are not known (%s): say %s to build it.",
        saved.folder, str(error).partition(". ")[0], advice,
    )  # fmt: skip
    signature = layer.call_endpoint_fn
    inputs = {
        name: keras.Input(batch_shape=tensor.shape, dtype=tensor.dtype.name, name=name)
        for name, tensor in zip(signature.inputs, signature.graph.inputs, strict=True)
    }
    outputs = layer(inputs)
    one, single = next(iter(inputs.values())), next(iter(outputs.values()))
    return keras.Model(one if len(inputs) == 1 else inputs, single if len(outputs) == 1 else outputs)


def _is_known(name: str, custom: dict[str, Any]) -> bool:
    return name in custom or any(hasattr(module, name) for module in KNOWN)


KNOWN = keras.layers, keras.models, keras.initializers, keras.regularizers, keras.constraints, saving_utils
