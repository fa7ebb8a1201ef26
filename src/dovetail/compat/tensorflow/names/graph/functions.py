"""TensorFlow's names for compiled functions."""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from dovetail.compat.autograph.features import Options as Features
from dovetail.compat.autograph.features import features
from dovetail.compat.autograph.status import scoped
from dovetail.compat.tensorflow.names.strings.tensors import as_numbers, with_strings
from dovetail.compat.tensorflow.names.strings.text import Text, is_text
from dovetail.compat.tensorflow.table import function
from dovetail.compat.tf_graph.graph import TensorFlowGraph
from dovetail.core.base.errors import check_callable
from dovetail.core.values.spec import TensorSpec
from dovetail.core.values.structure import flatten, map_structure, unflatten, with_values
from dovetail.core.values.variable import Variable
from dovetail.edit.operations import rename
from dovetail.formats.tensorflow.saving import Traced
from dovetail.functions.function import Function, Options
from dovetail.functions.function_files import Recording, TracedFunction
from dovetail.graph.journal import no_part_of_edits
from dovetail.graph.naming import unique_name
from dovetail.graph.operation import GraphTensor
from dovetail.passes.resolve import resolved
from dovetail.saved_model.saving import traced
from dovetail.saved_model.signatures import variables_of

_settings = {"eager": False}
_numbers = itertools.count()  # of concrete functions


@function("function")
def tf_function(
    func: Any = None,
    input_signature: Any = None,
    autograph: bool = True,
    jit_compile: bool | None = None,
    reduce_retracing: bool = False,
    experimental_implements: Any = None,
    experimental_autograph_options: Any = None,
    experimental_attributes: Any = None,
    experimental_relax_shapes: Any = None,
    experimental_compile: Any = None,
    experimental_follow_type_hints: Any = None,
) -> Any:
    """A compiled function; branches and loops of its Python on tensors are recorded, unless `autograph` is False.

    Args:
        autograph: whether they are.
        experimental_autograph_options: a `tf.autograph.experimental.Feature`, or several: `print`, assertions, and
            calls of the like are recorded, too.

    Source: `tf.function`.
    """
    if func is None:
        return lambda func: tf_function(
            func, input_signature, autograph, experimental_autograph_options=experimental_autograph_options
        )
    check_callable("tf.function", func)
    convert = _converter(features(experimental_autograph_options)) if autograph else None
    numbered = _numbered(scoped(convert, func))
    compiled = Function(numbered, input_signature, options=Options(graph=TensorFlowGraph))
    return _Switched(func, compiled)


@dataclass(frozen=True)
class _Numbered:
    """Strings among the arguments or the results of a compiled function, as their numbers."""

    numbers: Any


def _as_numbers(value: Any) -> Any:
    """An argument; known strings are `_Numbered`."""
    return _Numbered(as_numbers(value)[0]) if type(value) is Text else value


def _with_strings(value: Any) -> Any:
    """Strings for what is `_Numbered`; another value as it is."""
    return with_strings(value.numbers, {0}) if isinstance(value, _Numbered) else value


def _result(compiled: Any, result: Any) -> Any:
    """The result of a compiled function, with strings in place of what is `_Numbered`."""
    if not compiled.has_strings:
        return result
    if isinstance(result, dict):
        return with_values(result, {key: _result(compiled, part) for key, part in result.items()})
    if isinstance(result, (list, tuple)):
        parts = [_result(compiled, part) for part in result]
        return type(result)(*parts) if hasattr(result, "_fields") else type(result)(parts)
    return _with_strings(result)


