"""Concrete: a traced graph that can be called, with a plan per engine, and a gradient as soon as one is needed.

Under a gradient tape the graph is split into a forward and a backward program (`autodiff.vjp`), so a gradient runs
compiled too.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from itertools import repeat
from typing import Any

from dovetail.autodiff.vjp import gradient_graph, split
from dovetail.choose.backward_plan import Following
from dovetail.choose.measured_plan import Measuring
from dovetail.core.base.cache import Cache
from dovetail.core.base.garbage import NoGarbageCollection
from dovetail.core.base.hooks import compiles
from dovetail.core.base.locks import holding, make_lock
from dovetail.core.base.probe import Probe
from dovetail.core.base.scopes import scopes, within
from dovetail.core.base.table import OPS
from dovetail.core.engine import Engine
from dovetail.core.engines.devices import device_for, is_several
from dovetail.core.tensor import Tensor, native_of
from dovetail.core.values import arguments
from dovetail.core.values.recording import Record
from dovetail.core.values.state import held_by
from dovetail.core.values.value_kinds import dtype_of, static_shape
from dovetail.core.values.variable import Variable
from dovetail.edit.graph import Graph
from dovetail.edit.transplant import copy_graph
from dovetail.execute.fallback import plan_on
from dovetail.execute.placement import fixes_engine, has_pinned_devices, is_pinned, pinned_engines
from dovetail.execute.plan_base import Runnable
from dovetail.graph.journal import no_part_of_edits
from dovetail.passes.pure_program import pure_copy
from dovetail.passes.resolve import resolve_wholly, waits
from dovetail.trace.deferred import has_unknown_rank

_TENSORS = frozenset([Tensor])
PLANS = 200  # plans in each of the two generations of a trace's cache
LOOPS = ("Scan", "While", "WhileGrad")
SHAPES = 8  # plans of a graph with loops that are made for the shapes of one call; a loop repeats what these leave open


class Concrete:
    """A graph that can be called: with a plan per engine, and a gradient as soon as one is needed.

    An engine that only compiles takes and returns values of its `holder`.

    Args:
        graph: the traced graph.
        measuring: the settings of the function, if its graphs run where they are measured to be fastest.
        stays: whether the results of calls stay on the engine that is chosen.
        probes: the probes that look at its runs; if not given, those of the scopes around.
        ends: the number of the graph's outputs that probes take for results; all if not given.
        plain: the same program without probes, whose choice of an engine holds under probes, too.

    Attributes:
        graph: as given.
    """

    def __init__(
        self,
        graph: Graph,
        measuring: Measuring | None = None,
        stays: bool = False,
        probes: tuple[Probe, ...] | None = None,
        ends: int | None = None,
        plain: Concrete | None = None,
    ) -> None:
        self.graph = graph
        self._plain = plain
        self._probes = (scopes().probes or ()) if probes is None else probes
        self._ends = ends
        self._given_measuring = measuring
        self._stays = stays
        self._stages: Cache[Any, Concrete] | None = Cache(PLANS) if waits(graph) else None  # by shapes, if it waits
        self._is_pinned = is_pinned(graph)
        self._measuring = None if measuring is None or fixes_engine(graph) else measuring
        self._is_open = not all(t.is_static for t in graph.inputs)
        self._specializes = self._is_open and (
            self._measuring is not None
            or has_unknown_rank(graph.inputs)
            or any(engine.specializes for engine in pinned_engines(graph.operations))
        )
        self._own_plans = SHAPES if self._is_open and graph.of_types(LOOPS) else 0
        self._plans: Cache[Any, Runnable] = Cache(PLANS)
        self._functionals: Cache[tuple[Tensor, ...], Functional] = Cache(PLANS)
        self._lock = make_lock()

    @property
    def plans(self) -> list[Runnable]:
        """The plans that were made so far."""
        return self._plans.values()

    def plan(self, engine: Engine, shapes: tuple[Any, ...] | None = None, device: str | None = None) -> Runnable:
        """The plan for an engine and a device, and for shapes of the inputs if it is made for certain shapes."""
        if self._stages is not None:
            return self._resolved(shapes).plan(engine, None, device)
        key = engine, shapes, device
        return self._plans.get(key) or holding(self._lock, self._planned, key)

    def plan_for(self, arguments: Sequence[Any], engine: Engine) -> Runnable:
        """The plan that runs native arrays; an engine that compiles for certain shapes has a plan for each of them."""
        if self._stages is not None:
            return self._resolved(tuple(map(engine.holder.shape, arguments))).plan_for(arguments, engine)
        by_shapes = self._is_open and (engine.specializes or self._specializes)
        shapes = tuple(map(engine.holder.shape, arguments)) if by_shapes or self._own_plans else None
        device = self._device(arguments, engine) if engine.has_devices else None
        if (known := self._plans.get((engine, shapes, device))) is not None:
            return known
        if not by_shapes and len(self._plans) >= self._own_plans:
            shapes = None
        return self.plan(engine, shapes, device)

    def _resolved(self, shapes: tuple[Any, ...] | None) -> Concrete:
        """The same program for certain shapes of the inputs, with the operations of the nodes that wait for them."""
        if (stage := self._stages.get(shapes)) is None:  # type: ignore[union-attr]  # callers ask
            stage = holding(self._lock, self._resolve, shapes)
        return stage

    def _resolve(self, shapes: tuple[Any, ...] | None) -> Concrete:
        with NoGarbageCollection(), no_part_of_edits():
            graph = copy_graph(self.graph)
            graph.closure_nodes = self.graph.closure_nodes
            if shapes is not None:
                graph.set_input_shapes(dict(zip(graph.inputs, shapes, strict=True)))
            resolve_wholly(graph)
        stage = Concrete(graph, self._given_measuring, self._stays, self._probes, self._ends)
        stage._stages = None  # what still waits, does so for ever
        return self._stages.put(shapes, stage)  # type: ignore[union-attr]  # callers ask

    def _device(self, arguments: Sequence[Any], engine: Engine) -> str | None:
        """The device of a call: the one that an argument, else a variable, was put on; else the device of the scope."""
        holder = engine.holder
        held = [b.value for b in filter(None, map(held_by, self._deciding)) if b.engine is holder]
        return next(filter(None, map(holder.put_on, (*arguments, *held))), None) or device_for(holder.name)

    @functools.cached_property
    def _deciding(self) -> list[Variable]:
        """The variables that decide about the device of a call."""
        if has_pinned_devices(self.graph):  # pins decide where the variables stay
            return []
        return [op.attrs["variable"].holder() for op in self.graph.operations if op.type == "ReadVariableOp"]

    def _planned(self, key: Any) -> Runnable:
        known = self._plans.get(key)
        if known is not None:
            return known
        with NoGarbageCollection():
            return self._plans.put(key, self._made(*key))

    @compiles
    def _made(self, engine: Engine, shapes: tuple[Any, ...] | None, device: str | None) -> Runnable:
        if self._probes:
            from dovetail.functions.probed_plan import ProbedPlan  # few functions have probes

            with within(probes=()):
                measuring = self._measuring_of(engine, shapes, device)
            make = functools.partial(Concrete, measuring=measuring, probes=())
            return ProbedPlan(self.graph, engine, self._probes, self._ends, make)
        measuring = self._measuring
        if measuring is not None and is_several(device) and not measuring.is_at_home:
            measuring = None  # another engine would gather the arrays
        if measuring is None or (shapes is None and self._is_open):
            return plan_on(self.graph, engine, shapes, device)
        known = tuple(t.shape for t in self.graph.inputs) if shapes is None else shapes
        return measuring.plan(self.graph, engine, known)

    def _measuring_of(self, *key: Any) -> Measuring | None:
        """The settings of the plan under probes: the choice of the program without probes is replayed."""
        plan = None if self._plain is None else self._plain.plan(*key)
        if plan is not None and plan.choice.rows:
            return Measuring(plan.choice)
        return self._given_measuring and self._given_measuring.again()

    def run(self, arguments: list[Any], engine: Engine) -> tuple[Any, ...]:
        """Run the plan on native arrays."""
        return self.plan_for(arguments, engine)(arguments)

    def __call__(self, given: Sequence[Any], engine: Engine) -> list[Tensor]:
        """Run it on Tensors of the engine's holder and NumPy arrays, and record the call on the tapes that watch."""
        if self._stages is not None:
            return self._resolved(tuple(static_shape(value) for value in given))(given, engine)
        if scopes().tapes:
            return self._call_taped([arguments.as_tensor(v, dtype_of(v), engine.holder) for v in given], engine)
        arrays = self.natives(given, engine)
        plan = self.plan_for(arrays, engine)
        return plan.tensors(arrays) if self._stays else list(map(Tensor, plan(arrays), repeat(plan.holder)))

    def natives(self, given: Sequence[Any], engine: Engine) -> list[Any]:
        """The arguments of the plan for Tensors of the engine's holder and NumPy arrays."""
        if _TENSORS.issuperset(map(type, given)):
            return list(map(native_of, given))
        take = self._take(engine)
        return [v._value if type(v) is Tensor else take(v, dtype_of(v)) for v in given]

    def _take(self, engine: Engine) -> Callable[..., Any]:
        holder = engine.holder
        return holder.asarray if holder.has_devices or self._is_pinned else holder.argument

    def quick_call(self, given: Sequence[Any], engine: Engine) -> tuple[Runnable, Any, list[Any]]:
        """The parts by which further calls run that are like one on Tensors of the engine's holder and NumPy arrays.

        Returns:
            The plan; if the place of variables decides about it, a function that gives it for native arrays, else None;
            and of each NumPy array its number, and the function and the dtype by which it becomes a native array.
        """
        take = self._take(engine)
        takes = [(i, take, dtype_of(v)) for i, v in enumerate(given) if type(v) is not Tensor]
        follows = engine.has_devices and self._deciding
        following = functools.partial(self.plan_for, engine=engine) if follows else None
        return self.plan_for(self.natives(given, engine), engine), following, takes

    def _call_taped(self, tensors: Sequence[Tensor], engine: Engine) -> list[Tensor]:
        tapes = scopes().tapes
        for tape in tapes:
            tape.record_nodes(self.graph.closure_nodes)
        closures = tuple(t for t in self.graph.closures if any(tape.follows(t) for tape in tapes))
        functional = self._functionals.get(closures) or holding(self._lock, self._functional, closures)
        holder = engine.holder
        given = [*tensors, *(arguments.move(t, holder) for t in closures)]
        known, guard = {v: v.read(holder) for v in functional.program.only_read}, functional.program.guard
        if guard is None:
            return self._run_taped(functional, given, known, engine)
        # as in a plan: another thread's call comes before or after, not in between
        return guard.holding(self._run_taped, functional, given, known, engine)

    def _run_taped(
        self, functional: Functional, given: list[Tensor], known: dict[Variable, Tensor], engine: Engine
    ) -> list[Tensor]:
        op, holder, program = OPS["Call"], engine.holder, functional.program
        inputs = [*given, *(known[v] if v in known else v.read(holder) for v in program.read)]
        tapes = [tape for tape in scopes().tapes if tape.watches(op, inputs)]
        if not tapes:
            own = given[: len(self.graph.inputs)]
            return [Tensor(value, holder) for value in self.run([t._value for t in own], engine)]
        values = functional.forward.run([t._value for t in inputs], engine)
        ends = program.ends
        results = [Tensor(value, holder) for value in values[:ends]]
        program.put(values, holder)  # if a value does not fit, the call is not recorded
        node = Record(op, inputs, results, functional.gradient([Tensor(v, holder) for v in values[ends:]], engine))
        for tape in tapes:
            tape.add(node)
        return results[: program.results]

    def _functional(self, closures: tuple[Tensor, ...]) -> Functional:
        return self._functionals.get(closures) or self._functionals.put(
            closures, Functional(self.graph, closures, self._measuring, self._probes)
        )


