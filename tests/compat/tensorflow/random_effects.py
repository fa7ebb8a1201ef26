"""Random programs of TensorFlow 1 that read and assign variables, and the results that the definition allows.

A program is data, so it runs on TensorFlow, on Dovetail, and on `allowed`. That function unrolls a run to single
operations, and tries every order of its reads and assignments that agrees with data and control edges.

    python -m tests.compat.tensorflow.random_effects --count 2000 --engines numpy torch jax tensorflow
"""

from __future__ import annotations

import argparse
import random
import sys
from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

VARIABLES = 3
EFFECTS = 8  # at most, of effects that nothing orders
ORDERS = 3000  # at most, of orders that are tried


class Step(NamedTuple):
    """A statement: its kind, its settings, and the numbers of earlier statements of its scope that it takes."""

    kind: str
    takes: tuple[int, ...] = ()
    waits: tuple[int, ...] = ()
    variable: int = 0
    number: float = 0.0
    parts: tuple[tuple[Step, ...], ...] = ()


class Run(NamedTuple):
    """The fetches of a run, and the branch that it takes; without fetches the initialiser runs again."""

    fetches: tuple[int, ...]
    branch: bool


class Program(NamedTuple):
    """Statements, and runs of them."""

    steps: tuple[Step, ...]
    runs: tuple[Run, ...]


# -- making programs --------------------------------------------------------------------------------------------------

_NUMBERS = (0.5, 1.0, 2.0, 3.0, -1.0)
_KINDS = {"add": 6, "sub": 2, "assign": 3, "read": 3, "sum": 3, "half": 2, "cond": 2, "loop": 2, "group": 1, "train": 2,
          "momentum": 1, "constant": 1, "function": 1}  # fmt: skip
_IN_PARTS = ("add", "sub", "assign", "read", "sum", "half", "train")
_ARE_TENSORS = ("add", "sub", "assign", "read", "sum", "half", "cond", "loop", "constant", "function")


def program(seed: int) -> Program:
    """A random program."""
    draw = random.Random(seed)
    is_chained = draw.random() < 0.9
    steps = _scope(draw, draw.randint(4, 9), tuple(_KINDS), is_chained, inner=False)
    runs = [
        Run(tuple(sorted(draw.sample(range(len(steps)), draw.randint(1, min(3, len(steps)))))), draw.random() < 0.5)
    ]
    runs += [runs[0]._replace(branch=draw.random() < 0.5), Run((), True)][: draw.randint(0, 2)]
    runs += [Run((draw.randrange(len(steps)), len(steps) - 1), draw.random() < 0.5)]
    return Program(steps, tuple(runs))


def _scope(draw: random.Random, count: int, kinds: tuple[str, ...], is_chained: bool, inner: bool) -> tuple[Step, ...]:
    steps: list[Step] = []
    while len(steps) < count:
        kind = draw.choices(kinds, [_KINDS[kind] for kind in kinds])[0]
        tensors = [i for i, step in enumerate(steps) if step.kind in _ARE_TENSORS]
        takes = tuple(draw.sample(tensors, min(len(tensors), draw.randint(0, 2))))
        if is_chained:
            waits = (len(steps) - 1,) if steps else ()
        else:
            waits = tuple(i for i in range(len(steps)) if draw.random() < 0.3)
        parts: tuple[tuple[Step, ...], ...] = ()
        if kind in ("cond", "loop", "function"):
            width = 2 if kind == "cond" else 1
            parts = tuple(_scope(draw, draw.randint(1, 3), _IN_PARTS, draw.random() < 0.9, True) for _ in range(width))
        if kind == "group" and not steps:
            continue
        steps.append(Step(kind, takes, waits, draw.randrange(VARIABLES), draw.choice(_NUMBERS), parts))
    return tuple(steps)


# -- running them by TensorFlow's names -------------------------------------------------------------------------------


