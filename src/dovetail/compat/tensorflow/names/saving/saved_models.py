"""TensorFlow's names for SavedModels: loading them, and their constants and signatures."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from dovetail import saved_model
from dovetail.compat.tensorflow import graph_mode
from dovetail.compat.tensorflow.entries import lazy, value
from dovetail.compat.tensorflow.names.saving.meta_graphs import import_message
from dovetail.compat.tensorflow.names.strings.text import is_text
from dovetail.compat.tensorflow.table import function
from dovetail.compat.tf_graph.elements import named_element
from dovetail.core.base.errors import op_error
from dovetail.core.values.value_kinds import dtype_of, static_shape
from dovetail.edit.graph import Graph
from dovetail.formats.tensorflow.saved_model import tagged
from dovetail.formats.wire.libraries import need
from dovetail.formats.wire.messages import TENSORFLOW
from dovetail.formats.wire.tensors import STRING, number_of, shape_proto

FILES = ("saved_model.pb", "saved_model.pbtxt")

lazy("SignatureDef", lambda: TENSORFLOW.SignatureDef)
lazy("TensorInfo", lambda: TENSORFLOW.TensorInfo)

# -- constants --------------------------------------------------------------------------------------------------------

_TAGS = {"SERVING": "serve", "TRAINING": "train", "GPU": "gpu", "TPU": "tpu"}
_SIGNATURES = {
    "DEFAULT_SERVING_SIGNATURE_DEF_KEY": saved_model.SERVING,
    "PREDICT_INPUTS": "inputs",
    "PREDICT_OUTPUTS": "outputs",
    "PREDICT_METHOD_NAME": "tensorflow/serving/predict",
    "CLASSIFY_INPUTS": "inputs",
    "CLASSIFY_OUTPUT_CLASSES": "classes",
    "CLASSIFY_OUTPUT_SCORES": "scores",
    "CLASSIFY_METHOD_NAME": "tensorflow/serving/classify",
    "REGRESS_INPUTS": "inputs",
    "REGRESS_OUTPUTS": "outputs",
    "REGRESS_METHOD_NAME": "tensorflow/serving/regress",
}
_FILES = {
    "ASSETS_DIRECTORY": "assets",
    "ASSETS_KEY": "saved_model_assets",
    "DEBUG_DIRECTORY": "debug",
    "DEBUG_INFO_FILENAME_PB": "saved_model_debug_info.pb",
    "LEGACY_INIT_OP_KEY": "legacy_init_op",
    "MAIN_OP_KEY": "saved_model_main_op",
    "SAVED_MODEL_FILENAME_PB": FILES[0],
    "SAVED_MODEL_FILENAME_PBTXT": FILES[1],
    "SAVED_MODEL_SCHEMA_VERSION": 1,
    "VARIABLES_DIRECTORY": "variables",
    "VARIABLES_FILENAME": "variables",
}
for _module, _values in (("tag_constants", _TAGS), ("signature_constants", _SIGNATURES), ("constants", _FILES)):
    for _name, _value in _values.items():
        value(f"saved_model.{_name}", _value)
        value(f"saved_model.{_module}.{_name}", _value, "v1")

# -- loading ----------------------------------------------------------------------------------------------------------


def _is_saved_model(export_dir: str | os.PathLike[str]) -> bool:
    return any((Path(export_dir) / name).is_file() for name in FILES)


@function("saved_model.contains_saved_model")
def contains_saved_model(export_dir: str | os.PathLike[str]) -> bool:
    """Whether there is a folder with a SavedModel.

    Source: `tf.saved_model.contains_saved_model`.
    """
    return _is_saved_model(export_dir)


@function("saved_model.loader.maybe_saved_model_directory saved_model.maybe_saved_model_directory", "v1")
def maybe_saved_model_directory(export_dir: str | os.PathLike[str]) -> bool:
    """Whether there is a folder with a SavedModel.

    Source: `tf.compat.v1.saved_model.loader.maybe_saved_model_directory`.
    """
    return _is_saved_model(export_dir)


class ConcreteSignature(saved_model.Signature):
    """A signature with the attributes of TensorFlow's concrete functions.

    Attributes:
        inputs, outputs: the tensors of the graph.
        structured_input_signature, structured_outputs: the specs by their keys.

    Source: `tf.types.experimental.ConcreteFunction`.
    """

    @property
    def inputs(self) -> list[Any]:
        return [value for _, value in zip(self.input_keys, self._program.inputs, strict=True)]

    @property
    def outputs(self) -> list[Any]:
        return list(self._program.values)

    @property
    def structured_input_signature(self) -> tuple[tuple[()], dict[str, Any]]:
        return (), self.input_specs

    @property
    def structured_outputs(self) -> dict[str, Any]:
        return self.output_specs


@function("saved_model.load", "v2")
def load(export_dir: str | os.PathLike[str], tags: Any = None, options: Any = None) -> saved_model.LoadedModel:
    """Load a SavedModel, as `dovetail.saved_model.load`, with `ConcreteSignature`s.

    Args:
        export_dir: its folder.
        tags: of the graph to take, a string or several.

    Raises:
        FileNotFoundError: there is no such folder.
        FormatError: it is damaged, or no graph has the tags.

    Source: `tf.saved_model.load`.
    """
    model = saved_model.load(export_dir, [tags] if isinstance(tags, str) else tags)
    model.signatures.kind = ConcreteSignature
    return model


value("saved_model.load_v2", load, "v1")


@function("saved_model.save")
def save(obj: Any, export_dir: str | os.PathLike[str], signatures: Any = None, options: Any = None) -> None:
    """Save functions and variables as a SavedModel, as `dovetail.saved_model.save`.

    Raises:
        TypeError: it is no model.
        ValueError: a function was not traced.

    Source: `tf.saved_model.save`.
    """
    saved_model.save(obj, export_dir, signatures)


@function("saved_model.loader.load saved_model.load", "v1")
def load_into_session(
    sess: Any,
    tags: Iterable[str],
    export_dir: str | os.PathLike[str],
    import_scope: str | None = None,
    **saver_kwargs: Any,
) -> Any:
    """Add the graph of a SavedModel to a session's graph, with the values of its variables.

    Operations keep TensorFlow's names.  The variables begin with the values of the file, in other sessions, too.

    Args:
        sess: the session.
        tags: of the graph to take.
        export_dir: the folder.
        import_scope: a name scope for all that is added.

    Returns:
        The message `MetaGraphDef`, whose `signature_def` has the names of inputs and outputs.

    Raises:
        FileNotFoundError: there is no such folder.
        FormatError: it is damaged, or no graph has the tags.

    Source: `tf.compat.v1.saved_model.loader.load`.
    """
    need("tf.saved_model.load")
    file, meta = tagged(export_dir, [tags] if isinstance(tags, str) else tags)
    with sess.graph.as_default():
        import_message(meta, import_scope, checkpoint=str(file.parent / "variables" / "variables"))
    return meta


# -- signatures -------------------------------------------------------------------------------------------------------


@function("saved_model.build_tensor_info saved_model.utils.build_tensor_info", "v1")
def build_tensor_info(tensor: Any) -> Any:
    """The message `TensorInfo` of a tensor of a graph: its name, dtype and shape.

    Source: `tf.compat.v1.saved_model.build_tensor_info`.
    """
    need("tf.saved_model.build_tensor_info")
    shape = shape_proto(static_shape(tensor))
    number = STRING if is_text(tensor) else number_of(dtype_of(tensor))
    return TENSORFLOW.TensorInfo(name=tensor.name, dtype=number, tensor_shape=shape)


@function("saved_model.get_tensor_from_tensor_info saved_model.utils.get_tensor_from_tensor_info", "v1")
def get_tensor_from_tensor_info(tensor_info: Any, graph: Graph | None = None, import_scope: str | None = None) -> Any:
    """The tensor that a message `TensorInfo` names, in a graph; in the one that is being built, if none is given.

    Raises:
        KeyError: the graph has no such tensor.

    Source: `tf.compat.v1.saved_model.get_tensor_from_tensor_info`.
    """
    name = f"{import_scope}/{tensor_info.name}" if import_scope else tensor_info.name
    return named_element(graph_mode.open_graph() if graph is None else graph, name, allow_operation=False)


@function("saved_model.build_signature_def saved_model.signature_def_utils.build_signature_def", "v1")
def build_signature_def(
    inputs: Mapping[str, Any] | None = None,
    outputs: Mapping[str, Any] | None = None,
    method_name: str | None = None,
    defaults: Any = None,
) -> Any:
    """The message `SignatureDef` of inputs and outputs.

    Args:
        inputs, outputs: key → message `TensorInfo`.
        method_name: a name of the way to call it.

    Source: `tf.compat.v1.saved_model.build_signature_def`.
    """
    need("tf.saved_model.build_signature_def")
    if defaults is not None:
        raise op_error(NotImplementedError, "tf.saved_model.build_signature_def", "leave defaults out.")
    made = TENSORFLOW.SignatureDef(method_name=method_name or "")
    for field, given in ((made.inputs, inputs), (made.outputs, outputs)):
        for key, info in (given or {}).items():
            field[key].CopyFrom(info)
    return made


@function("saved_model.predict_signature_def saved_model.signature_def_utils.predict_signature_def", "v1")
def predict_signature_def(inputs: Mapping[str, Any], outputs: Mapping[str, Any]) -> Any:
    """The message `SignatureDef` of a prediction, from tensors by keys to tensors by keys.

    Source: `tf.compat.v1.saved_model.predict_signature_def`.
    """
    ins, outs = ({key: build_tensor_info(tensor) for key, tensor in given.items()} for given in (inputs, outputs))
    return build_signature_def(ins, outs, _SIGNATURES["PREDICT_METHOD_NAME"])


@function("saved_model.classification_signature_def saved_model.signature_def_utils.classification_signature_def", "v1")
def classification_signature_def(examples: Any, classes: Any, scores: Any) -> Any:
    """The message `SignatureDef` of a classification of examples: their classes, their scores, or both.

    Raises:
        ValueError: neither is given.

    Source: `tf.compat.v1.saved_model.classification_signature_def`.
    """
    if classes is None and scores is None:
        raise op_error(ValueError, "tf.saved_model.classification_signature_def", "give classes, scores, or both.")
    outputs = {"CLASSIFY_OUTPUT_CLASSES": classes, "CLASSIFY_OUTPUT_SCORES": scores}
    return _of_examples("CLASSIFY", examples, outputs)


@function("saved_model.regression_signature_def saved_model.signature_def_utils.regression_signature_def", "v1")
def regression_signature_def(examples: Any, predictions: Any) -> Any:
    """The message `SignatureDef` of a regression of examples.

    Source: `tf.compat.v1.saved_model.regression_signature_def`.
    """
    return _of_examples("REGRESS", examples, {"REGRESS_OUTPUTS": predictions})


def _of_examples(kind: str, examples: Any, outputs: Mapping[str, Any]) -> Any:
    given = {_SIGNATURES[key]: build_tensor_info(tensor) for key, tensor in outputs.items() if tensor is not None}
    inputs = {_SIGNATURES[f"{kind}_INPUTS"]: build_tensor_info(examples)}
    return build_signature_def(inputs, given, _SIGNATURES[f"{kind}_METHOD_NAME"])


class SaveOptions:
    """The options of a SavedModel that is saved, none of which changes its files here.

    Source: `tf.saved_model.SaveOptions`.
    """

    def __init__(self, **options: Any) -> None:
        vars(self).update(options)


class LoadOptions(SaveOptions):
    """The options of a SavedModel that is loaded.

    Source: `tf.saved_model.LoadOptions`.
    """


value("saved_model.SaveOptions", SaveOptions)
value("saved_model.LoadOptions", LoadOptions)


@function("saved_model.is_valid_signature saved_model.signature_def_utils.is_valid_signature", "v1")
def is_valid_signature(signature_def: Any) -> bool:
    """Whether a message `SignatureDef` has inputs, outputs, and the method name of TensorFlow Serving.

    Source: `tf.compat.v1.saved_model.is_valid_signature`.
    """
    methods = [name for key, name in _SIGNATURES.items() if key.endswith("_METHOD_NAME")]
    return bool(signature_def.inputs and signature_def.outputs) and signature_def.method_name in methods