def _numbered(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of a program as one whose strings are `_Numbered`, so that they are inputs and outputs of its graph.

    Its attribute `has_strings` is a list that is not empty once a result had strings.
    """
    has_strings: list[bool] = []

    def call(*args: Any, **kwargs: Any) -> Any:
        named = {key: _with_strings(value) for key, value in kwargs.items()}
        result = function(*map(_with_strings, args), **named)
        leaves, structure = flatten(result, getattr(function, "__name__", "function"))
        if not any(map(is_text, leaves)):
            return result
        has_strings[:] = [True]
        return unflatten(structure, [_Numbered(as_numbers(x)[0]) if is_text(x) else x for x in leaves])

    functools.update_wrapper(call, function)
    call.has_strings = has_strings  # type: ignore[attr-defined]
    return call


def _converter(options: Features) -> Callable[[Any], Any]:
    def convert(function: Any) -> Any:
        from dovetail.compat.autograph.conversion import converted  # when the first function is traced

        return converted(function, options)

    return convert


class _Switched:
    """A compiled function that calls its Python function instead, if `tf.config.run_functions_eagerly` said so."""

    def __init__(self, python_function: Callable[..., Any], compiled: Any) -> None:
        self.python_function, self.compiled = python_function, compiled
        self.__wrapped__ = python_function
        self.__name__ = getattr(python_function, "__name__", "function")
        self.__doc__ = python_function.__doc__

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if _settings["eager"]:
            return self.python_function(*args, **kwargs)
        if any(type(value) is Text for value in (*args, *kwargs.values())):
            args = tuple(map(_as_numbers, args))
            kwargs = {key: _as_numbers(value) for key, value in kwargs.items()}
        return _result(self.compiled, self.compiled(*args, **kwargs))

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        if instance is None:
            return self
        return _Switched(self.python_function.__get__(instance, owner), self.compiled.__get__(instance, owner))

    def get_concrete_function(self, *args: Any, **kwargs: Any) -> ConcreteFunction:
        """The function for arguments of certain shapes and dtypes, which may be `tf.TensorSpec`s.

        Without arguments, it is the function for its input signature.
        """
        return ConcreteFunction(self.compiled, args, kwargs)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.compiled, name)


class ConcreteFunction:
    """A compiled function for arguments of certain shapes and dtypes; `get_concrete_function` makes it.

    Args:
        compiled: the function.
        args, kwargs: arguments as of a call, or specs of them.

    Attributes:
        graph: its graph. The next call sees edits of it; the function of which it was made does not.
        inputs, outputs: the tensors of the graph.  Inputs have the names of their specs, or of the parameters.
        name: the name of its graph, as TensorFlow writes it.

    Source: `tf.types.experimental.ConcreteFunction`.
    """

    def __init__(self, compiled: Function[..., Any], args: Any, kwargs: Any) -> None:
        self.graph = compiled.graph(*args, **kwargs)
        self._compiled, self._trace = compiled, compiled.trace(*args, **kwargs)
        self.name = f"__inference_{compiled._name}_{next(_numbers)}".encode()
        with no_part_of_edits():
            for tensor, name in zip(self.inputs, self._input_names(), strict=True):
                if re.fullmatch(r"arg\d+", tensor.op.name):  # its spec has no name
                    rename(self.graph, {tensor.op: unique_name(self.graph, name)})
        recording = Recording.of(self._trace)._replace(graph=self.graph)
        self._run = _OneTrace(compiled._name, [recording], None, compiled._options._replace(passes=()))

    def _input_names(self) -> list[str]:
        """For each input, the name of the parameter that it is a part of."""
        signature = self.structured_input_signature
        args, kwargs = signature
        known = self._compiled._parameters
        names = [*known[: len(args)], *(f"args_{n}" for n in range(len(args) - len(known)))]
        named = [map_structure(lambda _, name=name: name, arg) for name, arg in zip(names, args, strict=True)]
        keywords = {name: map_structure(lambda _, name=name: name, arg) for name, arg in kwargs.items()}
        pairs = zip(flatten(signature)[0], flatten((tuple(named), keywords))[0], strict=True)
        return [str(name) for spec, name in pairs if isinstance(spec, TensorSpec)]

    @property
    def inputs(self) -> list[GraphTensor]:
        return self.graph.inputs

    @property
    def outputs(self) -> list[GraphTensor]:
        return self.graph.outputs

    @property
    def variables(self) -> list[Variable]:
        """The variables that it reads or assigns."""
        return variables_of(self.graph)

    @property
    def trainable_variables(self) -> list[Variable]:
        """The variables that training changes."""
        return [variable for variable in self.variables if variable.trainable]

    @property
    def structured_input_signature(self) -> tuple[Any, Any]:
        """Its arguments and keywords, with specs in place of tensors."""
        (kind,) = self.traced_kinds()
        specs: tuple[Any, Any] = map_structure(lambda leaf: getattr(leaf, "spec", leaf), (kind.args, kind.kwargs))
        return specs

    @property
    def structured_outputs(self) -> Any:
        """The tensors of its graph in the structure of its result."""
        return self._trace.rebuild(list(self.graph.outputs))

    @property
    def captured_inputs(self) -> list[Any]:
        """The variables, and the tensors from outside, that it computes with."""
        return [*self.variables, *self.graph.closures]

    @property
    def output_shapes(self) -> Any:
        """The shapes of its results, in their structure."""
        return map_structure(lambda tensor: tensor.shape, self.structured_outputs)

    @property
    def output_dtypes(self) -> Any:
        """The dtypes of its results, in their structure."""
        return map_structure(lambda tensor: tensor.dtype, self.structured_outputs)

    def traced_kinds(self) -> list[Traced]:
        """Its graph for a file."""
        return [traced(self._trace, self._compiled, resolved(self.graph, self.graph.name))]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Compute it.

        Args:
            *args, **kwargs: as it is made for; lists and numbers of Python are tensors where it takes some.

        Raises:
            TypeError: the arguments are others than those that it is made for.
        """
        if not self._specs[1].keys() >= kwargs.keys():  # the names of parameters, and of inputs
            by_position = {name: value for name, value in kwargs.items() if name not in self._specs[1]}
            kwargs = {name: value for name, value in kwargs.items() if name in self._specs[1]}
            args = self._by_position(args, by_position)
        if any(isinstance(value, _PYTHONS) for value in (*args, *kwargs.values())):
            given, named = self._specs
            args = (*map(_taken, given, args), *args[len(given) :])
            kwargs = {key: _taken(named.get(key), value) for key, value in kwargs.items()}
        return _result(self._compiled, self._run(*args, **kwargs))

    def _by_position(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
        """The arguments of a call that has names of parameters, or of inputs, in place of some."""
        inputs, places = iter(self.inputs), dict[str, int]()
        for place, (spec, parameter) in enumerate(zip(self._specs[0], self._compiled._parameters, strict=False)):
            names = [next(inputs).op.name for leaf in flatten(spec)[0] if isinstance(leaf, TensorSpec)]
            places |= dict.fromkeys([parameter, *names[: isinstance(spec, TensorSpec)]], place)
        return (*args, *(kwargs[name] for name in sorted(kwargs, key=lambda name: places.get(name, -1))))

    @functools.cached_property
    def _specs(self) -> tuple[Any, Any]:
        return self.structured_input_signature


_PYTHONS = int, float, list


def _taken(spec: Any, value: Any) -> Any:
    """An argument, as an array if it is a list or a number of Python in place of a tensor that has all its values."""
    if not isinstance(spec, TensorSpec) or not isinstance(value, _PYTHONS):
        return value
    try:
        array = np.asarray(value)
    except ValueError:  # the lists are not equally long
        return value
    is_kind = array.dtype.kind in "bif" and np.can_cast(array.dtype, spec.dtype.numpy, "same_kind")
    return array.astype(spec.dtype.numpy) if is_kind else value


class _OneTrace(TracedFunction):
    missing = "it is made for {known}, not for ({given}): get_concrete_function makes one for other arguments."


@function("config.run_functions_eagerly")
def run_functions_eagerly(run_eagerly: bool) -> None:
    """Set whether functions run without being compiled, for a debugger.

    Source: `tf.config.run_functions_eagerly`.
    """
    _settings["eager"] = bool(run_eagerly)


@function("config.functions_run_eagerly")
def functions_run_eagerly() -> bool:
    """Whether functions run without being compiled.

    Source: `tf.config.functions_run_eagerly`.
    """
    return _settings["eager"]
