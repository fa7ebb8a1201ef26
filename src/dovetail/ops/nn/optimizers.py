"""Steps of optimizers as one op for all variables, for engines that compute such a step faster as a whole."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

from dovetail.core.kinds import Float, Floats
from dovetail.core.op import composite
from dovetail.core.tensor import Tensor
from dovetail.core.values.infer import require_shape
from dovetail.core.values.spec import TensorSpec
from dovetail.ops.nn.optimizer_rules import adam, keras_momentum
from dovetail.ops.samples import array, sample


def _require_alike(variables: Sequence[TensorSpec], rate: TensorSpec, **others: Sequence[TensorSpec]) -> None:
    """Raise ValueError if there is no variable, or other tensors differ in number or shapes."""
    if not variables:
        raise ValueError("variables must be at least one tensor.")
    for name, tensors in others.items():
        if len(tensors) != len(variables):
            raise ValueError(f"{name} must be as many as variables, which are {len(variables)}, not {len(tensors)}.")
        for tensor, variable in zip(tensors, variables, strict=True):
            require_shape(tensor, variable.shape)
    require_shape(rate, ())


def _adam_spec(
    variables: Sequence[TensorSpec],
    gradients: Sequence[TensorSpec],
    means: Sequence[TensorSpec],
    square_means: Sequence[TensorSpec],
    rate: TensorSpec,
    *static: float,
) -> list[TensorSpec]:
    _require_alike(variables, rate, gradients=gradients, means=means, square_means=square_means)
    return [*variables, *means, *square_means]


@composite(
    "AdamStep",
    cost="optimizer",
    infer=_adam_spec,
    samples=[
        sample(
            [array(2, 3), array(2)],
            [array(2, 3), array(2)],
            [array(2, 3), array(2)],
            [array(2, 3, low=0.1), array(2, low=0.1)],
            array(),
        ),
        sample([array()], [array()], [array()], [array(low=0.1)], array(), 0.5, 0.25, 0.01),
        sample(
            [array(0, 3), array(2)],
            [array(0, 3), array(2)],
            [array(0, 3), array(2)],
            [array(0, 3), array(2, low=0.1)],
            array(),
        ),
    ],
)
def adam_step(
    variables: Floats,
    gradients: Floats,
    means: Floats,
    square_means: Floats,
    rate: Float,
    beta_1: float = 0.9,
    beta_2: float = 0.999,
    epsilon: float = 1e-7,
) -> tuple[Tensor, ...]:
    """One step of Adam, for any number of variables.

    Args:
        variables: floats, each of any shape; nothing is assigned.
        gradients: floats, one for each variable, of its shape.
        means: floats like the gradients: their moving averages before the step.
        square_means: floats like the gradients: the moving averages of their squares.
        rate: a scalar, the learning rate with the correction of averages that begin at zero.  At step t, counted from
            1, it is the learning rate times √(1 - beta_2ᵗ) / (1 - beta_1ᵗ).
        beta_1, beta_2: the shares of the averages that stay, below 1.
        epsilon: a number that is added to the root of the average of squares.

    All tensors are promoted to a common dtype.

    Returns:
        The state after the step: all variables in their order, then all means, then all means of squares.

    Raises:
        ValueError: there is no variable, the lists differ in length, shapes differ, or the rate is no scalar.

    Source: Kingma and Ba, "Adam: a method for stochastic optimization", 2014; `keras.optimizers.Adam`.

    Example:
        >>> variable, mean, square_mean = adam_step([[1., 1.]], [[2., -4.]], [[0., 0.]], [[0., 0.]], 0.1)
        >>> variable.numpy().round(3), mean.numpy()
        (array([0.684, 1.316], dtype=float32), array([ 0.2, -0.4], dtype=float32))
    """
    numbers = {"lr": rate, "beta1": beta_1, "beta2": beta_2, "epsilon": epsilon}
    after = [adam(*own, **numbers) for own in zip(variables, gradients, means, square_means, strict=True)]
    return tuple(chain(*zip(*after, strict=True)))


def _sgd_spec(
    variables: Sequence[TensorSpec],
    gradients: Sequence[TensorSpec],
    momenta: Sequence[TensorSpec],
    rate: TensorSpec,
    *static: float,
) -> list[TensorSpec]:
    _require_alike(variables, rate, gradients=gradients, **({"momenta": momenta} if momenta else {}))
    return [*variables, *momenta]


@composite(
    "SgdStep",
    cost="optimizer",
    infer=_sgd_spec,
    samples=[
        sample([array(2, 3), array(2)], [array(2, 3), array(2)], [array(2, 3), array(2)], array(), 0.9),
        sample([array(2, 3), array()], [array(2, 3), array()], [array(2, 3), array()], array(), 0.5, True),
        sample([array(2, 3), array(0)], [array(2, 3), array(0)], [], array()),
    ],
)
def sgd_step(
    variables: Floats,
    gradients: Floats,
    momenta: Floats,
    rate: Float,
    momentum: float = 0.0,
    nesterov: bool = False,
) -> tuple[Tensor, ...]:
    """One step of gradient descent, for any number of variables, with momentum if momenta are given.

    Args:
        variables: floats, each of any shape; nothing is assigned.
        gradients: floats, one for each variable, of its shape.
        momenta: floats like the gradients: the changes of the step before; or an empty list, for no momentum.
        rate: a scalar, the learning rate.
        momentum: the share of the change before that stays; it has no meaning without momenta.
        nesterov: whether a variable moves as far as one more step with this gradient would; no meaning without momenta.

    All tensors are promoted to a common dtype.

    Returns:
        The state after the step: all variables in their order, then all momenta.

    Raises:
        ValueError: there is no variable, the lists differ in length, shapes differ, or the rate is no scalar.

    Source: `keras.optimizers.SGD`; Sutskever et al., "On the importance of initialization and momentum in deep
        learning", 2013.

    Example:
        >>> variable, change = sgd_step([[1., 1.]], [[2., -4.]], [[1., 0.]], 0.1, momentum=0.5)
        >>> variable.numpy().round(3), change.numpy().round(3)
        (array([1.3, 1.4], dtype=float32), array([0.3, 0.4], dtype=float32))
    """
    if not momenta:
        return tuple(v - gradient * rate for v, gradient in zip(variables, gradients, strict=True))
    numbers = {"lr": rate, "momentum": momentum, "use_nesterov": nesterov}
    after = [keras_momentum(*own, **numbers) for own in zip(variables, gradients, momenta, strict=True)]
    return tuple(chain(*zip(*after, strict=True)))


__all__ = ["adam_step", "sgd_step"]
