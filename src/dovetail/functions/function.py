"""`function`: it traces a Python function to a Graph, once per signature, and runs the graph's plan from then on.

A call flattens its arguments to tensors and static values; shapes, dtypes, structure and static values are the
signature, under which the traced graph is kept.
"""

from __future__ import annotations

import functools
import inspect
import operator
import pickle
import sys
import warnings
import weakref
from collections.abc import Callable, Iterable
from itertools import repeat
from pathlib import Path
from types import FunctionType
from typing import Any, Generic, NamedTuple, ParamSpec, TypeAlias, TypeVar, overload

import numpy as np

from dovetail.autodiff.recorder import ClosureRecorder
from dovetail.choose.measured_plan import MeasuredPlan, Measuring, steady
from dovetail.choose.policy import announce
from dovetail.core.base.cache import Cache
from dovetail.core.base.context import context
from dovetail.core.base.errors import RetracingWarning, check_callable, describe, op_error, repeats
from dovetail.core.base.garbage import NoGarbageCollection
from dovetail.core.base.hooks import compiles
from dovetail.core.base.locks import holding, make_lock
from dovetail.core.base.scopes import record_on, scopes, within
from dovetail.core.dtypes import DType
from dovetail.core.engine import Engine
from dovetail.core.engines.engine_registry import AUTO, chooses_engine, compiling_engine, current_engine, get_engine
from dovetail.core.tensor import Tensor
from dovetail.core.values import arguments
from dovetail.core.values.creations import AGAIN, LATER, Creations
from dovetail.core.values.shapes import fits
from dovetail.core.values.spec import TensorSpec
from dovetail.core.values.structure import flatten, unflatten
from dovetail.core.values.value_kinds import dtype_of, is_recorded, kind_of, static_shape
from dovetail.edit.graph import Graph
from dovetail.edit.replay import replay as replay_graph
from dovetail.edit.transplant import copy_graph
from dovetail.execute.choice import Choice
from dovetail.execute.optimize import optimized_copy
from dovetail.execute.plan_base import Runnable
from dovetail.functions.call_keys import call_key, difference, given_and_key, spec_of
from dovetail.functions.concrete import Concrete
from dovetail.functions.inlining import inline_call
from dovetail.functions.numerics import with_check
from dovetail.functions.taps import Points, Taps, joined
from dovetail.graph.journal import no_part_of_edits
from dovetail.graph.naming import is_name
from dovetail.graph.nesting import outermost_of
from dovetail.trace.results import collect, done_as_one

P = ParamSpec("P")
R = TypeVar("R")

RETRACES_BEFORE_WARNING = 8
TRACES = 200  # traces in each of the two generations of a function's cache
_TENSORS = frozenset([Tensor])


class Options(NamedTuple):
    """The settings by which a function is compiled; see `function`.

    Attributes:
        passes: the passes that edit each traced graph.
        engine: the name of the engine, or "auto"; None: the engine of the arguments.
        fixed: the choice to replay if the engine is chosen; None: strategies are measured.
        stays: whether results stay on the engine that is chosen, which may still compute them; else they are moved to
            the engine of the arguments.
        in_groups: whether another function may run its calls in groups, so that both are measured on each engine.
        waits: whether the first call waits for the engine to begin with, if that takes seconds to start; else another
            one runs meanwhile.  It is for calls of which each takes long.
        graph: the class of its traces.
        check_numerics: whether a NaN or an infinity among its results is an error.
    """

    passes: tuple[Callable[[Graph], Any], ...] = ()
    engine: str | None = None
    fixed: Choice | None = None
    stays: bool = False
    in_groups: bool = False
    waits: bool = False
    graph: type[Graph] = Graph
    check_numerics: bool = False


class Trace(NamedTuple):
    """A trace of a function.

    Attributes:
        concrete: its graph, which can be called.
        rebuild: puts values into the places of the graph's outputs in the result.
        leaves: its arguments, or the pair (args, kwargs) if it has keywords, flattened, with specs in place of tensors.
        structure: of these leaves.
    """

    concrete: Concrete
    rebuild: Callable[[list[Any]], Any]
    leaves: list[Any]
    structure: Any


