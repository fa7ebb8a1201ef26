"""TensorFlow's names for savers, which write the variables of a graph to checkpoints."""

from __future__ import annotations

import math
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import numpy as np

from dovetail.compat.tensorflow import graph_mode
from dovetail.compat.tensorflow.entries import value
from dovetail.compat.tensorflow.names.graph.graph import GraphKeys
from dovetail.compat.tensorflow.names.graph.util import write_message
from dovetail.compat.tensorflow.names.saving import checkpoint_files as files
from dovetail.compat.tensorflow.names.saving.kept_checkpoints import KeptCheckpoints
from dovetail.compat.tensorflow.names.saving.meta_graphs import import_message, meta_graph
from dovetail.compat.tensorflow.names.variables.partitions import Parts, by_key
from dovetail.compat.tensorflow.table import function
from dovetail.core.base.errors import op_error, warn
from dovetail.formats.wire.libraries import need
from dovetail.formats.wire.messages import TENSORFLOW


class Saver:
    """A saver, which writes variables of a graph to checkpoints and restores them.

    Args:
        var_list: variables, or names → variables, each of which may be a list of parts; by default all global
            variables of the graph.
        reshape: whether a value may be restored in another shape of as many elements.
        max_to_keep: how many checkpoints stay; None or 0 for all.
        keep_checkpoint_every_n_hours: as in `KeptCheckpoints`.
        defer_build: whether the saver takes the variables of the graph only at `build`, or when it is first used.
        allow_empty: whether there may be no variables.
        pad_step_number: whether the step in a path has eight digits.

    Raises:
        NotImplementedError: a definition of a saver, or another builder of one, is given.
        ValueError: there are no variables.

    Source: `tf.compat.v1.train.Saver`.
    """

    def __init__(
        self,
        var_list: Any = None,
        reshape: bool = False,
        sharded: bool = False,
        max_to_keep: int | None = 5,
        keep_checkpoint_every_n_hours: float = 10000.0,
        name: str | None = None,
        restore_sequentially: bool = False,
        saver_def: Any = None,
        builder: Any = None,
        defer_build: bool = False,
        allow_empty: bool = False,
        write_version: Any = None,
        pad_step_number: bool = False,
        save_relative_paths: bool = False,
        filename: str | None = None,
    ) -> None:
        if saver_def is not None or builder is not None:
            problem = "savers are made of variables: leave saver_def and builder out."
            raise op_error(NotImplementedError, "tf.train.Saver", problem)
        self._given, self._reshapes, self._may_be_empty = var_list, reshape, allow_empty
        self._digits = 8 if pad_step_number else 0
        self._kept = KeptCheckpoints(max_to_keep, keep_checkpoint_every_n_hours)
        self._variables: dict[str, Any] | None = None
        if not defer_build:
            self.build()

    def build(self) -> None:
        """Take the variables."""
        given = self._given
        if given is None:
            given = graph_mode.open_graph().get_collection(GraphKeys.GLOBAL_VARIABLES)
        named = {key: _stored(v) for key, v in given.items()} if isinstance(given, Mapping) else by_key(given)
        if not named and not self._may_be_empty:
            raise op_error(ValueError, "tf.train.Saver", "there are no variables to save.")
        self._variables = named

    def _named(self) -> dict[str, Any]:
        if self._variables is None:
            self.build()
        return self._variables or {}

    @property
    def last_checkpoints(self) -> list[str]:
        """The kept checkpoints that it wrote, the latest last."""
        return list(self._kept.paths)

    def set_last_checkpoints(self, last_checkpoints: list[str]) -> None:
        """Replace the kept checkpoints by others, the latest last."""
        self._kept.replace((path, math.inf) for path in last_checkpoints)

    def set_last_checkpoints_with_time(self, last_checkpoints_with_time: list[tuple[str, float]]) -> None:
        """Replace the kept checkpoints by others, with the times when they were made."""
        self._kept.replace(last_checkpoints_with_time)

    def recover_last_checkpoints(self, checkpoint_paths: list[str]) -> None:
        """Replace the kept checkpoints by those of these that there are."""
        self._kept.replace((p, files.get_checkpoint_mtimes([p])[0]) for p in checkpoint_paths if files.exists(p))

    def save(
        self,
        sess: Any,
        save_path: str,
        global_step: Any = None,
        latest_filename: str | None = None,
        meta_graph_suffix: str = "meta",
        write_meta_graph: bool = True,
        write_state: bool = True,
        strip_default_attrs: bool = False,
        save_debug_info: bool = False,
    ) -> str:
        """Write the values of a session, and return the path of the checkpoint, with the step at its end if given."""
        with _in_session(sess):
            step = None if global_step is None else int(np.asarray(known_number(global_step)))
            path = str(save_path) if step is None else f"{save_path}-{step:0{self._digits}d}"
            files.write(path, self._named(), "tf.train.Saver.save")
        self._kept.add(path)
        if write_meta_graph:
            self._write_meta_graph(f"{path}.{meta_graph_suffix}")
        if write_state:
            files.note(path, self._kept.paths, latest_filename)
        return path

    def export_meta_graph(
        self,
        filename: str | None = None,
        collection_list: Any = None,
        as_text: bool = False,
        export_scope: str | None = None,
        clear_devices: bool = False,
        clear_extraneous_savers: bool = False,
        strip_default_attrs: bool = False,
        save_debug_info: bool = False,
    ) -> Any:
        """The graph that is being built as a message, as `tf.train.export_meta_graph` makes it.

        TensorFlow imports it, and saves and restores the variables of this saver by nodes of its own.
        """
        need("tf.train.Saver.export_meta_graph")
        if export_scope is not None:
            raise NotImplementedError(
                "tf.train.Saver.export_meta_graph writes the whole graph: leave export_scope out."
            )
        return self._exported(None, filename, collection_list, as_text, clear_devices)

    def _exported(
        self, graph: Any, filename: Any, collections: Any = None, as_text: bool = False, clear_devices: bool = False
    ) -> Any:
        made = meta_graph(graph, None, collections, clear_devices, self._named(), self.as_saver_def())
        if filename is not None:
            write_message(made, Path(filename), as_text)
        return made

    def as_saver_def(self) -> Any:
        """Its settings, as a message `SaverDef`."""
        need("tf.train.Saver.as_saver_def")
        limit, hours = self._kept.limit or 0, self._kept.hours or 0.0
        return TENSORFLOW.SaverDef(max_to_keep=limit, keep_checkpoint_every_n_hours=hours, version=2)

    def _write_meta_graph(self, path: str) -> None:
        """Write the graph of the variables beside a checkpoint, if it can be written."""
        graph = next((v.graph for v in self._named().values() if getattr(v, "graph", None) is not None), None)
        if graph is None:
            return
        try:
            self._exported(graph, path)
        except TypeError as error:
            problem = f"it writes the variables, and no meta graph: {error} Or say write_meta_graph=False."
            warn(UserWarning, "tf.train.Saver.save", problem)

    def restore(self, sess: Any, save_path: str) -> None:
        """Give the variables, in a session, the values of a checkpoint: all of them, or none.

        Raises:
            ValueError: there is no such checkpoint, or a shape differs.
            KeyError: a variable is not in it.
            FormatError: it is damaged.
        """
        if save_path is None or not files.exists(str(save_path)):
            raise op_error(ValueError, "tf.train.Saver.restore", f"there is no checkpoint {save_path!r}.")
        with _in_session(sess):
            files.give(self._named(), files.read(str(save_path)), str(save_path), self._reshapes)


