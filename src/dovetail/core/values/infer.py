"""Type rules: functions from the specs of an op's arguments to the spec of its result, with unknown dimensions as None.

A rule gets a `TensorSpec` for each tensor, a list of them for a list of tensors, and static values as they are;
dtypes are promoted already.  It sees only known ranks: if one is unknown, `of_any_rank` calls the rule for each rank.
A rule raises ValueError, TypeError or IndexError with the requirement.  The caller adds the op, the arguments and the
user's line.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

from dovetail.core.base.errors import CONVENTIONAL
from dovetail.core.dtypes import ALL, DType
from dovetail.core.values.shapes import broadcast, fits, normalize_axes, reduced_shape, shape_of_nothing, size_of
from dovetail.core.values.spec import RankedSpec, Shape, TensorSpec

Dims = tuple[int | None, ...]
Rule = TypeVar("Rule", bound=Callable[..., Any])


def any_rank(rule: Rule) -> Rule:
    """Decorator that marks a type rule that takes specs of unknown rank itself."""
    rule.any_rank = True  # type: ignore[attr-defined]
    return rule


def ranked(spec: TensorSpec, rank: int) -> RankedSpec:
    """The spec, with this rank if its own is unknown."""
    return RankedSpec((None,) * rank if spec.shape is None else spec.shape, spec.dtype)


@any_rank
def elementwise(*specs: Any, dtype: DType | None = None) -> TensorSpec:
    """Broadcast all tensors, and keep the dtype that they were promoted to."""
    tensors = [s for s in specs if isinstance(s, TensorSpec)]
    return TensorSpec(broadcast(*[t.shape for t in tensors]), dtype or tensors[-1].dtype)


elementwise.elementwise = True  # type: ignore[attr-defined]


def elementwise_as(dtype: str) -> Callable[..., TensorSpec]:
    """Make a rule that broadcasts all tensors and gives a fixed dtype, as comparisons give bool."""

    @any_rank
    def rule(*specs: Any) -> TensorSpec:
        return elementwise(*specs, dtype=ALL[dtype])

    rule.elementwise = True  # type: ignore[attr-defined]
    return rule


@any_rank
def same(x: TensorSpec, *static: Any) -> TensorSpec:
    """The spec of the first argument."""
    return x


def along(x: Any, axis: Any = None, *static: Any) -> TensorSpec:
    """Keep shape and dtype along `axis`, one or several (None: all axes)."""
    normalize_axes(axis, len(x.shape))
    return x


def reduction_as(dtype: str | None) -> Callable[..., TensorSpec]:
    """Make a rule that reduces over `axis` (None: all axes) to a fixed dtype, or to the tensor's own."""

    @any_rank
    def rule(x: TensorSpec, axis: Any = None, keepdims: bool = False) -> TensorSpec:
        return TensorSpec(reduced_shape(x.shape, axis, keepdims), x.dtype if dtype is None else ALL[dtype])

    return rule


reduction = reduction_as(None)


def matmul(x: RankedSpec, y: RankedSpec, transpose_a: bool = False, transpose_b: bool = False) -> RankedSpec:
    """Matrix product of the last two axes; the others broadcast."""
    if len(x.shape) < 2 or len(y.shape) < 2:
        raise ValueError("both must have rank 2 or more; for vectors use dot, or expand_dims first.")
    rows, inner = x.shape[:-3:-1] if transpose_a else x.shape[-2:]
    other, columns = y.shape[:-3:-1] if transpose_b else y.shape[-2:]
    if inner is not None and other is not None and inner != other:
        raise ValueError(f"the inner dimensions must be equal, but they are {inner} and {other}.")
    batch = broadcast(x.shape[:-2], y.shape[:-2])
    return RankedSpec((*batch, rows, columns), x.dtype)  # type: ignore[misc]


def require_shape(x: TensorSpec, shape: Shape) -> None:
    """Raise ValueError if a tensor cannot have this shape; unknown dimensions fit any."""
    if not fits(x.shape, shape):
        raise ValueError(f"the shape must be {shape}, but it is {x.shape}.")


