"""The passes that every plan runs, in order."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import partial

from dovetail.core.base.garbage import NoGarbageCollection
from dovetail.core.engine import Engine
from dovetail.core.engines.collectives import WORLD
from dovetail.edit.graph import Graph, Operation
from dovetail.edit.transplant import copy_graph
from dovetail.execute.placement import Place, is_divided, pin_host_calls, pin_unknown_shapes, place_of
from dovetail.graph.journal import no_part_of_edits
from dovetail.passes import base
from dovetail.passes.collectives import order_collectives
from dovetail.passes.composites import inline_composites, waits_for_rank
from dovetail.passes.constant_folding import fold_constants
from dovetail.passes.control_inputs import control_inputs_to_data
from dovetail.passes.counted_loops import scan_counted_loops
from dovetail.passes.cse import merge_common
from dovetail.passes.dead_assignments import remove_dead_assignments
from dovetail.passes.fuse import fuse
from dovetail.passes.fused_convolutions import fuse_convolutions
from dovetail.passes.normalized_convolutions import normalize_kernels
from dovetail.passes.products import multiply_matrices
from dovetail.passes.prune import prune
from dovetail.passes.residuals import keep_residuals
from dovetail.passes.simplify import simplify
from dovetail.passes.specialize import specialize

ROUNDS = 4  # at most: a pass makes work for others, but seldom for more rounds


def optimized_copy(
    graph: Graph,
    engine: Engine,
    shapes: Sequence[tuple[int, ...]] | None = None,
    device: str | None = None,
    runner: Callable[[Graph], base.Passes] = base.Passes,
) -> Graph:
    """A copy of the graph as the engine will run it.

    Args:
        graph: the graph; it is not changed.
        engine: the plan's engine.  A composite stays if the engine of its operation claims it; else it is inlined.
        shapes: the shapes of the inputs, if they are to become static.
        device: the plan's device, as in `Place`.
        runner: makes what runs the passes on the copy.
    """
    with NoGarbageCollection(), no_part_of_edits():
        return _optimized_copy(graph, Place(engine, device), shapes, runner)


def _optimized_copy(
    graph: Graph, home: Place, shapes: Sequence[tuple[int, ...]] | None, runner: Callable[[Graph], base.Passes]
) -> Graph:
    copy = copy_graph(graph)
    copy.file = graph.file
    prune(copy)
    pin_host_calls(copy, home)
    passes = runner(copy)
    passes.run(
        [
            *([order_collectives] if WORLD.size > 1 else []),
            control_inputs_to_data,
            *([] if home.engine.fuses_elementwise else [normalize_kernels, prune]),
        ]
    )
    if shapes is not None or not all(t.is_static for op in copy for t in op.outputs):
        specialize(copy, shapes)
        passes = runner(copy)

    def claimed(operation: Operation) -> Collection[str]:
        engine = place_of(operation, home).engine
        if waits_for_rank(operation, engine):
            return (operation.type,)
        return engine.control.host.rules() if is_divided(operation, home) else engine.claims(operation)

    inline = partial(inline_composites, claimed=claimed)
    passes.run(
        [partial(keep_residuals, claimed=claimed), inline, merge_common, prune]
    )  # optimizers' steps have many equal parts; later passes see each once
    passes.run([] if home.engine.compiles_programs else [multiply_matrices, prune])
    passes.run(
        [fold_constants, scan_counted_loops, inline, simplify, merge_common, remove_dead_assignments, prune], ROUNDS
    )
    if pin_unknown_shapes(copy, home):
        passes.run([inline, prune])  # NumPy may lack the rule of a composite
    passes.run([partial(fuse, claimed=claimed), partial(fuse_convolutions, claimed=claimed), prune])
    return copy
