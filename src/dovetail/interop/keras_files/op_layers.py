"""Layers that Keras 2 makes of TensorFlow's functions in functional models; Dovetail's functions compute them."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import keras
import numpy as np

from dovetail.backend.table import FUNCTIONS as FUNCTIONS_OF_K
from dovetail.compat.tensorflow.entries import V1, V2
from dovetail.core.dtypes import as_dtype
from dovetail.formats.tensorflow.saved_model import Signature, saved_graph
from dovetail.formats.wire.libraries import library, need
from dovetail.formats.wire.messages import TENSORFLOW, parsed
from dovetail.formats.wire.tensors import number_of, shape_proto, tensor_proto
from dovetail.functions.function import function

NODE = "operation"  # the name of the only operation of a graph
SHORT = {"float64": "float32", "int64": "int32"}  # the dtypes of constants, which files have without a dtype
OPERATORS = {  # names in `__operators__` → names in `operator`
    **{name: name for name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "getitem")},
    **{name: name for name in ("eq", "ne", "lt", "le", "gt", "ge", "neg", "abs")},
    "logical_and": "and_",
    "logical_or": "or_",
    "logical_xor": "xor",
}
# Modules whose functions a layer may have, and names there with effects, which it may not: nothing a file says is done.
SPACES = ("", "math", "nn", "linalg", "image", "random", "sparse", "manip", "experimental.numpy")
EFFECTS = re.compile(
    "(print|set|clear|reset|update|enable|disable|manual|import|py|numpy|batch_set|raw)_|function|eval$|print$|load|save"
)


def keras2_hard_sigmoid(x: Any) -> Any:
    """The activation `hard_sigmoid` of Keras 1 and 2, whose slope is 0.2."""
    return keras.ops.clip(0.2 * x + 0.5, 0.0, 1.0)


class TFOpLambda(keras.layers.Layer):
    """A function of TensorFlow as a layer.

    Args:
        function: its name, as "math.add", "__operators__.getitem" or "keras.backend.mean".
        kwargs: as of every layer.

    Raises:
        AttributeError: Dovetail has no function of this name.
    """

    def __init__(self, function: str, **kwargs: Any) -> None:
        super().__init__(**{**kwargs, "autocast": False})
        self.function = function
        self._run = _function(function)
        self.built = True

    def call(self, first: Any, **kwargs: Any) -> Any:
        return self._run(first, **kwargs)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "function": self.function}


class SlicingOpLambda(TFOpLambda):
    """A slice of a tensor as a layer."""

    def call(self, first: Any, slice_spec: Any = ()) -> Any:  # type: ignore[override]
        return first[tuple(map(_index, slice_spec)) if isinstance(slice_spec, (list, tuple)) else _index(slice_spec)]


class TensorFlowOpLayer(keras.layers.Layer):
    """An operation of TensorFlow as a layer, in files of TensorFlow 1.13 to 2.3.

    Args:
        node_def: the message `NodeDef` of the operation, as JSON or as bytes in a text.
        constants: values of inputs that are no tensors, by their places.
        kwargs: as of every layer.
    """

    def __init__(self, node_def: Any, constants: dict[str, Any] | None = None, **kwargs: Any) -> None:
        need("TensorFlowOpLayer")
        super().__init__(**{**kwargs, "autocast": False})
        self.node_def = node_def
        self.constants = {int(place): value for place, value in (constants or {}).items()}
        self.built = True

    def call(self, first: Any) -> Any:
        given = list(first) if isinstance(first, (list, tuple)) else [first]
        saved = saved_graph(self._graph_def(given), Path(self.name))
        names = [node.name for node in saved.graph_def.node if node.op == "Placeholder"]
        read = saved.read_signature(
            self.name, Signature({name: f"{name}:0" for name in names}, {"result": f"{NODE}:0"})
        )
        if read.opaque:
            raise NotImplementedError(f"the layer {self.name!r}: {next(iter(read.opaque.values()))}")
        return function(read.graph)(*given)

    def _graph_def(self, given: list[Any]) -> Any:
        """The operation with its inputs: placeholders for tensors, and constants."""
        graph = TENSORFLOW.GraphDef()
        if isinstance(self.node_def, str):
            node = parsed(TENSORFLOW.NodeDef, self.node_def.encode(), Path(self.name))
        else:
            node = library("google.protobuf.json_format").ParseDict(self.node_def, TENSORFLOW.NodeDef())
        number = 0
        for place, name in enumerate(f"input_{n}" for n in range(len(node.input))):
            if place in self.constants:
                array = np.asarray(self.constants[place])
                array = array.astype(SHORT.get(array.dtype.name, array.dtype))
                new = graph.node.add(name=name, op="Const")
                new.attr["value"].tensor.CopyFrom(tensor_proto(array))
            else:
                tensor, number = given[number], number + 1
                new = graph.node.add(name=name, op="Placeholder")
                array = np.zeros(0, as_dtype(tensor.dtype).numpy)
                new.attr["shape"].shape.CopyFrom(shape_proto(tuple(tensor.shape)))
            new.attr["dtype"].type = number_of(array.dtype)
            node.input[place] = name
        node.name = NODE
        graph.node.append(node)
        return graph

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "node_def": self.node_def, "constants": self.constants}


class AddLoss(keras.layers.Layer):
    """A tensor that is a loss of a functional model of Keras 2."""

    def __init__(self, unconditional: bool = False, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.unconditional = unconditional

    def call(self, inputs: Any) -> Any:
        self.add_loss(inputs)
        return inputs

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "unconditional": self.unconditional}


class AddMetric(keras.layers.Layer):
    """A tensor that is a metric of a functional model of Keras 2; the metric is not computed."""

    def __init__(self, aggregation: Any = None, metric_name: Any = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.aggregation, self.metric_name = aggregation, metric_name

    def call(self, inputs: Any) -> Any:
        return inputs

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "aggregation": self.aggregation, "metric_name": self.metric_name}


def _index(part: Any) -> Any:
    """An index of a slice, which a file has as an object."""
    if isinstance(part, dict) and "class_name" in part:
        return ...
    if isinstance(part, dict):
        return slice(*(part.get(key) for key in ("start", "stop", "step")))
    return part


def _function(name: str) -> Callable[..., Any]:
    """Dovetail's function of one of TensorFlow's names.

    Raises:
        AttributeError: there is none, or it does more than compute.
    """
    space, _, last = name.removeprefix("compat.v1.").rpartition(".")
    if space == "__operators__" and last in OPERATORS:
        compute = getattr(operator, OPERATORS[last])
        return lambda *args, name=None, **kwargs: compute(*args, *kwargs.values())
    callee: Any = None
    if space == "keras.backend":
        callee = FUNCTIONS_OF_K.get(last)
    elif space in SPACES:
        callee = (V1 if name.startswith("compat.v1.") else V2).get(f"{space}.{last}".lstrip("."))
    if not callable(callee) or isinstance(callee, type) or not last[:1].islower() or EFFECTS.match(last):
        raise AttributeError(f"no function {name!r} of TensorFlow that a layer may call")
    return callee


LAYERS = TFOpLambda, SlicingOpLambda, TensorFlowOpLayer, AddLoss, AddMetric
CLASSES = {cls.__name__: keras.saving.register_keras_serializable("dovetail")(cls) for cls in LAYERS}
FUNCTIONS = {"keras2_hard_sigmoid": keras.saving.register_keras_serializable("dovetail")(keras2_hard_sigmoid)}
