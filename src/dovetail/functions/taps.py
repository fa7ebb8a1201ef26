"""Taps: points of a program that are looked at while it runs: shapes, statistics, values and gradients.

A point is an operation `Tap`, which `tap` adds to a program and `graph.tap` to a graph, or an operation whose name fits
a pattern.  `Tap` is an identity, and nothing of it is left in a program at which no `taps` look.  Its gradient is a
`Tap`, too, so gradients arrive in the same way, also in loops and in backward programs.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dovetail import ops
from dovetail.core.base.errors import describe, did_you_mean, op_error
from dovetail.core.base.probe import Probe
from dovetail.core.base.scopes import enter, leave, scopes
from dovetail.core.tensor import Tensor
from dovetail.edit.graph import Graph, Operation
from dovetail.edit.taps import compiled
from dovetail.functions.statistics import Statistics
from dovetail.ops.control.plumbing import STRUCTURAL
from dovetail.passes.probe import SHAPE, STATISTICS, VALUE, add_points

if TYPE_CHECKING:
    from dovetail.functions.probed_plan import Run

GRADIENT, SUFFIX = "gradient", "/gradient"
KINDS = (SHAPE, STATISTICS, VALUE, GRADIENT)
KEPT = 1000  # records of a point
Points = Mapping[str, "str | Sequence[str]"]


@dataclass
class Seen:
    """The record of a point in one call.

    Attributes:
        name: the name of the point.
        shape, dtype: of the tensor.
        statistics: of its numbers; None if they are not floats, or were not wanted.
        value: the numbers as an array; None if they were not wanted.  Of a loop: of the last step of a `While`, of all
            steps of a `Scan`.
        gradient: the same for the gradient that arrived there; None if none did.
    """

    name: str
    shape: tuple[int | None, ...] | None
    dtype: str
    statistics: Statistics | None = None
    value: np.ndarray | None = None
    gradient: Seen | None = None

    def __str__(self) -> str:
        said = str(self.statistics) if self.statistics else f"{self.dtype}{list(self.shape or ())}"
        if self.gradient is not None and self.gradient.statistics is not None:
            said = f"{said}; gradient of norm {self.gradient.statistics.norm:.3g}"
        return f"{self.name}: {said}"


class Taps(Probe):
    """The points at which a block looks, and their records; made by `taps`.

    Args:
        points: pattern → the kinds that are wanted; see `taps`.
        function: the function that a call of the taps calls.
    """

    has_points = True

    def __init__(self, points: Points | None = None, function: Callable[..., Any] | None = None) -> None:
        self._points = tuple((pattern, _kinds(pattern, kinds)) for pattern, kinds in (points or {}).items())
        self._patterns = [(compiled(pattern), kinds) for pattern, kinds in self._points]
        self._function = function
        self._seen: dict[str, deque[Seen]] = {}

    def __eq__(self, other: object) -> bool:
        return type(other) is Taps and other._points == self._points

    def __hash__(self) -> int:
        return hash(self._points)

    # the block

    def __enter__(self) -> Taps:
        enter({"probes": (*(scopes().probes or ()), self)}, self._seen)
        return self

    def __exit__(self, kind: Any, *others: Any) -> None:
        leave(self._seen, kind)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function whose taps these are, and return its result."""
        if self._function is None:
            raise op_error(TypeError, "taps", "they belong to no function: write `with dt.taps(...) as seen:`.")
        with self:
            return self._function(*args, **kwargs)

    # records

    def __getitem__(self, name: str) -> Seen:
        """The latest record of a point.

        Raises:
            KeyError: nothing was seen at a point of this name.
        """
        if name not in self._seen:
            known = ", ".join(self._seen) or "none"
            problem = f"nothing was seen at {name!r}. {did_you_mean(name, self._seen)}There are: {known}."
            raise op_error(KeyError, "taps", problem)
        return self._seen[name][-1]

    def __iter__(self) -> Iterator[str]:
        return iter(self._seen)

    def __len__(self) -> int:
        return len(self._seen)

    def history(self, name: str) -> list[Seen]:
        """The records of a point, call by call; the last 1000 are kept."""
        self[name]
        return list(self._seen[name])

    def __str__(self) -> str:
        return "\n".join(str(records[-1]) for records in self._seen.values()) or "nothing was seen"

    def _keep(self, seen: Seen) -> None:
        """Add the record of a call; a gradient belongs to the latest record of its point."""
        base = seen.name.removesuffix(SUFFIX)
        records = self._seen.setdefault(base, deque(maxlen=KEPT))
        if base == seen.name:
            records.append(seen)
            return
        if not records or records[-1].gradient is not None:
            records.append(Seen(base, seen.shape, seen.dtype))
        records[-1].gradient = seen

    # the probe

    def see(self, op: Any, values: Sequence[Any], results: Sequence[Any]) -> None:
        """Look at an eager call: a `Tap`, or an op whose type fits a pattern."""
        label = values[1] if op.name == "Tap" else op.name
        wanted = self._wanted(label, is_tap=op.name == "Tap")
        for tensor in results[:1] if wanted else ():
            self._see(label, tensor, wanted)

    def see_gradients(self, node: Any, arriving: Sequence[Any], found: Sequence[Any]) -> None:
        """Look at the gradient that arrives at an eager `Tap`, or at an op whose type fits a pattern."""
        label = node.attr("label") if node.op.name == "Tap" else node.op.name
        wanted = self._wanted(label, is_tap=node.op.name == "Tap")
        if GRADIENT in wanted and arriving[0] is not None:
            self._see(f"{label}{SUFFIX}", arriving[0], wanted)

    def _see(self, label: str, tensor: Any, wanted: frozenset[str]) -> None:
        if type(tensor) is not Tensor or tensor._engine is tensor._engine.native:
            return
        seen, array = Seen(label, tensor.shape, str(tensor.dtype)), tensor.numpy()
        if STATISTICS in wanted and tensor.dtype.is_floating:
            seen.statistics = Statistics.of(array)
        if VALUE in wanted:
            seen.value = array
        self._keep(seen)

    def recorded(self, operation: Operation, results: Sequence[Any]) -> Sequence[Any]:
        """Put a `Tap` behind an operation whose gradient is wanted."""
        if operation.type == "Tap" or GRADIENT not in self._wanted(operation.name):
            return results
        first, *others = results
        if not first.dtype.is_differentiable:
            return results
        return [ops.tap(first, operation.name, name=f"{operation.name}/tap"), *others]

    def add(self, graph: Graph, ends: int) -> Sequence[Any]:
        """Add outputs for the points of a graph."""
        parts = graph.everywhere()
        tapped = {op.attrs["label"] for part in parts for op in part.of_types(("Tap",))}

        def wanted(operation: Operation, around: str) -> tuple[str, frozenset[str]] | None:
            if operation.type == "Tap":
                label = operation.attrs["label"]
                kinds = self._wanted(label.removesuffix(SUFFIX), is_tap=True)
                return (label, kinds) if GRADIENT in kinds or not label.endswith(SUFFIX) else None
            kinds = self._wanted(operation.name)
            if not kinds or operation.name in tapped or operation.type in STRUCTURAL:
                return None
            return (f"{around}/{operation.name}" if around else operation.name), kinds

        return [(point.label, point.kind, point.tensor.spec) for point in add_points(graph, wanted)]

    def saw(self, run: Run, notes: Sequence[Any], found: Sequence[Any]) -> None:
        """Add the records of a run."""
        seen: dict[str, Seen] = {}
        for (label, kind, spec), array in zip(notes, found, strict=True):
            numbers = np.array(run.engine.to_numpy(array))
            record = seen.setdefault(label, Seen(label, spec.shape, str(spec.dtype)))
            if kind == STATISTICS:
                record.statistics = Statistics.of_fields(repr(spec), numbers.tolist())
            elif kind == VALUE:
                record.value = numbers
            else:
                record.shape = tuple(numbers.tolist())
        for record in sorted(seen.values(), key=lambda record: record.name.endswith(SUFFIX)):
            self._keep(record)

    def _wanted(self, name: str, is_tap: bool = False) -> frozenset[str]:
        """The kinds that are wanted of an operation; of a `Tap` that fits no pattern, the default."""
        for pattern, kinds in self._patterns:
            if pattern.fullmatch(name):
                return kinds
        return frozenset((STATISTICS, GRADIENT)) if is_tap else frozenset()


