"""Control flow: branches and loops that work eagerly, in graphs, and on engines' own values.

The functions here take Python callables and nested structures of tensors.  On eager values Python runs them, so a tape
records the ops inside.  While a graph is built, they are traced to subgraphs, which one of the three ops If, While and
Scan holds.  On an engine's own values the engine's control flow runs them (`lax` for jax).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any

from dovetail.core.base.domains import at_least
from dovetail.core.base.errors import describe, op_error
from dovetail.core.base.hooks import hooks
from dovetail.core.base.scopes import scopes
from dovetail.core.calls.check_arguments import checked
from dovetail.core.dtypes import native_to_dtype
from dovetail.core.engines.control_flow import Control, HostControl, Values
from dovetail.core.values import arguments
from dovetail.core.values.structure import Structure, alike, flatten, show, unflatten
from dovetail.core.values.value_kinds import (
    dtype_of,
    highest,
    is_recorded,
    kind_of,
    owned,
    require_numbers,
    static_shape,
    unwrapped,
)
from dovetail.ops.control.subgraphs import scan_length
from dovetail.ops.math.bitwise import logical_and
from dovetail.ops.math.compare import where
from dovetail.ops.shapes.create import zeros
from dovetail.ops.shapes.join import stack, unstack
from dovetail.ops.shapes.shape import cast, convert, dims_of, reshape, shaped

# -- which control flow runs ------------------------------------------------------------------------------------------


class EagerControl(HostControl):
    """Python's control flow on eager Tensors."""

    def __init__(self) -> None:
        super().__init__(unstack, stack, self._stack_zeros)

    def _stack_zeros(self, body: Any, init: Values, xs: Values) -> Values:
        return [_nothing(spec, native) for spec, native in hooks.stacked_specs(body, init, xs)]


def _nothing(spec: Any, native: Any) -> Any:
    """A stack of no values of a spec; an engine's own value if `native` is one."""
    nothing = zeros([0, *(dim or 0 for dim in spec.shape or ())], spec.dtype)
    engine = None if native is None else kind_of(native).autodiff(native)
    if engine is None:
        return nothing
    if spec.shape is None or None in spec.shape:
        problem = f"without steps, the shape of what is stacked must be known, but it is {spec!r}; "
        raise op_error(ValueError, "Scan", f"{problem}give init or xs as {engine.name} values.")
    return _native(nothing, engine)


EAGER_CONTROL = EagerControl()


def _leave(result: Any) -> Any:
    """A result of eager control flow for its user; the hook `array_result`, if set, converts it."""
    result = owned(result)
    return result if hooks.array_result is None else hooks.array_result(result)


@dataclass
class _Flow:
    """The control flow for some values.

    Attributes:
        op: the name for messages.
        control: the control flow that runs.
        prepare: value → the value as the control flow takes it.
        own: value → a value that a user may write to, as an argument of a callable or as a result.
    """

    op: str
    control: Control
    prepare: Callable[[Any], Any]
    own: Callable[[Any], Any] = _leave

    def leaves(self, result: Any, structure: Structure, what: str) -> list[Any]:
        """The leaves of a callable's result, ready for the control flow.

        Raises:
            TypeError: the result has another structure.
        """
        leaves, form = flatten(result)
        if not alike(form, structure):
            problem = f"{what} must have one structure, but it is {show(structure)} and {show(form)}."
            raise op_error(TypeError, self.op, problem)
        return [self.prepare(leaf) for leaf in leaves]


def _flow(op: str, leaves: Values) -> _Flow:
    kind, value = highest(map(unwrapped, leaves))
    if scopes().graphs and not kind.is_symbolic:
        kind = hooks.graph_kind
    control, engine = kind.control(value), kind.autodiff(value)
    if control is None:
        return _Flow(op, EAGER_CONTROL, _computed)
    if engine is None:
        return _Flow(op, control, _recorded)
    return _Flow(op, control, partial(_native, engine=engine), owned)


def _computed(value: Any) -> Any:
    """A value for use with Tensors; an engine's own value stays one, so that its library follows it."""
    value = unwrapped(value)
    return convert(value) if kind_of(value).autodiff(value) is None else value


def _recorded(value: Any) -> Any:
    """A value for use with recorded values."""
    value = unwrapped(value)
    require_numbers(value)
    return value


def _native(value: Any, engine: Any) -> Any:
    """A value for use with an engine's own values; Python numbers stay weakly typed."""
    if unwrapped(value) is not value:
        value = owned(value)
    if isinstance(value, (bool, int, float, complex)) or kind_of(value).autodiff(value) is not None:
        return value
    return arguments.as_tensor(value, native_to_dtype(dtype_of(value)), engine.native).value


def check_functions(op: str, **functions: Any) -> None:
    for name, function in functions.items():
        if not callable(function):
            raise op_error(TypeError, op, f"{name} must be a function, not {function!r}.")


# -- branches ---------------------------------------------------------------------------------------------------------


