"""Op: one entry of the op table, and the decorators that make it.

    @primitive("Tanh", infer=elementwise, samples=unary(-3, 3))
    def tanh(x: Float) -> Tensor:
        '''Hyperbolic tangent, elementwise.'''

    @tanh.gradient
    def _(op, g):
        return g * (1 - op.outputs[0] ** 2)

    @composite("Softmax", samples=...)
    def softmax(x: Float, axis: int = -1) -> Tensor:
        '''…'''
        exp = ...

A primitive has no body: every engine has a rule for it, and `infer` gives the shape and dtype of its result.  A
composite has a body written in other ops; it is recorded as one node, and engines may claim it with a rule of their
own.  Gradients are written in ops too, so the same table serves the tape, the graph, and gradients of gradients.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, Generic, ParamSpec, TypeVar, overload

from dovetail.core.base.cache import Cache
from dovetail.core.base.domains import Domain
from dovetail.core.base.errors import did_you_mean, op_error
from dovetail.core.base.scopes import scopes
from dovetail.core.base.table import COMPOSITES, GRADIENTS, OPS
from dovetail.core.calls import dispatch
from dovetail.core.calls.static_types import INTS, LOOSE, Static, static_of
from dovetail.core.engines.accumulation import ACCUMULATING, HALVES, in_float32
from dovetail.core.kinds import Anything, IntsKind, Kind
from dovetail.core.tensor import Tensor
from dovetail.core.values.value_kinds import is_tensor

P = ParamSpec("P")
R = TypeVar("R")
AnyOp = TypeVar("AnyOp", bound="Op[..., Any]")

REQUIRED = inspect.Parameter.empty
RESOLVED = 500  # resolved calls that each of the two generations of an op's cache holds
_UNNAMED: tuple[dict[str, Any], ...] = ({}, {"name": None})


@dataclass(frozen=True)
class Parameter:
    """One parameter of an op: a tensor (`Kind`), shape-like integers (`IntsKind`) or static (None).

    `static` holds the types of its values other than tensors; a tensor parameter takes only None.
    """

    name: str
    kind: Kind | IntsKind | None
    default: Any
    static: Static
    domain: Domain | None = None


class Op(Generic[P, R]):
    """An op: its name, type rule, gradient and, for a composite, a body.  Call it to compute or record it.

    Attributes:
        name: the op's type, TensorFlow's where TensorFlow has the op ("MatMul").
        params: its parameters in order.
        body: for a composite, the function that computes it by other ops; None for a primitive.  Engines set its
            keyword-only parameters, which are no arguments of a call.
        infer: (specs and static values in parameter order) → spec of the output, or a tuple of them.  Composites need
            none, since tracing their body gives the specs.
        samples: example calls, from which the test suite is generated.
        returns_tuple: whether it has several results, by its return annotation.
        differentiable: False if the derivative is zero or does not exist (floor, argmax, …).
        prepare: (arguments as given, in parameter order) → a list of them, ready for conversion.  It raises the errors
            of arguments that do not fit each other and that `infer`, which has only specs, cannot see.
        cost: the family of its cost, by which its time is predicted: "map", "move" (which computes no numbers),
            "reduction", "product", "convolution", "window", "unpool", "recurrent", "random" or "optimizer".
        fills_gradients: whether the gradient function gets zeros, not None, for results without a gradient.
        is_users: whether a program registered it, by `register_op`.
    """

    is_users = False

    def __init__(
        self,
        name: str,
        function: Callable[P, R],
        *,
        body: Callable[..., Any] | None = None,
        infer: Callable[..., Any] | None = None,
        samples: Sequence[Any] = (),
        cost: str = "map",
        differentiable: bool = True,
        fills_gradients: bool = True,
        prepare: Callable[..., list[Any]] | None = None,
    ) -> None:
        self.name = name
        self.body = body
        self.infer = infer
        self.samples = samples
        self.cost = cost
        self.differentiable = differentiable
        self.fills_gradients = fills_gradients
        self.prepare = prepare
        self.gradient_function: Callable[..., Any] | None = None
        functools.update_wrapper(self, function)
        hints, parameters = _hints(function)
        self.returns_tuple = hints.get("return", Tensor) is not Tensor
        self.params = [
            _parameter(name, p.name, hints.get(p.name), p.default) for p in parameters if p.kind is not p.KEYWORD_ONLY
        ]
        self.positions = {p.name: i for i, p in enumerate(self.params)}
        self.is_static = [not isinstance(p.kind, Kind) for p in self.params]
        self.kinds_of_arguments = functools.cache(self._kinds_of_arguments)
        self.resolved: Cache[Any, dispatch.Resolved] = Cache(RESOLVED)
        self.static = [(i, p.name) for i, p in enumerate(self.params) if p.kind is None]
        self.tensor_positions = [(i, p.kind) for i, p in enumerate(self.params) if isinstance(p.kind, Kind)]
        self.tensor_places = [(i, kind.many) for i, kind in self.tensor_positions]
        self.ints_positions = [i for i, p in enumerate(self.params) if isinstance(p.kind, IntsKind)]
        self.index_positions = [i for i, kind in self.tensor_positions if kind.accepts == "index"]
        self.tensors_alone = not self.ints_positions and not any(kind.many for _, kind in self.tensor_positions)
        self._static = [(i, p.name, p.static, p.static.plain) for i, p in enumerate(self.params) if p.kind is None]
        self.checks_values = prepare is not None or any(p.kind and p.domain for p in self.params)
        self._domains = [(i, p.name, p.domain) for i, p in enumerate(self.params) if p.kind and p.domain]

    @overload
    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R: ...
    @overload
    def __call__(self, *args: Any, name: str | None, **kwargs: Any) -> R: ...
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return dispatch.apply(self, args, kwargs)

    @functools.cached_property
    def title(self) -> str:
        """Its name in messages; the name of its function comes first if the op's name does not contain it."""
        function = self.__wrapped__.__name__  # type: ignore[attr-defined]  # by update_wrapper
        known = (
            not function.isidentifier() or function.startswith("_") or function.replace("_", "") in self.name.lower()
        )
        return self.name if known else f"{function}: {self.name}"

    @property
    def function_name(self) -> str:
        """The full name of its function: `dovetail.ops.math.arithmetic.tanh`."""
        return f"{self.__module__}.{self.__wrapped__.__qualname__}"  # type: ignore[attr-defined]  # by update_wrapper

    def __repr__(self) -> str:
        return f"<op {self.name}>"

    def __reduce__(self) -> Any:
        return op_named, (self.name,)

    @functools.cached_property
    def accepts(self) -> str:
        """The values that its first tensor parameter accepts (`Kind.accepts`)."""
        return self.tensor_positions[0][1].accepts

    @property
    def is_elementwise(self) -> bool:
        """Whether each element of the result depends only on the elements at its own place."""
        return getattr(self.infer, "elementwise", False)

    def gradient(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Decorator that sets the gradient, called as function(op, *output_gradients).

        `op` has `.inputs`, `.outputs`, `.args` (all arguments in parameter order) and `.attr(name)`.  The function
        returns one gradient per input tensor (a single one need not be in a tuple), with None for no gradient.
        """
        self.gradient_function = function
        return function

    def differentiated_by(self, op: Op[..., Any]) -> None:
        """Let another op compute the gradient; its parameters say of what.

        The first are the gradients of the results.  `y`, if it follows, is the first result; the others have the names
        of this op's parameters.
        """
        places = [self.positions.get(name) for name in op.positions if name == "y" or name in self.positions]

        @self.gradient
        def _(node: Any, *gs: Any) -> Any:
            args = node.args
            return op(*gs, *[node.outputs[0] if place is None else args[place] for place in places])

    def no_rule(self, engine: str) -> str:
        """The message for an engine that cannot compute it."""
        return f"the engine {engine!r} has no rule for it."

    def check_results(self, engine: Any, results: Any, specs: Any) -> None:
        """Raise an error if a rule's results do not match the specs; the results of Dovetail's own rules always do."""

    def checked(self, rule: Callable[..., Any], engine: Any, specs: Sequence[Any]) -> Callable[..., Any]:
        """Add `check_results` to a rule for an operation of a program, if the op needs it."""
        return rule

    def bind(self, args: Sequence[Any], kwargs: dict[str, Any]) -> list[Any]:
        """The arguments in parameter order, with defaults, and with static values in the form of operations."""
        values = list(args)
        if len(values) > len(self.params):
            raise TypeError(f"it takes {len(self.params)} arguments but {len(values)} were given.")
        left = dict(kwargs) if kwargs else kwargs
        for param in self.params[len(values) :]:
            value = left.pop(param.name, param.default) if left else param.default
            if value is REQUIRED:
                raise TypeError(f"the argument {param.name!r} is missing.")
            values.append(value)
        if left:
            names = ", ".join(p.name for p in self.params)
            raise TypeError(f"no argument {', '.join(map(repr, left))}, or it is given twice; it takes {names}.")
        for index, name, static, plain in self._static:
            value = values[index]
            if type(value) not in plain and not is_tensor(value):
                values[index] = static.normalize(name, value)
        return self.prepared(values) if self.checks_values else values

    def _kinds_of_arguments(self, count: int, names: tuple[str, ...]) -> list[bool]:
        """Whether each argument is static, for `count` positional arguments and keywords; cut at an unknown keyword."""
        kinds = self.is_static[:count]
        for name in names:
            if name not in self.positions:
                break
            kinds.append(self.is_static[self.positions[name]])
        return kinds

    def prepared(self, values: list[Any]) -> list[Any]:
        """The arguments in parameter order, after the checks that depend on the values of tensor arguments."""
        for index, name, domain in self._domains:
            domain.require(name, values[index])
        return values if self.prepare is None else self.prepare(*values)

    def normalize(self, param: str, value: Any) -> Any:
        """Convert a value for a parameter to the form in the attributes of operations.

        Raises:
            LookupError: there is no such parameter.
            TypeError, ValueError: the parameter does not take the value; a tensor is an input, and no attribute.
        """
        if param not in self.positions:
            raise LookupError(f"there is no parameter {param!r}; {did_you_mean(param, self.positions)}".rstrip("; "))
        return self.params[self.positions[param]].static.normalize(param, value)

    def index_of(self, param: str) -> int:
        """The position of a parameter, by name."""
        return self.positions[param]


class UnaryOp(Op[P, R]):
    """An elementwise op of one tensor, with a fast path for the plainest call: an eager Tensor, no tape."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        around = scopes()
        if len(args) == 1 and type(args[0]) is Tensor and kwargs in _UNNAMED and not (around.tapes or around.probes):
            engine, value = args[0]._engine, args[0]._value
            if engine.native_dtype_of(value) in engine.direct[self.accepts]:
                rule = engine.eager_rules[self.name]
                if rule is not None:
                    try:
                        return Tensor(rule(value), engine)
                    except engine.errors:  # the general path raises a clear error
                        pass
        return dispatch.apply(self, args, kwargs)


class BinaryOp(Op[P, R]):
    """An elementwise op of two tensors, with a fast path for the plainest calls.

    These are calls that no tape records, of eager Tensors of one engine and dtype, or of a Tensor and a Python number.
    """

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        around = scopes()
        if len(args) == 2 and not (kwargs or around.tapes or around.probes):
            x, y = args
            if type(x) is Tensor:
                engine, a = x._engine, x._value
                dtype = engine.native_dtype_of(a)
                b = y._value if type(y) is Tensor and y._engine is engine else engine.number(y, dtype)
                fit = b is not None and engine.native_dtype_of(b) is dtype
            elif type(y) is Tensor:
                engine, b = y._engine, y._value
                dtype = engine.native_dtype_of(b)
                a = engine.number(x, dtype)
                fit = a is not None
            else:
                fit = False
            if fit and dtype in engine.direct[self.accepts]:
                rule = engine.eager_rules[self.name]
                if rule is not None:
                    try:
                        return Tensor(rule(a, b), engine)
                    except engine.errors:  # the general path raises a clear error
                        pass
        return dispatch.apply(self, args, kwargs)


def op_named(name: str) -> Op[..., Any]:
    """The op of a name in the table; unpickling an op calls this.

    Raises:
        LookupError: there is no such op.
    """
    if name not in OPS:
        problem = f"no op is called {name!r} here. {did_you_mean(name, OPS)}If it is one of yours, register it first."
        raise op_error(LookupError, name, problem)
    return OPS[name]


def primitive(name: str, *, infer: Callable[..., Any], **options: Any) -> Callable[[Callable[P, R]], Op[P, R]]:
    """Decorator that adds a primitive to the table.  The function has a signature and a docstring, and no body."""
    return lambda function: add_op(name, function, Op, infer=infer, **options)


def composite(name: str, **options: Any) -> Callable[[Callable[P, R]], Op[P, R]]:
    """Decorator that adds a composite to the table.  The function's body computes the op by other ops."""
    return lambda function: add_op(name, function, Op, body=function, **options)


def add_op(
    name: str, function: Callable[..., Any], kind: type[AnyOp], gradient_of: str | None = None, **options: Any
) -> AnyOp:
    """Make an op of a kind, and add it to the table.

    Args:
        gradient_of: the type of the op whose gradients it computes, as `GRADIENTS` says.

    Raises:
        ValueError: there is an op of this name.
    """
    if name in OPS:
        raise ValueError(f"the op {name!r} is already in the table, as {OPS[name].function_name}.")
    op = kind(name, function, **options)
    if name in ACCUMULATING and op.body is not None:
        cast = lambda x, dtype: OPS["Cast"](x, dtype)  # noqa: E731
        op.body = in_float32(op.body, op.tensor_places, attrgetter("dtype"), cast, HALVES, "float32")
    plain = len(op.tensor_positions) == len(op.params) and not any(k.many or k.optional for _, k in op.tensor_positions)
    if plain and op.is_elementwise and len(op.params) <= 2 and kind is Op:
        op.__class__ = (UnaryOp, BinaryOp)[len(op.params) - 1]  # type: ignore[assignment]
    OPS[name] = op
    if op.body is not None:
        COMPOSITES.add(name)
    if gradient_of is not None:
        GRADIENTS[name] = gradient_of
    return op


@functools.lru_cache(8)  # all opaque operations have one function
def _hints(function: Callable[..., Any]) -> tuple[dict[str, Any], list[inspect.Parameter]]:
    """The types and the parameters of a function; `typing.get_type_hints` is slower, and gives the same types."""
    names, hints = getattr(inspect.unwrap(function), "__globals__", {}), dict(getattr(function, "__annotations__", {}))
    for name, hint in hints.items():
        while isinstance(hint, str):
            hint = eval(_code(hint), names)
        hints[name] = type(None) if hint is None else hint
    return hints, [*inspect.signature(function).parameters.values()]


_code = functools.cache(functools.partial(compile, filename="<annotation>", mode="eval"))


def _parameter(op: str, name: str, hint: Any, default: Any) -> Parameter:
    hint = Anything if hint is Tensor else hint
    kind = _note(hint, (Kind, IntsKind))
    static = _ABSENT if isinstance(kind, Kind) else _INTS[default is None] if kind else static_of(hint)
    if not static.types or not {*static.types}.isdisjoint(LOOSE.values()):
        problem = (
            f"the parameter {name!r} of the op {op!r} has no type that is known: annotate it with a kind of tensor "
            "(dovetail.kinds.Float, or dovetail.Tensor for any) or a type of static values (int, float, bool, str)."
        )
        raise TypeError(problem)
    return Parameter(name, kind, default, static, _note(hint, Domain))


_ABSENT = static_of(type(None))
_INTS = Static((INTS,)), Static((INTS, *_ABSENT.types))


def _note(hint: Any, kind: Any) -> Any:
    return next((note for note in getattr(hint, "__metadata__", ()) if isinstance(note, kind)), None)
