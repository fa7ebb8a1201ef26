"""Programs: a lowered graph as one `tf.function`, which XLA compiles once it has run often.

XLA takes five to ten times as long to compile as TensorFlow takes to trace, tenths of a second for a small program.  A
compiled program of many small operations takes two thirds of the time.  So XLA compiles a program after `OFTEN` calls,
unless a plan decides whether XLA compiles.  XLA computes convolutions and pools more slowly than TensorFlow's kernels,
on CPUs less than half as fast.

Programs with loops run without one of TensorFlow's optimizers of graphs: of `x + a + a` in a loop, with an `a` from
outside, it makes an empty array (seen in 2.21).  TensorFlow optimizes a program at its first call.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from contextlib import nullcontext, suppress
from functools import cache
from typing import Any

import tensorflow as tf
import tensorflow.python as tf_python

from dovetail.core.base.errors import CONVENTIONAL, conventional, op_error
from dovetail.core.base.hooks import compiles
from dovetail.core.base.optional_api import optional_api
from dovetail.core.base.windows import CONVOLUTIONS, POOLS
from dovetail.core.engine import FILE, OPERATIONS, Segment
from dovetail.core.rules import Rule

OFTEN = 100  # calls
XLA, KERNELS = "xla", "kernels"  # variants of a plan: XLA compiles at once, or never
# Ops whose programs stay with TensorFlow: XLA is slow at them, has no kernel, or would need shapes that values decide.
WITHOUT_XLA = frozenset(
    (
        *(name for names in CONVOLUTIONS.values() for name in names),
        "FusedConv",
        *(f"{name}{part}" for names in POOLS.values() for name in names for part in ("", "Grad")),
        *("MatrixSolve", "MatrixInverse", "MatrixDeterminant", "LogMatrixDeterminant", "Lu", "Qr", "Eig", "Svd"),
        *("Where", "Unique", "Print", "BesselI0", "BesselI1"),
        *(
            "ResizeBilinear",
            "ResizeBilinearGrad",
            "ResizeBicubic",
            "ResizeNearestNeighbor",
            "ResizeNearestNeighborGrad",
        ),
    )
)


LOOPS = frozenset(("While", "WhileGrad", "Scan"))
_context = optional_api(tf_python, "eager.context.context")
_options = optional_api(tf_python, "eager.context.FunctionCallOptions")


def in_loops(function: Callable[..., Any], args: Any) -> Any:
    """Call a program that has loops, for which TensorFlow leaves sums as they are."""
    if _context is None or _options is None:
        return function(*args)
    context = _context()
    before = context.function_call_options
    context.function_call_options = _of_loops(before.config_proto_serialized)
    try:
        return function(*args)
    finally:
        context.function_call_options = before


@cache
def _of_loops(options: bytes) -> Any:
    """The options of a thread's calls, as bytes, without the optimizer of sums."""
    config = tf.compat.v1.ConfigProto.FromString(options)
    config.graph_options.rewrite_options.arithmetic_optimization = 2  # RewriterConfig.OFF
    return _options(config_proto=config)


def fits_xla(graph: Any) -> bool:
    """Whether XLA can compile a graph, and makes it faster."""
    operations = [op for part in graph.everywhere() for op in part.operations]
    return WITHOUT_XLA.isdisjoint(op.type for op in operations) and all(
        tensor.spec.is_static for op in operations for tensor in op.outputs
    )


class Executable:
    """A segment whose function is traced at its first call."""

    def __init__(self, segment: Segment) -> None:
        self._function = segment.function
        self._graph = segment.graph
        self._inputs = segment.inputs
        self._device = segment.device
        self._calls = 0
        self._compiles = KERNELS not in segment.variants and fits_xla(segment.graph)
        self._at_once = XLA in segment.variants
        self._has_loops = not LOOPS.isdisjoint(op.type for part in segment.graph.everywhere() for op in part.operations)
        self._may_not_compile = any(op.op.is_users for op in segment.graph.operations)
        self._lacks_ranks = any(t.shape is None for op in segment.graph.operations for t in (*op.inputs, *op.outputs))
        self._run: Any = None

    def prepare(self) -> None:
        """Trace the function for the specs of the graph's inputs, and compile it now if the plan asks for XLA.

        A function is called on values instead if its rules need ranks that only these have.
        """
        if self._run is None:
            self._trace()

    @compiles
    def _trace(self) -> None:
        try:
            self._run = self.traced(xla=False)
        except CONVENTIONAL:
            if not self._lacks_ranks:
                raise
            self._run = self._function
        if self._compiles and self._at_once:
            self._compile([tf.zeros(t.shape, t.dtype.numpy) for t in self._inputs])

    def __call__(self, *args: Any) -> Any:
        self._calls += 1
        self.prepare()
        if self._compiles and self._calls >= OFTEN:
            self._compile(args)
        try:
            return self._called(args)
        except tf.errors.OpError as error:
            raise self._told(error) from error

    def _called(self, args: Any) -> Any:
        with nullcontext() if self._device is None else tf.device(self._device):
            return in_loops(self._run, args) if self._has_loops else self._run(*args)

    @compiles
    def _compile(self, args: Any) -> None:
        """Let XLA compile the function; keep the traced one if XLA lacks an operation that a user's rule calls."""
        self._compiles = False
        before, self._run = self._run, self.traced(xla=True)
        if self._at_once or self._may_not_compile:  # XLA compiles at the first call
            try:
                self._called(args)
            except tf.errors.OpError:
                self._run = before

    def _told(self, error: Any) -> Exception:
        """The error of the operation whose program line TensorFlow's message names; else TensorFlow's error."""
        lines = re.findall(rf'File "{FILE}", line (\d+)', error.message)
        operation = inspect.unwrap(self._function).__globals__[OPERATIONS].get(int(lines[0])) if lines else None
        if operation is None:
            return error
        said = re.search(r"\n(.+)\n\t \[\[", error.message)
        problem = f"tensorflow says: {said[1] if said else error.message}."
        return op_error(conventional(error), operation.type, problem, where=operation.where)

    def source(self) -> str:
        """The graph that TensorFlow runs, as the text of a GraphDef; or the HLO of XLA, if XLA has compiled it."""
        self.prepare()
        if self._run is self._function:
            return str(self._graph)
        if not self._run.function_def.attr["_XlaMustCompile"].b:
            return str(self._run.graph.as_graph_def())
        return self.hlo("hlo")

    def hlo(self, stage: str) -> str:
        """The HLO of XLA, before ("hlo") or after its passes ("optimized_hlo")."""
        return self._program(xla=True).experimental_get_compiler_ir(*self._specs())(stage=stage)

    def traced(self, xla: bool) -> Any:
        """A new trace of the program, which XLA compiles or does not."""
        return self._program(xla).get_concrete_function(*self._specs())

    def _program(self, xla: bool) -> Any:
        return tf.function(self._function, autograph=False, jit_compile=xla or None)

    def _specs(self) -> list[Any]:
        return [tf.TensorSpec(t.shape, t.dtype.numpy) for t in self._inputs]


def as_program(rule: Rule) -> Rule:
    """A rule of many kernels that an eager call runs as one program for each shape of its arguments.

    Kernels run one by one if ranks change from step to step, which no program can say.
    """
    program = tf.function(rule, autograph=False)

    def run(*args: Any) -> Any:
        if tf.executing_eagerly():
            with suppress(*CONVENTIONAL):  # of tracing; kernels raise others
                return in_loops(program, args)
        return rule(*args)

    return run
