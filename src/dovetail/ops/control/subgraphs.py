"""The ops that hold subgraphs: If, While and Scan.

Subgraphs are pure: the captures of a body and the variables it reads are inputs, the variables it assigns are outputs.
Users do not call these; `ops.control` adds them to graphs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

from dovetail.core.base.errors import op_error
from dovetail.core.calls.static_types import GraphLike
from dovetail.core.dtypes import promote
from dovetail.core.kinds import Bool, Eachs
from dovetail.core.op import primitive
from dovetail.core.tensor import Tensor
from dovetail.core.values.infer import any_rank
from dovetail.core.values.spec import TensorSpec
from dovetail.core.values.value_kinds import static_shape

Part = TypeVar("Part")


def join_specs(first: TensorSpec, second: TensorSpec, what: str) -> TensorSpec:
    """The spec of a value that has one spec or the other.

    Raises:
        ValueError: the ranks differ.
    """
    dtype = promote([first.dtype, second.dtype])
    if first.shape is None or second.shape is None:
        return TensorSpec(None, dtype)
    if len(first.shape) != len(second.shape):
        raise ValueError(f"{what} must have one rank, but it is {first!r} and {second!r}.")
    return TensorSpec(tuple(a if a == b else None for a, b in zip(first.shape, second.shape, strict=True)), dtype)


def settled_body(
    op: str, specs: list[TensorSpec], make: Callable[[list[TensorSpec]], tuple[Part, Iterable[TensorSpec]]]
) -> tuple[Part, list[TensorSpec]]:
    """The body of a loop and the specs of its carry, made again until dtypes and shapes stay as they are.

    Args:
        op: the name of the loop's op, for errors.
        specs: the specs of the first values.
        make: (specs of the carry) → the body, and the specs of its outputs, the carry first.

    Raises:
        ValueError: the rank of a value changes.
    """
    while True:
        body, returned = make(specs)
        try:
            joined = [join_specs(*pair, "what a loop carries") for pair in zip(specs, returned, strict=False)]
        except ValueError as error:
            raise op_error(ValueError, op, str(error)) from None
        if joined == specs:
            return body, specs
        specs = joined


def _spec_of_one(first: TensorSpec, second: TensorSpec) -> TensorSpec:
    """The spec of a result of one of two branches; its rank is not known if theirs differ."""
    if first.shape is None or second.shape is None or len(first.shape) == len(second.shape):
        return join_specs(first, second, "a result of both branches")
    return TensorSpec(None, promote([first.dtype, second.dtype]))


@any_rank
def _if_spec(condition: TensorSpec, inputs: Any, then_branch: Any, else_branch: Any) -> list[TensorSpec]:
    pairs = [(a.spec, b.spec) for a, b in zip(then_branch.outputs, else_branch.outputs, strict=True)]
    return [_spec_of_one(*pair) for pair in pairs]


@primitive("If", cost="move", infer=_if_spec, fills_gradients=False)
def if_op(condition: Bool, inputs: Eachs, then_branch: GraphLike, else_branch: GraphLike) -> tuple[Tensor, ...]:
    """One of two subgraphs of the same inputs and outputs; see `cond`.

    Source: `tf.raw_ops.If`.
    """


def carried_specs(body: Any, init: Sequence[TensorSpec]) -> list[TensorSpec]:
    """The specs of the carry of a loop: the body's first inputs, which its first outputs and `init` must fit."""
    specs = [t.spec for t in body.inputs[: len(init)]]
    for spec, first, after in zip(specs, init, body.outputs, strict=False):
        for other in (first, after.spec):
            if other.dtype != spec.dtype or not _fits(other.shape, spec.shape):
                raise ValueError(
                    f"what a loop carries must keep its dtype and shape, but {spec!r} becomes {other!r}; start with a "
                    "value of the final shape, or pad or slice in the body."
                )
    return specs


def _fits(shape: Any, wider: Any) -> bool:
    if shape is None or wider is None:
        return True
    return len(shape) == len(wider) and all(a == b or None in (a, b) for a, b in zip(shape, wider, strict=True))


@any_rank
def _while_spec(init: Any, constants: Any, condition: Any, body: Any, maximum_iterations: Any) -> list[TensorSpec]:
    return carried_specs(body, init)


@primitive("While", cost="move", infer=_while_spec, fills_gradients=False)
def while_op(
    init: Eachs, constants: Eachs, condition: GraphLike, body: GraphLike, maximum_iterations: int | None = None
) -> tuple[Tensor, ...]:
    """The state after a subgraph is applied to `init` while another subgraph gives true; see `while_loop`.

    Source: `tf.raw_ops.While`.
    """


@any_rank
def _scan_spec(init: Any, xs: Any, constants: Any, body: Any, length: Any, reverse: Any) -> list[TensorSpec]:
    steps = scan_length(xs, length)
    carried = carried_specs(body, init)
    stacked = [t.spec for t in body.outputs[len(init) :]]
    return [*carried, *(TensorSpec(None if y.shape is None else (steps, *y.shape), y.dtype) for y in stacked)]


def scan_length(xs: Sequence[Any], length: int | None) -> int | None:
    """The number of steps of a scan over the first axis of `xs`; None if it is not known yet.

    Raises:
        ValueError: there is no first axis, or there are several lengths, or none.
    """
    if not xs and length is None:
        raise ValueError("without xs, the length must be given.")
    shapes = list(map(static_shape, xs))
    if () in shapes:
        raise ValueError("a scalar cannot be scanned: each of the xs needs a first axis, along which it is sliced.")
    lengths = sorted({int(n) for n in (length, *(shape[0] for shape in shapes if shape is not None)) if n is not None})
    if len(lengths) > 1:
        raise ValueError(f"the xs and `length` must agree on the number of steps, but it is {lengths}.")
    return lengths[0] if lengths else None


@primitive("Scan", cost="move", infer=_scan_spec, fills_gradients=False)
def scan_op(
    init: Eachs, xs: Eachs, constants: Eachs, body: GraphLike, length: int | None = None, reverse: bool = False
) -> tuple[Tensor, ...]:
    """The last carry, and the stacked results, of a subgraph applied to slices of `xs`; see `scan`.

    Source: `jax.lax.scan`.
    """


def _calls_of_if(condition: Any, inputs: Any, then_branch: Any, else_branch: Any) -> Iterator[Any]:
    yield "then_branch", (), inputs
    yield "else_branch", (), inputs


def _calls_of_while(init: Any, constants: Any, condition: Any, body: Any, maximum_iterations: Any) -> Iterator[Any]:
    yield "body", init, constants
    yield "condition", (), (*(t.spec for t in body.inputs[: len(init)]), *constants)


def _calls_of_scan(init: Any, xs: Any, constants: Any, body: Any, length: Any, reverse: Any) -> Iterator[Any]:
    slices = [TensorSpec(x.shape and x.shape[1:], x.dtype) for x in xs]
    yield "body", init, (*slices, *constants)


# op name → (its arguments) → for each subgraph: its parameter, the first values of the carry, and its other inputs.
# The carry goes from its first outputs to its first inputs.  The other inputs are tensors if they are the same in each
# step, else specs.
SUBGRAPH_CALLS: dict[str, Callable[..., Iterator[tuple[str, Sequence[Any], Sequence[Any]]]]] = {
    "If": _calls_of_if,
    "While": _calls_of_while,
    "Scan": _calls_of_scan,
}
