"""TensorFlow 1's queues of tensors: one run of a session puts elements in, another takes them out."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from dovetail import ops
from dovetail.compat.tensorflow import graph_mode
from dovetail.compat.tensorflow.names.python_calls import done_in
from dovetail.compat.tensorflow.table import value
from dovetail.core.dtypes import as_dtype
from dovetail.core.errors import op_error
from dovetail.core.table import OPS
from dovetail.trace import trace


class FIFOQueue:
    """A queue whose elements are tuples of tensors; the oldest comes out first.

    Taking out waits while the queue is empty, and putting in waits while it is full.

    Args:
        capacity: how many elements there may be.
        dtypes: the dtype of each tensor of an element, or the one of all.
        shapes: the shape of each, without which several elements cannot be put in or taken out at once.
        names: the keys of elements that are dicts.
        name: the name, for errors.

    Source: `tf.queue.FIFOQueue`.
    """

    def __init__(
        self,
        capacity: int,
        dtypes: Any,
        shapes: Any = None,
        names: Any = None,
        shared_name: str | None = None,
        name: str = "fifo_queue",
    ) -> None:
        self.dtypes = [as_dtype(x) for x in (dtypes if isinstance(dtypes, (list, tuple)) else [dtypes])]
        one = shapes is not None and not any(hasattr(x, "__iter__") for x in shapes) and len(self.dtypes) == 1
        self.shapes = [tuple(x) for x in ([shapes] if one else shapes)] if shapes is not None else None
        self.names = [names] if isinstance(names, str) else names
        self.name, self._capacity = name, capacity
        self._elements: list[list[np.ndarray]] = []
        self._closed, self._changed = False, threading.Condition()

    # operations

    def enqueue(self, vals: Any, name: str | None = None) -> Any:
        """The operation that puts one element in."""
        return self._operation(lambda *arrays: self._put([[*arrays]]), self._parts(vals), name)

    def enqueue_many(self, vals: Any, name: str | None = None) -> Any:
        """The operation that puts an element in for each slice of the first axes."""
        return self._operation(
            lambda *arrays: self._put([*map(list, zip(*arrays, strict=True))]), self._parts(vals), name
        )

    def dequeue(self, name: str | None = None) -> Any:
        """An element, which each run takes out."""
        return self._taken(lambda: self._take(1)[0], self.shapes, name)

    def dequeue_many(self, n: int, name: str | None = None) -> Any:
        """The next `n` elements, stacked."""
        shapes = None if self.shapes is None else [(n, *shape) for shape in self.shapes]
        return self._taken(lambda: [np.stack(part) for part in zip(*self._take(n), strict=True)], shapes, name)

    def size(self, name: str | None = None) -> Any:
        """How many elements there are."""
        return self._result(lambda: [np.int32(len(self._elements))], [as_dtype("int32")], [()], name)[0]

    def close(self, cancel_pending_enqueues: bool = False, name: str | None = None) -> Any:
        """The operation after which nothing is put in, and an empty queue is at its end."""
        return self._operation(self._close, [], name)

    # in runs

    def _put(self, elements: Sequence[list[np.ndarray]]) -> None:
        for element in elements:
            with self._changed:
                self._changed.wait_for(lambda: self._closed or len(self._elements) < self._capacity)
                if self._closed:
                    raise op_error(RuntimeError, "tf.FIFOQueue.enqueue", f"the queue {self.name!r} is closed.")
                self._elements.append(element)
                self._changed.notify_all()

    def _take(self, count: int) -> list[list[np.ndarray]]:
        with self._changed:
            self._changed.wait_for(lambda: self._closed or len(self._elements) >= count)
            if len(self._elements) < count:
                problem = f"the queue {self.name!r} is closed and has {len(self._elements)} elements, not {count}."
                raise op_error(IndexError, "tf.FIFOQueue.dequeue", problem)
            found, self._elements[:count] = self._elements[:count], []
            self._changed.notify_all()
            return found

    def _close(self) -> None:
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    # in graphs

    def _parts(self, vals: Any) -> list[Any]:
        if self.names is not None:
            vals = [vals[key] for key in self.names]
        given = list(vals) if isinstance(vals, (list, tuple)) and len(vals) == len(self.dtypes) else [vals]
        return [ops.convert(x, dtype) for x, dtype in zip(given, self.dtypes, strict=True)]

    def _operation(self, function: Any, inputs: list[Any], name: str | None) -> Any:
        return done_in(graph_mode.open_graph(), function, inputs, name)

    def _taken(self, function: Any, shapes: Any, name: str | None) -> Any:
        found = self._result(function, self.dtypes, shapes or (), name)
        if self.names is not None:
            return dict(zip(self.names, found, strict=True))
        return found[0] if len(found) == 1 else found

    def _result(self, function: Any, dtypes: Any, shapes: Any, name: str | None) -> list[Any]:
        with graph_mode.inside(graph_mode.open_graph()):
            return list(trace.record(OPS["PyFunc"], [(), function, tuple(dtypes), tuple(shapes)], name))


value("FIFOQueue queue.FIFOQueue", FIFOQueue, "v1")
