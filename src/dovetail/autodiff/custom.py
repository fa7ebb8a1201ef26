"""Functions with custom gradients: `custom_gradient`.

A function with a custom gradient runs as usual; its results then pass an `IdentityN` that also takes the arguments.
The gradient of that node sends nothing back into the results.  It sends the arguments the gradients that the gradient
function returns.  In a graph the gradient function is traced at once, to a separate graph, so that the node can be
copied elsewhere.  For an engine's own values, the engine's own mechanism for custom gradients is used.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dovetail import ops
from dovetail.autodiff.recorder import Recorder
from dovetail.core.base.errors import check_callable, describe, op_error
from dovetail.core.base.scopes import DEFAULT_GRAPH, Scoped, record_on, scopes
from dovetail.core.dtypes import native_to_dtype, promote
from dovetail.core.engine import Engine
from dovetail.core.tensor import Tensor
from dovetail.core.values import arguments
from dovetail.core.values.recording import Record
from dovetail.core.values.structure import flatten, flatten_like, unflatten
from dovetail.core.values.value_kinds import dtype_of, followed, highest, is_tensor, kind_of
from dovetail.core.values.variable import Variable
from dovetail.edit.graph import Graph, GraphTensor, Operation, new_graph
from dovetail.edit.transplant import copy_into
from dovetail.trace import trace, variables

Rule = Callable[..., list[Any]]  # gradients of the results → gradients of the tensors and variables that were used


def custom_gradient(function: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate a function with a custom gradient.

    Args:
        function: returns its result, a tensor or a structure of them, and a gradient function.  The gradient function
            takes a gradient for each tensor of the result.  It returns one for each argument, None for an argument
            without one.  If `function` uses trainable variables, the gradient function also takes `variables=`, the
            list of them, and returns a pair: the gradients of the arguments and the list of gradients of the variables.

    Returns:
        A function of the same arguments that returns the result; keyword arguments are not differentiated.

    Raises:
        TypeError: `function` cannot be called.  A call raises it, too, if `function` returns no such pair or gets a
            KerasTensor, or if its gradient function does not take the variables.

    Source: `tf.custom_gradient`.

    Example:
        >>> from dovetail import GradientTape, ops
        >>> @custom_gradient
        ... def steep_tanh(x):
        ...     y = ops.tanh(x)
        ...     return y, lambda g: g * 2
        >>> x = ops.constant(3.)
        >>> with GradientTape() as tape:
        ...     tape.watch(x)
        ...     y = steep_tanh(x)
        >>> float(tape.gradient(y, x))
        2.0
    """

    check_callable("custom_gradient", function)

    @functools.wraps(function)
    def with_gradient(*args: Any, **kwargs: Any) -> Any:
        return call(function, args, kwargs)

    return with_gradient


