"""The kernels that TensorFlow runs after its own passes, or the instructions of XLA, for each operation."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import tensorflow as tf
import tensorflow.python as tf_python

from dovetail.core.base.optional_api import optional_api
from dovetail.core.engine import Segment
from dovetail.core.engines.routines import NOT_REPORTED, Routine, Routines, native_output
from dovetail.engines import verbose
from dovetail.engines.hlo_routines import instructions
from dovetail.engines.tensorflow.executable import XLA, Executable, fits_xla

_context = optional_api(tf_python, "eager.context.context")
_registered = optional_api(tf_python, "framework.kernels.get_registered_kernels_for_op")
_IDLE = ("_Arg", "_Retval", "Placeholder", "Const", "Identity", "NoOp")


def routines(segment: Segment, arguments: Callable[[], Sequence[Any]]) -> Routines:
    executable = Executable(segment)
    is_xla = XLA in segment.variants and fits_xla(segment.graph)
    by_path: dict[str, list[Routine]] = {}
    for path, routine in _instructions(executable) if is_xla else _kernels(executable.traced(xla=False), arguments()):
        by_path.setdefault(path, []).append(routine)
    return by_path


def _instructions(executable: Executable) -> Iterator[tuple[str, Routine]]:
    for made in instructions(executable.hlo("optimized_hlo")):
        yield made.path, Routine(made.text, made.routine)


def _kernels(run: Any, arguments: Sequence[Any]) -> Iterator[tuple[str, Routine]]:
    """The nodes of the graph that TensorFlow runs, with their kernels, and the lines of oneDNN if it writes them."""
    if _context is None:
        return
    context = _context()
    context.enable_graph_collection()
    try:
        with native_output(*verbose.BEGINNINGS) as written:
            run(*arguments)
            lines = written()
    finally:
        collected = context.export_run_metadata()
    nodes = [node for graphs in collected.function_graphs for part in graphs.partition_graphs for node in part.node]
    nodes = [node for node in nodes if node.op not in _IDLE]
    known, traced = {node.name for node in nodes}, {op.name: op for op in run.graph.get_operations()}
    for node in nodes:
        routine = Routine(node.op, _kernel(node))
        yield node.name, routine
        if node.attr["fused_ops"].list.s:
            yield from ((name, routine) for name in _fused(traced.get(node.name), known))
    mkl = [node for node in nodes if "Mkl" in node.op]
    for line in lines:
        kind = verbose.primitive(line)
        own = [node for node in mkl if kind and kind[:4] in node.op.lower()]
        if len(own) == 1:  # else nothing says which node's line it is
            yield own[0].name, Routine(own[0].op, verbose.routine([line]))


def _fused(op: Any, known: set[str]) -> Iterator[str]:
    """The operations before a fused one that have no node of their own."""
    for other in (t.op for t in op.inputs if t.op.name not in known and t.op.type not in _IDLE) if op else ():
        yield other.name
        yield from _fused(other, known)


def _kernel(node: Any) -> str:
    """The registered kernel of a node: its device, and the types and the label that it is for."""
    device = node.device.rpartition("device:")[2].partition(":")[0]
    for kernel in _registered(node.op).kernel if _registered else ():
        given = {c.name: _types(node.attr[c.name]) for c in kernel.constraint}
        fits = all({*c.allowed_values.list.type}.issuperset(given[c.name]) for c in kernel.constraint)
        if kernel.device_type == device and fits and kernel.label.encode() in (b"", node.attr["_kernel"].s):
            types = [f"{n}={tf.as_dtype(each[0]).name}" for n, each in sorted(given.items()) if each]
            return f"kernel {kernel.op} ({', '.join([device, *types, *filter(None, [kernel.label])])})"
    return NOT_REPORTED


def _types(attr: Any) -> list[int]:
    return [attr.type] if attr.type else [*attr.list.type]
