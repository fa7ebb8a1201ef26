"""TensorFlow's names for event files: their writers, and the messages in them."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial, reduce
from typing import Any, ClassVar

import numpy as np

from dovetail.compat.tensorflow import graph_mode
from dovetail.compat.tensorflow.entries import lazy, value
from dovetail.compat.tensorflow.names.debugging import logger
from dovetail.compat.tensorflow.names.session.setting_groups import Message
from dovetail.compat.tensorflow.table import function
from dovetail.compat.tf_graph.graph_proto import graph_proto
from dovetail.core.base.errors import describe, op_error
from dovetail.core.base.scopes import Setting
from dovetail.edit.graph import Graph
from dovetail.formats.wire.events import EventWriter, read_events
from dovetail.formats.wire.libraries import need
from dovetail.formats.wire.messages import TENSORFLOW, parsed

for _name in ("Summary", "Event", "SessionLog"):
    lazy(f"{_name} summary.{_name}", partial(getattr, TENSORFLOW, _name))
for _name in ("SummaryMetadata", "HistogramProto", "summary.TaggedRunMetadata"):
    lazy(_name, partial(getattr, TENSORFLOW, _name.rpartition(".")[2]))


@function("train.summary_iterator", "v1")
def summary_iterator(path: str) -> Iterator[Any]:
    """The events of a file, one after another.  If it ends within an event, those before it are read, with a warning.

    Raises:
        FormatError: the file is damaged.

    Source: `tf.compat.v1.train.summary_iterator`.
    """
    need("tf.train.summary_iterator")
    return read_events(path)


class FileWriter:
    """A writer of summaries and graphs into an event file; also a `with` block.

    Args:
        logdir: the folder of the file, which is made if need be.
        graph: a graph that is written at once; or its definition.
        max_queue: the number of events that may wait in memory.
        flush_secs: the seconds that they may wait.
        graph_def: the definition of a graph, instead of `graph`.
        filename_suffix: the end of the file's name.

    Raises:
        ImportError: the extra `formats` is not installed.
        NotImplementedError: a session is given, in which the writer would be an operation.

    Source: `tf.compat.v1.summary.FileWriter`.
    """

    def __init__(
        self,
        logdir: str,
        graph: Any = None,
        max_queue: int = 10,
        flush_secs: float = 120,
        graph_def: Any = None,
        filename_suffix: str | None = None,
        session: Any = None,
    ) -> None:
        need("tf.summary.FileWriter")
        if session is not None:
            problem = "it writes at once, and not by operations: leave session out."
            raise op_error(NotImplementedError, "tf.summary.FileWriter", problem)
        self._logdir, self._described, self._runs = str(logdir), set[str](), set[str]()
        self._open = partial(EventWriter, self._logdir, max_queue, flush_secs, filename_suffix or "")
        self._writer, self._closed = self._open(), False
        if graph is not None or graph_def is not None:
            self.add_graph(graph, graph_def=graph_def)

    _repeats = False  # whether each summary of a tag has its metadata

    def get_logdir(self) -> str:
        """The folder of the file."""
        return self._logdir

    def add_summary(self, summary: Any, global_step: Any = None) -> None:
        """Write a summary that a session computed, or a `tf.Summary`; the first of a tag has its metadata."""
        data = summary if isinstance(summary, bytes) else summary.SerializeToString()
        parsed_summary = parsed(TENSORFLOW.Summary, data, "a summary", "the bytes")
        for one in parsed_summary.value:
            if one.HasField("metadata") and not self._repeats:
                if one.tag in self._described:
                    one.ClearField("metadata")
                self._described.add(one.tag)
        self._add(global_step, summary=parsed_summary)

    def _add(self, global_step: Any, **contents: Any) -> None:
        self._writer.add(TENSORFLOW.Event(wall_time=time.time(), step=_number(global_step), **contents))

    def add_event(self, event: Any) -> None:
        """Write a `tf.Event`."""
        self._writer.add(event)

    def add_session_log(self, session_log: Any, global_step: Any = None) -> None:
        """Write a `tf.SessionLog`, as the start of a run."""
        self._add(global_step, session_log=session_log)

    def add_run_metadata(self, run_metadata: Any, tag: str, global_step: Any = None) -> None:
        """Write the times of a run, which TensorBoard shows in the graph.

        Args:
            run_metadata: the `tf.RunMetadata` that the run filled.
            tag: the name of the run, which no other one has.
            global_step: its step.

        Raises:
            ValueError: another run has the tag.
        """
        if tag in self._runs:
            problem = f"a run has the tag {tag!r} already: give each run its own."
            raise op_error(ValueError, "tf.summary.FileWriter.add_run_metadata", problem)
        self._runs.add(tag)
        data = _written(run_metadata).SerializeToString()
        self._add(global_step, tagged_run_metadata=TENSORFLOW.TaggedRunMetadata(tag=tag, run_metadata=data))

    def add_graph(self, graph: Any, global_step: Any = None, graph_def: Any = None) -> None:
        """Write a graph, as TensorBoard shows it: scopes, operations, shapes, devices, bodies of loops.

        Args:
            graph: a graph, or its definition.
            global_step: its step.
            graph_def: a definition, instead of `graph`.

        Raises:
            TypeError: it is neither.
        """
        given = graph if graph_def is None else graph_def
        if isinstance(given, TENSORFLOW.GraphDef):
            self._add(global_step, graph_def=given.SerializeToString())
            return
        if not isinstance(given, Graph):
            problem = f"it writes a tf.Graph, or what its as_graph_def() gives, not {describe(given)}."
            raise op_error(TypeError, "tf.summary.FileWriter.add_graph", problem)
        self._add(global_step, graph_def=graph_proto(given).SerializeToString())

    def add_meta_graph(self, meta_graph_def: Any, global_step: Any = None) -> None:
        """Write a meta graph, as `tf.train.export_meta_graph` gives it.

        Args:
            meta_graph_def: a message `MetaGraphDef`.
            global_step: its step.

        Raises:
            TypeError: it is another value.
        """
        if not isinstance(meta_graph_def, TENSORFLOW.MetaGraphDef):
            problem = f"it writes a tf.MetaGraphDef, as export_meta_graph gives it, not {describe(meta_graph_def)}."
            raise op_error(TypeError, "tf.summary.FileWriter.add_meta_graph", problem)
        self._add(global_step, meta_graph_def=meta_graph_def.SerializeToString())

    def is_open(self) -> bool:
        """Whether it writes into a file that is still there."""
        return self._writer.path.exists() and not self._closed

    def flush(self) -> None:
        """Write the events that still wait."""
        self._writer.flush()

    def close(self) -> None:
        """End the file."""
        self._closed = True
        self._writer.close()

    def reopen(self) -> None:
        """Begin another file in the folder, after `close`."""
        self._writer.close()
        self._described.clear()
        self._writer, self._closed = self._open(), False

    def __enter__(self) -> FileWriter:
        return self

    def __exit__(self, *error: Any) -> None:
        self.close()


def write_rate(writer: Any, counter: Any, rate: float, step: int) -> None:
    """Write and log how many steps a second takes; `counter` is the global step."""
    tag = f"{counter.op.name}/sec"
    if writer is not None:
        writer.add_summary(TENSORFLOW.Summary(value=[{"tag": tag, "simple_value": rate}]), step)
    logger.info("%s: %g", tag, rate)


def _written(group: Message) -> Any:
    """A group of settings as the message of the same name."""
    made = getattr(TENSORFLOW, type(group).__name__)()
    for path, setting in group.said():
        *groups, name = path.split(".")
        place = reduce(getattr, groups, made)
        if isinstance(setting, list):
            getattr(place, name).extend(map(_written, setting))
        else:
            setattr(place, name, setting)
    return made


def _number(step: Any) -> int | None:
    """A step as an int, from a number, a tensor or a variable."""
    return None if step is None else int(np.asarray(getattr(step, "numpy", lambda: step)()))


value("summary.FileWriter train.SummaryWriter", FileWriter, "v1")


class FileWriterCache:
    """The writers that hooks share: one for each folder.

    Source: `tf.compat.v1.summary.FileWriterCache`.
    """

    _writers: ClassVar[dict[str, FileWriter]] = {}

    @classmethod
    def get(cls, logdir: str) -> FileWriter:
        """The writer of a folder; a new one writes the default graph, too."""
        key = os.path.abspath(logdir)
        if key not in cls._writers or not cls._writers[key].is_open():
            cls._writers[key] = FileWriter(logdir, graph=graph_mode.open_graph())
        return cls._writers[key]

    @classmethod
    def clear(cls) -> None:
        """End all files, and forget their writers."""
        while cls._writers:
            cls._writers.popitem()[1].close()


value("summary.FileWriterCache", FileWriterCache, "v1")

writers: Setting[tuple[Any, ...]] = Setting(())  # summaries go to the last one
default_step: Setting[Any] = Setting(None)  # of summaries without a step


class SummaryWriter(FileWriter):
    """A writer of the summaries that are made in its `as_default` blocks.

    Source: `tf.summary.create_file_writer`.
    """

    _repeats = True

    @contextmanager
    def as_default(self, step: Any = None) -> Iterator[SummaryWriter]:
        """Write the summaries of the `with` block here."""
        try:
            with (
                writers.scope((*writers.get(), self)),
                default_step.scope(default_step.get() if step is None else step),
            ):
                yield self
        finally:
            self.flush()

    def set_as_default(self, step: Any = None) -> None:
        """Write summaries here from now on."""
        writers.set((*writers.get(), self))
        if step is not None:
            default_step.set(step)


@function("summary.create_file_writer", "v2")
def create_file_writer(
    logdir: str,
    max_queue: int | None = None,
    flush_millis: int | None = None,
    filename_suffix: str | None = None,
    name: str | None = None,
) -> SummaryWriter:
    """A writer of summaries into an event file.

    Source: `tf.summary.create_file_writer`.
    """
    seconds = 120 if flush_millis is None else flush_millis / 1000
    return SummaryWriter(logdir, None, max_queue or 10, seconds, filename_suffix=filename_suffix)
