"""Recurrent layers: LSTMBlockCell, BlockLSTM, GRUBlockCell; CudnnRNN, which has all its weights in one vector."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from dovetail import ops
from dovetail.core.base.table import OPS
from dovetail.formats.nodes.constants import known_size
from dovetail.formats.nodes.opaque import Unreadable
from dovetail.formats.tensorflow.gradients import through
from dovetail.formats.tensorflow.table import row
from dovetail.ops.sequence import cells
from dovetail.ops.shapes.shape import dims_of

_CELL = "x cs_prev h_prev w wci wcf wco b"
_LSTM = "use_peephole:peephole cell_clip:clip"


@row(f"LSTMBlockCell: {_CELL}; forget_bias {_LSTM} +forget_last=True")
def lstm_cell(
    x: Any,
    cs_prev: Any,
    h_prev: Any,
    w: Any,
    wci: Any,
    wcf: Any,
    wco: Any,
    b: Any,
    forget_bias: Any = 0.0,
    peephole: bool = False,
    clip: float = 3.0,
    forget_last: bool = False,
    added: Any = 0,
) -> list[Any]:
    """One step of an LSTM: the gates and states i, cs, f, o, ci, co, h.

    Args:
        x, cs_prev, h_prev, w, wci, wcf, wco, b: the inputs, the last states, and the weights.
        forget_bias: added to the forget gate.
        peephole: whether gates see the cell, by the weights wci, wcf and wco.
        clip: the bound of the cell, if above 0.
        forget_last: whether the gates are in the order i, c, f, o; else i, f, c, o.
        added: to the sums before the gates.
    """
    sums = OPS["MatMul"](ops.concatenate([x, h_prev], -1), w) + b + added
    i, second, third, o = ops.split(sums, 4, -1)
    f, ci = (third, second) if forget_last else (second, third)
    peepholes = (wci, wcf, wco) if peephole else (None, None, None)
    bounded = (lambda cs: ops.clip(cs, -clip, clip)) if clip > 0 else None
    return [*cells.lstm_cell((i, f + forget_bias, ci, o), cs_prev, peepholes, bounded)]


_STEPS = "steps x cs_prev h_prev w wci wcf wco b"


@row(
    f"BlockLSTM: {_STEPS}; forget_bias {_LSTM} +forget_last=True",
    f"BlockLSTMV2: {_STEPS}; use_peephole:peephole cell_clip:clip",
)
def lstm_block(steps: Any, x: Any, cs_prev: Any, h_prev: Any, *weights: Any, **how: Any) -> list[Any]:
    """All steps of an LSTM; zeros behind the last one."""
    names = [name for name in ("w", "wci", "wcf", "wco", "b") if name in how]
    weights = weights or tuple(how.pop(name) for name in names)

    def step(states: Any, x: Any) -> Any:
        after = lstm_cell(x, *states, *weights, **how)
        return (after[1], after[6]), after

    _, results = ops.scan(step, (cs_prev, h_prev), x)
    runs = ops.reshape(ops.arange(dims_of(x)[0], dtype="int64") < steps, [-1, 1, 1])
    return [ops.where(runs, one, 0) for one in results]


@row(f"LSTMBlockCellGrad: {_CELL} i cs f o ci co g_cs g_h; use_peephole:peephole")
def _(
    x: Any,
    cs_prev: Any,
    h_prev: Any,
    w: Any,
    wci: Any,
    wcf: Any,
    wco: Any,
    b: Any,
    f: Any,
    g_cs: Any,
    g_h: Any,
    peephole: bool = False,
    **states: Any,
) -> list[Any]:
    """By the cell, the sums before the gates, and the weights of the peepholes; the gates say the forget bias."""
    added = ops.zeros_like(OPS["MatMul"](x, w[: dims_of(x)[-1]]))
    unbiased = lstm_cell(x, cs_prev, h_prev, w, wci, wcf, wco, b, 0.0, peephole, 0.0, True)[2]
    bias = ops.log(f / (1 - f)) - ops.log(unbiased / (1 - unbiased))

    def states_of(cs_prev: Any, added: Any, wci: Any, wcf: Any, wco: Any) -> list[Any]:
        given = lstm_cell(x, cs_prev, h_prev, w, wci, wcf, wco, b, ops.stop_gradient(bias), peephole, 0.0, True, added)
        return [given[1], given[6]]

    return through(states_of, [g_cs, g_h], cs_prev, added, wci, wcf, wco)


_GRU = "x h w_ru w_c b_ru b_c"


@row(f"GRUBlockCell: {_GRU}")
def gru_cell(
    x: Any, h: Any, w_ru: Any, w_c: Any, b_ru: Any, b_c: Any, added_c: Any = 0, added_ru: Any = 0
) -> list[Any]:
    """One step of a GRU: the gates r and u, the candidate c, and the state."""
    sums = OPS["MatMul"](ops.concatenate([x, h], -1), w_ru) + b_ru + added_ru

    def candidate(r: Any) -> Any:
        return OPS["MatMul"](ops.concatenate([x, r * h], -1), w_c) + b_c + added_c

    return [*cells.gru_cell(ops.split(sums, 2, -1), candidate, h)]


@row(f"GRUBlockCellGrad: {_GRU} r u c g")
def _(x: Any, h: Any, w_ru: Any, w_c: Any, b_ru: Any, b_c: Any, r: Any, u: Any, c: Any, g: Any) -> list[Any]:
    added = ops.zeros_like(c), ops.zeros_like(ops.concatenate([r, u], -1))
    return through(lambda x, h, *added: gru_cell(x, h, w_ru, w_c, b_ru, b_c, *added)[3], g, x, h, *added)


# -- cuDNN ------------------------------------------------------------------------------------------------------------

Weights = tuple[Any, Any, Any, Any]  # of the inputs and the state, (inputs, gates · units), and their biases
GATES = {"lstm": 4, "gru": 3, "rnn_relu": 1, "rnn_tanh": 1}
_CUDNN = "rnn_mode:mode input_mode=linear_input direction dropout is_training:training"


@row(
    f"CudnnRNN: x h c params; {_CUDNN} seed seed2 +outputs=4",
    f"CudnnRNNV2: x h c params; {_CUDNN} seed seed2 +outputs=5",
    f"CudnnRNNV3: x h c params lengths; {_CUDNN} seed seed2 time_major num_proj=0 +outputs=5",
)
def cudnn(
    x: Any,
    h: Any,
    c: Any,
    params: Any,
    mode: str,
    direction: str,
    outputs: int,
    lengths: Any = None,
    dropout: float = 0.0,
    training: bool = True,
    time_major: bool = True,
    **seeds: int,
) -> list[Any]:
    """Layers of cuDNN: the results of all steps, the last states, and reserved space, which is empty here.

    Raises:
        Unreadable: it drops values between layers.
    """
    if dropout and training:
        raise Unreadable("it drops values between its layers")
    order = (0, 1, 2) if time_major else (1, 0, 2)
    x, h, c = (ops.transpose(one, order) for one in (x, h, c))
    directions = 1 if direction == "unidirectional" else 2
    layers, units = known_size(h, 0), known_size(h, 2)
    weights = list(_weights(params, mode, layers, directions, known_size(x, 2), units))
    cell, last_h, last_c = _CELLS[mode], [], []
    for layer in range(0, layers, directions):
        results = []
        for number in range(layer, layer + directions):
            turned = _turned(x, lengths) if number > layer else x
            y, state = _layer(cell, turned, (h[number], c[number]), weights[number], lengths)
            results.append(_turned(y, lengths) if number > layer else y)
            last_h.append(state[0])
            last_c.append(state[1])
        x = ops.concatenate(results, -1)
    y, h, c = (ops.transpose(one, order) for one in (x, ops.stack(last_h), ops.stack(last_c)))
    reserved = [ops.zeros([0], x.dtype), ops.zeros([0], "int8")][: outputs - 3]
    return [y, h, c if mode == "lstm" else ops.zeros([0], x.dtype), *reserved]


def _weights(params: Any, mode: str, layers: int, directions: int, inputs: int, units: int) -> Iterator[Weights]:
    """The weights of the layers: matrices (units, inputs) of all layers come first, then all biases."""
    gates, at = GATES[mode], 0
    matrices, biases = [], []

    def taken(*shape: int) -> Any:
        nonlocal at
        at += int(np.prod(shape))
        return ops.reshape(params[at - int(np.prod(shape)) : at], shape)

    for number in range(layers):
        size = inputs if number < directions else units * directions
        matrices.append([ops.transpose(taken(gates * units, width)) for width in (size, units)])
    for _ in range(layers):
        biases.append([taken(gates * units) for _ in range(2)])
    for (of_x, of_h), pair in zip(matrices, biases, strict=True):
        yield of_x, of_h, pair[0], pair[1]


def _layer(cell: Callable[..., Any], x: Any, states: Any, weights: Weights, lengths: Any) -> tuple[Any, Any]:
    """All steps of a layer; behind the length of a sequence its results are 0, and its states stay."""
    of_x, of_h, bias_x, bias_h = weights

    def step(sums: Any, states: Any) -> Any:
        after = cell(sums, OPS["MatMul"](states[0], of_h) + bias_h, *states)
        return after[0], after

    sums = OPS["MatMul"](x, of_x) + bias_x
    _, y, last = ops.rnn(step, sums, states, input_length=lengths, time_major=True, zero_output_for_mask=True)
    return y, last


def _turned(x: Any, lengths: Any) -> Any:
    """The steps of each sequence from its last one."""
    if lengths is None:
        return ops.flip(x, 0)
    size = dims_of(x)[0]
    places = ops.expand_dims(ops.arange(size, dtype="int32"), -1)
    places = ops.where(places < lengths, lengths - 1 - places, places)
    return ops.take_along_axis(x, ops.expand_dims(places, -1), 0)


def _lstm(x: Any, of_h: Any, h: Any, c: Any) -> tuple[Any, Any]:
    after = cells.lstm_cell(ops.split(x + of_h, 4, -1), c)
    return after.h, after.c


def _gru(x: Any, of_h: Any, h: Any, c: Any) -> tuple[Any, Any]:
    (r, z, new), (h_r, h_z, h_new) = (ops.split(one, 3, -1) for one in (x, of_h))
    return cells.gru_cell((r + h_r, z + h_z), lambda r: new + r * h_new, h).h, c


_CELLS: dict[str, Callable[..., tuple[Any, Any]]] = {
    "lstm": _lstm,
    "gru": _gru,
    "rnn_relu": lambda x, of_h, h, c: (ops.relu(x + of_h), c),
    "rnn_tanh": lambda x, of_h, h, c: (ops.tanh(x + of_h), c),
}
