"""Models in TensorFlow's files, to be called, edited and trained; TensorFlow is not needed."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from dovetail import ops
from dovetail.core.errors import op_error
from dovetail.core.infer import fits
from dovetail.core.spec import TensorSpec
from dovetail.core.value_kinds import is_tensor, static_shape
from dovetail.core.variable import Variable
from dovetail.edit.graph import Graph
from dovetail.formats.tensorflow.objects import Concrete, Objects, Parameters, filled, leaves, numbered
from dovetail.formats.tensorflow.patching import Patch
from dovetail.formats.tensorflow.saved_model import (
    Read,
    SavedGraph,
    read_graph_def,
    read_meta_graph,
    read_of,
    read_saved_model,
)
from dovetail.formats.tensorflow.values import Spec
from dovetail.formats.wire.libraries import need
from dovetail.functions.function import Function, function
from dovetail.graph.reach import walk
from dovetail.passes.resolve import resolved, waits

SERVING = "serving_default"


class OneSignature:
    """The parts of the main signature; `signatures[name]` has the parts of another one."""

    saver: ClassVar[Callable[..., None]]  # set by the module that saves

    @property
    def signature(self) -> Signature:
        """The main signature.

        Raises:
            ValueError: there are several, and none is `serving_default`.
        """
        raise NotImplementedError

    @property
    def variables(self) -> list[Variable]:
        """The variables."""
        raise NotImplementedError

    @property
    def trainable_variables(self) -> list[Variable]:
        """The variables that training changes."""
        return [variable for variable in self.variables if variable.trainable]

    def keep(self, *outputs: str) -> None:
        """Leave out the other results, and the operations that only they need.

        Args:
            outputs: keys of results, or names of tensors of the graph, which become keys.

        Raises:
            KeyError: there is no such result and no such tensor.
            ValueError: no signature is the main one.
        """
        self.signature.keep(*outputs)

    def rename(self, inputs: Mapping[str, str] | None = None, outputs: Mapping[str, str] | None = None) -> None:
        """Give inputs and results other keys.

        Args:
            inputs, outputs: key → new key.

        Raises:
            KeyError: there is no input, or no result, of a key.
            ValueError: two inputs, or two results, would have one key; or no signature is the main one.
        """
        self.signature.rename(inputs, outputs)

    def save(self, path: str | os.PathLike[str], **options: Any) -> None:
        """Save it as its module's `save` does, which also says the options and the errors."""
        type(self).saver(self, path, **options)


def renamed(name: str, known: list[str], keys: Mapping[str, str], way: str) -> list[str]:
    """The keys of a signature with new ones in place of some.

    Raises:
        KeyError: there is none of these.
        ValueError: two would be the same.
    """
    for key in keys:
        if key not in known:
            raise KeyError(f"{name!r} has no key {key!r} among its {way}, {', '.join(known)}")
    found = [keys.get(key, key) for key in known]
    if len({*found}) < len(found):
        raise ValueError(f"{name!r} would have one key twice among its {way}, {', '.join(found)}")
    return found


def variables_of(graph: Graph) -> list[Variable]:
    """The variables that a graph reads or assigns, each once."""
    operations = graph.of_types(("ReadVariableOp", "AssignVariableOp"))
    return list(dict.fromkeys(op.attrs["variable"] for op in operations))


