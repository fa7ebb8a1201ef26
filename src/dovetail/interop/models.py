"""The graphs of Keras models, if Keras runs on Dovetail: to look at, to edit, to predict with, and to count.

This module does not import Keras: it asks the model for its inputs and calls the model's own steps.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dovetail import ops
from dovetail.core.base.errors import describe, op_error
from dovetail.core.values.spec import TensorSpec, spec
from dovetail.core.values.structure import flatten, map_structure, unflatten
from dovetail.edit.graph import Graph
from dovetail.functions.function import Function, function
from dovetail.observe.flops import Flops, flops_of_graph


def graph_of(model: Any, x: Any = None, y: Any = None, *, training: bool = False) -> Graph:
    """The graph of a model's computation.

    Args:
        model: a Keras model; Keras runs on Dovetail.
        x: the model's inputs: arrays, tensors or specs in the model's structure; by default the specs that the model
            declares, with unknown batch sizes.
        y: the targets of a training graph, as `x`; by default they have the specs of the model's outputs.
        training: False for the computation of `predict` on a batch; True for a step of `fit` (the loss, gradients, the
            optimizer's new weights, metrics), for which the model must be compiled.

    Returns:
        A graph whose inputs are the tensors of `x`, and of `y`, and which reads and assigns the model's variables.  It
        is a copy: `dt.function(graph)` runs it, and `predict_by(model, graph)` makes `model.predict` run it.

    Raises:
        ValueError: the inputs are not known; or the model is not compiled, and `training` is True.
        TypeError: the model's Keras does not run on Dovetail.

    Example:
        >>> class Model:  # as far as a model is asked
        ...     input = spec((None, 2))
        ...     def predict_step(self, data):
        ...         return ops.tanh(data[0])
        >>> [operation.type for operation in graph_of(Model())]
        ['Placeholder', 'Tanh']
    """
    x = _specs(_inputs(model) if x is None else x)
    if not training:
        return _traced(lambda x: model.predict_step((x,)), x)
    if not model.compiled:
        raise op_error(ValueError, "graph_of", "a training graph has a loss and an optimizer: compile the model first.")
    y = _specs(_traced(lambda x: model.predict_step((x,)), x).outputs if y is None else y)
    y = y[0] if isinstance(y, list) and len(y) == 1 else y
    model._symbolic_build(data_batch=(x, y))
    return _traced(lambda x, y: model.train_step((x, y)), x, y)


def predict_by(model: Any, graph: Graph) -> None:
    """Make a model's `predict` run a graph; `model.make_predict_function(force=True)` restores the model's own.

    Args:
        model: a Keras model; Keras runs on Dovetail.
        graph: a graph from `graph_of`, edited or not, with the model's inputs.  Later edits are allowed.

    Raises:
        ValueError: the graph and the model have different numbers of inputs.
    """
    if not isinstance(graph, Graph):
        raise op_error(TypeError, "predict_by", f"graph is what graph_of(model) gives, not {describe(graph)}.")
    wanted = len(flatten(_inputs(model))[0]) if getattr(model, "inputs", None) else len(graph.inputs)
    if wanted != len(graph.inputs):
        problem = f"the graph has {len(graph.inputs)} inputs, and the model {wanted}"
        raise op_error(ValueError, "predict_by", f"{problem}: give the graph that graph_of(model) gave.")
    model.predict_function = _predicting(function(graph))


def flops(target: Any, *args: Any, **kwargs: Any) -> Flops:
    """Count the floating-point operations and the parameters of a function, a graph or a Keras model; nothing runs.

    A multiplication and an addition count as two, as in TensorFlow's profiler.  Functions like exp count as one for
    each element, and a composite as the operations of its definition.

    Args:
        target: a function, compiled or not; a graph; a model of a file; or a Keras model, if Keras runs on Dovetail.
        args, kwargs: the arguments of the function: arrays, tensors or specs.  Of a model the inputs, in its
            structure; by default, one example of the shapes that the model declares.

    Returns:
        The costs by operation, layer and type; as text, a table by layer.

    Raises:
        ValueError: a shape is not known.
        TypeError: `target` is none of these.

    Example:
        >>> import dovetail as dt
        >>> w = dt.Variable(dt.ops.ones((3, 4)))
        >>> print(flops(lambda x: dt.ops.tanh(x @ w), dt.spec((2, 3))).table("type"))
        FLOPs  parameters  type
           48          12  MatMul
            8           0  Tanh
           56          12  total
    """
    return flops_of_graph(_graph_for(target, args, kwargs))


def _graph_for(target: Any, args: Any, kwargs: Any) -> Graph:
    if isinstance(target, Graph):
        return target
    if hasattr(target, "predict_step"):
        return graph_of(target, *args or [map_structure(_one_example, _inputs(target))], **kwargs)
    if not callable(target):
        raise op_error(TypeError, "flops", f"it takes a function, a graph or a model, not {describe(target)}.")
    own = getattr(target, "graph", None)
    if isinstance(own, Graph) and not args and not kwargs:  # of a signature, or of a model that was loaded
        return own
    return (target if callable(own) else function(target)).graph(*args, **kwargs)


def _one_example(x: Any) -> TensorSpec:
    return spec(tuple(1 if n is None and k == 0 else n for k, n in enumerate(x.shape)), str(x.dtype))


def _predicting(run: Function[..., Any]) -> Callable[[list[Any]], Any]:
    def predict(batches: list[Any]) -> Any:
        outputs = [run(*flatten(data[0] if isinstance(data, tuple) else data)[0]) for data in batches]
        if not isinstance(outputs[0], tuple):
            return ops.concatenate(outputs) if len(outputs) > 1 else outputs[0]
        return [ops.concatenate(parts) for parts in zip(*outputs, strict=True)]

    return predict


def _traced(step: Callable[..., Any], *args: Any) -> Graph:
    name = "predict" if len(args) == 1 else "train"
    return function(step, name=name).graph(*args)


def _inputs(model: Any) -> Any:
    """The inputs that a model declares, in its structure."""
    try:
        return model.input
    except (AttributeError, ValueError):  # a Sequential has only `inputs`; a model built by a call may have neither
        inputs = getattr(model, "inputs", None)
    if not inputs:
        raise op_error(ValueError, "graph_of", "the model declares no inputs: give x, arrays or specs.")
    return inputs[0] if len(inputs) == 1 else inputs


def _specs(values: Any) -> Any:
    """The specs of arrays, tensors and other values that have a shape and a dtype, in their structure."""
    leaves, structure = flatten(values)
    arrays = [leaf if hasattr(leaf, "dtype") else np.asarray(leaf) for leaf in leaves]
    return unflatten(structure, [spec(tuple(a.shape), str(a.dtype)) for a in arrays])
