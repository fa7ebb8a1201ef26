"""The one way in: every op call comes through `apply`, which looks at what it is given.

Each Python type belongs to a *world*; the highest world among the arguments handles the call:

    host    Python numbers, lists, NumPy arrays    computed now, on the current engine
    eager   Tensor                                 computed now, on its engine; recorded on the tapes that watch
    state   Variable                               like eager; while a function is traced, like graph
    native  jax.Array, torch.Tensor, …             computed by that engine's rules, comes out as that engine's own value
    graph   graph Tensor                           a node is added to its graph

`graph` and other packages add their worlds with `register_world`, so nothing here depends on them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dovetail import engines
from dovetail.dtypes import DType, promote, weak_type
from dovetail.engines.base import native_to_dtype as native_dtype
from dovetail.errors import describe_call, op_error
from dovetail.ops.kinds import Kind
from dovetail.ops.spec import TensorSpec
from dovetail.tensor import Tensor, building, recording

if TYPE_CHECKING:
    from dovetail.engines.base import Engine
    from dovetail.ops.op import Op


@dataclass(frozen=True)
class World:
    """How calls with values of some Python types are handled.

    Attributes:
        rank: the highest rank among a call's arguments wins.
        apply: (op, arguments in parameter order, node name) → result.
    """

    name: str
    rank: int
    apply: Callable[[Op, list[Any], str | None], Any]


_worlds: dict[type, World] = {}


def register_world(value_type: type, world: World) -> None:
    """Says which world the values of a type belong to."""
    _worlds[value_type] = world
    if world.name == "graph":
        _graph_worlds.append(world)


def world_of(value: Any) -> World:
    """The world of one value."""
    kind = type(value)
    world = _worlds.get(kind)
    if world is None:
        world = next((_worlds[base] for base in kind.__mro__ if base in _worlds), HOST)
        if world is HOST and engines.owner_of_type(kind) is not None:
            world = NATIVE
        _worlds[kind] = world
    return world


def operands(op: Op, values: list[Any]) -> Iterator[Any]:
    """The values that may be tensors: tensor arguments, members of lists, members of shape-like arguments."""
    for index, kind in op.tensor_positions:
        value = values[index]
        if kind.many and isinstance(value, (list, tuple)):
            yield from value
        elif value is not None:
            yield value
    for index in op.ints_positions:
        value = values[index]
        if isinstance(value, (list, tuple)):
            yield from value
        elif value is not None:
            yield value


def apply(op: Op, args: Any, kwargs: dict[str, Any]) -> Any:
    """Computes or records one op call; `name=` names the node."""
    name = kwargs.pop("name", None) if kwargs else None
    values = op.bind(args, kwargs)
    world = HOST
    for value in operands(op, values):
        found = world_of(value)
        if found.rank > world.rank:
            world = found
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
                current = current or engines.current()
                if value._engine is current:
                    found = current
    return found or engines.current()


def run(op: Op, values: list[Any], engine: Engine) -> Any:
    """Computes an op on one engine, from arguments of any eager kind."""
    values = to_tensors(op, values, engine)
    taped = recording.tapes and any(tape.watches(op, values) for tape in recording.tapes)
    rule = engine.eager_rules.get(op.name)
    if op.infer is not None:
        checked_specs(op, values)
    if op.body is not None:
        # Whether its gradient is not that of its body.
        whole = op.gradient_function is not None or not op.differentiable or op.name in recording.overrides
        if rule is None or (taped and not whole):
            return _run_body(op, values, engine, record=taped and whole)
    if rule is None:
        raise op_error(NotImplementedError, op.name, f"the engine {engine.name!r} has no rule for it.")
    try:
        result = rule(*natives(values))
    except Exception as error:
        if engine is engine.native:
            raise  # a library's transformations may find their way by exceptions
        if op.body is not None:
            _run_body(op, values, engine, record=False)  # says what is wrong in Dovetail's words, if it can
        if getattr(error, "dovetail", False):
            raise
        kind = (
            type(error) if isinstance(error, (ValueError, TypeError, IndexError, NotImplementedError)) else ValueError
        )
        if isinstance(error, (MemoryError, KeyboardInterrupt)):
            raise
        raise op_error(kind, op.name, f"{engine.name} says: {error}.", _given(op, values)) from error
    outputs = [Tensor(value, engine) for value in (result if op.returns_tuple else (result,))]
    if taped:
        for tape in recording.tapes:
            tape.record(op, values, outputs)
    return tuple(outputs) if op.returns_tuple else outputs[0]


def _run_body(op: Op, values: list[Any], engine: Engine, record: bool) -> Any:
    tapes = recording.tapes
    if record:  # the op has a gradient of its own: its inside is not recorded
        recording.tapes = ()
    token = engines.push(engine)  # what the body makes of nothing, it makes there
    try:
        result = op.body(*values)  # type: ignore[misc]
    except Exception as error:
        raise inside(op, error) from error.__cause__
    finally:
        engines.pop(token)
        recording.tapes = tapes
    if not record:
        return result
    # New Tensors, since the body may have returned an argument, and a tape tells tensors apart by identity.
    outputs = [Tensor(t._value, t._engine) for t in (result if op.returns_tuple else (result,))]
    for tape in tapes:
        tape.record(op, values, outputs)
    return tuple(outputs) if op.returns_tuple else outputs[0]


def inside(op: Op, error: Exception) -> Exception:
    """The error with the name of the composite in front, if an op in its body raised it."""
    if getattr(error, "dovetail", False) and not str(error).startswith(f"{op.name}: "):
        error.args = (f"{op.name}: {error}",)
    return error


def to_tensors(op: Op, values: list[Any], engine: Engine) -> list[Any]:
    """The arguments as Tensors of one engine, promoted as the op's signature says; shape-like ones as ints."""
    if _fit(op, values, engine):
        for index in op.ints_positions:
            values[index] = static_ints(op, values[index])
        return values
    values = list(values)
    dtypes = promoted_dtypes(op, values)
    for index, kind in op.tensor_positions:
        value = values[index]
        if kind.many:
            values[index] = tuple(as_tensor(v, d, engine) for v, d in zip(value, dtypes[index], strict=True))
        elif value is not None:
            values[index] = as_tensor(value, dtypes[index], engine)
        elif not kind.optional:
            raise op_error(TypeError, op.name, f"{op.params[index].name} must be a tensor, not None.")
    for index in op.ints_positions:
        values[index] = static_ints(op, values[index])
    return values


