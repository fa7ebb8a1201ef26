"""Explain: where a function is executed, from each of the user's calls to the routine of a library.

`explain` traces and plans the function once more, and notes the changes of each pass.  The engines tell their routines
(`Engine.routines`).  Programs that do not call it pay nothing.
"""

from __future__ import annotations

import dis
import functools
import inspect
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from types import CodeType, FrameType
from typing import Any

from dovetail import core
from dovetail.choose import costs
from dovetail.choose.candidate import Candidate
from dovetail.core.base.errors import check_callable, place
from dovetail.core.base.texts import time_text
from dovetail.core.engine import OPERATIONS
from dovetail.core.engines.engine_registry import AUTO, get_engine
from dovetail.core.rules import DEFAULT
from dovetail.core.values.value_kinds import static_shape
from dovetail.edit.graph import Graph, Operation
from dovetail.execute.exchanges import exchange_text, exchanges_of
from dovetail.execute.fallback import plan_on
from dovetail.execute.optimize import optimized_copy
from dovetail.execute.plan import Plan
from dovetail.execute.plan_base import Runnable
from dovetail.execute.segment import Segment
from dovetail.functions.function import Function, function
from dovetail.observe.algorithms import Algorithm, algorithms_of
from dovetail.observe.engine_routines import reported, segments_of
from dovetail.observe.explanation import Explained, Explanation, Line
from dovetail.observe.pass_changes import Touches
from dovetail.ops.control.plumbing import STRUCTURAL

ROOT = os.path.dirname(os.path.dirname(core.__file__ or ""))
FACES = (os.path.join(ROOT, "backend"), os.path.join(ROOT, "compat"))  # folders of public functions


def explain(f: Any, *args: Any, engine: str | None = None, algorithms: bool = False) -> Explanation:
    """Explain where a function is executed: from each call over its op and its rule to the library's routine.

    The lines of an operation are, as far as there are any:

    - call: the function of K that made it.
    - op: the entry of the op table, with its body if it is a composite.
    - pass: what each pass of the plan made of it.
    - predicted: the time of its work on each engine, by the rates of this machine, if the engine is chosen.
    - runs as: an operation that is left of it, with its place.  It has a rule, the code of the engine that computes it.
    - library: a function, a kernel or an instruction of the library.
    - routine: what that runs, as the library reports it; else "not reported".
    - exchange: the bytes that a collective sends, and the ranks among which it does.

    Nothing is reported by engines of other packages that do not say it.  An engine may run a segment once on zeros, and
    note its calls.  It does not run segments with loops of unknown length, calls of Python or unknown shapes.

    Args:
        f: a function, or a compiled one, or a graph.
        args: the arguments of a call: tensors, arrays, `spec`s.
        engine: the engine to explain, or "auto"; if not given, the one on which the call would run.
        algorithms: whether to measure by which algorithms each engine could compute the convolutions; takes seconds.

    Returns:
        Data, which `print` shows as a text.

    Raises:
        TypeError: it cannot be called.
        UnknownEngine, EngineNotInstalled: there is no such engine, or its library is not installed.

    Example:
        >>> import dovetail as dt
        >>> x = dt.spec((2, 3))
        >>> found = dt.explain(lambda x: dt.ops.relu(x) + 1.0, x, engine="numpy")
        >>> [operation.type for operation in found.operations]
        ['Relu', 'AddV2']
        >>> found.of("AddV2")[0].of("library")
        ['numpy.add']
    """
    told = _function_of(f, engine)
    plan = told.plan(*args)
    calls: dict[Operation, Line] = {}
    graph = told.traced_again(functools.partial(_noting, calls), *args)
    for op in (op for part in graph.everywhere() for op in part.operations):
        op._origin = None  # also an operation of a gradient is explained by itself
    shapes = [static_shape(arg) for arg in args] if len(args) == len(graph.inputs) else None
    made = _planned(plan, graph, shapes)
    touches = Touches()
    optimized_copy(graph, made.engine, made.shapes, made.device, touches.runner)
    rows = plan.choice.rows
    chains = _Chains(made, calls, touches, list(dict.fromkeys(row.strategy.engine for row in rows)))
    operations = tuple(chains.explained(op, within) for op, within in _operations(graph))
    measured: tuple[Algorithm, ...] = ()
    if algorithms:
        measured = tuple(way for op, _ in _operations(graph) for way in algorithms_of(op))
    return Explanation(graph.name, str(made).splitlines()[0], operations, plan.choice.summary, rows, measured)


