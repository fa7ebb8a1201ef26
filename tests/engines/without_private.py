"""A process in which no library has what is not public: every op on torch is still computed, as on numpy."""

import numpy as np

from dovetail.core import private as looked_up

looked_up.private = lambda library, name: None

import dovetail as dt
from dovetail.core.table import OPS
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
]

for name in NAMES:
    op = OPS[name]
    for number, sample in enumerate(op.samples):
        args, kwargs = draw(sample, np.random.default_rng(number))
        arrays = float_arrays(args, kwargs)

        def call(*new, op=op, args=args, kwargs=kwargs):
            moved, named = replace_arrays(args, kwargs, list(new))
            return leaves(op(*moved, **named))

        found = []
        for engine in ("numpy", "torch"):
            with dt.engine(engine):
                found.append([r.numpy() for r in dt.function(call)(*map(dt.ops.convert, arrays))])
        for a, b in zip(*found, strict=True):
            np.testing.assert_allclose(b, a, rtol=1e-4, atol=1e-4, err_msg=f"{name} {number}")
print("the same")
