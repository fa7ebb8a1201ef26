"""Engine: what a library must offer to compute Dovetail's ops, and the parts that are the same for every library.

An engine compiles segments of programs (`Engine.compile`), and has the few methods below.  Most have a table of rules
(op name → function on the library's own arrays, arguments in the op's parameter order): single calls are computed by
them, and programs compiled of them.  Everything else (promotion, checks, gradients, graphs, passes) is written once,
above.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, ClassVar, Protocol

import numpy as np

from dovetail.core import dtypes, host_calls
from dovetail.core.accumulation import ACCUMULATING, HALVES, in_float32
from dovetail.core.cache import Cache
from dovetail.core.control_flow import Control, HostControl, Values
from dovetail.core.devices import nowhere
from dovetail.core.dtypes import DType
from dovetail.core.errors import LIBRARIES
from dovetail.core.rules import EAGER, NATIVE, OUT, OVER, PROGRAM, Rule, Rules
from dovetail.core.table import OPS

# Of the programs that an engine compiles: the file name of their text, and where in their globals the operation of each
# line stands, by the line's number.
FILE = "<dovetail program>"
OPERATIONS = "operations"
_NOT_EXCHANGED: tuple[type[Exception], ...] = (BufferError,)  # what DLPack raises, besides the libraries


class Segment(Protocol):
    """What an engine compiles: a graph, as a function from native arrays to native arrays without side effects.

    Attributes:
        graph: what it computes.  No operation of it reads or assigns a variable.
        inputs, outputs: the graph's; the new values of variables are the last outputs.
        device: where its arguments are and its results are to be, what it makes by itself too; None where the engine
            has but one device, or where it is to compute wherever the arguments are.
        variants: the names of the variants that are preferred, of rules or of how the engine compiles.
        donated: the numbers of the inputs whose arrays may be consumed, their memory reused for the results.
        function: the graph as a straight-line Python function that calls the engine's rules, made when it is first
            asked for.  Where the engine has out rules it takes, after the inputs, arrays to write into.
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
    def function(self) -> Callable[..., Any]: ...


