"""Engine: the interface through which a library computes Dovetail's ops, and the parts that all engines share.

An engine compiles segments of programs (`Engine.compile`), and has the few methods below.  Most have a table of rules
(op name → function on the library's own arrays, arguments in the op's parameter order).  Single calls run these rules,
and programs are compiled from them.  Everything else (promotion, checks, gradients, graphs, passes) is written once,
above.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np

from dovetail.core import dtypes
from dovetail.core.accumulation import ACCUMULATING, HALVES, in_float32
from dovetail.core.allocation import SMALLEST
from dovetail.core.around import Around
from dovetail.core.cache import Cache, Computed
from dovetail.core.collectives import COLLECTIVES
from dovetail.core.control_flow import Control, HostControl, Values
from dovetail.core.devices import nowhere
from dovetail.core.dtypes import DType
from dovetail.core.errors import LIBRARIES
from dovetail.core.host_calls import HostCalls
from dovetail.core.rules import EAGER, NATIVE, OUT, OVER, PROGRAM, Rule, Rules
from dovetail.core.table import OPS

if TYPE_CHECKING:
    from dovetail.core.routines import Routines
    from dovetail.core.spec import TensorSpec
    from dovetail.core.variable import Variable

# The file name of the text of compiled programs, and the name of their global that maps line numbers to operations.
FILE = "<dovetail program>"
OPERATIONS = "operations"
_NOT_EXCHANGED: tuple[type[Exception], ...] = (BufferError,)  # DLPack raises it, besides the libraries' errors


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


class Engine(HostCalls):
    """One library that computes.

    Attributes:
        name: its name for users.
        rules: its table of rules.  Composites without a rule run their body.
        eager_rules: the rules of single calls from Python, from the table; None for an op without one.
        out_rules: the ops with a rule that can write to a given array, called as rule(*args, out=array).
        fresh: ops without an out rule whose rules never return a view of an argument.
        written: the ops that can write over arguments, with the parameters that they write over, from the table.
        direct: per accepted kind, the native dtypes that need no conversion; the fast paths of calls check these.
        array_key: (array) → a key of its shape and dtype, for caches; a C function if possible.
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
        allocates_results: whether large results, too, are written into arrays of `allocate`, where a rule can; other
            rules with large results get the form of `allocating`.
        lends: whether `lend` makes arrays in memory of others.
        forks: whether a process that is forked after the library was used can use it, too.
        eager: the name of another engine, if the library only compiles whole graphs: that engine computes single
            calls, holds all values, and runs graphs that this one does not claim.
        holder: the engine named by `eager`, else the engine itself.  Arguments and results of executables are its
            arrays.
        prefers_cpu: whether the library makes new values on the processor, though it has a GPU.
        device_types: the types of devices that this engine alone has, as "fpga"; a device of such a type means the
            engine.  "auto" never chooses such an engine.
        errors: the library's errors for arguments that do not fit; other errors (out of memory, from a signal's
            handler) stay as they are.
        own_rules: the ops whose rules come from no table: they run branches, loops and Python's functions.
    """

    name: ClassVar[str]
    array_key: Callable[[Any], Any]
    specializes: ClassVar[bool] = False
    static_shapes: ClassVar[bool] = False
    compiles_programs: ClassVar[bool] = False
    fuses_elementwise: ClassVar[bool] = False
    consumes: ClassVar[bool] = False
    accumulates: ClassVar[Collection[str]] = ()
    strategies: ClassVar[Mapping[str, tuple[str, ...]]] = {"": ()}
    allocates_results: bool = False
    lends: ClassVar[bool] = False
    forks: ClassVar[bool] = True
    eager: ClassVar[str | None] = None
    prefers_cpu: ClassVar[bool] = False
    device_types: ClassVar[tuple[str, ...]] = ()
    errors: ClassVar[tuple[type[Exception], ...]] = LIBRARIES

    def __init__(self, rules: Rules) -> None:
        if type(self).dtype is not Engine.dtype and type(self).native_dtype_of is Engine.native_dtype_of:
            self.native_dtype_of = lambda value: self.native_dtype(self.dtype(value))
        if not hasattr(type(self), "array_key"):
            self.array_key = lambda value: (self.shape(value), self.native_dtype_of(value))
        self.holder: Engine = self  # the registry sets another one
        self.control = self.make_control()
        if not rules.is_native:
            own: dict[str, Rule] = {
                "XlaOptimizationBarrier": tuple,
                **self.host_rules(),
                **self.control.rules(),
            }
            rules = rules.completed(own, self._finished)
            self.own_rules = frozenset(own)
        self.rules = rules
        self.eager_rules = rules.layer(EAGER)
        self.out_rules = rules.names(OUT)
        self.fresh = frozenset(rules.fresh)
        self.written = {name: given for name, given in rules.written.items() if name in rules.names(OVER)}
        native_types = {name: self.native_dtype(d) for name, d in dtypes.ALL.items() if self.has_dtype(d)}
        self.direct = {
            accepts: frozenset(native_types[name] for name in names if name in native_types)
            for accepts, names in _DIRECT.items()
        }
        self._absorbed = {
            native_types[name]: kinds for names, kinds in _ABSORBED for name in names if name in native_types
        }
        self._numbers: Cache[Any, Any] = Cache(500)
        self.around = Around(self)
        self.refused: Callable[[], Any] | None = None  # raises an error if the engine cannot be used
        self.allocator: Any = None  # of the program, which `accounting` uses, as the two below
        self.accounts: dict[str, Any] = {}
        self.lent: set[Any] = set()
        self.native = self if rules.is_native else self.make_native(rules.on_native_values())

    def make_native(self, rules: Rules) -> Engine:
        """Make the engine for its users' own values; override this if `__init__` takes more than the rules."""
        return type(self)(rules)

    def _finished(self, layer: str, name: str, rule: Rule) -> Rule:
        """The form of a rule that a layer calls."""
        if name in ACCUMULATING and name not in self.accumulates:
            halves = {self.native_dtype(d): d for d in map(dtypes.as_dtype, ("float32", *HALVES)) if self.has_dtype(d)}
            float32, *narrow = halves
            cast = lambda x, native_dtype: self.rules["Cast"](x, halves[native_dtype])  # noqa: E731
            rule = in_float32(rule, OPS[name].tensor_places, self.native_dtype_of, cast, narrow, float32, self.write)
        if layer == NATIVE and name in COLLECTIVES:
            rule = self.differentiated(name, rule)
        if layer == EAGER:
            return self.eager_rule(rule)
        return self.native_rule(name, rule) if layer == NATIVE else rule

    def add_rule(self, name: str, rule: Rule) -> None:
        """Add the rule of an op that a program registered, also for values of the library's own users."""
        self.rules.add(name, rule)

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

    def scoped(self, name: str, rule: Rule) -> Rule:
        """A rule whose part of a compiled program has a name in the library's traces, if these tell names."""
        return rule

    def start_trace(self, folder: str) -> bool:
        """Let the library record a trace of its programs, to write it into a folder; False if it has none now."""
        return False

    def stop_trace(self) -> None:
        """End the trace, which is then in a file `.xplane.pb` below the folder."""

    def traced_as(self, name: str) -> AbstractContextManager[Any]:
        """A span of this name in the trace, as long as the context."""
        return nullcontext()

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
        found = ((op, self.rules.fitting(op, preferred=variants)) for op in operations)
        return frozenset((op, variant.name) for op, variant in found if variant is not None and variant.is_further)

    def routines(self, segment: Segment, arguments: Callable[[], Sequence[Any]]) -> Routines:
        """The library's functions that the operations of a segment call, and the routines that it reports of them.

        `dovetail.explain` asks for them.

        Args:
            segment: the segment.
            arguments: gives arrays for its function, which may then run once.

        Returns:
            Each operation of which the library reports something, or the path of its scopes, with its calls in order.
        """
        return {}

    def settings(self) -> Mapping[str, Callable[[], AbstractContextManager[Any]]]:
        """Settings of the library with which it computes convolutions in another way: name → a scope of the setting."""
        return {}

    # differences between libraries

    def version(self) -> str:
        """The library's version."""
        raise NotImplementedError

    def devices(self) -> list[str]:
        """The devices it can compute on here, best first ("gpu:0", "cpu:0")."""
        return ["cpu:0"] if self.holder is self else self.holder.devices()

    def device_of(self, value: Any) -> str:
        return "cpu:0"

    def put_on(self, value: Any) -> str | None:
        """The device that an array was put on; None if it goes along with the arrays that it meets."""
        return self.device_of(value)

    @functools.cached_property
    def has_devices(self) -> bool:
        """Whether there are several devices."""
        return len(self.devices()) > 1

    def on_device(self, device: str) -> AbstractContextManager[Any]:
        """The context of one call that makes new values on a device; `asarray` also asks `device_for`."""
        return nullcontext()

    def to_device(self, value: Any, device: str) -> Any:
        """Move a native array to one of the devices, where it stays."""
        return value

    def beside(self, value: Any, other: Any) -> Any:
        """Move a native array to the device of another one of its shape, or divide it in the same way."""
        return self.to_device(value, self.device_of(other))

    def require_whole(self, value: Any) -> None:
        """Raise ValueError for an array that is divided among devices, so that nobody gathers it unasked."""

    def owns_type(self, kind: type) -> bool:
        """Whether values of this Python type are the library's arrays."""
        raise NotImplementedError

    def has_dtype(self, dtype: DType) -> bool:
        """Whether the library can hold this dtype."""
        return True

    def native_dtype(self, dtype: DType) -> Any:
        """The library's object for a dtype."""
        return dtype.numpy

    def asarray(self, value: Any, dtype: DType, device: str | None = None) -> Any:
        """A native array from NumPy arrays, Python numbers or nested lists, on a device if one is given."""
        raise NotImplementedError

    def argument(self, value: np.ndarray, dtype: DType) -> Any:
        """Convert a caller's array for a program with one place; the caller may change the array after the call."""
        return self.asarray(value, dtype)

    def to_numpy(self, value: Any) -> np.ndarray:
        """A NumPy array, without a copy where possible."""
        return np.asarray(value)

    shape: Callable[[Any], Any] = staticmethod(operator.attrgetter("shape"))  # an array's; None for unknown parts
    native_dtype_of = staticmethod(operator.attrgetter("dtype"))  # an array's dtype, as `native_dtype` gives it

    def dtype(self, value: Any) -> DType:
        return native_to_dtype(self.native_dtype_of(value))

    def allocate(self, shape: tuple[int, ...], dtype: DType, device: str | None = None) -> Any:
        """A native array with any contents, on a device if one is given, for a buffer or a large result."""
        raise NotImplementedError

    def into_allocated(self, name: str, rule: Rule, specs: Sequence[TensorSpec]) -> Rule:
        """The rule for single calls, which writes a large result into an array of `allocate`, if it can.

        Args:
            name: the op.
            rule: its rule for single calls.
            specs: the specs of the results.
        """
        if not self.allocates(specs):
            return rule
        if not self.fills(name, specs):
            return self.allocating(name, rule)
        out, shape, dtype, allocate = self.rules.layer(OUT)[name], specs[0].shape, specs[0].dtype, self.allocate
        return self.eager_rule(lambda *arrays: out(*arrays, out=allocate(shape, dtype)))  # type: ignore[arg-type]

    def allocates(self, specs: Sequence[TensorSpec]) -> bool:
        """Whether some of the results may be large, and are to be in memory of `allocate`."""
        return self.allocates_results and any(s.nbytes is None or s.nbytes >= SMALLEST for s in specs)

    def fills(self, name: str, specs: Sequence[TensorSpec]) -> bool:
        """Whether the op has one result, of known size, and a rule that writes it into a given array."""
        is_one = name in self.out_rules and not OPS[name].returns_tuple
        return is_one and specs[0].nbytes is not None

    def allocating(self, name: str, rule: Rule) -> Rule:
        """The form of a rule that makes large results itself, so that they are in memory like that of `allocate`."""
        return rule

    def memory_of(self, value: Any) -> tuple[Any, Any, int]:
        """The memory of an array: a key that all arrays in it share, the object that lives as long as it, its bytes."""
        return id(value), value, math.prod(self.shape(value)) * self.dtype(value).itemsize

    def lend(self, array: Any, released: Callable[[], None]) -> Any:
        """Another array in the memory of an array, which tells when neither it nor a view of it is left."""
        raise NotImplementedError

    def limit_memory(self, limit: int | None, device: str) -> bool:
        """Limit the bytes that the library takes on a device; False leaves the counting to Dovetail.

        Raises:
            NotImplementedError: the library takes memory by itself, and cannot be limited here.
        """
        return False

    def total_memory(self, device: str) -> int | None:
        """The bytes of a device, if the library can be limited to a part of them; else None."""
        return None

    def grow_memory(self, enable: bool, device: str) -> bool:
        """Let the library take memory of a device as it needs it, or all at once; False if it has no such setting."""
        return False

    def forget_peak(self, device: str) -> None:
        """Let the library's own figure of the most memory in use on a device begin at what is in use now."""

    def reported_memory(self, device: str) -> dict[str, int]:
        """The figures that the library reports of its memory on a device, by its names for them."""
        return {}

    def write(self, array: Any, values: Any) -> Any:
        """Write values into an array, and return it; only rules with `out=` need this."""
        array[...] = values
        return array

    def set_threads(self, count: int) -> bool:
        """Make the library compute with `count` threads; return False if it is too late, or impossible."""
        return False

    @property
    def thread_count(self) -> int:
        """The number of threads of the library, if that can change from call to call; else 0."""
        return 0

    def with_threads(self, count: int, run: Callable[[Any], Any], given: Any) -> Any:
        """Call a function while the library computes with `count` threads, if `thread_count` is not 0."""
        return run(given)

    def set_up_library(self) -> None:
        """Set up the library, if only Dovetail has imported it in this process."""

    def go_on_in_child(self) -> None:
        """Make the library work in this process, which was forked after the library was used."""

    def wait(self, value: Any) -> None:
        """Wait until an array has its numbers, if the library computes while Python goes on."""

    def to_ints(self, value: Any) -> tuple[int, ...]:
        """An integer array as a shape, for ops whose shape is known only when they run."""
        return tuple(self.to_numpy(value).reshape(-1).tolist())

    def copy(self, value: Any) -> Any:
        """Copy an array to a new buffer."""
        raise NotImplementedError

    def owned(self, value: Any, given: Iterable[Any] | None = None) -> Any:
        """An array that its user may write to without changing another one.

        Args:
            value: a native array.
            given: the values that it was computed from, of any type; None if they are unknown.

        Returns:
            The array; or a copy that is differentiated like it, if users can write to the library's arrays and it may
            share memory with others.
        """
        return value

    def is_deleted(self, value: Any) -> bool:
        """Whether a native array's buffer is gone, consumed by a compiled program."""
        return False

    def from_dlpack(self, value: Any) -> Any:
        """A native array that shares memory with any object that speaks DLPack."""
        raise NotImplementedError

    def to_dlpack(self, value: Any, **options: Any) -> Any:
        return self.plain(value).__dlpack__(**options)

    def plain(self, value: Any) -> Any:
        """The array, copied if its memory does not hold its numbers as they are."""
        return value

    def dlpack_device(self, value: Any) -> tuple[int, int]:
        return value.__dlpack_device__()

    def eager_rule(self, rule: Rule) -> Rule:
        """The form of a rule, or of a program of several, for single calls from Python."""
        return rule

    def native_rule(self, name: str, rule: Rule) -> Rule:
        """The form of an op's rule for values of the library's own users."""
        return rule

    # branches and loops

    def make_control(self) -> Control:
        """Make the engine's control flow: Python's, unless the library has control flow of its own."""
        return self.host_control

    @functools.cached_property
    def host_control(self) -> HostControl:
        """Python's control flow on its arrays."""
        return HostControl(self.unstack, self.stack, self._stack_nothing, self.truth)

    def unstack(self, value: Any) -> Values:
        """The slices along the first axis."""
        take = self.rules["StridedSlice"]
        return [take(value, (i,), (i + 1,), (1,), 0, 0, 1) for i in range(self.shape(value)[0])]

    def truth(self, value: Any) -> bool:
        """A scalar as a bool."""
        return bool(self.to_numpy(value))

    def stack(self, values: Values) -> Any:
        """Arrays of one shape along a new first axis."""
        return self.rules["Pack"](values, 0)

    def _stack_nothing(self, body: Callable[..., Any], init: Values, xs: Values) -> Values:
        slices = [self._zeros(self.shape(x)[1:], self.dtype(x)) for x in xs]
        return [self._zeros((0, *self.shape(y)), self.dtype(y)) for y in body(init, slices)[1]]

    def _zeros(self, shape: tuple[int, ...], dtype: DType) -> Any:
        return self.asarray(np.zeros(shape, dtype.numpy), dtype)

    # inside a program that the library itself traces from its users' code

    def is_tracing(self) -> bool:
        """Whether the library is tracing a user's function now, so that Python runs once and the program often."""
        return False

    def is_traced(self, value: Any) -> bool:
        """Whether an array has no numbers yet, since the library is tracing its computation."""
        return False

    def fresh_key(self, seed: int) -> Any:
        """A random key that changes on every run of the program that the library is tracing.

        Args:
            seed: where the sequence of these keys starts.

        Returns:
            Two int32 words in a native array, as `ops.random.key` makes them; None if the library's programs have no
            state to draw them from.
        """
        return None

    # the library's own gradients, for its users' values

    def gradients(self, ys: Sequence[Any], xs: Sequence[Any]) -> list[Any]:
        """The gradients of the sum of values that were computed before, with respect to their inputs.

        Args:
            ys, xs: native arrays.

        Returns:
            An array for each of xs, None where the ys do not depend on it.

        Raises:
            NotImplementedError: the library keeps no record of computations.
        """
        problem = f"{self.name} differentiates functions, and keeps no record of how a value was computed"
        raise NotImplementedError(f"{problem}: use its own gradient of a function.")

    def gradients_of(self, function: Callable[..., Any], args: Sequence[Any]) -> list[Any]:
        """The gradients of a function, which can be differentiated again if the library records them.

        Args:
            function: takes native arrays; returns one number.
            args: native arrays of float dtypes.

        Returns:
            An array for each argument, None where the number does not depend on it.

        Raises:
            NotImplementedError: the library does not differentiate.
        """
        raise NotImplementedError(f"{self.name} does not differentiate; use jax, torch or tensorflow.")

    def custom_gradient(self, function: Callable[..., Any], args: Sequence[Any]) -> Sequence[Any]:
        """Run a function so that the library's autodiff uses the gradient that comes with it.

        Args:
            function: takes native arrays; returns a list of them, and a function from a gradient for each of these to
                a gradient for each argument.  Gradients of arrays of other than float dtypes are None.
            args: the native arrays.
        """
        return function(*args)[0]

    def recompute(self, function: Callable[..., Any], args: Sequence[Any]) -> Any:
        """Run a function so that the library's autodiff keeps only the arguments, and runs it again for gradients."""
        return function(*args)

    # the same for all engines

    def number(self, value: Any, native_dtype: Any) -> Any:
        """A Python number as a native array without dimensions; None if it is no number, or would change the dtype.

        The arrays are cached and shared, so they must not leave the rules that get them.
        """
        if type(value) not in self._absorbed.get(native_dtype, ()):
            return None
        key = native_dtype, value or repr(value)  # 0.0 and -0.0 are equal, and so have one hash
        found = self._numbers.get(key)
        if found is None:
            try:
                with nowhere():
                    found = self.asarray(value, native_to_dtype(native_dtype))
            except OverflowError:
                return None
            self._numbers.put(key, found)
        return found

    def receive(self, value: Any, sender: Engine, device: str | None = None) -> Any:
        """Receive a value from another engine or device: in the same memory if DLPack can describe it, else as a copy.

        Args:
            value: an array of the sender's.
            sender: the engine that it comes from; this one, for a value that only changes its device.
            device: the device for it; None leaves it to the engine.
        """
        if sender is self:
            return value if device is None else self.to_device(value, device)
        sender.require_whole(value)
        try:
            received = self.from_dlpack(sender.plain(value))
        except _NOT_EXCHANGED + self.errors + sender.errors:  # one of the two lacks the dtype, layout or device
            array = sender.to_numpy(value)
            return self.asarray(array, native_to_dtype(array.dtype), device)
        return received if device is None else self.to_device(received, device)

    def take(self, source: Any) -> Any:
        """A native array of any object that speaks DLPack, in the same memory if the engine can use it."""
        try:
            return self.from_dlpack(source)
        except _NOT_EXCHANGED + self.errors:  # as in `receive`
            array = np.from_dlpack(source)
            return self.asarray(array, native_to_dtype(array.dtype))

    def refuse(self, problem: str) -> None:
        """Make each later computation raise a RuntimeError; earlier results can still be read."""

        def refused(*args: Any, **options: Any) -> Any:
            error = RuntimeError(problem)
            error.dovetail = True  # type: ignore[attr-defined]  # no op adds its name
            raise error

        for found in (self, self.native):
            found.refused = refused
            methods = dict.fromkeys(("asarray", "copy", "allocate", "from_dlpack", "compile"), lambda run: refused)
            found.around.push("refusal", {**methods, "eager_rules": lambda rules: Computed(lambda name: refused)})

    def __repr__(self) -> str:
        return f"<engine {self.name}>"


native_to_dtype: Callable[[Any], DType] = Computed(dtypes.as_dtype).__getitem__  # as quick as a dict


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