def results(program: Program, tf: Any, function: Any, config: Any = None) -> list[list[float | None]]:
    """The results of each run: the fetches, then the variables' values.

    Args:
        program: the program.
        tf: the names of TensorFlow 1.
        function: `tf.function`.
        config: of the session.
    """
    with tf.Graph().as_default():
        variables = [tf.get_variable(f"v{i}", initializer=tf.constant(float(i))) for i in range(VARIABLES)]
        branch = tf.placeholder(tf.bool, [])
        made = _build(program.steps, tf, function, variables, branch)
        start = tf.global_variables_initializer()
        found = []
        with tf.Session(config=config) as session:
            session.run(start)
            for run in program.runs:
                fetches = [made[i] for i in run.fetches] or [start]
                values = session.run(fetches, {branch: run.branch})
                after = session.run(variables)
                found.append([None if v is None else float(v) for v in values] + [float(v) for v in after])
    return found


def _build(steps: tuple[Step, ...], tf: Any, function: Any, variables: list[Any], branch: Any) -> list[Any]:
    made: list[Any] = []
    for step in steps:
        with tf.control_dependencies([made[i] for i in step.waits]):
            made.append(_made(step, made, tf, function, variables, branch))
    return made


def _made(step: Step, made: list[Any], tf: Any, function: Any, variables: list[Any], branch: Any) -> Any:
    variable, number = variables[step.variable], step.number
    taken = [made[i] for i in step.takes]

    def total(first: Any) -> Any:
        for x in taken:
            first = first + x
        return first

    def part(i: int) -> Any:
        return tf.identity(_result(_build(step.parts[i], tf, function, variables, branch), step.parts[i], tf))

    if step.kind in ("add", "sub"):
        return {"add": tf.assign_add, "sub": tf.assign_sub}[step.kind](variable, total(tf.constant(number)))
    if step.kind == "assign":
        return tf.assign(variable, total(variable * 0.5 + number))
    if step.kind == "read":
        return total(variable.read_value())
    if step.kind == "sum":
        return total(variable + number)
    if step.kind == "half":
        return total(variable * 0.5)
    if step.kind == "constant":
        return tf.constant(number)
    if step.kind == "group":
        return tf.group(*[made[i] for i in step.waits or (0,)])
    if step.kind == "cond":
        return tf.cond(branch, lambda: part(0), lambda: part(1))
    if step.kind == "function":
        return function(lambda: part(0))()
    if step.kind == "loop":

        def body(i: Any, s: Any) -> Any:
            inside = part(0)
            with tf.control_dependencies([inside]):
                return tf.identity(i + 1), s + inside

        last = tf.while_loop(lambda i, s: i < int(abs(number)), body, [tf.constant(0), tf.constant(0.0)])
        return tf.cast(last[0], tf.float32) * 0.0 + last[1]
    loss = tf.square(variable - number)
    if step.kind == "train":
        return tf.train.GradientDescentOptimizer(0.25).minimize(loss, var_list=[variable])
    return tf.train.MomentumOptimizer(0.25, 0.5).minimize(loss, var_list=[variable])


def _result(made: list[Any], steps: tuple[Step, ...], tf: Any) -> Any:
    """The result of a part: its last tensor, after its last statement."""
    tensors = [x for x, step in zip(made, steps, strict=True) if step.kind in _ARE_TENSORS]
    with tf.control_dependencies([made[-1]]):
        return tensors[-1] + 0.0 if tensors else tf.constant(0.0) + 0.0


# -- results that are allowed -----------------------------------------------------------------------------------------


class Node:
    """A single operation of a run: it computes a value of other nodes, or reads or assigns a variable."""

    def __init__(
        self, kind: str, takes: list[Node], waits: list[Node], compute: Any = None, variables: Any = ()
    ) -> None:
        self.kind, self.takes, self.waits, self.compute, self.variables = kind, takes, waits, compute, variables
        self.is_operation = False  # it has no result


