"""Signatures: named inputs and results of a model, which can be called, edited and trained."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

from dovetail.core.base.errors import op_error
from dovetail.core.values.spec import TensorSpec
from dovetail.core.values.variable import Variable
from dovetail.edit.graph import Graph
from dovetail.formats.tensorflow.saved_model import Read, SavedGraph, read_of
from dovetail.formats.tensorflow.values import Spec
from dovetail.functions.function import Function, function
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
    new_keys = [keys.get(key, key) for key in known]
    if len({*new_keys}) < len(new_keys):
        raise ValueError(f"{name!r} would have one key twice among its {way}, {', '.join(new_keys)}")
    return new_keys


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
        results = self._program.run(self._run, [given[key] for key in self.input_keys])
        return dict(zip(self.output_keys, results, strict=True))

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
        compiled = function(lambda **given: self(**given), name=self.name)
        compiled.trace(**{key: tensor.spec for key, tensor in zip(self.input_keys, self.graph.inputs, strict=True)})
        return compiled

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
