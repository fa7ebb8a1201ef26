"""A process in which libraries lack all private functions: torch still computes every op as numpy does."""

import numpy as np

import dovetail as dt
from dovetail.core.base import optional_api
from dovetail.core.base.table import OPS
from tests.ops.table import draw, float_arrays, leaves, replace_arrays

NAMES = [
    "Conv2DBackpropInput",
    "Conv1DBackpropFilter",
    "Conv3DBackpropInput",
    "MaxPool",
    "MaxPoolGrad",
    "MaxPool3D",
    "AvgPool",
    "AvgPoolGrad",
    "AvgPool3DGrad",
    "ReluGrad",
    "LeakyRelu",
    "LeakyReluGrad",
    "Elu",
    "EluGrad",
    "Softplus",
    "Silu",
    "SiluGrad",
    "Gelu",
    "GeluGrad",
    "SoftmaxGrad",
    "LogSoftmaxGrad",
    "LayerNormalizationGrad",
    "ResizeBilinear",
    "ResizeBilinearGrad",
    "LSTM",
    "LSTMGrad",
    "GRU",
    "AdamStep",
    "SgdStep",
]


def main():
    optional_api.optional_api = lambda library, name: None  # before torch's rules are declared
    for name in NAMES:
        for number, sample in enumerate(OPS[name].samples):
            args, kwargs = draw(sample, np.random.default_rng(number))
            on_numpy, on_torch = (computed(OPS[name], engine, args, kwargs) for engine in ("numpy", "torch"))
            for a, b in zip(on_numpy, on_torch, strict=True):
                np.testing.assert_allclose(b, a, rtol=1e-4, atol=1e-4, err_msg=f"{name} {number}")
    print("the same")


def computed(op, engine, args, kwargs):
    def call(*new):
        moved, named = replace_arrays(args, kwargs, list(new))
        return leaves(op(*moved, **named))

    with dt.engine(engine):
        arrays = map(dt.ops.convert, float_arrays(args, kwargs))
        return [result.numpy() for result in dt.function(call)(*arrays)]


if __name__ == "__main__":
    main()
