"""Recurrent layers, in one direction or both: RNN, GRU, LSTM."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from dovetail import ops
from dovetail.formats.nodes.constants import counted, known_size, of_rank
from dovetail.formats.nodes.opaque import Unreadable, Words
from dovetail.formats.onnx.ops.activations import hard_sigmoid
from dovetail.formats.onnx.ops.slicing import reversed_rows
from dovetail.formats.onnx.table import row, writes
from dovetail.formats.onnx.written_nodes import Place, Ref
from dovetail.graph.operation import Operation
from dovetail.ops.sequence import cells
from dovetail.ops.shapes.shape import dims_of

# -- reading ----------------------------------------------------------------------------------------------------------

# name of an activation → the function of (x, alpha, beta), with the defaults of the numbers
ACTIVATIONS: dict[str, tuple[Callable[[Any, float, float], Any], float, float]] = {
    "Relu": (lambda x, a, b: ops.relu(x), 0, 0),
    "Tanh": (lambda x, a, b: ops.tanh(x), 0, 0),
    "Sigmoid": (lambda x, a, b: ops.sigmoid(x), 0, 0),
    "Affine": (lambda x, a, b: x * a + b, 1, 0),
    "LeakyRelu": (lambda x, a, b: ops.leaky_relu(x, a), 0.01, 0),
    "ThresholdedRelu": (lambda x, a, b: ops.where(ops.greater(x, a), x, ops.zeros_like(x)), 1, 0),
    "ScaledTanh": (lambda x, a, b: ops.tanh(x * b) * a, 1, 1),
    "HardSigmoid": (hard_sigmoid, 0.2, 0.5),
    "Elu": (lambda x, a, b: ops.elu(x, a), 1, 0),
    "Softsign": (lambda x, a, b: ops.softsign(x), 0, 0),
    "Softplus": (lambda x, a, b: ops.softplus(x), 0, 0),
}
THEIRS, OURS = "iofc", "ifco"  # the order of the gates of an LSTM in ONNX, and here
WAYS = Words({"forward": [False], "reverse": [True], "bidirectional": [False, True]})  # whether each is reversed
OF_LSTM = ("Sigmoid", "Tanh", "Tanh")
SHARED = "activation_alpha:alphas activation_beta:betas activations clip direction hidden_size:units layout"
Functions = list[Callable[[Any], Any]]
Cell = Callable[..., Any]  # (functions, limit, x, states, *weights) → next states
Fast = Callable[..., Any]


def _functions(names: Any, default: Sequence[str], alphas: Any, betas: Any, count: int) -> list[Functions]:
    """The activations of each direction; numbers are given for those that have some."""
    alphas, betas = list(alphas or []), list(betas or [])
    functions: list[Any] = []
    for name in names or list(default) * count:
        known = {key.lower(): value for key, value in ACTIVATIONS.items()}.get(name.lower())
        if known is None:
            raise Unreadable(f"its activation {name!r} is not known")
        function, alpha, beta = known
        a = alphas.pop(0) if alphas and alpha else alpha
        b = betas.pop(0) if betas and beta else beta
        functions.append(lambda x, function=function, a=a, b=b: function(x, a, b))
    each = len(default)
    return [functions[i * each : (i + 1) * each] for i in range(count)]


def layer(
    cell: Cell,
    fast: Fast | None,
    default: Sequence[str],
    x: Any,
    weights: Sequence[Any],
    lengths: Any,
    first: Sequence[Any],
    activations: Any = None,
    alphas: Any = None,
    betas: Any = None,
    clip: float | None = None,
    direction: str = "forward",
    layout: int = 0,
) -> list[Any]:
    """The outputs of all steps, and the states after the last one.

    Args:
        cell: one step.
        fast: (x, states, kernel, recurrent kernel, bias) → outputs and states, if Dovetail has an op for it.
        default: the names of the activations of one direction.
        x: (steps, batch, features), or the batch first with the layout 1.
        weights: kernel, recurrent kernel and others, for each direction.
        lengths: the number of steps of each row of the batch, or None.
        first: the states before the first step, or None for zeros.
    """
    x = ops.transpose(x, [1, 0, 2]) if layout else x
    ways = WAYS[direction]
    functions = _functions(activations, default, alphas, betas, len(ways))
    is_default = fast is not None and not activations and not clip and lengths is None
    batch, units = of_rank(x, 3)[1], known_size(weights[1], 2)
    turned = (lambda y: ops.flip(y, 0)) if lengths is None else (lambda y: reversed_rows(y, lengths))
    results = []
    for number, is_reversed in enumerate(ways):
        zeros = ops.zeros([batch, units], x.dtype)
        states = [zeros if one is None else one[:, number] if layout else one[number] for one in first]
        parts = [None if one is None else one[number] for one in weights]
        given = turned(x) if is_reversed else x
        if is_default and fast is not None:
            y, *last = fast(ops.transpose(given, [1, 0, 2]), states, *parts)
            y = ops.transpose(y, [1, 0, 2])
        else:
            y, *last = _steps(cell, functions[number], given, states, parts, lengths, clip)
        results.append([turned(y) if is_reversed else y, *last])
    y, *last = [ops.stack(list(kind), 1 if i == 0 else 0) for i, kind in enumerate(zip(*results, strict=True))]
    if layout:
        y, last = ops.transpose(y, [2, 0, 1, 3]), [ops.transpose(one, [1, 0, 2]) for one in last]
    return [y, *last]


def _steps(cell: Cell, functions: Functions, x: Any, states: Any, parts: Any, lengths: Any, clip: Any) -> list[Any]:
    """The steps of one direction; behind its length a row of the batch keeps its states and gives zeros.

    The last states of a row without steps are zeros, as those of ONNX Runtime.
    """

    def limited(value: Any) -> Any:
        return ops.clip(value, -clip, clip) if clip else value

    def step(states: Any, now: Any) -> Any:
        x, number = now
        new = cell(functions, limited, x, states, *parts)
        if lengths is None:
            return tuple(new), new[0]
        is_inside = ops.expand_dims(ops.less(number, ops.cast(lengths, "int32")), 1)
        new = [ops.where(is_inside, one, old) for one, old in zip(new, states, strict=True)]
        return tuple(new), ops.where(is_inside, new[0], ops.zeros_like(new[0]))

    last, y = ops.scan(step, tuple(states), (x, counted(dims_of(x)[0])))
    if lengths is not None:
        has_steps = ops.expand_dims(ops.greater(lengths, 0), 1)
        last = [ops.where(has_steps, one, ops.zeros_like(one)) for one in last]
    return [y, *last]


def _sums(gates: int, x: Any, h: Any, kernel: Any, recurrent: Any, bias: Any) -> tuple[list[Any], list[Any]]:
    """The products of the inputs and of the state with their biases, for each gate."""
    products = [ops.matmul(one, ops.transpose(weights)) for one, weights in ((x, kernel), (h, recurrent))]
    if bias is not None:
        products = [one + part for one, part in zip(products, ops.split(bias, 2), strict=True)]
    own, other = (ops.split(one, gates, -1) for one in products)
    return own, other


def _rnn(variant: int, f: Functions, limited: Any, x: Any, states: Any, *weights: Any) -> list[Any]:
    (own,), (other,) = _sums(1, x, states[0], *weights)
    return [f[0](limited(own + other))]


def lstm(coupled: int, f: Functions, limited: Any, x: Any, states: Any, *weights: Any) -> list[Any]:
    """One step of an LSTM: its next states; `coupled` gates add up to 1."""
    (h, c), (*matrices, peephole) = states, weights
    own, other = _sums(4, x, h, *matrices)
    i, o, g, t = (one + part for one, part in zip(own, other, strict=True))
    pi, po, pf = [None] * 3 if peephole is None else ops.split(peephole, 3)
    activations = (lambda z: f[0](limited(z))), (lambda z: f[1](limited(z))), f[2]
    after = cells.lstm_cell((i, None if coupled else g, t, o), c, (pi, pf, po), None, activations)
    return [after.h, after.c]


def _whole_lstm(coupled: int, x: Any, states: Any, kernel: Any, recurrent: Any, bias: Any, peephole: Any) -> Any:
    def ordered(whole: Any) -> Any:
        return cells.gates_in_order(whole, THEIRS, OURS, 0)

    own = None if bias is None else sum(map(ordered, ops.split(bias, 2, 0)))
    return ops.lstm(x, states[0], states[1], ops.transpose(ordered(kernel)), ops.transpose(ordered(recurrent)), own)


def _gru(after: int, f: Functions, limited: Any, x: Any, states: Any, kernel: Any, recurrent: Any, bias: Any) -> Any:
    (h,) = states
    (x_z, x_r, x_n), (h_z, h_r, h_n) = _sums(3, x, h, kernel, recurrent, bias)

    def candidate(r: Any) -> Any:
        if after:
            return limited(x_n + r * h_n)
        of_candidate = recurrent[2 * known_size(recurrent, 1) :]
        product = ops.matmul(r * h, ops.transpose(of_candidate))
        return limited(x_n + (product if bias is None else product + ops.split(bias, 6)[5]))

    activations = (lambda z: f[0](limited(z))), f[1]
    return [cells.gru_cell((x_r + h_r, x_z + h_z), candidate, h, activations).h]


def _whole_gru(after: int, x: Any, states: Any, kernel: Any, recurrent: Any, bias: Any) -> Any:
    kernel, recurrent = ops.transpose(kernel), ops.transpose(recurrent)
    own = None if bias is None else ops.reshape(bias, [2, -1])
    if after:
        return ops.gru(x, states[0], kernel, recurrent, own)
    return ops.gru_reset_before(x, states[0], kernel, recurrent, None if own is None else ops.sum(own, 0))


# kind → one step, all steps by one op, and the default activations
KINDS: dict[str, tuple[Cell, Fast | None, Sequence[str]]] = {
    "RNN": (_rnn, None, ["Tanh"]),
    "GRU": (_gru, _whole_gru, ["Sigmoid", "Tanh"]),
    "LSTM": (lstm, _whole_lstm, OF_LSTM),
}
_INPUTS = "x kernel recurrent bias lengths h"


@row(
    f"RNN 7: {_INPUTS}; {SHARED} +kind=RNN",
    f"GRU 7: {_INPUTS}; {SHARED} linear_before_reset:variant +kind=GRU",
    f"LSTM 7: {_INPUTS} c peephole; {SHARED} input_forget:variant +kind=LSTM",
)
def _(
    x: Any,
    kernel: Any,
    recurrent: Any,
    kind: str,
    bias: Any = None,
    lengths: Any = None,
    h: Any = None,
    c: Any = None,
    peephole: Any = None,
    units: int = 0,
    variant: int = 0,
    **other: Any,
) -> Any:
    """A variant couples the gates of an LSTM, and the reset gate of a GRU comes after the product."""
    cell, fast, names = KINDS[kind]
    is_lstm = kind == "LSTM"
    weights, states = [kernel, recurrent, bias, *([peephole] if is_lstm else [])], [h, c] if is_lstm else [h]
    if fast is not None:
        fast = None if is_lstm and (variant or peephole is not None) else partial(fast, variant)
    return layer(partial(cell, variant), fast, names, x, weights, lengths, states, **other)


# -- writing ----------------------------------------------------------------------------------------------------------


def _weights(place: Place, x: Ref, order: Any) -> Ref:
    """A matrix (features, gates · units) as ONNX's (1, gates · units, features), its gates in another order."""
    return place.node("Unsqueeze", place.node("Transpose", _gates(place, x, order), perm=[1, 0]), place.constant([0]))


