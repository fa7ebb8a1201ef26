"""Control flow in a functional model: functions become models, and a layer that holds them runs them.

A function is called once, on symbolic tensors.  What it takes from around it becomes further inputs of its model, so
the layer is saved, loaded and cloned with all that the function does; no Python code goes into a file.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import keras

from dovetail.dtypes import DType, promote
from dovetail.engines import get_engine, owner_of_type
from dovetail.engines.control import Control, Values
from dovetail.errors import op_error
from dovetail.interop.keras.parts import cut, model_of
from dovetail.interop.keras.tensors import input_like, spec_of
from dovetail.ops import arguments, cast, convert, worlds
from dovetail.ops.op import OPS
from dovetail.ops.spec import TensorSpec
from dovetail.ops.subgraphs import join_specs


class KerasControl(Control):
    """Adds a layer to the functional model."""

    def cond(self, condition: Any, then_branch: Callable[[], Values], else_branch: Callable[[], Values]) -> Values:
        bodies = {"then_branch": _Body([], then_branch), "else_branch": _Body([], else_branch)}
        pairs = zip(*(body.outputs for body in bodies.values()), strict=True)
        dtypes = [promote([_dtype_of(a), _dtype_of(b)]) for a, b in pairs]
        for body in bodies.values():
            body.cast_outputs(dtypes)
        return _call("If", {"condition": [cast(condition, "bool")]}, bodies, {}) if dtypes else []

    def while_loop(
        self, condition: Callable[..., Any], body: Callable[..., Values], state: Values, limit: int | None
    ) -> Values:
        first, step = _loop_body("While", state, [], lambda *carry: body(*carry))
        test = _Body([_spec(v) for v in first], lambda *carry: [condition(*carry)])
        test.cast_outputs([promote([bool])])
        return _call("While", {"init": first}, {"condition": test, "body": step}, {"maximum_iterations": limit})

    def scan(
        self, body: Callable[[Values, Values], Any], init: Values, xs: Values, length: int | None, reverse: bool
    ) -> tuple[Values, Values]:
        count = len(init)

        def step(*values: Any) -> list[Any]:
            carry, ys = body(values[:count], values[count:])
            return [*carry, *ys]

        slices = [TensorSpec(spec.shape and spec.shape[1:], spec.dtype) for spec in map(_spec, xs)]
        first, traced = _loop_body("Scan", init, slices, step)
        if not traced.outputs:
            return [], []
        settings = {"length": length, "reverse": reverse}
        found = _call("Scan", {"init": first, "xs": list(xs)}, {"body": traced}, settings)
        return found[:count], found[count:]


# -- functions as models ----------------------------------------------------------------------------------------------


class _Body:
    """A function of flat values, called once on symbolic inputs.

    Attributes:
        inputs: KerasTensors, one for each spec.
        outputs: what it gave: KerasTensors, or values that are known now.
    """

    def __init__(self, specs: Sequence[TensorSpec], function: Callable[..., Values]) -> None:
        self._start = _age(keras.KerasTensor(()))
        self.inputs = [input_like(spec) for spec in specs]
        self.outputs = list(function(*self.inputs))

    def cast_outputs(self, dtypes: Sequence[DType]) -> None:
        """Gives the first outputs these dtypes."""
        pairs = zip(self.outputs, dtypes, strict=False)
        self.outputs[: len(dtypes)] = [v if _dtype_of(v) == dtype else cast(v, dtype) for v, dtype in pairs]

    def parts(self) -> tuple[list[Any], list[Any]]:
        """Its nodes, and what it takes from around it: tensors that were there before it was called, and values."""
        own = set(map(id, self.inputs))
        nodes, taken = cut(self.outputs, lambda tensor: id(tensor) in own or _age(tensor) < self._start)
        return nodes, [v for v in taken if id(v) not in own]

    def model(self, taken: Sequence[Any]) -> keras.Model:
        """A model of its inputs, then of what is taken from around it."""
        others = [input_like(_spec(v)) for v in taken]
        return model_of(self.parts()[0], [*self.inputs, *taken], [*self.inputs, *others], self.outputs)


def _age(tensor: keras.KerasTensor) -> float:
    """The number that Keras gave a tensor when it made it; inputs with a name of their own were there before."""
    numbered = re.fullmatch(r"keras_tensor(?:_(\d+))?", tensor.name)
    return int(numbered[1] or 0) if numbered else -1


def _loop_body(op: str, init: Values, slices: list[TensorSpec], step: Callable[..., Values]) -> tuple[list[Any], _Body]:
    """The first values of what a loop carries, and its body, called until dtypes and shapes stay as they are."""
    specs = [_spec(v) for v in init]
    while True:
        body = _Body([*specs, *slices], step)
        pairs = zip(specs, map(_spec, body.outputs), strict=False)
        try:
            joined = [join_specs(before, after, "what a loop carries") for before, after in pairs]
        except ValueError as error:
            raise op_error(ValueError, op, str(error)) from None
        if joined == specs:
            break
        specs = joined
    dtypes = [spec.dtype for spec in specs]
    body.cast_outputs(dtypes)
    return [v if _dtype_of(v) == dtype else cast(v, dtype) for v, dtype in zip(init, dtypes, strict=True)], body


def _dtype_of(value: Any) -> DType:
    return promote([arguments.dtype_of(value)])


def _spec(value: Any) -> TensorSpec:
    if isinstance(value, keras.KerasTensor):
        return spec_of(value)
    return TensorSpec(tuple(convert(value).shape), _dtype_of(value))


# -- the layer --------------------------------------------------------------------------------------------------------


def _call(op: str, given: dict[str, list[Any]], bodies: dict[str, _Body], settings: dict[str, Any]) -> list[Any]:
    """Adds the layer that runs an op of `ops.subgraphs`.

    Args:
        op: its name.
        given: its tensor parameters, but for the last: the one for what the bodies take from around them.
        bodies: its parameters that are functions.
        settings: the others.
    """
    taken = list({id(v): v for body in bodies.values() for v in body.parts()[1]}.values())
    counts = {name: len(values) for name, values in given.items()}
    models = {name: body.model(taken) for name, body in bodies.items()}
    values = [_symbolic_or_native(v) for values in (*given.values(), taken) for v in values]
    layer = ControlFlow(op, models, counts, settings)
    try:
        layer.compute_output_spec(values)
    except (ValueError, TypeError) as error:  # told here, where the user's line can be found
        raise op_error(type(error), op, str(error)) from None
    return list(layer(values))


def _symbolic_or_native(value: Any) -> Any:
    """What Keras allows in a list of tensors."""
    if isinstance(value, keras.KerasTensor) or worlds.world_of(value) is worlds.NATIVE:
        return value
    return keras.ops.convert_to_tensor(convert(value).numpy())


@dataclass
class _Typed:
    """A tensor of which only the spec is known."""

    spec: TensorSpec


@dataclass
class _Signature:
    """A model as the type rules of the ops see their subgraphs."""

    inputs: list[_Typed]
    outputs: list[_Typed]

    @classmethod
    def of(cls, model: keras.Model) -> _Signature:
        return cls(*([_Typed(spec_of(t)) for t in tensors] for tensors in (model.inputs, model.outputs)))


@keras.saving.register_keras_serializable("dovetail")
class ControlFlow(keras.layers.Layer):
    """A branch or a loop, whose functions are models.

    Args:
        op: "If", "While" or "Scan".
        bodies: the models, by the names of the op's parameters.
        counts: how many tensors each tensor parameter but the last is given.
        settings: the op's other parameters.
    """

    def __init__(
        self, op: str, bodies: dict[str, keras.Model], counts: dict[str, int], settings: dict[str, Any], **options: Any
    ) -> None:
        super().__init__(autocast=False, **options)
        self.op, self.bodies, self.counts, self.settings = op, bodies, counts, settings
        self.supports_masking = True
        self.built = True

    def call(self, values: list[Any], training: bool | None = None) -> list[Any]:
        """Runs it.

        Args:
            values: the op's tensors, in the order of its parameters.
            training: as for the layers in the models.
        """
        engine = next(filter(None, (owner_of_type(type(v)) for v in values)), None) or get_engine("numpy")

        def program(model: keras.Model) -> Callable[..., list[Any]]:
            return lambda *inputs: keras.tree.flatten(model(list(inputs), training=training))

        return list(engine.native.rules[self.op](*self._arguments(values, program)))

    def compute_output_spec(self, values: list[Any], training: bool | None = None) -> list[Any]:
        specs = [_spec(v) for v in values]
        found = OPS[self.op].infer(*self._arguments(specs, _Signature.of))  # type: ignore[misc]
        return [keras.KerasTensor(spec.shape, str(spec.dtype)) for spec in found]

    def _arguments(self, values: list[Any], body: Callable[[keras.Model], Any]) -> Iterator[Any]:
        """The arguments of the op's rules, with what is made of the models."""
        rest = list(values)
        last = OPS[self.op].tensor_positions[-1][0]
        for index, param in enumerate(OPS[self.op].params):
            if param.kind is not None:
                count = len(rest) if index == last else self.counts[param.name]
                part, rest = rest[:count], rest[count:]
                yield part if getattr(param.kind, "many", False) else part[0]
            else:
                yield body(self.bodies[param.name]) if param.name in self.bodies else self.settings[param.name]

    def compute_mask(self, *args: Any) -> None:
        return None

    def get_config(self) -> dict[str, Any]:
        bodies = {name: keras.saving.serialize_keras_object(model) for name, model in self.bodies.items()}
        own = {"op": self.op, "bodies": bodies, "counts": dict(self.counts), "settings": dict(self.settings)}
        return {**super().get_config(), **own}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> ControlFlow:
        bodies = {name: keras.saving.deserialize_keras_object(body) for name, body in config["bodies"].items()}
        return cls(**{**config, "bodies": bodies})
