"""TensorFlow's names for summaries: numbers, histograms and images for TensorBoard.

TensorFlow's own writer writes the files; it is imported when the first file is opened.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import Any

import numpy as np

from dovetail import ops
from dovetail.compat.tensorflow import graph_mode
from dovetail.compat.tensorflow.names.graph import GraphKeys
from dovetail.compat.tensorflow.table import function, lazy, value
from dovetail.core.errors import describe, op_error
from dovetail.core.scopes import Setting
from dovetail.core.structure import leaf
from dovetail.core.value_kinds import is_recorded
from dovetail.edit.graph import Graph
from dovetail.graph.base import new_scope
from dovetail.interop.tensorboard import graph_proto


def _tensorflow() -> Any:
    """TensorFlow, which has the writer of event files.

    Raises:
        ImportError: it is not installed.
    """
    try:
        return import_module("tensorflow")
    except ImportError as error:
        problem = "event files are written by TensorFlow's own writer, and TensorFlow is not installed here"
        raise ImportError(f"{problem}: pip install tensorflow.") from error


lazy("Summary summary.Summary", lambda: _tensorflow().compat.v1.Summary)
lazy("Event", lambda: _tensorflow().compat.v1.Event)

# -- contents ---------------------------------------------------------------------------------------------------------


def _scalar(tag: str, array: np.ndarray) -> list[dict[str, Any]]:
    return [{"tag": tag, "simple_value": float(array)}]


def _histogram(tag: str, array: np.ndarray, buckets: int | None = None) -> list[dict[str, Any]]:
    numbers = array.astype("float64").reshape(-1)
    counts, edges = np.histogram(numbers, bins=buckets or 30) if numbers.size else (np.zeros(1), np.zeros(2))
    histogram = _tensorflow().compat.v1.HistogramProto(
        min=float(numbers.min(initial=np.inf)),
        max=float(numbers.max(initial=-np.inf)),
        num=float(numbers.size),
        sum=float(numbers.sum()),
        sum_squares=float(np.square(numbers).sum()),
        bucket_limit=edges[1:].tolist(),
        bucket=counts.astype("float64").tolist(),
    )
    return [{"tag": tag, "histo": histogram}]


def _image(tag: str, array: np.ndarray, max_outputs: int = 3) -> list[dict[str, Any]]:
    if array.ndim != 4 or array.shape[-1] not in (1, 3, 4):
        problem = f"images have the shape (batch, rows, columns, 1, 3 or 4), not {array.shape}."
        raise op_error(ValueError, "tf.summary.image", problem)
    tensorflow, found = _tensorflow(), []
    for number, image in enumerate(array[:max_outputs]):
        pixels = image if image.dtype == np.uint8 else _pixels(image)
        png = tensorflow.io.encode_png(pixels).numpy()
        proto = tensorflow.compat.v1.Summary.Image(
            height=image.shape[0], width=image.shape[1], colorspace=image.shape[2], encoded_image_string=png
        )
        found.append({"tag": f"{tag}/image" if max_outputs == 1 else f"{tag}/image/{number}", "image": proto})
    return found


def _pixels(image: np.ndarray) -> np.ndarray:
    """Numbers as pixels: the largest is the brightest, and 0 is grey where there are negative ones."""
    low, high = float(image.min(initial=0)), float(image.max(initial=0))
    if low < 0:
        return np.clip(image * (127 / max(-low, high)) + 128, 0, 255).astype("uint8")
    return np.clip(image * (255 / high if high else 0.0), 0, 255).astype("uint8")


def _proto(values: Sequence[dict[str, Any]]) -> Any:
    summary = _tensorflow().compat.v1.Summary
    return summary(value=[summary.Value(**one) for one in values])


# -- in graphs --------------------------------------------------------------------------------------------------------


@leaf
class SummaryNode:
    """The source of a session's summary: tensors of a graph, and the function that writes each.

    Attributes:
        name: as a tensor's, "layer/loss:0".

    Source: the tensors of strings that `tf.compat.v1.summary.scalar` gives.
    """

    def __init__(self, parts: Sequence[tuple[Any, Callable[[np.ndarray], list[dict[str, Any]]]]], name: str) -> None:
        self.parts, self.name = list(parts), name
        self.graph = self.parts[0][0].graph

    @property
    def tensors(self) -> list[Any]:
        """The tensors that a session computes for it."""
        return [tensor for tensor, _ in self.parts]

    def written(self, arrays: Sequence[Any]) -> bytes:
        """The summary of computed arrays, as a writer takes it."""
        values = [one for (_, write), array in zip(self.parts, arrays, strict=True) for one in write(np.asarray(array))]
        return _proto(values).SerializeToString()

    def eval(self, feed_dict: Any = None, session: Any = None) -> bytes:
        """The summary, computed by a session."""
        found = [tensor.eval(feed_dict, session) for tensor in self.tensors]
        return self.written(found)


def _node(name: str, tensor: Any, write: Callable[..., Any], collections: Any, family: Any) -> SummaryNode:
    graph = graph_mode.open_graph()
    with graph_mode.inside(graph):
        tensor = tensor if is_recorded(tensor) else graph.constant(ops.convert(tensor).numpy())
        tensor = ops.identity(tensor) if not hasattr(tensor, "op") or hasattr(tensor, "assign") else tensor
    clean = [re.sub(r"[^-/\w.]", "_", word).lstrip("/") for word in (family, name) if word is not None]
    whole = new_scope(graph, "/".join(clean)).rstrip("/")
    tag = whole if family is None else f"{clean[0]}/{whole}"
    node = SummaryNode([(tensor, lambda array: write(tag, array))], f"{whole}:0")
    for key in [GraphKeys.SUMMARIES] if collections is None else collections:
        graph.add_to_collection(key, node)
    return node


@function("summary.scalar", "v1")
def scalar_v1(name: str, tensor: Any, collections: Any = None, family: Any = None) -> SummaryNode:
    """A summary of a number.

    Source: `tf.compat.v1.summary.scalar`.
    """
    return _node(name, tensor, _scalar, collections, family)


@function("summary.histogram", "v1")
def histogram_v1(name: str, values: Any, collections: Any = None, family: Any = None) -> SummaryNode:
    """A summary of the distribution of numbers.

    Source: `tf.compat.v1.summary.histogram`.
    """
    return _node(name, values, _histogram, collections, family)


@function("summary.image", "v1")
def image_v1(name: str, tensor: Any, max_outputs: int = 3, collections: Any = None, family: Any = None) -> SummaryNode:
    """A summary of images.

    Source: `tf.compat.v1.summary.image`.
    """
    return _node(name, tensor, lambda tag, array: _image(tag, array, max_outputs), collections, family)


@function("summary.merge", "v1")
def merge(inputs: Sequence[SummaryNode], collections: Any = None, name: str | None = None) -> SummaryNode:
    """Several summaries in one.

    Source: `tf.compat.v1.summary.merge`.
    """
    graph = graph_mode.open_graph()
    last = "MergeSummary" if name is None else name.rpartition("/")[2]
    whole = f"{new_scope(graph, name or 'Merge')}{last}:0"
    node = SummaryNode([part for one in inputs for part in one.parts], whole)
    for key in collections or ():
        graph.add_to_collection(key, node)
    return node


@function("summary.merge_all", "v1")
def merge_all(key: str = GraphKeys.SUMMARIES, scope: str | None = None, name: str | None = None) -> Any:
    """All summaries of the graph in one; None if there are none.

    Args:
        scope: a regular expression for the beginning of the summaries' names.

    Source: `tf.compat.v1.summary.merge_all`.
    """
    found = graph_mode.open_graph().get_collection(key, scope)
    return merge(found, name=name) if found else None


class FileWriter:
    """A writer of summaries and graphs into an event file.

    Args:
        logdir: the folder of the file, which is made if need be.
        graph: a graph that is written at once; or its definition.
        max_queue: the number of events that may wait in memory.
        flush_secs: the seconds that they may wait.
        graph_def: the definition of a graph, instead of `graph`.
        filename_suffix: the end of the file's name.

    Raises:
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
        if session is not None:
            problem = "it writes at once, and not by operations: leave session out."
            raise op_error(NotImplementedError, "tf.summary.FileWriter", problem)
        tensorflow = _tensorflow()
        with tensorflow.Graph().as_default():  # TensorFlow makes a writer only in a graph
            options = {"max_queue": max_queue, "flush_secs": flush_secs, "filename_suffix": filename_suffix}
            self._writer = tensorflow.compat.v1.summary.FileWriter(str(logdir), **options)
        if graph is not None or graph_def is not None:
            self.add_graph(graph, graph_def=graph_def)

    def get_logdir(self) -> str:
        """The folder of the file."""
        return self._writer.get_logdir()

    def add_summary(self, summary: Any, global_step: Any = None) -> None:
        """Write a summary that a session computed, or a `tf.Summary`."""
        self._writer.add_summary(summary, _number(global_step))

    def add_event(self, event: Any) -> None:
        """Write a `tf.Event`."""
        self._writer.add_event(event)

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
        found = getattr(given, "graph", given)
        if not isinstance(found, Graph):
            problem = f"it writes a tf.Graph, or what its as_graph_def() gives, not {describe(given)}."
            raise op_error(TypeError, "tf.summary.FileWriter.add_graph", problem)
        event = _tensorflow().compat.v1.Event(
            wall_time=time.time(), step=_number(global_step), graph_def=graph_proto(found).SerializeToString()
        )
        self._writer.add_event(event)

    def flush(self) -> None:
        """Write the events that still wait."""
        self._writer.flush()

    def close(self) -> None:
        """End the file."""
        self._writer.close()

    def __enter__(self) -> FileWriter:
        return self

    def __exit__(self, *error: Any) -> None:
        self.close()


