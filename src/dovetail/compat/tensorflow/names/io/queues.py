"""TensorFlow 1's queues of tensors: one run of a session puts elements in, another takes them out."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from dovetail import ops
from dovetail.compat.tensorflow import graph_mode
from dovetail.compat.tensorflow.entries import value
from dovetail.compat.tensorflow.names.graph.python_calls import done_in
from dovetail.compat.tensorflow.names.random.draws import seed_of_draw
from dovetail.compat.tensorflow.names.session.session import Session, as_running, running, taken_early
from dovetail.compat.tensorflow.names.strings.tensors import called, in_graph
from dovetail.compat.tensorflow.names.strings.text import STRING, is_text
from dovetail.core.base.errors import op_error
from dovetail.core.base.tensor_shape import shape_of
from dovetail.core.dtypes import as_dtype

Element = list[np.ndarray]


class QueuePut:
    """A function of arrays, called in a run, that puts elements into a queue."""

    puts = True

    def __init__(self, function: Callable[..., None]) -> None:
        self.function = function

    def __call__(self, *arrays: np.ndarray) -> None:
        self.function(*arrays)


class QueueTake:
    """A function, called in a run, that takes elements out of a queue; they may be taken before the run.

    Args:
        take: takes the elements out.
        give_back: puts elements back that were taken for a run which then failed.
        form: elements → the results.
    """

    def __init__(self, take: Callable[[], Any], give_back: Callable[[Any], None], form: Callable[[Any], Any]) -> None:
        self.take, self.give_back, self._form = take, give_back, form

    def __call__(self) -> Any:
        elements = taken_early(self)
        return self._form(self.take() if elements is None else elements)


class Cancelled(RuntimeError):
    """The error of a run that puts into a closed queue, or that waits while its session is closed.

    Programs know it as `tf.errors.CancelledError`.
    """


class QueueBase:
    """The base of queues, whose elements are tuples of tensors.

    Taking out waits while there are too few elements, and putting in waits while the queue is full.  The queue belongs
    to the process: all sessions share it.

    Args:
        capacity: how many elements there may be.
        dtypes: the dtype of each tensor of an element, or the one of all.
        shapes: the shape of each, without which several elements cannot be put in or taken out at once.
        names: the keys of elements that are dicts.
        name: the name, for errors.

    Source: `tf.queue.QueueBase`.
    """

    _rest = 0  # how many elements stay in until the queue is closed
    _pads = False  # whether dimensions may be unknown; elements that are taken out together are then padded with zeros

    def __init__(self, capacity: int, dtypes: Any, shapes: Any, names: Any, name: str) -> None:
        kinds = dtypes if isinstance(dtypes, (list, tuple)) else [dtypes]
        self.dtypes = [STRING if is_text(None, kind) else as_dtype(kind) for kind in kinds]
        one = shapes is not None and not any(hasattr(x, "__iter__") for x in shapes) and len(self.dtypes) == 1
        self.shapes = None if shapes is None else [shape_of(x) for x in ([shapes] if one else shapes)]
        self.names = [names] if isinstance(names, str) else names
        self.name, self._capacity = name, capacity
        if not self._pads and any(x.rank is None or None in x for x in self.shapes or ()):
            given = ", ".join(map(str, self.shapes or ()))
            problem = f"All shapes must be fully defined, not {given}: say them with set_shape, or pad elements"
            raise op_error(ValueError, f"tf.{type(self).__name__}", f"{problem} in a PaddingFIFOQueue.")
        self._graph = graph_mode.open_graph()
        self._elements: list[Element] = []
        self._putting, self._closed, self._cancelled = 0, False, False
        self._puts: dict[Any, tuple[Callable[..., None], list[Any]]] = {}  # operation → function, its inputs
        self._changed, self._one_takes = threading.Condition(), threading.Lock()

    # operations

    def enqueue(self, vals: Any, name: str | None = None) -> Any:
        """The operation that puts one element in."""
        return self._putting_in(lambda *arrays: self._put([[*arrays]]), self._parts(vals), name)

    def enqueue_many(self, vals: Any, name: str | None = None) -> Any:
        """The operation that puts an element in for each slice of the first axes."""
        return self._putting_in(
            lambda *arrays: self._put([*map(list, zip(*arrays, strict=True))]), self._parts(vals, 1), name
        )

    def dequeue(self, name: str | None = None) -> Any:
        """An element, which each run takes out."""
        return self._taken(self._taking(1, False, lambda elements: elements[0]), self.shapes, name)

    def dequeue_many(self, n: Any, name: str | None = None) -> Any:
        """The next `n` elements, stacked."""
        return self._several(n, n if isinstance(n, int) else None, False, name)

    def dequeue_up_to(self, n: Any, name: str | None = None) -> Any:
        """The next `n` elements, stacked; fewer if the queue is closed and has fewer."""
        return self._several(n, None, True, name)

    def size(self, name: str | None = None) -> Any:
        """How many elements there are."""
        return self._result(lambda: [np.int32(len(self._elements))], [as_dtype("int32")], [()], name)[0]

    def close(self, cancel_pending_enqueues: bool = False, name: str | None = None) -> Any:
        """The operation after which nothing is put in, and an empty queue is at its end.

        Args:
            cancel_pending_enqueues: whether runs that wait for room raise an error.
        """
        return self._operation(lambda: self._close(cancel_pending_enqueues), [], name)

    def is_closed(self, name: str | None = None) -> Any:
        """Whether it is closed."""
        return self._result(lambda: [np.bool_(self._closed)], [as_dtype("bool")], [()], name)[0]

    # in runs

    def wait_for_room(self) -> None:
        """Wait until an element can be put in, or the queue is closed."""
        with self._changed:
            self._wait(lambda: self._closed or len(self._elements) < self._capacity, "enqueue")

    def fill(self, session: Any, operation: Any) -> None:
        """Run an operation that puts elements in.

        Elements are computed by a run, and put in after it: while they wait for room, other runs may use the variables.
        """
        if operation not in self._puts or not isinstance(session, Session):
            session.run(operation)
            return
        function, inputs = self._puts[operation]
        parts, _ = session.run([inputs, list(operation.control_inputs)])
        with as_running(session):
            function(*(np.asarray(x, object if isinstance(x, bytes) else None) for x in parts))

    def take(self) -> Any:
        """Take an element of one tensor out."""
        return self._take(1)[0][0]

    def _put(self, elements: Sequence[Element]) -> None:
        with self._changed:
            if self._closed:
                raise op_error(Cancelled, "tf.FIFOQueue.enqueue", f"the queue {self.name!r} is closed.")
            self._putting += 1
            try:
                for element in elements:
                    self._wait(partial(self._takes, element), "enqueue")
                    if self._cancelled:
                        raise op_error(Cancelled, "tf.FIFOQueue.enqueue", f"the queue {self.name!r} was closed.")
                    self._elements.append(element)
                    self._changed.notify_all()
            finally:
                self._putting -= 1
                self._changed.notify_all()

    def _take(self, count: int, up_to: bool = False) -> list[Element]:
        """Take elements out; if the queue ends before, all stay in."""
        elements: list[Element] = []
        with self._one_takes, self._changed:
            try:
                while len(elements) < count:
                    self._wait(self._gives, "dequeue")
                    if not self._elements:
                        break
                    elements.append(self._elements.pop(self._next()))
                    self._changed.notify_all()
                if len(elements) == count or (up_to and elements):
                    return elements
            except Cancelled:
                self._elements[:0] = elements
                raise
            self._elements[:0] = elements
        problem = f"the queue {self.name!r} is closed and has {len(elements)} elements, not {count}."
        raise op_error(IndexError, f"tf.{type(self).__name__}.dequeue", problem)

    def _give_back(self, elements: list[Element]) -> None:
        """Put elements back that come out next."""
        with self._changed:
            self._elements[:0] = elements
            self._changed.notify_all()

    def _wait(self, ready: Callable[[], bool], what: str) -> None:
        """Wait until another thread makes a condition true.

        Raises:
            Cancelled: the session of the run was closed.
        """
        session = running(self._graph)
        if not session.wait_for(self._changed, ready):
            problem = f"the session was closed while a run waited for the queue {self.name!r}."
            raise op_error(Cancelled, f"tf.{type(self).__name__}.{what}", problem)

    def _takes(self, element: Element) -> bool:
        """Whether an element need not wait for room."""
        return self._cancelled or self._has_room(element)

    def _gives(self) -> bool:
        """Whether an element can be taken out, or none will come."""
        return len(self._elements) > self._rest or (self._closed and not self._putting)

    def _has_room(self, element: Element) -> bool:
        """Whether an element can be put in."""
        return len(self._elements) < self._capacity

    def _next(self) -> int:
        """The place of the element that comes out next."""
        return 0

    def _close(self, cancels: bool) -> None:
        with self._changed:
            self._closed, self._cancelled = True, self._cancelled or cancels
            self._changed.notify_all()

    def _stacked(self, elements: list[Element]) -> Element:
        return [_padded(part) if self._pads else np.stack(part) for part in zip(*elements, strict=True)]

    # in graphs

    def _several(self, n: Any, known: int | None, up_to: bool, name: str | None) -> Any:
        shapes = None if self.shapes is None else [(known, *shape) for shape in self.shapes]
        if isinstance(n, int):
            return self._taken(self._taking(n, up_to, self._stacked), shapes, name)
        return self._taken(lambda n: self._stacked(self._take(int(n), up_to)), shapes, name, (ops.convert(n),))

    def _parts(self, vals: Any, axes: int = 0) -> list[Any]:
        """The tensors of an element, or of several, whose shapes must be the queue's behind the first axes."""
        if self.names is not None:
            vals = [vals[key] for key in self.names]
        given = list(vals) if isinstance(vals, (list, tuple)) and len(vals) == len(self.dtypes) else [vals]
        with graph_mode.inside(graph_mode.open_graph()):
            pairs = zip(given, self.dtypes, strict=True)
            parts = [in_graph(x) if dtype is STRING else ops.convert(x, dtype) for x, dtype in pairs]
        for part, shape in zip(parts, self.shapes or (), strict=False):
            if part.shape is not None and not shape_of(shape).is_compatible_with(shape_of(part.shape[axes:])):
                problem = f"the shape {tuple(part.shape[axes:])} does not fit the shape {tuple(shape)} of the queue"
                raise op_error(ValueError, f"tf.{type(self).__name__}.enqueue", f"{problem} {self.name!r}.")
        return parts

    def _putting_in(self, function: Callable[..., None], inputs: list[Any], name: str | None) -> Any:
        operation = self._operation(QueuePut(function), inputs, name)
        self._puts[operation] = function, inputs
        return operation

    def _operation(self, function: Callable[..., Any], inputs: list[Any], name: str | None) -> Any:
        return done_in(graph_mode.open_graph(), function, inputs, name)

    def _taking(self, count: int, up_to: bool, form: Callable[[Any], Any]) -> QueueTake:
        return QueueTake(lambda: self._take(count, up_to), self._give_back, form)

    def _taken(self, function: Callable[..., Any], shapes: Any, name: str | None, inputs: Any = ()) -> Any:
        parts = self._result(function, self.dtypes, shapes or (), name, inputs)
        if self.names is not None:
            return dict(zip(self.names, parts, strict=True))
        return parts[0] if len(parts) == 1 else parts

    def _result(self, function: Any, dtypes: Any, shapes: Any, name: str | None, inputs: Any = ()) -> list[Any]:
        with graph_mode.inside(graph_mode.open_graph()):
            return called(function, inputs, dtypes, shapes, name)


