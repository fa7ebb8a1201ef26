"""Files with graphs of TensorFlow as plain data: SavedModels, and frozen graphs in a `GraphDef`."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from dovetail.core.base.errors import FormatError
from dovetail.core.base.hooks import hooks
from dovetail.core.base.read_limits import fold, reading
from dovetail.core.values import arguments
from dovetail.core.values.shapes import fits
from dovetail.core.values.variable import Variable
from dovetail.formats.nodes.constants import PYTHON_NUMBER
from dovetail.formats.nodes.expansion import TRACE, Expansion, Part
from dovetail.formats.nodes.opaque import Unreadable
from dovetail.formats.tensorflow import frames
from dovetail.formats.tensorflow.attributes import Attributes
from dovetail.formats.tensorflow.functions import called
from dovetail.formats.tensorflow.host.program import Program
from dovetail.formats.tensorflow.host.store import Store
from dovetail.formats.tensorflow.names import behind, original, split
from dovetail.formats.tensorflow.op_defs import definition
from dovetail.formats.tensorflow.places import FORKS
from dovetail.formats.tensorflow.read_nodes import Body
from dovetail.formats.tensorflow.reading import Reader, spec_of
from dovetail.formats.tensorflow.records import LOOPS, Records
from dovetail.formats.tensorflow.values import Foreign
from dovetail.formats.wire.bundle import Bundle, exists
from dovetail.formats.wire.messages import TENSORFLOW, from_text, parsed
from dovetail.formats.wire.slices import part_of
from dovetail.formats.wire.tensors import array_of, dtype_of, known_shape

PLACEHOLDERS = ("Placeholder", "PlaceholderV2", "PlaceholderWithDefault")
HANDLES = ("VarHandleOp", "VariableV2", "Variable")
ASSIGNMENTS = ("AssignVariableOp", "Assign")
INIT = "__saved_model_init_op"  # the signature that TensorFlow runs when it loads a model
GRAPH = "graph"  # the signature of a file that has none
EFFECTS = re.compile(r"Assign(Variable|Add|Sub|$)|(Resource)?(Sparse)?Apply[A-Z]|ResourceScatter|Scatter[A-MO-Z]")
SAVING = re.compile(r"(Save|Restore|MergeV2Checkpoints|ShardedFilename)(V2|Slices?)?$")


@dataclass
class Signature:
    """A way to run a graph.

    Attributes:
        inputs, outputs: key → name of a tensor of the graph.
    """

    inputs: dict[str, str]
    outputs: dict[str, str]


@dataclass
class Read:
    """A signature as a graph of Dovetail.

    Attributes:
        graph: its inputs and outputs are in the order of the keys.
        inputs, outputs: the keys.
        opaque: names of operations that Dovetail does not compute → the reason.
        program: it runs the graph, and the host nodes before and after it.
        records: the operations that each node became.
        state: the graph and the keys when they were read; see `state_now`.
        keys: those of the inputs then.
    """

    graph: Any
    inputs: list[str]
    outputs: list[str]
    opaque: dict[str, str]
    program: Program
    records: Records = field(default_factory=Records)
    state: Any = None

    def __post_init__(self) -> None:
        self.state, self.keys = self.state_now(self.inputs, self.outputs), list(self.inputs)

    def state_now(self, inputs: Sequence[str], outputs: Sequence[str]) -> Any:
        """A value that changes with each edit of the graph, and with the keys of its inputs and outputs."""
        graph = self.graph
        specs = [tensor.spec for tensor in graph.inputs]
        return graph.version, len(graph), specs, list(map(id, self.program.values)), list(inputs), list(outputs)


def read_of(graph: Any, inputs: list[str], outputs: list[str], opaque: dict[str, str] | None = None) -> Read:
    """A graph of Dovetail, which has no host nodes, as a signature.

    Args:
        graph: the graph.
        inputs, outputs: the keys of its inputs and outputs.
        opaque: as for `Read`.
    """
    saved = SavedGraph(Path(graph.name), TENSORFLOW.GraphDef(), {})
    reader = Reader(saved.file, {}, saved.variable)
    return Read(graph, inputs, outputs, opaque or {}, Program(reader, saved.store, graph, graph.inputs, graph.outputs))


@dataclass
class SavedGraph:
    """A graph of TensorFlow in a file: its nodes, functions, signatures and variables.

    Attributes:
        file: the path.
        graph_def: the message `GraphDef`.
        signatures: by name.
        bundle: the values of the variables by their keys; empty if there are none.
        object_graph: the message `SavedObjectGraph`, or None.
        kind: the class of the message in the file, or None if there is no file.
        tags: of the graph in a SavedModel.
        variables: name of a node → the variable that was made for it.
        assets: name of a node → the name of the file in the folder `assets` that it names.
        objects: the `Objects`, once they are made.
        shapes: keys of inputs of signatures → the shapes that they have in place of the declared ones.
        trained: names of the variables that a collection of TensorFlow 1 calls trainable; None if there is none.
        reader: makes a reader of its nodes.
    """

    file: Path
    graph_def: Any
    signatures: dict[str, Signature]
    bundle: Mapping[str, np.ndarray] = field(default_factory=dict)
    object_graph: Any = None
    kind: Any = None
    tags: list[str] = field(default_factory=list)
    variables: dict[str, Variable] = field(default_factory=dict)
    assets: dict[str, str] = field(default_factory=dict)
    objects: Any = None
    shapes: Mapping[str, Any] = field(default_factory=dict)
    trained: frozenset[str] | None = None
    reader: Callable[..., Reader] = Reader

    def __post_init__(self) -> None:
        is_empty = self.kind is None or not self.file.stat().st_size
        self.data: Any = b"" if is_empty else np.memmap(self.file, np.uint8, "r")

    def original(self) -> Any:
        """The message in the file, anew: looking up an attribute that a node does not have adds it to the node."""
        if self.file.suffix == ".pbtxt":
            return from_text(self.kind, bytes(self.data).decode(errors="replace"), self.file)
        return parsed(self.kind, bytes(self.data), self.file)

    @cached_property
    def store(self) -> Store:
        """The tables of the model."""
        return Store(self)

    @cached_property
    def nodes(self) -> dict[str, Any]:
        """The nodes of the graph itself, by name."""
        return {node.name: node for node in self.graph_def.node}

    @cached_property
    def functions(self) -> dict[str, Any]:
        """The functions of its library, by name."""
        return {function.signature.name: function for function in self.graph_def.library.function}

    @property
    def keys(self) -> dict[str, str]:
        """Name of a variable's node → its key in the checkpoint, from the nodes that restore it."""
        return {name: key for name, (key, _) in self._restored.items()}

    @cached_property
    def _restored(self) -> dict[str, tuple[str, str]]:
        """Name of a variable's node → its key, and the text of its slice, which is empty for a whole tensor."""
        with reading(self.file, "the nodes that restore variables", len(self.nodes), len(self.data)):
            return self._restored_by_nodes()

    def _restored_by_nodes(self) -> dict[str, tuple[str, str]]:
        restored = dict(_restored(self.nodes.values(), {}, self.file))
        for call in self.nodes.values():
            name = call.attr["f"].func.name if call.op.endswith("PartitionedCall") else ""
            function = self.functions.get(name)
            if function is not None:
                arguments = [argument.name for argument in function.signature.input_arg]
                named = dict(zip(arguments, call.input, strict=False))
                restored |= _restored(function.node_def, named, self.file)
        return restored

    def key(self, name: str) -> str:
        """The key of a variable's node; the main graph may have a handle for it that no node restores."""
        twins = {} if self.objects is None else self.objects.twins
        names = name, *(own for own, main in twins.items() if main == name)
        own = original(self.nodes[name]) if name in self.nodes else name
        return next((self.keys[each] for each in names if each in self.keys), own if own in self.bundle else name)

    def slice_of(self, name: str) -> str:
        """The text of the slice that a variable's node has of its key's tensor; empty for all of it."""
        return self._restored.get(name, ("", ""))[1]

    def slice_in_bundle(self, key: str, spec: str) -> np.ndarray:
        """The value of a key of the checkpoint, or a slice of it.

        Raises:
            FormatError: the tensor has no such slice.
        """
        try:
            part = part_of(spec)
        except ValueError as error:
            raise FormatError(self.file, f"the tensor {key!r}", f"{error}", "a shape and a slice of it") from None
        value = self.bundle[key]
        if part is not None and part.whole != value.shape:
            raise FormatError(self.file, f"the tensor {key!r}", f"the shape {value.shape}", f"{part.whole}")
        return value if part is None else value[part.box]

    def _main(self, name: str) -> str:
        """The node that stands for a variable that has several."""
        main = name if self.objects is None else self.objects.twins.get(name, name)
        return main if main in self.nodes else name

    def value_of(self, name: str) -> np.ndarray | None:
        """The value of a variable's node in the checkpoint; None if that has none."""
        name = self._main(name)
        key = self.key(name)
        return self.slice_in_bundle(key, self.slice_of(name)) if key in self.bundle else None

    def variable(self, node: Any) -> Variable:
        """The variable of a node, with its value from the checkpoint.

        Raises:
            FormatError: the checkpoint does not have it, or in another shape.
        """
        node = self.nodes.get(self._main(node.name), node)
        if node.name not in self.variables:
            value = self.value_of(node.name)
            if value is None:
                wanted = f"the key {self.key(node.name)!r}"
                raise FormatError(self.file, f"the variable {node.name!r}", "no value of it", wanted)
            with self._attributes(node) as attrs:
                shape = attrs("shape", None, (tuple, type(None)))
            if not fits(value.shape, shape):
                raise FormatError(self.file, f"the variable {node.name!r}", f"the shape {value.shape}", f"{shape}")
            value = value.view()
            value.flags.writeable = True  # else no engine takes the memory; variables write to memory of their own
            trainable = self.is_trainable(node)
            self.variables[node.name] = Variable(arguments.in_place(value), name=original(node), trainable=trainable)
        return self.variables[node.name]

    def first(self, node: Any) -> np.ndarray:
        """The value of a variable in the checkpoint; zeros if it has none, none along unknown dimensions.

        Raises:
            FormatError: its shape is too large.
        """
        if (value := self.value_of(node.name)) is not None:
            return value
        place = f"the variable {node.name!r}"
        shape, dtype = node.attr["shape"].shape, node.attr["dtype"].type
        return np.zeros(known_shape(shape, self.file, place, least=True), dtype_of(dtype, self.file, place))

    @contextmanager
    def _attributes(self, node: Any) -> Iterator[Attributes]:
        """The attributes of a node; those of another kind are damage of the file."""
        try:
            yield Attributes(node)
        except Unreadable as error:
            raise FormatError(self.file, f"the node {node.name!r}", f"{error}", "another attribute") from None

    def is_trainable(self, node: Any) -> bool:
        """Whether training changes a variable."""
        known = {} if self.objects is None else self.objects.trainable
        with self._attributes(node) as attrs:
            said = self._trainable.get(attrs("shared_name", "", str) or node.name)
        collected = self.trained is None or node.name in self.trained
        return known.get(node.name, collected if said is None else said)

    @cached_property
    def _trainable(self) -> dict[str, bool]:
        """Names of variables → whether they are trainable."""
        objects = self.object_graph.nodes if self.object_graph is not None else []
        variables = [one.variable for one in objects if one.WhichOneof("kind") == "variable"]
        return {variable.name: variable.trainable for variable in variables}

    @property
    def whole(self) -> Signature:
        """The way to run the whole graph, from placeholders to the results that no node takes.

        Nodes that assign variables, that write or read checkpoints, and nodes that wait for them are left out.
        """
        return self._whole(self._acting)

    @property
    def session(self) -> Signature:
        """The graph for sessions, which run parts of it: it has the nodes that assign variables, too."""
        return self._whole(self._saving)

    def _whole(self, left_out: set[str]) -> Signature:
        nodes = [node for node in self.graph_def.node if node.name not in left_out]
        taken = {split(text)[0] for node in nodes for text in node.input}
        outside = {*frames.Frames(self.nodes).outside}  # a run has no value of a node in a branch or a loop
        free = (one for one in nodes if one.name in outside and one.name not in taken)
        ends = [one for one in free if not _ends_nothing(one.op)]
        return Signature(_keyed(one for one in nodes if one.op in PLACEHOLDERS[:2]), _keyed(ends))

    @cached_property
    def _acting(self) -> set[str]:
        """The nodes with effects on variables or files, and the nodes that need them."""
        return self._needing(lambda node: EFFECTS.match(node.op) is not None or self._saves(node))

    @cached_property
    def _saving(self) -> set[str]:
        """The nodes that write or read checkpoints, and the nodes that need them."""
        return self._needing(self._saves)

    def _needing(self, acts: Callable[[Any], bool]) -> set[str]:
        users: dict[str, list[str]] = {}
        for node in self.graph_def.node:
            for text in node.input:
                users.setdefault(split(text)[0], []).append(node.name)
        stack = [node.name for node in self.graph_def.node if acts(node)]
        needing = {*stack}
        while stack:
            new = [name for name in users.get(stack.pop(), ()) if name not in needing]
            needing |= {*new}
            stack += new
        return needing

    def _saves(self, node: Any) -> bool:
        called = self.functions.get(node.attr["f"].func.name) if node.op.endswith("PartitionedCall") else None
        inner = called.node_def if called is not None else ()
        return bool(SAVING.match(node.op) or any(SAVING.match(one.op) for one in inner))

    def results(self, names: Iterable[str], feeds: Iterable[str] = ()) -> Signature:
        """The way to run tensors of the graph, from the placeholders that they need.

        Args:
            names: of tensors.
            feeds: names of placeholders with a default that are inputs, too.

        Raises:
            KeyError: there is no such tensor, or placeholder; the message lists names that end alike.
        """
        outputs = {name: name if ":" in name else f"{name}:0" for name in names}
        for name in outputs:
            if split(name)[0] not in self.nodes:
                raise KeyError(f"no node {split(name)[0]!r} in {str(self.file)!r}{alike(split(name)[0], self.nodes)}")
        stack, seen = [split(name)[0] for name in outputs], set[str]()
        while stack:
            name = stack.pop()
            if name not in seen and name in self.nodes:
                seen.add(name)
                stack += [split(text)[0] for text in self.nodes[name].input]
        needed = [node for node in self.graph_def.node if node.op in PLACEHOLDERS and node.name in seen]
        fed = {*(split(name)[0] for name in feeds)}
        if unknown := fed - {node.name for node in needed}:
            name, known = min(unknown), [node.name for node in needed]
            problem = f"the results need no placeholder {name!r}, but {', '.join(known) or 'none'}"
            raise KeyError(f"{problem}{alike(name, known)}")
        placeholders = (node for node in needed if node.op in PLACEHOLDERS[:2] or node.name in fed)
        return Signature(_keyed(placeholders), outputs)

    def read(self, name: str) -> Read:
        """A signature as a graph of Dovetail; for a frozen graph, the whole graph.

        Raises:
            FormatError: the file is damaged.
        """
        return self.read_signature(name, self.signatures[name])

    def read_signature(self, name: str, signature: Signature, is_session: bool = False) -> Read:
        """A way to run the graph as a graph of Dovetail.

        Args:
            name: of the graph.
            signature: the way to run it.
            is_session: as for `Reader`.

        Raises:
            FormatError: the file is damaged.
        """
        graph = hooks.new_tensorflow_graph(name)
        graph.dialect = graph.dialect._replace(records_effects=is_session)
        reader = self.reader(self.file, self.functions, self.variable, is_session=is_session)
        reader.records.begin(graph)
        with graph.as_default(), self.reading(f"the signature {name!r}"):
            given = {node.name: reader.read_constant(node) for node in self.store.paths}
            nodes = {key: self.node(split(text)[0]) for key, text in signature.inputs.items()}
            inputs = {}
            for key, node in nodes.items():
                with self._attributes(node):
                    spec = spec_of(node, self.graph_def.versions.producer)
                    inputs[key] = reader.given(node, spec._replace(shape=self.shapes.get(key, spec.shape)))
            if len({node.name for node in nodes.values()}) < len(nodes):
                raise FormatError(self.file, f"the signature {name!r}", "an input twice", "inputs that differ")
            given |= {nodes[key].name: [value] for key, value in inputs.items()}
            body = Body("the graph", self.graph_def.node, given)
            if name == GRAPH:
                left_out = self._saving if is_session else self._acting
                reader.read(body, [f"^{name}" for name in body.frames.outside if name not in left_out])
            outputs = reader.read(body, [text.removeprefix("^") for text in signature.outputs.values()])
        return self.made(reader, graph, inputs, dict(zip(signature.outputs, outputs, strict=True)))

    @contextmanager
    def reading(self, place: str, nodes: Sequence[Any] = ()) -> Iterator[None]:
        """Count in the block how much the file asks for.

        Args:
            place: the part of it that is read, for errors.
            nodes: its nodes, if they are not those of the graph.

        Raises:
            FormatError: it asks for too much.
        """
        with reading(self.file, place):  # its functions may be nested too deeply to be counted
            expansion = self._expansion
            count = expansion.count(nodes)
        with reading(self.file, place, expansion.listed, len(self.data)):
            expansion.need(count, nodes)
            yield

    @cached_property
    def _expansion(self) -> Expansion:
        return Expansion(self.file, self.graph_def.node, self._parts)

    def _parts(self, node: Any) -> Iterator[Part]:
        """The functions that a node calls."""
        for name in (node.op, *called(node)):
            if name in self.functions:
                times, cost = (2 if node.op in LOOPS else 1), (TRACE if node.op in FORKS else 0)
                yield Part(name, self.functions[name].node_def, times, cost)

    def made(self, reader: Reader, graph: Any, inputs: Mapping[str, Any], outputs: Mapping[str, Any]) -> Read:
        """A graph that is read, with the host nodes before and after it."""
        kept = {key: value for key, value in outputs.items() if not isinstance(value, Foreign)}
        program = Program(reader, self.store, graph, list(inputs.values()), list(kept.values()))
        reader.records.end()
        return Read(graph, list(inputs), list(kept), reader.opaque, program, reader.records)

    def node(self, name: str) -> Any:
        """A node of the graph itself.

        Raises:
            FormatError: there is none.
        """
        if name not in self.nodes:
            raise FormatError(self.file, "the signatures", f"the tensor {name!r}", "the name of a node")
        return self.nodes[name]