class Engine:
    """One library that computes.

    Attributes:
        name: what users call it.
        rules: its table of rules.  Composites without a rule run by their body.
        eager_rules: from the table, what single calls from Python use.
        out_rules: from the table, what can write to a given array, called as rule(*args, out=array).
        fresh: ops, besides those with an out rule, whose rules never return a view of an argument.
        written: from the table, the ops that can write over arguments, with the parameters that they write over.
        direct: per accepted kind, the native dtypes that need no conversion; what the short ways of calls check.
        array_key: of an array, what says its shape and dtype, to look up what is kept for it; a C function if possible.
        native: the same engine for its users' own values: a view of the same table.
        control: how it runs branches and loops.
        specializes: a program is compiled for the shapes that its inputs have, and once more for others.
        static_shapes: every shape in a compiled program must be known before it runs.
        compiles_programs: `compile` makes one executable of a whole program, which plans its own memory; else a program
            runs rule by rule.
        fuses_elementwise: elementwise ops cost next to nothing behind what makes their arguments.
        consumes: the executable consumes the arguments that are donated to it.
        accumulates: ops of `ACCUMULATING` whose rules accumulate halves in float32 by themselves.
        strategies: a name → the names of variants, of its rules or of how it compiles, that go well together, in the
            order in which they are tried where an engine is chosen by measuring; the first, "", needs the least time.
        forks: a process that is forked after the library was used can use it, too.
        errors: what the library raises of arguments that do not fit; what else comes up (memory that runs out, the
            exception of a signal's handler) stays as it is.
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
    forks: ClassVar[bool] = True
    errors: ClassVar[tuple[type[Exception], ...]] = LIBRARIES

    def __init__(self, rules: Rules) -> None:
        if type(self).dtype is not Engine.dtype and type(self).native_dtype_of is Engine.native_dtype_of:
            self.native_dtype_of = lambda value: self.native_dtype(self.dtype(value))
        if not hasattr(type(self), "array_key"):
            self.array_key = lambda value: (self.shape(value), self.native_dtype_of(value))
        self.control = self.make_control()
        if not rules.is_native:
            own: dict[str, Rule] = {
                "XlaOptimizationBarrier": tuple,
                "Print": self.print_value,
                **dict.fromkeys(("PyFunc", "PyFuncStateless", "EagerPyFunc"), self.call_python),
                "Assert": self.require,
                **self.control.rules(),
            }
            rules = rules.completed(own, self._finished, self._finishes)
        self.rules = rules
        self.eager_rules = rules.layer(EAGER)
        self.out_rules = rules.layer(OUT)
        self.fresh = frozenset(rules.fresh)
        self.written = {name: given for name, given in rules.written.items() if name in rules.layer(OVER)}
        native_types = {name: self.native_dtype(d) for name, d in dtypes.ALL.items() if self.has_dtype(d)}
        self.direct = {
            accepts: frozenset(native_types[name] for name in names if name in native_types)
            for accepts, names in _DIRECT.items()
        }
        self._absorbed = {
            native_types[name]: kinds for names, kinds in _ABSORBED for name in names if name in native_types
        }
        self._numbers: Cache[Any, Any] = Cache(500)
        self.refused: Callable[[], Any] | None = None  # raises, where it cannot be used
        self.native = self if rules.is_native else self.make_native(rules.on_native_values())

    def make_native(self, rules: Rules) -> Engine:
        """The engine for its users' own values; to be told where `__init__` takes more than the rules."""
        return type(self)(rules)

    def _finished(self, layer: str, name: str, rule: Rule) -> Rule:
        """A rule as it is called in a layer."""
        if name in ACCUMULATING and name not in self.accumulates:
            halves = {self.native_dtype(d): d for d in map(dtypes.as_dtype, ("float32", *HALVES)) if self.has_dtype(d)}
            float32, *narrow = halves
            cast = lambda x, native_dtype: self.rules["Cast"](x, halves[native_dtype])  # noqa: E731
            rule = in_float32(rule, OPS[name].tensor_places, self.native_dtype_of, cast, narrow, float32, self.write)
        if layer == EAGER:
            return self.eager_rule(rule)
        return self.native_rule(name, rule) if layer == NATIVE else rule

    def _finishes(self, layer: str) -> Collection[str]:
        """The names of the ops whose rules `_finished` changes in a layer."""
        own, usual = type(self), Engine
        changed = {EAGER: own.eager_rule is not usual.eager_rule, NATIVE: own.native_rule is not usual.native_rule}
        return OPS if changed.get(layer) else set(ACCUMULATING).difference(self.accumulates)

    def add_rule(self, name: str, rule: Rule) -> None:
        """Adds the rule of an op that a program registered, which the engine's users' own values have, too."""
        self.rules.add(name, rule, self._finished)

    # programs

    @property
    def claimed(self) -> Collection[str]:
        """The names of the ops that its programs can hold; composites that are not among them are inlined."""
        return self.rules

    def claimed_with(self, operation: Any) -> Collection[str]:
        """`claimed`, and the type of an operation whose op has rules for some operations only, if one fits this one."""
        claimed = self.claimed
        fits = operation.type not in claimed and self.rules.fitting(operation) is not None
        return {*claimed, operation.type} if fits else claimed

    def compile(self, segment: Segment) -> Callable[..., Any]:
        """A segment as an executable, as fast as the library can make it; here, a call of rule after rule.

        An engine that only compiles whole graphs reads `segment.graph`, and needs no rules.

        Returns:
            A function of the native arrays for `segment.inputs`, which returns a tuple of those for `segment.outputs`.
            Where the engine consumes arguments it takes a list `into`, which has that tuple the moment that the results
            are there, whatever exception comes before the call is over.  Where the first call would take long, it has a
            method `prepare()`, which does beforehand what takes long, in any thread.
        """
        return segment.function

    def rule_for(self, operation: Any, layer: str = PROGRAM, preferred: Collection[str] = ()) -> Rule | None:
        """The rule for an operation of a program: the first that fits it, None if there is none.

        Args:
            operation: of the graph that is lowered.
            layer: of a program's layers, that which fits where the results are to be.
            preferred: the names of the variants that are taken before others.
        """
        variant = self.rules.fitting(operation, layer, preferred)
        if variant is None:
            return None
        quicker: Rule | None = getattr(variant.rule, "without_halves", None)
        return variant.rule if quicker is None or any(t.dtype in HALVES for t in operation.inputs) else quicker

    def taken(self, graph: Any, variants: Collection[str]) -> frozenset[Any]:
        """What a graph is computed by, beside the usual rules, where some variants are preferred; to be compared."""
        operations = [op for part in (graph, *graph.subgraphs()) for op in part.operations]
        found = ((op, self.rules.fitting(op, preferred=variants)) for op in operations)
        return frozenset((op, variant.name) for op, variant in found if variant is not None and variant.is_further)

    # what a library differs in

    def version(self) -> str:
        """The library's version."""
        raise NotImplementedError

    def devices(self) -> list[str]:
        """The devices it can compute on here, best first ("gpu:0", "cpu:0")."""
        return ["cpu:0"]

    def device_of(self, value: Any) -> str:
        return "cpu:0"

    def put_on(self, value: Any) -> str | None:
        """The device that an array was put on; None if it goes along with those that it meets."""
        return self.device_of(value)

    @functools.cached_property
    def has_devices(self) -> bool:
        """Whether there are several."""
        return len(self.devices()) > 1

    def on_device(self, device: str) -> AbstractContextManager[Any]:
        """A `with` block for one call, which makes new values on a device; `asarray` asks `device_for`, too."""
        return nullcontext()

    def to_device(self, value: Any, device: str) -> Any:
        """A native array on one of the devices, where it stays."""
        return value

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
        """What a program at one place takes for an array of a caller, who may change it after the call."""
        return self.asarray(value, dtype)

    def to_numpy(self, value: Any) -> np.ndarray:
        """A NumPy array, without a copy where possible."""
        return np.asarray(value)

    shape: Callable[[Any], Any] = staticmethod(operator.attrgetter("shape"))  # an array's; None for what is unknown
    native_dtype_of = staticmethod(operator.attrgetter("dtype"))  # an array's dtype, as `native_dtype` gives it

    def dtype(self, value: Any) -> DType:
        return native_to_dtype(self.native_dtype_of(value))

    def empty(self, shape: tuple[int, ...], dtype: DType, device: str | None = None) -> Any:
        """A native array whose contents do not matter, on a device if one is given; what buffers are made of."""
        raise NotImplementedError

    def write(self, array: Any, values: Any) -> Any:
        """The array, after values were written into it; only rules with `out=` need it."""
        array[...] = values
        return array

    def set_threads(self, count: int) -> bool:
        """Lets the library compute with so many threads; returns False where it is too late, or cannot be said."""
        return False

    @property
    def thread_count(self) -> int:
        """With how many threads the library computes, where that can change from call to call; else 0."""
        return 0

    def with_threads(self, count: int, run: Callable[[Any], Any], given: Any) -> Any:
        """Calls a function while the library computes with so many threads, where `thread_count` is not 0."""
        return run(given)

    def set_up_library(self) -> None:
        """Sets up the library, which no one but Dovetail has imported in this process."""

    def go_on_in_child(self) -> None:
        """Makes the library work in this process, which was forked after the library was used."""

    def wait(self, value: Any) -> None:
        """Returns when an array has its numbers, where the library computes while Python goes on."""

    def to_ints(self, value: Any) -> tuple[int, ...]:
        """An integer array as a shape, for ops whose shape is known only when they run."""
        return tuple(self.to_numpy(value).reshape(-1).tolist())

    def copy(self, value: Any) -> Any:
        """The same numbers in a buffer of their own."""
        raise NotImplementedError

    def owned(self, value: Any, given: Iterable[Any] | None = None) -> Any:
        """An array that its user may write to without changing another one.

        Args:
            value: a native array.
            given: what it was computed from, of any type; None if that is not known.

        Returns:
            The array, or, where users can write to the library's arrays and it may share memory with others, a copy
            that is differentiated like it.
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
        """The array, copied where its memory does not hold its numbers as they are."""
        return value

    def dlpack_device(self, value: Any) -> tuple[int, int]:
        return value.__dlpack_device__()

    def eager_rule(self, rule: Rule) -> Rule:
        """A rule, or a program of several, as it runs when called from Python by itself."""
        return rule

    def native_rule(self, name: str, rule: Rule) -> Rule:
        """The rule of an op, as it runs on values of the library's own users."""
        return rule

    def print_value(self, value: Any, message: str, summarize: int) -> Any:
        """Prints a value, also where a program computes it; returns it."""
        print_array(self.to_numpy(value), message, summarize)
        return value

    def call_python(
        self, inputs: Values, function: Callable[..., Any], dtypes: Sequence[DType], shapes: Sequence[Any]
    ) -> list[Any]:
        """What a Python function makes of arrays."""
        results = host_calls.call(function, [np.array(self.to_numpy(value)) for value in inputs], dtypes, shapes)
        return [self.asarray(array, dtype) for array, dtype in zip(results, dtypes, strict=True)]

    def require(self, condition: Any, data: Values, message: str, summarize: int) -> Any:
        """The condition; an error if it does not hold everywhere."""
        if not np.all(self.to_numpy(condition)):
            shown = " and ".join(array_text(self.to_numpy(value), summarize) for value in data)
            raise ValueError(f"{message} {shown}." if shown else message)
        return condition

    # branches and loops

    def make_control(self) -> Control:
        """How it runs branches and loops: as Python does, unless the library has control flow of its own."""
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
        """Whether the library is tracing its user's function now, so that Python runs once and the program often."""
        return False

    def is_traced(self, value: Any) -> bool:
        """Whether an array has no numbers yet, since the library is tracing what computes it."""
        return False

    def fresh_key(self, seed: int) -> Any:
        """A random key that is another one each time the program runs that the library is tracing.

        Args:
            seed: where the sequence of these keys starts.

        Returns:
            Two int32 words, as `ops.random.key` makes them, in a native array; None where the library's programs have
            no state of their own to draw it from.
        """
        return None

    # gradients of the library's own, for its users' values

    def gradients(self, ys: Sequence[Any], xs: Sequence[Any]) -> list[Any]:
        """The gradients of the sum of values that were computed before, with respect to what they were computed from.

        Args:
            ys, xs: native arrays.

        Returns:
            An array for each of xs, None where the ys do not depend on it.

        Raises:
            NotImplementedError: the library keeps no record of what was computed.
        """
        problem = f"{self.name} differentiates functions, and keeps no record of how a value was computed"
        raise NotImplementedError(f"{problem}: use its own gradient of a function.")

    def gradients_of(self, function: Callable[..., Any], args: Sequence[Any]) -> list[Any]:
        """The gradients of a function, which have gradients in turn where the library records this.

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
        """Runs a function so that the library's autodiff uses the gradient that comes with it.

        Args:
            function: takes native arrays; returns a list of them, and a function from a gradient for each of these to
                a gradient for each argument.  Gradients of what is not of a float dtype are None.
            args: the native arrays.
        """
        return function(*args)[0]

    def recompute(self, function: Callable[..., Any], args: Sequence[Any]) -> Any:
        """Runs a function so that the library's autodiff keeps only the arguments, and runs it again for gradients."""
        return function(*args)

    # the same for all

    def number(self, value: Any, native_dtype: Any) -> Any:
        """A Python number as a native array without dimensions; None if it is none, or would change the dtype.

        The arrays are kept and shared, so they must not leave the rules that they are given to.
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
        """A value from another engine or device: in the same memory where DLPack can say what it is, else a copy.

        Args:
            value: an array of the sender's.
            sender: the engine that it comes from; this one, for a value that only changes its device.
            device: where it is to be; None leaves it to the engine.
        """
        if sender is self:
            return value if device is None else self.to_device(value, device)
        try:
            received = self.from_dlpack(sender.plain(value))
        except _NOT_EXCHANGED + self.errors + sender.errors:  # a dtype, a layout or a device of one of the two
            array = sender.to_numpy(value)
            return self.asarray(array, native_to_dtype(array.dtype), device)
        return received if device is None else self.to_device(received, device)

    def take(self, source: Any) -> Any:
        """A native array of any object that speaks DLPack, in the same memory where the engine can hold it so."""
        try:
            return self.from_dlpack(source)
        except _NOT_EXCHANGED + self.errors:  # as in `receive`
            array = np.from_dlpack(source)
            return self.asarray(array, native_to_dtype(array.dtype))

    def refuse(self, problem: str) -> None:
        """From now on whatever it is asked to compute raises a RuntimeError; what it has computed can be read."""

        def refused(*args: Any, **options: Any) -> Any:
            error = RuntimeError(problem)
            error.dovetail = True  # type: ignore[attr-defined]  # told as it is, whatever op asks
            raise error

        for found in (self, self.native):
            found.refused = refused
            found.eager_rules = _Refused(refused)
            for method in ("asarray", "copy", "empty", "from_dlpack", "compile"):
                setattr(found, method, refused)

    def __repr__(self) -> str:
        return f"<engine {self.name}>"


class _Refused(dict[str, Rule]):
    """A table of rules whose every rule raises."""

    def __init__(self, refused: Rule) -> None:
        self._refused = refused

    def get(self, name: str, default: Any = None) -> Rule:
        return self._refused


def print_array(array: np.ndarray, message: str, summarize: int) -> None:
    """Prints a message and an array, of which `summarize` elements at each end of an axis; -1 for all."""
    print(message, array_text(array, summarize))


def array_text(array: np.ndarray, summarize: int) -> str:
    """An array as text, of which `summarize` elements at each end of an axis; -1 for all."""
    threshold = array.size if summarize < 0 else 0
    writers: Any = {"int": str, "float": _written}
    return np.array2string(array, threshold=threshold, edgeitems=max(summarize, 1), formatter=writers)


def _written(number: np.floating[Any]) -> str:
    """A float as TensorFlow prints it: in six digits, or in as many as it takes to tell it from all others."""
    short = f"{number:g}"
    return short if type(number)(short) == number else f"{number:.{17 if number.itemsize == 8 else 9}g}"


class _NativeDtypes(dict[Any, DType]):
    """The dtypes that the dtype objects of arrays stand for."""

    def __missing__(self, native: Any) -> DType:
        found = self[native] = dtypes.as_dtype(native)
        return found


native_to_dtype: Callable[[Any], DType] = _NativeDtypes().__getitem__  # `dtypes.as_dtype`, as quick as a dict


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
