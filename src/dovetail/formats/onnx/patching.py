"""Patching: an edited model becomes a message in which all that nobody edited is as in the file.

    patch = Patch(model, keeping, opset)
    message, arrays = patch.patched(copy, inputs, outputs, state)

New nodes stand before the first kept node that takes a result of theirs.  They have names of the file where these are
free, so that the nodes behind them stay as they were.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from dovetail.formats.nodes.constants import is_tensor
from dovetail.formats.nodes.writing import unique
from dovetail.formats.onnx.declared import DEFAULT_DOMAINS, type_of
from dovetail.formats.onnx.encoding import value_info
from dovetail.formats.onnx.ends import Input, Result, input_info, result_info
from dovetail.formats.onnx.keeping import Keeping
from dovetail.formats.onnx.layouts import rename
from dovetail.formats.onnx.model import Model
from dovetail.formats.onnx.nodes import Weight, needs, parts_of, subgraphs
from dovetail.formats.onnx.tensors import CARRIERS
from dovetail.formats.onnx.writing import IR_VERSIONS, Writer
from dovetail.formats.onnx.written_nodes import Nodes, Ref
from dovetail.formats.wire.messages import ONNX

DESCRIBED = ("doc_string", "metadata_props")  # the descriptions of a node, which a new one in its place gets


class Patch(Writer):
    """A writer of one edited model.

    Args:
        model: as it was read.
        keeping: its nodes that are kept.
        opset: of the new file.
    """

    def __init__(self, model: Model, keeping: Keeping, opset: int) -> None:
        super().__init__(opset)
        self._model, self._keeping, self._file = model, keeping, model.proto.graph
        assert keeping.level.body is not None
        self._known = keeping.level.body.values  # name in the file → its value
        initializers = {tensor.name for tensor in self._file.initializer}
        self._given = {*initializers, *(one.values.name for one in self._file.sparse_initializer)}
        self._given |= {one.name for one in self._file.input}
        made = {name for node in self._file.node for name in node.output}
        self._by_variable = {one: name for name, one in model.variables.items() if name in self._given | made}
        self._kept: set[str] = set()  # the results of kept nodes
        self._held: set[str] = {*model.defaults}  # the names that kept nodes take, and inputs
        self._wishes: dict[str, str] = {}  # names of new values → names in the file
        self._wished: set[tuple[Any, str]] = set()  # the graphs and names among these
        for _, graph in parts_of(self._file):
            self.values |= {name for node in graph.node for name in node.output}
            self.values |= {one.name for one in (*graph.input, *graph.initializer)}
        self._values = {*self.values}
        lost = {record.node.proto.name for record in keeping.lost}
        self.names |= {node.name for _, graph in parts_of(self._file) for node in graph.node} - lost

    # what the writer of operations asks for

    def wished(self, text: str, name: str, body: Any) -> None:
        is_new = text not in self._values and text not in self.initializers and text not in self._wishes
        if is_new and name not in self._kept | self._given and (body, name) not in self._wished:
            self._wishes[text] = name  # so that the node stays as it was
            self._wished.add((body, name))

    def constant(self, array: np.ndarray, name: str) -> Ref:
        ref = super().constant(array, name)
        if ref.text in self._given and ref.text not in self._held:
            self.initializers[ref.text] = array
        return ref

    def variable(self, variable: Any) -> Ref:
        name = self._by_variable.get(variable)
        if name is None or variable in self._variables or variable in self._state:
            return super().variable(variable)
        if name not in (self._held if name in self._given else self._kept):
            self.initializers[name] = np.asarray(variable.numpy())
        self._variables[variable] = Ref(name, variable.dtype)
        return self._variables[variable]

    def end_graph(self, message: Any, nodes: Nodes) -> None:
        levels = (self._keeping.parts.get(part) for part in nodes.parts)
        graph = next((one.body.graph for one in levels if one and one.body), None)
        if graph is None:
            return
        kept = {name for node in nodes.kept for name in node.output}
        message.name, message.doc_string = graph.name, graph.doc_string
        message.metadata_props.extend(graph.metadata_props)
        message.value_info.extend(one for one in graph.value_info if one.name in kept)

    # the message

    def patched(
        self, graph: Any, inputs: Sequence[Input], results: Sequence[Result], state: Mapping[Any, str]
    ) -> tuple[Any, dict[str, np.ndarray]]:
        """The message of a model, and the arrays of its initializers that are new or other ones, by their names.

        Args:
            graph: the copy, whose operations are kept nodes and new ones.
            inputs, results: of the model; the sources are tensors of the copy.
            state: as for `Writer.model`.

        Raises:
            NotImplementedError: ONNX has no way to compute an operation.
        """
        self._state = state
        self._note(graph)
        self.values |= {*(one.name for one in inputs), *(one.name for one in results), *state.values()}
        nodes = Nodes(self)
        for variable in state:
            self.variable(variable)
        given = {one.tensor: self._input(nodes, one) for one in inputs if one.tensor is not None}
        wanted = [one.source for one in results if is_tensor(one.source)]
        refs = iter(nodes.part(graph, given, wanted))
        texts = [next(refs).text if is_tensor(one.source) else one.source.name for one in results]
        kept = {id(node) for node in nodes.kept}
        fresh = ONNX.GraphProto(node=[node for node in nodes.messages if id(node) not in kept])
        self.arrange(fresh, {*texts, *(name for node in nodes.kept for name in needs(node))})
        self._describe(fresh)
        message = type(self._model.proto)()
        message.CopyFrom(self._model.proto)
        ordered = self._ordered([*nodes.kept, *self._dead(nodes.kept, fresh.node)], fresh.node)
        del message.graph.node[:]
        message.graph.node.extend(ordered)
        rename(message.graph, self._wishes)
        texts = [self._wishes.get(text, text) for text in texts]
        arrays = self._set_values(message.graph, {*texts})
        renamed = self._names(message.graph, inputs, results, texts)
        arrays |= {name: self.now(name) for name in renamed if name in self._given and name in self._model.variables}
        arrays = {renamed.get(name, name): array for name, array in arrays.items()}
        self._set_header(message)
        self._set_ends(message, inputs, results, state, [name for name in arrays if name not in self._given])
        return message, arrays

    def _note(self, graph: Any) -> None:
        """Note the names that kept nodes make and take, and the constants that are initializers."""
        for part in graph.everywhere():
            for operation in part.find("Kept"):
                op: Any = operation.op
                node = op.of(operation)
                self._held |= {name for name, _ in node.record.inputs}
                self._kept |= {*node.record.results} if node.is_own else set()
        for name in self._given - {*self._model.variables} - {*self._model.defaults}:
            if isinstance(self._known.get(name), Weight):
                self._constants[self.key(self._known[name].array)] = name

    def _input(self, nodes: Nodes, one: Input) -> Ref:
        """The value of an input for new nodes, which take no numbers of a few bits."""
        ref, type = Ref(one.before, one.tensor.dtype), self._model.inputs.get(one.before)
        if type is None or type.number not in CARRIERS or not one.tensor.consumers():
            return ref
        name = unique(f"{one.before}/Cast", self.names)
        return nodes.add("Cast", name, [ref], [one.tensor.dtype], {"to": one.tensor.dtype})[0]

    def _describe(self, fresh: Any) -> None:
        """Give new nodes the descriptions of those that had their names."""
        told = {record.node.name: record.node.proto for record in self._keeping.lost}
        for node in fresh.node:
            other = told.get(node.name)
            if other is not None:
                node.MergeFrom(type(node)(doc_string=other.doc_string, metadata_props=other.metadata_props))

    def _dead(self, kept: Iterable[Any], fresh: Iterable[Any]) -> list[Any]:
        """The nodes that no result of the file needs, as far as their inputs are there."""
        needed, names = _reached(self._file.node, self._model.outputs), {*self._given}
        names |= {name for node in (*kept, *fresh) for name in node.output}
        dead = []
        for node in self._file.node:
            is_dead = needed.isdisjoint(node.output) and self._keeping.is_unchanged(node, self._model.versions)
            if is_dead and names.issuperset(needs(node)) and names.isdisjoint(node.output):
                dead.append(node)
                names |= {*node.output} - {""}
        return dead

    def _ordered(self, old: Sequence[Any], new: Sequence[Any]) -> list[Any]:
        """Nodes of the file in its order, each behind the nodes that it needs."""
        place = {name: number for number, node in enumerate(self._file.node) for name in node.output if name}
        rank = [min((place[name] for name in node.output if name in place), default=len(place)) for node in old]
        nodes = [old[index] for index in sorted(range(len(old)), key=rank.__getitem__)] + list(new)
        maker = {name: number for number, node in enumerate(nodes) for name in node.output if name}
        order, stack, seen = dict[int, None](), list(range(len(nodes)))[::-1], set[int]()
        while stack:
            number = stack.pop()
            behind = [maker[name] for name in needs(nodes[number]) if name in maker] if number not in seen else []
            seen.add(number)
            if ahead := [one for one in behind if one not in order and one not in seen]:
                stack += [number, *reversed(ahead)]
            else:
                order[number] = None
        return [nodes[number] for number in order]

    def _set_values(self, graph: Any, texts: set[str]) -> dict[str, np.ndarray]:
        """Leave the initializers and descriptions of values that are there; return the arrays that are others."""
        before = _reached(self._file.node, self._model.outputs)
        made = {name for node in graph.node for name in node.output}
        taken = {name for node in graph.node for name in needs(node)} | texts
        arrays = {name: array for name, array in self.initializers.items() if not self._is_same(name, array)}
        stays = {name for name in self._given if name in taken or name not in before}
        _filter(graph.initializer, lambda one: one.name in stays - arrays.keys())
        _filter(graph.sparse_initializer, lambda one: one.values.name in stays - arrays.keys())
        gone = (self._values | self._given) - made - stays - {*self._model.inputs}
        _filter(graph.value_info, lambda one: one.name not in gone and self._is_typed(one))
        _filter(graph.quantization_annotation, lambda one: one.tensor_name not in gone)
        return {name: array for name, array in arrays.items() if name in taken or name in self._state.values()}

    def _is_same(self, name: str, array: np.ndarray) -> bool:
        """Whether an array is the one of an initializer of the file, or of its variable."""
        value = self._known.get(name)
        if name not in self._given or not isinstance(value, Weight) or name in self._state.values():
            return False
        now = self.now(name)
        return now.dtype == array.dtype and now.shape == array.shape and now.tobytes() == array.tobytes()

    def now(self, name: str) -> np.ndarray:
        """The value of an initializer of the file."""
        variable = self._model.variables.get(name)
        return self._known[name].array if variable is None else np.asarray(variable.numpy())

    def _is_typed(self, info: Any) -> bool:
        """Whether a value still has the type that the file says."""
        value: Any = self._known.get(info.name)
        if not is_tensor(value):
            return not self._model.has_shapes
        if value.op.is_removed:
            return False
        before = None if self._model.has_shapes else self._keeping.specs.get(info.name)
        return value.spec in (before, type_of(info.type).spec)

    def _names(
        self, graph: Any, inputs: Sequence[Input], results: Sequence[Result], texts: Sequence[str]
    ) -> dict[str, str]:
        """Give inputs and outputs their names; the names of other values that make place for them, or were theirs."""
        made = {name for node in graph.node for name in node.output}
        taken, renamed = Counter(texts), {one.before: one.name for one in inputs if one.before != one.name}
        taken.update(name for node in graph.node for name in needs(node))
        for one, text in zip(results, texts, strict=True):
            if text == one.name:
                continue
            if text not in made or (taken[text] > 1 and text in self._values) or text in renamed:
                node = graph.node.add(op_type="Identity", name=unique(f"{one.name}/Identity", self.names), input=[text])
                text = unique(f"{one.name}/Identity", self.values)
                node.output.append(text)
            renamed[text] = one.name
        right = {one.name for one, text in zip(results, texts, strict=True) if text == one.name}
        right |= {one.name for one in inputs if one.before == one.name}
        for name in {*(one.name for one in results), *(one.name for one in inputs)} - right:
            if name in made | self._given and name not in renamed:
                renamed[name] = unique(name, self.values)
        rename(graph, renamed)
        for one in (*graph.initializer, *graph.value_info, *(sparse.values for sparse in graph.sparse_initializer)):
            one.name = renamed.get(one.name, one.name)
        return renamed

    def _set_ends(
        self, message: Any, inputs: Sequence[Input], results: Sequence[Result], state: Mapping[Any, str], new: list[str]
    ) -> None:
        """Set the inputs and outputs of the graph, and declare initializers where its version wants that."""
        graph, infos = message.graph, {one.name: one for one in self._file.input}
        known = {one.before: input_info(one, infos.get(one.before)) for one in inputs}
        baked = {name for record in self._keeping.lost for name, _ in record.inputs} - {*self._model.variables}
        held = {one.name for one in graph.initializer} - baked
        order = [one.name for one in self._file.input if one.name in known]
        if order == [one.before for one in inputs]:
            descriptions = [
                known.get(one.name, one) for one in self._file.input if one.name in known or one.name in held
            ]
        else:
            descriptions = [
                *known.values(),
                *(one for one in self._file.input if one.name not in known and one.name in held),
            ]
        named = {one.name for one in descriptions}
        descriptions += [value_info(name, one.dtype, one.shape) for one, name in state.items() if name not in named]
        if message.ir_version < 4:
            descriptions += [
                value_info(name, self.initializers[name].dtype, self.initializers[name].shape) for name in new
            ]
        del graph.input[:]
        graph.input.extend(descriptions)
        del graph.output[:]
        for one in results:
            graph.output.add().CopyFrom(result_info(one))
            graph.output[-1].name = one.name

    def _set_header(self, message: Any) -> None:
        """Set the versions of the file, and leave out functions that nothing calls any more."""
        before = self._model.versions.get("")
        if before != self.opset:
            domains = [one for one in message.opset_import if one.domain in DEFAULT_DOMAINS]
            (domains[0] if domains else message.opset_import.add()).version = self.opset
            message.ir_version = max(message.ir_version, IR_VERSIONS[self.opset])
        now, called = self._called(message.graph.node), self._called(self._file.node)
        _filter(
            message.functions, lambda one: (key := (one.domain, one.name, one.overload)) in now or key not in called
        )
        for function in message.functions if before != self.opset else ():
            if (function.domain, function.name, function.overload) in now:
                for one in function.opset_import:
                    one.version = self.opset if one.domain in DEFAULT_DOMAINS else one.version

    def _called(self, nodes: Iterable[Any]) -> set[tuple[str, str, str]]:
        """The functions that nodes call, also inside of others."""
        called, stack = set[tuple[str, str, str]](), list(nodes)
        while stack:
            node = stack.pop()
            stack += [inner for graph in subgraphs(node) for inner in graph.node]
            key = node.domain, node.op_type, node.overload
            if key in self._model.functions and key not in called:
                called.add(key)
                stack += self._model.functions[key].node
        return called


def _reached(nodes: Iterable[Any], wanted: Iterable[str]) -> set[str]:
    """The names that some values need, with their own."""
    maker = {name: node for node in nodes for name in node.output if name}
    reached, stack = set[str](), list(wanted)
    while stack:
        name = stack.pop()
        if name not in reached:
            reached.add(name)
            stack += needs(maker[name]) if name in maker else []
    return reached


def _filter(messages: Any, stays: Any) -> None:
    """Leave the messages of a list for which a function says so."""
    kept = [one for one in messages if stays(one)]
    if len(kept) < len(messages):
        copies = [type(one)() for one in kept]
        for copy, one in zip(copies, kept, strict=True):
            copy.CopyFrom(one)
        del messages[:]
        messages.extend(copies)


__all__ = ["Patch"]