def _number(step: Any) -> int | None:
    """A step as an int, from a number, a tensor or a variable."""
    return None if step is None else int(np.asarray(getattr(step, "numpy", lambda: step)()))


value("summary.FileWriter train.SummaryWriter", FileWriter, "v1")

# -- without graphs ---------------------------------------------------------------------------------------------------


_writers: Setting[tuple[Any, ...]] = Setting(())  # summaries go to the last one
_step: Setting[Any] = Setting(None)  # of summaries without a step


class SummaryWriter(FileWriter):
    """A writer of the summaries that are made in its `as_default` blocks.

    Source: `tf.summary.create_file_writer`.
    """

    @contextmanager
    def as_default(self, step: Any = None) -> Iterator[SummaryWriter]:
        """Write the summaries of the `with` block here."""
        try:
            with _writers.scope((*_writers.get(), self)), _step.scope(_step.get() if step is None else step):
                yield self
        finally:
            self.flush()

    def set_as_default(self, step: Any = None) -> None:
        """Write summaries here from now on."""
        _writers.set((*_writers.get(), self))
        if step is not None:
            _step.set(step)


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


def _write(name: str, data: Any, step: Any, description: str | None, write: Callable[..., Any]) -> bool:
    writers = _writers.get()
    if not writers:
        return False
    step = _step.get() if step is None else step
    if step is None:
        raise op_error(ValueError, "tf.summary", "it needs a step: step=, or tf.summary.experimental.set_step.")
    values = write(name, np.asarray(ops.convert(data).numpy()))
    if description is not None:
        metadata = _tensorflow().compat.v1.SummaryMetadata(summary_description=description)
        values = [{**one, "metadata": metadata} for one in values]
    writers[-1].add_summary(_proto(values), step)
    return True


