"""The programs of steps, which the trainer calls with lists of batches, and the loop over all batches of an epoch."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from keras.src import tree

from dovetail import ops
from dovetail.core.engine_registry import AUTO, chooses_engine, current_engine
from dovetail.core.infer import size_of
from dovetail.core.spec import TensorSpec
from dovetail.plan.background import later
from dovetail.plan.choice import Choice
from dovetail.plan.function import Function, Options
from dovetail.plan.plan import Plan
from keras_dovetail.batches import Group, are_equal, given, groups
from keras_dovetail.grouping import BatchHooks, Pace
from keras_dovetail.tensors import convert_to_numpy, each_leaf, is_tensor

LARGEST = 2**26  # bytes of a tensor of batches that are computed as one

Step = Callable[[Any], Any]


class _Steps(Function[..., Any]):
    """Compiled steps: of batches of many sizes each is a program, which is no fault of who calls `fit`."""

    def _warn_of_retracing(self, key: Any) -> None:
        """Says nothing."""


class Program:
    """A step as a program, called with a list of batches or a group; equal ones run in a loop of the program.

    Args:
        step: of one batch.
        name: of the program.
        eagerly: whether it is called as it is.
        keeps_all: whether a call gives what all of its steps give, one after another; else it gives what the last does.
    """

    def __init__(self, step: Step, name: str, eagerly: bool, keeps_all: bool = False) -> None:
        self._eagerly = eagerly
        self._keeps_all = keeps_all
        stay = Options(stays=True)  # so an engine that computes in the background goes on while the next batch is made
        self._one: Step = step if eagerly else _Steps(step, name=name, options=stay)
        self._many: _Steps = _Steps(of_many(step, keeps_all, ops.map_fn), name=f"{name}s", options=stay)
        self._joined: _Steps = _Steps(of_many(step, keeps_all, ops.vectorized_map), name=f"{name}s", options=stay)
        self._last = self._one  # what was called
        self._paces: dict[str, Pace] = {}

    @property
    def pace(self) -> Pace:
        """That of the current engine."""
        return self._paces.setdefault(AUTO if chooses_engine() else current_engine().name, Pace(joins=self._joins))

    @property
    def _joins(self) -> bool:
        """Whether equal batches are computed as one, which rounds otherwise."""
        return self._keeps_all and chooses_engine()

    @property
    def may_group(self) -> bool:
        """Whether equal batches can run in a loop of the program."""
        return not self._eagerly

    @property
    def status(self) -> str:
        """What is being measured where the engine is chosen; "" if nothing is."""
        return self._last.status if isinstance(self._last, Function) else ""

    @property
    def is_chosen(self) -> bool:
        """Whether the engine of what was called last is chosen."""
        plans = self._last.plans if isinstance(self._last, Function) else []
        return any(getattr(plan, "is_settled", True) for plan in plans)

    @property
    def plans(self) -> list[Plan | Choice]:
        """What the calls so far ran; where the engine is chosen, `print` tells which one, and how long others took."""
        return [plan for step in self._compiled for plan in step.plans]

    @property
    def _compiled(self) -> list[Function[..., Any]]:
        return [step for step in (self._one, self._many, self._joined) if isinstance(step, Function)]

    def __call__(self, batches: list[Any] | Group) -> Any:
        if isinstance(batches, Group):
            self._last = self._joined if self._joins else self._many
            return self._last(batches.parts)
        if self.may_group and len(batches) > 1 and are_equal(batches):  # the user's own group
            self._last = self._many
            return self._last(Group.of(batches).parts)
        self._last = self._one
        found = [self._one(each_leaf(lambda v: given(v, self._eagerly), batch)) for batch in batches]
        if len(found) == 1 or not self._keeps_all:
            return found[-1]
        return tree.map_structure(lambda *parts: ops.concatenate(parts), *found)

    def prepare_group(self, batch: Any, pace: Pace) -> None:
        """Makes the program of a group of batches like this one, in the background; the pace is told once it is there.

        It is traced here, since the scopes of Keras and of Dovetail are this thread's.
        """
        if self._joins:
            pace.limit(self._room_for(batch))
            if pace.group < 2:
                return
        stacked = Group.of([batch] * pace.group).parts
        concrete, engine = (self._joined if self._joins else self._many).concrete(stacked), current_engine()
        arrays = concrete.natives([leaf for leaf in tree.flatten(stacked) if leaf is not None], engine)

        def make() -> None:
            concrete.plan_for(arrays, engine).prepare()
            pace.ready()

        later(make)

    def _room_for(self, batch: Any) -> int:
        """How many batches like this one may be computed as one, so that no tensor becomes too large."""
        assert isinstance(self._one, Function)  # else there are no groups
        graph = self._one.concrete(each_leaf(given, batch)).graph
        sizes = [_bytes(tensor.spec) for op in graph.operations if op.type != "Const" for tensor in op.outputs]
        return LARGEST // max(sizes, default=1)


def _bytes(spec: TensorSpec) -> int:
    return max(1, size_of(spec.shape) or 1) * spec.dtype.itemsize


def of_many(step: Step, keeps_all: bool, mapped: Callable[..., Any]) -> Step:
    """A step as a function of stacked batches; it gives what a call of `Program` does.

    Args:
        step: of one batch.
        keeps_all: as of `Program`.
        mapped: `map_fn`, for a loop in the program, or `vectorized_map`, for all batches at once.
    """

    def steps(stacked: Any) -> Any:
        parts = tree.flatten(stacked)
        given = [i for i, part in enumerate(parts) if part is not None]
        results: list[Any] = []  # of the step that is traced: its values that are no tensors are those of every step

        def body(slices: list[Any]) -> list[Any]:
            leaves = list(parts)
            for i, part in zip(given, slices, strict=True):
                leaves[i] = part
            results[:] = [step(tree.pack_sequence_as(stacked, leaves))]
            return [value for value in tree.flatten(results[0]) if is_tensor(value)]

        found = iter(mapped(body, [parts[i] for i in given]))

        def result(value: Any) -> Any:
            if not is_tensor(value):
                return value
            of_all = next(found)
            return ops.reshape(of_all, (-1, *of_all.shape[2:])) if keeps_all else of_all[-1]

        return tree.map_structure(result, results[0])

    return steps


def run_all(
    function: Any, batches: Iterable[Any], hooks: BatchHooks, is_stopped: Callable[[], bool], steps: int | None
) -> Iterator[Any]:
    """What each call gives, on all batches, in groups where nobody looks at single ones and that is faster."""
    may_group = isinstance(function, Program) and function.may_group and hooks.are_idle
    pace = function.pace if may_group else Pace(is_settled=True)
    pace.start(steps)
    for begin, end, data in groups(batches, pace):
        hooks.begin(begin)
        found = function(data)
        status = function.status if isinstance(function, Program) else ""
        counts = not (status or (pace.joins and not function.is_chosen))
        yield each_leaf(convert_to_numpy, found) if counts and pace.waits else found
        hooks.show(status)
        hooks.end(end, found)
        pace.done(len(data), counts)
        if len(data) == 1 and pace.asks():
            function.prepare_group(data[0], pace)
        if is_stopped():
            break
    hooks.finish()
