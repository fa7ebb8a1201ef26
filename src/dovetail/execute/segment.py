"""Segment: a subgraph on one engine and device, compiled to one executable.

It is pure: it takes and returns native arrays, among them the new values of variables.  The plan passes the arrays of
variables to it, and takes the new ones.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from functools import cached_property
from importlib import import_module
from threading import RLock
from types import MappingProxyType
from typing import Any
from weakref import WeakSet

from dovetail.core.base.errors import did_you_mean, op_error
from dovetail.core.base.hooks import compiles
from dovetail.core.engine import Engine
from dovetail.core.engines.devices import placed_on
from dovetail.core.values.variable import Variable
from dovetail.edit.graph import Graph, GraphTensor
from dovetail.execute.buffers import plan_buffers
from dovetail.execute.claims import NotClaimed
from dovetail.execute.footprint import counted
from dovetail.execute.lower import BodyFunctions, Laps, Lowered, failed_operation, lower
from dovetail.execute.optimize import optimized_copy
from dovetail.execute.placement import Place
from dovetail.passes.specialize import check_static

# name → the module whose `program` writes a graph without variables, with the values of some inputs as constants
FORMATS = {"onnx": "dovetail.formats.onnx.programs"}

_made: WeakSet[Segment] = WeakSet()  # those with an executable
_form: Callable[[Segment], Callable[..., tuple[Any, ...]]] | None = None
_lock = RLock()


def set_form(form: Callable[[Segment], Callable[..., tuple[Any, ...]]] | None) -> None:
    """Let all segments call another form of their executables, also of those that are made later.

    Args:
        form: (segment) → what is called instead of its own executable; None gives each its own one back.
    """
    global _form
    with _lock:
        _form = form
        for segment in list(_made):
            segment.executable = segment.own_executable if form is None else form(segment)


class Segment:
    """A graph for one place.

    Args:
        graph: the graph, with only ops that the engine claims; no operation reads or assigns a variable.
        place: the place at which it is computed.
        states: the number of outputs that are new values of variables; they are the last outputs.
        donated: the numbers of the inputs whose arrays the executable may consume; more may be added before it is made.
        bodies: makes functions of the branches and bodies of its one operation, if Python runs that.
        part: the user's part that it belongs to; None if there are none.
        weights: the numbers of the inputs that are values of variables, which its plan does not assign, and these.

    Attributes:
        graph, place, states, donated, bodies, part, weights: as given.
        buffers: the buffers that its operations write into.

    Raises:
        ValueError: the engine needs every shape, and one depends on values.
    """

    def __init__(
        self,
        graph: Graph,
        place: Place,
        states: int = 0,
        donated: Sequence[int] = (),
        bodies: BodyFunctions | None = None,
        part: int | str | None = None,
        weights: Mapping[int, Variable] = MappingProxyType({}),
    ) -> None:
        engine = place.engine
        if engine.static_shapes:
            check_static(graph, engine.name)
        self.graph = graph
        self.place = place
        self.states = states
        self.donated = tuple(donated)
        self.bodies = bodies
        self.part = part
        self.weights = weights
        results = len(graph.outputs) - states
        outputs, new = graph.outputs[:results], graph.outputs[results:]
        compiled = engine.compiles_programs and bodies is None
        self.buffers = plan_buffers(graph.operations, engine, graph.inputs, outputs, new, compiled)

    @property
    def engine(self) -> Engine:
        return self.place.engine

    @property
    def device(self) -> str | None:
        """The device of its arrays; see `Place`."""
        return self.place.device

    @property
    def variants(self) -> tuple[str, ...]:
        """The names of the preferred rules; see `Place`."""
        return self.place.variants

    @property
    def inputs(self) -> list[GraphTensor]:
        return self.graph.inputs

    @property
    def outputs(self) -> list[GraphTensor]:
        return self.graph.outputs

    @property
    def devices(self) -> str:
        """The device on which it computes, or the devices for which its executable was compiled."""
        compiled_for = getattr(self.__dict__.get("executable"), "devices", None)
        return self.device or compiled_for or self.engine.devices()[0]

    @cached_property
    def lowered(self) -> Lowered:
        """The graph as a straight-line function that calls the engine's rules."""
        return lower(self.graph, self.place, self.buffers, self.bodies)

    @cached_property
    def function(self) -> Callable[..., tuple[Any, ...]]:
        """The function (input arrays, an array to write into for each of `buffers.spare_numbers`) → tuple of outputs.

        If an operation writes over inputs, the function takes a list `into`; see `Engine.compile`.
        """
        function = self.lowered.function
        return function if self.device is None else placed_on(self.engine, self.device)(function)

    @cached_property
    def executable(self) -> Callable[..., tuple[Any, ...]]:
        """The executable that the engine makes of the function; in a profile, the form of it that records events."""
        own = self.own_executable
        with _lock:
            _made.add(self)
            return own if _form is None else _form(self)

    @cached_property
    def own_executable(self) -> Callable[..., tuple[Any, ...]]:
        """The executable that the engine makes of the function."""
        return self._compiled()

    @compiles
    def _compiled(self) -> Callable[..., tuple[Any, ...]]:
        run = self._compiled_by_engine() if self.bodies is None else self.function
        return counted(self, run) if self.engine.books.accounts else run

    def _compiled_by_engine(self) -> Callable[..., tuple[Any, ...]]:
        """What the engine compiles; one that only compiles may refuse, so that another engine runs the graph."""
        try:
            return self.engine.compile(self)
        except self.engine.errors as error:
            if self.engine.eager is None:
                raise
            refused = NotClaimed(f"the engine {self.engine.name!r} cannot compile it. {type(error).__name__}: {error}")
            refused.engine = self.engine
            raise refused from error

    @cached_property
    def _stand_in(self) -> Segment:
        """The same program on the engine that holds the values."""
        holder = self.engine.holder
        return Segment(optimized_copy(self.graph, holder), Place(holder))

    def with_laps(self, laps: Laps) -> Callable[..., tuple[Any, ...]]:
        """The executable of the same program with a profile's clock after each line; see `lower`."""
        twin = copy(self)
        twin.__dict__.pop("function", None)
        twin.lowered = lower(self.graph, self.place, self.buffers, self.bodies, laps)
        return twin._compiled()

    def to(self, format: str, known: Mapping[int, Any] = MappingProxyType({})) -> bytes:
        """The program as a file of another library, whose inputs and outputs have the segment's order.

        Args:
            format: "onnx", for a model of the lowest version of ONNX that can say the program.
            known: the numbers of inputs that are to be constants of the file, with their arrays.

        Raises:
            ValueError: there is no such format; or it needs a rank that is not known.
            TypeError: the format lacks a dtype.
            NotImplementedError: the format has no way to compute an operation, or that calls Python, as prints do.
            ImportError: the extra `formats` is not installed.

        Example:
            >>> import dovetail as dt
            >>> f = dt.function(lambda x: dt.ops.tanh(x) * 2.0, engine="numpy")
            >>> b"Tanh" in f.plan(dt.spec((3,))).segments[0].to("onnx")
            True
        """
        if format not in FORMATS:
            problem = f"there is no format {format!r}; there is {', '.join(FORMATS)}. {did_you_mean(format, FORMATS)}"
            raise op_error(ValueError, "segment.to", problem.rstrip())
        return import_module(FORMATS[format]).program(self.graph, known)

    def file(self, format: str, known: Mapping[int, Any] = MappingProxyType({})) -> bytes | None:
        """The file that its whole graph was read from, with the values that its weights have now.

        A library may compute the file's own operations quicker than what Dovetail writes in their place.

        Args:
            format, known: as for `to`.

        Returns:
            The bytes; None if it was read from no such file, if somebody edited it, or if a weight is an input.
        """
        model = self.graph.file
        if model is None or self.states or self.weights.keys() != known.keys():
            return None
        return model.file(format)

    @property
    def source(self) -> str:
        """The text of the program that the engine runs, for reading.

        - numpy, torch: the Python function, one line an operation.  `a0` is an argument, `v0` a value, `c0` a constant,
          `b0` a buffer, `s0` a spare buffer of a variable, `r0` a rule and `k0` a static argument.
        - jax: the HLO of the executable, after the passes of XLA.
        - tensorflow: the text of the GraphDef; if XLA has compiled the program, its HLO.
        - another engine: the text that its executable gives by `source()`.  If it gives none and the engine compiles
          whole graphs only, the text is the graph.

        Example:
            >>> import dovetail as dt
            >>> f = dt.function(lambda x: dt.ops.tanh(dt.ops.exp(x)), engine="numpy")
            >>> print(f.plan(dt.spec((3,))).segments[0].source)
            def program(a0):
             v1 = r0(a0)
             del a0
             v2 = r1(v1)
             del v1
             return (v2, )
        """
        told = getattr(self.executable, "source", None)
        if told is not None:
            return told()
        return self.lowered.source if self.engine.eager is None or self.bodies is not None else str(self.graph)

    def prepare(self) -> None:
        """Do the long part of the first call beforehand."""
        getattr(self.executable, "prepare", lambda: None)()

    def run(self, arguments: Sequence[Any], **options: Any) -> tuple[Any, ...]:
        """Call the executable; the library's error about an operation gets the operation's name and the user's line.

        If an engine that only compiles refuses the arguments, the one that holds the values computes them instead.
        """
        try:
            return self.executable(*arguments, **options)
        except self.engine.errors as error:
            if self.engine.eager is not None and self.bodies is None:
                return tuple(map(self.engine.holder.copy, self._stand_in.run(arguments)))  # they may be views
            operation = failed_operation(error)
            if operation is None or getattr(error, "dovetail", False):
                raise
            raise operation.failure(error, self.engine.name) from error