def _keyed(nodes: Iterable[Any]) -> dict[str, str]:
    """Name of each node in Dovetail → the name of its first result."""
    keyed: dict[str, str] = {}
    for node in nodes:
        keyed[node.name if original(node) in keyed else original(node)] = f"{node.name}:0"
    return keyed


def alike(name: str, names: Iterable[str]) -> str:
    """Advice for a name that is missing: the names that end alike, or else those that are spelled alike."""
    known, last = list(names), name.rpartition("/")[2]
    near = [other for other in known if other.rpartition("/")[2] == last] or get_close_matches(name, known)
    return f"; did you mean {' or '.join(near[:5])}?" if near else ""


def _ends_nothing(type: str) -> bool:
    """Whether nodes of a type have no results, or are inputs or variables."""
    known = definition(type)
    has_none = known is not None and not known.results
    return has_none or type in (*PLACEHOLDERS, *HANDLES) or EFFECTS.match(type) is not None


def _restored(nodes: Iterable[Any], named: Mapping[str, str], file: Path) -> Iterator[tuple[str, tuple[str, str]]]:
    """Variables' nodes, each with a key and a slice: an assignment takes the output of `RestoreV2` of this number.

    Args:
        nodes: of a graph or a function.
        named: arguments of the function → nodes of the graph.
        file: for errors.
    """
    known = {node.name: node for node in nodes}
    for node in known.values():
        if node.op not in ASSIGNMENTS or len(node.input) < 2:
            continue
        source, _, number = split(behind(node.input[1], known))
        restore = known.get(source)
        is_restored = restore is not None and restore.op == "RestoreV2" and len(restore.input) > 2
        if restore is None or not is_restored:
            continue
        keys, slices = (_texts(known.get(split(text)[0]), file) for text in restore.input[1:3])
        target = split(node.input[0])[0]
        if 0 <= number < len(keys):
            yield split(named.get(target, target))[0], (keys[number], slices[number] if number < len(slices) else "")


