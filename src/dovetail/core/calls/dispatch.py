"""Dispatch: `apply` handles every op call, according to the kinds of its arguments.

It recognises a call that was made before by its signature.  Such a call has a resolved form: the engine, the
conversions of its arguments, and the rule.  For any other call, the highest kind of its arguments (see `value_kinds`)
decides: it is computed now, computed on an engine's own values, or recorded in a graph.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dovetail.core.base.errors import CONVENTIONAL, annotate, conventional, describe_arguments, op_error
from dovetail.core.base.hooks import hooks
from dovetail.core.base.pin import ANYWHERE, Pin
from dovetail.core.base.probe import seeing_all
from dovetail.core.base.scopes import Scopes, replace, scopes
from dovetail.core.calls.infer_call import infer
from dovetail.core.engines.collectives import COLLECTIVES
from dovetail.core.engines.engine_registry import current_engine
from dovetail.core.tensor import Tensor
from dovetail.core.values import foreign as foreign  # the kinds of values of other libraries
from dovetail.core.values.arguments import (
    as_tensor,
    conversions,
    given,
    has_tensor_settings,
    holds_tensors,
    known_ints,
    natives,
    operands,
    static_ints,
    with_signed_positions,
    with_stacked,
)
from dovetail.core.values.signature import signature
from dovetail.core.values.structure import refuse_nesting
from dovetail.core.values.value_kinds import NATIVE, highest, kind_of

if TYPE_CHECKING:
    from dovetail.core.engine import Engine
    from dovetail.core.op import Op
    from dovetail.core.rules import Rule


class Resolved(NamedTuple):
    """The resolved form of calls of one signature.

    Attributes:
        engine: computes the calls.
        conversions: (position, dtype or a list of them) of the tensor arguments that are converted; see `conversions`.
        rule: computes the op; None if the body of a composite runs.
        values: the arguments in parameter order; the static ones hold for all these calls.
        is_native: whether the arguments, and so the results, are an engine's own values.
        places: (position, the argument of the call to put there: a number of `args` or a name of `kwargs`).
    """

    engine: Engine
    conversions: list[tuple[int, Any]]
    rule: Rule | None
    values: list[Any] = []  # noqa: RUF012  # never changed
    is_native: bool = False
    places: list[tuple[int, int | str]] = []  # noqa: RUF012

    def again(self, op: Op, values: list[Any], name: str | None) -> Any:
        """The result of another call."""
        around = scopes()
        if self.is_native:
            return _owned(op, _execute(op, self, _converted(values.copy(), self, around), around), self.engine, values)
        return _execute(op, self, _converted(values, self, around) if self.conversions else values, around)


def apply(op: Op, args: Any, kwargs: dict[str, Any]) -> Any:
    """Compute or record one op call; `name=` names the node."""
    name = kwargs.pop("name", None) if kwargs else None
    try:
        key = signature(op, args, kwargs)
        resolved = op.resolved.get(key) if key is not None else None
        if resolved is not None:
            values = resolved.values.copy()
            for index, place in resolved.places:
                values[index] = args[place] if type(place) is int else kwargs[place]  # type: ignore[index]
            return resolved.again(op, op.prepared(values) if op.checks_values else values, name)
        values = op.bind(args, kwargs)
        return _apply_uncached(op, values, name, key, args, kwargs)
    except CONVENTIONAL as error:
        annotate(error, op.title, lambda: describe_arguments([p.name for p in op.params], args, kwargs))
        raise
    except RecursionError:
        refuse_nesting(op.title, (*args, *kwargs.values()))
        raise


def _apply_uncached(op: Op, values: list[Any], name: str | None, key: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    members = operands(op, values)
    if any(map(holds_tensors, members)):
        return _apply_uncached(op, with_stacked(op, values), name, None, args, kwargs)
    if op.index_positions and (signed := with_signed_positions(op, values)) is not values:
        return apply(op, signed, {"name": name})
    kind, _ = highest(members)
    is_native = kind is NATIVE
    if not (kind.is_computed or is_native):
        result = kind.apply(op, values, name)
        resolved = None if key is None else kind.resolved(op, result, *_template(op, values, args, kwargs))
        if resolved is not None:
            op.resolved.put(key, resolved)
        return result
    if hooks.reads and (live := _live_variables(op, values)) is not values:
        return apply(op, live, {"name": name})
    engine = _native_engine(op, values) if is_native else _engine_of(members)
    resolved, tensors = resolve(op, values, engine)
    result = _execute(op, resolved, tensors, scopes())
    if op.is_users and op.infer is not None and not is_native:
        _check_results(op, result, tensors, engine)
    if key is not None:
        values_of_all, places = _template(op, tensors, args, kwargs)
        op.resolved.put(key, resolved._replace(values=values_of_all, is_native=is_native, places=places))
    if is_native:
        return _owned(op, result, engine, values)
    if hooks.array_result is not None and any(isinstance(value, np.ndarray) for value in members):
        return tuple(map(hooks.array_result, result)) if op.returns_tuple else hooks.array_result(result)
    return result


def _check_results(op: Op, result: Any, tensors: list[Any], engine: Engine) -> None:
    """Raise an error if the results of a user's rule do not match the op's type rule."""
    arrays = tuple(t._value for t in result) if op.returns_tuple else result._value
    op.check_results(engine, arrays, infer(op, known_ints(op, tensors)))


def _live_variables(op: Op, values: list[Any]) -> list[Any]:
    """The arguments, with reads of the variables among them while an engine's library traces."""
    live = list(values)
    for index, kind in op.tensor_positions:
        value = values[index]
        if kind.many and isinstance(value, (list, tuple)):
            members = [kind_of(v).live(v) for v in value]
            live[index] = value if all(map(operator.is_, members, value)) else members
        else:
            live[index] = kind_of(value).live(value)
    return values if all(map(operator.is_, live, values)) else live


