"""`tf.contrib.summary`: summaries that are written where they are made, or when a run of a session asks for them."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial
from typing import Any

import numpy as np

from dovetail import ops
from dovetail.compat.tensorflow import graph_mode
from dovetail.compat.tensorflow.entries import value
from dovetail.compat.tensorflow.names.graph.graph import group
from dovetail.compat.tensorflow.names.graph.python_calls import done_in
from dovetail.compat.tensorflow.names.summary.event_files import create_file_writer, writers
from dovetail.compat.tensorflow.names.train.steps import get_or_create_global_step
from dovetail.compat.tensorflow.table import function
from dovetail.core.base.errors import op_error
from dovetail.core.base.scopes import Setting
from dovetail.core.values.value_kinds import is_recorded
from dovetail.formats.wire import summaries

COLLECTION = "_SUMMARY_V2"
# How many steps apart summaries are written, and the step that counts; 0 for never.
_records: Setting[tuple[int, Any]] = Setting((0, None))


def always_record_summaries() -> AbstractContextManager[Any]:
    """Write all summaries of the `with` block."""
    return _records.scope((1, None))


def never_record_summaries() -> AbstractContextManager[Any]:
    """Write no summaries of the `with` block."""
    return _records.scope((0, None))


def record_summaries_every_n_global_steps(n: int, global_step: Any = None) -> AbstractContextManager[Any]:
    """Write the summaries of the `with` block whenever the global step is a multiple of `n`."""
    return _records.scope((n, global_step))


def _write(name: str, tensor: Any, family: str | None, step: Any, values: Callable[..., list[Any]]) -> Any:
    """Write a summary now; in a graph, make the operation that writes it, which `all_summary_ops` has."""
    (every, counted), open_writers = _records.get(), writers.get()
    recorded = graph_mode.graph() is not None
    if not every or not open_writers:
        return group() if recorded else None
    writer, tag = open_writers[-1], name if family is None else f"{family}/{name}"
    step = get_or_create_global_step() if step is None else step

    def written(array: np.ndarray, number: Any, count: Any) -> None:
        if int(count) % every == 0:
            writer.add_summary(summaries.summary(values(tag, np.asarray(array))), int(number))

    given = [ops.convert(x) for x in (tensor, step, step if counted is None else counted)]
    if not recorded and not any(map(is_recorded, given)):
        return written(*(x.numpy() for x in given))
    graph = graph_mode.open_graph()
    operation = done_in(graph, written, given, name)
    graph.add_to_collection(COLLECTION, operation)
    return operation


def scalar(name: str, tensor: Any, family: str | None = None, step: Any = None) -> Any:
    """A summary of a number."""
    return _write(name, tensor, family, step, summaries.scalar_value)


def histogram(name: str, tensor: Any, family: str | None = None, step: Any = None) -> Any:
    """A summary of the distribution of numbers."""
    return _write(name, tensor, family, step, summaries.histogram_value)


def image(
    name: str, tensor: Any, bad_color: Any = None, max_images: int = 3, family: str | None = None, step: Any = None
) -> Any:
    """A summary of images."""
    return _write(name, tensor, family, step, partial(summaries.image_values, most=max_images))


def audio(
    name: str, tensor: Any, sample_rate: float, max_outputs: int, family: str | None = None, step: Any = None
) -> Any:
    """A summary of sounds."""
    values = partial(summaries.audio_values, rate=float(sample_rate), most=max_outputs)
    return _write(name, tensor, family, step, values)


def all_summary_ops() -> list[Any]:
    """The operations that write the summaries of the graph; a run that fetches them writes."""
    return graph_mode.open_graph().get_collection(COLLECTION)


def summary_writer_initializer_op() -> list[Any]:
    """The operations that open writers: none, since a writer is open from the start."""
    return []


def initialize(graph: Any = None, session: Any = None) -> None:
    """Write a graph, if one is given; writers are open.

    Raises:
        RuntimeError: there is no writer.
    """
    if not writers.get():
        raise op_error(RuntimeError, "tf.contrib.summary.initialize", "open writer.as_default() around it.")
    if graph is not None:
        writers.get()[-1].add_graph(graph)


def flush(writer: Any = None, name: str | None = None) -> Any:
    """Write what waits in memory; in a graph, whenever a run asks for the operation."""
    flushed = [writer] if writer is not None else writers.get()[-1:]
    if graph_mode.graph() is not None:
        return done_in(graph_mode.open_graph(), lambda: [one.flush() for one in flushed], [], name)
    return [one.flush() for one in flushed] and None


def eval_dir(model_dir: str, eval_name: str | None = None) -> str:
    """The folder of the summaries of evaluations."""
    return os.path.join(model_dir, f"eval_{eval_name}" if eval_name else "eval")


def should_record_summaries() -> bool:
    """Whether summaries are written here."""
    return bool(_records.get()[0] and writers.get())


for _function in (
    *(scalar, histogram, image, audio, all_summary_ops, summary_writer_initializer_op, initialize, flush),
    *(eval_dir, should_record_summaries, always_record_summaries, never_record_summaries),
    record_summaries_every_n_global_steps,
):
    function(f"contrib.summary.{_function.__name__}", "v1")(_function)
value("contrib.summary.create_file_writer", create_file_writer, "v1")
