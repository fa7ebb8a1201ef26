"""Extracting: the methods of Graph that take a part of it out, and put another graph in."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

from dovetail.core.values.value_kinds import followed
from dovetail.edit.inference import infer_from
from dovetail.edit.transplant import Copies, Variables, transplant
from dovetail.graph.journal import all_or_nothing
from dovetail.graph.operation import GraphTensor, Operation
from dovetail.graph.order import position
from dovetail.graph.pass_edits import discard, supersede
from dovetail.graph.reach import reach
from dovetail.graph.shape_values import known_ints
from dovetail.ops.control.plumbing import EFFECTS

if TYPE_CHECKING:
    from dovetail.core.values.variable import Variable
    from dovetail.edit.graph import Graph


def subgraph(graph: Graph, outputs: Sequence[GraphTensor], inputs: Sequence[GraphTensor] = ()) -> Graph:
    """The part that computes some tensors from others, as a separate graph.

    Args:
        outputs: the outputs of the new graph.
        inputs: tensors that become its inputs, in this order; any tensor can be one.

    Raises:
        ValueError: the outputs need an input of this graph that is not among the inputs given, or a tensor is in
            another graph or was removed.

    Example:
        >>> import dovetail as dt
        >>> graph = dt.Graph()
        >>> x = graph.placeholder(dt.spec(()), "x")
        >>> h = dt.ops.tanh(x)
        >>> len(graph.subgraph([h + 1], [h]))
        3
    """
    part = type(graph)(f"{graph.name}_part")
    for tensor in (*outputs, *inputs):
        graph.check_tensor(tensor)
    needed = reach(outputs, given=inputs)
    missing = [op.name for op in needed if op.type == "Placeholder"]
    if missing:
        raise ValueError(f"the outputs need {', '.join(map(repr, missing))}: add what they need to the inputs.")
    part.outputs = transplant(needed, part, inputs=inputs, own=True).of(outputs)
    return part


def import_graph(
    target: Graph, graph: Graph, input_map: Mapping[Any, GraphTensor] | None = None, name: str = ""
) -> list[GraphTensor]:
    """Copy another graph's program, with its assignments of variables, into this one.

    A gradient override map around the call applies to the copies, before the map under which the originals were
    made.

    Args:
        graph: is not changed.
        input_map: tensors of `graph`, or their names → tensors of this graph that replace them.  Inputs of `graph`
            that are not named become inputs of this graph.
        name: a name scope for the copies.

    Returns:
        This graph's tensors for the outputs of `graph`.

    Raises:
        KeyError: no tensor has one of the names.
        TypeError, ValueError, IndexError: a dtype or shape does not fit, or a tensor is in the wrong graph, or was
            removed; then this graph stays as it was.

    Example:
        >>> import dovetail as dt
        >>> scale, graph = dt.Graph("scale"), dt.Graph()
        >>> scale.outputs = [scale.placeholder(dt.spec((None,)), "x") * 2.0]
        >>> graph.import_graph(scale, {"x": graph.placeholder(dt.spec((3,)), "y")}, name="scaled")
        [<graph tensor scaled/Mul:0 float32[3]>]
    """
    given = _input_map(target, graph, input_map or {})
    effects = [t for op in graph.operations if op.type in EFFECTS for t in op.outputs]
    open_inputs = [t for t in graph.inputs if t not in given]
    part = graph.subgraph([*graph.outputs, *effects], [*given, *open_inputs])
    for own, tensor in zip(part.inputs, given.values(), strict=False):
        own.put_shape(tensor.shape)
    infer_from([op for tensor in part.inputs[: len(given)] for op in tensor.consumers()])
    with all_or_nothing(), target.name_scope(name) if name else nullcontext():
        new = (target.placeholder(t.spec, t.op.name, known=known_ints(t)) for t in open_inputs)
        inputs = [*given.values(), *new]
        mapped = dict(zip(part.inputs, inputs, strict=True))
        copies = transplant(part.operations, target, mapped, variables=Variables.READ, own=True)
        return copies.of(part.outputs[: len(graph.outputs)])


def copy_part(
    graph: Graph,
    operations: Iterable[Operation],
    replacements: Mapping[GraphTensor, GraphTensor] | None = None,
    name: str = "",
) -> Copies:
    """Copy some operations of this graph; the copies take other tensors instead of some inputs.

    Args:
        operations: the operations to copy, without inputs; variables that they assign are assigned again, behind
            all else.
        replacements: tensors that they take → tensors that the copies take; originals and copies share all others.
        name: a name scope for the copies.

    Returns:
        The copies: `copies[tensor]` is the copy of a tensor, `copies.operations` maps operations.

    Raises:
        ValueError, TypeError, IndexError: a tensor or an operation is not in this graph, or a dtype or shape does
            not fit; then the graph stays as it was.

    Source: `tf.contrib.graph_editor.copy_with_input_replacements`.

    Example:
        >>> import dovetail as dt
        >>> graph = dt.Graph()
        >>> x, y = (graph.placeholder(dt.spec((3,)), name) for name in "xy")
        >>> z = dt.ops.exp(dt.ops.tanh(x))
        >>> graph.copy_part([z.op.inputs[0].op, z.op], {x: y}, name="copy")[z]
        <graph tensor copy/Exp:0 float32[3]>
    """
    members = dict.fromkeys(graph._members(operations))
    chosen = sorted((op for op in members if op.type != "Placeholder"), key=position)
    given = _input_map(graph, graph, replacements or {})
    own = set(chosen)
    taken = (t for op in chosen for t in op.inputs if t.op not in own)
    mapped = {**{t: t for t in taken}, **given}
    with all_or_nothing(), graph.name_scope(name) if name else nullcontext():
        copies = transplant(chosen, graph, mapped, variables=Variables.READ, own=True)
        others = [t for t, new in given.items() if new.shape != t.shape]
        made = list(copies.operations.values())
        infer_from([op for op in made if not {given[t] for t in others}.isdisjoint(op.inputs)])
    return copies


def freeze(graph: Graph, variables: Iterable[Variable] | None = None) -> int:
    """Replace reads of variables with constants of the values that the variables have now.

    Args:
        variables: the variables to freeze; all that the graph reads, if not given.

    Returns:
        The number of variables that are constants now.

    Raises:
        ValueError: the graph assigns one; then the graph stays as it was.

    Source: `tf.compat.v1.graph_util.convert_variables_to_constants`.

    Example:
        >>> import dovetail as dt
        >>> graph, w = dt.Graph(), dt.Variable([1.0, 2.0], name="w")
        >>> with graph.as_default():
        ...     y = graph.placeholder(dt.spec(()), "x") * w
        >>> graph.freeze(), w.assign([0.0, 0.0]).name, y.eval({"x:0": 3.0})
        (1, 'w', array([3., 6.], dtype=float32))
    """
    chosen = None if variables is None else set(map(followed, variables))
    operations = graph.find(("ReadVariableOp", "AssignVariableOp"))
    operations = [op for op in operations if chosen is None or op.attrs["variable"] in chosen]
    for op in operations:
        if op.type == "AssignVariableOp":
            problem = f"{op.attrs['variable'].name!r} cannot be a constant, since {op.name!r} assigns it"
            raise ValueError(f"{problem}: take a part that does not, graph.subgraph(outputs, inputs).")
    with graph.edit():
        for op in operations:
            with graph.replacing(op, scope=""):
                constant = graph.constant(op.attrs["variable"].numpy(), op.attrs["variable"].op_name)
            supersede(graph, op, [constant])
            discard(graph, [op])
    return len({op.attrs["variable"] for op in operations})


def _input_map(target: Graph, graph: Graph, input_map: Mapping[Any, GraphTensor]) -> dict[GraphTensor, GraphTensor]:
    given = {graph.get_tensor(k) if isinstance(k, str) else k: tensor for k, tensor in input_map.items()}
    for old, tensor in given.items():
        try:
            graph.check_tensor(old)
            target.check_tensor(tensor)
        except ValueError as error:
            problem = f"input_map must map tensors of {graph.name!r} to tensors of {target.name!r}"
            raise ValueError(f"{problem}, not {old!r} to {tensor!r}: {error}") from None
        if old.dtype != tensor.dtype:
            raise TypeError(f"{tensor!r} cannot replace {old!r}: the dtypes differ; cast it first.")
    return given