@checked
def cond(condition: Any, true_fn: Callable[[], Any], false_fn: Callable[[], Any]) -> Any:
    """The result of one of two functions.

    Args:
        condition: a scalar.  If its value is known now, only the chosen function is called.
        true_fn, false_fn: functions without arguments.  In a graph both are traced, and must return the same
            structure; dtypes are promoted, and dimensions that differ are unknown.

    Returns:
        The result of the chosen function.

    Raises:
        TypeError: a function is not callable, or their results have different structures.
        ValueError: the condition is not a scalar.

    Source: `tf.cond`.

    Example:
        >>> x = convert(3.)
        >>> cond(x > 2, lambda: x * 2, lambda: x).numpy()
        array(6., dtype=float32)
    """
    check_functions("If", true_fn=true_fn, false_fn=false_fn)
    condition = _scalar("If", condition)
    if kind_of(condition).is_computed and not is_recorded(condition):
        return true_fn() if condition else false_fn()
    if kind_of(condition).autodiff(condition) is not None:
        condition = cast(condition, "bool")
    flow = _flow("If", [condition])
    structures: list[Structure] = []

    def leaves(result: Any) -> list[Any]:
        structures.append(flatten(result)[1])
        return flow.leaves(result, structures[0], "what both functions return")

    results = flow.control.cond(flow.prepare(condition), lambda: leaves(true_fn()), lambda: leaves(false_fn()))
    return unflatten(structures[0], list(map(flow.own, results)))


def _scalar(op: str, condition: Any) -> Any:
    require_numbers(condition)
    if static_shape(condition):
        raise op_error(ValueError, op, "the condition must be a scalar; reduce it with `all` or `any` first.")
    return unwrapped(condition)


@checked
def switch(condition: Any, then_expression: Any, else_expression: Any) -> Any:
    """One of two values, by a scalar condition, or elementwise.

    Args:
        condition: if it is a scalar or of shape (1,), only the chosen one of two functions is called.  Otherwise it has
            at most the rank of the first expression (of the second, if the first is a scalar).  From rank 2 on it gets
            trailing axes, up to that rank, so that it picks whole slices.
        then_expression, else_expression: tensors, or functions that return them.

    Raises:
        ValueError: the rank of the condition is larger than the rank of the expressions, or not known.

    Source: `keras.backend.switch`.

    Example:
        >>> switch([[True], [False]], convert([[1., 2.], [3., 4.]]), 0.).numpy()
        array([[1., 2.],
               [0., 0.]], dtype=float32)
    """
    condition = shaped(condition)
    shape = static_shape(condition)
    expressions = then_expression, else_expression
    functions = [value if callable(value) else partial(_value, value) for value in expressions]
    if shape == ():
        return cond(condition, *functions)
    if shape == (1,) and any(map(callable, expressions)):
        return cond(reshape(condition, ()), *functions)
    then_value, else_value = (function() for function in functions)
    if shape == (1,):
        return where(reshape(condition, ()), then_value, else_value)
    shapes = [static_shape(value) for value in (then_value, else_value)]
    if shape is None or (len(shape) > 1 and None in shapes):
        problem = "the ranks of the condition and of the expressions must be known; reshape what has no known rank."
        raise op_error(ValueError, "Switch", problem)
    ranks = [len(shape) if known is None else len(known) for known in shapes]
    first = ranks[0] or ranks[1]
    if len(shape) > first:
        problem = f"the condition's rank {len(shape)} is larger than the rank {first} of the expressions."
        raise op_error(ValueError, "Switch", problem)
    if len(shape) > 1:
        condition = reshape(condition, [*dims_of(condition), *[1] * (first - len(shape))])
    return where(condition, then_value, else_value)


def _value(expression: Any) -> Any:
    """An expression as a tensor; an engine's own value stays one."""
    expression = unwrapped(expression)
    return owned(expression) if kind_of(expression).autodiff(expression) is not None else convert(expression)


@checked
def switch_case(index: Any, branches: Sequence[Callable[[], Any]]) -> Any:
    """The result of one of several functions.

    Args:
        index: an integer scalar; one out of range picks the first or the last.
        branches: functions without arguments, as for `cond`.

    Source: `jax.lax.switch`.

    Example:
        >>> switch_case(1, [lambda: 10, lambda: 20])
        20
    """
    check_functions("If", **{f"branches[{i}]": branch for i, branch in enumerate(branches)})
    if not branches:
        raise op_error(ValueError, "If", "there must be at least one branch.")
    if len(branches) == 1:
        return branches[0]()
    middle = len(branches) // 2
    return cond(
        index < middle,
        lambda: switch_case(index, branches[:middle]),
        lambda: switch_case(index - middle, branches[middle:]),
    )


# -- loops ------------------------------------------------------------------------------------------------------------


