"""Writing of branches, loops and calls.  Their graphs take the values around them by name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dovetail.core.values.spec import spec
from dovetail.formats.onnx.table import writes
from dovetail.formats.onnx.written_nodes import Place, Ref

STEP, GOES_ON = ("step", spec((), "int64")), ("goes_on", spec((), "bool"))


def _part(place: Place, graph: Any, refs: Sequence[Ref]) -> list[Ref]:
    """Add the operations of a graph, and return the values of its outputs."""
    return place.nodes.part(graph, dict(zip(graph.inputs, refs, strict=True)), graph.outputs, f"{place.name}/")


@writes("Call")
def _call(place: Place, inputs: Sequence[Ref], graph: Any) -> list[Ref]:
    return _part(place, graph, inputs)


@writes("If")
def _if(place: Place, condition: Ref, inputs: Sequence[Ref], then_branch: Any, else_branch: Any) -> list[Ref]:
    def branch(name: str, graph: Any) -> Any:
        return place.graph(name, [], lambda inner, _: _part(inner, graph, inputs))

    branches = {"then_branch": branch("then", then_branch), "else_branch": branch("else", else_branch)}
    return place.result("If", place.cast(condition, "bool"), **branches)


@writes("While")
def _while(
    place: Place, init: Sequence[Ref], constants: Sequence[Ref], condition: Any, body: Any, maximum_iterations: Any
) -> list[Ref]:
    def step(inner: Place, refs: list[Ref]) -> list[Ref]:
        carry = _part(inner, body, [*refs[2:], *constants])
        return [*_part(inner, condition, [*carry, *constants]), *carry]

    (begins,) = _part(place, condition, [*init, *constants])
    carried = [("carry", tensor.spec) for tensor in body.inputs[: len(init)]]
    limit = None if maximum_iterations is None else place.constant(maximum_iterations)
    return place.result("Loop", limit, begins, *init, body=place.graph("body", [STEP, GOES_ON, *carried], step))


@writes("Scan")
def _scan(
    place: Place, init: Sequence[Ref], xs: Sequence[Ref], constants: Sequence[Ref], body: Any, length: Any, reverse: Any
) -> list[Ref]:
    count, stacked = len(init), len(body.outputs) - len(init)
    carried = [("carry", tensor.spec) for tensor in body.inputs[:count]]
    slices = [("slice", tensor.spec) for tensor in body.inputs[count : count + len(xs)]]
    if not xs:
        return _counted(place, init, constants, carried, body, length, reverse)
    shapes = [tensor.shape for tensor in body.outputs]
    graph = place.graph(
        "body", [*carried, *slices], lambda inner, refs: _part(inner, body, [*refs, *constants]), shapes
    )
    ways = {"scan_input_directions": [1] * len(xs), "scan_output_directions": [1] * stacked} if reverse else {}
    return place.result(
        "Scan", *init, *xs, body=graph, num_scan_inputs=len(xs), **{k: v or None for k, v in ways.items()}
    )


def _counted(place: Place, init: Any, constants: Any, carried: Any, body: Any, length: int, reverse: bool) -> list[Ref]:
    """A loop that takes no slices, so only the number of its steps is known."""

    def step(inner: Place, refs: list[Ref]) -> list[Ref]:
        return [refs[1], *_part(inner, body, [*refs[2:], *constants])]

    graph = place.graph("body", [STEP, GOES_ON, *carried], step)
    results = place.result("Loop", place.constant(length), place.constant(True, "bool"), *init, body=graph)
    return [*results[: len(init)], *(_turned(place, one) if reverse else one for one in results[len(init) :])]


def _turned(place: Place, x: Ref) -> Ref:
    """A value with the order of its first axis turned round."""
    return place.node("Slice", x, *(place.constant([n]) for n in (-1, -(2**62), 0, -1)))