class Signature(OneSignature):
    """A signature of a model, to be called with tensors by their keys.

    Strings, and arrays of them, are given as they are; results that are strings are NumPy arrays of `bytes`.

    Attributes:
        inputs, outputs: the keys, also as `input_keys` and `output_keys`.
        graph: the graph of Dovetail; edits of it change the next call.
        opaque: names of operations that Dovetail does not compute → the reason.
    """

    def __init__(self, name: str, read: Read) -> None:
        self.name, self.graph, self.opaque = name, read.graph, read.opaque
        self._inputs, self.output_keys, self._read = read.inputs, read.outputs, read
        self._program, self._run = read.program, function(read.graph)

    def __call__(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        """The results by their keys.

        Args:
            args: values of the inputs, in the order of `inputs`.
            kwargs: values by their keys.

        Raises:
            TypeError: an input is missing, given twice or not known.
        """
        given = dict(zip(self.input_keys, args, strict=False))
        twice = [key for key in kwargs if key in given]
        given |= kwargs
        if len(args) > len(self.input_keys) or twice or given.keys() != {*self.input_keys}:
            needed = ", ".join(self.input_keys) or "nothing"
            problem = f"it takes {needed}, not {len(args)} values and {', '.join(kwargs) or 'no keys'}."
            raise op_error(TypeError, self.name, problem)
        found = self._program.run(self._run, [given[key] for key in self.input_keys])
        return dict(zip(self.output_keys, found, strict=True))

    @property
    def input_keys(self) -> list[str]:
        """The keys of the inputs, without the ones that `graph.prune(inputs=True)` removed."""
        known = self._program.inputs
        gone = [i for i, value in enumerate(known) if hasattr(value, "op") and value.op.is_removed]
        if gone:
            self._program.inputs = [value for i, value in enumerate(known) if i not in gone]
            self._inputs = [key for i, key in enumerate(self._inputs) if i not in gone]
        return self._inputs

    @property
    def inputs(self) -> list[Any]:
        """The keys of the inputs."""
        return self.input_keys

    @property
    def outputs(self) -> list[Any]:
        """The keys of the results."""
        return self.output_keys

    @property
    def input_specs(self) -> dict[str, TensorSpec | Spec]:
        """The shape and the dtype of each input; strings have no dtype."""
        return {key: value.spec for key, value in zip(self.input_keys, self._program.inputs, strict=True)}

    @property
    def output_specs(self) -> dict[str, TensorSpec | Spec]:
        """The shape and the dtype of each result; strings have no dtype."""
        return {key: value.spec for key, value in zip(self.output_keys, self._program.values, strict=True)}

    @property
    def has_host_nodes(self) -> bool:
        """Whether the host computes something beside the graph, or takes or gives strings."""
        return self._program.has_host_nodes

    @property
    def is_edited(self) -> bool:
        """Whether the graph or the keys changed since the file was read."""
        return self._read.state != self._read.state_now(self.input_keys, self.output_keys)

    @property
    def parts(self) -> dict[str, Any]:
        """The graph as it was read, and the keys as they are now."""
        return {"read": self._read, "inputs": self.input_keys, "outputs": self.output_keys}

    def keep(self, *outputs: str) -> None:
        """Leave out the other results, and the operations that only they need.

        Args:
            outputs: keys of results, or names of tensors of the graph, which become keys.

        Raises:
            KeyError: there is no such result and no such tensor.
        """
        known = dict(zip(self.output_keys, self._program.outputs, strict=True))
        try:
            kept = [known[key] if key in known else self.graph.get_tensor(key) for key in outputs]
        except KeyError as error:
            problem = f"{self.name!r} has no such result: {error.args[0]}; its results are {', '.join(known)}"
            raise KeyError(problem) from None
        self._program.keep(kept)
        self.output_keys = list(outputs)

    def rename(self, inputs: Mapping[str, str] | None = None, outputs: Mapping[str, str] | None = None) -> None:
        """Give inputs and results other keys.

        Args:
            inputs, outputs: key → new key.

        Raises:
            KeyError: there is no input, or no result, of a key.
            ValueError: two inputs, or two results, would have one key.
        """
        self._inputs, self.output_keys = (
            renamed(self.name, self.input_keys, inputs or {}, "inputs"),
            renamed(self.name, self.output_keys, outputs or {}, "results"),
        )

    @property
    def signature(self) -> Signature:
        """Itself."""
        return self

    @property
    def variables(self) -> list[Variable]:
        """The variables that the graph reads or assigns."""
        return variables_of(self.graph)

    def as_function(self) -> Function[..., dict[str, Any]]:
        """A compiled function that takes tensors by the keys and gives a dict, as `dt.save` and `save` write it.

        Raises:
            ValueError: the host computes strings for it, which no function does.
        """
        if self.has_host_nodes:
            problem = "the host computes strings, tables or records for it: keep results that need none, keep(...)."
            raise op_error(ValueError, self.name, problem)
        if waits(self.graph):
            graph = resolved(self.graph, self.name)
            return Signature(self.name, read_of(graph, self.input_keys, self.output_keys, self.opaque)).as_function()
        found = function(lambda **given: self(**given), name=self.name)
        found.trace(**{key: tensor.spec for key, tensor in zip(self.input_keys, self.graph.inputs, strict=True)})
        return found

    def __repr__(self) -> str:
        return f"<signature {self.name}({', '.join(self.input_keys)}) -> {', '.join(self.output_keys)}>"


class Signatures(Mapping[str, Signature]):
    """The signatures of a model; each is read when it is first used.

    Attributes:
        kind: the class of those that are read.
    """

    kind: type[Signature] = Signature

    def __init__(self, saved: SavedGraph) -> None:
        self._saved = saved
        self.made: dict[str, Signature] = {}  # by name, once used

    def __getitem__(self, name: str) -> Signature:
        if name not in self._saved.signatures:
            raise KeyError(f"no signature {name!r}; there are {', '.join(self._saved.signatures) or 'none'}")
        if name not in self.made:
            self.made[name] = self.kind(name, self._saved.read(name))
        return self.made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._saved.signatures)

    def __len__(self) -> int:
        return len(self._saved.signatures)

    def __repr__(self) -> str:
        return f"<signatures {', '.join(self)}>"


