"""Folders in which Keras 2 saved models, as plain data: the configurations beside a SavedModel of TensorFlow.

From TensorFlow 2.5 on, the file `keras_metadata.pb` has them; before, the objects of `saved_model.pb` do.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dovetail.core.base.errors import FormatError
from dovetail.core.values.spec import spec
from dovetail.formats.keras.texts import config_of
from dovetail.formats.wire.messages import KERAS, TENSORFLOW, parsed

MODEL, METADATA = "saved_model.pb", "keras_metadata.pb"
ROOT, KINDS = 0, ("_tf_keras_model", "_tf_keras_network", "_tf_keras_sequential", "_tf_keras_layer")


@dataclass
class SavedKeras:
    """A model that Keras 2 saved in a folder.

    Attributes:
        folder: the path.
        config: its configuration, with `class_name` and `config`; None if its class has none.
        training: the arguments of `compile`, or None.
        inputs: the structure of specs of its inputs; None if it was never called.
        checkpoint: the path of the values of its variables, without the ends of the files' names.
    """

    folder: Path
    config: dict[str, Any] | None
    training: dict[str, Any] | None
    inputs: Any
    checkpoint: str


def is_folder(path: str | os.PathLike[str]) -> bool:
    """Whether there is a folder with a SavedModel."""
    return (Path(path) / MODEL).is_file()


def read_folder(path: str | os.PathLike[str]) -> SavedKeras:
    """The model in a folder; one that Keras did not save has no configuration.

    Raises:
        FormatError: a file is damaged.
        ImportError: the extra `formats` is not installed.
    """
    folder = Path(path)
    file, text = _root(folder)
    described = config_of(text, file, "the model") if text else {}
    if not isinstance(described, dict):
        raise FormatError(file, "the model", f"{type(described).__name__}", "an object of JSON")
    try:
        described = _plain(described, file)
    except RecursionError:
        raise FormatError(file, "the model", "JSON that is nested too deeply", "objects of some levels") from None
    config = {"class_name": described.get("class_name"), "config": described.get("config")}
    is_whole = isinstance(config["class_name"], str) and isinstance(config["config"], dict)
    training = described.get("training_config")
    return SavedKeras(
        folder,
        config if is_whole else described.get("model_config"),
        training if isinstance(training, dict) else None,
        described.get("save_spec"),
        str(folder / "variables" / "variables"),
    )


def _root(folder: Path) -> tuple[Path, str]:
    """The file that has the configuration of the model, and its text; no text if there is none."""
    file = folder / METADATA
    if file.is_file():
        nodes = parsed(KERAS.SavedMetadata, file.read_bytes(), file).nodes
        return file, next((n.metadata for n in nodes if n.node_id == ROOT and n.identifier in KINDS), "")
    file = folder / MODEL
    metas = parsed(TENSORFLOW.SavedModel, file.read_bytes(), file).meta_graphs
    nodes = metas[0].object_graph_def.nodes if metas else []
    user = nodes[ROOT].user_object if nodes else TENSORFLOW.SavedUserObject()
    return file, user.metadata if user.identifier in KINDS else ""


def _plain(value: Any, file: Path) -> Any:
    """A value without the objects that stand for Python's tuples, and for shapes and specs of TensorFlow."""
    if isinstance(value, list):
        return [_plain(item, file) for item in value]
    if not isinstance(value, dict):
        return value
    read = READERS.get(value.get("class_name", "")) if isinstance(value.get("class_name"), str) else None
    if read is None:
        return {key: _plain(item, file) for key, item in value.items()}
    try:
        return read(value, file)
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise FormatError(file, f"a {value['class_name']}", f"none ({error})", "its items") from None


def _items(value: dict[str, Any], file: Path) -> Any:
    return [_plain(item, file) for item in value["items"]]  # a list, as in Keras' other files


def _shape(value: dict[str, Any], file: Path) -> Any:
    return None if value["items"] is None else list(value["items"])


def _spec(value: dict[str, Any], file: Path) -> Any:
    """A spec of a tensor; None for one of another kind, such as a ragged tensor."""
    if value["type_spec"] != "tf.TensorSpec":
        return None
    shape, dtype, *_ = _plain(value["serialized"], file)
    return spec(shape, dtype)


READERS = {"__tuple__": _items, "TensorShape": _shape, "TypeSpec": _spec, "__ellipsis__": lambda value, file: ...}
