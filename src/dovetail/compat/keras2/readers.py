"""Losses and metrics that read tensors of their model, as in Keras 2: `lambda y, p: K.mean(z * y)`."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import keras

from dovetail.compat.kept import kept_by
from dovetail.compat.keras2.patches import Patch
from dovetail.interop.keras.running import Known, value_of
from dovetail.interop.keras_values import READ, in_run, run_of, source
from dovetail.interop.privates import Function, Functional, LossFunctionWrapper, tree

HISTORY = "_keras_history"  # an attribute by which a loss finds its model
ENDS = {"input", "inputs", "output", "outputs"}  # attributes of models and layers that are tensors


def patches() -> Iterable[Patch]:
    """Yield the changes of models, and of losses that are functions."""
    if keras.config.backend() == "dovetail":
        yield Patch(Function, "_run_through_graph", _that_remembers(Function._run_through_graph))
        yield Patch(LossFunctionWrapper, "call", _of_the_run(LossFunctionWrapper.call))
        wrapper = keras.metrics.MeanMetricWrapper
        yield Patch(wrapper, "update_state", _with_variables(wrapper.update_state))
        yield Patch(keras.metrics.Mean, "update_state", _in_the_run(keras.metrics.Mean.update_state))


def noting(compile: Callable[..., None]) -> Callable[..., None]:
    """Wrap `compile`: it notes whether a loss or a metric reads tensors."""

    @functools.wraps(compile)
    def call(self: Any, *args: Any, **kwargs: Any) -> None:
        compile(self, *args, **kwargs)
        vars(self)["_is_read"] = isinstance(self, (Functional, keras.Sequential)) and any(
            map(reads, tree.flatten((args, kwargs)))
        )

    return call


def with_tensors(method: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a method that computes losses or metrics: these find the values of the model's tensors."""

    @functools.wraps(method)
    def call(self: Any, x: Any = None, y: Any = None, y_pred: Any = None, *args: Any, **kwargs: Any) -> Any:
        if not vars(self).get("_is_read"):
            return method(self, x, y, y_pred, *args, **kwargs)
        graph = getattr(self, "_functional", self)  # which a Sequential runs
        vars(graph)["_is_read"] = True
        known: Known = vars(graph).pop("_known", {})
        predictions = tree.flatten(y_pred)
        if any(known.get(id(t), (t, t))[1] is not p for t, p in zip(graph._outputs, predictions, strict=True)):
            y_pred = self(x, training=kwargs.get("training", False))  # the predictions are of another run
            known = vars(graph).pop("_known")
        vars(graph)["_known"] = known
        with run_of(functools.partial(value_of, known=known, of_source=source())):
            return method(self, x, y, y_pred, *args, **kwargs)

    return call


def _that_remembers(run: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap the method that runs a model: if tensors are read, it keeps all their values, which layers find, too."""

    @functools.wraps(run)
    def call(self: Any, inputs: Any, operation_fn: Any = lambda operation: operation, call_fn: Any = None) -> Any:
        if call_fn is not None or not (READ or vars(self).get("_is_read")):
            return run(self, inputs, operation_fn, call_fn)
        known: Known = {id(t): (t, value) for t, value in zip(self._inputs, tree.flatten(inputs), strict=True)}
        nodes = (node for _, level in sorted(self._nodes_by_depth.items(), reverse=True) for node in level)
        with run_of(functools.partial(value_of, known=known, of_source=source())):
            for node in nodes:
                if not node.is_input:
                    args, kwargs = node.arguments.fill_in({key: value for key, (_, value) in known.items()})
                    results = tree.flatten(operation_fn(node.operation)(*args, **kwargs))
                    known.update((id(t), (t, value)) for t, value in zip(node.outputs, results, strict=True))
        vars(self)["_known"] = known
        return tree.pack_sequence_as(self._outputs_struct, [known[id(t)][1] for t in self._outputs])

    return call


def _of_the_run(loss: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a loss: a result that is made of the model's tensors alone is computed."""
    return functools.wraps(loss)(lambda self, *args, **kwargs: in_run(loss(self, *args, **kwargs)))


def _with_variables(update_state: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap the method of a metric that is a function: TensorFlow's metrics in it keep their sums."""

    @functools.wraps(update_state)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        with kept_by(self):
            return update_state(self, *args, **kwargs)

    return call


def _in_the_run(update_state: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap the method of a mean: it also takes values that are made of the model's tensors alone.

    A metric that is a scalar is the same for each weight, such as that of a mask.
    """

    @functools.wraps(update_state)
    def call(self: Any, values: Any, sample_weight: Any = None) -> Any:
        value = in_run(values)
        is_scalar = not getattr(value, "shape", ())
        return update_state(
            self, value, None if is_scalar and len(getattr(sample_weight, "shape", ())) else sample_weight
        )

    return call


def reads(function: Any, depth: int = 4) -> bool:
    """Whether a function, or one that it mentions, mentions a tensor of a model."""
    if isinstance(function, keras.KerasTensor) or function is HISTORY or not depth:
        return bool(depth)
    return any(reads(each, depth - 1) for each in _mentioned(function))


def _mentioned(function: Any) -> Iterator[Any]:
    """The values that a function of the program mentions."""
    if isinstance(function, functools.partial):
        yield from (function.func, *function.args, *function.keywords.values())
    if not inspect.isroutine(function) or (function.__module__ or "").startswith(("keras.", "dovetail.")):
        return
    if inspect.isbuiltin(function) or not hasattr(function, "__code__"):
        return
    variables, owner = inspect.getclosurevars(function), getattr(function, "__self__", None)
    held = vars(owner) if hasattr(owner, "__dict__") else {}
    if HISTORY in variables.unbound:
        yield HISTORY
    values = [
        *variables.nonlocals.values(),
        *variables.globals.values(),
        *(held.get(name) for name in variables.unbound),
    ]
    for value in values:
        yield from value if isinstance(value, (list, tuple)) else [value]
        if isinstance(value, keras.layers.Layer):
            yield from (getattr(value, name, None) for name in ENDS & variables.unbound)