def _fit(op: Op, values: list[Any], engine: Engine) -> bool:
    """Whether the arguments need no conversion: Tensors of the engine, of one dtype that the op takes; the usual case."""
    first = None
    for index, kind in op.tensor_positions:
        value = values[index]
        if type(value) is not Tensor or value._engine is not engine:
            return False
        dtype = value._value.dtype
        if dtype not in engine.direct[kind.accepts]:
            return False
        if not kind.apart:
            if first is not None and dtype != first:
                return False
            first = dtype
    return True


def as_tensor(value: Any, dtype: DType, engine: Engine) -> Tensor:
    """Any eager value as a Tensor of the given engine and dtype."""
    from dovetail.ops.shape import cast

    world = world_of(value)
    if world is STATE:
        value = value.read(engine)
    if type(value) is not Tensor:
        if world is NATIVE:
            value = Tensor(value, engines.owner_of_type(type(value)).native)
        elif _is_foreign(value):
            value = Tensor(engine.take(value), engine)
        else:
            return Tensor(engine.asarray(value, dtype), engine)
    if value._engine is not engine:
        value = move(value, engine)
    return value if value.dtype == dtype else cast(value, dtype)


def _is_foreign(value: Any) -> bool:
    """Whether it is an array of a library that no engine owns, which hands out its memory by DLPack."""
    return hasattr(value, "__dlpack__") and not isinstance(value, np.ndarray)


def engine_for(value: Any) -> Engine:
    """The engine on which a single value is held: its own, or the current one."""
    if type(value) is Tensor:
        return value._engine
    return engines.owner_of_type(type(value)) or engines.current()


def move_quietly(tensor: Tensor, engine: Engine | None) -> Tensor:
    """The tensor on another engine, unknown to the tapes; by DLPack, so without a copy, where both engines can."""
    if engine is None or tensor._engine is engine:
        return tensor
    return Tensor(engine.receive(tensor._value, tensor._engine), engine)


