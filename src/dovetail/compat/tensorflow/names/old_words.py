"""Words of TensorFlow 0.x: names that 1.0 replaced, and arguments that it put into another order."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from dovetail import ops
from dovetail.compat.tensorflow.names.training import samplers as samplers  # whose words are replaced below
from dovetail.compat.tensorflow.table import V1, Lazy, value
from dovetail.core.engine import native_to_dtype
from dovetail.core.value_kinds import dtype_of

NAMES = {  # the old name → the name since 1.0
    "complex_abs": "abs",
    "histogram_summary": "summary.histogram",
    "image_summary": "summary.image",
    "inv": "reciprocal",
    "merge_all_summaries": "summary.merge_all",
    "merge_summary": "summary.merge",
    "mul": "multiply",
    "neg": "negative",
    "pack": "stack",
    "scalar_summary": "summary.scalar",
    "select": "where",
    "sub": "subtract",
    "unpack": "unstack",
}
ORDERS = {  # the old order of arguments, by their names since 1.0
    "concat": ("axis", "values"),
    "split": ("axis", "num_or_size_splits", "value"),
}
ARGUMENTS = {"concat_dim": "axis", "split_dim": "axis", "num_split": "num_or_size_splits"}  # old name → new name
LOGITS_FIRST = (  # TensorFlow 1 takes these arguments by name alone, so those in order are 0.x's
    "nn.sigmoid_cross_entropy_with_logits",
    "nn.softmax_cross_entropy_with_logits",
    "nn.sparse_softmax_cross_entropy_with_logits",
)

for _old, _new in NAMES.items():
    value(_old, Lazy(functools.partial(V1.__getitem__, _new)), "v1")


def _also(order: tuple[str, ...], applies: Callable[[tuple[Any, ...]], bool], call: Callable[..., Any]) -> Any:
    """Wrap a function, which takes arguments in this order where the condition holds for them."""

    @functools.wraps(call)
    def taken(*args: Any, **kwargs: Any) -> Any:
        kwargs = {ARGUMENTS.get(key, key): given for key, given in kwargs.items()}
        if args and applies(args):
            return call(**dict(zip(order, args, strict=False)), **kwargs)
        return call(*args, **kwargs)

    return taken


def _axis_first(args: tuple[Any, ...]) -> bool:
    """Whether the first argument is an axis, and the last one has values."""
    return len(args) > 1 and type(args[0]) is int and type(args[-1]) is not int


def _inputs_third(args: tuple[Any, ...]) -> bool:
    """Whether the third argument has floats, and not labels."""
    return len(args) > 2 and native_to_dtype(dtype_of(ops.convert(args[2]))).is_floating


for _name in ("nn.nce_loss", "nn.sampled_softmax_loss"):
    V1[_name] = _also(("weights", "biases", "inputs", "labels", "num_sampled", "num_classes"), _inputs_third, V1[_name])
for _name, _order in ORDERS.items():
    V1[_name] = _also(_order, _axis_first, V1[_name])
for _name in LOGITS_FIRST:
    V1[_name] = _also(("logits", "labels"), bool, V1[_name])
