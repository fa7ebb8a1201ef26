"""TensorFlow's names for compiled functions."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from dovetail.compat.tensorflow.table import function
from dovetail.compat.tf_graph.graph import TensorFlowGraph
from dovetail.core.base.errors import check_callable
from dovetail.core.values.spec import TensorSpec
from dovetail.core.values.structure import map_structure
from dovetail.core.values.variable import Variable
from dovetail.formats.tensorflow.saving import Traced
from dovetail.functions.function import Function, Options
from dovetail.functions.function_files import Recording, TracedFunction
from dovetail.graph.operation import GraphTensor
from dovetail.passes.resolve import resolved
from dovetail.saved_model.saving import traced
from dovetail.saved_model.signatures import variables_of

_settings = {"eager": False}


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
    """A compiled function; its Python is not translated, so branches on tensors are `tf.cond`.

    Source: `tf.function`.
    """
    if func is None:
        return lambda func: tf_function(func, input_signature)
    check_callable("tf.function", func)
    compiled = Function(func, input_signature, options=Options(graph=TensorFlowGraph))
    return _Switched(func, compiled)


class _Switched:
    """A compiled function that calls its Python function instead, if `tf.config.run_functions_eagerly` said so."""

    def __init__(self, python_function: Callable[..., Any], compiled: Any) -> None:
        self.python_function, self.compiled = python_function, compiled
        self.__wrapped__ = python_function
        self.__name__ = getattr(python_function, "__name__", "function")
        self.__doc__ = python_function.__doc__

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return (self.python_function if _settings["eager"] else self.compiled)(*args, **kwargs)

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
        inputs, outputs: the tensors of the graph.

    Source: `tf.types.experimental.ConcreteFunction`.
    """

    def __init__(self, compiled: Function[..., Any], args: Any, kwargs: Any) -> None:
        self.graph = compiled.graph(*args, **kwargs)
        self._compiled, self._trace = compiled, compiled.trace(*args, **kwargs)
        recording = Recording.of(self._trace)._replace(graph=self.graph)
        self._run = _OneTrace(compiled._name, [recording], None, compiled._options._replace(passes=()))

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
        if any(isinstance(value, _PYTHONS) for value in (*args, *kwargs.values())):
            given, named = self._specs
            args = (*map(_taken, given, args), *args[len(given) :])
            kwargs = {key: _taken(named.get(key), value) for key, value in kwargs.items()}
        return self._run(*args, **kwargs)

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
