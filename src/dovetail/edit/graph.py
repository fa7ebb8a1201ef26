"""Graph: the recorded program, as mutable SSA.

A graph Tensor knows the Operation that makes it (`.op`) and the operations that use it (`.consumers()`); every edit
keeps the two in agreement.  Operations stand in program order, which is always a topological order.  Operations with an
effect (assigning variables) are kept, and ordered by control inputs.

    print(graph)

        graph step(x: float32[?,3])
          variables w: float32[3,4]
          MatMul = x @ w  float32[?,4]  model.py:12
          return MatMul
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from dovetail.edit import changes, extracting, lookup, patterns, placing, retyping, taps
from dovetail.edit import edit as edits
from dovetail.edit.transplant import copy_graph
from dovetail.edit.validate import problems
from dovetail.graph.attributes import register
from dovetail.graph.base import GraphBase
from dovetail.graph.document import GRAPH, described, graph_of
from dovetail.graph.operation import SINGLE, GraphTensor, Operation
from dovetail.graph.printing import graph_text
from dovetail.graph.state import State

__all__ = ["SINGLE", "Graph", "GraphTensor", "Operation", "State"]


class Graph(GraphBase):
    """A program: operations in order, with inputs and outputs.

    Attributes:
        name: its name when printed.
        inputs: the placeholders, in order.
        outer: for a subgraph, the graph in which it is traced.
        state: the variables it reads and assigns.
        closures: eager Tensors that were used while it was traced → their constants in the graph.
        closure_nodes: the eager operations that made these Tensors while a function was traced, as nodes for tapes.
        is_traced: whether its tracing is over: then a function's graph is complete, and a subgraph captures nothing
            more.
        creations: while a function is traced, the variables that it creates.
        captures: for a subgraph, tensors of the outer graph and eager Tensors → their placeholders.
        stand_ins: if only shapes are wanted, pairs of a value used in the trace, which has or needs no numbers, and its
            placeholder; None if numbers are wanted.
        by_type: op type → its operations, in no order; see `of_types`.
        changed_ops: while passes run, the operations that were added or changed, in this order; else None.
        session: the `Session` that runs it if none is named, once there is one.
        is_final: whether changes are forbidden; see `finalize`.
        version: a number that changes with each edit of existing operations; an added operation changes it only if it
            has effects.

    Example:
        >>> import dovetail as dt
        >>> graph = Graph("double")
        >>> x = graph.placeholder(dt.spec((2,)), "x")
        >>> graph.outputs = [x + x]
        >>> x.consumers()
        [<operation AddV2 AddV2>]
    """

    get_operation = lookup.get_operation
    get_tensor = lookup.get_tensor
    find = lookup.find

    insert_before = edits.insert_before
    replacing = edits.replacing
    replace_all_uses = edits.replace_all_uses
    replace_uses = edits.replace_uses
    match = patterns.matches
    rewrite = patterns.rewrite
    remove = edits.remove
    prune = edits.prune

    edit = changes.edit
    apply = changes.apply
    insert_after = changes.insert_after
    override_gradients = changes.override_gradients
    recompute = changes.recompute
    rename_scope = changes.rename_scope
    place = placing.place
    tap = taps.tap

    subgraph = extracting.subgraph
    import_graph = extracting.import_graph
    copy_part = extracting.copy_part
    freeze = extracting.freeze

    set_input_shapes = retyping.set_input_shapes
    replace_variables = retyping.replace_variables

    def validate(self) -> None:
        """Check that producers and consumers agree, that the order is topological, and that types follow the rules.

        Raises:
            ValueError: the message lists all problems; they mean that a pass or an edit has a bug.
        """
        faults = list(problems(self))
        if faults:
            raise ValueError(f"the graph {self.name!r} is not valid: " + " ".join(faults))

    def show(
        self,
        path: str | Path,
        data: Mapping[str, Mapping[str, Any]] | None = None,
        beside: Graph | None = None,
    ) -> None:
        """Write a picture of the graph to a file.

        - `.html`: a page for a browser, which needs no network.  Scopes open and close.  Colours show types, engines,
          devices, memory and `data`.
        - `.svg`: a drawing of a small graph.
        - `.dot`: text for Graphviz.
        - `.json`: a graph for Google's Model Explorer.

        Args:
            path: the file; the end of its name says the format.
            data: the name of an operation → numbers and texts about it by names, which become choices of colours, as
                {"MatMul": {"time": 12.5}}.  A "time" is in microseconds, and "bytes" stands for memory.
            beside: another graph, which is shown beside this one.  Operations are matched by their names, and colours
                show what differs.

        Raises:
            ValueError: the name says no format, or the graph is too large for a drawing.
            OSError: the file cannot be written.

        Example:
            >>> import dovetail as dt
            >>> import pathlib, tempfile
            >>> graph = dt.function(lambda x: dt.ops.tanh(x) * 2.0).graph(dt.spec((3,)))
            >>> with tempfile.TemporaryDirectory() as folder:
            ...     graph.show(f"{folder}/g.html", data={"Tanh": {"time": 3.0}})
            ...     pathlib.Path(f"{folder}/g.html").read_text()[:15]
            '<!doctype html>'
        """
        from dovetail.formats.pictures import picture, show  # not needed to run programs
        from dovetail.formats.pictures.beside import beside as in_one

        show.check_format(path)
        mine = picture.picture_of(self, data)
        show.write(mine if beside is None else in_one(mine, picture.picture_of(beside, data)), path)

    def _repr_html_(self) -> str:
        from dovetail.formats.pictures import picture, show

        return show.notebook_html(picture.picture_of(self))

    def __copy__(self) -> Graph:
        return copy_graph(self, own=True)

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(graph_of, make=type(self)), described(self)

    def __str__(self) -> str:
        return graph_text(self)

    def __repr__(self) -> str:
        counts = f"{len(self.inputs)} inputs, {len(self)} operations, {len(self.outputs)} outputs"
        return f"<graph {self.name}: {counts}>"


Graph._part_type = Graph
register(Graph, GRAPH)


def new_graph(name: str = "graph", outer: Graph | None = None) -> Graph:
    """An empty graph; inside another one, it is of the class that the other one says."""
    return Graph(name) if outer is None else outer._part_type(name, outer)
