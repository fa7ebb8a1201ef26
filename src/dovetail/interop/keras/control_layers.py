"""Control flow in a functional model: functions become parts of it, and a layer holds and runs them.

Dovetail calls a function once, on symbolic tensors.  The function's captures become further inputs of its part.  So
Keras saves, loads and clones the layer with the function's whole computation; no Python code goes into a file.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import keras

from dovetail.core.base.errors import op_error
from dovetail.core.base.table import OPS
from dovetail.core.dtypes import DType, promote
from dovetail.core.engines.control_flow import Control, Values
from dovetail.core.values.spec import TensorSpec
from dovetail.core.values.value_kinds import dtype_of, kind_of
from dovetail.interop.keras import computing
from dovetail.interop.keras.parts import LayerOfParts, Part, cut, with_values
from dovetail.interop.keras.tensors import KerasTensor, input_like, number_of, spec_of
from dovetail.ops import cast, convert
from dovetail.ops.control.subgraphs import settled_body


class KerasControl(Control):
    """Control flow that adds a layer to the functional model."""

    def cond(self, condition: Any, then_branch: Callable[[], Values], else_branch: Callable[[], Values]) -> Values:
        bodies = {"then_branch": Body([], then_branch), "else_branch": Body([], else_branch)}
        promote_outputs(list(bodies.values()))
        has_results = bool(bodies["then_branch"].outputs)
        return _call("If", {"condition": [cast(condition, "bool")]}, bodies, {}) if has_results else []

    def while_loop(
        self, condition: Callable[..., Any], body: Callable[..., Values], state: Values, limit: int | None
    ) -> Values:
        first, step = _loop_body("While", state, [], lambda *carry: body(*carry))
        test = Body([spec_of(v) for v in first], lambda *carry: [condition(*carry)])
        test.cast_outputs([promote([bool])])
        return _call("While", {"init": first}, {"condition": test, "body": step}, {"maximum_iterations": limit})

    def scan(
        self, body: Callable[[Values, Values], Any], init: Values, xs: Values, length: int | None, reverse: bool
    ) -> tuple[Values, Values]:
        count = len(init)

        def step(*values: Any) -> list[Any]:
            carry, ys = body(values[:count], values[count:])
            return [*carry, *ys]

        slices = [TensorSpec(spec.shape and spec.shape[1:], spec.dtype) for spec in map(spec_of, xs)]
        first, traced = _loop_body("Scan", init, slices, step)
        if not traced.outputs:
            return [], []
        settings = {"length": length, "reverse": reverse}
        results = _call("Scan", {"init": first, "xs": list(xs)}, {"body": traced}, settings)
        return results[:count], results[count:]


# -- functions as parts ----------------------------------------------------------------------------------------------


class Body:
    """A function of flat values, called once on symbolic inputs.

    Attributes:
        inputs: KerasTensors, one for each spec.
        outputs: its results: KerasTensors, or values that are known now.
    """

    def __init__(self, specs: Sequence[TensorSpec], function: Callable[..., Values]) -> None:
        self._start = number_of(keras.KerasTensor(()))
        self.inputs = [input_like(spec) for spec in specs]
        self.outputs = list(function(*self.inputs))

    def cast_outputs(self, dtypes: Sequence[DType]) -> None:
        """Cast the first outputs to these dtypes."""
        pairs = zip(self.outputs, dtypes, strict=False)
        self.outputs[: len(dtypes)] = [v if _dtype_of(v) == dtype else cast(v, dtype) for v, dtype in pairs]

    def cut(self) -> tuple[list[Any], list[Any]]:
        """Its nodes and its captures: tensors that are older than its call, and values."""
        own = set(map(id, self.inputs))
        nodes, taken = cut(self.outputs, lambda tensor: id(tensor) in own or number_of(tensor) < self._start)
        return nodes, [v for v in taken if id(v) not in own]

    def part(self, taken: Sequence[Any]) -> Part:
        """Its computation as a part, whose inputs are its own inputs, then the captures."""
        return Part.of(self.cut()[0], [*self.inputs, *taken], self.outputs)


def promote_outputs(bodies: Sequence[Body]) -> None:
    """Cast the outputs of two bodies to common dtypes."""
    dtypes = [promote([_dtype_of(a), _dtype_of(b)]) for a, b in zip(*(body.outputs for body in bodies), strict=True)]
    for body in bodies:
        body.cast_outputs(dtypes)


def taken_by(bodies: Iterable[Body]) -> list[Any]:
    """The captures of bodies, each value once."""
    return list({id(v): v for body in bodies for v in body.cut()[1]}.values())


def _loop_body(op: str, init: Values, slices: list[TensorSpec], step: Callable[..., Values]) -> tuple[list[Any], Body]:
    """The first values that a loop carries, and its body, traced again until dtypes and shapes stay the same."""

    def make(specs: list[TensorSpec]) -> tuple[Body, list[TensorSpec]]:
        body = Body([*specs, *slices], step)
        return body, list(map(spec_of, body.outputs))

    body, specs = settled_body(op, list(map(spec_of, init)), make)
    dtypes = [spec.dtype for spec in specs]
    body.cast_outputs(dtypes)
    return [v if _dtype_of(v) == dtype else cast(v, dtype) for v, dtype in zip(init, dtypes, strict=True)], body


def _dtype_of(value: Any) -> DType:
    return promote([dtype_of(value)])


# -- the layer --------------------------------------------------------------------------------------------------------


def _call(op: str, given: dict[str, list[Any]], bodies: dict[str, Body], settings: dict[str, Any]) -> list[Any]:
    """Add the layer that runs an op of `ops.subgraphs`.

    Args:
        op: the op's name.
        given: its tensor parameters, except the last, which takes the captures of the bodies.
        bodies: its parameters that are functions.
        settings: its other parameters.
    """
    taken = taken_by(bodies.values())
    counts = {name: len(values) for name, values in given.items()}
    parts = {name: body.part(taken) for name, body in bodies.items()}
    values = [symbolic_or_native(v) for values in (*given.values(), taken) for v in values]
    layer = ControlFlow(parts, op, counts, settings)
    try:
        layer.compute_output_spec(values)
    except (ValueError, TypeError) as error:  # raised here, where the user's line can be found
        raise op_error(type(error), op, str(error)) from None
    return list(layer(values))


def symbolic_or_native(value: Any) -> Any:
    """A value in a form that Keras allows in a list of tensors."""
    if isinstance(value, keras.KerasTensor) or kind_of(value).autodiff(value) is not None:
        return value
    return keras.ops.convert_to_tensor(convert(value).numpy())


@dataclass
class _Typed:
    """A tensor with a spec and nothing else."""

    spec: TensorSpec


@dataclass
class _Signature:
    """A part in the form that the ops' type rules expect of subgraphs."""

    inputs: list[_Typed]
    outputs: list[_Typed]

    @classmethod
    def of(cls, part: Part) -> _Signature:
        return cls([_Typed(spec) for spec in part.input_specs], [_Typed(spec) for spec in part.output_specs])


