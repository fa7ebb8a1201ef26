"""Layouts: how an engine divides a tensor among several devices of one process.

Only jax divides tensors.  For other engines the op is the identity, so a program with layouts runs there, too.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from dovetail.core.kinds import Each
from dovetail.core.op import composite
from dovetail.core.tensor import Tensor
from dovetail.core.values import infer
from dovetail.core.values.spec import TensorSpec
from dovetail.ops.samples import array, sample
from dovetail.ops.shapes.identity import identity


@infer.any_rank
def _checked(x: TensorSpec, axes: Any, shape: Any, names: Any, devices: Any) -> TensorSpec:
    if any(size < 1 for size in shape) or math.prod(shape) != len(devices) or len(shape) != len(names):
        raise ValueError(f"a mesh of shape {shape} with axes {names} does not fit {len(devices)} devices.")
    if unknown := [axis for axis in axes if axis is not None and axis not in names]:
        raise ValueError(f"the mesh has the axes {', '.join(names)}, not {', '.join(unknown)}.")
    if x.shape is not None and len(axes) > len(x.shape):
        raise ValueError(f"a tensor of shape {x.shape} has no {len(axes)} dimensions to divide along {axes}.")
    return x


@composite(
    "Distribute", cost="move", infer=_checked, samples=[sample(array(2, 3), [None, None], [1], ["batch"], ["cpu:0"])]
)
def distribute(
    x: Each, axes: Sequence[str | None], shape: Sequence[int], names: Sequence[str], devices: Sequence[str]
) -> Tensor:
    """The tensor itself, divided among the devices of a mesh.

    Args:
        x: a tensor.
        axes: for each dimension, the axis of the mesh along which it is divided; None for a dimension that stays whole.
        shape: the sizes of the mesh.
        names: the names of its axes.
        devices: the names of its devices, row by row.

    Raises:
        ValueError: the mesh has no such axis, its devices do not fill it, or the tensor has fewer dimensions.

    Source: `jax.lax.with_sharding_constraint`.

    Example:
        >>> distribute([1., 2.], ["batch"], [1], ["batch"], ["cpu:0"]).tolist()
        [1.0, 2.0]
    """
    return identity(x)