def reshape(x: TensorSpec, shape: Any) -> TensorSpec:
    """Give a tensor a new shape of as many elements; one dimension may be -1."""
    if shape.count(-1) > 1:
        raise ValueError(f"only one dimension can be -1, but the new shape is {shape}.")
    if any(dim is not None and dim < -1 for dim in shape):
        raise ValueError(f"the dimensions of a shape must be -1, 0 or more, but the new shape is {shape}.")
    size = size_of(x.shape)
    known = size_of(tuple(dim for dim in shape if dim != -1))
    if size is None or known is None:
        return TensorSpec(tuple(None if dim == -1 else dim for dim in shape), x.dtype)
    if -1 in shape:
        if size == 0:
            shape = shape_of_nothing(x.shape, shape)
        elif known == 0 or size % known:
            raise ValueError(f"{size} elements do not fill the shape {shape}.")
        else:
            shape = tuple(size // known if dim == -1 else dim for dim in shape)
    elif known != size:
        raise ValueError(f"{size} elements do not fill the shape {shape}, which holds {known}.")
    return TensorSpec(tuple(shape), x.dtype)


@any_rank
def cast(x: TensorSpec, dtype: DType) -> TensorSpec:
    return TensorSpec(x.shape, dtype)


# -- unknown ranks ----------------------------------------------------------------------------------------------------

RANKS = range(9)  # ranks to try for a tensor of unknown rank, and lengths to try for a shape of unknown length

MOST = 1000  # the most sets of ranks to try


def of_any_rank(rule: Callable[..., Any], values: Sequence[Any], ints: Sequence[int] = ()) -> Any:
    """The result of a type rule for arguments of unknown rank: the common part of its results for all ranks.

    Args:
        rule: (specs and static values) → a spec, or several.
        values: its arguments.
        ints: the positions of shapes among them; a shape of unknown length is None.

    Raises:
        ValueError, TypeError, IndexError: the arguments do not fit each other, whatever the ranks are.

    Example:
        >>> unknown, matrix = (TensorSpec(shape, ALL["float32"]) for shape in (None, (None, 4)))
        >>> of_any_rank(elementwise, [unknown, matrix]), of_any_rank(reshape, [unknown, (2, -1)])
        (float32[...], float32[2,?])
    """
    unknown = [] if hasattr(rule, "any_rank") else _unknown_places(values, ints)
    if not unknown:
        return rule(*values)
    common, problems = None, list[Exception]()
    for ranks in _assignments(len(unknown)):
        try:
            result = rule(*_with_ranks(values, dict(zip(unknown, ranks, strict=True))))
        except CONVENTIONAL as error:
            problems.append(error)
            continue
        common = result if common is None else _common(common, result)
        specs = _specs(common)
        if specs and all(spec.shape is None for spec in specs):
            break
    if common is None:
        raise most_telling(problems)
    return common


def _unknown_places(values: Sequence[Any], ints: Sequence[int]) -> list[tuple[int, int | None]]:
    """The arguments of unknown rank or length, as (position, place in a list of tensors or None)."""
    places: list[tuple[int, int | None]] = [(i, None) for i in ints if values[i] is None]
    for i, value in enumerate(values):
        if isinstance(value, TensorSpec):
            places += [(i, None)] * (value.shape is None)
        elif isinstance(value, (list, tuple)):
            places += [(i, k) for k, v in enumerate(value) if isinstance(v, TensorSpec) and v.shape is None]
    return places


def _assignments(count: int) -> Iterator[tuple[int, ...]]:
    """Yield ranks for `count` tensors: all pairs for two of them; for more, sets in which all but one are alike."""
    if count <= 2:
        yield from itertools.product(RANKS, repeat=count)
        return
    for most in RANKS:
        yield (most,) * count
        for which, other in itertools.product(range(count), RANKS):
            if other != most:
                yield (*(most,) * which, other, *(most,) * (count - which - 1))


def specs_of_each_rank(
    specs: Sequence[TensorSpec], takes: Callable[[list[TensorSpec]], bool] = lambda specs: True
) -> Iterator[list[TensorSpec]]:
    """Yield the specs with each set of ranks that unknown ones may have.

    Args:
        specs: some may be of unknown rank.
        takes: (specs) → whether the ranks are possible together, also if the ranks of other specs are unknown.
    """
    unknown = _unknown_places(specs, ())
    ranks = [[rank for rank in RANKS if takes(_with_ranks(specs, {place: rank}))] for place in unknown]
    each: Iterable[tuple[int, ...]] = itertools.product(*ranks)
    if math.prod(map(len, ranks)) > MOST:
        each = (a for a in _assignments(len(unknown)) if all(n in of for n, of in zip(a, ranks, strict=True)))
    for ranks_of_each in each:
        yield _with_ranks(specs, dict(zip(unknown, ranks_of_each, strict=True)))


def _with_ranks(values: Sequence[Any], ranks: dict[tuple[int, int | None], int]) -> list[Any]:
    specs: list[Any] = [list(v) if isinstance(v, (list, tuple)) and any((i, k) in ranks for k in range(len(v))) else v
             for i, v in enumerate(values)]  # fmt: skip
    for (i, k), rank in ranks.items():
        if k is not None:
            specs[i][k] = TensorSpec((None,) * rank, specs[i][k].dtype)
        else:
            specs[i] = TensorSpec((None,) * rank, specs[i].dtype) if specs[i] is not None else (None,) * rank
    return specs


def _specs(result: Any) -> Sequence[TensorSpec]:
    return result if isinstance(result, (list, tuple)) else [result]


def _common(first: Any, second: Any) -> Any:
    """The common part of two results of a type rule."""
    if isinstance(first, TensorSpec):
        return TensorSpec(_common_shape(first.shape, second.shape), first.dtype)
    if len(first) != len(second):
        raise ValueError("the number of results depends on an unknown rank; give the rank with set_shape.")
    return [_common(a, b) for a, b in zip(first, second, strict=True)]


def _common_shape(a: Shape, b: Shape) -> Shape:
    if a is None or b is None or len(a) != len(b):
        return None
    return tuple(m if m == n else None for m, n in zip(a, b, strict=True))


def most_telling(problems: Sequence[Exception]) -> Exception:
    """The clearest of the problems of all ranks: one that is not about ranks, and that the fewest ranks have."""
    texts = [str(problem).partition("Given: ")[0] for problem in problems]
    kinds = ["".join(filter(str.isalpha, text.replace("None", ""))) for text in texts]
    order = reversed(range(len(problems)))
    return problems[min(order, key=lambda i: ("rank" in texts[i], kinds.count(kinds[i])))]


# Ops of integers that NumPy computes in floats with NaN for unknown numbers: arithmetic carries NaN along.
CARRIES_NAN = frozenset((
    "AddV2", "Sub", "Mul", "Neg", "FloorDiv", "FloorMod", "Maximum", "Minimum", "Square", "Identity", "Cast", "Sum",
    "Prod", "Max", "Min", "Cumsum", "Cumprod", "Pack", "ConcatV2", "StridedSlice", "GatherV2", "ReverseV2", "Reshape",
    "ExpandDims", "Squeeze",
))  # fmt: skip