class Function(Generic[P, R]):
    """A Python function that is compiled; made by `function`."""

    def __init__(
        self,
        python_function: Callable[P, R],
        input_signature: Any = None,
        name: str | None = None,
        options: Options = Options(),  # noqa: B008  # a tuple
    ) -> None:
        # The attributes of another callable, such as a model, could hide the attributes of this class.
        updated = functools.WRAPPER_UPDATES if isinstance(python_function, FunctionType) else ()
        functools.update_wrapper(self, python_function, updated=updated)
        self._python: Any = python_function
        self._name: str = name or str(getattr(python_function, "__name__", "function"))
        self._signature = None if input_signature is None else flatten(tuple(input_signature), self._name)
        self._traces: Cache[Any, Trace] = Cache(TRACES)
        self._calls: Cache[Any, Any] = Cache(TRACES)  # by `call_key`: the parts of a `quick_call`, then the rebuilding
        self._last_key: Any = None  # the key of the latest trace
        self._is_first = True  # whether the next trace is the first one, which can make variables
        self._lock = make_lock()
        self._methods: dict[int, Function[Any, Any]] = {}
        self._owner: Callable[[], Any] | None = None  # the instance, if this is a method
        self._options = options
        self._measuring = Measuring(options.fixed, stays=options.stays, waits=options.waits)
        self._at_home = Measuring(is_at_home=True) if options.in_groups else None

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        """Return the method's own function for an instance, which lives as long as the instance does."""
        if instance is None:
            return self
        key = id(instance)
        bound = self._methods.get(key)
        if bound is None:
            alive = weakref.ref(instance, lambda _: self._methods.pop(key, None))
            python = self._python
            method = functools.wraps(python)(lambda *args, **kwargs: python(alive(), *args, **kwargs))
            bound = self._methods[key] = Function(method, name=self._name, options=self._options)
            bound._signature = self._signature
            bound._owner = alive
        return bound

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        around, natives, key = scopes(), list[Any](), None
        if not (kwargs or around.tapes or around.graphs) and (key := call_key(args, natives)) is not None:
            engine = None if args and type(args[0]) is Tensor else current_engine()
            known = self._calls.get(key := (context(), engine, key))
            if known is not None:
                plan, following, takes, rebuild = known
                for i, take, dtype in takes:
                    natives[i] = take(natives[i], dtype)
                if following is not None:
                    plan = following(natives)
                if self._options.stays:
                    return rebuild(plan.tensors(natives))
                return rebuild(list(map(Tensor, plan(natives), repeat(plan.holder))))
        return self._called(args, kwargs, key, natives)

    def _called(self, args: tuple[Any, ...], kwargs: dict[str, Any], call_key: Any, natives: list[Any]) -> Any:
        leaves, structure, has_kwargs = self._flat(args, kwargs)
        is_computed = _TENSORS.issuperset(map(type, leaves)) or all(kind_of(v).is_computed for v in leaves)
        around = scopes().graph
        if around is not None or not is_computed:  # inside another graph, or on an engine's own values
            around = next((x.graph for x in leaves if is_recorded(x)), None) if around is None else around
            if around is None or (creations := outermost_of(around).creations) is None:
                return self._taking_part(around, leaves, structure, args, kwargs)
            with creations.of_call(self._name, self._is_first):
                result = self._taking_part(around, leaves, structure, args, kwargs)
            self._is_first = False
            return result
        given, engine, key = self._classify(leaves, structure, has_kwargs)
        trace = self._traces.get(key) or self._trace(key, leaves, has_kwargs, structure)
        own = [v._value if type(v) is Tensor else v for v in given]
        if call_key is not None and len(own) == len(natives) and all(map(operator.is_, natives, own)):
            self._calls.put(call_key, (*trace.concrete.quick_call(given, engine), trace.rebuild))
        return trace.rebuild(trace.concrete(given, engine))

    def _taking_part(self, around: Graph | None, leaves: list[Any], structure: Any, args: Any, kwargs: Any) -> Any:
        """The result of a call inside another graph, or on an engine's own values."""
        if self._options.passes and around is not None:
            return inline_call(around, self._python, leaves, structure, bool(kwargs), self._apply_passes)
        if around is not None and around.dialect.records_effects:
            return done_as_one(around, functools.partial(self._python, *args, **kwargs))
        return self._python(*args, **kwargs)

    # signatures

    def _flat(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[list[Any], Any, bool]:
        """The leaves and the structure of a call's arguments; of the pair (args, kwargs), and True, if it has keywords.

        With an input signature, keywords are put in their places among the arguments.
        """
        if self._signature is not None and (kwargs or len(args) != len(self._signature[1][2])):
            args, kwargs = self._by_position(args, kwargs), {}
        return *flatten((args, kwargs) if kwargs else args, self._name), bool(kwargs)

    def _asked(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[list[Any], Any, bool]:
        """As `_flat`, for a look inside: without arguments, the input signature takes their place."""
        if self._signature is not None and not args and not kwargs:
            return *self._signature, False
        return self._flat(args, kwargs)

    def _by_position(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
        """The arguments of a call of a function with an input signature."""
        names = self._argument_names
        given = dict(zip(names, args, strict=False)) | kwargs
        if len(args) + len(kwargs) == len(given) and given.keys() == {*names}:
            return tuple(given[name] for name in names)
        unknown = [f"not {name!r}" for name in kwargs if name not in names]
        twice = [f"{name} is given twice" for name in names[: len(args)] if name in kwargs]
        count = len(args) + len(kwargs)
        were = [f"{count} {'was' if count == 1 else 'were'} given"]
        takes = f"it takes {len(names)} argument{'s' * (len(names) != 1)} ({', '.join(names)})"
        raise op_error(TypeError, self._name, f"{takes}, {(unknown or twice or were)[0]}.")

    @functools.cached_property
    def _parameters(self) -> list[str]:
        """The names of the arguments that the Python function takes by position."""
        try:
            parameters = inspect.signature(self._python).parameters.values()
        except (TypeError, ValueError):
            return []
        by_position = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
        return by_position[self._owner is not None :]  # a method's own function has its instance

    @property
    def _argument_names(self) -> list[str]:
        """The names of the arguments that an input signature has."""
        (_, _, parts), names = self._signature[1], self._parameters  # type: ignore[index]  # callers ask
        return [*names[: len(parts)], *(f"arg{i}" for i in range(len(names), len(parts)))]

    def _classify(self, leaves: list[Any], structure: Any, has_kwargs: bool = False) -> tuple[list[Any], Engine, Any]:
        """The tensors and NumPy arrays among the leaves, the engine that compiles, and the key of the signature."""
        engine = self._engine_for(leaves)
        if self._signature is not None:
            return self._checked(leaves, structure, engine.holder), engine, ("signature", context())
        given, key = given_and_key(leaves, engine.holder)
        return given, engine, ((structure, has_kwargs), context(), *key)

    def _engine_for(self, leaves: list[Any]) -> Engine:
        """The engine that compiles: the function's, else the first tensor's, else the current one.

        If engines are measured, it is the engine of the arguments and results.
        """
        if self._options.engine is not None and self._options.engine != AUTO:
            return get_engine(self._options.engine)
        holder = next((leaf._engine for leaf in leaves if type(leaf) is Tensor), None)
        return holder or current_engine() if self._chooses else compiling_engine(holder)

    @property
    def _chooses(self) -> bool:
        return chooses_engine() if self._options.engine is None else self._options.engine == AUTO

    def _checked(self, leaves: list[Any], structure: Any, engine: Engine) -> list[Any]:
        specs, wanted = self._signature  # type: ignore[misc]
        if structure != wanted:
            i = next(i for i, parts in enumerate(zip(structure[2], wanted[2], strict=True)) if parts[0] != parts[1])
            wrong, known = describe(unflatten(structure, leaves)[i]), unflatten(wanted, specs)[i]
            problem = f"{self._argument_names[i]} must have the structure of the input signature, {known}, not {wrong}."
            raise op_error(TypeError, self._name, problem)
        for leaf, spec in zip(leaves, specs, strict=True):
            if not fits(static_shape(leaf), spec.shape):
                problem = f"{describe(leaf)} does not fit the input signature {spec!r}."
                raise op_error(ValueError, self._name, problem)
        given = [(v, s.dtype) for v, s in zip(leaves, specs, strict=True) if type(v) is not TensorSpec]
        return [v if _is_array(v, dtype) else arguments.as_tensor(v, dtype, engine) for v, dtype in given]

    # tracing

    def _trace(self, key: Any, leaves: list[Any], has_kwargs: bool, structure: Any) -> Trace:
        return holding(self._lock, self._traced, key, leaves, has_kwargs, structure)

    def _traced(self, key: Any, leaves: list[Any], has_kwargs: bool, structure: Any) -> Trace:
        known = self._traces.get(key)
        if known is not None:
            return known
        if len(self._traces) >= RETRACES_BEFORE_WARNING:
            self._warn_of_retracing(key)
        plain = self._plain(key, leaves, has_kwargs, structure) if self._chooses and scopes().probes else None
        specs = self._signature[0] if self._signature is not None else [spec_of(leaf) for leaf in leaves]
        arguments = leaves, specs, has_kwargs, structure
        graph, rebuild, has_made = self._recorded(*arguments, "" if self._is_first else LATER)
        if has_made:  # the trace that is kept finds the variables, and makes none
            graph, rebuild, _ = self._recorded(*arguments, AGAIN)
        graph.finalize()  # no plan would see an edit
        self._is_first = False
        probes = with_check(scopes().probes) if self._options.check_numerics else None
        measuring = self._measuring if self._chooses else self._at_home
        concrete = Concrete(graph, measuring, self._options.stays, probes, plain=plain)
        given = [leaf if spec is None else spec for leaf, spec in zip(leaves, specs, strict=True)]
        trace = Trace(concrete, rebuild, given, structure)
        self._traces.put(key, trace)
        self._last_key = key
        return trace

    def _plain(self, key: Any, leaves: list[Any], has_kwargs: bool, structure: Any) -> Concrete:
        """The same trace without the probes around, whose choice of an engine holds under them, too."""
        with within(probes=None):
            return self._traced((key[0], context(), *key[2:]), leaves, has_kwargs, structure).concrete

    @compiles
    def _recorded(
        self,
        leaves: list[Any],
        specs: list[TensorSpec | None],
        has_kwargs: bool,
        structure: Any,
        refusal: str,
        kind: type[Graph] | None = None,
    ) -> tuple[Graph, Callable[[list[Tensor]], Any], bool]:
        """The graph of one trace, the function that puts results in their places, and whether it has made variables.

        Args:
            leaves, has_kwargs, structure: the arguments.
            specs: the specs by which they are traced; None for static ones.
            refusal: the reason why it can make no variables; "" if it can.
            kind: the class of the graph; the one of the options if not given.
        """
        graph, closures = (kind or self._options.graph)(self._name), ClosureRecorder()
        try:
            with no_part_of_edits(), record_on([closures]), graph.as_default(), NoGarbageCollection():
                args = [
                    leaf if spec is None else graph.placeholder(spec, spec.name if is_name(spec.name) else f"arg{i}")
                    for i, (leaf, spec) in enumerate(zip(leaves, specs, strict=True))
                ]
                given = {arg: leaf for arg, leaf in zip(args, leaves, strict=True) if _is_given(arg, leaf)}
                graph.creations = creations = Creations(self._name, refusal, given)
                call: Any = unflatten(structure, args)
                result = self._python(*call[0], **call[1]) if has_kwargs else self._python(*call)
                rebuild = collect(graph, result)
                self._apply_passes(graph)
        except RecursionError as error:
            if not repeats(error):
                raise
            raise self._too_deep() from error
        finally:
            graph.is_traced, graph.creations = True, None
        graph.closure_nodes = closures.leading_to(graph.closures)
        return graph, rebuild, creations.made

    def _apply_passes(self, graph: Graph) -> None:
        specs = [t.spec for t in graph.outputs]
        for pass_ in self._options.passes:
            graph.apply(pass_)
            graph.prune(counts=False)
            if [t.dtype for t in graph.outputs] != [spec.dtype for spec in specs]:
                problem = f"{pass_!r} must keep the number and the dtypes of the results: {specs}."
                raise op_error(ValueError, self._name, f"{problem} There are {[t.spec for t in graph.outputs]}.")

    def _too_deep(self) -> Exception:
        problem = (
            "its trace does not end: it calls itself, directly or through others, whatever its arguments are, since "
            "tensors have no values while it is traced. Write the recursion as a loop, with ops.while_loop or "
            "ops.scan, or let a static argument (a Python number, not a tensor) say when it ends."
        )
        return op_error(RecursionError, self._name, problem)

    def _warn_of_retracing(self, key: Any) -> None:
        reason = difference(self._last_key, key)
        warnings.warn(
            f"{self._name} is traced for the {len(self._traces) + 1}th time: {reason}. Pass numbers as tensors, or "
            "give function(input_signature=...) with None for the dimensions that vary.",
            RetracingWarning,
            stacklevel=7,
        )

    # looking inside

    def taps(self, *points: Points | str) -> Taps:
        """The function, with a look at points of its program: call the result like the function, then ask it.

        Args:
            points: as for `dovetail.taps`.

        Example:
            >>> import dovetail as dt
            >>> f = dt.function(lambda x: dt.ops.sum(dt.ops.exp(x)))
            >>> seen = f.taps({"Exp": "value"})
            >>> float(seen(dt.ops.zeros(3))), seen["Exp"].value.tolist()
            (3.0, [1.0, 1.0, 1.0])
        """
        return Taps(joined(points), self)

    def on_engine(self, name: str) -> Function[P, R]:
        """The same function without traces, for another engine, or for "auto"."""
        made = _unpickled(self._python, self._signature, self._name, self._options._replace(engine=name, fixed=None))
        made._is_first = self._is_first
        return made

    def traced_again(self, kind: Callable[[type[Graph]], type[Graph]], *args: Any) -> Graph:
        """Trace the function once more for a call with these arguments; the trace is not kept.

        Args:
            kind: (class of its traces) → class of this trace.
            args: the arguments, as for `concrete`.
        """
        self.concrete(*args)  # the first trace may make variables
        leaves, structure, _ = self._flat(args, {})
        specs = self._signature[0] if self._signature is not None else [spec_of(leaf) for leaf in leaves]
        return self._recorded(leaves, specs, False, structure, AGAIN, kind(self._options.graph))[0]

    def concrete(self, *args: Any, **kwargs: Any) -> Concrete:
        """The traced graph that a call with these arguments runs; they may be tensors, arrays or `TensorSpec`s."""
        return self.trace(*args, **kwargs).concrete

    def trace(self, *args: Any, **kwargs: Any) -> Trace:
        """The trace that a call with these arguments runs; it is made if there is none yet.

        A function with an input signature needs no arguments here, nor for its `graph`, `plan` and `optimized_graph`.

        Example:
            >>> import dovetail as dt
            >>> double = dt.function(lambda x: x + x)
            >>> double.trace(dt.spec((None, 3))).leaves
            [float32[?,3]]
        """
        leaves, structure, has_kwargs = self._asked(args, kwargs)
        _, _, key = self._classify(leaves, structure, has_kwargs)
        return self._traces.get(key) or self._trace(key, leaves, has_kwargs, structure)

    def graph(self, *args: Any, **kwargs: Any) -> Graph:
        """A copy of the traced graph that a call with these arguments runs; `function` can run it after edits.

        Example:
            >>> import dovetail as dt
            >>> @dt.function
            ... def double(x):
            ...     return x + x
            >>> len(double.graph(dt.ops.constant([1., 2.])))
            2
        """
        return copy_graph(self.concrete(*args, **kwargs).graph, own=True)

    def plan(self, *args: Any, **kwargs: Any) -> Runnable:
        """The plan that a call with these arguments runs: segments on engines, and the transfers between them.

        If the engine is chosen by measuring, the plan shows the choice, and the times of the other candidates.

        Example:
            >>> import dovetail as dt
            >>> @dt.function
            ... def total(x):
            ...     return dt.ops.sum(dt.ops.exp(x) * 2.)
            >>> graph = total.graph(dt.spec((3,)))
            >>> graph.get_operation("Exp").engine = "torch"
            >>> print(dt.function(graph).plan(dt.ops.ones(3)))
            plan of 'total' on numpy: 2 segments, 2 transfers
              move arg0:0 from numpy to torch, 12 B
              torch (cpu:0): Exp
              move Exp:0 from torch to numpy, 12 B
              numpy (cpu:0): Mul, Sum
        """
        leaves, structure, _ = self._asked(args, kwargs)
        given, engine, _ = self._classify(leaves, structure)
        concrete = self.concrete(*args, **kwargs)
        if len(given) < len(concrete.graph.inputs):  # some are specs
            return concrete.plan(engine)
        return concrete.plan_for(concrete.natives(given, engine), engine)

    def expect(self, calls: int) -> None:
        """Say how many calls are to come, which decides about the first engine, and about the ones to prepare."""
        plans = self.measured_plans
        for plan in plans:
            plan.count_untimed()
        if plans:
            announce(max((plan.measurer.state for plan in plans), key=lambda state: state.done), calls)
        else:
            self._measuring.steps = calls

    @property
    def status(self) -> str:
        """The trial or preparation of a candidate that is going on, in a few words; "" if there is none."""
        if not self._chooses:
            return ""
        return next(filter(None, (plan.status for plan in self.measured_plans)), "")

    @property
    def measured_plans(self) -> list[MeasuredPlan]:
        """The plans that choose by measuring, whether among engines or between single calls and groups."""
        return [plan for measuring in (self._measuring, self._at_home) if measuring for plan in measuring.plans]

    @property
    def plans(self) -> list[Runnable]:
        """The plans of the calls so far, by graph, engine and device, and by shapes if these matter.

        Example:
            >>> import dovetail as dt
            >>> double = dt.function(lambda x: x + x)
            >>> _ = double(dt.ops.ones(2)), double(dt.ops.ones(2)), double(dt.ops.ones((2, 3)))
            >>> len(double.plans)
            2
        """
        return [plan for trace in self._traces.values() for plan in trace.concrete.plans]

    def optimized_graph(self, *args: Any, **kwargs: Any) -> Graph:
        """The graph that a call with these arguments runs, after the passes of the plan for its engine.

        Example:
            >>> import dovetail as dt
            >>> f = dt.function(lambda x: -(-x) * 1.0 + dt.ops.sin(x) * 0.5)
            >>> [op.type for op in f.optimized_graph(dt.ops.ones(3)) if op.inputs]
            ['Sin', 'Mul', 'AddV2']
        """
        leaves, structure, _ = self._asked(args, kwargs)
        _, engine, _ = self._classify(leaves, structure)
        return optimized_copy(self.concrete(*args, **kwargs).graph, engine)

    @property
    def traces(self) -> list[Trace]:
        """The traces under the present settings, in the order in which they were made."""
        now = context()
        return [trace for key, trace in self._traces.items() if key[1] == now]

    @property
    def graphs(self) -> list[Graph]:
        """The graphs that it has so far: of its traces, of the file that it was read from, or the graph itself.

        Example:
            >>> import dovetail as dt
            >>> double = dt.function(lambda x: x + x)
            >>> _ = double(dt.ops.ones(2))
            >>> [graph.inputs[0].shape for graph in double.graphs]
            [(2,)]
        """
        return [trace.concrete.graph for trace in self.traces]

    # copies

    def __copy__(self) -> Function[P, R]:
        return self  # like Python's own functions

    def __deepcopy__(self, memo: dict[int, Any]) -> Function[P, R]:
        return self

    def __reduce__(self) -> Any:
        """Pickle by reference, as Python pickles the function: nothing that was traced or compiled goes along."""
        python = self._python
        if self._owner is not None:
            return _method_of, (self._owner(), python.__name__)
        name = getattr(python, "__qualname__", None)
        member: Any = sys.modules.get(getattr(python, "__module__", None) or "")
        for part in name.split(".") if name else ():
            member = getattr(member, part, None)
        if name and member is self:
            return name
        if name and member is not python and not hasattr(python, "__self__"):
            problem = f"{name!r} cannot be pickled, since no module has it by this name"
            raise pickle.PicklingError(f"function {problem}: define it at the top of a module, with def.")
        return _unpickled, (python, self._signature, self._name, self._options)

    def __repr__(self) -> str:
        return f"<function {self._name}: {len(self._traces)} traces>"


class FollowingFunction(Function[..., Any]):
    """A compiled function of the graphs that `graphs` names, compiled again after edits of them."""

    _state: Any = None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        self._notice_edits()
        return super().__call__(*args, **kwargs)

    def _asked(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[list[Any], Any, bool]:
        self._notice_edits()
        return super()._asked(args, kwargs)

    def _notice_edits(self) -> None:
        state = [(graph.version, len(graph.inputs)) for graph in self.graphs]
        if state != self._state:
            self._state, self._traces, self._calls = state, Cache(TRACES), Cache(TRACES)
            self._take_edits()

    def _take_edits(self) -> None:
        """Adapt to graphs that have changed."""


class GraphFunction(FollowingFunction):
    """A graph that is compiled, and compiled again after edits; made by `function`."""

    def __init__(
        self,
        graph: Graph,
        input_signature: Any = None,
        name: str | None = None,
        options: Options = Options(),  # noqa: B008  # a tuple
    ) -> None:
        super().__init__(functools.partial(replay_graph, graph), input_signature, name or graph.name, options)
        self._replayed = graph
        self._given_signature = input_signature

    @property
    def graphs(self) -> list[Graph]:
        return [self._replayed]

    def on_engine(self, name: str) -> Function[..., Any]:
        options = self._options._replace(engine=name, fixed=None)
        return GraphFunction(self._replayed, self._given_signature, self._name, options)

    @property
    def _argument_names(self) -> list[str]:
        own, names = [t.op.name for t in self._replayed.inputs], super()._argument_names
        return own if len(own) == len(names) else names

    def _recorded(self, *args: Any, **kwargs: Any) -> tuple[Graph, Callable[[list[Tensor]], Any], bool]:
        graph, rebuild, has_made = super()._recorded(*args, **kwargs)
        graph.file = None if self._options.passes else self._replayed.file
        return graph, rebuild, has_made

    def _take_edits(self) -> None:
        if self._given_signature is None:
            self._signature = flatten(tuple(t.spec for t in self._replayed.inputs))

    def __reduce__(self) -> Any:
        return _unpickled, (self._replayed, self._given_signature, self._name, self._options)


def _is_given(arg: Any, leaf: Any) -> bool:
    """Whether an argument of a trace is the placeholder of a value of the call, not of a spec."""
    return arg is not leaf and type(leaf) is not TensorSpec


def _is_array(value: Any, dtype: DType) -> bool:
    """Whether a value is an array of NumPy that is taken as it is."""
    return type(value) is np.ndarray and dtype_of(value) == dtype


def _method_of(instance: Any, name: str) -> Function[Any, Any]:
    """A compiled method that keeps its instance alive, as a bound method does."""
    function: Function[Any, Any] = getattr(type(instance), name)
    python = function._python.__get__(instance)
    made = _unpickled(python, function._signature, function._name, function._options)
    made._owner = lambda: instance
    return made


def _unpickled(python: Any, signature: Any, name: str, options: Options) -> Function[Any, Any]:
    if isinstance(python, Graph):
        return GraphFunction(python, signature, name, options)
    made = Function(python, name=name, options=options)
    made._signature = signature
    return made


Passes: TypeAlias = "Iterable[Callable[[Graph], Any]]"


@overload
def function(
    python_function: Callable[P, R],
    *,
    input_signature: Any = None,
    name: str | None = None,
    passes: Passes = (),
    engine: str | None = None,
    deterministic: bool = False,
    replay: str | Path | Runnable | Choice | None = None,
    check_numerics: bool = False,
) -> Function[P, R]: ...
@overload
def function(
    python_function: Graph,
    *,
    input_signature: Any = None,
    name: str | None = None,
    passes: Passes = (),
    engine: str | None = None,
    deterministic: bool = False,
    replay: str | Path | Runnable | Choice | None = None,
    check_numerics: bool = False,
) -> Function[..., Any]: ...
@overload
def function(
    python_function: None = None,
    *,
    input_signature: Any = None,
    name: str | None = None,
    passes: Passes = (),
    engine: str | None = None,
    deterministic: bool = False,
    replay: str | Path | Runnable | Choice | None = None,
    check_numerics: bool = False,
) -> Callable[[Callable[P, R]], Function[P, R]]: ...
def function(
    python_function: Any = None,
    *,
    input_signature: Any = None,
    name: str | None = None,
    passes: Passes = (),
    engine: str | None = None,
    deterministic: bool = False,
    replay: str | Path | Runnable | Choice | None = None,
    check_numerics: bool = False,
) -> Any:
    """Compile a function: it is traced once per signature, then it runs as one program.  Also a decorator.

    Args:
        python_function: takes and returns structures of tensors: lists, tuples, dicts, dataclasses.  Other arguments
            are static, with a trace for each value.  Or a graph, for example an edited one: its function takes the
            graph's inputs, and returns its output, or a tuple of several outputs.  Each call runs the graph as it is
            at that time.
        input_signature: a sequence of `spec`s, with None for dimensions that vary; then there is one trace.
        name: the name of its graph.
        passes: functions that edit each traced graph, in this order; see `graph_pass`.  If the function is called
            while a graph is built, they edit the part that it adds.  On an engine's own values, as inside `jax.jit`,
            and on Keras' symbolic tensors nothing is traced, and no pass is applied.
        engine: the name of the engine on which it runs, wherever its arguments are.  Or "auto", for the engine that
            is measured to be the fastest, in the calls that the program makes.  If not given, it runs on the engine of
            its arguments, or as `set_engine` says.
        deterministic: whether each run of the program must give the same bits; then a choice of engines measures
            nothing, and always takes the same one.
        replay: a plan, as `.plan(...)` returns it, or its `choice`, or a file to which `dt.save` wrote one of them; its
            strategy runs, and nothing is measured.
        check_numerics: whether a NaN or an infinity among its results is an error, as in `dovetail.check_numerics`.

    Returns:
        A function of the same arguments.  `.graph(...)` shows the graph that a call runs, and `.optimized_graph(...)`
        the graph after the passes for the engine.

    Raises:
        TypeError: it cannot be called; or, when called, it returns a generator, or an object that is not a structure
            and holds a tensor of the graph.
        RecursionError: when called, it calls itself without end while it is traced.
        ValueError: when called, it makes a variable in each trace, instead of once for all; or an argument or its
            result holds itself, or is too deep.
        UnknownEngine, EngineNotInstalled: there is no such engine, or its library is not installed.
        OSError, ValueError: the file to replay cannot be read, or holds no plan.

    Source: `tf.function`.

    Example:
        >>> import dovetail as dt
        >>> @dt.function
        ... def hypotenuse(a, b):
        ...     return (a * a + b * b) ** 0.5
        >>> float(hypotenuse(dt.ops.constant(3.), dt.ops.constant(4.)))
        5.0
        >>> graph = hypotenuse.graph(dt.spec(()), dt.spec(()))
        >>> a, b = dt.wildcards("a b")
        >>> graph.rewrite(a + b, a - b)
        1
        >>> float(function(graph)(5., 3.))
        4.0
    """
    if python_function is None:
        return functools.partial(
            function,
            input_signature=input_signature,
            name=name,
            passes=passes,
            engine=engine,
            deterministic=deterministic,
            replay=replay,
            check_numerics=check_numerics,
        )
    if engine is not None and engine != AUTO:
        get_engine(engine)
    fixed = steady() if deterministic else None
    if replay is not None:
        from dovetail.functions.plan_files import replayed  # few functions replay a choice

        fixed = replayed(replay)
    options = Options(tuple(passes), engine if replay is None else AUTO, fixed, check_numerics=check_numerics)
    if isinstance(python_function, Graph):
        return GraphFunction(python_function, input_signature, name, options)
    check_callable("function", python_function)
    return Function(python_function, input_signature, name, options)
