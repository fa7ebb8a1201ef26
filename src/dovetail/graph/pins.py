"""Pins: the methods of Graph that say where what is recorded next is to be computed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from dovetail.graph.device_scopes import DeviceScopes
from dovetail.graph.operation import Operation, Pin

if TYPE_CHECKING:
    from dovetail.graph.ir import Graph


class Pins:
    """Where new operations are computed.

    Args:
        outer: the graph around; what is open there of `device` holds here, too.
    """

    def __init__(self, outer: Graph | None) -> None:
        self._made_for: Operation | None = None if outer is None else outer._made_for
        self._device_scopes: DeviceScopes = DeviceScopes() if outer is None else outer._device_scopes
        self._pin: Pin = (None, self._device_scopes.device)  # that of new operations

    @property
    def pin(self) -> Pin:
        """The engine and the device of operations that are added now."""
        return self._pin

    @contextmanager
    def made_for(self, operation: Operation) -> Iterator[None]:
        """Operations added in the `with` block, and those of their subgraphs, have its origin, engine and device."""
        outside, self._made_for = self._made_for, operation
        try:
            with self._pinned(operation.pin, DeviceScopes()):
                yield
        finally:
            self._made_for = outside

    @contextmanager
    def pinned(self, engine: str | None = None, device: str | None = None) -> Iterator[None]:
        """Operations added to this graph inside the `with` block are computed on an engine and a device.

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
        with self._pinned((engine, device), DeviceScopes()):
            yield

    @contextmanager
    def device(self, device: Any) -> Iterator[None]:
        """Operations added to this graph inside the `with` block are computed on a device, if it is there.

        The names are TensorFlow's, and what is recorded is a wish: where the engine has no such device, the plan
        computes an operation where it computes the others.  `Session(allow_soft_placement=False)` refuses that.

        Args:
            device: as "/gpu:0" or "/job:worker/task:0/device:CPU:0"; what it leaves open, scopes around it say.  Or a
                function of an operation: the string that it gives is put in the place of what scopes further in
                say, "" too; None leaves that as it is.  None as the device closes all scopes.

        Raises:
            TypeError, ValueError: it names no device.

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
        scopes = self._device_scopes.inside(device)
        with self._pinned((self._pin[0], scopes.device), scopes):
            yield

    @contextmanager
    def colocate_with(self, op: Any, ignore_existing: bool = False) -> Iterator[None]:
        """Operations added to this graph inside the `with` block have the device of an operation, if that has one.

        Args:
            op: an operation, or a tensor, which stands for its own; None for none.
            ignore_existing: that of a scope around is not kept in mind, where `op` has none.

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
        scopes = self._device_scopes.beside(op if has_device else self._device_scopes.near)
        with self._pinned((self._pin[0], scopes.device), scopes):
            yield

    @contextmanager
    def _pinned(self, pin: Pin, scopes: DeviceScopes) -> Iterator[None]:
        outside = self._pin, self._device_scopes
        self._pin, self._device_scopes = pin, scopes
        try:
            yield
        finally:
            self._pin, self._device_scopes = outside

    def open_device_scopes(self, scopes: DeviceScopes) -> None:
        """From now on the scopes of `device` are these."""
        self._pin, self._device_scopes = (self._pin[0], scopes.device), scopes

    def put_in_scope(self, operation: Any) -> None:
        """Gives an operation, or what is like one, the device that the scopes say, as far as it has none."""
        if self._device_scopes.asks or self._device_scopes.device:
            self._device_scopes.record(operation)
