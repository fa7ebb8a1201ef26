"""A graph with the host nodes around it: those that give it values run before it, those that take its values after it.

    strings → split → look up → | embedding → dense → argmax | → look up → labels
               the host, before |          the graph          | the host, after

Numbers that come from variables do not go through strings back to numbers: such a run is refused by name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np

from dovetail import ops
from dovetail.core.base.errors import op_error
from dovetail.core.values.places import engine
from dovetail.formats.host.arrays import strings_of
from dovetail.formats.nodes.constants import is_tensor
from dovetail.formats.tensorflow.frames import EXITS, MERGES
from dovetail.formats.tensorflow.host.evaluation import Evaluator, plain
from dovetail.formats.tensorflow.host.store import Store
from dovetail.formats.tensorflow.names import split
from dovetail.formats.tensorflow.read_nodes import Body, Node
from dovetail.formats.tensorflow.reading import Reader
from dovetail.formats.tensorflow.tensor_lists import TensorList
from dovetail.formats.tensorflow.values import Handle, Host

ADVICE = "Keep results before or after it, as signature.keep(...) does, or cut the graph there."


class Program:
    """The host nodes before and after a graph.

    Args:
        reader: it read the graph.
        store: the tables of the model.
        graph: the graph.
        inputs, outputs: values of the reader.

    Attributes:
        inputs: tensors of the graph, and values of the host.
        outputs: numbers of results of the graph, and values of the host.
    """

    def __init__(self, reader: Reader, store: Store, graph: Any, inputs: Sequence[Any], outputs: Sequence[Any]) -> None:
        self._reader, self._store, self._graph, self.inputs = reader, store, graph, list(inputs)
        self._given = {value for value in inputs if is_tensor(value)}
        self.outputs: list[int | Host] = []
        self._late: dict[Any, int] = {}  # tensors that nodes behind the graph take → numbers of results
        self._set_outputs(outputs)
        self._prune()

    @property
    def has_host_nodes(self) -> bool:
        """Whether the host computes something, or takes or gives strings."""
        return bool(self._reader.feeds) or any(isinstance(one, Host) for one in (*self.inputs, *self.outputs))

    @property
    def feeds(self) -> dict[Any, Host]:
        """Placeholder of the graph → the result of a host node that it stands for."""
        return {tensor: value for value, tensor in self._reader.feeds.items()}

    # which nodes run

    @property
    def values(self) -> list[Any]:
        """The results: tensors of the graph, and values of the host."""
        return [self._graph.outputs[value] if isinstance(value, int) else value for value in self.outputs]

    def keep(self, values: Iterable[Any]) -> None:
        """Leave out other results.

        Args:
            values: elements of `outputs`, and tensors of the graph.
        """
        results = list(self._graph.outputs)
        self._set_outputs([results[value] if isinstance(value, int) else value for value in values])
        self._prune()

    def _set_outputs(self, values: Sequence[Any]) -> None:
        """Make the graph return the values, and the numbers that host nodes behind it take."""
        results = [value for value in values if is_tensor(value)]
        numbers = iter(range(len(results)))
        self.outputs = [next(numbers) if is_tensor(value) else value for value in values]
        taken: dict[Any, None] = {}
        for value in (*values, *self._reader.effects):
            if isinstance(value, Host):
                with suppress(NotImplementedError):  # a run that needs the value raises it
                    self._needed(value, taken)
        self._late = {tensor: len(results) + number for number, tensor in enumerate(taken)}
        self._graph.outputs = [*results, *taken]

    def _prune(self) -> None:
        """Remove the operations that only host nodes took, or that nothing takes any more."""
        if self._reader.feeds:
            self._graph.prune()
            self._drop_unused()

    def _drop_unused(self) -> None:
        """Remove the placeholders of host nodes that nothing takes."""
        returned = {*self._graph.outputs}
        for value, tensor in list(self._reader.feeds.items()):
            if not any(True for _ in tensor.consumers()) and tensor not in returned:
                self._graph.remove(tensor.op)
                del self._reader.feeds[value]

    def _needed(self, value: Host, taken: dict[Any, None] | None = None) -> list[Node]:
        """The nodes that the value of a host node needs, in order.

        Args:
            value: the value.
            taken: if it is given, tensors of the graph are added to it; else the nodes that they need run on the host.

        Raises:
            NotImplementedError: the value comes from a variable, or from a loop of the graph.
        """
        nodes: set[Node] = set()
        stack: list[Any] = [value]
        while stack:
            one = stack.pop()
            if (node := self._list_origin(one, taken is not None)) is not None:
                nodes.add(node)
                stack += [*node.inputs, *node.waits]
            elif isinstance(one, TensorList):
                stack += [one.data, one.size]
            elif isinstance(one, Handle):
                raise _mixed(value, f"the variable {one.variable.name!r}")
            elif isinstance(one, Host) or (is_tensor(one) and one not in self._given):
                node = one.node if isinstance(one, Host) else self._origin(one, taken is not None)
                if node is not None and node not in nodes:
                    nodes.add(node)
                    stack += [*node.inputs, *node.waits]
                elif node is None and taken is not None and one.op.graph is self._graph:
                    taken[one] = None
                elif node is None:
                    raise _mixed(value, f"{one.name!r}, which a branch or a loop of the graph computes")
        return sorted(nodes, key=self._reader.order.__getitem__)

    def _origin(self, tensor: Any, is_after: bool) -> Node | None:
        """The node of a tensor, if the host computes it, too."""
        node, _ = self._reader.origins.get(tensor, (None, 0))
        return node if tensor.op.type == "Const" or not is_after else None

    def _list_origin(self, value: Any, is_after: bool) -> Node | None:
        """The node of a list or of variants, if the host computes it, too."""
        _, node, _ = self._reader.lists.get(id(value), (None, None, 0))
        return None if is_after and type(value) is TensorList else node

    # running

    def run(self, function: Callable[..., Any], given: Sequence[Any]) -> list[Any]:
        """The results.

        Args:
            function: it runs the graph.
            given: the values of the inputs.

        Raises:
            NotImplementedError: host nodes are fed by the numbers that they feed, or Dovetail has no rule for one.
        """
        self._drop_unused()
        run = _Run(self._reader, self._store, zip(self.inputs, given, strict=True))
        numbers = [value for known, value in zip(self.inputs, given, strict=True) if is_tensor(known)]
        for value in self._reader.feeds:
            run.compute(self._needed(value))
            numbers.append(np.asarray(run.value(value), value.spec.dtype.numpy))
        returned = function(*numbers)
        results = returned if isinstance(returned, (list, tuple)) else [returned]
        if not self._reader.effects and not any(isinstance(value, Host) for value in self.outputs):
            return list(results)
        run.tensors |= {tensor: results[number] for tensor, number in self._late.items()}
        for effect in self._reader.effects:
            run.compute(self._needed(effect, {}))
        return [
            results[value] if isinstance(value, int) else run.result(value, self._needed(value, {}))
            for value in self.outputs
        ]


def _mixed(value: Host, what: str) -> Exception:
    """The error for a host node before the graph that needs numbers of the graph."""
    problem = f"the host computes it before the graph, and it needs {what}. {ADVICE}"
    return op_error(NotImplementedError, f"{value.node.type} {value.node.name!r}", problem)


class _Run:
    """The values of host nodes in one call."""

    def __init__(self, reader: Reader, store: Store, given: Iterable[tuple[Any, Any]]) -> None:
        self._reader = reader
        self._evaluator = Evaluator(reader.file, reader.functions, store)
        self._known: dict[Node, list[Any]] = {}
        self._bodies: dict[int, Body] = {}
        self.tensors: dict[Any, Any] = {}  # tensor of the graph → its value
        for place, value in given:
            if isinstance(place, Host):
                self._known[place.node] = [strings_of(value)]
            else:
                self.tensors[place] = value

    def compute(self, nodes: Iterable[Node]) -> None:
        """Compute the nodes that are not known yet."""
        with engine("numpy"):
            for node in nodes:
                if node not in self._known:
                    inputs = list(map(self.value, node.inputs))
                    body = self._body(node, inputs)
                    evaluated = Node(self._evaluator, body, node.proto, inputs)
                    with self._evaluator.counted(evaluated):
                        self._known[node] = self._evaluator.results(evaluated)

    def _body(self, node: Node, inputs: list[Any]) -> Body:
        """The nodes around a node; for the end of a loop or a branch, with the values that go in."""
        if node.type not in MERGES and node.type not in EXITS:
            return node.body
        body = self._bodies.setdefault(id(node.body), node.body.inside({}))
        names = [text for text in node.body.needs(node.proto) if not text.startswith("^")]
        for text, value in zip(names, inputs, strict=True):
            name, _, number = split(text)
            values = body.values.setdefault(name, [])
            values += [None] * (number + 1 - len(values))
            values[number] = value
        return body

    def value(self, value: Any) -> Any:
        """A value of the reader as an array, a table or a list."""
        _, node, number = self._reader.lists.get(id(value), (None, None, 0))
        if node in self._known:
            return self._known[node][number]
        if isinstance(value, TensorList):
            return replace(value, data=self.value(value.data), size=self.value(value.size))
        if isinstance(value, Host):
            return self._known[value.node][value.number]
        if not is_tensor(value):
            return value
        if value in self.tensors:
            return _array(self.tensors[value])
        node, number = self._reader.origins[value]
        return _array(self._known[node][number])

    def result(self, value: Host, nodes: Iterable[Node]) -> Any:
        """The value of a host node for the caller, a tensor or an array of strings, and the nodes that it needs."""
        self.compute(nodes)
        result = self.value(value)
        return ops.convert(result) if value.is_number else np.asarray(result, object)


def _array(value: Any) -> Any:
    """Numbers as an array; tables and lists as they are."""
    return plain(ops.convert(value)) if not isinstance(value, np.ndarray) else value
