"""Nodes of strings in graphs that programs import: calls of Python, with numbers in place of the strings."""

from __future__ import annotations

from functools import partial
from typing import Any

from dovetail import ops
from dovetail.compat.tensorflow.names.strings.tensors import NUMBER, StringTensor, called, in_graph
from dovetail.compat.tensorflow.names.strings.text import STRING
from dovetail.core.values.places import engine
from dovetail.formats.tensorflow.host.evaluation import Evaluator
from dovetail.formats.tensorflow.op_defs import definition
from dovetail.formats.tensorflow.read_nodes import Body, Node
from dovetail.formats.tensorflow.reading import Reader
from dovetail.formats.tensorflow.results import numbers_of
from dovetail.formats.tensorflow.values import Host, Spec
from dovetail.formats.wire.tensors import STRING as STRINGS
from dovetail.graph.naming import unique_name


class StringReader(Reader):
    """A reader of graphs for sessions, which compute the nodes of strings, too.

    A node waits for the host, as in other readers, if it takes or gives what is neither a number nor a string.

    Args:
        store: the tables and files of the model.
    """

    moves_integers = False

    def __init__(self, *args: Any, store: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._evaluator = Evaluator(self.file, self.functions, store)
        self._tensors: dict[Host, Any] = {}  # a result of a host node → its tensor

    def given(self, proto: Any, spec: Spec) -> Any:
        if proto.attr["dtype"].type != STRINGS:
            return super().given(proto, spec)
        numbers = super().given(proto, spec._replace(dtype=NUMBER))
        value = Host(self.origins[numbers][0], 0, spec)
        self._tensors[value] = StringTensor(numbers)
        return value

    def fed(self, value: Host) -> Any:
        return self._tensors[value] if value in self._tensors else super().fed(value)

    def noted(self, node: Node, results: list[Any]) -> list[Any]:
        if node.type == "Identity" and results[0] in self._tensors:
            same = ops.identity(self._tensors[results[0]], name=f"{unique_name(self.graph, node.title)}/")
            results = [Host(node, 0, results[0].spec)]
            self._tensors[results[0]] = same
        return super().noted(node, results)

    def _hosted(self, node: Node) -> list[Any]:
        results = super()._hosted(node)
        inputs = [self._tensors.get(value, value) if isinstance(value, Host) else value for value in node.inputs]
        known = definition(node.type)
        types = (numbers_of(node.proto, known.results) if known else None) or ()
        dtypes = [STRING if type == STRINGS else value.spec.dtype for type, value in zip(types, results, strict=False)]
        if not results or None in dtypes or any(isinstance(value, Host) for value in inputs):
            return results
        name = f"{unique_name(self.graph, node.title)}/"
        if not inputs:
            made = [in_graph(value, name) for value in self._computed_now(node.proto)]
        else:
            function = partial(self._computed_now, node.proto)
            made = called(function, inputs, dtypes, [r.spec.shape for r in results], name, "PyFuncStateless")
        self._tensors |= zip(results, made, strict=True)
        return results

    def _computed_now(self, proto: Any, *arrays: Any) -> list[Any]:
        node = Node(self._evaluator, Body("a node", [proto], {}), proto, list(arrays))
        with engine("numpy"):
            return self._evaluator.results(node)
