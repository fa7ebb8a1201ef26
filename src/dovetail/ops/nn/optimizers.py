"""Steps of optimizers as one op each, for engines that have kernels for them."""

from __future__ import annotations

from dovetail.core.infer import require_shape
from dovetail.core.kinds import Float
from dovetail.core.op import composite
from dovetail.core.spec import TensorSpec
from dovetail.core.tensor import Tensor
from dovetail.ops.math.arithmetic import square
from dovetail.ops.math.exponential import sqrt
from dovetail.ops.samples import array, sample


def _adam_spec(
    variable: TensorSpec,
    gradient: TensorSpec,
    mean: TensorSpec,
    square_mean: TensorSpec,
    rate: TensorSpec,
    *static: float,
) -> list[TensorSpec]:
    for other in (gradient, mean, square_mean):
        require_shape(other, variable.shape)
    require_shape(rate, ())
    return [variable, mean, square_mean]


@composite(
    "AdamStep",
    infer=_adam_spec,
    samples=[
        sample(array(2, 3), array(2, 3), array(2, 3), array(2, 3, low=0.1), array()),
        sample(array(), array(), array(), array(low=0.1), array(), 0.5, 0.25, 0.01),
        sample(array(0, 3), array(0, 3), array(0, 3), array(0, 3), array()),
    ],
)
def adam_step(
    variable: Float,
    gradient: Float,
    mean: Float,
    square_mean: Float,
    rate: Float,
    beta_1: float = 0.9,
    beta_2: float = 0.999,
    epsilon: float = 1e-7,
) -> tuple[Tensor, Tensor, Tensor]:
    """One step of Adam.

    Args:
        variable: floats of any shape; nothing is assigned.
        gradient: floats of this shape.
        mean: floats of this shape, the moving average of gradients before the step.
        square_mean: the same of their squares.
        rate: a scalar, the learning rate with the correction of averages that begin at zero: of step t, counted from
            1, it is the learning rate times √(1 - beta_2ᵗ) / (1 - beta_1ᵗ).
        beta_1, beta_2: what is left of the averages, below 1.
        epsilon: is added to the root of the average of squares.

    Returns:
        The variable and both averages after the step.

    Raises:
        ValueError: shapes differ, or the rate is no scalar.

    Source: Kingma and Ba, "Adam: a method for stochastic optimization", 2014; `keras.optimizers.Adam`.

    Example:
        >>> variable, mean, square_mean = adam_step([1., 1.], [2., -4.], [0., 0.], [0., 0.], 0.1)
        >>> variable.numpy().round(3), mean.numpy()
        (array([0.684, 1.316], dtype=float32), array([ 0.2, -0.4], dtype=float32))
    """
    mean = mean + (gradient - mean) * (1 - beta_1)
    square_mean = square_mean + (square(gradient) - square_mean) * (1 - beta_2)
    return variable - mean * rate / (sqrt(square_mean) + epsilon), mean, square_mean


__all__ = ["adam_step"]