class Unrolled:
    """A run as single operations; it covers the part of TensorFlow's semantics that programs use."""

    def __init__(self, branch: bool) -> None:
        self._branch = branch
        self._control: list[Node] = []
        self._done: list[Node] | None = None  # the reads and updates of the function that is being called

    def pure(self, compute: Any, *takes: Node) -> Node:
        return Node("pure", list(takes), list(self._control), compute)

    def read(self, variable: Any, behind: list[Node] | None = None) -> Node:
        return self._effect(Node("read", [], [*self._control, *(behind or ())], None, (variable,)))

    def update(self, variables: tuple[Any, ...], compute: Any, *takes: Node) -> Node:
        return self._effect(Node("update", list(takes), list(self._control), compute, variables))

    def _effect(self, node: Node) -> Node:
        """Order a node behind earlier reads and updates of its variables, as a function does."""
        if self._done is not None:
            others = (other for other in self._done if set(other.variables) & set(node.variables))
            node.waits += [other for other in others if "update" in (node.kind, other.kind)]
            self._done.append(node)
        return node

    def scope(self, steps: tuple[Step, ...], control: list[Node]) -> list[Any]:
        outside = self._control
        made: list[Any] = []
        for number, step in enumerate(steps):
            self._control = [*control, *(made[i] for i in step.waits)]
            made.append(self._made(step, made, (id(steps), number)))
        self._control = outside
        return made

    def tensor(self, value: Any) -> Node:
        """A value as an operand: for an assignment, a read of its variable."""
        if value.is_operation:
            return Node("pure", [], [value], lambda: None)
        return self.read(value.variables[0], [value]) if value.kind == "update" else value

    def _made(self, step: Step, made: list[Any], name: Any) -> Any:
        number, variable = step.number, step.variable

        def total(first: Node) -> Node:
            taken = [self.tensor(made[i]) for i in step.takes]
            return self.pure(lambda *xs: sum(xs), first, *taken) if taken else first

        def part(i: int) -> Node:
            inside = self.scope(step.parts[i], list(self._control))
            outside, self._control = self._control, [*self._control, inside[-1]]
            tensors = [x for x, s in zip(inside, step.parts[i], strict=True) if s.kind in _ARE_TENSORS]
            found = self.pure(lambda x: x, self.tensor(tensors[-1])) if tensors else self.pure(lambda: 0.0)
            self._control = outside
            return self.pure(lambda x: x, found)

        if step.kind in ("add", "sub"):
            sign = 1.0 if step.kind == "add" else -1.0
            return self.update((variable,), lambda old, x: (old + sign * x,), total(self.pure(lambda: number)))
        if step.kind == "assign":
            first = self.pure(lambda x: x * 0.5 + number, self.read(variable))
            return self.update((variable,), lambda old, x: (x,), total(first))
        if step.kind in ("read", "sum", "half"):
            of = {"read": lambda x: x, "sum": lambda x: x + number, "half": lambda x: x * 0.5}[step.kind]
            return total(self.pure(of, self.read(variable)))
        if step.kind == "constant":
            return self.pure(lambda: number)
        if step.kind == "group":
            return Node("pure", [], [*self._control, *(made[i] for i in step.waits or (0,))], lambda: None)
        if step.kind == "cond":
            return part(0 if self._branch else 1)
        if step.kind == "function":
            outside, self._done = self._done, []
            found = part(0)
            updates, self._done = [node for node in self._done if node.kind == "update"], outside
            return Node("pure", [found], updates, lambda x: x)
        if step.kind == "loop":
            return self._looped(int(abs(number)), part)
        gradient = self.pure(lambda x: 2.0 * (x - number), self.read(variable))
        if step.kind == "train":
            return _operation(self.update((variable,), lambda old, g: (old - 0.25 * g,), gradient))
        slot = ("momentum", name)

        def apply(old: float, kept: float, g: float) -> tuple[float, float]:
            new = kept * 0.5 + g
            return old - 0.25 * new, new

        return _operation(self.update((variable, slot), apply, gradient))

    def _looped(self, count: int, part: Any) -> Node:
        index, total = self.pure(lambda: None), self.pure(lambda: 0.0)
        for _ in range(count):
            outside, self._control = self._control, [*self._control, index]
            inside = part(0)
            self._control.append(inside)
            index, total = self.pure(lambda _: None, index), self.pure(lambda a, b: a + b, total, inside)
            self._control = outside
        return Node("pure", [total], [*self._control, index], lambda x: x)


