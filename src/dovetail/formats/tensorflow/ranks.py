"""Operations that must know ranks, while a rank is not known: a node calls one of several functions by the ranks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import partial
from itertools import chain
from typing import Any

import numpy as np

from dovetail.core.base.errors import CONVENTIONAL
from dovetail.core.dtypes import as_dtype
from dovetail.core.values.infer import specs_of_each_rank
from dovetail.core.values.spec import TensorSpec
from dovetail.formats.nodes.writing import traced, unique
from dovetail.formats.tensorflow.written_nodes import Nodes, Place, Ref
from dovetail.formats.wire.messages import TENSORFLOW
from dovetail.formats.wire.tensors import shape_proto
from dovetail.graph.operation import Operation


def by_rank(place: Place) -> list[Ref] | None:
    """Add a node that calls one of several functions, each for other ranks of the inputs, and return its results.

    Returns:
        None if no rank of an input is unknown, or if the operation takes no ranks.
    """
    operation = place.operation
    if all(tensor.shape is not None for tensor in operation.inputs) or not (graphs := _graphs(operation)):
        return None
    build, specs = place.nodes.writer.build, [(f"input_{i}", t.spec) for i, t in enumerate(operation.inputs)]
    branches = [
        build(f"{place.name}_rank_{'_'.join(map(str, ranks))}".replace("/", "_"), specs, partial(_ranked, graph=graph))
        for ranks, graph in graphs.items()
    ]
    return place.result(
        "StatelessCase",
        _number(place, [*graphs]),
        place.inputs,
        branches=[TENSORFLOW.NameAttrList(name=name) for name in branches],
        Tout=[tensor.dtype for tensor in operation.outputs],
        output_shapes=[shape_proto(tensor.shape) for tensor in operation.outputs],
    )


def _graphs(operation: Operation) -> dict[tuple[int, ...], Any]:
    """The ranks that the inputs of unknown rank may have → a graph of the operation."""
    graphs: dict[tuple[int, ...], Any] = {}
    for specs in _specs_of_each_rank(operation):
        pairs = zip(specs, operation.inputs, strict=True)
        ranks = tuple(len(spec.shape or ()) for spec, tensor in pairs if tensor.shape is None)
        with suppress(*CONVENTIONAL):  # the operation does not take these ranks
            again = traced(operation.type, lambda *tensors: operation.op(*operation.arguments(tensors)), specs)
            graphs.setdefault(ranks, again)
    return graphs


def _specs_of_each_rank(operation: Operation) -> Iterator[list[TensorSpec]]:
    """Yield the specs of the inputs of an operation, for each set of ranks that they may have."""
    if operation.type != "SymbolicGradient":
        yield from specs_of_each_rank([tensor.spec for tensor in operation.inputs])
        return
    inputs, gradient = operation.args[0], operation.attr("function")
    for parts in gradient.specs_of_each_rank([tensor.spec for tensor in inputs], []):
        yield [*chain(*parts)]


def _ranked(nodes: Nodes, refs: Sequence[Ref], graph: Any) -> list[Ref]:
    """Add the operations of a graph, behind checks of the ranks of its inputs, and return its outputs."""
    given = {
        tensor: nodes.add(
            "EnsureShape", unique("ranked", nodes.names), [ref], [ref.dtype], {"shape": shape_proto(tensor.shape)}
        )[0]
        for ref, tensor in zip(refs, graph.inputs, strict=True)
    }
    return nodes.part(graph, given, graph.outputs)


def _number(place: Place, ranks: Sequence[tuple[int, ...]]) -> Ref:
    """The number of the ranks that the inputs have, among several; 0 if they are none of them."""
    unknown = [ref for ref, tensor in zip(place.inputs, place.operation.inputs, strict=True) if tensor.shape is None]
    given = place.node("Pack", [place.node("Rank", ref, dtype="int32") for ref in unknown], dtype="int32", axis=0)
    known = place.constant(np.asarray(ranks, "int32"), "ranks")
    equal = place.node("Equal", known, given, dtype="bool", incompatible_shape_error=True)
    is_it = place.node("All", equal, place.constant(-1, "axis"), dtype="bool", keep_dims=False)
    first, int32 = place.constant(0, "dimension"), as_dtype("int32")
    return place.node("ArgMax", place.cast(is_it, int32), first, dtype=int32, output_type=int32)