def _engine_of(members: list[Any]) -> Engine:
    """The engine of the Tensors given; of several, the current one if it is among them, else the first."""
    current = None
    engine = None
    for value in members:
        if type(value) is Tensor:
            if engine is None:
                engine = value._engine
            elif value._engine is not engine:
                current = current or current_engine()
                if value._engine is current:
                    engine = current
    return engine or current_engine()


# -- resolving: from a call to its rule -------------------------------------------------------------------------------


def resolve(op: Op, values: list[Any], engine: Engine) -> tuple[Resolved, list[Any]]:
    """Resolve a call of any eager kinds on an engine, and convert its arguments to Tensors; do not compute it yet."""
    has_settings = has_tensor_settings(op, values)
    rule = None if has_settings else engine.eager_rules[op.name]
    resolved = Resolved(engine, conversions(op, values, engine), rule)
    tensors = _converted(list(values), resolved, scopes())
    for index in op.ints_positions:
        tensors[index] = static_ints(op, index, tensors[index])
    if has_settings:
        return resolved, tensors
    if op.infer is not None:
        result = infer(op, known_ints(op, tensors) if op.ints_positions else tensors)
        if rule is not None and engine.allocates_results:
            results = result if op.returns_tuple else (result,)
            resolved = resolved._replace(rule=engine.into_allocated(op.name, rule, results))
    if rule is None and op.body is None:
        raise op_error(NotImplementedError, op.title, op.no_rule(engine.name))
    return resolved, tensors


def _template(op: Op, values: list[Any], args: Any, kwargs: dict[str, Any]) -> tuple[list[Any], list[Any]]:
    """The arguments of a call without its tensors, and the places where a like call has its own tensors."""
    values, places = list(values), list[tuple[int, int | str]]()
    for index, _ in op.tensor_positions:
        if index < len(args):
            places.append((index, index))
        elif op.params[index].name in kwargs:
            places.append((index, op.params[index].name))
        else:
            continue
        values[index] = None
    return values, places


def _converted(values: list[Any], resolved: Resolved, around: Scopes) -> list[Any]:
    """Convert arguments of any eager kind to Tensors of the engine, in the list given."""
    engine = resolved.engine
    for index, dtype in resolved.conversions:
        value = values[index]
        if type(value) is np.ndarray:
            values[index] = Tensor(engine.asarray(value, dtype), engine)
        elif type(value) is Tensor and value._engine is engine and not around.tapes:
            values[index] = Tensor(engine.eager_rules["Cast"](value._value, dtype), engine)
        elif dtype is None:
            values[index] = Tensor(value, engine)
        elif type(dtype) is tuple:  # the members of the list fit
            values[index] = tuple(value)
        elif type(dtype) is list:
            values[index] = tuple([as_tensor(v, d, engine) for v, d in zip(value, dtype, strict=True)])
        else:
            values[index] = as_tensor(value, dtype, engine)
    return values


# -- executing --------------------------------------------------------------------------------------------------------


def run(op: Op, values: list[Any], engine: Engine) -> Any:
    """Compute an op on one engine, from arguments of any eager kind."""
    return _execute(op, *resolve(op, values, engine), scopes())


def _execute(op: Op, resolved: Resolved, values: list[Any], around: Scopes, is_seen: bool = False) -> Any:
    """Compute a resolved call from its arguments as Tensors, and record it on the tapes."""
    if around.probes and not is_seen:
        return _probed(op, resolved, values, around)
    engine, rule, tapes = resolved.engine, resolved.rule, around.tapes
    if op.body is not None and (tapes or rule is None):
        if has_tensor_settings(op, values):
            return _run_body(op, values, engine, around)
        # Whether the op's gradient differs from the gradient of its body.
        whole = op.gradient_function is not None or not op.differentiable or op.name in around.overrides
        taped = any(tape.watches(op, values) for tape in tapes)
        if rule is None or (taped and not whole):
            return _run_body(op, values, engine, around, record=taped and whole)
    try:
        arrays = [v._value if type(v) is Tensor else v for v in values] if op.tensors_alone else natives(values)
        if around.device is ANYWHERE:
            result = rule(*arrays)  # type: ignore[misc]  # an op without a body has a rule
        else:
            result = _on_device(around.device, engine, rule, arrays)
    except engine.errors as error:
        explained = _explained(op, error, values, engine, around)
        if explained is None:
            raise
        raise explained from error
    outputs = tuple([Tensor(value, engine) for value in result]) if op.returns_tuple else Tensor(result, engine)
    for tape in tapes:
        tape.record(op, values, outputs if op.returns_tuple else (outputs,))
    return outputs