def move(tensor: Tensor, engine: Engine) -> Tensor:
    """The tensor on another engine; gradients find their way back."""
    moved = move_quietly(tensor, engine)
    if moved is tensor:
        return tensor
    for tape in recording.tapes:
        tape.record_move(tensor, moved)
    return moved


def static_ints(op: Op, value: Any) -> Any:
    """A shape-like argument as a tuple of ints (None entries and None itself are kept)."""
    if value is None:
        return None
    if isinstance(value, (list, tuple)):
        return tuple(v if v is None or type(v) is int else _as_int(op, v) for v in value)
    array = np.asarray(value.numpy() if hasattr(value, "numpy") else value)
    if array.dtype.kind not in "iu" and array.size:
        raise op_error(TypeError, op.name, f"a shape needs integers, not {array.dtype}.")
    return tuple(array.reshape(-1).tolist())


def _as_int(op: Op, value: Any) -> int:
    try:
        return value.__index__() if not hasattr(value, "read") else int(value.numpy())
    except (TypeError, AttributeError):
        raise op_error(TypeError, op.name, f"a shape needs integers, not {value!r}.") from None


def natives(values: list[Any]) -> list[Any]:
    """The arguments as engine rules take them."""
    return [
        v._value if type(v) is Tensor
        else [t._value for t in v] if type(v) is tuple and v and type(v[0]) is Tensor
        else v
        for v in values
    ]  # fmt: skip


# -- dtypes -----------------------------------------------------------------------------------------------------------


def dtype_of(value: Any) -> Any:
    """The dtype of any value; for Python numbers and lists of them their weak Python type."""
    if isinstance(value, (bool, int, float, complex)) and not isinstance(value, np.generic):
        return weak_type(value)
    if isinstance(value, (list, tuple)):
        leaves = list(_leaves(value))
        if not leaves:
            return float
        found = promote(dtype_of(leaf) for leaf in leaves)
        return {int: "int32", float: float}.get(found, found)
    dtype = getattr(value, "dtype", None)
    if dtype is None:
        dtype = (np.from_dlpack(value) if _is_foreign(value) else np.asarray(value)).dtype
    return native_dtype(dtype)


def _leaves(value: Any) -> Iterator[Any]:
    for item in value:
        if isinstance(item, (list, tuple)):
            yield from _leaves(item)
        else:
            yield item


_ACCEPTED: dict[str, Callable[[DType], bool]] = {
    "any": lambda d: True,
    "real": lambda d: not d.is_complex,
    "number": lambda d: not d.is_bool,
    "inexact": lambda d: d.is_differentiable,
    "float": lambda d: d.is_floating,
    "integer": lambda d: d.is_integer,
    "bits": lambda d: d.is_integer or d.is_bool,
    "bool": lambda d: d.is_bool,
}
_REPAIR = {  # what is done with a dtype that is not accepted: accepts → (from what, to what)
    "number": (lambda d: d.is_bool, lambda: promote([int])),
    "inexact": (lambda d: not d.is_differentiable, lambda: promote([float])),
    "float": (lambda d: d.is_integer or d.is_bool, lambda: promote([float])),
    "integer": (lambda d: d.is_bool, lambda: promote([int])),
    "bool": (lambda d: True, lambda: promote([bool])),
}
_IN_WORDS = {"integer": ("integer", "int32"), "bits": ("integer or bool", "int32")}  # and a dtype that would do


def promoted_dtypes(op: Op, values: list[Any]) -> dict[int, Any]:
    """For each tensor parameter the dtype its argument is converted to (a list of them for a list of tensors)."""
    groups: dict[Any, list[Any]] = {}
    try:
        for index, kind in op.tensor_positions:
            value = values[index]
            if value is None:
                continue
            if kind.many and not isinstance(value, (list, tuple)):
                raise op_error(TypeError, op.name, f"{op.params[index].name} must be a list of tensors.")
            if not kind.apart:
                members = [dtype_of(v) for v in value] if kind.many else [dtype_of(value)]
                groups.setdefault(kind.accepts, []).extend(members)
        common = {accepts: _accepted(op, accepts, promote(members)) for accepts, members in groups.items() if members}
        return {index: _wanted(op, kind, values[index], common) for index, kind in op.tensor_positions}
    except TypeError as error:
        if getattr(error, "dovetail", False):
            raise
        raise op_error(TypeError, op.name, str(error), _given(op, values)) from None


