"""TensorFlow 1's profiler of graphs: floating-point operations and parameters, by name scope or type of operation."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from dovetail.compat.tensorflow.entries import value
from dovetail.compat.tensorflow.names.graph.graph import get_default_graph
from dovetail.compat.tensorflow.table import function
from dovetail.core.base.errors import op_error
from dovetail.graph.operation import Operation
from dovetail.graph.reach import reach
from dovetail.observe.flops import Cost, costs_of

# The types that TensorFlow counts; it knows no numbers of others.
_TYPES = (
    "Add AddN AddV2 ArgMax ArgMin AvgPool AvgPoolGrad BiasAdd BiasAddGrad Conv2D Conv2DBackpropFilter "
    "Conv2DBackpropInput Equal Greater GreaterEqual L2Loss Less LessEqual Log MatMul MaxPool MaxPoolGrad Maximum Mean "
    "Minimum Mul Neg NotEqual Pow RealDiv Reciprocal Rsqrt Softmax Square SquaredDifference Sub Sum"
)
COUNTED = frozenset(_TYPES.split())
DRAWS = "StatelessRandomUniform"  # the type that draws uniform numbers
FLOATS, PARAMETERS = "float_ops", "params"
FILE = "file:outfile="


class ProfileOptionBuilder:
    """The options of `tf.profiler.profile`: what it counts, and where it writes.

    Source: `tf.compat.v1.profiler.ProfileOptionBuilder`.
    """

    def __init__(self, options: dict[str, Any] | None = None) -> None:
        self._options = dict(options or _options(FLOATS))

    @staticmethod
    def float_operation() -> dict[str, Any]:
        """Options that count floating-point operations."""
        return _options(FLOATS)

    @staticmethod
    def trainable_variables_parameter() -> dict[str, Any]:
        """Options that count the numbers of trainable variables."""
        return _options(PARAMETERS)

    @staticmethod
    def time_and_memory(*args: Any, **kwargs: Any) -> dict[str, Any]:
        """Refused: `dovetail.profile` measures times and memory."""
        raise op_error(NotImplementedError, "tf.profiler.profile", "times and memory: open `with dovetail.profile()`.")

    def with_empty_output(self) -> ProfileOptionBuilder:
        """Write no text."""
        return self._with(output="none")

    def with_stdout_output(self) -> ProfileOptionBuilder:
        """Print the text."""
        return self._with(output="stdout")

    def with_file_output(self, outfile: str) -> ProfileOptionBuilder:
        """Write the text to a file."""
        return self._with(output=f"{FILE}{outfile}")

    def select(self, attributes: Iterable[str]) -> ProfileOptionBuilder:
        """Choose what is counted: "float_ops", "params"."""
        return self._with(select=[*attributes])

    def order_by(self, attribute: str) -> ProfileOptionBuilder:
        """Choose the order: "float_ops", "params" or "name"."""
        return self._with(order_by=attribute)

    def build(self) -> dict[str, Any]:
        """The options."""
        return dict(self._options)

    def _with(self, **changes: Any) -> ProfileOptionBuilder:
        self._options |= changes
        return self


def _options(counted: str) -> dict[str, Any]:
    return {"select": [counted], "order_by": counted, "output": "stdout"}


@dataclass
class Node:
    """The counts of a scope or a type, and of all that it contains (`total_`)."""

    name: str
    float_ops: int = 0
    parameters: int = 0
    total_float_ops: int = 0
    total_parameters: int = 0
    inner: dict[str, Node] = field(default_factory=dict)

    @property
    def children(self) -> list[Node]:
        """The scopes or operations inside."""
        return [*self.inner.values()]

    def add(self, path: list[str], cost: Cost) -> None:
        """Count an operation here and in the scopes of its path."""
        self.total_float_ops += cost.flops
        self.total_parameters += cost.parameters
        if not path:
            self.float_ops += cost.flops
            self.parameters += cost.parameters
            return
        name = path[0] if self.name == ROOT else f"{self.name}/{path[0]}"
        self.inner.setdefault(name, Node(name)).add(path[1:], cost)

    def lines(self, order: str, depth: int = 0) -> list[str]:
        """The counts as text."""
        own = [f"{'  ' * depth}{self.name} ({self.total_float_ops:,} flops, {self.total_parameters:,} params)"]
        keys = {FLOATS: lambda one: -one.total_float_ops, PARAMETERS: lambda one: -one.total_parameters}
        ordered = sorted(self.children, key=keys.get(order, lambda one: one.name))
        return own + [line for child in ordered for line in child.lines(order, depth + 1)]


ROOT = "_TFProfRoot"


@function("profiler.profile", "v1")
def profile(
    graph: Any = None, run_meta: Any = None, op_log: Any = None, cmd: str = "scope", options: Any = None
) -> Node:
    """Count the floating-point operations and the parameters of a graph, without a run.

    A type that TensorFlow does not count, as Relu, counts nothing, nor does an operation with an unknown size;
    `dovetail.flops` counts all types.

    Args:
        cmd: "scope" or "graph" for a tree of name scopes; "op" for types.

    Raises:
        NotImplementedError: `run_meta`, `op_log`, or another `cmd`.

    Source: `tf.compat.v1.profiler.profile`.
    """
    if run_meta is not None or op_log is not None or cmd not in ("scope", "graph", "op"):
        problem = "run_meta, op_log and cmd='code' are not offered: `with dovetail.profile()` has times and lines."
        raise op_error(NotImplementedError, "tf.profiler.profile", problem)
    options = options or _options(FLOATS)
    selected = options.get("select", [FLOATS])
    root = Node(ROOT)
    graph = graph or get_default_graph()
    operations = graph.get_operations()
    left_out = {one.name for one in operations if one.type == "Less" and _keeps_below(one)}
    left_out |= {one.name for one in operations if not all(t.is_static for t in (*one.inputs, *one.outputs))}
    costs = [cost for cost in costs_of(operations) if cost.type in COUNTED and cost.name not in left_out]
    costs = [replace(cost, parameters=0) for cost in costs if cost.flops and FLOATS in selected]
    if PARAMETERS in selected:
        variables = graph.get_collection("trainable_variables")
        costs += [Cost(v.op.name, "VariableV2", 0, math.prod(v.shape.as_list())) for v in variables]
    for cost in costs:
        root.add([cost.type] if cmd == "op" else cost.name.split("/"), cost)
    _write("\n".join(root.lines(options.get("order_by", FLOATS))) + "\n", options.get("output", "stdout"))
    return root


def _keeps_below(less: Operation) -> bool:
    """Whether a comparison keeps a random number below its bound, which is part of one operation in TensorFlow."""
    number = less.inputs[0]
    if any(user.type != "SelectV2" or user.inputs[1] is not number for user in less.outputs[0].consumers()):
        return False
    return any(one.type == DRAWS and one.where == less.where for one in reach([number]))


def _write(text: str, output: str) -> None:
    if output == "stdout":
        sys.stdout.write(text)
    elif output.startswith(FILE):
        Path(output.removeprefix(FILE)).write_text(text, encoding="utf-8")
    elif output != "none":
        raise op_error(ValueError, "tf.profiler.profile", f"output={output!r}: 'stdout', 'none' or '{FILE}PATH'.")


value("profiler.ProfileOptionBuilder", ProfileOptionBuilder, "v1")


@function("contrib.tfprof.model_analyzer.print_model_analysis", "v1")
def print_model_analysis(
    graph: Any, run_meta: Any = None, op_log: Any = None, tfprof_cmd: str = "scope", tfprof_options: Any = None
) -> Node:
    """`tf.profiler.profile`, which counts parameters by default.

    Source: `tf.contrib.tfprof.model_analyzer.print_model_analysis`.
    """
    return profile(graph, run_meta, op_log, tfprof_cmd, tfprof_options or _options(PARAMETERS))


value("contrib.tfprof.model_analyzer.TRAINABLE_VARS_PARAMS_STAT_OPTIONS", _options(PARAMETERS), "v1")
value("contrib.tfprof.model_analyzer.FLOAT_OPS_OPTIONS", _options(FLOATS), "v1")
