"""Objects of models: functions as TensorFlow traced them, lists, dicts, and objects with attributes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from typing import Any

import numpy as np

from dovetail import ops
from dovetail.core.base.errors import op_error
from dovetail.core.values.shapes import fits
from dovetail.core.values.spec import TensorSpec
from dovetail.core.values.value_kinds import is_tensor, static_shape
from dovetail.core.values.variable import Variable
from dovetail.edit.graph import Graph
from dovetail.formats.tensorflow.objects import Concrete, Objects, Parameters, filled, leaves, numbered
from dovetail.formats.tensorflow.patching import Patch
from dovetail.formats.tensorflow.values import Spec
from dovetail.graph.reach import walk
from dovetail.saved_model.signatures import Signature


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
            else object_of(objects, "", number)
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
        child = self.__dict__[name] = object_of(self._objects, name, self._objects.children(self._number)[name])
        return child

    def __dir__(self) -> list[str]:
        own = [] if self._objects is None else list(self._objects.children(self._number))
        return [*super().__dir__(), *own]


def object_of(objects: Objects, name: str, number: int) -> Any:
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
        items = {name: object_of(objects, name, child) for name, child in objects.children(one).items()}
        made = objects.made[one]
        made.update(items) if isinstance(made, dict) else made.extend(items[key] for key in numbered(items))
