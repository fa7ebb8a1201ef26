"""The OpenVINO engine.  It reads its arguments where they are, and writes results of known shapes into new arrays."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import numpy as np
import openvino

from dovetail.core.rules import Rules
from dovetail.engines.onnx_model import ModelEngine

CORE = openvino.Core()
EXACT = {"INFERENCE_PRECISION_HINT": "f32", "PERFORMANCE_HINT": "LATENCY"}  # one call at a time, on all threads
RANDOM = b"BitwiseXor"  # an operator that models with random bits have


class LoadedModel(threading.local):
    """A model of OpenVINO, and the compiled one; each thread has its own request, which computes one call at a time."""

    def __init__(self, model: Any, compiled: Any) -> None:
        self.request = compiled.create_infer_request()
        places = {name: number for number, value in enumerate(model.inputs) for name in value.names}
        used = (next(name for name in value.names if name in places) for value in compiled.inputs)
        self.takes = [places[name] for name in used]  # some are not needed
        self.outputs = [
            (number, tuple(value.shape), value.element_type.to_dtype())
            for number, value in enumerate(compiled.outputs)
            if value.partial_shape.is_static
        ]

    def __call__(self, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
        made = {number: np.empty(shape, dtype) for number, shape, dtype in self.outputs}
        for number, array in made.items():
            self.request.set_output_tensor(number, openvino.Tensor(array, shared_memory=True))
        results = self.request.infer([arrays[number] for number in self.takes], share_inputs=True, share_outputs=True)
        return [made[number] if number in made else np.array(value) for number, value in enumerate(results.values())]


class OpenvinoEngine(ModelEngine):
    """OpenVINO on the processor, which computes numbers of 64 bits in 32; so numpy computes programs that have some."""

    name = "openvino"
    dtypes = frozenset(["bool", "float16", "float32", "int8", "int16", "int32", "uint8", "uint16"])

    def version(self) -> str:
        return openvino.__version__.partition("-")[0]

    def computes(self, tensor: Any) -> bool:
        return super().computes(tensor) and 0 not in (tensor.shape or ())

    def load(self, model: bytes) -> LoadedModel:
        if RANDOM in model:
            raise NotImplementedError("random bits need integers of 64 bits, which OpenVINO computes in 32.")
        read = CORE.read_model(model)
        settings = EXACT | ({"INFERENCE_NUM_THREADS": self.threads} if self.threads else {})
        return LoadedModel(read, CORE.compile_model(read, "CPU", settings))


engine = OpenvinoEngine(Rules())
