"""Engine: the interface through which a library computes Dovetail's ops, and the parts that all engines share.

An engine compiles segments of programs (`Engine.compile`), and has the few methods below.  Most have a table of rules
(op name → function on the library's own arrays, arguments in the op's parameter order).  Single calls run these rules,
and programs are compiled from them.  Everything else (promotion, checks, gradients, graphs, passes) is written once,
above.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from dovetail.core import dtypes
from dovetail.core.base.cache import Cache, Computed
from dovetail.core.base.errors import LIBRARIES
from dovetail.core.base.table import OPS
from dovetail.core.engines.accumulation import ACCUMULATING, HALVES, in_float32
from dovetail.core.engines.around import Around
from dovetail.core.engines.collectives import COLLECTIVES
from dovetail.core.engines.control_flow import Branches
from dovetail.core.engines.engine_arrays import Arrays
from dovetail.core.engines.engine_autodiff import Autodiff
from dovetail.core.engines.engine_devices import Devices
from dovetail.core.engines.engine_memory import Books, Memory
from dovetail.core.engines.engine_threads import Threads
from dovetail.core.engines.engine_tracing import Tracing
from dovetail.core.engines.host_calls import HostCalls
from dovetail.core.rules import EAGER, NATIVE, OUT, OVER, PROGRAM, Rule, Rules

if TYPE_CHECKING:
    from dovetail.core.values.variable import Variable

# The file name of the text of compiled programs, and the name of their global that maps line numbers to operations.
FILE = "<dovetail program>"
OPERATIONS = "operations"


class Segment(Protocol):
    """The input of a compilation: a graph, as a function from native arrays to native arrays without side effects.

    Attributes:
        graph: its computation.  No operation of it reads or assigns a variable.
        inputs, outputs: the graph's; the new values of variables are the last outputs.
        device: the device of the arguments, the results and all values in between; None if the engine has only one
            device, or if it computes on the device of the arguments.
        variants: the names of the preferred variants, of rules or of the engine's compilation.
        donated: the numbers of the inputs whose arrays may be consumed, so that results reuse their memory.
        weights: the numbers of the inputs that are values of variables, which the program only reads, and the
            variables.  Nobody writes to such an array while the executable refers to it; a variable that is assigned
            then gets another one.
        function: the graph as a straight-line Python function that calls the engine's rules, made on first use.  If
            the engine has out rules, the function takes arrays to write into after the inputs.
    """

    @property
    def graph(self) -> Any: ...
    @property
    def inputs(self) -> Sequence[Any]: ...
    @property
    def outputs(self) -> Sequence[Any]: ...
    @property
    def device(self) -> str | None: ...
    @property
    def variants(self) -> tuple[str, ...]: ...
    @property
    def donated(self) -> tuple[int, ...]: ...
    @property
    def weights(self) -> Mapping[int, Variable]: ...
    @property
    def function(self) -> Callable[..., Any]: ...
    def to(self, format: str, known: Mapping[int, Any] = ...) -> bytes: ...
    def file(self, format: str, known: Mapping[int, Any] = ...) -> bytes | None: ...


class Engine(Arrays, Memory, Devices, Threads, Branches, Autodiff, Tracing, HostCalls):
    """One library that computes.

    Its base classes have the methods by subject; an engine is one object.

    Attributes:
        name: its name for users.
        rules: its table of rules.  Composites without a rule run their body.
        eager_rules: the rules of single calls from Python, from the table; None for an op without one.
        out_rules: the ops with a rule that can write to a given array, called as rule(*args, out=array).
        fresh: ops without an out rule whose rules never return a view of an argument.
        written: the ops that can write over arguments, with the parameters that they write over, from the table.
        native: the same engine for its users' own values: a view of the same table.
        control: its control flow, which runs branches and loops.
        specializes: whether a program is compiled for the shapes of its inputs, and once more for others.
        static_shapes: whether every shape in a compiled program must be known before it runs.
        compiles_programs: whether `compile` makes one executable of a whole program, which plans its own memory; if
            not, a program runs rule by rule.
        fuses_elementwise: whether elementwise ops after the op that makes their arguments cost next to nothing.
        consumes: whether the executable consumes the arguments that are donated to it.
        accumulates: ops of `ACCUMULATING` whose rules accumulate halves in float32 by themselves.
        strategies: a name → variants of its rules or of its compilation that go well together.  The measurer tries
            them in this order; the first, "", needs the least time.
        eager: the name of another engine, if the library only compiles whole graphs: that engine computes single
            calls, holds all values, and runs graphs that this one does not claim.
        holder: the engine named by `eager`, else the engine itself.  Arguments and results of executables are its
            arrays.
        errors: the library's errors for arguments that do not fit; other errors (out of memory, from a signal's
            handler) stay as they are.
    """

    name: ClassVar[str]
    specializes: ClassVar[bool] = False
    static_shapes: ClassVar[bool] = False
    compiles_programs: ClassVar[bool] = False
    fuses_elementwise: ClassVar[bool] = False
    consumes: ClassVar[bool] = False
    accumulates: ClassVar[Collection[str]] = ()
    strategies: ClassVar[Mapping[str, tuple[str, ...]]] = {"": ()}
    eager: ClassVar[str | None] = None
    errors: ClassVar[tuple[type[Exception], ...]] = LIBRARIES

    def __init__(self, rules: Rules) -> None:
        if type(self).dtype is not Engine.dtype and type(self).native_dtype_of is Engine.native_dtype_of:
            self.native_dtype_of = lambda value: self.native_dtype(self.dtype(value))
        if not hasattr(type(self), "array_key"):
            self.array_key = lambda value: (self.shape(value), self.native_dtype_of(value))
        self.holder: Engine = self  # the registry sets another one
        self.control = self._make_control()
        self.control.host = self._host_control()
        if not rules.is_native:
            own: dict[str, Rule] = {
                "XlaOptimizationBarrier": tuple,
                **self._host_rules(),
                **self.control.rules(),
            }
            rules = rules.completed(own, self._finished)
            self._own_rules = frozenset(own)
        self.rules = rules
        self.eager_rules = rules.layer(EAGER)
        self.out_rules = rules.names(OUT)
        self.fresh = frozenset(rules.fresh)
        self.written = {name: given for name, given in rules.written.items() if name in rules.names(OVER)}
        native_types = {name: self.native_dtype(d) for name, d in dtypes.ALL.items()}
        self.direct = {
            accepts: frozenset(native_types[name] for name in names if name in native_types)
            for accepts, names in _DIRECT.items()
        }
        self._absorbed = {
            native_types[name]: kinds for names, kinds in _ABSORBED for name in names if name in native_types
        }
        self._numbers: Cache[Any, Any] = Cache(500)
        self.around = Around(self)
        self.books = Books()
        self.native = self if rules.is_native else self._make_native(rules.on_native_values())

    def _make_native(self, rules: Rules) -> Engine:
        """Make the engine for its users' own values; override this if `__init__` takes more than the rules."""
        return type(self)(rules)

    def _finished(self, layer: str, name: str, rule: Rule) -> Rule:
        """The form of a rule that a layer calls."""
        if name in ACCUMULATING and name not in self.accumulates:
            halves = {self.native_dtype(d): d for d in map(dtypes.as_dtype, ("float32", *HALVES))}
            float32, *narrow = halves
            cast = lambda x, native_dtype: self.rules["Cast"](x, halves[native_dtype])  # noqa: E731
            rule = in_float32(rule, OPS[name].tensor_places, self.native_dtype_of, cast, narrow, float32, self.write)
        if layer == NATIVE and (name in self.rules.by_table or name in COLLECTIVES):
            rule = self._differentiated(name, rule)
        if layer == EAGER:
            return self.eager_rule(rule)
        return self.native_rule(name, rule) if layer == NATIVE else rule

    # programs

    @property
    def claimed(self) -> Collection[str]:
        """The names of the ops that its programs can hold; other composites are inlined."""
        return self.rules.names()

    def claims(self, operation: Any) -> Collection[str]:
        """`claimed`, and the operation's type if its op has rules for some operations only and one fits this one."""
        claimed = self.claimed
        fits = operation.type not in claimed and self.rules.fitting(operation) is not None
        return {*claimed, operation.type} if fits else claimed

    def compile(self, segment: Segment) -> Callable[..., Any]:
        """Compile a segment to an executable, as fast as the library can make it; here, a call of rule after rule.

        An engine that only compiles whole graphs reads `segment.graph`, and needs no rules; see `eager`.

        Returns:
            A function of the native arrays for `segment.inputs`, which returns a tuple of the arrays for
            `segment.outputs`.  If the engine consumes arguments, the function takes a list `into`.  The list has the
            tuple as soon as the results exist, whatever exception comes before the call is over.  If the first call
            would take long, the function has a method `prepare()`, which does the long part beforehand, in any thread.
            If the library makes a program of its own, the function has a method `source()`, which gives its text.  If
            the library's traces have names of instructions, it has a method `instructions()`, which gives for each
            name the scopes that the instruction computes, see `scoped`, and the bytes of its result.
        """
        return segment.function

    def rule_for(self, operation: Any, layer: str = PROGRAM, preferred: Collection[str] = ()) -> Rule | None:
        """The rule for an operation of a program: the first that fits it; None if there is none.

        Args:
            operation: an operation of the graph that is lowered.
            layer: the program's layer that suits the place of the results.
            preferred: the names of the variants that win over others.
        """
        variant = self.rules.fitting(operation, layer, preferred)
        if variant is None:
            return None
        quicker: Rule | None = getattr(variant.rule, "without_halves", None)
        return variant.rule if quicker is None or any(t.dtype in HALVES for t in operation.inputs) else quicker

    def rule_choices(self, graph: Any, variants: Collection[str]) -> frozenset[Any]:
        """The non-default rules that `variants` would select for a graph, as a set that can be compared."""
        operations = [op for part in graph.everywhere() for op in part.operations]
        choices = ((op, self.rules.fitting(op, preferred=variants)) for op in operations)
        return frozenset((op, variant.name) for op, variant in choices if variant is not None and variant.is_further)

    def version(self) -> str:
        """The library's version."""
        raise NotImplementedError

    def eager_rule(self, rule: Rule) -> Rule:
        """The form of a rule, or of a program of several, for single calls from Python."""
        return rule

    def native_rule(self, name: str, rule: Rule) -> Rule:
        """The form of an op's rule for values of the library's own users."""
        return rule

    def refuse(self, problem: str) -> None:
        """Make each later computation raise a RuntimeError; earlier results can still be read."""

        def refused(*args: Any, **options: Any) -> Any:
            error = RuntimeError(problem)
            error.dovetail = True  # type: ignore[attr-defined]  # no op adds its name
            raise error

        for engine in (self, self.native):
            engine.around.refused = refused
            methods = dict.fromkeys(("asarray", "copy", "allocate", "from_dlpack", "compile"), lambda run: refused)
            engine.around.push("refusal", {**methods, "eager_rules": lambda rules: Computed(lambda name: refused)})

    def __repr__(self) -> str:
        return f"<engine {self.name}>"


_DIRECT = {
    "any": tuple(dtypes.ALL),
    "real": ("bool", *dtypes.INTEGERS, *dtypes.FLOATS),
    "number": (*dtypes.INTEGERS, *dtypes.FLOATS, *dtypes.COMPLEXES),
    "ordered": (*dtypes.INTEGERS, *dtypes.FLOATS),
    "inexact": (*dtypes.FLOATS, *dtypes.COMPLEXES),
    "float": dtypes.FLOATS,
    "integer": dtypes.INTEGERS,
    "index": dtypes.INTEGERS,
    "bits": ("bool", *dtypes.INTEGERS),
    "bool": ("bool",),
}

_ABSORBED = [  # dtypes, and the Python numbers that take their type
    (dtypes.INTEGERS, (int,)),
    (dtypes.FLOATS, (int, float)),
    (dtypes.COMPLEXES, (int, float, complex)),
]