class Functional:
    """A graph with its variables as inputs and outputs, and its gradient.

    Args:
        graph: the traced graph.
        closures: captured Tensors that become inputs, too, after the graph's own.
        measuring: the settings of the function, if its programs run where they are measured to be fastest.
        probes: the probes that look at its runs.

    Attributes:
        program: the graph with its variables as inputs and outputs.
        forward: the program of these outputs, and then of the tensors that the backward program needs.
    """

    def __init__(
        self,
        graph: Graph,
        closures: tuple[Tensor, ...],
        measuring: Measuring | None,
        probes: tuple[Probe, ...] = (),
    ) -> None:
        self._measuring, self._probes = measuring, probes
        self.program = program = pure_copy(graph, [graph.closures[t] for t in closures])
        self._split = split(program.graph)
        leader = measuring and Measuring(measuring.fixed, backward=self._split.backward)
        self.forward = Concrete(self._split.forward, leader, probes=probes, ends=program.ends)
        self._backward = Concrete(self._split.backward, leader and Following(leader), probes=probes)

    @functools.cached_property
    def _gradient(self) -> Concrete:
        measuring = self._measuring and Measuring(self._measuring.fixed)
        return Concrete(gradient_graph(self.program.graph)[0], measuring, probes=self._probes)

    def gradient(self, kept: list[Tensor], engine: Engine) -> Callable[..., list[Any]]:
        """The gradient function of one call: the backward program on the tensors that the call kept.

        If a tape records the gradient itself, it is computed from the inputs, so that gradients of it reach them.
        """

        def function(node: Any, *arriving: Any) -> list[Any]:
            gradients = [
                arguments.as_tensor(arriving[i], arriving[i].dtype, engine.holder) for i in self._split.outputs
            ]
            if any(tape.watches(node.op, [*node.inputs, *gradients]) for tape in scopes().tapes):
                gradients_of_inputs = self._gradient([*node.inputs, *gradients], engine)
            else:
                gradients_of_inputs = self._backward([*kept, *gradients], engine)
            results: list[Any] = [None] * len(node.inputs)
            for index, value in zip(self._split.inputs, gradients_of_inputs, strict=True):
                results[index] = arguments.move_like(value, node.inputs[index]) if engine.has_devices else value
            return results

        return function
