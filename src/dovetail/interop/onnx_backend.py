"""Dovetail as a backend in the form of `onnx.backend.base`, for ONNX's own tests and scoreboards."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
from onnx.backend.base import Backend, BackendRep

from dovetail.formats.onnx.tensors import DTYPES
from dovetail.onnx.loading import LoadedModel, load


class PreparedModel(BackendRep):
    """A model that is ready to run."""

    def __init__(self, model: LoadedModel) -> None:
        self._model = model

    def run(self, inputs: Sequence[Any] | Any, **kwargs: Any) -> tuple[Any, ...]:
        """The results as arrays.

        Args:
            inputs: arrays in the order of the model's inputs, or one array.
            kwargs: not used; ONNX's interface has them.
        """
        given = inputs if isinstance(inputs, (list, tuple)) else [inputs]
        types = [type.number for type in self._model.output_types.values()]
        return tuple(map(_array, self._model.run(given), types))


def _array(value: Any, number: int) -> Any:
    """A result as an array of ONNX's dtype."""
    if isinstance(value, list):
        return [_array(item, number) for item in value]
    if value is None or isinstance(value, (np.ndarray, dict)):
        return value
    array = np.asarray(value.numpy())
    return array.astype(DTYPES[number]) if number in DTYPES else array


class DovetailBackend(Backend):
    """Dovetail as a backend of ONNX; the current engine computes.

    Example:
        >>> node = onnx.helper.make_node("Relu", ["x"], ["y"])
        >>> DovetailBackend.run_node(node, [np.array([-1.0, 2.0], "float32")])[0]
        array([0., 2.], dtype=float32)
    """

    @classmethod
    def prepare(cls, model: Any, device: str = "CPU", **kwargs: Any) -> PreparedModel:
        """A model that is ready to run."""
        return PreparedModel(load(model))

    @classmethod
    def run_model(cls, model: Any, inputs: Any, device: str = "CPU", **kwargs: Any) -> tuple[Any, ...]:
        """The results of a model for some inputs."""
        return cls.prepare(model, device).run(inputs)

    @classmethod
    def run_node(
        cls, node: Any, inputs: Any, device: str = "CPU", outputs_info: Any = None, **kwargs: Any
    ) -> tuple[Any, ...]:
        """The results of a node for some inputs."""
        helper = onnx.helper
        arrays = [np.asarray(value) for value in inputs]
        given = [
            helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
            for name, array in zip(filter(None, node.input), arrays, strict=True)
        ]
        results = [onnx.ValueInfoProto(name=name) for name in node.output if name]
        graph = helper.make_graph([node], "node", given, results)
        return cls.run_model(helper.make_model(graph), arrays)

    @classmethod
    def supports_device(cls, device: str) -> bool:
        """Whether the current engine may compute on a device: on the processor alone."""
        return device.partition(":")[0] == "CPU"


prepare, run_model, run_node = DovetailBackend.prepare, DovetailBackend.run_model, DovetailBackend.run_node
supports_device = DovetailBackend.supports_device
