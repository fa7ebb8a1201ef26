"""Elements of graphs by TensorFlow's names: `"x"` is an operation, `"x:0"` a tensor."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dovetail.compat.tf_graph.variable_operation import VariableOperation
from dovetail.core.base.errors import describe
from dovetail.graph.base import in_contrast
from dovetail.graph.operation import GraphTensor, Operation

if TYPE_CHECKING:
    from dovetail.edit.graph import Graph


def element_of(graph: Graph, obj: Any, allow_tensor: bool = True, allow_operation: bool = True) -> Any:
    """The tensor or operation of any graph that an object is or names; see `TensorFlowGraph.as_graph_element`."""
    is_name = isinstance(obj, str)
    element = (graph.get_tensor(obj) if ":" in obj else graph.get_operation(obj)) if is_name else obj
    its = getattr(element, "op", element)
    if isinstance(its, VariableOperation) and (allow_operation if its is element else allow_tensor):
        if its.graph is not graph:
            raise ValueError(f"{its!r} belongs to {in_contrast(graph, its.graph)}.")
    elif isinstance(element, GraphTensor) and allow_tensor:
        graph.check_tensor(element)
    elif isinstance(element, Operation) and allow_operation:
        graph._check_member(element)
    else:
        kinds = [kind for kind, allowed in (("tensor", allow_tensor), ("operation", allow_operation)) if allowed]
        kind = ValueError if is_name else TypeError
        problem = f"{describe(obj)} names {element!r}" if is_name else describe(obj)
        hint = f': write "{obj}:0" for its first result' if is_name and isinstance(element, Operation) else ""
        raise kind(f"needs a{'n' if kinds[0] == 'operation' else ''} {' or '.join(kinds)}, not {problem}{hint}.")
    return element


def named_element(graph: Graph, name: Any, **allowed: bool) -> Any:
    """The tensor or operation of a name.

    Raises:
        TypeError: it is not a name.
    """
    if not isinstance(name, str):
        raise TypeError(f"a name is a string, not {describe(name)}.")
    return face_of(element_of(graph, name, **allowed))


def face_of(element: Any) -> Any:
    """The tensor that programs see in place of a graph's, which has only numbers for its strings; else itself."""
    return getattr(element, "face", element)


def keep_face(old: Any, new: Any) -> None:
    """Let programs see a copy of a tensor as they see the tensor."""
    if hasattr(old, "face") and not hasattr(new, "face"):
        type(old.face)(new)
