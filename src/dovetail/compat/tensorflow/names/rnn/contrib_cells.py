"""The cells of `contrib.rnn` and `contrib.cudnn_rnn` that `nn.rnn_cell` lacks, as rows."""

from __future__ import annotations

from typing import Any, ClassVar

from dovetail import ops
from dovetail.compat.tensorflow.names.nn.basics import dropout_v1
from dovetail.compat.tensorflow.names.rnn.cells import _LSTM, Cell, GRUCell, linear
from dovetail.compat.tensorflow.table import in_v1
from dovetail.core.base.errors import op_error
from dovetail.core.base.tensor_shape import TensorShape
from dovetail.ops.sequence.cells import gru_cell, lstm_cell

FUNCTIONS: tuple[Any, ...] = ops.sigmoid, ops.relu, ops.tanh


class LSTMBlockCell(
    _LSTM,
    places="contrib.rnn",
    takes="num_units forget_bias=1.0 cell_clip=None use_peephole=False dtype=None reuse=None name='lstm_cell'",
):
    """`LSTMCell` with the order of the peepholes' variables of TensorFlow's kernel.

    Source: `tf.contrib.rnn.LSTMBlockCell`.
    """

    _peepholes = "i f o"


class CudnnCompatibleLSTMCell(_LSTM, places="contrib.cudnn_rnn", takes="num_units reuse=None"):
    """A cell with the variables of `CudnnLSTM`, whose forget gate adds nothing.

    Source: `tf.contrib.cudnn_rnn.CudnnCompatibleLSTMCell`.
    """


class CudnnCompatibleGRUCell(GRUCell, places="contrib.cudnn_rnn", takes="num_units reuse=None kernel_initializer=None"):
    """A cell with the variables of `CudnnGRU`, whose reset gate comes behind the recurrent product.

    Source: `tf.contrib.cudnn_rnn.CudnnCompatibleGRUCell`.
    """

    _activation = staticmethod(ops.tanh)
    variables_of_step: ClassVar = (
        *("gates/kernel", "gates/bias"),
        *(f"candidate/{part}_projection/{what}" for part in ("input", "hidden") for what in ("kernel", "bias")),
    )

    def shapes(self, depth: int) -> dict[str, list[int]]:
        (units,) = self.sizes
        shapes = [depth + units, 2 * units], [2 * units], [depth, units], [units], [units, units], [units]
        return dict(zip(self.variables_of_step, shapes, strict=True))

    def step(self, x: Any, *state: Any) -> tuple[Any, ...]:
        (h,) = state
        kernel, bias, *projections = (self.of[name] for name in self.variables_of_step)
        gates = ops.split(linear(x, h, kernel, bias), 2, axis=1)

        def candidate(r: Any) -> Any:
            of_input, of_hidden = ((a @ w) + b for a, w, b in ((x, *projections[:2]), (h, *projections[2:])))
            return of_input + r * of_hidden

        h = gru_cell(gates, candidate, h, (ops.sigmoid, self._activation)).h
        return h, h

    @property
    def is_whole(self) -> bool:
        return False


class GRUBlockCellV2(GRUCell, places="contrib.rnn", takes="num_units=None cell_size=None reuse=None name='gru_cell'"):
    """`GRUCell`, under the name of TensorFlow's kernel.

    Source: `tf.contrib.rnn.GRUBlockCellV2`.
    """

    _activation = staticmethod(ops.tanh)

    @property
    def sizes(self) -> list[int]:
        return [self._num_units or self._cell_size]


class GRUBlockCell(
    GRUBlockCellV2, places="contrib.rnn", takes="num_units=None cell_size=None reuse=None name='gru_cell'"
):
    """`GRUCell`, with the names of the variables of TensorFlow's kernel.

    Source: `tf.contrib.rnn.GRUBlockCell`.
    """

    first: ClassVar = {"b_ru": 1.0, "b_c": 0.0}
    variables_of_step: ClassVar = ("w_ru", "b_ru", "w_c", "b_c")


class UGRNNCell(
    Cell,
    places="contrib.rnn",
    takes="num_units initializer=None forget_bias=1.0 activation=None reuse=None",
):
    """A cell with an update gate alone.

    Source: `tf.contrib.rnn.UGRNNCell`.
    """

    gates: ClassVar = 2

    def step(self, x: Any, *state: Any) -> tuple[Any, ...]:
        g, new = self.products(x, state[0])
        g = ops.sigmoid(g + self._forget_bias)
        h = g * state[0] + (1 - g) * self._activation(new)
        return h, h