def _wanted(op: Op, kind: Kind, value: Any, common: dict[str, DType]) -> Any:
    if value is None:
        return None
    if kind.many:
        return [
            _accepted(op, kind.accepts, promote([dtype_of(v)])) if kind.apart else common[kind.accepts] for v in value
        ]
    return _accepted(op, kind.accepts, promote([dtype_of(value)])) if kind.apart else common[kind.accepts]


def _accepted(op: Op, accepts: str, dtype: DType) -> DType:
    if _ACCEPTED[accepts](dtype):
        return dtype
    repair = _REPAIR.get(accepts)
    if repair is None or not repair[0](dtype):
        wanted, example = _IN_WORDS.get(accepts, (accepts, "float32"))
        problem = f'needs {wanted} tensors, got {dtype}; cast first, as in cast(x, "{example}").'
        raise op_error(TypeError, op.name, problem)
    return repair[1]()


# -- shape checks -----------------------------------------------------------------------------------------------------

_spec_cache: dict[Any, Any] = {}
_SPEC_CACHE_LIMIT = 20_000


def checked_specs(op: Op, values: list[Any]) -> Any:
    """The specs of the outputs; raises, in the same words for every engine, where shapes or values do not fit."""
    key = (op.name, *[_key(v) for v in values])
    try:
        known = _spec_cache.get(key)
    except TypeError:  # something unhashable: no caching
        return infer(op, values)
    if known is None:
        known = infer(op, values)
        if len(_spec_cache) > _SPEC_CACHE_LIMIT:
            _spec_cache.clear()
        _spec_cache[key] = known
    return known


def _key(value: Any) -> Any:
    if type(value) is Tensor:
        return value._engine.shape(value._value), value._value.dtype
    if type(value) is tuple:
        return tuple(map(_key, value))
    return type(value), value


def infer(op: Op, values: list[Any], where: Any = None) -> Any:
    """Runs the op's type rule on tensors or specs; its failures name the op, the arguments and the user's line."""
    try:
        return op.infer(*[_as_spec(v) for v in values])  # type: ignore[misc]
    except (ValueError, TypeError, IndexError) as error:
        if getattr(error, "dovetail", False):
            raise
        raise op_error(type(error), op.name, str(error), _given(op, values), where) from None


def _as_spec(value: Any) -> Any:
    if isinstance(value, TensorSpec):
        return value
    if isinstance(value, (tuple, list)) and value and hasattr(value[0], "dtype"):
        return [_as_spec(v) for v in value]
    if hasattr(value, "dtype") and hasattr(value, "shape"):
        return TensorSpec(value.shape, value.dtype)
    return value


def _given(op: Op, values: list[Any]) -> str:
    return describe_call([p.name for p in op.params], values)


# -- native: an engine's own values -----------------------------------------------------------------------------------


def native(op: Op, values: list[Any], name: str | None = None) -> Any:
    """Computes an op on an engine's own values, by its rules alone, so its own transformations see through."""
    engine = _native_engine(op, values)
    result = run(op, values, engine)
    return tuple(t._value for t in result) if isinstance(result, tuple) else result._value


def _native_engine(op: Op, values: list[Any]) -> Engine:
    found: dict[str, Engine] = {}
    for value in operands(op, values):
        if world_of(value) is NATIVE:
            engine = engines.owner_of_type(type(value))
            found[engine.name] = engine
    if len(found) > 1:
        raise op_error(
            TypeError,
            op.name,
            f"got {' and '.join(found)} values in one call; convert one of them, as in dovetail.ops.convert(x, engine=...).",
            _given(op, values),
        )
    return next(iter(found.values())).native


def _state(op: Op, values: list[Any], name: str | None = None) -> Any:
    if building.graphs:
        return _graph_worlds[-1].apply(op, values, name)
    return eager(op, values, name)


_graph_worlds: list[World] = []
HOST = World("host", 0, eager)
EAGER = World("eager", 1, eager)
STATE = World("state", 2, _state)
NATIVE = World("native", 3, native)
register_world(Tensor, EAGER)
for _type in (bool, int, float, complex, list, tuple, np.ndarray):
    register_world(_type, HOST)
