"""Passing through: ops that give back what they get, and so say something else about it."""

from __future__ import annotations

from typing import Any

from dovetail.ops import infer
from dovetail.ops.kinds import Anything, Eachs
from dovetail.ops.op import composite, primitive
from dovetail.ops.samples import array, ints, sample
from dovetail.tensor import Tensor


@primitive("Identity", infer=infer.same, samples=[sample(array(2))])
def identity(x: Anything) -> Tensor:
    """The value itself.

    Source: `tf.identity`.

    Example:
        >>> identity(3.).numpy()
        array(3., dtype=float32)
    """


@identity.gradient
def _(op: Any, g: Any) -> Any:
    return g


@composite("IdentityN", infer=list, samples=[sample([array(2), ints(3)])])
def identity_n(xs: Eachs) -> tuple[Tensor, ...]:
    """The values themselves, several at once; what a custom gradient is attached to.

    Source: `tf.identity_n`.

    Example:
        >>> identity_n([1, 2.])[1].numpy()
        array(2., dtype=float32)
    """
    return tuple(identity(x) for x in xs)


@identity_n.gradient
def _(op: Any, *gs: Any) -> Any:
    return gs


@primitive("XlaOptimizationBarrier", infer=list, samples=[sample([array(2), ints(3)])])
def optimization_barrier(xs: Eachs) -> tuple[Tensor, ...]:
    """The values themselves, all of them computed first; what is computed from them is not merged with what was before.

    Source: `jax.lax.optimization_barrier`.

    Example:
        >>> optimization_barrier([1, 2.])[1].numpy()
        array(2., dtype=float32)
    """


@optimization_barrier.gradient
def _(op: Any, *gs: Any) -> Any:
    return gs


@primitive("StopGradient", infer=infer.same, differentiable=False, samples=[sample(array(2), gradient=False)])
def stop_gradient(x: Anything) -> Tensor:
    """The value itself, which gradients do not pass.

    Source: `tf.stop_gradient`.

    Example:
        >>> stop_gradient(3.).numpy()
        array(3., dtype=float32)
    """
