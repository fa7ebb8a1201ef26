"""Footprint: the memory that a program needs, and its check against the limit of its device."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from dovetail.core.engine import Engine
from dovetail.core.values.accounting import count
from dovetail.edit.graph import Graph, GraphTensor, Operation
from dovetail.execute.aliases import Aliases
from dovetail.execute.buffers import BufferPlan

if TYPE_CHECKING:
    from dovetail.execute.segment import Segment


def footprint(graph: Graph, engine: Engine, buffers: BufferPlan | None = None) -> tuple[int, Operation | None]:
    """The most bytes of results that are alive at once, and the operation that makes the last of them.

    Results in buffers do not count, nor inputs, constants, views, and results of unknown sizes.

    Args:
        graph: the program.
        engine: the engine that computes it.
        buffers: its buffers.
    """
    operations = [op for op in graph.operations if op.type != "Const"]
    aliases = Aliases(operations, engine, engine.compiles_programs)
    last: dict[GraphTensor, int] = {}
    for at, op in enumerate(operations):
        last.update(dict.fromkeys(aliases.roots((*op.inputs, *op.outputs)), at))
    last.update(dict.fromkeys(aliases.roots(graph.outputs), len(operations)))
    inputs = {*graph.inputs}
    live: dict[GraphTensor, int] = {}
    most, largest = 0, None
    for at, op in enumerate(operations):
        held = buffers is not None and (op in buffers.of or op in buffers.overwrites)
        spares = () if buffers is None else buffers.spares
        for t in op.outputs:
            if not held and t not in spares and t not in inputs and aliases.root(t) is t:
                live[t] = t.spec.nbytes or 0
        inner = max((footprint(part, engine)[0] for part in op.subgraphs()), default=0)
        now = sum(live.values()) + inner
        if now > most:
            most, largest = now, op
        for t in [t for t in live if last[t] <= at]:
            del live[t]
    return most, largest


def counted(segment: Segment, run: Callable[..., Any]) -> Callable[..., Any]:
    """An executable that is refused if its results exceed the limit of its device, and whose results are counted."""
    engine = segment.engine
    account = engine.books.accounts.get(segment.device or engine.devices()[0])
    size, op = footprint(segment.graph, engine, segment.buffers)
    title, where = ("a program", None) if op is None else (op.origin.type, op.origin.where)

    def checked(*arrays: Any, **options: Any) -> Any:
        if account is not None:
            account.admit(title, size, where)
        results = run(*arrays, **options)
        count(engine, title, results, is_forced=True)  # there was room for them; now the run must not fail
        return results

    for method in ("prepare", "source"):  # which an executable may have
        if hasattr(run, method):
            setattr(checked, method, getattr(run, method))
    return checked