class RestoredFunction:
    """A function of a model, for the kinds of arguments with which it was saved.

    Attributes:
        signatures: one for each kind, with its graph.
    """

    def __init__(self, name: str, objects: Objects, number: int) -> None:
        self._name, self._objects = name, objects
        self._known, self._parameters = objects.concrete(number), objects.parameters(number)

    @cached_property
    def signatures(self) -> list[Signature]:
        """The functions as graphs."""
        return [Signature(one.name, self._objects.read(one)) for one in self._known]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The result for some arguments, in the structure with which the function was saved.

        Raises:
            TypeError: the function was not saved for such arguments.
        """
        number, values = self._chosen(args, kwargs)
        return filled(self._known[number].result, iter(self.signatures[number](*values).values()))

    @cached_property
    def concrete_functions(self) -> list[RestoredConcrete]:
        """The functions, one for each kind of arguments."""
        return [RestoredConcrete(self, number) for number in range(len(self._known))]

    def get_concrete_function(self, *args: Any, **kwargs: Any) -> RestoredConcrete:
        """The function for a kind of arguments; without any, the only one.

        Args:
            args, kwargs: as for a call, or specs in place of tensors.

        Raises:
            TypeError: the function was not saved for such arguments.
        """
        if not args and not kwargs and len(self._known) == 1:
            return self.concrete_functions[0]
        return self.concrete_functions[self._chosen(args, kwargs)[0]]

    def _chosen(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[int, list[Any]]:
        """The number of the function for some arguments, and the tensors among them."""
        bound = self._parameters.bound(args, kwargs)
        for number, known in enumerate(self._known):
            values = _matched(known, *bound)
            if values is not None:
                return number, values
        kinds = "; ".join(f"{known.args} {known.kwargs or ''}".strip() for known in self._known) or "no arguments"
        problem = f"it was saved for {kinds}, not for {len(args)} arguments and {', '.join(kwargs) or 'no keywords'}."
        raise op_error(TypeError, self._name, problem)

    def edits(self) -> Iterator[Callable[[Patch], None]]:
        """The edited functions, as changes of the message in the file."""
        for known, one in zip(self._known, self.signatures if "signatures" in vars(self) else (), strict=False):
            if one.is_edited:
                inputs, outputs = one._program.inputs, one._program.values
                structure, is_whole = (known.args, known.kwargs), len(list(leaves(known.result))) == len(outputs)
                arguments = filled(structure, iter(inputs))
                result = (
                    filled(known.result, iter(outputs))
                    if is_whole
                    else dict(zip(one.output_keys, outputs, strict=True))
                )
                yield partial(Patch.function, name=known.name, read=one._read, arguments=arguments, result=result)

    def __repr__(self) -> str:
        return f"<function {self._name}: {len(self._known)} kinds of arguments>"


class RestoredConcrete(RestoredFunction):
    """A function of a model, for one kind of arguments.

    Args:
        whole: the function for all its kinds of arguments.
        number: of the kind.

    Attributes:
        name: in the file, as bytes, as TensorFlow has it.
    """

    def __init__(self, whole: RestoredFunction, number: int) -> None:
        known = whole._known[number]
        self._name, self._objects, self._known, self._whole = whole._name, whole._objects, [known], (whole, number)
        names, defaults = whole._parameters.names, whole._parameters.defaults
        plain = {name: value for name, value in zip(names, known.args, strict=False) if not any(leaves(value))}
        self._parameters = Parameters(names, {**defaults, **plain})
        self.name = known.name.encode()

    @cached_property
    def signatures(self) -> list[Signature]:
        """The function as a graph."""
        whole, number = self._whole
        return [whole.signatures[number]]

    @property
    def graph(self) -> Graph:
        """The graph."""
        return self.signatures[0].graph

    @property
    def variables(self) -> tuple[Variable, ...]:
        """The variables that the graph reads or assigns."""
        return tuple(self.signatures[0].variables)

    @property
    def trainable_variables(self) -> tuple[Variable, ...]:
        """The variables that training changes."""
        return tuple(self.signatures[0].trainable_variables)

    @property
    def structured_input_signature(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The structure of the arguments: specs, and values that are no tensors."""
        return self._known[0].args, self._known[0].kwargs

    @property
    def structured_outputs(self) -> Any:
        """The structure of the result, with specs."""
        return self._known[0].result

    @property
    def captured_inputs(self) -> list[Any]:
        """The variables, constants and other objects that the function captured."""
        objects = self._objects
        return [
            ops.convert(objects.constant(number))
            if objects.kind(number) == "constant"
            else _object(objects, "", number)
            for number in objects.captured(self._known[0])
        ]


