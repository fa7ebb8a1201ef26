"""TensorFlow's names for Python inside of programs: functions of arrays and of tensors, called when a graph runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dovetail import ops
from dovetail.autodiff.tape import GradientTape
from dovetail.compat.tensorflow import graph_mode
from dovetail.compat.tensorflow.names.strings.tensors import called
from dovetail.compat.tensorflow.names.strings.text import STRING, is_text, text
from dovetail.compat.tensorflow.table import function
from dovetail.core.base.errors import op_error
from dovetail.core.dtypes import as_dtype
from dovetail.core.values.value_kinds import dtype_of, is_recorded, is_tensor
from dovetail.trace import trace


class OnTensors:
    """A function of tensors, wrapped as a differentiable function of arrays.

    Args:
        function: takes tensors, and returns a tensor or a list of them.
        taken: the number of its arguments.
        floats: the numbers of its arguments and of its results with a float dtype.
    """

    def __init__(self, function: Callable[..., Any], taken: int, floats: tuple[int, int]) -> None:
        self._function, self._taken, self._floats = function, taken, floats
        self.__name__ = getattr(function, "__name__", "function")

    def __call__(self, *arrays: np.ndarray) -> Any:
        result = self._function(*map(ops.convert, arrays))
        if isinstance(result, (list, tuple)):
            return [np.asarray(x) for x in result]
        return None if result is None else np.asarray(result)

    @property
    def gradient(self) -> OnTensors:
        """The function's gradient, as a function of the same kind."""
        sources, arriving = self._floats
        return OnTensors(self._backward, self._taken + arriving, (sources + arriving, sources))

    def _backward(self, *given: Any) -> list[Any]:
        xs, arriving = given[: self._taken], given[self._taken :]
        sources = [x for x in xs if x.dtype.is_differentiable]
        with GradientTape() as tape:
            tape.watch(sources)
            result = self._function(*xs)
        results = map(ops.convert, result if isinstance(result, (list, tuple)) else [result])
        targets = [y for y in results if y.dtype.is_differentiable]
        gradients = tape.gradient(targets, sources, list(arriving))
        return [ops.zeros_like(x) if g is None else g for x, g in zip(sources, gradients, strict=True)]


class OnScalars:
    """A function of arrays that gets numbers of NumPy, and bytes, in place of arrays without axes.

    Args:
        function: the function.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self.__name__ = getattr(function, "__name__", "function")

    def __call__(self, *arrays: np.ndarray) -> Any:
        return self._function(*(x[()] for x in arrays))


def _call(op: str, func: Callable[..., Any], inp: Sequence[Any], Tout: Any, name: str | None) -> Any:
    """Record the call in the graph that is being built, or in an argument's graph; outside of graphs, compute it."""
    several = isinstance(Tout, (list, tuple))
    wanted = list(Tout) if several else [] if Tout is None else [Tout]
    results: Any
    inputs: list[Any] = list(inp) if isinstance(inp, (list, tuple)) else [inp]
    graph = trace.current_graph() or graph_mode.graph() or next((x.graph for x in inputs if is_recorded(x)), None)
    dtypes = tuple(STRING if is_text(None, dtype) else as_dtype(dtype) for dtype in wanted)
    if graph is None:
        results = _computed(func, inputs, dtypes, op == "EagerPyFunc")
    else:
        results = _recorded(graph, op, func, inputs, dtypes, name)
    if several or not isinstance(results, list):
        return results
    return results[0] if results else None


def _computed(func: Callable[..., Any], inputs: list[Any], dtypes: tuple[Any, ...], on_tensors: bool) -> list[Any]:
    tensors = [text(x) if is_text(x) else ops.convert(x) for x in inputs]
    arrays = [np.array(x.numpy(), object if is_text(x) else None) for x in tensors]
    result = func(*tensors) if on_tensors else OnScalars(func)(*arrays)
    results = list(result) if isinstance(result, (list, tuple)) else [] if result is None else [result]
    if len(results) != len(dtypes) and dtypes:
        name = getattr(func, "__name__", "func")
        raise ValueError(f"{name} must give {len(dtypes)} results, as Tout says, not {len(results)}.")
    pairs = zip(results, dtypes, strict=False)
    return [
        text(x) if dtype is STRING else ops.cast(x, dtype) if is_tensor(x) else ops.convert(np.asarray(x), dtype)
        for x, dtype in pairs
    ]


def _recorded(
    graph: Any, op: str, func: Callable[..., Any], inputs: list[Any], dtypes: tuple[Any, ...], name: str | None
) -> Any:
    """The results in a graph; without results, the operation."""
    with graph_mode.inside(graph):
        given = tuple(x if is_tensor(x) or is_text(x) else ops.convert(x) for x in inputs)
        floats = [
            sum(as_dtype(d).is_differentiable for d in part if d is not STRING)
            for part in ([STRING if is_text(x) else dtype_of(x) for x in given], dtypes)
        ]
        on_tensors = op == "EagerPyFunc"
        function = OnTensors(func, len(inputs), (floats[0], floats[1])) if on_tensors else OnScalars(func)
        if dtypes:
            return called(function, given, dtypes, (), name, op)
    return done_in(graph, function, given, name)


def done_in(graph: Any, function: Callable[..., Any], inputs: Sequence[Any], name: str | None = None) -> Any:
    """Make the operation that calls a function of arrays for its side effects."""
    with graph_mode.inside(graph):
        return called(Silent(function), inputs, ["bool"], [()], name)[0].op


class Silent:
    """A function that is called for its side effects, and returns True.

    Args:
        function: the function, whose results are dropped.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.__name__ = getattr(function, "__name__", "function")

    def __call__(self, *arrays: np.ndarray) -> bool:
        self.function(*arrays)
        return True


@function("py_func numpy_function")
def py_func(func: Any = None, inp: Any = None, Tout: Any = None, stateful: bool = True, name: str | None = None) -> Any:
    """The results of a Python function of arrays, at once or whenever the graph is run; it has no gradient of its own.

    Source: `tf.compat.v1.py_func`, `tf.numpy_function`.
    """
    return _call("PyFunc" if stateful else "PyFuncStateless", func, inp, Tout, name)


@function("py_function")
def py_function(func: Any = None, inp: Any = None, Tout: Any = None, name: str | None = None) -> Any:
    """The results of a Python function of tensors, at once or whenever the graph is run; gradients pass through it.

    Source: `tf.py_function`.
    """
    return _call("EagerPyFunc", func, inp, Tout, name)


@function("count_up_to", "v1")
def count_up_to(ref: Any, limit: int, name: str | None = None) -> Any:
    """The value of a variable, to which a run then adds 1; from the limit on, a run raises IndexError.

    Source: `tf.compat.v1.count_up_to`.
    """

    def below(count: np.ndarray) -> np.ndarray:
        if count >= limit:
            raise op_error(IndexError, "tf.count_up_to", f"the variable has reached the limit {limit}.")
        return count

    graph = graph_mode.open_graph()
    before = py_func(below, [ref], ref.dtype)
    before.set_shape(ref.shape)
    with graph.control_dependencies([before]), graph.control_dependencies([ref.assign_add(1).op]):
        return ops.identity(before, name=name)