def _texts(node: Any, file: Path) -> list[str]:
    """The texts of a constant; none of another node."""
    if node is None or "value" not in node.attr:
        return []
    array = array_of(node.attr["value"].tensor, file, f"the node {node.name!r}")
    fold(array.size * PYTHON_NUMBER)
    array = array.reshape(-1)
    return [text.decode(errors="replace") for text in array] if array.dtype.kind == "O" else []


# -- files ------------------------------------------------------------------------------------------------------------


def read_saved_model(path: str | os.PathLike[str], tags: Iterable[str] | None = None) -> SavedGraph:
    """The graph of a SavedModel.

    Args:
        path: its folder.
        tags: of the graph, if the file has several.

    Raises:
        FileNotFoundError: there is no such folder, or no file `saved_model.pb` or `saved_model.pbtxt` in it.
        FormatError: a file is damaged, or no graph has the tags.
    """
    file, meta = tagged(path, tags)
    return saved_meta_graph(meta, file, str(file.parent / "variables" / "variables"), TENSORFLOW.SavedModel)


def tagged(path: str | os.PathLike[str], tags: Iterable[str] | None = None) -> tuple[Path, Any]:
    """The file of a SavedModel, and its message `MetaGraphDef` with some tags; see `read_saved_model`."""
    file = Path(path) / "saved_model.pb"
    if not file.is_file() and file.with_suffix(".pbtxt").is_file():
        file = file.with_suffix(".pbtxt")
    model = _message(TENSORFLOW.SavedModel, file)
    wanted = None if tags is None else {*tags}
    fitting = [meta for meta in model.meta_graphs if wanted in (None, {*meta.meta_info_def.tags})]
    if not fitting:
        known = ", ".join(str(sorted(meta.meta_info_def.tags)) for meta in model.meta_graphs) or "none"
        raise FormatError(file, "the tags", known, f"a graph with {sorted(wanted or ())}")
    return file, fitting[0]


