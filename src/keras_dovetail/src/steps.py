"""The programs of steps, which the trainer calls with lists of batches, and the loop over all batches of an epoch."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property, partial
from typing import Any, cast

from dovetail import ops
from dovetail.choose.measured_plan import MeasuredPlan
from dovetail.choose.measurer import Measurer
from dovetail.core.base.scopes import scopes
from dovetail.core.engines.collectives import WORLD
from dovetail.core.engines.engine_registry import chooses_engine, compiling_engine
from dovetail.core.values.shapes import size_of
from dovetail.core.values.spec import TensorSpec
from dovetail.execute.plan_base import Runnable
from dovetail.functions.function import Function, Options
from dovetail.interop.privates import tree
from dovetail.observe import profile
from keras_dovetail.src.batch_hooks import BatchHooks
from keras_dovetail.src.batches import Group, are_equal, given, groups
from keras_dovetail.src.tensors import each_leaf, is_tensor

LARGEST = 2**26  # bytes of a tensor of batches that are computed as one
SIZE = 32  # steps of a group

Step = Callable[[Any], Any]
logger = logging.getLogger("dovetail.plan")


class _Steps(Function[..., Any]):
    """Compiled steps: each size of batch has its program, and many sizes are no mistake of the caller of `fit`."""

    def _warn_of_retracing(self, key: Any) -> None:
        """Give no warning."""


class Program:
    """A step as a program, called with a list of batches or a group; equal batches run in a loop of the program.

    Args:
        step: the step of one batch.
        name: the name of the program.
        eagerly: whether the step is called uncompiled.
        keeps_all: whether a call returns the results of all its steps, one after another; else of the last step.
        ended: the step as an epoch by itself, if several ranks compute it.
        of: the model's name, which `dovetail plan list` shows.
    """

    def __init__(
        self, step: Step, name: str, eagerly: bool, keeps_all: bool = False, ended: Step | None = None, of: str = ""
    ) -> None:
        self._ended, self._of = ended, of
        self._name, self._eagerly = name, eagerly
        self._keeps_all = keeps_all
        # Results stay, so an engine that computes in the background goes on while the next batch is made.
        named = f" of {of}" if of else ""
        measured, alone = Options(stays=True, in_groups=True), Options(stays=True)
        self._one: Step = step if eagerly else _Steps(step, name=f"{name}{named}", options=measured)
        self._many: _Steps = _Steps(of_many(step, keeps_all, ops.map_fn), name=f"{name}s{named}", options=measured)
        self._joined: _Steps = _Steps(
            of_many(step, keeps_all, ops.vectorized_map), name=f"{name}s{named}", options=alone
        )
        self._last = self._one  # the last step that was called
        self._measurer: Measurer | None = None  # of the step that runs in groups in this epoch
        self._in_groups = False
        self._steps = 0  # steps to come
        self._largest = SIZE  # steps of a group

    @property
    def is_shared(self) -> bool:
        """Whether it takes a rank's part of a batch, with its `Share`."""
        return self._ended is not None

    @cached_property
    def ended(self) -> Program:
        """The program of the step as an epoch by itself."""
        assert self._ended is not None, "only programs of several ranks have it"
        return Program(self._ended, f"ended_{self._name}", self._eagerly, of=self._of)

    @property
    def _joins(self) -> bool:
        """Whether equal batches are computed as one, which rounds differently."""
        return self._keeps_all and chooses_engine()

    @property
    def may_group(self) -> bool:
        """Whether equal batches can run in a loop of the program."""
        return not self._eagerly and WORLD.size == 1  # several ranks meet in each step

    @property
    def status(self) -> str:
        """The trial that is going on, in a few words; "" if there is none."""
        return self._last.status if isinstance(self._last, Function) else ""

    @property
    def plans(self) -> list[Runnable]:
        """The plans of the calls so far; `print` shows the times of their candidates."""
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
        results = [self._one(each_leaf(partial(given, eagerly=self._eagerly), batch)) for batch in batches]
        if len(results) == 1 or not self._keeps_all:
            return results[-1]
        return tree.map_structure(lambda *parts: ops.concatenate(parts), *results)

    def begin(self, steps: int | None, in_groups: bool) -> None:
        """Begin an epoch.

        Args:
            steps: the number of steps to come; None if it is unknown.
            in_groups: whether equal batches may run in groups.
        """
        probes = scopes().probes
        self._measurer, self._in_groups = None, in_groups and self.may_group and not probes
        if probes and in_groups:
            logger.info("%s: steps run one by one, since probes look at them", self._name)
        self._steps = steps or 0
        if isinstance(self._one, Function):
            self._one.expect(self._steps)

    def group_size(self) -> int:
        """The number of steps that the next call should have."""
        if not self._in_groups:
            return 1
        self._measurer = self._measurer or self._found_measurer()
        return 1 if self._measurer is None else self._measurer.next_group

    def _found_measurer(self) -> Measurer | None:
        """The measurer of the step that ran most on the current engine."""
        assert isinstance(self._one, Function)
        home, at_home = compiling_engine(), not chooses_engine()
        plans = self._one.measured_plans
        measurers = [plan.measurer for plan in plans if (plan.engine, plan.is_at_home) == (home, at_home)]
        most_used = max(measurers, key=lambda measurer: measurer.state.done, default=None)
        if most_used is not None:
            most_used.allow_groups(min(self._largest, self._steps or SIZE), self._joins)
        return most_used

    @property
    def is_steady(self) -> bool:
        """Whether all groups of an epoch should have the same size."""
        return self._measurer is not None and self._measurer.state.duel is None

    def prepare_group(self, batch: Any) -> None:
        """Trace the program of a group of batches like this one, if groups are to be compared with single steps.

        This thread traces it, since it has Keras' scopes; the engine compiles it in the background.
        """
        measurer = self._measurer
        if measurer is None or not measurer.wants_group:
            return
        if self._joins:
            self._largest = max(1, min(SIZE, self._room_for(batch)))
            measurer.limit_groups(self._largest)
        if measurer.group_size == 1:
            measurer.wants_group = False
            return
        stacked = Group.of([batch] * measurer.group_size).parts
        concrete, engine = (self._joined if self._joins else self._many).concrete(stacked), compiling_engine()
        arrays = concrete.natives([leaf for leaf in tree.flatten(stacked) if leaf is not None], engine)
        plan = concrete.plan_for(arrays, engine)
        cast(MeasuredPlan, plan).belong_to(measurer, measurer.group_size)

    def _room_for(self, batch: Any) -> int:
        """The number of batches like this one that may be computed as one without too large a tensor."""
        assert isinstance(self._one, Function)  # else there are no groups
        graph = self._one.concrete(each_leaf(given, batch)).graph
        sizes = [_bytes(tensor.spec) for op in graph.operations if op.type != "Const" for tensor in op.outputs]
        return LARGEST // max(sizes, default=1)


