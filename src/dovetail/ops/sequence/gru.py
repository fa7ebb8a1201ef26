"""GRU: the layer over all steps as one op, and its gradient, for engines that have kernels for them."""

from __future__ import annotations

from typing import Any

from dovetail.core.kinds import Float, MaybeFloat
from dovetail.core.op import composite
from dovetail.core.tensor import Tensor
from dovetail.core.values.infer import any_rank, require_shape
from dovetail.core.values.spec import TensorSpec
from dovetail.ops.control.flow import scan
from dovetail.ops.linalg.products import matmul
from dovetail.ops.math.arithmetic import square
from dovetail.ops.math.reduce import sum
from dovetail.ops.samples import array, sample
from dovetail.ops.sequence.cells import GRUStep, gru_cell
from dovetail.ops.sequence.steps import before_each, by_step, gradient_spec, recurrent_dims, weight_gradient
from dovetail.ops.shapes.join import concatenate, split, stack

_ARGUMENTS = (array(2, 3, 4), array(2, 2), array(4, 6), array(2, 6))


def _spec(*rows: int) -> Any:
    """The shape rule of a layer with a bias of the shape (*rows, 3 · units)."""

    @any_rank
    def of_layer(
        x: TensorSpec, h: TensorSpec, kernel: TensorSpec, recurrent: TensorSpec, bias: Any = None
    ) -> list[TensorSpec]:
        batch, steps, units = recurrent_dims(x, h, kernel, recurrent, 3)
        if bias is not None:
            require_shape(bias, (*rows, None if units is None else 3 * units))
        return [TensorSpec((batch, steps, units), x.dtype), TensorSpec((batch, units), x.dtype)]

    return of_layer


_gru_spec, _before_spec = _spec(2), _spec()


@composite(
    "GRU",
    cost="recurrent",
    infer=_gru_spec,
    samples=[
        sample(*_ARGUMENTS, array(2, 6)),
        sample(*_ARGUMENTS),
        sample(array(0, 3, 4), array(0, 2), *_ARGUMENTS[2:]),
    ],
)
def gru(x: Float, h: Float, kernel: Float, recurrent_kernel: Float, bias: MaybeFloat = None) -> tuple[Tensor, Tensor]:
    """A layer of gated recurrent units, over all steps, whose reset gate comes after the recurrent product.

    Args:
        x: floats (batch, steps, features).
        h: floats (batch, units), the output before the first step.
        kernel: floats (features, 3 · units), for the update gate, the reset gate and the candidate.
        recurrent_kernel: floats (units, 3 · units), in the same order.
        bias: floats (2, 3 · units), for the inputs and for the recurrent product, if given.

    Returns:
        The outputs (batch, steps, units), and the output after the last step (batch, units).

    Raises:
        ValueError: shapes do not fit together.

    Source: Cho et al., "Learning phrase representations using RNN encoder-decoder", 2014; `keras.layers.GRU` with
        `reset_after=True`.

    Example:
        >>> y, h = gru([[[1.], [0.]]], [[0.]], [[-9., 0., 1.]], [[0., 0., 0.]])
        >>> y.numpy().round(3)
        array([[[0.762],
                [0.381]]], dtype=float32)
    """

    def step(h: Any, row: Any) -> Any:
        h = _step(*_products(row, h, kernel, recurrent_kernel, bias), h)[0].h
        return h, h

    h, outputs = scan(step, h, by_step(x))
    return by_step(outputs), h


def _products(x: Any, h: Any, kernel: Any, recurrent_kernel: Any, bias: Any) -> tuple[Any, Any]:
    """The products of inputs and of outputs before; in the loop, their gradients take less time than outside of it."""
    row, product = matmul(x, kernel), matmul(h, recurrent_kernel)
    return (row, product) if bias is None else (row + bias[0], product + bias[1])