def _probed(op: Op, resolved: Resolved, values: list[Any], around: Scopes) -> Any:
    """Compute a call, and show its results to the probes around it; most do not see the ops inside of a composite."""
    here = around._replace(probes=seeing_all(around.probes))
    if resolved.rule is not None and op.infer is not None:
        for probe in around.probes or ():
            probe.expect(op, lambda: infer(op, known_ints(op, values)))
    try:
        replace(here)
        outputs = _execute(op, resolved, values, here, is_seen=True)
    finally:
        replace(around)
    for probe in around.probes or ():
        probe.see(op, values, outputs if op.returns_tuple else (outputs,))
    return outputs


def _on_device(device: Pin, engine: Engine, rule: Any, arrays: Sequence[Any]) -> Any:
    """Call a rule on the device of a scope; the library uses it for this call alone, since tasks share the library."""
    if device.engine != engine.name:
        return rule(*arrays)
    with engine.on_device(device.device):  # type: ignore[arg-type]  # scopes of devices name one
        return rule(*arrays)


def _explained(op: Op, error: Exception, values: list[Any], engine: Engine, around: Scopes) -> Exception | None:
    """The exception to raise instead of a library's, in Dovetail's words; None if the library's says enough."""
    if engine is engine.native:  # a library's transformations may rely on its exceptions
        return None
    if op.body is not None:
        _run_body(op, values, engine, around)  # raises a clearer error, if it can
    if getattr(error, "dovetail", False):
        return None
    said = str(error).rstrip(".")
    says = "" if op.name in COLLECTIVES else f"{engine.name} says: "
    return op_error(conventional(error), op.title, f"{says}{said}.", given(op, values))


def _run_body(op: Op, values: list[Any], engine: Engine, around: Scopes, record: bool = False) -> Any:
    tapes = around.tapes
    body: Any = op.body
    if engine is engine.native and not tapes and (_is_open(values) or known_ints(op, values) is not values):
        body = functools.partial(hooks.run_body, op, engine)
    # The body makes new values on the engine.  If the op has its own gradient, tapes do not record the body's ops.
    here = around if engine is current_engine() else around._replace(engine=engine)
    try:
        replace(here._replace(tapes=()) if record else here)
        result = body(*values)
    except Exception as error:
        raise inside(op, error, values) from error.__cause__
    finally:
        replace(around)
    if not record:
        return result
    # The Tensors must be new: the body may have returned an argument, and a tape tells tensors apart by identity.
    # While a graph is built, a body with a loop gives graph tensors.
    results = result if op.returns_tuple else (result,)
    outputs = [Tensor(t._value, t._engine) if type(t) is Tensor else t for t in results]
    for tape in tapes:
        tape.record(op, values, outputs)
    return tuple(outputs) if op.returns_tuple else outputs[0]


def _is_open(values: list[Any]) -> bool:
    """Whether some dimension of the tensors is unknown."""
    return any(_is_open(list(v)) if type(v) is tuple else type(v) is Tensor and None in v.shape for v in values)


def inside(op: Op, error: Exception, values: list[Any]) -> Exception:
    """The error of a body with its composite's name in front, or as the composite's own error if no op raised it."""
    if not hasattr(error, "dovetail"):
        return op_error(type(error), op.title, str(error), given(op, values)) if type(error) in CONVENTIONAL else error
    annotate(error, op.title, str)
    return error


# -- native: an engine's own values -----------------------------------------------------------------------------------


def _owned(op: Op, result: Any, engine: Engine, values: list[Any]) -> Any:
    """Results as an engine's own values; none shares memory with an argument, as users may write to it: `x /= 2`."""
    given = values if op.tensors_alone else operands(op, values)
    if isinstance(result, tuple):
        return tuple([engine.owned(t._value, given) for t in result])
    return engine.owned(result._value, given)


def _native_engine(op: Op, values: list[Any]) -> Engine:
    engines = [kind_of(value).autodiff(value) for value in operands(op, values)]
    by_name = {engine.name: engine for engine in engines if engine is not None}
    if len(by_name) > 1:
        raise op_error(
            TypeError,
            op.title,
            f"got {' and '.join(by_name)} values in one call; convert one of them, as in ops.convert(x, engine=...).",
            given(op, values),
        )
    return next(iter(by_name.values())).native
