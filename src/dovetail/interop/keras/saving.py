"""The serialization of Tensors and Variables that are arguments in a functional model: Keras saves all their bits."""

from __future__ import annotations

import base64
from typing import Any

import keras
import numpy as np

from dovetail.core.dtypes import as_dtype
from dovetail.core.engine_registry import get_engine
from dovetail.core.tensor import Tensor
from dovetail.core.variable import Variable


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


def register() -> None:
    """Give tensors and variables the methods that Keras calls to save a value, and register the types with Keras."""
    for kind, get_config, from_config in (
        (Tensor, _config_of_tensor, _tensor_from_config),
        (Variable, _config_of_variable, _variable_from_config),
    ):
        setattr(kind, "get_config", get_config)  # noqa: B010  # only after Keras is imported
        setattr(kind, "from_config", classmethod(from_config))  # noqa: B010
        keras.saving.register_keras_serializable("dovetail")(kind)
