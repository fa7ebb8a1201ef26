"""TensorFlow 1's name for variables that begin with the values of a checkpoint."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from dovetail.compat.tensorflow import graph_mode
from dovetail.compat.tensorflow.names.checkpoint_files import CheckpointReader
from dovetail.compat.tensorflow.names.graph import GraphKeys
from dovetail.compat.tensorflow.table import function
from dovetail.core.errors import op_error
from dovetail.core.variable import Variable

TITLE = "tf.train.init_from_checkpoint"


@function("train.init_from_checkpoint", "v1")
def init_from_checkpoint(ckpt_dir_or_file: str, assignment_map: Any) -> None:
    """Let variables begin with the values of a checkpoint, where their initializers would give other ones.

    Args:
        ckpt_dir_or_file: a checkpoint, or a folder, whose latest one is read.
        assignment_map: name in the checkpoint → variable, or its name; or scope → scope, each with "/" at its end.

    Raises:
        ValueError: there is no such variable, or no such value in the checkpoint, or the shapes differ.
        FileNotFoundError: there is no checkpoint.

    Source: `tf.compat.v1.train.init_from_checkpoint`.
    """
    reader = CheckpointReader(ckpt_dir_or_file)
    shapes = reader.get_variable_to_shape_map()
    pairs = [pair for source, target in _items(assignment_map) for pair in _pairs(source, target)]
    for name, variable in pairs:
        if shapes.get(name) != variable.shape.as_list():
            theirs = f"has the shape {shapes[name]}" if name in shapes else "is not"
            problem = f"{name!r} {theirs} in the checkpoint, and the variable {variable.name!r} is {variable.shape}."
            raise op_error(ValueError, TITLE, problem)
    for name, variable in pairs:
        variable.begin_with(reader.get_tensor(name))


def _items(given: Any) -> Iterable[tuple[str, Any]]:
    return given.items() if isinstance(given, Mapping) else given


def _pairs(source: str, target: Any) -> list[tuple[str, Any]]:
    """Names in the checkpoint, and the variables that begin with these values."""
    if isinstance(target, Variable):
        return [(source, target)]
    known = {v.op_name: v for v in graph_mode.open_graph().get_collection(GraphKeys.GLOBAL_VARIABLES)}
    if not target.endswith("/"):
        if target not in known:
            raise op_error(ValueError, TITLE, f"there is no variable {target!r}; there are {', '.join(known)}.")
        return [(source, known[target])]
    scope, theirs = target.lstrip("/"), source.lstrip("/")
    found = [(theirs + name.removeprefix(scope), v) for name, v in known.items() if name.startswith(scope)]
    if not found:
        raise op_error(ValueError, TITLE, f"there are no variables in the scope {target!r}.")
    return found