def _function_of(f: Any, engine: str | None) -> Function[..., Any]:
    """The function, compiled for an engine if one is given."""
    if isinstance(f, Function):
        if engine not in (None, AUTO):
            get_engine(engine)
        return f if engine is None else f.on_engine(engine)
    if not isinstance(f, Graph):
        check_callable("explain", f)
    return function(f, engine=engine)


def _planned(plan: Runnable, graph: Graph, shapes: list[Any] | None) -> Plan:
    """The plan of another trace of the same program, by the same strategy."""
    is_open = not all(t.is_static for t in graph.inputs)
    known = shapes if shapes is not None and None not in shapes and all(None not in s for s in shapes) else None
    strategy, part = plan.choice.strategy._replace(group=1), plan.parts[-1] if plan.parts else plan
    if strategy.variant or strategy.split:
        return Candidate(strategy, graph, plan.engine, known or plan.shapes or ()).plan
    return plan_on(graph, part.engine, part.shapes or (known if is_open else None), part.device)


# the user's operations, and the calls that made them


def _operations(graph: Graph, within: str = "") -> Iterator[tuple[Operation, str]]:
    """The operations that compute something, each with the loop or branch that holds it."""
    for op in graph.operations:
        if op.type not in STRUCTURAL:
            yield op, within
            for part in op.subgraphs():
                yield from _operations(part, f"{op.type} {op.name!r}")


def _noting(calls: dict[Operation, Line], kind: type[Graph]) -> type[Graph]:
    """A class of graphs that notes the public function which adds an operation."""

    class Noting(kind):  # type: ignore[misc, valid-type]  # the class of a function's traces
        def add(self, *args: Any, **options: Any) -> Operation:
            operation = super().add(*args, **options)
            line = _public_call(sys._getframe(1))
            if line is not None:
                calls[operation] = line
            return operation

    Noting._part_type = Noting  # branches and bodies note calls, too
    return Noting


def _public_call(frame: FrameType | None) -> Line | None:
    """The outermost of Dovetail's frames in a face for users: K, or the names of another library."""
    outermost: FrameType | None = None
    while frame is not None and frame.f_code.co_filename.startswith(ROOT):
        if frame.f_code.co_filename.startswith(FACES) and not frame.f_code.co_filename.endswith("table.py"):
            outermost = frame
        frame = frame.f_back
    if outermost is None:
        return None
    code, module = outermost.f_code, outermost.f_globals["__name__"]
    name = f"K.{code.co_name}" if module.startswith("dovetail.backend") else f"{module}.{code.co_qualname}"
    return Line("call", name, _file_line(code))


# the code of functions


def _file_line(code: CodeType) -> str:
    """A function's file and line, from the package's folder on: `dovetail/ops/math/arithmetic.py:12`."""
    folders = [f"{os.path.dirname(ROOT)}{os.sep}", f"site-packages{os.sep}"]
    file = code.co_filename
    inside = next((file.partition(folder)[2] for folder in folders if folder in file), os.path.basename(file))
    return f"{inside}:{code.co_firstlineno}"


def _code(function: Any) -> str:
    """The file and line of a function, or its name in its library if it has no Python code."""
    while isinstance(function, functools.partial):
        function = function.func
    function = inspect.unwrap(function)
    if (code := getattr(function, "__code__", None)) is not None:
        return _file_line(code)
    module = getattr(function, "__module__", None) or type(function).__module__
    return f"{module}.{getattr(function, '__name__', type(function).__name__)}"


