"""Lowering: a graph as one straight-line Python function of native arrays, written for one engine.

The function's text calls the engine's rules in program order, one line an operation, and lets go of each value after
its last use.  The text holds only names that are made here.  Constants and static arguments of the graph are passed in
by reference, so no graph can smuggle in code, wherever it comes from.  Programs with the same text share its code.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache, partial
from types import CodeType
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from dovetail.core.base.scopes import unseen
from dovetail.core.calls import dispatch
from dovetail.core.dtypes import as_dtype
from dovetail.core.engine import FILE, OPERATIONS, Engine
from dovetail.core.kinds import IntsKind
from dovetail.core.op import Op
from dovetail.core.rules import OUT, OVER, PROGRAM, Rule
from dovetail.core.tensor import Tensor
from dovetail.core.values.spec import Shape
from dovetail.core.values.state import call_as_one
from dovetail.edit.graph import SINGLE, Graph, GraphTensor, Operation
from dovetail.edit.transplant import copy_graph
from dovetail.execute.buffers import BufferPlan, plan_buffers, written_places
from dovetail.execute.events import Subject, subject_of
from dovetail.execute.placement import Place

PROGRAMS = 500  # programs whose code is kept
LARGEST = 1 << 14  # characters: the code of a longer text is not kept

# the graph of a branch or of a loop's body → its function
BodyFunctions: TypeAlias = Callable[[Graph], Callable[..., tuple[Any, ...]]]
# (subject and bytes of each line) → the function that a program calls first, to get the one it calls after each line
Laps: TypeAlias = Callable[[list[tuple[Subject, int | None]]], Any]


def failed_operation(error: Exception) -> Operation | None:
    """The operation that a program was computing when it raised an error; in loops, the innermost one."""
    operation = None
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == FILE:
            operation = trace.tb_frame.f_globals[OPERATIONS].get(trace.tb_lineno, operation)
        trace = trace.tb_next
    return operation


class Lowered(NamedTuple):
    """A lowered graph.

    Attributes:
        function: (input arrays, and an array to write into for each spare number of the buffers) → tuple of outputs.
            If operations write over inputs, it also takes a list `into` for that tuple.
        source: its text.
        scopes: the operations by the number in the name of their scope, if the engine compiles the program.
    """

    function: Callable[..., tuple[Any, ...]]
    source: str
    scopes: dict[int, Operation]


def lower(
    graph: Graph,
    place: Place,
    buffers: BufferPlan | None = None,
    bodies: BodyFunctions | None = None,
    laps: Laps | None = None,
    scopes: dict[int, Operation] | None = None,
) -> Lowered:
    """Compile a graph to one function of native arrays.

    Args:
        graph: the graph, with only ops that the engine has rules for.
        place: the engine whose rules are called, and the device of the constants.
        buffers: the buffers that operations write into; planned here if not given.
        bodies: makes functions of branches and bodies, which Python then runs; if not given, they are lowered, too,
            and the engine runs them.
        laps: the clock of a profile, which the program then calls after each operation; see `Recorder.laps`.
        scopes: the scopes so far of the program around this one.
    """
    buffers = buffers or plan_buffers(graph.operations, place.engine, graph.inputs, graph.outputs)
    given = {t.op for t in graph.inputs}
    operations = [op for op in graph.operations if op not in given]
    return _Writer(operations, place, buffers, bodies, laps, {} if scopes is None else scopes).lowered(
        graph.inputs, graph.outputs
    )


def _body_rule(op: Op, engine: Engine) -> Rule | None:
    """A rule that runs the body of a composite on arrays whose ranks were unknown when the program was made."""
    if op.body is None:
        return None

    def rule(*args: Any) -> Any:
        values = list(args)
        for index, is_list in op.tensor_places:
            value = values[index]
            if value is not None:
                values[index] = tuple(Tensor(v, engine) for v in value) if is_list else Tensor(value, engine)
        with unseen():
            result = dispatch.run(op, values, engine)
        return tuple(t._value for t in result) if op.returns_tuple else result._value

    return rule


def _without_steps(rule: Rule, scan: Operation, place: Place) -> Rule:
    """A rule of a scan that does not run the body if there are no steps: the body may fail on zeros."""

    def run(init: Sequence[Any], xs: Sequence[Any], constants: Sequence[Any], *static: Any) -> tuple[Any, ...]:
        stacks = _empty_stacks(scan, [place.engine.shape(x) for x in (*init, *xs, *constants)])
        if stacks is None:
            return rule(init, xs, constants, *static)
        return (*init, *(place.engine.asarray(x, as_dtype(x.dtype), place.device) for x in stacks))

    return run


def _empty_stacks(scan: Operation, shapes: Sequence[Shape]) -> list[np.ndarray] | None:
    """The stacks that a scan without steps gives if its inputs have these shapes.

    Returns:
        The arrays; None if there are steps, or if a shape depends on values.
    """
    body, (init, xs) = scan.attrs["body"], scan.layout[:2]
    sliced = shapes[init : init + xs]
    if (sliced[0] and sliced[0][0] if sliced else scan.attrs["length"]) != 0:
        return None
    if any(t.shape is None or None in t.shape for t in body.outputs[init:]):
        body = copy_graph(body)
        inner = [*shapes[:init], *(x and x[1:] for x in sliced), *shapes[init + xs :]]
        body.set_input_shapes(dict(zip(body.inputs, inner, strict=True)))
    specs = [t.spec for t in body.outputs[init:]]
    if any(spec.shape is None or None in spec.shape for spec in specs):
        return None
    return [np.zeros((0, *spec.shape), spec.dtype.numpy) for spec in specs]


def commit(calls: Iterable[Callable[[], Any]], outputs: tuple[Any, ...], into: list[Any] | None) -> tuple[Any, ...]:
    """End a program that writes over inputs: one call of C functions writes, and adds the outputs to a list.

    Args:
        calls: C functions that write over inputs.
        outputs: the outputs of the program.
        into: the list; see `Engine.compile`.
    """
    call_as_one([*calls, partial(([] if into is None else into).append, outputs)])
    return outputs


def _compiled(source: str) -> CodeType:
    """The code that defines a program, without the values of its names."""
    return compile(source, FILE, "exec")


_code_of = lru_cache(PROGRAMS)(_compiled)  # graphs of equal layers have equal texts


class _Writer:
    """A writer of a program's text, which gathers the values of its names."""

    def __init__(
        self,
        operations: list[Operation],
        place: Place,
        buffers: BufferPlan,
        bodies: BodyFunctions | None,
        laps: Laps | None,
        scopes: dict[int, Operation],
    ) -> None:
        self.operations = buffers.in_order(operations)
        self.place = place
        self.engine = place.engine
        self.buffers = buffers
        self.scopes = scopes
        self.bodies = bodies or (lambda graph: lower(graph, place, laps=laps, scopes=self.scopes).function)
        self.rules = None if bodies is None else place.engine.control.host.rules()
        self.names: dict[GraphTensor, str] = {}
        self.scope: dict[str, Any] = {}
        self.bound: dict[int, str] = {}
        self.laps = laps
        self.timed: list[tuple[Subject, int | None]] = []

    def lowered(self, inputs: Sequence[GraphTensor], outputs: Sequence[GraphTensor]) -> Lowered:
        self.names = {t: f"a{i}" for i, t in enumerate(inputs)}
        self._name_values()
        parameters = [*(f"a{i}" for i in range(len(inputs))), *(f"s{i}" for i in self.buffers.spare_numbers)]
        parameters += ["into=None"] if self.buffers.overwrites else []
        lines = [f"def program({', '.join(parameters)}):"]
        if self.buffers.specs:
            self.scope["arena"] = self.buffers.arena(self.engine, self.place.device)
            lines.append(f" {''.join(f'b{i}, ' for i in range(len(self.buffers.specs)))} = arena()")
        lines += [" lap = laps()"] if self.laps is not None else []
        last_uses = self._last_uses(outputs)
        self.scope[OPERATIONS] = written = {}
        for op in self.operations:
            if op.type != "Const":
                lines.append(self._line(op))
                written[len(lines)] = op
                lines += self._lap([op], op.outputs)
            if dead := last_uses.get(op):
                lines.append(f" del {', '.join(dead)}")
        lines.append(f" {'return' if self.laps is None else 'results ='} {self._end(outputs)}")
        for op in self.buffers.overwrites:
            written[len(lines)] = op
        if self.laps is not None:
            lines += [*self._lap(list(self.buffers.overwrites), []), " return results"]
            self.scope["laps"] = self.laps(self.timed)
        source = "\n".join(lines)
        exec(_code_of(source) if len(source) <= LARGEST else _compiled(source), self.scope)
        return Lowered(self.scope["program"], source, self.scopes)

    def _lap(self, operations: list[Operation], results: Sequence[GraphTensor]) -> list[str]:
        """The line that tells a profile that operations are done."""
        if self.laps is None or not operations:
            return []
        sizes = [t.spec.nbytes for t in results]
        self.timed.append((subject_of(operations, self.place), None if None in sizes else sum(filter(None, sizes))))
        return [f" lap({', '.join(self.names[t] for t in results)})"]

    def _name_values(self) -> None:
        for op in self.operations:
            if op.type == "Const":
                value = self.engine.asarray(op.attrs["value"], op.outputs[0].dtype, self.place.device)
                self.names[op.outputs[0]] = self._bind(value, "c")
            else:
                for tensor in op.outputs:
                    self.names[tensor] = f"v{len(self.names)}"

    def _end(self, outputs: Sequence[GraphTensor]) -> str:
        """The expression that a program returns."""
        returned = f"({''.join(self.names[t] + ', ' for t in outputs)})"
        if not self.buffers.overwrites:
            return returned
        calls = ", ".join(f"*{self._calls(op)}" for op in self.buffers.overwrites)
        return f"{self._bind(commit, 'f')}([{calls}], {returned}, into)"

    def _calls(self, op: Operation) -> str:
        """The name of the list of C functions with which an operation writes over inputs."""
        return f"w{self.names[op.outputs[0]]}"

    def _line(self, op: Operation) -> str:
        target = None if op in self.buffers.overwrites else self._target(op)
        layer = OVER if op in self.buffers.overwrites else PROGRAM if target is None else OUT
        bound = None if layer != PROGRAM or self.rules is not None else self._bound_rule(op)
        rule = self.rules[op.type] if self.rules is not None else bound or self._rule(op, layer)
        if op.type == "Scan" and rule is not None:
            rule = _without_steps(rule, op, self.place)
        if op.op.is_users and rule is not None:
            rule = op.op.checked(rule, self.engine, [t.spec for t in op.outputs])
        if rule is not None and layer == PROGRAM and op in self.buffers.allocating:
            rule = self.engine.allocating(op.type, rule)
        if self.engine.compiles_programs and self.rules is None and rule is not None:
            self.scopes[len(self.scopes)] = op
            rule = self.engine.scoped(scope_of(len(self.scopes) - 1, op), rule)
        names = self._names_over(op) if layer == OVER else [self.names[t] for t in op.inputs]
        arguments = self._arguments(op, names) if bound is None else names
        if target is not None:
            arguments.append(f"out={target}")
        targets = (
            "".join(f"{self.names[t]}, " for t in op.outputs) if op.op.returns_tuple else self.names[op.outputs[0]]
        )
        targets = f"{self._calls(op)}, ({targets})" if layer == OVER else targets
        return f" {targets} = {self._bind(rule, 'r')}({', '.join(arguments)})"

    def _bound_rule(self, op: Operation) -> Rule | None:
        """The engine's rule for this one operation, unless another variant is preferred."""
        rules, preferred = self.engine.rules, self.place.variants
        variant = rules.fitting(op, preferred=preferred) if preferred else None
        return None if variant is not None and variant.name in preferred else rules.specialized_rule(op)

    def _rule(self, op: Operation, layer: str) -> Rule | None:
        return self.engine.rule_for(op, layer, self.place.variants) or _body_rule(op.op, self.engine)

    def _target(self, op: Operation) -> str | None:
        spares = [f"s{self.buffers.spares[t]}" for t in op.outputs if t in self.buffers.spares]
        if spares:
            return f"({', '.join(spares)},)" if op.op.returns_tuple else spares[0]
        if op in self.buffers.of:
            return f"b{self.buffers.of[op]}"
        if op in self.buffers.results:
            result = op.outputs[0].spec
            allocate = partial(self.engine.allocate, result.shape, result.dtype, self.place.device)  # type: ignore[arg-type]  # it is known
            return f"{self._bind(allocate, 'n')}()"
        return None

    def _names_over(self, op: Operation) -> list[str]:
        """The arguments of an operation that writes over its inputs; copies replace inputs that it does not consume."""
        names = [self.names[t] for t in op.inputs]
        over = self.buffers.overwrites[op]
        for place, number, result in zip(written_places(op, self.engine), over, op.outputs, strict=True):
            if number is None and result in self.buffers.spares:
                names[place] = f"{self._bind(self.engine.write, 'f')}(s{self.buffers.spares[result]}, {names[place]})"
            elif number is None:
                names[place] = f"{self._bind(self.engine.copy, 'f')}({names[place]})"
        return names

    def _arguments(self, op: Operation, names: Sequence[str]) -> list[str]:
        arguments: list[str] = []
        at = 0
        for param, count in zip(op.op.params, op.layout, strict=True):
            if count is None:
                arguments.append(self._static(op.attrs[param.name]))
            elif count == SINGLE:
                name = names[at]
                at += 1
                if isinstance(param.kind, IntsKind):
                    name = f"{self._bind(self.engine.to_ints, 'f')}({name})"
                arguments.append(name)
            else:
                arguments.append(f"[{', '.join(names[at : at + count])}]")
                at += count
        return arguments

    def _static(self, value: Any) -> str:
        if isinstance(value, Graph):
            return self._bind(self.bodies(value), "g")
        return self._bind(value, "k")

    def _bind(self, value: Any, prefix: str) -> str:
        key = id(value)
        if key not in self.bound:
            self.bound[key] = name = f"{prefix}{len(self.bound)}"
            self.scope[name] = value
        return self.bound[key]

    def _last_uses(self, outputs: Sequence[GraphTensor]) -> dict[Operation, list[str]]:
        """Map each operation to the names of the values that nothing needs after it."""
        last: dict[GraphTensor, Operation] = {}
        for op in self.operations:
            last.update(dict.fromkeys((*op.inputs, *op.outputs), op))
        dying: dict[Operation, list[str]] = {}
        for tensor in {*outputs, *(op.outputs[0] for op in self.operations if op.type == "Const")}:
            last.pop(tensor, None)
        for tensor, op in last.items():
            dying.setdefault(op, []).append(self.names[tensor])
        return dying


def scope_of(number: int, operation: Operation) -> str:
    """The name of an operation's scope in a compiled program."""
    return f"dt{number}.{operation.type}"