def taps(*points: Points | str) -> Taps:
    """A block that looks at points of its programs; their results stay the same.

    Functions have plans of their own in the block, on the engine that they chose outside of it.  Eager calls are looked
    at, too; a pattern then fits the types of ops.

    Args:
        points: regular expressions, which fit whole names of operations or points, and give statistics there.  Or a
            dict: regular expression → the kinds that are wanted: "shape", "statistics", "value", "gradient", or a list
            of them.  A point that a program names by `tap` needs no pattern: it gives its statistics, and the
            statistics of its gradient.

    Returns:
        A context manager, and a mapping: `seen["name"]` is the latest record of a point.

    Raises:
        TypeError: an argument is neither a pattern nor a dict.
        ValueError: a pattern is no regular expression, or a kind is none of these.

    Source: `tfdbg`'s watch functions; `torch.nn.Module.register_forward_hook`.

    Example:
        >>> import dovetail as dt
        >>> @dt.function
        ... def f(x):
        ...     h = dt.tap(dt.ops.tanh(x), "hidden")
        ...     return dt.ops.sum(h * h)
        >>> with taps({"Mul": "value"}) as seen:
        ...     result = f(dt.ops.constant([0.0, 1.0]))
        >>> print(seen["hidden"])
        hidden: float32[2], from 0 to 0.7616
        >>> seen["Mul"].value.round(2)
        array([0.  , 0.58], dtype=float32)
    """
    return Taps(joined(points))


