"""Device scopes, as with `tf.device`: the places of a graph that name a device in TensorFlow's form."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from dovetail.compat.tf_graph.device_spec import DeviceSpec, as_device
from dovetail.core.base.pin import Pin
from dovetail.graph.graph_scopes import scoped
from dovetail.graph.places import Places

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from dovetail.edit.graph import Graph
    from dovetail.graph.operation import Operation


def is_function(device: Any) -> bool:
    """Whether it gives the device of an operation."""
    return callable(device) and not isinstance(device, DeviceSpec)


def device_text(device: Any) -> str:
    """A device in TensorFlow's form.

    Args:
        device: a string or a `DeviceSpec`.

    Raises:
        TypeError, ValueError: it is not the name of a device.
    """
    return (device if isinstance(device, DeviceSpec) else DeviceSpec.from_string(device)).to_string()


def inside(places: Places, device: Any) -> Places:
    """Places with a device inside them; None closes their devices.

    Args:
        places: the places around.
        device: a string, a `DeviceSpec`, a function of an operation that gives one of these, or None.

    Raises:
        TypeError, ValueError: it is not the name of a device.
    """
    if device is None:
        return places.beside(places.near)
    return places.inside(_asking(device) if is_function(device) else Pin(device=as_device(device_text(device))))


def _asking(function: Callable[[Operation], Any]) -> Callable[[Operation], Pin | None]:
    """A function that gives pins, of one that gives devices."""

    def pin(operation: Operation) -> Pin | None:
        said = function(operation)
        return None if said is None else Pin(device=as_device(device_text(said)) or "")

    return pin


def device_scope(graph: Graph, device: Any) -> AbstractContextManager[None]:
    """The scope of `TensorFlowGraph.device`, for any graph."""
    return scoped(graph, places=inside(graph.here.places, device))


def colocation_scope(graph: Graph, op: Any, ignore_existing: bool = False) -> AbstractContextManager[None]:
    """The scope of `TensorFlowGraph.colocate_with`, for any graph."""
    places, near = graph.here.places, op if hasattr(op, "pin") else getattr(op, "op", None)
    has_device = near is not None and bool(near.pin.device)
    return scoped(graph, places=places.beside(near if has_device or ignore_existing else places.near))
