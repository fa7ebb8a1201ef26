"""TensorFlow's names for summaries: numbers, histograms, images, sounds and texts for TensorBoard."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np

from dovetail import ops
from dovetail.compat.tensorflow import graph_mode
from dovetail.compat.tensorflow.entries import value
from dovetail.compat.tensorflow.names.graph.graph import GraphKeys
from dovetail.compat.tensorflow.names.strings.tensors import NUMBERS, numbers_of
from dovetail.compat.tensorflow.names.strings.text import STRING, HostOperation
from dovetail.compat.tensorflow.names.summary.event_files import default_step, writers
from dovetail.compat.tensorflow.table import constant_value, function
from dovetail.core.base.errors import describe, op_error
from dovetail.core.base.scopes import Setting
from dovetail.core.base.tensor_shape import TensorShape
from dovetail.core.op import Op
from dovetail.core.values.structure import leaf
from dovetail.core.values.value_kinds import ValueKind, is_recorded, kind_of, register
from dovetail.formats.wire import summaries
from dovetail.graph.naming import new_scope

# -- in graphs --------------------------------------------------------------------------------------------------------


@leaf
class SummaryNode:
    """The source of a session's summary: tensors of a graph, and the function that writes each.

    Attributes:
        op: its operation.
        name: as a tensor's, "layer/loss:0".

    Source: the tensors of strings that `tf.compat.v1.summary.scalar` gives.
    """

    shape, dtype = TensorShape(()), STRING

    def __init__(self, parts: Sequence[tuple[Any, Callable[[np.ndarray], list[Any]]]], kind: str, name: str) -> None:
        self.parts, self.name = list(parts), f"{name}:0"
        self.graph = self.parts[0][0].graph
        self.op = HostOperation(kind, name, tuple(self.tensors), self.graph)

    @property
    def tensors(self) -> list[Any]:
        """The tensors that a session computes for it."""
        return [tensor for tensor, _ in self.parts]

    def written(self, arrays: Sequence[Any]) -> bytes:
        """The summary of computed arrays, as a writer takes it."""
        values = [one for (_, write), array in zip(self.parts, arrays, strict=True) for one in write(np.asarray(array))]
        return summaries.summary(values).SerializeToString()

    def eval(self, feed_dict: Any = None, session: Any = None) -> bytes:
        """The summary, computed by a session."""
        values = [tensor.eval(feed_dict, session) for tensor in self.tensors]
        return self.written(values)

    def get_shape(self) -> TensorShape:
        """The shape of a single string, ()."""
        return self.shape


class _Summary(ValueKind):
    rank = 9

    def apply(self, op: Op, values: list[Any], name: str | None) -> Any:
        if op.name != "Identity":
            raise op_error(TypeError, op.name, "it does not take summaries, which a session or a writer takes.")
        (node,) = values
        parts = [(op(tensor), write) for tensor, write in node.parts]
        return SummaryNode(parts, op.name, new_scope(node.graph, name or op.name).rstrip("/"))


register(SummaryNode, _Summary())


def _node(kind: str, name: str, tensor: Any, write: Callable[..., Any], collections: Any, family: Any) -> SummaryNode:
    if not isinstance(name, str):
        raise op_error(TypeError, "tf.summary", f"the name, or tag, is a text, not {describe(name)}.")
    graph = graph_mode.open_graph()
    with graph_mode.inside(graph):
        tensor = kind_of(tensor).in_graph(tensor, graph)
        tensor = tensor if is_recorded(tensor) else ops.convert(tensor)
        tensor = tensor if is_recorded(tensor) else graph.constant(tensor.numpy())
        tensor = ops.identity(tensor) if not hasattr(tensor, "op") or hasattr(tensor, "assign") else tensor
    clean = [re.sub(r"[^-/\w.]", "_", word).lstrip("/") for word in (family, name) if word is not None]
    whole = new_scope(graph, "/".join(clean)).rstrip("/")
    tag = whole if family is None else f"{clean[0]}/{whole}"
    node = SummaryNode([(tensor, lambda array: write(tag, array))], kind, whole)
    for key in [GraphKeys.SUMMARIES] if collections is None else collections:
        graph.add_to_collection(key, node)
    return node


@function("summary.scalar", "v1")
def scalar_v1(name: str, tensor: Any, collections: Any = None, family: Any = None) -> SummaryNode:
    """A summary of a number.

    Source: `tf.compat.v1.summary.scalar`.
    """
    return _node("ScalarSummary", name, tensor, summaries.scalar_value, collections, family)


@function("summary.histogram", "v1")
def histogram_v1(name: str, values: Any, collections: Any = None, family: Any = None) -> SummaryNode:
    """A summary of the distribution of numbers.

    Source: `tf.compat.v1.summary.histogram`.
    """
    return _node("HistogramSummary", name, values, summaries.histogram_value, collections, family)


@function("summary.image", "v1")
def image_v1(name: str, tensor: Any, max_outputs: int = 3, collections: Any = None, family: Any = None) -> SummaryNode:
    """A summary of images.

    Source: `tf.compat.v1.summary.image`.
    """
    return _node("ImageSummary", name, tensor, partial(summaries.image_values, most=max_outputs), collections, family)


@function("summary.audio", "v1")
def audio_v1(
    name: str, tensor: Any, sample_rate: Any, max_outputs: int = 3, collections: Any = None, family: Any = None
) -> SummaryNode:
    """A summary of sounds.

    Source: `tf.compat.v1.summary.audio`.
    """
    write = partial(summaries.audio_values, rate=_rate(sample_rate), most=max_outputs)
    return _node("AudioSummaryV2", name, tensor, write, collections, family)


def _rate(given: Any) -> float:
    """Frames a second as a number."""
    rate = constant_value(given)
    if rate is None or np.ndim(rate):
        problem = "sample_rate, frames a second, must be one number that is known while the graph is built"
        raise op_error(TypeError, "tf.summary.audio", f"{problem}, not {describe(given)}; give a Python number.")
    return float(rate)


@function("summary.text", "v1")
def text_v1(name: str, tensor: Any, collections: Any = None) -> SummaryNode:
    """A summary of a text, or of an array of texts.

    Source: `tf.compat.v1.summary.text`.
    """

    def written(tag: str, array: np.ndarray) -> list[Any]:
        return summaries.tensor_value(tag, NUMBERS.values(array), summaries.metadata("text", summaries.TENSOR))

    return _node("TensorSummaryV2", name, numbers_of(tensor), written, collections, None)


@function("summary.merge", "v1")
def merge(inputs: Sequence[SummaryNode], collections: Any = None, name: str | None = None) -> SummaryNode:
    """Several summaries in one.

    Source: `tf.compat.v1.summary.merge`.
    """
    graph = graph_mode.open_graph()
    last = "MergeSummary" if name is None else name.rpartition("/")[2]
    whole = f"{new_scope(graph, name or 'Merge')}{last}"
    node = SummaryNode([part for one in inputs for part in one.parts], "MergeSummary", whole)
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
    collected = graph_mode.open_graph().get_collection(key, scope)
    return merge(collected, name=name) if collected else None


# -- without graphs ---------------------------------------------------------------------------------------------------


_records: Setting[Any] = Setting(True)  # whether summaries are written, or a function that says so


@contextmanager
def _record_if(condition: Any) -> Iterator[None]:
    """Write the summaries of the `with` block only if a condition holds.

    Args:
        condition: a bool, or a function that is asked for each summary.

    Source: `tf.summary.record_if`.
    """
    with _records.scope(condition):
        yield


value("summary.record_if", _record_if, "v2")


@function("summary.should_record_summaries", "v2")
def should_record_summaries() -> bool:
    """Whether summaries are written here.

    Source: `tf.summary.should_record_summaries`.
    """
    condition = _records.get()
    return bool(writers.get()) and bool(condition() if callable(condition) else condition)


def _write(name: str, data: Any, step: Any, values: Callable[[str, np.ndarray], list[Any]]) -> bool:
    if not should_record_summaries():
        return False
    step = default_step.get() if step is None else step
    if step is None:
        raise op_error(ValueError, "tf.summary", "it needs a step: step=, or tf.summary.experimental.set_step.")
    writers.get()[-1].add_summary(summaries.summary(values(name, _array(data))), step)
    return True


def _array(data: Any) -> np.ndarray:
    """Numbers as an array of them, texts as one of texts."""
    data = data() if callable(data) else data
    if isinstance(data, (str, bytes)) or getattr(data, "dtype", None) == np.dtype(object):
        return np.asarray(data)
    if isinstance(data, (list, tuple)) and np.asarray(data).dtype.kind in "SUO":
        return np.asarray(data)
    return np.asarray(ops.convert(data).numpy())


@function("summary.scalar", "v2")
def scalar(name: str, data: Any, step: Any = None, description: Any = None) -> bool:
    """Write a number, and return whether it is written.

    Source: `tf.summary.scalar`.
    """
    return _write(name, data, step, partial(summaries.scalar_tensor, description=description))


@function("summary.histogram", "v2")
def histogram(name: str, data: Any, step: Any = None, buckets: Any = None, description: Any = None) -> bool:
    """Write the distribution of numbers, and return whether it is written.

    Source: `tf.summary.histogram`.
    """
    return _write(name, data, step, partial(summaries.histogram_tensor, count=buckets, description=description))


@function("summary.image", "v2")
def image(name: str, data: Any, step: Any = None, max_outputs: int = 3, description: Any = None) -> bool:
    """Write images of numbers from 0 to 1, or of integers, and return whether they are written.

    Source: `tf.summary.image`.
    """
    return _write(name, data, step, partial(summaries.image_tensor, most=max_outputs, description=description))


@function("summary.audio", "v2")
def audio(
    name: str,
    data: Any,
    sample_rate: Any,
    step: Any = None,
    max_outputs: int = 3,
    encoding: Any = None,
    description: Any = None,
) -> bool:
    """Write sounds of numbers from -1 to 1 as WAV, and return whether they are written.

    Source: `tf.summary.audio`.
    """
    if encoding not in (None, "wav"):
        raise op_error(ValueError, "tf.summary.audio", f"the encoding is 'wav', not {encoding!r}.")
    known = {"rate": _rate(sample_rate), "most": max_outputs, "description": description}
    return _write(name, data, step, partial(summaries.audio_tensor, **known))


@function("summary.text", "v2")
def text(name: str, data: Any, step: Any = None, description: Any = None) -> bool:
    """Write a text, or an array of texts, and return whether it is written.

    Source: `tf.summary.text`.
    """
    known = partial(summaries.metadata, "text", summaries.TENSOR, description)
    return _write(name, data, step, lambda tag, array: summaries.tensor_value(tag, array, known()))


@function("summary.write", "v2")
def write(tag: str, tensor: Any, step: Any = None, metadata: Any = None, name: str | None = None) -> bool:
    """Write a tensor, or what a function gives, and return whether it is written.

    Args:
        tag, step: as of other summaries.
        tensor: numbers or texts.
        metadata: a `tf.SummaryMetadata`, or its bytes.

    Source: `tf.summary.write`.
    """
    return _write(tag, tensor, step, partial(summaries.tensor_value, known=metadata))


@function("summary.flush", "v2")
def flush(writer: Any = None, name: str | None = None) -> None:
    """Write the events of a writer that still wait; by default of the writer of this block.

    Source: `tf.summary.flush`.
    """
    for one in [writer] if writer is not None else writers.get()[-1:]:
        one.flush()


@function("summary.graph", "v2")
def write_graph(graph_data: Any) -> bool:
    """Write a graph, or its definition, and return whether there is a writer.

    Source: `tf.summary.graph`.
    """
    open_writers = writers.get()
    if open_writers:
        open_writers[-1].add_graph(graph_data)
    return bool(open_writers)


@function("summary.experimental.set_step", "v2")
def set_step(step: Any) -> None:
    """Set the step of summaries without a step.

    Source: `tf.summary.experimental.set_step`.
    """
    default_step.set(step)


@function("summary.experimental.get_step", "v2")
def get_step() -> Any:
    """The step of summaries without a step; None if there is none.

    Source: `tf.summary.experimental.get_step`.
    """
    return default_step.get()


@contextmanager
def _summary_scope(name: str, default_name: str = "summary", values: Any = None) -> Iterator[tuple[str, str]]:
    """The tag of a summary with a name, and the name scope for its operations.

    Source: `tf.summary.experimental.summary_scope`.
    """
    tag = name or default_name
    with graph_mode.name_scope(re.sub(r"[^-/\w.]", "", tag) or default_name) as scope:
        yield tag, scope


value("summary.experimental.summary_scope", _summary_scope, "v2")
