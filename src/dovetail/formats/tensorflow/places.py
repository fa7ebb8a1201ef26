"""Places: who computes a node, the graph or the host, decided once by its type and the values that it takes."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum, auto
from typing import TYPE_CHECKING, Any

from dovetail.formats.nodes.constants import constant_of, is_tensor
from dovetail.formats.tensorflow.functions import called
from dovetail.formats.tensorflow.ops import READ, SPECIAL
from dovetail.formats.tensorflow.read_nodes import types_of
from dovetail.formats.tensorflow.table import HOST
from dovetail.formats.tensorflow.tensor_lists import Variants
from dovetail.formats.tensorflow.values import Host
from dovetail.formats.wire.tensors import STRING, VARIANT

if TYPE_CHECKING:
    from dovetail.formats.tensorflow.read_nodes import Node

CALLS = {"PartitionedCall", "StatefulPartitionedCall"}
CHOICES = {"If", "StatelessIf", "Case", "StatelessCase"}
FORKS = {*CHOICES, "While", "StatelessWhile"}
# types that take values that are no numbers, and are read as if these were numbers
PASSING = {*CALLS, "Identity", "IdentityN", "RefIdentity", "NoOp", "Assert", "OptionalFromValue", "OptionalNone"}
LISTS = ("TensorListReserve", "EmptyTensorList")
ELEMENTS = {  # types whose values are no numbers if this attribute is no dtype of numbers
    **dict.fromkeys(["Const", "ConstV2", "HostConst", "TensorArrayV3"], "dtype"),
    **dict.fromkeys(LISTS, "element_dtype"),
}
RAGGED = ("RaggedTensorToVariant", "RaggedTensorFromVariant")


class Place(Enum):
    """Who computes a node.

    - GRAPH: operations of the graph; it is an opaque operation if there are none.
    - HOST: the host.
    - EITHER: operations of the graph if there are any, else the host.
    - SHAPED: the host.  Operations of the graph only tell the shapes, if there are any.
    """

    GRAPH = auto()
    HOST = auto()
    EITHER = auto()
    SHAPED = auto()


class Places:
    """Tells who computes the nodes of a model.

    Args:
        functions: name → message `FunctionDef`.
        moves_integers: whether the host computes integers of values of the host alone.  Their shapes often depend on
            values, as where the strings of a text are split; few engines compile that.
    """

    def __init__(self, functions: Mapping[str, Any], moves_integers: bool) -> None:
        self._functions, self._moves_integers = functions, moves_integers
        self._with_host: dict[str, bool] = {}

    def of(self, node: Node) -> Place:
        """The place of a node whose inputs are read."""
        is_passed = node.type in PASSING or node.type in self._functions
        if not is_passed and self._is_hosts(node):
            return Place.HOST
        if node.type not in SPECIAL and node.type not in READ:
            return Place.GRAPH
        if not _is_fixed(node):
            return Place.EITHER if _is_ragged(node) else Place.GRAPH
        return Place.SHAPED if self._moves_integers and not is_passed and _makes_integers(node) else Place.EITHER

    def _is_hosts(self, node: Node) -> bool:
        """Whether a node has values that are no numbers, or calls a function that has such values."""
        if node.type in CHOICES and constant_of(node.inputs[0]) is not None:
            return False
        if any(isinstance(value, Host) and not value.is_number for value in node.inputs):
            return node.type in HOST or node.type in SPECIAL or node.type in READ
        if node.type in ELEMENTS:
            return node.attrs(ELEMENTS[node.type]) is None and not _is_of_variants(node.proto)
        return _is_of_host(node.proto) or (node.type in FORKS and any(map(self._has_host, called(node.proto))))

    def _has_host(self, name: str) -> bool:
        """Whether a function of the library has a host node, or calls a function that has one."""
        if name not in self._with_host and name in self._functions:
            self._with_host[name] = False  # if it calls itself
            nodes = self._functions[name].node_def
            self._with_host[name] = any(_is_of_host(node) or any(map(self._has_host, called(node))) for node in nodes)
        return self._with_host.get(name, False)


def _is_fixed(node: Node) -> bool:
    """Whether all inputs of a node are of the host or constants, and not all are constants."""
    others = [value for value in node.inputs if not isinstance(value, Host)]
    return len(others) < len(node.inputs) and all(is_tensor(value) and value.op.type == "Const" for value in others)


def _makes_integers(node: Node) -> bool:
    """Whether all results of a node are integers or truth values."""
    return all(dtype is not None and not dtype.is_differentiable for dtype in types_of(node)[0])


def _is_ragged(node: Node) -> bool:
    """Whether a node takes or makes ragged tensors, with which the host does more than the graph."""
    values = (getattr(value, "data", value) for value in node.inputs)
    return node.type in RAGGED or any(isinstance(value, Variants) for value in values)


def _is_of_variants(proto: Any) -> bool:
    """Whether a node makes a list of variants, which the graph has if their values are numbers."""
    return proto.op in LISTS and proto.attr["element_dtype"].type == VARIANT


def _is_of_host(proto: Any) -> bool:
    """Whether only the host computes a node."""
    type = proto.op
    if type in RAGGED and proto.attr["Tvalues"].type == STRING:
        return True
    return type in HOST and type not in SPECIAL and type not in READ and type not in PASSING