def _in_session(session: Any) -> AbstractContextManager[Any]:
    """Give variables the values of a session inside of the `with` block."""
    return nullcontext() if session is None else session.as_default()


def _stored(value: Any) -> Any:
    """A variable, or the parts of one in a list."""
    return Parts(value) if isinstance(value, (list, tuple)) else value


def known_number(number: Any) -> Any:
    """A number, or the value of a variable."""
    return number.numpy() if hasattr(number, "numpy") else number


value("train.Saver", Saver, "v1")


@function("train.import_meta_graph", "v1")
def import_meta_graph(
    meta_graph_or_file: Any, clear_devices: bool = False, import_scope: str | None = None, **saver: Any
) -> Saver | None:
    """Add the graph of a meta graph to the graph that is being built, with its collections.

    Of a graph that TensorFlow wrote, operations that read or write checkpoints are left out.

    Args:
        meta_graph_or_file: the path of a file, or a message `MetaGraphDef`.
        clear_devices: whether operations lose their devices.
        import_scope: a name scope for all that is added.
        **saver: arguments of the saver.

    Returns:
        A saver of the variables of the graph, which have no values before an initializer or the saver gives them
        some; None if it has none.

    Raises:
        FileNotFoundError: there is no such file.
        FormatError: it is damaged.

    Source: `tf.compat.v1.train.import_meta_graph`.
    """
    need("tf.train.import_meta_graph")
    return Saver(**saver) if import_message(meta_graph_or_file, import_scope, clear_devices) else None
