"""LSTM: the layer over all steps as one op, and its gradient, for engines that have kernels for them."""

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
from dovetail.ops.math.trigonometry import tanh
from dovetail.ops.nn.activation import sigmoid
from dovetail.ops.samples import array, sample
from dovetail.ops.sequence.cells import lstm_cell
from dovetail.ops.sequence.steps import before_each, by_step, gradient_spec, recurrent_dims, weight_gradient
from dovetail.ops.shapes.join import concatenate, split

_ARGUMENTS = (array(2, 3, 4), array(2, 2), array(2, 2), array(4, 8), array(2, 8))


@any_rank
def _lstm_spec(
    x: TensorSpec, h: TensorSpec, c: TensorSpec, kernel: TensorSpec, recurrent: TensorSpec, bias: Any = None
) -> list[TensorSpec]:
    batch, steps, units = recurrent_dims(x, h, kernel, recurrent, 4)
    require_shape(c, (batch, units))
    if bias is not None:
        require_shape(bias, (None if units is None else 4 * units,))
    state = TensorSpec((batch, units), x.dtype)
    return [TensorSpec((batch, steps, units), x.dtype), state, state]


@composite(
    "LSTM",
    cost="recurrent",
    infer=_lstm_spec,
    samples=[
        sample(*_ARGUMENTS, array(8)),
        sample(*_ARGUMENTS),
        sample(array(0, 3, 4), array(0, 2), array(0, 2), *_ARGUMENTS[3:]),
    ],
)
def lstm(
    x: Float, h: Float, c: Float, kernel: Float, recurrent_kernel: Float, bias: MaybeFloat = None
) -> tuple[Tensor, Tensor, Tensor]:
    """A layer of long short-term memory, over all steps: sigmoids for its gates and tanh for the rest.

    Args:
        x: floats (batch, steps, features).
        h, c: floats (batch, units), the output and the cell before the first step.
        kernel: floats (features, 4 · units), for the input gate, the forget gate, the cell and the output gate.
        recurrent_kernel: floats (units, 4 · units), in the same order.
        bias: floats (4 · units,), if given.

    Returns:
        The outputs (batch, steps, units), and the output and the cell (batch, units) after the last step.

    Raises:
        ValueError: shapes do not fit together.

    Source: Hochreiter and Schmidhuber, "Long short-term memory", 1997; `keras.layers.LSTM`.

    Example:
        >>> y, h, c = lstm([[[1.], [0.]]], [[0.]], [[0.]], [[9., -9., 1., 9.]], [[0., 0., 0., 0.]])
        >>> y.numpy().round(3)
        array([[[0.642],
                [0.182]]], dtype=float32)
    """

    def step(state: Any, row: Any) -> Any:
        h, c = state  # in the loop, the gradient of the input's product takes less time than outside of it
        z = matmul(row, kernel) + matmul(h, recurrent_kernel)
        after = lstm_cell(split(z if bias is None else z + bias, 4, axis=-1), c)
        return (after.h, after.c), after.h

    (h, c), outputs = scan(step, (h, c), by_step(x))
    return by_step(outputs), h, c


@composite(
    "LSTMGrad",
    cost="recurrent",
    gradient_of="LSTM",
    infer=gradient_spec(_lstm_spec, 3),
    samples=[
        sample(array(2, 1, 2), array(2, 2), array(2, 2), array(2, 1, 2), array(2, 1, 4), *_ARGUMENTS[1:], array(8)),
    ],
)
def lstm_grad(
    g: Float,
    g_h: Float,
    g_c: Float,
    y: Float,
    x: Float,
    h: Float,
    c: Float,
    kernel: Float,
    recurrent_kernel: Float,
    bias: MaybeFloat,
) -> tuple[Tensor, ...]:
    """The gradients of `lstm` by its arguments; `g`, `g_h` and `g_c` arrive at its outputs, `y` is the first of these.

    Without a bias, there is no gradient of it.  Since the outputs are known, the gates of all steps are computed at
    once, and so are the gradients of the weights.

    Source: Werbos, "Backpropagation through time", 1990.

    Example:
        >>> one, four = [[1.]], [[0.] * 4]
        >>> lstm_grad([one], one, one, [[[0.]]], [one], one, one, four, four, None)[2].numpy().round(4)
        array([[0.8932]], dtype=float32)
    """
    x, g = by_step(x), by_step(g)
    before = before_each(by_step(y), h)
    rows = matmul(x, kernel) + matmul(before, recurrent_kernel)
    i, f, cell, o = split(rows if bias is None else rows + bias, 4, axis=-1)
    # with its gradient, one sigmoid of all takes more time than three of parts
    i, f, cell, o = sigmoid(i), sigmoid(f), tanh(cell), sigmoid(o)

    def grow(c: Any, row: Any) -> Any:
        factor, added = row
        after = factor * c + added
        return after, (c, after)

    _, (cells_before, cells) = scan(grow, c, (f, i * cell))
    shown = tanh(cells)
    per_output = o * (1 - square(shown)), shown * o * (1 - o)  # slopes of the output by the cell and by the output gate
    per_cell = cell * i * (1 - i), cells_before * f * (1 - f), i * (1 - square(cell))

    def back(state: Any, row: Any) -> Any:
        g_h, g_c = state
        g, (to_cell, to_o), (to_i, to_f, to_g), f = row
        g_h = g_h + g
        g_c = g_c + g_h * to_cell
        gz = concatenate([g_c * to_i, g_c * to_f, g_c * to_g, g_h * to_o], axis=-1)
        return (matmul(gz, recurrent_kernel, transpose_b=True), g_c * f), gz

    (g_h, g_c), gz = scan(back, (g_h, g_c), (g, per_output, per_cell, f), reverse=True)
    g_x = by_step(matmul(gz, kernel, transpose_b=True))
    gradients = g_x, g_h, g_c, weight_gradient(x, gz), weight_gradient(before, gz)
    return gradients if bias is None else (*gradients, sum(gz, (0, 1)))


lstm.differentiated_by(lstm_grad)


__all__ = ["lstm", "lstm_grad"]
