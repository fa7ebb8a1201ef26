"""Pins: the scopes of Graph that say where new operations are computed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any

from dovetail.core.scopes import Changes, Scoped, opened
from dovetail.graph.device_scopes import DeviceScopes
from dovetail.graph.graph_scopes import GraphScopes
from dovetail.graph.operation import Operation

if TYPE_CHECKING:
    from dovetail.edit.graph import Graph


class Pins:
    """The scopes of a graph, among them the pins of new operations.

    Args:
        outer: the graph around; its open `device` scopes hold here, too.
    """

    def __init__(self, outer: Graph | None) -> None:
        around = GraphScopes() if outer is None else outer.here
        devices = around.devices
        self._scopes: Scoped[GraphScopes] = Scoped(
            GraphScopes(pin=(None, devices.device), devices=devices, made_for=around.made_for)
        )

    @property
    def here(self) -> GraphScopes:
        """The properties of new operations, by the scopes that are open."""
        return self._scopes.get()

    def pinned(self, engine: str | None = None, device: str | None = None) -> AbstractContextManager[None]:
        """Compute operations added to this graph inside the `with` block on an engine and a device.

        Args:
            engine, device: their names; None leaves it to the plan.

        Source: `tf.device`.

        Example:
            >>> import dovetail as dt
            >>> graph = dt.Graph()
            >>> x = graph.placeholder(dt.spec(()), "x")
            >>> with graph.pinned("torch"):
            ...     y = dt.ops.tanh(x)
            >>> y.op.engine
            'torch'
        """
        return scoped(self, pin=(engine, device), devices=DeviceScopes())

    def on_engine(self, name: str) -> Changes:
        """The changes of a scope in which new operations are computed on an engine, as with `dovetail.engine`."""
        around = self.here
        return {self._scopes: around._replace(pin=(name, around.pin[1]))}

    @contextmanager
    def device(self, device: Any) -> Iterator[None]:
        """Compute operations added to this graph inside the `with` block on a device, if it exists.

        The names are TensorFlow's, and the recorded device is a wish: if the engine has no such device, the plan
        computes an operation where it computes the others.  `Session(allow_soft_placement=False)` refuses that.

        Args:
            device: a name such as "/gpu:0" or "/job:worker/task:0/device:CPU:0"; outer scopes fill in the parts that it
                leaves open.  Or a function of an operation: the string that it returns, "" too, replaces the device
                from inner scopes; None leaves that as it is.  None as the device closes all scopes.

        Raises:
            TypeError, ValueError: it is not the name of a device.

        Source: `tf.Graph.device`.

        Example:
            >>> import dovetail as dt
            >>> graph = dt.Graph()
            >>> x = graph.placeholder(dt.spec(()), "x")
            >>> with graph.device("/job:worker"), graph.device("/gpu:0"):
            ...     y = dt.ops.tanh(x)
            >>> y.op.device, y.eval({x: 0.0})
            ('/job:worker/device:GPU:0', np.float32(0.0))
        """
        with self._on(self.here.devices.inside(device)):
            yield

    @contextmanager
    def colocate_with(self, op: Any, ignore_existing: bool = False) -> Iterator[None]:
        """Give operations added to this graph inside the `with` block the device of an operation, if it has one.

        Args:
            op: an operation, or a tensor, which means its operation; None for none.
            ignore_existing: whether an outer `colocate_with` is ignored if `op` has no device.

        Source: `tf.Graph.colocate_with`.

        Example:
            >>> import dovetail as dt
            >>> graph = dt.Graph()
            >>> with graph.device("/gpu:1"):
            ...     x = graph.placeholder(dt.spec(()), "x")
            >>> with graph.colocate_with(x.op):
            ...     dt.ops.tanh(x).op.device
            '/device:GPU:1'
        """
        has_device = bool(getattr(op, "device", None)) or ignore_existing
        devices = self.here.devices
        with self._on(devices.beside(op if has_device else devices.near)):
            yield

    def _on(self, devices: DeviceScopes) -> AbstractContextManager[None]:
        """A scope with these scopes of `device`."""
        return scoped(self, pin=(self.here.pin[0], devices.device), devices=devices)


def scoped(graph: Pins, value: Any = None, **changes: Any) -> AbstractContextManager[Any]:
    """A scope that changes fields of `GraphScopes`; `value` is the target of `as`."""
    return opened(lambda _: {graph._scopes: graph.here._replace(**changes)}, value)


def made_for_operation(graph: Pins, operation: Operation) -> AbstractContextManager[None]:
    """A scope in which new operations, also in their subgraphs, have this operation's origin, engine and device."""
    return scoped(graph, made_for=operation, pin=operation.pin, devices=DeviceScopes())


def open_device_scopes(graph: Pins, devices: DeviceScopes) -> None:
    """Make these the scopes of `device` outside all `with` blocks from now on."""
    own = graph._scopes.default
    graph._scopes.default = own._replace(pin=(own.pin[0], devices.device), devices=devices)


def put_in_scope(graph: Pins, operation: Any) -> None:
    """Give an operation, or an object like one, the device of the scopes, as far as it has none."""
    devices = graph.here.devices
    if devices.asks or devices.device:
        devices.record(operation)
