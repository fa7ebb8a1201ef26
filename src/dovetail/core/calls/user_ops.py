"""User ops: `register_op` adds an op to the table, in the same way as Dovetail's own ops.

    @register_op("Snake")                                   a composite: its body is written in other ops
    def snake(x: kinds.Float, frequency: float = 1.0):
        return x + ops.sin(frequency * x) ** 2 / frequency

    @register_op("Hypotenuse", infer=lambda x, y: x)        a primitive: each engine has its own rule for it
    def hypot(x: kinds.Float, y: kinds.Float): ...

    @hypot.rule("numpy")
    def _(x, y):
        return np.hypot(x, y)

Programs cannot change the rules of existing ops, or remove Dovetail's own ops.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from dovetail.core.base.errors import describe, op_error
from dovetail.core.base.table import OPS
from dovetail.core.engine import Engine
from dovetail.core.engines import engine_registry
from dovetail.core.op import Op, add_op
from dovetail.core.values.shapes import fits
from dovetail.core.values.spec import TensorSpec

Function = TypeVar("Function", bound=Callable[..., Any])


class UserOp(Op[Any, Any]):
    """An op that a program registered; see `register_op`."""

    is_users = True

    def rule(self, *engines: str) -> Callable[[Function], Function]:
        """Decorator that gives the op a rule for some engines.

        The function takes the arguments in parameter order, tensors as the engine's own arrays, and returns an array,
        or a tuple of them if the op has several results.  On jax and TensorFlow it is traced in compiled programs.

        Args:
            engines: their names; they are not imported before they are used.

        Raises:
            UnknownEngine: there is no engine of a name.
            ValueError: the op has a rule for one of the engines.
            TypeError: the decorated object cannot be called.

        Example:
            >>> import numpy as np
            >>> from dovetail import kinds
            >>> @register_op("Halves", infer=lambda x: x)
            ... def halves(x: kinds.Float): ...
            >>> @halves.rule("numpy")
            ... def _(x):
            ...     return x / 2
            >>> halves([1.0, 3.0]).numpy()
            array([0.5, 1.5], dtype=float32)
            >>> unregister_op("Halves")
        """

        def add(function: Function) -> Function:
            self._check_rules(dict.fromkeys(engines, function))
            engine_registry.add_rules(self.name, dict.fromkeys(engines, function))
            return function

        return add

    @property
    def engines(self) -> list[str]:
        """The engines that have a rule for the op."""
        return engine_registry.engines_with_rule(self.name)

    def _check_rules(self, rules: Mapping[str, Any]) -> None:
        for name, rule in rules.items():
            engine_registry.check_known(name)
            if not callable(rule):
                raise op_error(TypeError, self.name, f"the rule for {name} must be a function, not {describe(rule)}.")
            if name in self.engines:
                advice = f"to replace it, call unregister_op({self.name!r}) and register the op again."
                problem = f"it has a rule for {name} already; {advice}"
                raise op_error(ValueError, self.name, problem)

    def no_rule(self, engine: str) -> str:
        if not self.engines:
            return f"it has no rules yet: give it one for {engine}, with @{self.__name__}.rule({engine!r})."  # type: ignore[attr-defined]
        known, first = " and ".join(self.engines), self.engines[0]
        return (
            f"the engine {engine!r} has no rule for it; {known} {'has' if len(self.engines) == 1 else 'have'}. Give it "
            f"one, with @{self.__name__}.rule({engine!r}), or compute it there: `with dovetail.engine({first!r}):`, "  # type: ignore[attr-defined]
            f"and in a graph `operation.engine = {first!r}`."
        )

    def check_results(self, engine: Engine, results: Any, specs: Any) -> None:
        """Raise an error if a rule's results do not match the type rule, on which all later steps rely."""
        arrays = results if self.returns_tuple else (results,)
        wanted = specs if self.returns_tuple else (specs,)
        if not isinstance(arrays, (tuple, list)) or len(arrays) != len(wanted):
            problem = f"its rule for {engine.name} must return a tuple of {len(wanted)} arrays, not {describe(arrays)}."
            raise op_error(TypeError, self.name, problem)
        for value, spec in zip(arrays, wanted, strict=True):
            try:
                own = TensorSpec(engine.shape(value), engine.dtype(value))
            except (AttributeError, TypeError):
                problem = f"its rule for {engine.name} must return arrays of {engine.name}, not {describe(value)}."
                raise op_error(TypeError, self.name, problem) from None
            if own.dtype != spec.dtype or not fits(own.shape, spec.shape):
                problem = f"its rule for {engine.name} gave {own!r}, where `infer` says {spec!r}; change one of them."
                raise op_error(TypeError, self.name, problem)

    def checked(self, rule: Callable[..., Any], engine: Engine, specs: Sequence[TensorSpec]) -> Callable[..., Any]:
        if self.infer is None:
            return rule

        def run(*args: Any) -> Any:
            results = rule(*args)
            self.check_results(engine, results, specs if self.returns_tuple else specs[0])
            return results

        return run


