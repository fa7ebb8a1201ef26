"""Functions of TensorFlow 1 as objects to call: their operations are recorded once, in a graph of their own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dovetail.compat.tensorflow.table import function
from dovetail.core.values.spec import TensorSpec
from dovetail.core.values.structure import flatten, unflatten
from dovetail.functions.function import function as compiled
from dovetail.graph.operation import GraphTensor
from dovetail.sessions.cut import cut
from dovetail.sessions.session import Session
from dovetail.sessions.session_graph import SessionGraph


class WrappedFunction:
    """A graph as a function of some of its tensors; `wrap_function` makes it.

    Args:
        session: has the values of the graph's variables.
        feeds: tensors of the graph, the arguments of a call.
        fetches: a structure of tensors of the graph, the results.

    Attributes:
        graph: the graph.
        inputs, outputs: the tensors.
        structured_outputs: as given.
        variables: of the graph.

    Source: `tensorflow.python.eager.wrap_function.WrappedFunction`.
    """

    def __init__(self, session: Session, feeds: list[GraphTensor], fetches: Any) -> None:
        self._session, self.graph, self.inputs, self.structured_outputs = session, session.graph, feeds, fetches
        self.outputs, self._structure = flatten(fetches)
        self.variables = [*self.graph.get_collection("variables")]  # type: ignore[attr-defined]
        self._function: Callable[..., Any] | None = None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The results for these arguments; keywords are the names of placeholders."""
        by_name = {tensor.op.name: number for number, tensor in enumerate(self.inputs)}
        values = [*flatten(list(args))[0], *(kwargs[name] for name in sorted(kwargs, key=by_name.__getitem__))]
        if len(values) != len(self.inputs):
            raise TypeError(f"it takes {len(self.inputs)} tensors, {', '.join(by_name)}, and not {len(values)}.")
        if not self.outputs:
            return self.structured_outputs
        if self._function is None:
            part = cut(self.graph, self.inputs, self.outputs, holder=self._session.values.holder)
            self._function = compiled(part)
        result = self._function(*values)
        return unflatten(self._structure, list(result) if isinstance(result, (list, tuple)) else [result])

    def prune(self, feeds: Any, fetches: Any, name: str | None = None, input_signature: Any = None) -> WrappedFunction:
        """The part of the graph that computes some tensors from others.

        Args:
            feeds, fetches: structures of tensors of the graph, or of their names.

        Source: `tensorflow.python.eager.wrap_function.WrappedFunction.prune`.
        """
        given = [self.graph.as_graph_element(x) for x in flatten(feeds)[0]]  # type: ignore[attr-defined]
        wanted, structure = flatten(fetches)
        elements = [self.graph.as_graph_element(x) for x in wanted]  # type: ignore[attr-defined]
        return WrappedFunction(self._session, given, unflatten(structure, elements))


@function("wrap_function", "v1")
def wrap_function(fn: Callable[..., Any], signature: Any, name: str | None = None) -> WrappedFunction:
    """Call a function of TensorFlow 1 once, in a graph of its own; its variables get their first values.

    Args:
        signature: a spec for each argument, as a `tf.TensorSpec`.
        name: the name of the graph.

    Source: `tf.compat.v1.wrap_function`.

    Example:
        >>> from dovetail.compat import tensorflow as tf
        >>> twice = tf.compat.v1.wrap_function(lambda x: x * 2.0, [tf.TensorSpec([2])])
        >>> twice(tf.constant([1.0, 2.0])).numpy()
        array([2., 4.], dtype=float32)
    """
    graph = SessionGraph(name or "wrapped_function")
    specs, structure = flatten(list(signature))
    with graph.as_default():
        feeds = [graph.placeholder(TensorSpec(one.shape, one.dtype), getattr(one, "name", None)) for one in specs]
        fetches = fn(*unflatten(structure, feeds))
    session = Session(graph)
    session.run([variable.initializer for variable in graph.get_collection("variables")])
    return WrappedFunction(session, feeds, fetches)
