"""Recording: the record of one op call, on a tape or for the gradient of a library."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dovetail.core.base.errors import user_line
from dovetail.core.base.hooks import hooks
from dovetail.core.base.scopes import scopes
from dovetail.core.base.table import OPS
from dovetail.core.engines.engine_registry import on_engine
from dovetail.core.tensor import Operators, Tensor


class Record:
    """One op call on a tape."""

    __slots__ = ("_needed", "args", "gradient_function", "inputs", "op", "outputs", "overrides", "where")

    def __init__(
        self,
        op: Any,
        args: list[Any],
        outputs: Sequence[Any],
        gradient_function: Any = None,
        inputs: list[Any] | None = None,
        needed: Sequence[bool] | None = None,
    ) -> None:
        self.op = op
        self.args = args
        self.inputs = tensors_in(args) if inputs is None else inputs
        self.outputs = outputs
        self.gradient_function = gradient_function
        self._needed = needed
        around = scopes()
        self.overrides = around.overrides
        self.where = user_line() if self.overrides or around.probes is not None else None

    @property
    def type(self) -> str:
        return self.op.name

    def attr(self, name: str) -> Any:
        return self.args[self.op.index_of(name)]

    def needs(self, index: int) -> bool:
        """Whether the gradient by an input can reach a watched value; if not, nobody needs to compute it."""
        return self._needed is None or self._needed[index]


def tensors_in(args: Any) -> list[Any]:
    """The tensors of an op's arguments, flat, in order."""
    tensors: list[Any] = []
    for arg in args:
        if type(arg) is tuple:
            tensors += [a for a in arg if isinstance(a, Operators)]
        elif isinstance(arg, Operators) and not hasattr(arg, "assign"):
            tensors.append(arg)
    return tensors


def _differentiated(engine: Any, name: str, rule: Any, args: Sequence[Any]) -> Any:
    """The results of a rule for native values, which their library differentiates by the op's gradient in the table."""
    op = OPS[name]
    places = [index for index, _ in op.tensor_places]

    def function(*arrays: Any) -> Any:
        given = dict(enumerate(args)) | dict(zip(places, arrays, strict=True))
        result = rule(*given.values())
        results = result if op.returns_tuple else [result]

        def gradient(*arriving: Any) -> list[Any]:
            values = [Tensor(value, engine) if index in places else value for index, value in given.items()]
            with on_engine(engine):
                record = Record(op, values, [Tensor(y, engine) for y in results])
                gs = op.gradient_function(record, *[None if g is None else Tensor(g, engine) for g in arriving])  # type: ignore[misc]
            return [None if g is None else g._value for g in (gs if isinstance(gs, (tuple, list)) else [gs])]

        return results, gradient

    results = engine.custom_gradient(function, [args[place] for place in places])
    return results if op.returns_tuple else results[0]


hooks.differentiated = _differentiated
