"""Summaries of tensors and of collections, of `tf.contrib.layers` and `slim.summaries`.

Source: `tf.contrib.layers` and `tf.contrib.slim.summaries`, the function of the same name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from dovetail import ops
from dovetail.compat.tensorflow import graph_mode
from dovetail.compat.tensorflow.entries import value
from dovetail.compat.tensorflow.names.contrib.places import LAYERS, under
from dovetail.compat.tensorflow.names.graph.graph import GraphKeys
from dovetail.compat.tensorflow.names.nn.losses import zero_fraction
from dovetail.compat.tensorflow.names.summary.summary import histogram_v1, image_v1, scalar_v1
from dovetail.core.dtypes import as_dtype
from dovetail.core.values.value_kinds import static_shape

# Activation → the end of a tag and the fraction of inputs that it names.
_CUTS: dict[str, dict[str, Callable[[Any], Any]]] = {
    "Relu": {"zeros": lambda x: ops.less(x, 0.0)},
    "Softplus": {"zeros": lambda x: ops.less(x, 0.0)},
    "Relu6": {"zeros": lambda x: ops.less(x, 0.0), "sixes": lambda x: ops.greater(x, 6.0)},
}


def summarize_tensor(tensor: Any, tag: str | None = None) -> Any:
    """A summary of a number or of a distribution; None for booleans."""
    if as_dtype(tensor.dtype) == "bool":
        return None
    kind = scalar_v1 if static_shape(tensor) == () else histogram_v1
    return kind(tag or f"{tensor.op.name}_summary", tensor)


def summarize_activation(op: Any) -> Any:
    """A summary of the distribution of an activation, beside the fractions of inputs that it cuts off."""
    for word, is_cut in _CUTS.get(op.op.type, {}).items():
        scalar_v1(f"{op.op.name}/{word}", ops.mean(ops.cast(is_cut(op.op.inputs[0]), "float32")))
    return histogram_v1(f"{op.op.name}/activation", op)


def summarize_tensors(tensors: Iterable[Any], summarizer: Callable[[Any], Any] = summarize_tensor) -> list[Any]:
    """Summaries of several tensors."""
    return [summarizer(tensor) for tensor in tensors]


def summarize_collection(
    collection: Any, name_filter: str | None = None, summarizer: Callable[[Any], Any] = summarize_tensor
) -> list[Any]:
    """Summaries of the tensors in a collection whose names match the beginning of a regular expression."""
    collected = graph_mode.open_graph().get_collection(collection)
    return summarize_tensors(
        [x for x in collected if name_filter is None or re.match(name_filter, x.op.name)], summarizer
    )


for _function in (summarize_tensor, summarize_activation, summarize_tensors, summarize_collection):
    value(under(LAYERS, _function.__name__), _function, "v1")
for _word, _key in {"variables": "variables", "weights": GraphKeys.WEIGHTS, "biases": GraphKeys.BIASES}.items():
    value(under(LAYERS, f"summarize_{_word}"), partial(summarize_collection, _key), "v1")
_activations = partial(summarize_collection, GraphKeys.ACTIVATIONS, summarizer=summarize_activation)
value(under(LAYERS, "summarize_activations"), _activations, "v1")


# Kind of `slim.summaries` → the summary, a function of the tensor before, and the end of the tag.
_KINDS: dict[str, tuple[Callable[..., Any], Callable[[Any], Any] | None, str]] = {
    "histogram": (histogram_v1, None, ""),
    "image": (image_v1, None, ""),
    "scalar": (scalar_v1, None, ""),
    "zero_fraction": (scalar_v1, zero_fraction, "/Fraction_of_Zero_Values"),
}


def _adding(title: str, write: Callable[..., Any], change: Callable[[Any], Any] | None, end: str) -> None:
    """Add two functions: a summary of a tensor, and a summary of each of several."""

    def add(tensor: Any, name: str | None = None, prefix: str | None = None) -> Any:
        tag = f"{f'{prefix}/' if prefix else ''}{name or tensor.op.name}{end}"
        return write(tag, tensor if change is None else change(tensor))

    def add_all(tensors: Iterable[Any], prefix: str | None = None) -> list[Any]:
        return [add(tensor, prefix=prefix) for tensor in tensors]

    add.__doc__, add_all.__doc__ = f"A summary `{title}` of a tensor.", f"A summary `{title}` of each tensor."
    value(f"contrib.slim.summaries.add_{title}_summary", add, "v1")
    value(f"contrib.slim.summaries.add_{title}_summaries", add_all, "v1")


for _title, _kind in _KINDS.items():
    _adding(_title, *_kind)
