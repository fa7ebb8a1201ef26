"""Patching: edited signatures and functions of a model go into the message that was read, and all else stays as it is.

An edited signature becomes a new function, and the signature points to it.  The old function stays if something still
reaches it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from dovetail.core.values.variable import Variable
from dovetail.formats.nodes.writing import unique
from dovetail.formats.tensorflow.editing import Edited
from dovetail.formats.tensorflow.functions import fill_call
from dovetail.formats.tensorflow.main_graph import edit_signature
from dovetail.formats.tensorflow.names import split
from dovetail.formats.tensorflow.op_defs import DTYPES as NUMBERS
from dovetail.formats.tensorflow.saved_model import Read, SavedGraph
from dovetail.formats.tensorflow.saving import LIST, add_saver, new_handle, new_object, new_variable, tensor_info
from dovetail.formats.tensorflow.structures import argument_spec, structured
from dovetail.formats.tensorflow.values import Host
from dovetail.formats.tensorflow.writing import Writer
from dovetail.formats.tensorflow.written_nodes import HANDLES, Nodes, Ref
from dovetail.formats.wire.messages import TENSORFLOW, parsed
from dovetail.formats.wire.objects import GRAPH, VALUE, key_of
from dovetail.formats.wire.slices import part_of
from dovetail.formats.wire.tensors import DTYPES, number_of

ADDED = "added_variables"  # the attribute of the model with the variables that it did not have
DTYPE_NAMES = {**{n: dtype.name for n, dtype in DTYPES.items()}, **{NUMBERS[name]: name for name in HANDLES}}

Named = Sequence[tuple[str, Any]]


class Patch:
    """Changes of the message of a SavedModel.

    Args:
        saved: the graph as it was read.

    Attributes:
        message: the message, with the changes.
        values: new arrays for the checkpoint, by their keys.
    """

    def __init__(self, saved: SavedGraph) -> None:
        self._saved, self.message = saved, saved.original()
        self.values: dict[str, Any] = {}
        self._meta = next(one for one in self.message.meta_graphs if list(one.meta_info_def.tags) == saved.tags)
        self._graph, self._objects = self._meta.graph_def, self._meta.object_graph_def
        self._functions = {one.signature.name: one for one in self._graph.library.function}
        self._originals = {"": {node.name: node for node in self._graph.node}}
        self._writer, self._names = Writer({*self._functions}), {*self._originals[""]}
        self._reached, self._named = self._reachable(), self._named_now()
        handles, bound = (saved.objects.handles, saved.objects.bound) if saved.objects is not None else ({}, {})
        self._texts = {**handles, **bound}
        self._numbers = {text: number for number, text in [*self._texts.items(), *bound.items()]}
        self._variables = {saved.variables[name]: n for name, n in self._numbers.items() if name in saved.variables}
        self._added: list[Variable] = []

    def original(self, function: str, name: str) -> Any:
        """A node of a function, or of the main graph for an empty name, as it stands in the file."""
        if function not in self._originals:
            self._originals[function] = {node.name: node for node in self._functions[function].node_def}
        return self._originals[function][name]

    def _reachable(self) -> set[str]:
        """The functions that the main graph and the objects reach."""
        reachable: set[str] = set()
        stack = [*self._objects.concrete_functions, *(name for node in self._graph.node for name in called(node))]
        while stack:
            name = stack.pop()
            if name in self._functions and name not in reachable:
                reachable.add(name)
                stack += [inner for node in self._functions[name].node_def for inner in called(node)]
        return reachable

    def _named_now(self) -> set[str]:
        """The functions that objects name; no object names a custom gradient."""
        return {name for node in self._objects.nodes for name in _functions_of(node)}

    # edits

    def signature(self, name: str, read: Read, inputs: Sequence[str], outputs: Sequence[str]) -> None:
        """Put an edited signature in place of the one of its name.

        Args:
            name: of the signature.
            read: its graph.
            inputs, outputs: the keys.
        """
        if self._saved.objects is None:
            edit_signature(self._saved, self._meta, read, name, inputs, outputs)
            return
        given, old = self._meta.signature_def[name], TENSORFLOW.SignatureDef()
        old.CopyFrom(given)
        taken = sorted(zip(inputs, read.keys, read.program.inputs, strict=True), key=lambda one: one[0])
        results = sorted(zip(outputs, read.program.values, strict=True), key=lambda one: one[0])
        named = [(key, value) for key, _, value in taken]
        function, captured = self._add(f"__inference_{name}", read, named, results, self._numbers.__getitem__)
        given.inputs.clear()
        for key, before, value in taken:
            info, now = old.inputs[before], tensor_info("", value)
            if (info.tensor_shape, info.dtype) != (now.tensor_shape, now.dtype):
                info = tensor_info(f"{self._placeholder(f'{name}_{key}', value)}:0", value)
            given.inputs[key].CopyFrom(info)
        call = self._graph.node.add(name=unique("StatefulPartitionedCall", self._names))
        placeholders = [split(given.inputs[key].name)[0] for key, _ in named]
        fill_call(call, function, [*placeholders, *(self._texts[number] for number in captured)])
        given.outputs.clear()
        for number, (key, tensor) in enumerate(results):
            given.outputs[key].CopyFrom(tensor_info(f"{call.name}:{number}", tensor))
        self._add_concrete(function.signature.name, captured, ((), dict(named)), dict(results))
        self._point(name, function.signature.name, [key for key, _ in named])
        for info in (*old.outputs.values(), *old.inputs.values()):
            self._drop_node(split(info.name)[0])

    def function(self, name: str, read: Read, arguments: Any, result: Any) -> None:
        """Put an edited function in place of one of the objects' functions.

        Args:
            name: of the function.
            read: its graph.
            arguments, result: their structure, with graph tensors.
        """
        bound = list(self._objects.concrete_functions[name].bound_inputs)
        known = [one.name for one in self._functions[name].signature.input_arg]
        numbers = dict(zip(known[len(known) - len(bound) :], bound, strict=True))
        taken = list(zip(read.inputs, read.program.inputs, strict=True))
        results = [(f"output_{number}", value) for number, value in enumerate(read.program.values)]
        function, captured = self._add(name, read, taken, results, numbers.__getitem__)
        self._add_concrete(function.signature.name, captured, arguments, result)
        for node in self._objects.nodes:
            names = node.function.concrete_functions if node.WhichOneof("kind") == "function" else []
            names[:] = [function.signature.name if one == name else one for one in names]
            if (
                node.WhichOneof("kind") == "bare_concrete_function"
                and node.bare_concrete_function.concrete_function_name == name
            ):
                node.bare_concrete_function.concrete_function_name = function.signature.name

    def end(self) -> None:
        """Add the new variables and functions, and drop unreachable functions."""
        if self._saved.objects is None:
            return
        if self._added:
            self._store_added()
        self._graph.library.function.extend(self._writer.library.values())
        for name in {*self._objects.concrete_functions} & self._named - self._named_now():
            del self._objects.concrete_functions[name]
        self._functions |= self._writer.library
        lost = self._reached - self._reachable()
        kept = [one for one in self._graph.library.function if one.signature.name not in lost]
        del self._graph.library.function[:]
        self._graph.library.function.extend(kept)

    # parts of an edit

    def _add(
        self, title: str, read: Read, inputs: Named, outputs: Named, number_of_object: Callable[[str], int]
    ) -> tuple[Any, list[int]]:
        """Add a function of an edited graph to the library; it, and the objects that it captures.

        Args:
            title: its name.
            read: the graph.
            inputs, outputs: pairs of a name and a tensor.
            number_of_object: (name of a captured value) → number of its object.
        """
        edited = Edited(read, self._functions, self.original, in_function=True)
        hints = {number_of_object(name): hint for name, hint in edited.captured.items() if name not in edited.taken}
        known = {number: variable for variable, number in self._variables.items()}
        for variable in edited.variables:
            hints.setdefault(self._object_of(variable), variable.name)
            known[self._object_of(variable)] = variable
        captured = [*hints]
        arguments: list[tuple[str, Any]] = [(edited.names.get(one, name), _spec(one)) for name, one in inputs]
        arguments += [(hints[number], known.get(number, self._dtype_of(number))) for number in captured]

        def fill(nodes: Nodes, refs: list[Ref]) -> list[Ref]:
            handles = dict(zip(captured, refs[len(inputs) :], strict=True))
            nodes.handles = {variable: handles[n] for n, variable in known.items() if n in handles}
            given = {value: ref for (_, value), ref in zip(inputs, refs, strict=False)}
            texts = {value.node.name: ref.text for value, ref in given.items() if isinstance(value, Host)}
            texts |= {n: handles[number_of_object(n)].text for n in edited.captured if n not in edited.taken}
            refs_of_values = dict(zip(map(id, read.program.values), edited.write(nodes, given, texts), strict=True))
            return [refs_of_values[id(value)] for _, value in outputs]

        name = self._writer.build(title, arguments, fill, [name for name, _ in outputs])
        return self._writer.library[name], captured

    def _dtype_of(self, number: int) -> str:
        """The dtype of an object that functions capture."""
        node = self._objects.nodes[number]
        if node.WhichOneof("kind") != "constant":
            return "resource"
        return DTYPE_NAMES[self.original("", node.constant.operation).attr["dtype"].type]

    def _object_of(self, variable: Variable) -> int:
        """The number of a variable's object, which is new if the model did not have it."""
        if variable not in self._variables:
            self._variables[variable] = number = len(self._objects.nodes)
            self._texts[number] = new_handle(self._graph, variable, self._names)
            self._objects.nodes.append(new_variable(variable, self._texts[number]))
            self._added.append(variable)
        return self._variables[variable]

    def _add_concrete(self, name: str, captured: Sequence[int], arguments: Any, result: Any) -> None:
        concrete = self._objects.concrete_functions[name]
        concrete.bound_inputs.extend(captured)
        concrete.canonicalized_input_signature.CopyFrom(structured(arguments))
        concrete.output_signature.CopyFrom(structured(result))

    def _point(self, signature: str, function: str, keys: Sequence[str]) -> None:
        """Let the object of a signature name a function."""
        root = {child.local_name: child.node_id for child in self._objects.nodes[0].children}
        for child in self._objects.nodes[root["signatures"]].children if "signatures" in root else ():
            if child.local_name == signature:
                bare = self._objects.nodes[child.node_id].bare_concrete_function
                bare.concrete_function_name = function
                bare.argument_keywords[:] = keys
                bare.allowed_positional_arguments = int(len(keys) == 1)
                bare.function_spec.fullargspec.CopyFrom(argument_spec([], list(keys)))

    def _placeholder(self, name: str, tensor: Any) -> str:
        node = self._graph.node.add(name=unique(name, self._names), op="Placeholder")
        info = tensor_info("", tensor)
        node.attr["dtype"].type = info.dtype
        node.attr["shape"].shape.CopyFrom(info.tensor_shape)
        return node.name

    def _drop_node(self, name: str) -> None:
        """Remove a node of the main graph if nothing takes it any more."""
        used = {split(text)[0] for node in self._graph.node for text in node.input}
        for given in self._meta.signature_def.values():
            used |= {split(info.name)[0] for info in (*given.inputs.values(), *given.outputs.values())}
        if name not in used:
            kept = [node for node in self._graph.node if node.name != name]
            del self._graph.node[:]
            self._graph.node.extend(kept)

    def _store_added(self) -> None:
        """Add the new variables to the objects, to the checkpoint, and to the nodes that save and restore."""
        stored = TENSORFLOW.TrackableObjectGraph()
        if GRAPH in self._saved.bundle:
            stored = parsed(type(stored), self._saved.bundle[GRAPH].item(), self._saved.file, GRAPH)
        holder, place = new_object(LIST), stored.nodes.add()
        self._objects.nodes[0].children.add(node_id=len(self._objects.nodes), local_name=ADDED)
        stored.nodes[0].children.add(node_id=len(stored.nodes) - 1, local_name=ADDED)
        keys = self._saved.keys
        entries = [
            (name, keys[name], node.attr["dtype"].type) for name, node in self._originals[""].items() if name in keys
        ]
        for number, variable in enumerate(self._added):
            key = key_of((ADDED, str(number)))
            handle = self._texts[self._variables[variable]]
            holder.children.add(node_id=self._variables[variable], local_name=str(number))
            place.children.add(node_id=len(stored.nodes), local_name=str(number))
            stored.nodes.add().attributes.add(name=VALUE, full_name=handle, checkpoint_key=key)
            self.values[key] = variable.numpy()
            entries.append((handle, key, number_of(variable.dtype)))
        self._objects.nodes.append(holder)
        self.values[GRAPH] = np.empty((), object)
        self.values[GRAPH][()] = stored.SerializeToString()
        add_saver(self._meta, entries, self._names)


