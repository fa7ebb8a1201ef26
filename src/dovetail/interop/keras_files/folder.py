"""Models of Keras 2 in folders: built again as models of Keras 3 if their classes are known, else run as they are."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from typing import Any

import keras

from dovetail.core.base.errors import FormatError
from dovetail.core.values.spec import TensorSpec
from dovetail.formats.keras.saved_model import SavedKeras, read_folder
from dovetail.formats.wire.libraries import need
from dovetail.interop.keras_files.building import built
from dovetail.interop.keras_files.checkpoint import load_optimizer, load_weights
from dovetail.interop.keras_files.compiling import compile_as
from dovetail.interop.privates import tree
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
        FormatError: a file is damaged, or a class is not known and the folder has no graph that could run instead.
        ImportError: the extra `formats` is not installed.

    Source: `keras.models.load_model` of Keras 2.
    """
    need("load_model")
    saved = read_folder(path)
    custom = {**(custom_objects or {})}
    try:
        model = _built(saved, custom)
    except FormatError as error:
        return _inference(saved, error)
    load_weights(model, saved.checkpoint)
    is_compiled = compile and saved.training is not None and compile_as(model, saved.training, saved.folder, custom)
    if is_compiled and not load_optimizer(model, saved.checkpoint):
        logger.warning("The folder %s has no whole state of the optimizer, which starts again.", saved.folder)
    return model


def _built(saved: SavedKeras, custom: dict[str, Any]) -> Any:
    """The model of a configuration, with weights of any values.

    Raises:
        FormatError: there is none, or it has a class that is not known.
    """
    if saved.config is None:
        raise FormatError(saved.folder, "the configuration", "none", "a model that Keras saved")
    model = built(saved.config, saved.folder, custom)
    if not model.built:
        if saved.inputs is None:
            raise FormatError(saved.folder, "save_spec", "no shapes of inputs", "a model that was called before")
        model(tree.map_structure(_input, saved.inputs))
    return model


def _input(spec: TensorSpec) -> Any:
    """A symbolic input of a model."""
    return keras.KerasTensor(spec.shape, spec.dtype.name)


def _inference(saved: SavedKeras, error: FormatError) -> Any:
    """A model that runs the graph of a folder, from the inputs of its signature.

    Raises:
        FormatError: the folder has no signature.
    """
    try:
        layer = keras.layers.TFSMLayer(str(saved.folder), call_endpoint=SERVING)
    except ValueError:
        raise error from None
    logger.warning(
        "load_model runs the graph of %s for inference, and does not build its layers: %s", saved.folder, error
    )
    signature = layer.call_endpoint_fn
    inputs = {
        name: keras.Input(batch_shape=tensor.shape, dtype=tensor.dtype.name, name=name)
        for name, tensor in zip(signature.inputs, signature.graph.inputs, strict=True)
    }
    outputs = layer(inputs)
    one, single = next(iter(inputs.values())), next(iter(outputs.values()))
    return keras.Model(one if len(inputs) == 1 else inputs, single if len(outputs) == 1 else outputs)
