"""Cells of recurrent layers: one step of an LSTM and of a GRU, by the sums that their gates and candidates have.

Each gate has its own sigmoid: with its gradient, one sigmoid of all gates takes more time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from dovetail.ops.math.trigonometry import tanh
from dovetail.ops.nn.activation import sigmoid
from dovetail.ops.shapes.join import concatenate, split

Function = Callable[[Any], Any]


class LSTMStep(NamedTuple):
    """The gates and values of one step: the cell is `c`, the output `h`; `candidate` and `shown` made them."""

    i: Any
    c: Any
    f: Any
    o: Any
    candidate: Any
    shown: Any
    h: Any


def lstm_cell(
    sums: Sequence[Any],
    c: Any,
    peepholes: tuple[Any, Any, Any] = (None, None, None),
    bounded: Function | None = None,
    activations: tuple[Function, Function, Function] = (sigmoid, tanh, tanh),
) -> LSTMStep:
    """One step of an LSTM.

    Args:
        sums: of the input gate, the forget gate, the candidate and the output gate.  One of the first two may be None:
            then these gates add up to 1.
        c: the cell before the step.
        peepholes: weights by which the cell adds to the input gate, the forget gate and the output gate, or None.
        bounded: a function of the new cell, for example a limit.
        activations: of the gates, of the candidate, and of the cell in the output.

    Source: Hochreiter and Schmidhuber, "Long short-term memory", 1997; Gers et al., "Learning precise timing with LSTM
        recurrent networks", 2002.
    """
    (i, f, candidate, o), (gate, activation, of_cell) = sums, activations

    def opened(z: Any, weight: Any, cell: Any) -> Any:
        return None if z is None else gate(z if weight is None else z + weight * cell)

    i, f = opened(i, peepholes[0], c), opened(f, peepholes[1], c)
    i, f = 1 - f if i is None else i, 1 - i if f is None else f
    candidate = activation(candidate)
    c = f * c + i * candidate
    c = c if bounded is None else bounded(c)
    o, shown = opened(o, peepholes[2], c), of_cell(c)
    return LSTMStep(i, c, f, o, candidate, shown, o * shown)


class GRUStep(NamedTuple):
    """The gates and values of one step: the reset gate, the update gate, the candidate and the output."""

    r: Any
    z: Any
    candidate: Any
    h: Any


def gru_cell(
    sums: Sequence[Any],
    candidate: Function,
    h: Any,
    activations: tuple[Function, Function] = (sigmoid, tanh),
) -> GRUStep:
    """One step of a GRU.

    Args:
        sums: of the reset gate and the update gate.
        candidate: the reset gate → the sum of the candidate.  It says whether the gate comes before or after the
            recurrent product.
        h: the output before the step.
        activations: of the gates, and of the candidate.

    Source: Cho et al., "Learning phrase representations using RNN encoder-decoder", 2014.
    """
    gate, activation = activations
    r, z = map(gate, sums)
    new = activation(candidate(r))
    return GRUStep(r, z, new, new + z * (h - new))


def gates_in_order(whole: Any, own: str, wanted: str, axis: int = -1) -> Any:
    """A kernel or a bias with its gates in another order; a letter is a gate, as in "ifco" and "icfo"."""
    parts = dict(zip(own, split(whole, len(own), axis), strict=True))
    return concatenate([parts[gate] for gate in wanted], axis)