@checked
def while_loop(
    condition: Callable[..., Any],
    body: Callable[..., Any],
    loop_vars: Any,
    maximum_iterations: Annotated[Any, at_least(0)] = None,
) -> Any:
    """Apply a function to variables of a loop while a condition holds.

    In a graph, the gradient of a loop with `maximum_iterations` keeps the states of that many iterations.  Without it,
    jax computes each state again from the start, in time quadratic in the number of iterations.

    Args:
        condition: (*loop_vars) → whether to go on, a scalar.
        body: (*loop_vars) → the next `loop_vars`, of the same structure, dtypes and ranks.
        loop_vars: a tuple or list of tensors or nested structures of them; or one value of another type.
        maximum_iterations: stop after that many iterations anyway; a scalar tensor may not be known yet.

    Returns:
        The last `loop_vars`.

    Raises:
        TypeError: the body returns another structure.
        ValueError: the condition or the limit is not a scalar, or a variable changes its rank.

    Source: `tf.while_loop`.

    Example:
        >>> while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x * 2), (0, 1.))[1].numpy()
        array(8., dtype=float32)
    """
    check_functions("While", condition=condition, body=body)
    several = type(loop_vars) in (tuple, list)
    leaves, structure = flatten(loop_vars if several else (loop_vars,))
    limit = _known_limit(maximum_iterations)
    is_counted = limit is None and maximum_iterations is not None
    flow = _flow("While", [*leaves, maximum_iterations] if is_counted else leaves)

    def goes_on(*values: Any) -> Any:
        return flow.prepare(_scalar("While", condition(*unflatten(structure, values))))

    def next_state(*values: Any) -> list[Any]:
        result = body(*unflatten(structure, values))
        several_returned = type(result) in (tuple, list) and (several or len(result) == 1)
        return flow.leaves(result if several_returned else (result,), structure, "`loop_vars`")

    state = [flow.own(flow.prepare(leaf)) for leaf in leaves]
    if is_counted:
        left = flow.own(flow.prepare(maximum_iterations))
        last = flow.control.while_loop(
            lambda left, *values: flow.prepare(logical_and(left > 0, goes_on(*values))),
            lambda left, *values: [flow.prepare(left - 1), *next_state(*values)],
            [left, *state],
            None,
        )[1:]
    else:
        last = flow.control.while_loop(goes_on, next_state, state, limit)
    result = unflatten(structure, list(map(flow.own, last)))
    return result if several else result[0]


def _known_limit(value: Any) -> int | None:
    """The most iterations of a loop; None if there is no limit, or its value is not known yet."""
    if value is None:
        return None
    require_numbers(value)
    if static_shape(value):
        raise op_error(ValueError, "While", f"maximum_iterations must be a scalar, not of shape {static_shape(value)}.")
    value = unwrapped(value)
    if not native_to_dtype(dtype_of(value)).is_integer:
        raise op_error(TypeError, "While", f"maximum_iterations must be a whole number, not {describe(value)}.")
    number = kind_of(value).known(value)
    return None if number is None else int(number)


@checked
def scan(
    f: Callable[[Any, Any], Any], init: Any, xs: Any = None, length: int | None = None, reverse: bool = False
) -> tuple[Any, Any]:
    """Carry a value through the slices of tensors, and stack the results of the steps.

    Args:
        f: (carry, slices) → (next carry, y): the carry keeps its structure, dtypes and ranks.
        init: the first carry, a structure of tensors.
        xs: a structure of tensors with the same first dimension, which are sliced along it; None for none.
        length: the number of steps, if there are no xs.
        reverse: whether to go from the last slice to the first; ys are stacked in the order of xs in either case.

    Returns:
        The last carry, and the ys, each stacked along a new first axis.

    Raises:
        TypeError: `f` returns no pair, or a carry of another structure.
        ValueError: the xs have no first axis, or different lengths.

    Source: `jax.lax.scan`.

    Example:
        >>> total, sums = scan(lambda carry, x: (carry + x, carry + x), 0., convert([1., 2., 3.]))
        >>> sums.numpy()
        array([1., 3., 6.], dtype=float32)
    """
    check_functions("Scan", f=f)
    carry, carry_structure = flatten(init)
    slices, xs_structure = flatten(xs)
    flow = _flow("Scan", [*carry, *slices])
    carry = [flow.own(flow.prepare(leaf)) for leaf in carry]
    slices = [shaped(flow.prepare(leaf)) for leaf in slices]
    ys_structure: Structure = None

    def step(carried: Values, sliced: Values) -> tuple[list[Any], list[Any]]:
        nonlocal ys_structure
        result = f(unflatten(carry_structure, carried), unflatten(xs_structure, list(map(flow.own, sliced))))
        if type(result) not in (tuple, list) or len(result) != 2:
            raise op_error(TypeError, "Scan", f"f must return a pair (carry, y), not {result!r}.")
        ys, ys_structure = flatten(result[1])
        return flow.leaves(result[0], carry_structure, "the carry"), [flow.prepare(y) for y in ys]

    try:
        length = scan_length(slices, length)
    except ValueError as error:
        raise op_error(ValueError, "Scan", str(error)) from None
    last, stacked = flow.control.scan(step, carry, slices, length, reverse)
    last, stacked = list(map(flow.own, last)), list(map(_leave, stacked))
    return unflatten(carry_structure, last), unflatten(ys_structure, stacked)