def _padded(arrays: Sequence[np.ndarray]) -> np.ndarray:
    """Arrays of one rank, stacked behind zeros that make their shapes equal."""
    kind = arrays[0].dtype
    shape = len(arrays), *np.max([x.shape for x in arrays], axis=0).astype(int)
    stacked = np.full(shape, b"" if kind.kind == "O" else 0, kind)
    for row, array in enumerate(arrays):
        region: Any = (row, *map(slice, array.shape), ...)
        stacked[region] = array
    return stacked


class FIFOQueue(QueueBase):
    """A queue whose oldest element comes out first; it takes the arguments of `tf.queue.QueueBase`.

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
        super().__init__(capacity, dtypes, shapes, names, name)


class PaddingFIFOQueue(FIFOQueue):
    """A `tf.queue.FIFOQueue` that pads elements which are taken out together with zeros to one shape.

    Source: `tf.queue.PaddingFIFOQueue`.

    Example:
        >>> import dovetail.compat.tensorflow.compat.v1 as tf
        >>> with tf.Graph().as_default(), tf.Session() as session:
        ...     queue = tf.PaddingFIFOQueue(2, tf.int32, [[None]])
        ...     _ = session.run([queue.enqueue([[1]]), queue.enqueue([[2, 3]])])
        ...     session.run(queue.dequeue_many(2)).tolist()
        [[1, 0], [2, 3]]
    """

    _pads = True


class RandomShuffleQueue(QueueBase):
    """A queue whose elements come out in a random order; it takes the arguments of `tf.queue.QueueBase`.

    Args:
        min_after_dequeue: how many elements stay in until the queue is closed, so that the order is random.
        seed: starts the sequence of draws; by default, the global seed does.

    Source: `tf.queue.RandomShuffleQueue`.
    """

    def __init__(
        self,
        capacity: int,
        min_after_dequeue: int,
        dtypes: Any,
        shapes: Any = None,
        names: Any = None,
        seed: int | None = None,
        shared_name: str | None = None,
        name: str = "random_shuffle_queue",
    ) -> None:
        super().__init__(capacity, dtypes, shapes, names, name)
        self._rest, self._draw = min_after_dequeue, random.Random(seed_of_draw(seed))

    def _next(self) -> int:
        return self._draw.randrange(len(self._elements))


class PriorityQueue(QueueBase):
    """A queue whose element with the lowest priority, an int64 before the others, comes out first.

    It takes the arguments of `tf.queue.QueueBase` without the priority.

    Source: `tf.queue.PriorityQueue`.
    """

    def __init__(
        self,
        capacity: int,
        types: Any,
        shapes: Any = None,
        names: Any = None,
        shared_name: str | None = None,
        name: str = "priority_queue",
    ) -> None:
        dtypes = ["int64", *(types if isinstance(types, (list, tuple)) else [types])]
        super().__init__(capacity, dtypes, None if shapes is None else [(), *shapes], names, name)

    def _next(self) -> int:
        return min(range(len(self._elements)), key=lambda i: int(self._elements[i][0]))


for _kind in (QueueBase, FIFOQueue, PaddingFIFOQueue, RandomShuffleQueue, PriorityQueue):
    value(f"{_kind.__name__} queue.{_kind.__name__}", _kind, "v1")
