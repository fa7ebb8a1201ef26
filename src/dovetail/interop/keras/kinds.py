"""The kinds of Keras' values: KerasTensors, which calls add to a functional model, and Keras' variables."""

from __future__ import annotations

from typing import Any

import keras

from dovetail.core.control_flow import Control
from dovetail.core.op import Op
from dovetail.core.value_kinds import ValueKind, Wrapper, register
from dovetail.interop.keras import calls, random
from dovetail.interop.keras.control_layers import KerasControl


class _OfKeras(ValueKind):
    def untaped(self, value: Any) -> str | None:
        kind = type(value).__name__
        return (
            f"a {kind} of Keras is differentiated by what Keras runs on, in model.fit or by K.gradients; what a tape "
            "follows is a dovetail.Variable, or a Tensor of ops.convert."
        )


class _Symbolic(_OfKeras):
    rank = 6
    is_symbolic = True
    is_of_model = True

    def apply(self, op: Op, values: list[Any], name: str | None) -> Any:
        return calls.apply(op, values, name)

    def control(self, value: Any) -> Control | None:
        return _CONTROL

    def fresh_key(self, seed: int, value: Any) -> Any:
        return random.fresh_key(seed, value)


class _Variable(_OfKeras, Wrapper):
    """Untaped, as all that is Keras'."""


_CONTROL = KerasControl()


def register_kinds() -> None:
    """From now on ops take KerasTensors and Keras' variables."""
    register(keras.KerasTensor, _Symbolic())
    register(keras.Variable, _Variable())