def _gates(place: Place, x: Ref, order: Any) -> Ref:
    """The parts along the last axis in another order."""
    if [*order] == sorted(order):
        return x
    count = len(order) if place.opset >= 18 else None
    parts = place.several("Split", x, dtypes=[x.dtype] * len(order), axis=-1, num_outputs=count)
    return place.node("Concat", [parts[number] for number in order], axis=-1)


def _write(place: Place, type: str, x: Ref, states: Any, matrices: Any, bias: Ref | None, **attrs: Any) -> list[Ref]:
    """The outputs of all steps, and the states behind the last."""
    axis = place.constant([0])
    given = [None if bias is None else place.node("Unsqueeze", bias, axis), None]
    given += [place.node("Unsqueeze", state, axis) for state in states]
    dtypes = [x.dtype] * (1 + len(states))
    by_step = place.node("Transpose", x, perm=[1, 0, 2])
    units = place.made[-1][-1]
    outputs, *last = place.several(type, by_step, *matrices, *given, dtypes=dtypes, hidden_size=units, **attrs)
    outputs = place.node("Transpose", place.node("Squeeze", outputs, place.constant([1])), perm=[1, 0, 2])
    return [outputs, *(place.node("Squeeze", state, axis) for state in last)]


def _of_inputs(place: Place, bias: Ref | None) -> Ref | None:
    """A bias of the inputs, and zeros as that of the states."""
    if bias is None:
        return None
    return place.node("Concat", [bias, place.constant(np.zeros(place.shapes[-1]), bias.dtype)], axis=0)


