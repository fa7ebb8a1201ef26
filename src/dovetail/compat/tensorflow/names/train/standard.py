"""The standard parts of a graph, from its collections, or made of the graph."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dovetail.compat.tensorflow import graph_mode
from dovetail.compat.tensorflow.names.graph.graph import GraphKeys
from dovetail.compat.tensorflow.names.saving.checkpoints import Saver
from dovetail.compat.tensorflow.names.summary.summary import merge_all
from dovetail.compat.tensorflow.names.train.steps import get_global_step
from dovetail.compat.tensorflow.names.variables.variables import (
    global_variables_initializer,
    local_variables_initializer,
    report_uninitialized_variables,
)

# part → the collection that may have it, and the function that makes it
PARTS: dict[str, tuple[str, Callable[[], Any]]] = {
    "init_op": (GraphKeys.INIT_OP, global_variables_initializer),
    "local_init_op": (GraphKeys.LOCAL_INIT_OP, local_variables_initializer),
    "ready_op": (GraphKeys.READY_OP, report_uninitialized_variables),
    "summary_op": (GraphKeys.SUMMARY_OP, merge_all),
    "saver": (GraphKeys.SAVERS, lambda: Saver(allow_empty=True)),
    "global_step": (GraphKeys.GLOBAL_STEP, get_global_step),
}


def standard(part: str) -> Any:
    """A part of the graph that is being built; a part that is made joins the collection."""
    key, make = PARTS[part]
    graph = graph_mode.open_graph()
    parts = graph.get_collection(key)
    if not parts and (made := make()) is not None:
        graph.add_to_collection(key, made)
        return made
    return parts[0] if parts else None