def _matched(known: Concrete, args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[Any] | None:
    """The tensors of a call that fits a function, in order; None if it does not fit."""
    values: list[Any] = []
    left = dict(kwargs)
    names = [*known.kwargs]
    given = list(args)
    for spec in known.args:
        if not given and any(True for _ in leaves(spec)):
            return None
        if given and not _fits(spec, given.pop(0), values):
            return None
    for name in names:
        if name not in left and any(True for _ in leaves(known.kwargs[name])):
            return None
        if name in left and not _fits(known.kwargs[name], left.pop(name), values):
            return None
    return None if given or left else values


def _fits(structure: Any, value: Any, values: list[Any]) -> bool:
    """Whether an argument has a structure; its tensors are added to the values."""
    if isinstance(structure, Spec):
        values.append(value)
        if isinstance(value, (Spec, TensorSpec)):
            return fits(value.shape, structure.shape)
        shape = static_shape(value) if is_tensor(value) else np.shape(value)
        return fits(shape, structure.shape)
    if isinstance(structure, dict):
        keys = isinstance(value, Mapping) and value.keys() == structure.keys()
        return keys and all(_fits(structure[key], value[key], values) for key in sorted(structure))
    if isinstance(structure, (list, tuple)):
        same = isinstance(value, (list, tuple)) and len(value) == len(structure)
        return same and all(_fits(one, other, values) for one, other in zip(structure, value, strict=True))
    return type(value) is type(structure) and value == structure


class LoadedObject:
    """An object of a model: its attributes are variables, functions and objects."""

    def __init__(self, objects: Objects | None, number: int = 0) -> None:
        self._objects, self._number = objects, number

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or self._objects is None or name not in self._objects.children(self._number):
            known = [] if self._objects is None else list(self._objects.children(self._number))
            raise AttributeError(f"the model has no attribute {name!r}; it has {', '.join(known) or 'none'}")
        found = self.__dict__[name] = _object(self._objects, name, self._objects.children(self._number)[name])
        return found

    def __dir__(self) -> list[str]:
        own = [] if self._objects is None else list(self._objects.children(self._number))
        return [*super().__dir__(), *own]


def _object(objects: Objects, name: str, number: int) -> Any:
    """The variable, function or object with a number, or a list or dict of them; the same one each time."""
    if objects.kind(number) == "variable":
        return objects.variable(number)
    if number not in objects.made:
        is_function = objects.kind(number) in ("function", "bare_concrete_function")
        if objects.collection(number) is not None:
            _collect(objects, number)
        else:
            made = RestoredFunction(name, objects, number) if is_function else LoadedObject(objects, number)
            is_one = isinstance(made, RestoredFunction) and objects.kind(number) == "bare_concrete_function"
            objects.made[number] = made.concrete_functions[0] if is_one else made
    return objects.made[number]


def _collect(objects: Objects, number: int) -> None:
    """Make a list or dict, and all lists and dicts in it, which may hold each other."""

    def inner(one: int) -> list[int]:
        return [other for other in objects.children(one).values() if objects.collection(other) is not None]

    new = {one: objects.collection(one) for one in walk([number], inner) if one not in objects.made}
    objects.made |= {one: kind() for one, kind in new.items() if kind is not None}
    for one in new:
        items = {name: _object(objects, name, child) for name, child in objects.children(one).items()}
        made = objects.made[one]
        made.update(items) if isinstance(made, dict) else made.extend(items[key] for key in numbered(items))


class LoadedModel(OneSignature, LoadedObject):
    """A model from a file of TensorFlow; made by `load`.  The attributes of its objects are attributes.

    Attributes:
        signatures: name → `Signature`.
        graph_def: the message that was read, with all nodes and functions, called or not.
    """

    def __init__(self, saved: SavedGraph) -> None:
        LoadedObject.__init__(self, None if saved.object_graph is None else Objects(saved))
        self._saved = saved
        self.signatures = Signatures(saved)
        self.graph_def = saved.graph_def

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The result of the model's own `__call__`, if it has one.

        Else it is that of the signature `serving_default`, or of the only one: a tensor, or a dict of several by keys.

        Args:
            args, kwargs: as for the function, or for `Signature`.

        Raises:
            TypeError: the function was not saved for such arguments.
            ValueError: there are several signatures, and none of this name.
        """
        if self._own is not None:
            return self._own(*args, **kwargs)
        found = self._main(*args, **kwargs)
        return next(iter(found.values())) if len(found) == 1 else found

    @cached_property
    def _own(self) -> RestoredFunction | None:
        number = None if self._objects is None else self._objects.children(0).get("__call__")
        return None if number is None or self._objects is None else _object(self._objects, "__call__", number)

    def results(self, *names: str, feeds: Iterable[str] = ()) -> Signature:
        """A new signature, from the placeholders of the file's graph to tensors of it.

        Args:
            names: of tensors, such as `dense_1/BiasAdd:0`; they are the keys of the results.
            feeds: names of placeholders with a default, such as `keep_prob`, that become inputs; others have it.

        Raises:
            KeyError: there is no such tensor, or no such placeholder; the message lists names that end alike.
        """
        return Signature("results", self._saved.read_signature("results", self._saved.results(names, feeds)))

    @cached_property
    def _main(self) -> Signature:
        names = list(self.signatures)
        if SERVING not in names and len(names) != 1:
            problem = f"it has the signatures {', '.join(names) or 'none'}; call one, model.signatures[name](...)."
            raise op_error(ValueError, "saved_model", problem)
        return self.signatures[SERVING if SERVING in names else names[0]]

    def _edits(self) -> list[Callable[[Patch], None]]:
        """The edited signatures and functions, as changes of the message in the file."""
        named = {name: one for name, one in self.signatures.made.items() if one.is_edited}
        made = [] if self._objects is None else self._objects.made.values()
        return [
            *(partial(Patch.signature, name=name, **one.parts) for name, one in named.items()),
            *(edit for one in made if isinstance(one, RestoredFunction) for edit in one.edits()),
        ]

    @property
    def graph(self) -> Graph:
        """The graph of the signature that a call runs."""
        return self._main.graph

    @property
    def signature(self) -> Signature:
        """The signature that a call runs: `serving_default`, or the only one."""
        return self._main

    @property
    def variables(self) -> list[Variable]:
        """The variables that the signatures read or assign."""
        for name in self.signatures:
            self.signatures[name]  # reading makes its variables
        return list(self._saved.variables.values())

    def __repr__(self) -> str:
        return f"<model {str(self._saved.file)!r}: {', '.join(self.signatures)}>"


def load(
    path: str | os.PathLike[str],
    tags: Iterable[str] | None = None,
    shapes: Mapping[str, Sequence[int | None]] | None = None,
) -> LoadedModel:
    """Load a SavedModel, a frozen graph, or a graph with its checkpoint, of TensorFlow.

    Nothing in the file is executed, and TensorFlow is not needed.  A node that Dovetail cannot compute becomes an
    opaque operation of the graph: it can be looked at and cut away, and a run that needs it names it.

    Args:
        path: the folder of a SavedModel; a file with a `GraphDef`, `.pb`, or `.pbtxt` for text; or a `.meta` beside
            its checkpoint.
        tags: which graph of a SavedModel to take, if it has several.
        shapes: keys of inputs of signatures → their shapes, in place of the shapes in the file.

    Returns:
        The model: `model(x)` runs it, `model.signatures` has all ways to run it, `model.graph` can be edited, and
        `model.variables` are `Variable`s.

    Raises:
        FileNotFoundError: there is no such file.
        FormatError: it is damaged, or no graph has the tags.
        ImportError: the extra `formats` is not installed.
        KeyError: no signature has an input of a key among `shapes`.

    Source: `tf.saved_model.load`.

    Example:
        >>> model = load("tests/formats/tensorflow/models/mlp")
        >>> model(np.zeros((1, 6), "float32")).shape
        (1, 3)
        >>> model.graph.find("Relu")
        [<operation sequential_1/dense_1/Relu Relu>]
    """
    need("saved_model.load")
    file = Path(path)
    if file.is_dir():
        saved = read_saved_model(file, tags)
    else:
        saved = read_meta_graph(file) if file.name.endswith(".meta") else read_graph_def(file)
    keys = [key for signature in saved.signatures.values() for key in signature.inputs]
    saved.shapes = given_shapes(shapes or {}, keys)
    return LoadedModel(saved)


def given_shapes(shapes: Mapping[str, Sequence[int | None]], keys: Iterable[str]) -> dict[str, tuple[int | None, ...]]:
    """Shapes of inputs that a user gives.

    Raises:
        KeyError: there is no such input.
    """
    known = list(dict.fromkeys(keys))
    for key in shapes:
        if key not in known:
            raise KeyError(f"there is no input {key!r}; there are {', '.join(known) or 'none'}")
    return {key: tuple(shape) for key, shape in shapes.items()}


__all__ = ["LoadedModel", "Signature", "load"]