def _is_run(operation: Operation) -> bool:
    """Whether ONNX Runtime has a kernel, for float32 alone and not for a batch of none, and the units are known."""
    x, units = operation.inputs[0], (operation.outputs[-1].shape or (None,))[-1]
    return x.dtype.name == "float32" and x.shape is not None and 0 not in x.shape and units is not None


@writes("LSTM", _is_run)
def _write_lstm(place: Place, x: Ref, h: Ref, c: Ref, kernel: Ref, recurrent: Ref, bias: Ref | None) -> list[Ref]:
    order = [OURS.index(gate) for gate in THEIRS]
    matrices = [_weights(place, one, order) for one in (kernel, recurrent)]
    bias = None if bias is None else _gates(place, bias, order)
    return _write(place, "LSTM", x, (h, c), matrices, _of_inputs(place, bias))


@writes("GRU GRUResetBefore", _is_run)
def _write_gru(place: Place, x: Ref, h: Ref, kernel: Ref, recurrent: Ref, bias: Ref | None) -> list[Ref]:
    matrices = [_weights(place, one, range(3)) for one in (kernel, recurrent)]
    if place.operation.type == "GRUResetBefore":
        return _write(place, "GRU", x, (h,), matrices, _of_inputs(place, bias))
    bias = None if bias is None else place.node("Reshape", bias, place.constant([-1]))
    return _write(place, "GRU", x, (h,), matrices, bias, linear_before_reset=1)