class IntersectionRNNCell(
    Cell,
    places="contrib.rnn",
    takes="num_units num_in_proj=None initializer=None forget_bias=1.0 y_activation=None reuse=None",
):
    """A cell with a gate through time and a gate through depth.

    Source: `tf.contrib.rnn.IntersectionRNNCell`.
    """

    gates: ClassVar = 4

    def shapes(self, depth: int) -> dict[str, list[int]]:
        units = self._num_units
        own = super().shapes(units)
        if depth == units:
            return own
        if not self._num_in_proj:
            problem = f"the inputs have {depth} features, and there are {units} units: give num_in_proj={units}."
            raise op_error(ValueError, "tf.contrib.rnn.IntersectionRNNCell", problem)
        return {"in_projection/kernel": [depth, units], "in_projection/bias": [units], **own}

    def step(self, x: Any, *state: Any) -> tuple[Any, ...]:
        (h,) = state
        if "in_projection/kernel" in self.of:
            x = ops.bias_add(ops.matmul(x, self.of["in_projection/kernel"]), self.of["in_projection/bias"])
        gh, new, gy, y = self.products(x, h)
        gh, gy = ops.sigmoid(gh + self._forget_bias), ops.sigmoid(gy + self._forget_bias)
        y = (self._y_activation or ops.relu)(y)
        return gy * x + (1 - gy) * y, gh * h + (1 - gh) * ops.tanh(new)


class NASCell(
    _LSTM, places="contrib.rnn", takes="num_units num_proj=None use_bias=False reuse=None name=None dtype=None"
):
    """A cell that a search of architectures has found.

    Source: `tf.contrib.rnn.NASCell`.
    """

    is_whole = False
    projection: ClassVar = "projection_weights"

    def shapes(self, depth: int) -> dict[str, list[int]]:
        units, outputs = self.sizes
        kernels = {"recurrent_kernel": [outputs, 8 * units], "kernel": [depth, 8 * units]}
        bias = {"bias": [8 * units]} if self._use_bias else {}
        return {**kernels, **bias, **({self.projection: [units, outputs]} if self._num_proj else {})}

    def step(self, x: Any, *state: Any) -> tuple[Any, ...]:
        c, h = state
        product = ops.matmul(h, self.of["recurrent_kernel"])
        product = ops.bias_add(product, self.of["bias"]) if self._use_bias else product
        xs, hs = ops.split(ops.matmul(x, self.of["kernel"]), 8, axis=1), ops.split(product, 8, axis=1)
        s, r, t = FUNCTIONS
        joined = [b * a if i == 3 else b + a for i, (a, b) in enumerate(zip(hs, xs, strict=True))]
        a = [f(z) for f, z in zip((s, r, s, r, t, s, t, s), joined, strict=True)]
        c = t(t(a[0] * a[1]) + c) * t(a[2] + a[3])
        h = t(c * t(t(a[4] * a[5]) + s(a[6] + a[7])))
        h = self.projected(h)
        return h, c, h


_GATES = ("input", "transform", "forget", "output")


class LayerNormBasicLSTMCell(
    _LSTM,
    places="contrib.rnn",
    takes="num_units forget_bias=1.0 input_size=None activation=None layer_norm=True norm_gain=1.0 norm_shift=0.0 "
    "dropout_keep_prob=1.0 dropout_prob_seed=None reuse=None",
):
    """An LSTM cell whose gates and cell are normalised, and whose new cell loses random elements.

    Source: `tf.contrib.rnn.LayerNormBasicLSTMCell`.
    """

    first: ClassVar = {"bias": None}
    is_whole = False

    def shapes(self, depth: int) -> dict[str, list[int]]:
        units = self._num_units
        own = self.norms("input transform forget output state") if self._layer_norm else {"bias": [4 * units]}
        return {"kernel": [depth + units, 4 * units], **own}

    def step(self, x: Any, *state: Any) -> tuple[Any, ...]:
        c, h = state
        z = ops.matmul(ops.concatenate([x, h], 1), self.of["kernel"])
        parts = ops.split(z if self._layer_norm else z + self.of["bias"], 4, axis=1)
        i, j, f, o = (self.norm(part, gate) for part, gate in zip(parts, _GATES, strict=True))
        return self.stepped(i, f, j, o, c)

    def new_cell(self, j: Any) -> Any:
        return in_v1(dropout_v1)(self._activation(j), self._dropout_keep_prob, seed=self._dropout_prob_seed)

    def bounded(self, c: Any) -> Any:
        return self.norm(c, "state")

    def norms(self, scopes: str) -> dict[str, list[int]]:
        """The variables of normalisations in scopes."""
        return {f"{scope}/{name}": [self._num_units] for scope in scopes.split() for name in ("gamma", "beta")}

    def norm(self, x: Any, scope: str) -> Any:
        """A tensor, normalised along its last axis if the cell does that, by the variables of a scope."""
        if not self._layer_norm:
            return x
        mean, variance = ops.moments(x, -1, True)
        return (x - mean) * ops.rsqrt(variance + 1e-12) * self.of[f"{scope}/gamma"] + self.of[f"{scope}/beta"]