def _operation(node: Node) -> Node:
    node.is_operation = True
    return node


class TooOpen(Exception):
    """The error that too many orders are allowed to try them all."""


def allowed(program: Program) -> list[set[tuple[Any, ...]]]:
    """The possible results of each run, in the form of `results`, for all orders of the runs before it.

    Raises:
        TooOpen: there are too many orders.
    """
    states: set[tuple[Any, ...]] = {_state({i: float(i) for i in range(VARIABLES)})}
    found = []
    for run in program.runs:
        given: set[tuple[Any, ...]] = set()
        after: set[tuple[Any, ...]] = set()
        for state in states:
            for values, new in _outcomes(program, run, dict(state)):
                given.add((*values, *(round(new[i], 4) for i in range(VARIABLES))))
                after.add(_state(new))
        if len(after) > 50:
            raise TooOpen
        found.append(given)
        states = after
    return found


def _state(values: dict[Any, float]) -> tuple[Any, ...]:
    return tuple(sorted(values.items(), key=repr))


def _outcomes(
    program: Program, run: Run, state: dict[Any, float]
) -> Iterator[tuple[tuple[Any, ...], dict[Any, float]]]:
    if not run.fetches:
        yield (None,), {i: float(i) for i in range(VARIABLES)}
        return
    unrolled = Unrolled(run.branch)
    made = unrolled.scope(program.steps, [])
    fetched = [unrolled.tensor(made[i]) for i in run.fetches]
    nodes = _needed(fetched)
    behind = _orders(nodes)
    for number, order in enumerate(_linear(behind)):
        if number == ORDERS:
            raise TooOpen
        values: dict[int, Any] = {}
        new = dict(state)
        for node in order:
            taken = [_value(x, values) for x in node.takes]
            if node.kind == "read":
                values[id(node)] = new.get(node.variables[0], 0.0)
            else:
                found = node.compute(*(new.get(v, 0.0) for v in node.variables), *taken)
                new.update(zip(node.variables, found, strict=True))
                values[id(node)] = None
        yield tuple(_rounded(_value(x, values)) for x in fetched), new


def _rounded(x: Any) -> Any:
    return None if x is None else round(x, 4)


def _value(node: Node, values: dict[int, Any]) -> Any:
    if id(node) not in values:
        values[id(node)] = node.compute(*(_value(x, values) for x in node.takes))
    return values[id(node)]


def _needed(targets: list[Node]) -> list[Node]:
    """All nodes that some nodes need, each after the nodes that it needs itself."""
    found: dict[int, Node] = {}

    def visit(node: Node) -> None:
        if id(node) not in found:
            for other in (*node.takes, *node.waits):
                visit(other)
            found[id(node)] = node

    for node in targets:
        visit(node)
    return list(found.values())


def _orders(nodes: list[Node]) -> dict[Node, set[Node]]:
    """The reads and updates that come before each of them."""
    before: dict[int, set[Node]] = {}
    for node in nodes:
        own: set[Node] = set()
        for other in (*node.takes, *node.waits):
            own |= before[id(other)]
            if other.kind != "pure":
                own.add(other)
        before[id(node)] = own
    return {node: before[id(node)] for node in nodes if node.kind != "pure"}


def _linear(behind: dict[Node, set[Node]]) -> Iterator[list[Node]]:
    """All orders in which no node comes before one that it waits for."""
    nodes = list(behind)

    def extend(done: list[Node], left: list[Node]) -> Iterator[list[Node]]:
        if not left:
            yield list(done)
            return
        known = set(done)
        ready = [node for node in left if behind[node] <= known]
        if len(ready) > EFFECTS:
            raise TooOpen
        reads = [node for node in ready if node.kind == "read" and _is_quiet(node, left, behind)]
        for node in reads[:1] or ready:
            done.append(node)
            yield from extend(done, [other for other in left if other is not node])
            done.pop()

    yield from extend([], nodes)