def _step(row: Any, product: Any, h: Any) -> tuple[GRUStep, Any]:
    """A step, and the product that its reset gate changes."""
    (x_z, x_r, x_n), (h_z, h_r, h_n) = split(row, 3, axis=-1), split(product, 3, axis=-1)
    return gru_cell((x_r + h_r, x_z + h_z), lambda r: x_n + r * h_n, h), h_n


@composite(
    "GRUGrad",
    cost="recurrent",
    gradient_of="GRU",
    infer=gradient_spec(_gru_spec, 2),
    samples=[
        sample(array(2, 3, 2), array(2, 2), array(2, 3, 2), *_ARGUMENTS, array(2, 6)),
    ],
)
def gru_grad(
    g: Float, g_h: Float, y: Float, x: Float, h: Float, kernel: Float, recurrent_kernel: Float, bias: MaybeFloat
) -> tuple[Tensor, ...]:
    """The gradients of `gru` by its arguments; `g` and `g_h` arrive at its outputs, `y` is the first of these.

    Without a bias, there is no gradient of it.  Since the outputs are known, the gates of all steps are computed at
    once, and so are the gradients of the weights.

    Source: Werbos, "Backpropagation through time", 1990.

    Example:
        >>> one, three = [[1.]], [[0.] * 3]
        >>> gru_grad([one], one, [[[0.5]]], [one], one, three, three, None)[1].numpy()  # by h: 2 z
        array([[1.]], dtype=float32)
    """
    x, g = by_step(x), by_step(g)
    before = before_each(by_step(y), h)
    (r, z, candidate, _), reset = _step(*_products(x, before, kernel, recurrent_kernel, bias), before)
    to_candidate = (1 - z) * (1 - square(candidate))
    to_z = (before - candidate) * z * (1 - z)
    to_r = reset * r * (1 - r)

    def back(g_h: Any, row: Any) -> Any:
        g, to_candidate, to_z, to_r, z, r = row
        g_h = g_h + g
        g_n = g_h * to_candidate
        gates = [g_h * to_z, g_n * to_r]
        g_product = concatenate([*gates, g_n * r], axis=-1)
        return g_h * z + matmul(g_product, recurrent_kernel, transpose_b=True), (
            concatenate([*gates, g_n], axis=-1),
            g_product,
        )

    g_h, (g_row, g_product) = scan(back, g_h, (g, to_candidate, to_z, to_r, z, r), reverse=True)
    g_x = by_step(matmul(g_row, kernel, transpose_b=True))
    gradients = g_x, g_h, weight_gradient(x, g_row), weight_gradient(before, g_product)
    return gradients if bias is None else (*gradients, stack([sum(g_row, (0, 1)), sum(g_product, (0, 1))]))


gru.differentiated_by(gru_grad)


# -- the reset gate before the product --------------------------------------------------------------------------------


@composite(
    "GRUResetBefore",
    cost="recurrent",
    infer=_before_spec,
    samples=[
        sample(*_ARGUMENTS, array(6)),
        sample(*_ARGUMENTS),
        sample(array(0, 3, 4), array(0, 2), *_ARGUMENTS[2:]),
    ],
)
def gru_reset_before(
    x: Float, h: Float, kernel: Float, recurrent_kernel: Float, bias: MaybeFloat = None
) -> tuple[Tensor, Tensor]:
    """A layer of gated recurrent units, over all steps, whose reset gate comes before the recurrent product.

    Args:
        x: floats (batch, steps, features).
        h: floats (batch, units), the output before the first step.
        kernel: floats (features, 3 · units), for the update gate, the reset gate and the candidate.
        recurrent_kernel: floats (units, 3 · units), in the same order.
        bias: floats (3 · units,), if given.

    Returns:
        The outputs (batch, steps, units), and the output after the last step (batch, units).

    Raises:
        ValueError: shapes do not fit together.

    Source: Cho et al., "Learning phrase representations using RNN encoder-decoder", 2014; `keras.layers.GRU` with
        `reset_after=False`, and TensorFlow 1's `GRUCell`.

    Example:
        >>> y, h = gru_reset_before([[[1.], [0.]]], [[0.]], [[-9., 0., 1.]], [[0., 0., 0.]])
        >>> y.numpy().round(3)
        array([[[0.762],
                [0.381]]], dtype=float32)
    """
    to_gates, to_candidate = _recurrent_parts(recurrent_kernel)

    def step(h: Any, row: Any) -> Any:
        h = _step_before(row, h, kernel, to_gates, to_candidate, bias).h
        return h, h

    h, outputs = scan(step, h, by_step(x))
    return by_step(outputs), h


