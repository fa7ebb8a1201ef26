"""Arguments that must be known when a function is called, such as an axis: TensorFlow takes them as constants, too."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from dovetail.core.values.structure import flatten
from dovetail.graph.operation import GraphTensor, Operation
from dovetail.graph.shape_values import known_value
from dovetail.trace.trace import capture, current_graph

# TensorFlow's word → the parameter of ops; `axis` for words that are not here
SETTLED = {"perm": "axes", "k": "k", "num": "num", "num_or_size_splits": "indices_or_sections", "batch_dims": "axis"}
SETTLED |= dict.fromkeys(["axis", "axes", "dim", "dimension", "reduction_indices", "concat_dim", "split_dim"], "axis")


def _maker(result: GraphTensor) -> Operation:
    """The operation that computes a result, before it is cast."""
    return _maker(result.op.inputs[0]) if result.op.type == "Cast" else result.op


def settling(title: str, function: Callable[..., Any], parameters: Sequence[str]) -> Callable[..., Any]:
    """Wrap a function: of tensors whose elements are known it takes these, and its operations note the tensors.

    Args:
        title: its name.
        function: the function.
        parameters: its parameters, in order.
    """
    places = [(number, word) for number, word in enumerate(parameters) if word in SETTLED]
    if not places:
        return function

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        taken: dict[str, GraphTensor] = {}
        for number, word in places:
            given: Any = args[number] if number < len(args) else kwargs.get(word)
            known = known_value(given) if type(given) is GraphTensor and given.dtype.is_integer else None
            if known is not None:
                taken[SETTLED[word]] = capture(current_graph() or given.op.graph, given)
                if number < len(args):
                    args = (*args[:number], known.tolist(), *args[number + 1 :])
                else:
                    kwargs[word] = known.tolist()
        if not taken:
            return function(*args, **kwargs)
        graph = next(iter(taken.values())).op.graph
        count = len(graph)
        result = function(*args, **kwargs)
        made = [one for one in list(graph)[count:] if one.type not in ("Const", "Cast")]
        noted = taken if len(made) == 1 else {f"{word} of {title}": tensor for word, tensor in taken.items()}
        for operation in {_maker(leaf) for leaf in flatten(result)[0] if type(leaf) is GraphTensor}:
            operation.taken = {**operation.taken, **noted}
        return result

    return call