def _with_states(states: list[Any], asks: bool, part: Part, training: bool | None) -> Callable[..., list[Any]]:
    """A part as a function: variables' values and its inputs → the variables' next values and its outputs.

    Args:
        states: the variables.
        asks: whether it is a loop's condition, which gives no next values.
        part: the part.
        training: the argument for its layers.
    """
    if not states:
        return functools.partial(part, training=training)

    def run(*inputs: Any) -> list[Any]:
        count = len(states)
        with with_values(states, inputs[:count]) as scope:
            results = part(*inputs[count:], training=training)
        return results if asks else [*map(scope.get_current_value, states), *results]

    return run


@keras.saving.register_keras_serializable("dovetail")
class ControlFlow(LayerOfParts):
    """A branch or a loop.

    Args:
        parts: parameter name → part, for the op's parameters that are functions.
        op: "If", "While" or "Scan".
        counts: parameter name → number of tensors, for each tensor parameter except the last.
        settings: the op's other parameters.
    """

    def __init__(
        self, parts: dict[str, Part], op: str, counts: dict[str, int], settings: dict[str, Any], **options: Any
    ) -> None:
        super().__init__(parts, **options)
        self.op, self.counts, self.settings = op, counts, settings

    def call(self, values: list[Any], training: bool | None = None) -> list[Any]:
        """Run the branch or loop.

        Args:
            values: the op's tensors, in the order of its parameters.
            training: the argument for the layers in the parts.
        """
        keras_values = computing.current()
        states = self.non_trainable_variables if keras_values.carries_states(values) else []
        arguments = self._arguments(
            values, lambda name, part: _with_states(states, name == "condition", part, training)
        )
        named = dict(zip((param.name for param in OPS[self.op].params), arguments, strict=True))
        first = "inputs" if self.op == "If" else "init"
        named[first] = [*(state.value for state in states), *named[first]]
        results = list(keras_values.control_rule(self.op, values)(*named.values()))
        for state, value in zip(states, results, strict=False):
            state.assign(value)
        return results[len(states) :]

    def compute_output_spec(self, values: list[Any], training: bool | None = None) -> list[Any]:
        specs = [spec_of(v) for v in values]
        specs_of_results = OPS[self.op].infer(*self._arguments(specs, lambda _, part: _Signature.of(part)))  # type: ignore[misc]
        if any(spec.shape is None for spec in specs_of_results):
            raise ValueError("a result of both branches must have one rank, since Keras knows all ranks.")
        return [KerasTensor(spec) for spec in specs_of_results]

    def _arguments(self, values: list[Any], body: Callable[[str, Part], Any]) -> Iterator[Any]:
        """The arguments of the op's rules; `body` converts each part, given its name."""
        rest = list(values)
        last = OPS[self.op].tensor_positions[-1][0]
        for index, param in enumerate(OPS[self.op].params):
            if param.kind is not None:
                count = len(rest) if index == last else self.counts[param.name]
                part, rest = rest[:count], rest[count:]
                yield part if getattr(param.kind, "many", False) else part[0]
            else:
                yield (
                    body(param.name, self.parts[param.name]) if param.name in self.parts else self.settings[param.name]
                )

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "op": self.op, "counts": dict(self.counts), "settings": dict(self.settings)}
