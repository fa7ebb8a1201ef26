"""Indexing: reading and writing elements at positions that are themselves tensors.

Negative positions count from the end.  A position outside is an IndexError wherever values are seen (NumPy, PyTorch,
JAX outside `jit`); in a program compiled by JAX it reads as NaN (the lowest integer, True), and writes nothing.
"""

from __future__ import annotations

from typing import Any

from dovetail.ops.infer import normalize_axis
from dovetail.ops.kinds import Anything, Integer
from dovetail.ops.op import primitive
from dovetail.ops.samples import array, ints, sample
from dovetail.ops.spec import TensorSpec
from dovetail.tensor import Tensor


def _gather_spec(x: TensorSpec, indices: TensorSpec, axis: int = 0, batch_dims: int = 0) -> TensorSpec:
    if x.shape is None or indices.shape is None:
        return TensorSpec(None, x.dtype)
    axis = normalize_axis(axis, len(x.shape))
    return TensorSpec((*x.shape[:axis], *indices.shape[batch_dims:], *x.shape[axis + 1 :]), x.dtype)


@primitive("GatherV2", infer=_gather_spec, samples=[sample(array(4, 3), ints(2, high=4))])
def take(x: Anything, indices: Integer, axis: int = 0, batch_dims: int = 0) -> Tensor:
    """Slices at positions along an axis.

    Source: `numpy.take`.
    """
