"""The serialization of Tensors and Variables that are arguments in a functional model: Keras saves all their bits.

Functions of K and ops that a layer is given, as an activation or an initializer, are saved by their names.
"""

from __future__ import annotations

import base64
from types import FunctionType
from typing import Any

import keras
import numpy as np

from dovetail import ops
from dovetail.backend.table import FUNCTIONS
from dovetail.core.dtypes import as_dtype
from dovetail.core.engines.engine_registry import get_engine
from dovetail.core.op import Op, op_named
from dovetail.core.tensor import Tensor
from dovetail.core.values.variable import Variable

# Keras has functions of these names that compute the same: it loads them without Dovetail, too.
OF_KERAS: tuple[str, ...] = ("relu", "sigmoid", "tanh", "softplus", "softsign", "softmax", "elu")
OF_KERAS += ("binary_crossentropy", "categorical_crossentropy", "sparse_categorical_crossentropy")


def _config_of_tensor(tensor: Any) -> dict[str, Any]:
    array = np.ascontiguousarray(tensor.numpy())
    data = base64.b64encode(array.tobytes()).decode("ascii")
    return {"shape": list(tensor.shape), "dtype": str(tensor.dtype), "data": data}


def _tensor_from_config(cls: type[Tensor], config: dict[str, Any]) -> Tensor:
    flat = np.frombuffer(base64.b64decode(config["data"]), as_dtype(config["dtype"]).numpy)
    return cls(flat.reshape(config["shape"]).copy(), get_engine("numpy"))


def _config_of_variable(variable: Variable) -> dict[str, Any]:
    return {**_config_of_tensor(variable), "name": variable.name, "trainable": variable.trainable}


def _variable_from_config(cls: type[Variable], config: dict[str, Any]) -> Variable:
    value = _tensor_from_config(Tensor, config)
    return cls(value, name=config["name"], trainable=config["trainable"])


def _op_from_config(cls: type[Any], config: dict[str, Any]) -> Any:
    return op_named(config["op"])


def register() -> None:
    """Give tensors, variables and ops the methods that Keras calls to save a value, and register all with Keras."""
    for kind, get_config, from_config in (
        (Tensor, _config_of_tensor, _tensor_from_config),
        (Variable, _config_of_variable, _variable_from_config),
        *((kind, lambda op: {"op": op.name}, _op_from_config) for kind in (Op, *Op.__subclasses__())),
    ):
        setattr(kind, "get_config", get_config)  # noqa: B010  # only after Keras is imported
        setattr(kind, "from_config", classmethod(from_config))  # noqa: B010
        keras.saving.register_keras_serializable("dovetail")(kind)
    named = {f"K.{name}": function for name, function in FUNCTIONS.items() if name not in OF_KERAS}
    named |= {f"ops.{name}": function for name, function in vars(ops).items() if name not in OF_KERAS}
    for name, functions in named.items():
        if isinstance(functions, FunctionType):
            keras.saving.register_keras_serializable("dovetail", name)(functions)
