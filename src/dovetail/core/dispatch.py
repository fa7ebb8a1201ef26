"""The one way in: every op call comes through `apply`, which looks at what it is given.

The world of the arguments (see `worlds`) says what happens: the call is computed now, computed on an engine's own
values, or recorded in a graph.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from dovetail.core.arguments import (
    given,
    has_tensor_settings,
    holds_tensors,
    known_ints,
    natives,
    operands,
    to_tensors,
    with_stacked,
)
from dovetail.core.checks import checked_specs
from dovetail.core.engine_registry import current_engine, owner_of_type, pop_engine, push_engine
from dovetail.core.errors import CONVENTIONAL, conventional, describe_arguments, op_error, tell
from dovetail.core.provided import provided
from dovetail.core.recording import is_recorded, recording
from dovetail.core.tensor import Tensor
from dovetail.core.worlds import EAGER, GRAPH, HOST, NATIVE, STATE, unwrapped, world_of

if TYPE_CHECKING:
    from dovetail.core.engine import Engine
    from dovetail.core.op import Op


def apply(op: Op, args: Any, kwargs: dict[str, Any]) -> Any:
    """Computes or records one op call; `name=` names the node."""
    name = kwargs.pop("name", None) if kwargs else None
    try:
        return _apply(op, op.bind(args, kwargs), name)
    except CONVENTIONAL as error:
        tell(error, op.title, lambda: describe_arguments([p.name for p in op.params], args, kwargs))
        raise


def _apply(op: Op, values: list[Any], name: str | None) -> Any:
    world = HOST
    for value in operands(op, values):
        found = world_of(value)
        if found.rank > world.rank:
            world = found
        elif found is HOST and isinstance(value, (list, tuple)) and holds_tensors(value):
            return _apply(op, with_stacked(op, values), name)
    return world.apply(op, values, name)


# -- eager: computed now ----------------------------------------------------------------------------------------------


def eager(op: Op, values: list[Any], name: str | None = None) -> Any:
    """Computes an op on the engine of the Tensors given, or on the current engine where there are none."""
    return run(op, values, _engine_of(op, values))


def _engine_of(op: Op, values: list[Any]) -> Engine:
    current = None
    found = None
    for value in operands(op, values):
        if type(value) is Tensor:
            if found is None:
                found = value._engine
            elif value._engine is not found:
                current = current or current_engine()
                if value._engine is current:
                    found = current
    return found or current_engine()


def run(op: Op, values: list[Any], engine: Engine) -> Any:
    """Computes an op on one engine, from arguments of any eager kind."""
    values = to_tensors(op, values, engine)
    taped = bool(recording.tapes) and any(tape.watches(op, values) for tape in recording.tapes)
    if has_tensor_settings(op, values):
        return _run_body(op, values, engine, record=False)
    rule = engine.eager_rules.get(op.name)
    if op.infer is not None:
        checked_specs(op, known_ints(op, values) if op.ints_positions else values)
    if op.body is not None:
        # Whether its gradient is not that of its body.
        whole = op.gradient_function is not None or not op.differentiable or op.name in recording.overrides
        if rule is None or (taped and not whole):
            return _run_body(op, values, engine, record=taped and whole)
    if rule is None:
        raise op_error(NotImplementedError, op.title, f"the engine {engine.name!r} has no rule for it.")
    try:
        result = rule(*natives(values))
    except engine.errors as error:
        if engine is engine.native:  # a library's transformations may find their way by exceptions
            raise
        if op.body is not None:
            _run_body(op, values, engine, record=False)  # says what is wrong in Dovetail's words, if it can
        if getattr(error, "dovetail", False):
            raise
        said = str(error).rstrip(".")
        raise op_error(conventional(error), op.title, f"{engine.name} says: {said}.", given(op, values)) from error
    outputs = [Tensor(value, engine) for value in (result if op.returns_tuple else (result,))]
    if taped:
        for tape in recording.tapes:
            tape.record(op, values, outputs)
    return tuple(outputs) if op.returns_tuple else outputs[0]


def _run_body(op: Op, values: list[Any], engine: Engine, record: bool) -> Any:
    tapes = recording.tapes
    if record:  # the op has a gradient of its own: its inside is not recorded
        recording.tapes = ()
    body: Any = op.body
    if engine is engine.native and not tapes and (_is_open(values) or known_ints(op, values) is not values):
        body = functools.partial(provided.run_body, op, engine)
    token = push_engine(engine)  # what the body makes of nothing, it makes there
    try:
        result = body(*values)
    except Exception as error:
        raise inside(op, error, values) from error.__cause__
    finally:
        pop_engine(token)
        recording.tapes = tapes
    if not record:
        return result
    # New Tensors, since the body may have returned an argument, and a tape tells tensors apart by identity.  While a
    # graph is built a body with a loop gives graph tensors.
    results = result if op.returns_tuple else (result,)
    outputs = [Tensor(t._value, t._engine) if type(t) is Tensor else t for t in results]
    for tape in tapes:
        tape.record(op, values, outputs)
    return tuple(outputs) if op.returns_tuple else outputs[0]


def _is_open(values: list[Any]) -> bool:
    """Whether not all dimensions of the tensors are known."""
    return any(_is_open(list(v)) if type(v) is tuple else type(v) is Tensor and None in v.shape for v in values)


def inside(op: Op, error: Exception, values: list[Any]) -> Exception:
    """The error of a body, with the name of its composite: in front, or told as the op's own if no op raised it."""
    if not hasattr(error, "dovetail"):
        return op_error(type(error), op.title, str(error), given(op, values)) if type(error) in CONVENTIONAL else error
    tell(error, op.title, str)
    return error


# -- native: an engine's own values -----------------------------------------------------------------------------------


def native(op: Op, values: list[Any], name: str | None = None) -> Any:
    """Computes an op on an engine's own values, by its rules alone, so its own transformations see through.

    A result never is, or is a view of, an argument: a user may write to it, as in `x /= 2`.
    """
    engine = _native_engine(op, values)
    result = run(op, list(values), engine)
    if isinstance(result, tuple):
        return tuple(engine.owned(t._value, operands(op, values)) for t in result)
    return engine.owned(result._value, operands(op, values))


def _native_engine(op: Op, values: list[Any]) -> Engine:
    found: dict[str, Engine] = {}
    for value in operands(op, values):
        if world_of(value) is NATIVE:
            engine = owner_of_type(type(value))
            found[engine.name] = engine
    if len(found) > 1:
        raise op_error(
            TypeError,
            op.title,
            f"got {' and '.join(found)} values in one call; convert one of them, as in ops.convert(x, engine=...).",
            given(op, values),
        )
    return next(iter(found.values())).native


# -- the rest ---------------------------------------------------------------------------------------------------------


def apply_unwrapped(op: Op, values: list[Any], name: str | None = None) -> Any:
    """Makes a call with what the wrappers of another library among its arguments hold."""
    values = [tuple(map(unwrapped, v)) if isinstance(v, (list, tuple)) else unwrapped(v) for v in values]
    return apply(op, values, {"name": name})


def _state(op: Op, values: list[Any], name: str | None = None) -> Any:
    if any(world_of(value) is STATE and is_recorded(value) for value in operands(op, values)):
        return GRAPH.apply(op, values, name)
    return eager(op, values, name)


HOST.apply = EAGER.apply = eager
STATE.apply = _state
NATIVE.apply = native