class CoupledInputForgetGateLSTMCell(
    LayerNormBasicLSTMCell,
    places="contrib.rnn",
    takes="num_units use_peepholes=False initializer=None num_proj=None proj_clip=None num_unit_shards=1 "
    "num_proj_shards=1 forget_bias=1.0 state_is_tuple=True activation=None reuse=None layer_norm=False norm_gain=1.0 "
    "norm_shift=0.0",
):
    """An LSTM cell whose input gate and forget gate add up to 1.

    Source: `tf.contrib.rnn.CoupledInputForgetGateLSTMCell`.
    """

    first: ClassVar = {"B": 0.0}
    seen: ClassVar = ("", "W_F_diag", "W_O_diag")
    projection: ClassVar = "W_P_0"
    new_cell = _LSTM.new_cell

    def shapes(self, depth: int) -> dict[str, list[int]]:
        units, outputs = self.sizes
        return {"W_0": [depth + outputs, 3 * units], "B": [3 * units]} | {
            **(self.norms("transform forget output") if self._layer_norm else {}),
            **({"W_F_diag": [units], "W_O_diag": [units]} if self._use_peepholes else {}),
            **(self.norms("state") if self._layer_norm else {}),
            **({self.projection: [units, outputs]} if self._num_proj else {}),
        }

    def step(self, x: Any, *state: Any) -> tuple[Any, ...]:
        c, h = state
        z = ops.matmul(ops.concatenate([x, h], 1), self.of["W_0"])
        parts = ops.split(z if self._layer_norm else z + self.of["B"], 3, axis=1)
        j, f, o = (self.norm(part, gate) for part, gate in zip(parts, _GATES[1:], strict=True))
        return self.stepped(None, f, j, o, c)


class ConvLSTMCell(
    Cell,
    places="contrib.rnn",
    takes="conv_ndims input_shape output_channels kernel_shape use_bias=True skip_connection=False forget_bias=1.0 "
    "initializers=None name='conv_lstm_cell'",
):
    """An LSTM cell over images, whose products are convolutions.

    Source: `tf.contrib.rnn.ConvLSTMCell`.
    """

    @property
    def sizes(self) -> list[Any]:
        size = TensorShape([*self._input_shape[:-1], self._output_channels])
        return [size, size]

    @property
    def output_size(self) -> Any:
        skipped = self._input_shape[-1] if self._skip_connection else 0
        return TensorShape([*self._input_shape[:-1], self._output_channels + skipped])

    def shapes(self, depth: int) -> dict[str, list[int]]:
        if self._conv_ndims != len(self._input_shape) - 1:
            problem = f"input_shape {self._input_shape} does not have {self._conv_ndims} axes and the channels."
            raise op_error(ValueError, "tf.contrib.rnn.ConvLSTMCell", problem)
        channels = 4 * self._output_channels
        kernel = {"kernel": [*self._kernel_shape, depth + self._output_channels, channels]}
        return {**kernel, **({"biases": [channels]} if self._use_bias else {})}

    def step(self, x: Any, *state: Any) -> tuple[Any, ...]:
        c, h = state
        z = ops.conv(ops.concatenate([x, h], -1), self.of["kernel"], padding="same")
        i, j, f, o = ops.split(z + self.of["biases"] if self._use_bias else z, 4, axis=-1)
        after = lstm_cell((i, f + self._forget_bias, j, o), c)
        output = ops.concatenate([after.h, x], -1) if self._skip_connection else after.h
        return output, after.c, after.h


for _rank in (1, 2, 3):
    type(
        f"Conv{_rank}DLSTMCell",
        (ConvLSTMCell,),
        {"__doc__": ConvLSTMCell.__doc__},
        places="contrib.rnn",
        takes=f"name='conv_{_rank}d_lstm_cell' input_shape=None output_channels=None kernel_shape=None use_bias=True "
        f"skip_connection=False forget_bias=1.0 initializers=None conv_ndims={_rank}",
    )