@function("summary.scalar", "v2")
def scalar(name: str, data: Any, step: Any = None, description: Any = None) -> bool:
    """Write a number, and return whether there is a writer.

    Source: `tf.summary.scalar`.
    """
    return _write(name, data, step, description, _scalar)


@function("summary.histogram", "v2")
def histogram(name: str, data: Any, step: Any = None, buckets: Any = None, description: Any = None) -> bool:
    """Write the distribution of numbers, and return whether there is a writer.

    Source: `tf.summary.histogram`.
    """
    return _write(name, data, step, description, lambda tag, array: _histogram(tag, array, buckets))


@function("summary.image", "v2")
def image(name: str, data: Any, step: Any = None, max_outputs: int = 3, description: Any = None) -> bool:
    """Write images of numbers from 0 to 1, or of bytes, and return whether there is a writer.

    Source: `tf.summary.image`.
    """

    def write(tag: str, array: np.ndarray) -> list[dict[str, Any]]:
        pixels = array if array.dtype == np.uint8 else np.clip(array * 255.0, 0, 255).astype("uint8")
        return _image(tag, pixels, max_outputs)

    return _write(name, data, step, description, write)


@function("summary.graph", "v2")
def write_graph(graph_data: Any) -> bool:
    """Write a graph, or its definition, and return whether there is a writer.

    Source: `tf.summary.graph`.
    """
    writers = _writers.get()
    if writers:
        writers[-1].add_graph(graph_data)
    return bool(writers)


@function("summary.experimental.set_step", "v2")
def set_step(step: Any) -> None:
    """Set the step of summaries without a step.

    Source: `tf.summary.experimental.set_step`.
    """
    _step.set(step)