def register_op(
    name: str,
    *,
    infer: Callable[..., Any] | None = None,
    rules: Mapping[str, Callable[..., Any]] | None = None,
    gradient: Callable[..., Any] | None = None,
    differentiable: bool = True,
) -> Callable[[Callable[..., Any]], UserOp]:
    """Decorator that makes a function an op, which works eagerly, on tapes, in graphs and in compiled functions.

    Without `infer` it is a composite: the function computes it by other ops, so every engine has it.  The function may
    use its arguments alone; it reads no variables other than given ones, and other tensors are constants to it.  With
    `infer` it is a primitive: the function has the parameters and the docstring, and is never called.  Each engine then
    needs a rule.

    A tensor parameter is annotated with a kind (`dovetail.kinds.Float`), or with `dovetail.Tensor` if it takes any
    tensor.  Other arguments are static, and annotated with their type (`int`, `float | None`, `Sequence[int]`).  The
    return annotation of an op with several results is `tuple[Tensor, ...]`.

    Args:
        name: the op's type in graphs, override maps and `tf.raw_ops`.
        infer: (`spec`s for tensors, lists of them for lists of tensors, static values as they are, in parameter order)
            → the spec of the result, or a tuple of them; None means an unknown dimension.
        rules: engine → its rule; `op.rule(engine)` can add more.  An engine with a rule for a composite uses the rule
            instead of the body.
        gradient: (operation, one gradient per result) → one gradient per tensor argument, written in ops; may also be
            set by `@op.gradient`, or by `RegisterGradient(name)`.  A composite without one is differentiated through
            its body.
        differentiable: False if gradients are zero, as for a comparison.

    Returns:
        The op, which is called like the function; `name=` names its operation in a graph.

    Raises:
        ValueError: there is an op of this name; or it is no name.
        TypeError: the decorated object is no function, or a parameter has no known type.
        UnknownEngine: there is no engine of a name.

    Source: `tf.load_op_library`; `torch.library.custom_op`.

    Example:
        >>> from dovetail import GradientTape, kinds, ops
        >>> @register_op("Snake", gradient=lambda op, g: g * (1 + ops.sin(2 * op.attr("frequency") * op.inputs[0])))
        ... def snake(x: kinds.Float, frequency: float = 1.0):
        ...     return x + ops.sin(frequency * x) ** 2 / frequency
        >>> x = ops.constant([0.0, 1.0])
        >>> with GradientTape() as tape:
        ...     tape.watch(x)
        ...     y = snake(x)
        >>> y.numpy().round(3), tape.gradient(y, x).numpy().round(3)
        (array([0.   , 1.708], dtype=float32), array([1.   , 1.909], dtype=float32))
        >>> unregister_op("Snake")
    """
    _check_name(name)
    given = dict(rules or {})

    def register(function: Callable[..., Any]) -> UserOp:
        if not inspect.isfunction(function):
            raise op_error(TypeError, "register_op", f"needs a function, made by def, not {describe(function)}.")
        checked = None if infer is None else _checked(name, infer)
        body = function if infer is None else None
        op = add_op(name, function, UserOp, body=body, infer=checked, differentiable=differentiable)
        try:
            op._check_rules(given)
            engine_registry.add_rules(name, given)
        except BaseException:
            unregister_op(name)
            raise
        if gradient is not None:
            op.gradient(gradient)
        return op

    return register


def unregister_op(name: str) -> None:
    """Remove a registered op from the table, with its rules; graphs that recorded the op can no longer run.

    Raises:
        LookupError: there is no such op, or it is one of Dovetail's own.
    """
    op = OPS.get(name) if isinstance(name, str) else None
    if not isinstance(op, UserOp):
        own = [known for known, op in OPS.items() if isinstance(op, UserOp)]
        problem = "it is one of Dovetail's own." if op is not None else f"no op of this name was registered: {own}."
        raise op_error(LookupError, "unregister_op", f"{name!r} cannot be taken out: {problem}")
    engine_registry.remove_rules(name)
    del OPS[name]


def _check_name(name: Any) -> None:
    if not isinstance(name, str) or not name.isidentifier():
        problem = f"the op's type must be a name of letters, digits and underscores, not {describe(name)}."
        raise op_error(ValueError, "register_op", problem)
    if name in OPS:
        known = OPS[name]
        own = f"; unregister_op({name!r}) takes it out" if known.is_users else ""
        problem = f"there is an op {name!r} already, {known.function_name}: choose another name{own}."
        raise op_error(ValueError, "register_op", problem)


def _checked(name: str, infer: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a type rule with a check of its results."""
    if not callable(infer):
        raise op_error(TypeError, "register_op", f"`infer` must be a function, not {describe(infer)}.")

    @functools.wraps(infer)
    def checked(*specs: Any) -> Any:
        inferred = infer(*specs)
        if not all(
            isinstance(spec, TensorSpec) for spec in (inferred if isinstance(inferred, (tuple, list)) else [inferred])
        ):
            problem = f"`infer` must return what dovetail.spec(shape, dtype) gives, not {describe(inferred)}."
            raise op_error(TypeError, name, problem)
        return inferred

    return checked
