"""Ops that return their inputs, but stop gradients, take feeds, print values, order computations or divide tensors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from dovetail.core.base import tensor_shape
from dovetail.core.calls.static_types import ShapeLike
from dovetail.core.kinds import Anything, Each, Eachs
from dovetail.core.op import composite, primitive
from dovetail.core.tensor import Tensor
from dovetail.core.values import infer
from dovetail.core.values.spec import TensorSpec
from dovetail.ops.samples import array, ints, sample


@primitive("Identity", cost="move", infer=infer.same, samples=[sample(array(2))])
def identity(x: Anything) -> Tensor:
    """The value itself.

    Source: `tf.identity`.

    Example:
        >>> identity(3.).numpy()
        array(3., dtype=float32)
    """


@composite("IdentityN", cost="move", infer=list, samples=[sample([array(2), ints(3)])])
def identity_n(xs: Eachs) -> tuple[Tensor, ...]:
    """The values themselves, several at once, as an op to which a custom gradient is attached.

    Source: `tf.identity_n`.

    Example:
        >>> identity_n([1, 2.])[1].numpy()
        array(2., dtype=float32)
    """
    return tuple(xs)


@primitive("XlaOptimizationBarrier", cost="move", infer=list, samples=[sample([array(2), ints(3)])])
def optimization_barrier(xs: Eachs) -> tuple[Tensor, ...]:
    """The values themselves, all computed first; later computations from them are not merged with earlier ones.

    Source: `jax.lax.optimization_barrier`.

    Example:
        >>> optimization_barrier([1, 2.])[1].numpy()
        array(2., dtype=float32)
    """


@infer.any_rank
def _of_any(x: TensorSpec, shape: Any, any_rank: bool) -> TensorSpec:
    if any_rank:
        return TensorSpec(None, x.dtype)
    if shape is not None:
        tensor_shape.shape_of(shape).merge_with(x.shape)
    return x if shape is None else TensorSpec(shape, x.dtype)


@composite(
    "PlaceholderWithDefault",
    cost="move",
    infer=_of_any,
    samples=[sample(array(2)), sample(array(2, 3), shape=(None, 3)), sample(array(2), any_rank=True)],
)
def placeholder_with_default(x: Anything, shape: ShapeLike = None, any_rank: bool = False) -> Tensor:
    """The value itself, unless a run of the graph feeds another one.

    Args:
        x: any tensor.
        shape: the shape of feeds, with None for any dimension; the shape of `x` if not given.
        any_rank: whether feeds may have any shape.

    Raises:
        ValueError: `x` has another shape.

    Source: `tf.compat.v1.placeholder_with_default`.

    Example:
        >>> placeholder_with_default(3.).numpy()
        array(3., dtype=float32)
    """
    return identity(x)


@composite("Tap", cost="move", infer=infer.same, samples=[sample(array(2, 3), label="hidden")])
def tap(x: Anything, label: str) -> Tensor:
    """The value itself, at a point that `dovetail.taps` looks at; its gradient is the point `label/gradient`.

    Args:
        x: any tensor.
        label: the name of the point.

    Source: `tfdbg`'s debug identities.

    Example:
        >>> tap(3., "hidden").numpy()
        array(3., dtype=float32)
    """
    return identity(x)


@tap.gradient
def _(op: Any, g: Any) -> Any:
    return tap(g, f"{op.attr('label')}/gradient")


@primitive(
    "Print",
    cost="move",
    infer=infer.same,
    samples=[sample(array(2), message="a tensor"), sample(array(9), summarize=1)],
)
def print_tensor(x: Anything, message: str = "", summarize: int = 3) -> Tensor:
    """The value itself, which is printed, after a message, each time that it is computed.

    Args:
        x: any tensor.
        message: the text in front of the value.
        summarize: how many elements are printed at the start and at the end of each axis; -1 for all.

    Source: `tf.print`, `tf.raw_ops.Print`.

    Example:
        >>> y = print_tensor([0., 1., 2., 3., 4.], "x is", summarize=1)
        x is [0 ... 4]
    """


@primitive(
    "StopGradient", cost="move", infer=infer.same, differentiable=False, samples=[sample(array(2), gradient=False)]
)
def stop_gradient(x: Anything) -> Tensor:
    """The value itself, which gradients do not pass.

    Source: `tf.stop_gradient`.

    Example:
        >>> stop_gradient(3.).numpy()
        array(3., dtype=float32)
    """


# Only jax divides tensors.  For other engines the op is the identity, so a program with layouts runs there, too.


@infer.any_rank
def _layout_spec(x: TensorSpec, axes: Any, shape: Any, names: Any, devices: Any) -> TensorSpec:
    if any(size < 1 for size in shape) or math.prod(shape) != len(devices) or len(shape) != len(names):
        raise ValueError(f"a mesh of shape {shape} with axes {names} does not fit {len(devices)} devices.")
    if unknown := [axis for axis in axes if axis is not None and axis not in names]:
        raise ValueError(f"the mesh has the axes {', '.join(names)}, not {', '.join(unknown)}.")
    if x.shape is not None and len(axes) > len(x.shape):
        raise ValueError(f"a tensor of shape {x.shape} has no {len(axes)} dimensions to divide along {axes}.")
    return x


@composite(
    "Distribute",
    cost="move",
    infer=_layout_spec,
    samples=[sample(array(2, 3), [None, None], [1], ["batch"], ["cpu:0"])],
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


@identity.gradient
@placeholder_with_default.gradient
@print_tensor.gradient
def passed_on(op: Any, g: Any) -> Any:
    """The gradient of an op whose result is its argument."""
    return g


@identity_n.gradient
@optimization_barrier.gradient
def _(op: Any, *gs: Any) -> Any:
    return gs