def saved_meta_graph(meta: Any, file: Path, prefix: str, kind: Any = None) -> SavedGraph:
    """The graph of a message `MetaGraphDef`, and the checkpoint of a path, if it is there."""
    signatures = {name: _signature(given) for name, given in sorted(meta.signature_def.items())}
    signatures.pop(INIT, None)
    bundle = Bundle(prefix) if exists(prefix) else {}
    objects = meta.object_graph_def if meta.HasField("object_graph_def") else None
    assets = {split(asset.tensor_info.name)[0]: asset.filename for asset in _assets(meta, file)}
    tags, trained = [*meta.meta_info_def.tags], _trained(meta)
    return SavedGraph(file, meta.graph_def, signatures, bundle, objects, kind, tags, assets=assets, trained=trained)


def _trained(meta: Any) -> frozenset[str] | None:
    """The names of the variables in the collection of trainable ones; None if no collection has variables."""
    if "variables" not in meta.collection_def:
        return None
    collection = meta.collection_def["trainable_variables"]
    defined = map(variable_def, collection.bytes_list.value)
    names = (*collection.node_list.value, *(one.variable_name for one in defined if one is not None))
    return frozenset(split(name)[0] for name in names)


def variable_def(data: bytes) -> Any:
    """The message `VariableDef` in bytes of a collection of TensorFlow; None if they are something else."""
    try:
        proto = parsed(TENSORFLOW.VariableDef, data, "a collection")
    except FormatError:
        return None
    return proto if proto.variable_name.endswith(":0") else None