def changed_values(saved: SavedGraph) -> dict[str, np.ndarray]:
    """The values of the variables that changed since the file was read, by their keys in the checkpoint."""
    changed: dict[str, np.ndarray] = {}
    for name, variable in saved.variables.items():
        value, key, part = variable.numpy(), saved.key(name), part_of(saved.slice_of(name))
        if value.tobytes() == np.ascontiguousarray(saved.slice_in_bundle(key, saved.slice_of(name))).tobytes():
            continue
        if part is not None:
            changed.setdefault(key, np.array(saved.bundle[key]))[part.box] = value
            continue
        copies = saved.objects.twins.items() if saved.objects is not None else ()
        changed |= {saved.key(one): value for one in (name, *(own for own, twin in copies if twin == name))}
    return changed


def called(node: Any) -> Iterator[str]:
    """The names of the functions that a node calls."""
    for attribute in node.attr.values():
        if attribute.WhichOneof("value") == "func":
            yield attribute.func.name
        elif attribute.WhichOneof("value") == "list":
            yield from (one.name for one in attribute.list.func)


def _functions_of(node: Any) -> Sequence[str]:
    """The functions that an object names."""
    if node.WhichOneof("kind") == "bare_concrete_function":
        return [node.bare_concrete_function.concrete_function_name]
    return node.function.concrete_functions if node.WhichOneof("kind") == "function" else ()


def _spec(value: Any) -> Any:
    """The spec of an argument: of a graph tensor, or of a value of the host, which may be strings."""
    return value.spec._replace(dtype=value.spec.dtype or "object") if isinstance(value, Host) else value.spec
