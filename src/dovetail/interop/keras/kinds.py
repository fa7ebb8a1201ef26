"""The kind of KerasTensors: calls on them add operations to a functional model."""

from __future__ import annotations

from typing import Any

from dovetail.core.engines.control_flow import Control
from dovetail.core.op import Op
from dovetail.core.values.value_kinds import ValueKind
from dovetail.interop.keras import calls, random
from dovetail.interop.keras.control_layers import KerasControl


class OfKeras(ValueKind):
    """Values that a stock Keras computes and differentiates."""

    def untaped(self, value: Any) -> str | None:
        kind = type(value).__name__
        return (
            f"a {kind} of Keras is differentiated by what Keras runs on, in model.fit or by K.gradients; what a tape "
            "follows is a dovetail.Variable, or a Tensor of ops.convert."
        )


class Symbolic(OfKeras):
    """KerasTensors."""

    rank = 6
    is_symbolic = True
    is_of_model = True

    def apply(self, op: Op, values: list[Any], name: str | None) -> Any:
        return calls.apply(op, values, name)

    def control(self, value: Any) -> Control | None:
        return _CONTROL

    def fresh_key(self, seed: int, value: Any) -> Any:
        return random.fresh_key(seed, value)


_CONTROL = KerasControl()