def _rules(function: Any) -> Iterator[tuple[Operation, Any]]:
    """The operations of a program, and of programs in it, with their rules."""
    function = inspect.unwrap(function)
    scope = function.__globals__
    for instruction in dis.get_instructions(function):
        line = instruction.positions and instruction.positions.lineno
        if instruction.opname == "LOAD_GLOBAL" and instruction.argval[0] == "r" and instruction.argval[1:].isdigit():
            yield scope[OPERATIONS][line], scope[instruction.argval]
    for name, value in scope.items():
        if name[0] == "g" and name[1:].isdigit() and OPERATIONS in getattr(value, "__globals__", ()):
            yield from _rules(value)


# the operations that plans run


class _Chains:
    """The chains of a plan's operations.

    Args:
        plan: the plan.
        calls: the user's operation → the call that made it.
        touches: the changes of its passes.
        engines: the engines among which one is chosen.
    """

    def __init__(self, plan: Plan, calls: Mapping[Operation, Line], touches: Touches, engines: Sequence[str]) -> None:
        self._engines = engines
        self._calls = calls
        self._touches = touches
        self._left: dict[Operation, list[Line]] = {}
        segments = list(segments_of(plan.schedule))
        for number, segment in enumerate(segments, 1):
            self._add(segment, f", segment {number}" if len(segments) > 1 else "")

    def _add(self, segment: Segment, number: str) -> None:
        place, engine = segment.place, segment.engine
        at = f"{engine.name} ({place.device or engine.devices()[0]}){number}"
        rules = dict(_rules(segment.lowered.function)) if engine.eager is None or segment.bodies is not None else {}
        routines, reason = reported(segment)
        inner = () if segment.bodies is not None else segment.graph.subgraphs()
        exchanges = exchanges_of(segment.graph)
        for op in (op for part in (segment.graph, *inner) for op in part.operations):
            lines = self._left.setdefault(op.origin, [])
            if op.type == "Const":
                lines.append(Line("runs as", "a constant"))
            if op.type in STRUCTURAL:
                continue
            lines.append(Line("runs as", f"{op.type} on {at}"))
            if op in rules:
                variant = engine.rules.fitting(op, preferred=place.variants)
                name = "" if variant is None or variant.name == DEFAULT else f" {variant.name!r}"
                lines.append(Line("rule", f"{op.type}{name} of {engine.name}", _code(rules[op])))
            for routine in routines.get(op, ()):
                lines += [Line("library", routine.call), Line("routine", routine.routine)]
            if op in exchanges:
                lines.append(Line("exchange", exchange_text(op)))
            elif op not in routines:
                lines.append(Line("routine", reason))

    def explained(self, op: Operation, within: str) -> Explained:
        """The chain of a user's operation."""
        lines = [self._calls[op]] if op in self._calls else []
        lines.append(Line("op", op.type, _code(op.op)))
        touches = self._touches.found.get(op, [])
        if op.op.body is not None and any(touch.name == "inline_composites" for touch in touches):
            lines.append(Line("body", f"of {op.type}, in other ops", _code(op.op.body)))
        lines += [Line("pass", str(touch), f"{touch.module.replace('.', '/')}.py") for touch in touches]
        times = {engine: costs.known.seconds_of(engine, op) for engine in self._engines}
        if any(times.values()):
            told = ", ".join(f"{engine} {time_text(seconds)}" for engine, seconds in times.items())
            lines.append(Line("predicted", told))
        into = self._touches.into(op)
        reason = "nothing needs it" if into is op else f"it is the value of {into.type} {into.name!r}"
        lines += self._left.get(into) or [Line("runs as", f"nothing, since {reason}")]
        result = ", ".join(str(t.spec) for t in op.outputs)
        return Explained(op.type, op.name, result, place(op.where), within, tuple(lines))