def _bytes(spec: TensorSpec) -> int:
    return max(1, size_of(spec.shape) or 1) * spec.dtype.itemsize


def of_many(step: Step, keeps_all: bool, mapped: Callable[..., Any]) -> Step:
    """A step as a function of stacked batches, with the results of a call of `Program`.

    Args:
        step: the step of one batch.
        keeps_all: as in `Program`.
        mapped: `map_fn`, for a loop in the program, or `vectorized_map`, for all batches at once.
    """

    def steps(stacked: Any) -> Any:
        parts = tree.flatten(stacked)
        given = [i for i, part in enumerate(parts) if part is not None]
        results: list[Any] = []  # of the traced step; its values that are not tensors hold for every step

        def body(slices: list[Any]) -> list[Any]:
            leaves = list(parts)
            for i, part in zip(given, slices, strict=True):
                leaves[i] = part
            results[:] = [step(tree.pack_sequence_as(stacked, leaves))]
            return [value for value in tree.flatten(results[0]) if is_tensor(value)]

        stacked_results = iter(mapped(body, [parts[i] for i in given]))

        def result(value: Any) -> Any:
            if not is_tensor(value):
                return value
            of_all = next(stacked_results)
            return ops.reshape(of_all, (-1, *of_all.shape[2:])) if keeps_all else of_all[-1]

        return tree.map_structure(result, results[0])

    return steps


def run_all(
    function: Any, batches: Iterable[Any], hooks: BatchHooks, is_stopped: Callable[[], bool], steps: int | None
) -> Iterator[Any]:
    """Yield the result of each call on all batches, in groups if they are faster and no callback needs single ones."""
    program = function if isinstance(function, Program) else Program(function, "steps", eagerly=True)
    program.begin(steps, hooks.are_idle)
    for begin, end, data in groups(batches, program.group_size, program.is_steady):
        hooks.begin(begin)
        with hooks.around(data):
            result = function(data)
        yield result
        hooks.show(program)
        hooks.end(end, result)
        profile.step(len(data))
        if len(data) == 1:
            program.prepare_group(data[0])
        if is_stopped():
            break
    hooks.finish()
