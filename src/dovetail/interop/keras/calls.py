"""Calls of ops in a functional model: each becomes a Keras operation that names the op."""

from __future__ import annotations

import warnings
from typing import Any

import keras
import numpy as np

from dovetail.backend import logits
from dovetail.core.base.errors import op_error, user_line
from dovetail.core.base.scopes import record_on
from dovetail.core.base.table import OPS
from dovetail.core.engines.engine_registry import get_engine
from dovetail.core.op import Op
from dovetail.core.tensor import Tensor
from dovetail.core.values.spec import TensorSpec
from dovetail.core.values.value_kinds import kind_of, owned, unwrapped
from dovetail.core.values.variable import Variable
from dovetail.edit.graph import Graph, GraphTensor
from dovetail.interop.keras import computing
from dovetail.interop.keras.random import with_fresh_key
from dovetail.interop.keras.tensors import stand_in, tensor_like


@keras.saving.register_keras_serializable("dovetail")
class OpCall(keras.Operation):
    """An op in a functional model; Keras calls it with the op's arguments in the order of its parameters.

    Args:
        op: the op's name in `ops.OPS`.
        name: the operation's name in the model.
    """

    def __init__(self, op: str, name: str | None = None) -> None:
        if op not in OPS:
            raise ValueError(f"this version of Dovetail has no op {op!r}; the model was saved with another one.")
        # Keras' own names begin with small letters, so these differ from them.
        super().__init__(name=name or f"{op}_{keras.backend.get_uid(op)}")
        self.op = op

    def call(self, *args: Any) -> Any:
        """Compute the op on Keras' values."""
        results = OPS[self.op](*args)
        if self.op in logits.ACTIVATIONS:  # one of K's losses may get the model's output
            logits.remember(results, args[0])
        result = computing.current().result
        return tuple(map(result, results)) if isinstance(results, tuple) else result(results)

    def compute_output_spec(self, *args: Any) -> Any:
        """Infer the op's results from the specs of its arguments."""
        return infer(OPS[self.op], list(args))


def apply(op: Op, values: list[Any], name: str | None = None) -> Any:
    """Add a call to the functional model that its KerasTensors belong to."""
    like = next(v for v in keras.tree.flatten(values) if isinstance(v, keras.KerasTensor))
    values = [_kept(op, v, like) for v in with_fresh_key(op, values)]
    infer(op, values)  # raises errors here, since Keras' calls would hide the user's line
    return OpCall(op.name, name and name.replace("/", "_"))(*values)


def infer(op: Op, values: list[Any]) -> Any:
    """Infer the results of a call, as in a graph: KerasTensors that belong to no model yet."""
    graph = Graph(op.name)
    with record_on(()), graph.as_default():
        results = op(*[_in_graph(v, graph) for v in values])
        return tuple(map(tensor_like, results)) if op.returns_tuple else tensor_like(results)


def _in_graph(value: Any, graph: Graph) -> Any:
    """An argument in the form that inference takes."""
    if isinstance(value, (list, tuple)):
        return [_in_graph(v, graph) for v in value]
    if isinstance(value, keras.KerasTensor):
        return stand_in(value, graph)
    value = unwrapped(value)
    engine = kind_of(value).autodiff(value)
    if engine is not None:  # the value may be a tracer
        return graph.placeholder(TensorSpec(engine.shape(value), engine.dtype(value)))
    return value


@keras.saving.register_keras_serializable("dovetail")
class Weight(keras.layers.Layer):
    """A layer that gives the value of a Keras variable to an op, so that the variable is a weight of the model.

    Args:
        variable: the variable; a loaded model has a new one with the saved value.
    """

    def __init__(self, variable: keras.Variable, **options: Any) -> None:
        super().__init__(autocast=False, **options)
        self.variable = variable
        self.supports_masking = True
        self.built = True

    def call(self, like: Any) -> Any:
        """The value.

        Args:
            like: any tensor of the model; its value does not count.
        """
        return owned(self.variable)

    def compute_output_spec(self, like: Any) -> Any:
        return keras.KerasTensor(self.variable.shape, self.variable.dtype)

    def compute_mask(self, *args: Any) -> None:
        return None

    def get_config(self) -> dict[str, Any]:
        variable = {name: getattr(self.variable, name) for name in ("shape", "dtype", "trainable", "name")}
        return {**super().get_config(), "variable": variable}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Weight:
        return cls(**{**config, "variable": keras.Variable("zeros", **config["variable"])})


def _kept(op: Op, value: Any, like: keras.KerasTensor) -> Any:
    """An argument in the form that the operation keeps and models save; `like` is any tensor of the model."""
    if isinstance(value, (list, tuple)):
        return tuple(_kept(op, v, like) for v in value)
    if isinstance(value, keras.Variable):
        return Weight(value)(like)
    if isinstance(value, GraphTensor):
        problem = f"{value!r} of a Dovetail graph and a KerasTensor cannot meet; build both parts with one of the two."
        raise op_error(TypeError, op.name, problem)
    if isinstance(value, Variable) and value.trainable:
        _warn_of(value)
    # Keras writes arrays as text, and loses the dtype of scalars.
    return Tensor(value.copy(), get_engine("numpy")) if isinstance(value, (np.ndarray, np.generic)) else value


def _warn_of(variable: Variable) -> None:
    problem = (
        f"The variable {variable.name!r} is not trained with this functional model, whose weights are those of its"
    )
    advice = "layers: make it one with add_weight, in the build of a layer; or make it with K.constant"
    path, line = user_line() or ("?", 0)
    warnings.warn_explicit(f"{problem}; {advice}.", UserWarning, path, line)