def _assets(meta: Any, file: Path) -> list[Any]:
    """The messages with the names of the model's files; TensorFlow 1 has them in a collection."""
    collections = dict(meta.collection_def)
    packed = collections["saved_model_assets"].any_list.value if "saved_model_assets" in collections else []
    return [*meta.asset_file_def, *(parsed(TENSORFLOW.AssetFileDef, one.value, file, "an asset") for one in packed)]


def _signature(given: Any) -> Signature:
    return Signature(
        {key: info.name for key, info in sorted(given.inputs.items())},
        {key: info.name for key, info in sorted(given.outputs.items())},
    )


def read_graph_def(path: str | os.PathLike[str]) -> SavedGraph:
    """The graph of a file with a `GraphDef`, as bytes or, with the ending `.pbtxt`, as text.

    If it has no variables, it has the signature `graph`, from placeholders to the results that no node takes.

    Raises:
        FileNotFoundError: there is no such file.
        FormatError: it is damaged, or has no nodes.
    """
    file = Path(path)
    graph = _message(TENSORFLOW.GraphDef, file)
    if not graph.node:  # a message of another kind may have none of the fields
        raise FormatError(file, "the file", "no node of a GraphDef", "the bytes of one, whole")
    return saved_graph(graph, file, TENSORFLOW.GraphDef)


def saved_graph(graph_def: Any, file: Path, kind: Any = None) -> SavedGraph:
    """A message `GraphDef` with the signature `graph`, as `read_graph_def` gives it."""
    saved = SavedGraph(file, graph_def, {}, kind=kind)
    if not any(node.op in HANDLES for node in graph_def.node):  # else its ends assign variables, too
        saved.signatures[GRAPH] = saved.whole
    return saved


def read_meta_graph(path: str | os.PathLike[str], checkpoint: str | None = None) -> SavedGraph:
    """The graph of a file `.meta`, and the checkpoint of its variables.

    Args:
        path: of the file.
        checkpoint: the path of the checkpoint, without the ends of its files' names; that of the file if not given.

    Raises:
        FileNotFoundError: there is no such file.
        FormatError: it is damaged.
    """
    file = Path(path)
    prefix = checkpoint or str(file).removesuffix(".meta")  # the base name may be empty
    return saved_meta_graph(_message(TENSORFLOW.MetaGraphDef, file), file, prefix, TENSORFLOW.MetaGraphDef)


def _message(kind: Any, file: Path) -> Any:
    if file.suffix == ".pbtxt":
        return from_text(kind, file.read_text(errors="replace"), file)
    return parsed(kind, file.read_bytes(), file)