def _recurrent_parts(recurrent_kernel: Any) -> Any:
    """The matrix (units, 2 · units) of both gates, and the one (units, units) of the candidate."""
    z, r, n = split(recurrent_kernel, 3, axis=-1)
    return concatenate([z, r], axis=-1), n


def _step_before(x: Any, h: Any, kernel: Any, to_gates: Any, to_candidate: Any, bias: Any) -> GRUStep:
    row = matmul(x, kernel)
    x_z, x_r, x_n = split(row if bias is None else row + bias, 3, axis=-1)
    h_z, h_r = split(matmul(h, to_gates), 2, axis=-1)
    return gru_cell((x_r + h_r, x_z + h_z), lambda r: x_n + matmul(r * h, to_candidate), h)


@composite(
    "GRUResetBeforeGrad",
    cost="recurrent",
    gradient_of="GRUResetBefore",
    infer=gradient_spec(_before_spec, 2),
    samples=[sample(array(2, 3, 2), array(2, 2), array(2, 3, 2), *_ARGUMENTS, array(6))],
)
def gru_reset_before_grad(
    g: Float, g_h: Float, y: Float, x: Float, h: Float, kernel: Float, recurrent_kernel: Float, bias: MaybeFloat
) -> tuple[Tensor, ...]:
    """The gradients of `gru_reset_before` by its arguments, as those of `gru_grad`.

    Source: Werbos, "Backpropagation through time", 1990.

    Example:
        >>> one, three = [[1.]], [[0.] * 3]
        >>> gru_reset_before_grad([one], one, [[[0.5]]], [one], one, three, three, None)[1].numpy()  # by h: 2 z
        array([[1.]], dtype=float32)
    """
    x, g = by_step(x), by_step(g)
    before = before_each(by_step(y), h)
    to_gates, to_candidate = _recurrent_parts(recurrent_kernel)
    r, z, candidate, _ = _step_before(x, before, kernel, to_gates, to_candidate, bias)
    of_candidate = (1 - z) * (1 - square(candidate))
    of_z = (before - candidate) * z * (1 - z)
    of_r = before * r * (1 - r)

    def back(g_h: Any, row: Any) -> Any:
        g, of_candidate, of_z, of_r, z, r = row
        g_h = g_h + g
        g_n = g_h * of_candidate
        g_reset = matmul(g_n, to_candidate, transpose_b=True)  # by the product of the reset gate and the output
        gates = concatenate([g_h * of_z, g_reset * of_r], axis=-1)
        return g_h * z + g_reset * r + matmul(gates, to_gates, transpose_b=True), (gates, g_n)

    g_h, (g_gates, g_n) = scan(back, g_h, (g, of_candidate, of_z, of_r, z, r), reverse=True)
    g_row = concatenate([g_gates, g_n], axis=-1)
    of_recurrent = concatenate([weight_gradient(before, g_gates), weight_gradient(r * before, g_n)], axis=-1)
    g_x = by_step(matmul(g_row, kernel, transpose_b=True))
    gradients = g_x, g_h, weight_gradient(x, g_row), of_recurrent
    return gradients if bias is None else (*gradients, sum(g_row, (0, 1)))


gru_reset_before.differentiated_by(gru_reset_before_grad)


__all__ = ["gru", "gru_grad", "gru_reset_before", "gru_reset_before_grad"]