def _is_quiet(read: Node, left: list[Node], behind: dict[Node, set[Node]]) -> bool:
    """Whether no update of the read's variable that could precede it is left: then only one place matters."""
    return not any(
        node.kind == "update" and read.variables[0] in node.variables and read not in behind[node] for node in left
    )


# -- comparing --------------------------------------------------------------------------------------------------------


class Verdict(NamedTuple):
    """The end of a program.

    Attributes:
        is_open: whether several results are allowed.
        updates: the most updates of one variable in a run.
        problem: the difference; "" if there is none.
    """

    is_open: bool
    updates: int
    problem: str


def judge(program: Program, found: dict[str, list[list[float | None]]]) -> Verdict:
    """Compare the results of libraries with the allowed results.

    Raises:
        TooOpen: there are too many orders.
    """
    options = allowed(program)
    problems = []
    for who, runs in found.items():
        for number, (values, choices) in enumerate(zip(runs, options, strict=True)):
            if not any(_agree(values, choice) for choice in choices):
                problems.append(f"{who}, run {number}: {values} is none of {sorted(choices, key=repr)[:4]}")
    updates = max((_updates(program, run) for run in program.runs if run.fetches), default=0)
    return Verdict(any(len(choices) > 1 for choices in options), updates, "; ".join(problems))


def _agree(values: list[Any], choice: tuple[Any, ...]) -> bool:
    if [v is None for v in values] != [c is None for c in choice]:
        return False
    pairs = [(v, c) for v, c in zip(values, choice, strict=True) if v is not None]
    return all(abs(v - c) <= 1e-3 * max(1.0, abs(c)) for v, c in pairs)


def _updates(program: Program, run: Run) -> int:
    unrolled = Unrolled(run.branch)
    made = unrolled.scope(program.steps, [])
    nodes = _needed([unrolled.tensor(made[i]) for i in run.fetches])
    return max(Counter(v for node in nodes if node.kind == "update" for v in node.variables).values(), default=0)


def by_tensorflow(program: Program) -> list[list[float | None]]:
    """The results of TensorFlow, with the control flow of TensorFlow 1.

    Its graph optimizer is off: it rewrites some graphs so that a read follows an assignment that waits for the read.
    """
    import tensorflow

    v1 = tensorflow.compat.v1
    config = v1.ConfigProto()
    config.graph_options.rewrite_options.disable_meta_optimizer = True
    v1.disable_control_flow_v2()
    try:
        return results(program, v1, tensorflow.function, config)
    finally:
        v1.enable_control_flow_v2()


def by_dovetail(program: Program, engine: str) -> list[list[float | None]]:
    """The results of Dovetail on an engine."""
    import dovetail
    from dovetail.compat import tensorflow as tf

    with dovetail.engine(engine):
        return results(program, tf.compat.v1, tf.function)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=2000, help="of programs (2000)")
    parser.add_argument("--first", type=int, default=0, help="the first seed (0)")
    parser.add_argument("--engines", nargs="+", default=["numpy"], help="on which they run (numpy)")
    options = parser.parse_args()
    counts: Counter[str] = Counter()
    for seed in range(options.first, options.first + options.count):
        made = program(seed)
        try:
            allowed(made)
        except TooOpen:
            counts["too open"] += 1
            continue
        found = {"tensorflow": by_tensorflow(made)}
        for engine in options.engines:
            try:
                found[f"dovetail on {engine}"] = by_dovetail(made, engine)
            except Exception as error:
                print(f"seed {seed}: {engine}: {type(error).__name__}: {error}", flush=True)
                counts["failed"] += 1
        verdict = judge(made, found)
        counts["programs"] += 1
        counts["one result and two updates or more"] += not verdict.is_open and verdict.updates > 1
        counts["one result"] += not verdict.is_open
        if verdict.problem:
            counts["wrong"] += 1
            print(f"seed {seed}: {verdict.problem}", flush=True)
    print(", ".join(f"{name}: {count}" for name, count in counts.items()))
    return 1 if counts["wrong"] or counts["failed"] else 0


if __name__ == "__main__":
    np.seterr(all="ignore")
    sys.exit(main())
