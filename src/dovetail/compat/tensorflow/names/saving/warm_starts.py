"""TensorFlow 1's names for variables that begin with the values of a checkpoint."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from dovetail.compat.tensorflow import graph_mode
from dovetail.compat.tensorflow.names.graph.graph import GraphKeys
from dovetail.compat.tensorflow.names.saving.checkpoint_files import CheckpointReader
from dovetail.compat.tensorflow.names.variables.partitions import Parts, by_key
from dovetail.compat.tensorflow.table import function
from dovetail.core.base.errors import op_error
from dovetail.core.values.variable import Variable

TITLE = "tf.train.init_from_checkpoint"


@function("train.init_from_checkpoint", "v1")
def init_from_checkpoint(ckpt_dir_or_file: str, assignment_map: Any) -> None:
    """Let variables begin with the values of a checkpoint, where their initializers would give other ones.

    Args:
        ckpt_dir_or_file: a checkpoint, or a folder, whose latest one is read.
        assignment_map: name in the checkpoint → variable, its parts in a list, or its name; or scope → scope, each
            with "/" at its end.

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


@function("train.warm_start", "v1")
def warm_start(
    ckpt_to_initialize_from: str,
    vars_to_warm_start: Any = ".*",
    var_name_to_vocab_info: Any = None,
    var_name_to_prev_var_name: Mapping[str, str] | None = None,
) -> None:
    """Let variables begin with the values that a checkpoint has by their names.

    Args:
        ckpt_to_initialize_from: a checkpoint, or a folder, whose latest one is read.
        vars_to_warm_start: a regular expression for names of trained variables; a list of expressions for global
            variables, or of variables; None for none.
        var_name_to_vocab_info: rows of tables by their words, which are refused.
        var_name_to_prev_var_name: the name of a variable → its name in the checkpoint, if that differs.

    Raises:
        ValueError: a name is of no variable that begins so, or as for `init_from_checkpoint`.

    Source: `tf.compat.v1.train.warm_start`.
    """
    title, before = "tf.train.warm_start", dict(var_name_to_prev_var_name or {})
    if var_name_to_vocab_info:
        problem = "rows are not picked by their words: read the table by tf.train.load_variable, and load an array."
        raise op_error(NotImplementedError, title, problem)
    asked, key = vars_to_warm_start, GraphKeys.GLOBAL_VARIABLES
    if isinstance(asked, str):
        asked, key = [asked], GraphKeys.TRAINABLE_VARIABLES
    of_graph = graph_mode.open_graph().get_collection
    chosen = [v for one in asked or () for v in (of_graph(key, one) if isinstance(one, str) else [one])]
    named = by_key(chosen)
    if unknown := before.keys() - named:
        problem = f"no variable that begins so is called {', '.join(sorted(unknown))}; there are {', '.join(named)}."
        raise op_error(ValueError, title, problem)
    init_from_checkpoint(ckpt_to_initialize_from, [(before.get(name, name), v) for name, v in named.items()])


def _items(given: Any) -> Iterable[tuple[str, Any]]:
    return given.items() if isinstance(given, Mapping) else given


def _pairs(source: str, target: Any) -> list[tuple[str, Any]]:
    """Names in the checkpoint, and the variables that begin with these values."""
    if isinstance(target, (Variable, Parts)):
        return [(source, target)]
    if isinstance(target, (list, tuple)):
        return [(source, Parts(target))]
    known = by_key(graph_mode.open_graph().get_collection(GraphKeys.GLOBAL_VARIABLES))
    if not target.endswith("/"):
        if target not in known:
            raise op_error(ValueError, TITLE, f"there is no variable {target!r}; there are {', '.join(known)}.")
        return [(source, known[target])]
    scope, theirs = target.lstrip("/"), source.lstrip("/")
    pairs = [(theirs + name.removeprefix(scope), v) for name, v in known.items() if name.startswith(scope)]
    if not pairs:
        raise op_error(ValueError, TITLE, f"there are no variables in the scope {target!r}.")
    return pairs