def call(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call a function that returns its result and a gradient function, and attach that gradient to the result."""
    name = getattr(function, "__name__", "custom_gradient")
    graph = graph_of_call(flatten(args, name)[0], name)
    if graph is None:
        return CustomCall(function, args, kwargs).result()
    with graph.as_default():  # else the recorder in here would make ops on variables eager
        return CustomCall(function, args, kwargs).result()


def graph_of_call(leaves: Sequence[Any], name: str) -> Graph | None:
    """The graph in which a call of a function with these values is recorded; None if it is computed.

    Args:
        leaves: the arguments, flat.
        name: the name of the function, for errors.

    Raises:
        TypeError: a leaf belongs to a functional model of Keras.
    """
    current = trace.current_graph()
    if current is not None:
        return current
    graph = next((trace.open_graph(leaf, name) for leaf in leaves if type(leaf) is GraphTensor), None)
    kind, decides = highest(leaves)
    if kind.is_of_model:
        problem = f"{describe(decides)} belongs to a functional model of Keras, which keeps operations, not functions"
        raise op_error(TypeError, name, f"{problem}; call it in the `call` of a keras.layers.Layer.")
    return DEFAULT_GRAPH.get() if graph is None and kind is trace.GRAPH else graph  # a symbolic variable decided


class CustomCall:
    """One call of a function that returns its result and a gradient function."""

    def __init__(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.function = function
        self.name = getattr(function, "__name__", "custom_gradient")
        self.kwargs = kwargs
        given, self.structure = flatten(args, self.name)
        given = [*map(followed, given)]
        self.leaves = [_as_tensor(leaf) for leaf in given]
        self.engine = native_engine(given)
        counts = is_tensor if self.engine is None else differentiates_itself
        self.moving = [i for i, leaf in enumerate(self.leaves) if counts(leaf)]
        self.variables: list[Variable] = [leaf for leaf in given if isinstance(leaf, Variable)]

    def result(self) -> Any:
        """The function's result, with its gradient attached."""
        if self.engine is not None:
            return self._native(self.engine)
        result, rule = self._run(self.leaves)
        leaves, structure = flatten(result, self.name)
        if not leaves:
            return result
        results = [leaf if is_tensor(leaf) else ops.convert(leaf) for leaf in leaves]
        sources = [*(self.leaves[i] for i in self.moving), *(v.read() for v in self.variables)]
        in_graph = next((t.graph for t in (*results, *sources) if type(t) is GraphTensor), None)
        attach = self._taped if in_graph is None else functools.partial(self._recorded, in_graph)
        return unflatten(structure, attach(results, sources, rule))

    def _run(self, leaves: Sequence[Any]) -> tuple[Any, Rule]:
        """Call the function, and return its result and the rule of its gradient."""
        passed = {id(v) for v in self.variables}
        with ReadVariables() as reads:
            pair = self.function(*unflatten(self.structure, leaves), **self.kwargs)
        if not isinstance(pair, (tuple, list)) or len(pair) != 2 or not callable(pair[1]):
            problem = f"it must return a pair, its result and a gradient function, but it returned {describe(pair)}."
            raise op_error(TypeError, self.name, problem)
        result, gradient = pair
        self.variables = variables = [v for v in reads.variables.values() if id(v) not in passed]
        if variables and not _takes_variables(gradient):
            names = ", ".join(v.name for v in variables)
            problem = f"{self.name} uses the variables {names}, so its gradient function must take `variables=` too."
            raise op_error(TypeError, "custom_gradient", problem)

        def rule(*arriving: Any) -> list[Any]:
            if not variables:
                return self._of_arguments(gradient(*arriving))
            of_arguments, of_variables = gradient(*arriving, variables=variables)
            if len(of_variables) != len(variables):
                problem = f"its gradient function returned {len(of_variables)} gradients of {len(variables)} variables."
                raise op_error(ValueError, self.name, problem)
            fitted = [self._fitted(g, v) for g, v in zip(of_variables, variables, strict=True)]
            return [*self._of_arguments(of_arguments), *fitted]

        return result, rule

    def _of_arguments(self, gradients: Any) -> list[Any]:
        """Flatten the result of a gradient function to one gradient for each tensor among the arguments."""
        given = gradients if isinstance(gradients, (tuple, list)) else (gradients,)
        nested = any(isinstance(g, (tuple, list, dict)) for g in given)
        if nested or len(given) not in (len(self.leaves), len(self.moving)):
            try:
                given = flatten_like(self.structure, tuple(given))
            except ValueError as error:
                problem = f"the gradient function must return a gradient for each argument; it {error}"
                raise op_error(ValueError, self.name, problem) from None
        of_tensors = given if len(given) == len(self.moving) else [given[i] for i in self.moving]
        return [self._fitted(g, self.leaves[i]) for g, i in zip(of_tensors, self.moving, strict=True)]

    def _fitted(self, gradient: Any, source: Any) -> Any:
        if gradient is None or not native_to_dtype(source.dtype).is_differentiable:
            return None
        gradient = gradient if is_tensor(gradient) else ops.convert(gradient)
        shapes = gradient.shape, source.shape
        if all(s is not None and None not in s for s in shapes) and tuple(shapes[0]) != tuple(shapes[1]):
            problem = f"its gradient function returned a gradient of shape {shapes[0]} for one of shape {shapes[1]}."
            raise op_error(ValueError, self.name, problem)
        return gradient if gradient.dtype == source.dtype else ops.cast(gradient, source.dtype)

    # how the gradient is attached

    def _taped(self, results: list[Any], sources: list[Any], rule: Rule) -> list[Any]:
        outputs = [Tensor(t._value, t._engine) for t in results]
        nothing = [None] * len(results)
        node = Record(ops.identity_n, [(*results, *sources)], outputs, lambda _, *arriving: nothing + rule(*arriving))
        for tape in scopes().tapes:
            if tape.watches(node.op, node.args):
                tape.add(node)
        return outputs

    def _recorded(self, graph: Graph, results: list[Any], sources: list[Any], rule: Rule) -> list[Any]:
        current = trace.current_graph()
        graph = graph if current is None else current
        gradient: Callable[..., Any]
        captured: list[Any] = []
        if self.function in _being_traced.get():  # its gradient calls the function itself: run it on request
            gradient = self._run_again
        else:
            with _being_traced.scope((*_being_traced.get(), self.function)):
                gradient, captured = _trace_gradient(rule, graph, results, sources, self.name)
        outputs = trace.record(ops.identity_n, [(*results, *sources, *captured)])
        outputs[0].op.gradient_function = gradient
        return list(outputs[: len(results)])

    def _run_again(self, node: Operation, *arriving: Any) -> list[Any]:
        count = len(arriving) - len(self.moving) - len(self.variables)
        leaves = replaced(self.leaves, self.moving, node.inputs[count:])
        return [*[None] * count, *self._run(leaves)[1](*arriving[:count])]

    def _native(self, engine: Engine) -> Any:
        form: list[Any] = []

        def run(*natives: Any) -> Any:
            result, rule = self._run(replaced(self.leaves, self.moving, natives))
            values, form[:] = native_leaves(result, engine)
            return values, lambda *arriving: rule(*arriving)[: len(natives)]

        values = engine.custom_gradient(run, [self.leaves[i] for i in self.moving])
        return unflatten(form[0], [engine.owned(value) for value in values])


# -- gradient functions as graphs -------------------------------------------------------------------------------------


@dataclass
class _TracedGradient:
    """The gradient function of a node: a graph, which is copied to the graph that computes the gradient.

    Attributes:
        graph: takes the gradients of the float results, then the captured tensors, which are the last inputs of the
            node.
        arriving: the numbers of the float results.
        departing: for each output of the graph, the number of the node's input whose gradient it is.
    """

    graph: Graph
    arriving: list[int]
    departing: list[int]

    def __call__(self, node: Operation, *arriving: Any) -> list[Any]:
        current = trace.current_graph()
        target = node.graph if current is None else current
        captured = len(self.graph.inputs) - len(self.arriving)
        tensors = [arriving[i] for i in self.arriving] + node.inputs[len(node.inputs) - captured :]
        gradients: list[Any] = [None] * len(node.inputs)
        with target.as_default():
            inputs = [trace.to_graph(t, t.dtype, target, node.op) for t in tensors]
            departing = copy_into(self.graph, target, inputs)
            for i, tensor in zip(self.departing, departing, strict=True):
                gradients[i] = tensor
        return gradients


def _trace_gradient(
    rule: Rule, around: Graph, results: list[Any], sources: list[Any], name: str
) -> tuple[_TracedGradient, list[Any]]:
    """Trace the gradient function, and return its graph and the tensors that it captured, from `around` or eager."""
    graph = new_graph(f"{name}_gradient", around)
    with record_on(tape.eager_only() for tape in scopes().tapes), graph.as_default():
        floats = [i for i, t in enumerate(results) if t.dtype.is_differentiable]
        arriving: list[Any] = [None] * len(results)
        for i in floats:
            arriving[i] = graph.placeholder(results[i].spec, "gradient")
        gradients = rule(*arriving)
        reached = [i for i, g in enumerate(gradients) if g is not None]
        graph.outputs = [trace.to_graph(gradients[i], sources[i].dtype, graph, ops.identity_n) for i in reached]
    if graph.state.assigned:
        names = ", ".join(v.name for v in graph.state.assigned)
        raise op_error(ValueError, name, f"its gradient function assigns {names}, which it cannot in a graph.")
    origins: dict[GraphTensor, Any] = {inner: outer for outer, inner in graph.captures.items()}
    origins |= {inner: variables.read_variable(around, variable) for variable, inner in graph.state.inputs.items()}
    departing = [len(results) + i for i in reached]
    return _TracedGradient(graph, floats, departing), [origins[t] for t in graph.inputs[len(floats) :]]


_being_traced: Scoped[tuple[Any, ...]] = Scoped(())  # the functions whose gradients are being traced


# -- arguments and variables ------------------------------------------------------------------------------------------


class ReadVariables(Recorder):
    """A recorder that notes which trainable variables are read, and records nothing else."""

    def __init__(self) -> None:
        super().__init__()
        self.variables: dict[int, Variable] = {}

    def record_read(self, variable: Variable, value: Any) -> None:
        if variable.trainable and variable.dtype.is_differentiable:
            self.variables[id(variable)] = variable


def _takes_variables(gradient: Callable[..., Any]) -> bool:
    parameters = inspect.signature(gradient).parameters.values()
    return any(p.name == "variables" or p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters)


def differentiates_itself(value: Any) -> bool:
    """Whether a value's own library differentiates computations with it."""
    return kind_of(value).autodiff(value) is not None


def _as_tensor(value: Any) -> Any:
    """An argument in the form that the function gets: variables are read, arrays become tensors, others stay."""
    if isinstance(value, Variable):
        return value.read()
    return ops.convert(value) if isinstance(value, (np.ndarray, np.generic)) else value


def native_engine(leaves: Sequence[Any]) -> Engine | None:
    """The engine whose own values are among the arguments; None if there are none, or if a graph tensor is."""
    kind, value = highest(leaves)
    return kind.autodiff(value)


def native_leaves(result: Any, engine: Engine) -> tuple[list[Any], list[Any]]:
    """The tensors of a result as an engine's own values, and the result's structure in a list."""
    leaves, structure = flatten(result)
    tensors = [arguments.as_tensor(v, promote([dtype_of(v)]), engine.native) for v in leaves]
    return [t._value for t in tensors], [structure]


def replaced(values: Sequence[Any], positions: Sequence[int], new: Sequence[Any]) -> list[Any]:
    """A list of the values, with new ones at these positions."""
    replaced = list(values)
    for position, value in zip(positions, new, strict=False):
        replaced[position] = value
    return replaced