def joined(points: Iterable[Points | str]) -> Points:
    """The points that arguments of `taps` want, as one dict.

    Raises:
        TypeError: an argument is neither a pattern nor a dict.
    """
    patterns: dict[str, str | Sequence[str]] = {}
    for one in points:
        if not isinstance(one, (str, Mapping)):
            raise op_error(TypeError, "taps", f"{describe(one)} is no pattern, as 'dense.*', and no dict of patterns.")
        patterns |= {one: STATISTICS} if isinstance(one, str) else one
    return patterns


def tap(tensor: Any, name: str) -> Any:
    """A tensor, at a point of a program that `taps` looks at; without it, a program computes the same as before.

    Args:
        tensor: any tensor.
        name: the name of the point, such as "encoder/hidden".

    Raises:
        TypeError: the name is no str.
        ValueError: it is empty, or ends with "/gradient", which is the name of the gradient there.

    Example:
        >>> import dovetail as dt
        >>> with dt.taps() as seen:
        ...     y = tap(dt.ops.constant([1.0, 3.0]), "y")
        >>> seen["y"].statistics.mean
        2.0
    """
    if not isinstance(name, str):
        raise op_error(TypeError, "tap", f"the name of a point is a str, not {describe(name)}.")
    if not name or name.endswith(SUFFIX):
        raise op_error(ValueError, "tap", f"{name!r} is no name of a point: it is empty, or ends with {SUFFIX!r}.")
    return ops.tap(tensor, name, name=name)


def _kinds(pattern: str, kinds: Any) -> frozenset[str]:
    wanted = frozenset([kinds] if isinstance(kinds, str) else kinds)
    unknown = ", ".join(sorted(repr(kind) for kind in wanted.difference(KINDS)))
    if unknown:
        raise op_error(ValueError, "taps", f"{pattern!r} asks for {unknown}; it may ask for {', '.join(KINDS)}.")
    return wanted | {STATISTICS} if wanted & {GRADIENT, VALUE} else wanted
