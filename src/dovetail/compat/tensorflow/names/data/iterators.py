"""Iterators of TensorFlow 1: each run of a session takes the next element of a data set."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any
from weakref import WeakKeyDictionary

from dovetail.compat.tensorflow import graph_mode
from dovetail.compat.tensorflow.entries import value
from dovetail.compat.tensorflow.names.array.core import TFTensor
from dovetail.compat.tensorflow.names.data.dataset import Dataset, taken
from dovetail.compat.tensorflow.names.data.elements import continued, each, leaves, leaves_of
from dovetail.compat.tensorflow.names.graph.python_calls import done_in
from dovetail.compat.tensorflow.names.session.session import running
from dovetail.compat.tensorflow.names.strings.tensors import called
from dovetail.compat.tensorflow.names.strings.text import STRING, Text, strings_of
from dovetail.core.base.errors import op_error

TITLE = "tf.data.Iterator"


class DataIterator:
    """An iterator over the elements of data sets of one structure; each session has a place of its own.

    Args:
        leaf: the leaves of an element, in its structure.
        begins: the data set with which a session begins that has run no initializer.

    Source: `tf.compat.v1.data.Iterator`.

    Example:
        >>> import dovetail.compat.tensorflow.compat.v1 as tf
        >>> with tf.Graph().as_default(), tf.Session() as session:
        ...     data = tf.data.Dataset.range(4).map(lambda x: x * x).batch(3)
        ...     numbers = data.make_one_shot_iterator().get_next()
        ...     [session.run(numbers).tolist() for _ in range(2)]
        [[0, 1, 4], [9]]
    """

    def __init__(self, leaf: Any, begins: Dataset | None = None, initializer: Dataset | None = None) -> None:
        self._leaf, self._begins = leaf, begins
        self._graph = graph_mode.open_graph()
        self._places: WeakKeyDictionary[Any, Iterator[Any]] = WeakKeyDictionary()
        self._lock, others = threading.Lock(), graph_mode.store().iterators
        self._handle = b"iterator:%d" % len(others)
        others[self._handle] = self
        self._initializer = None if initializer is None else self.make_initializer(initializer)

    @staticmethod
    def from_structure(
        output_types: Any, output_shapes: Any = None, shared_name: Any = None, output_classes: Any = None
    ) -> DataIterator:
        """An iterator that `make_initializer` gives its data set."""
        return DataIterator(leaves_of(output_types, output_shapes))

    @staticmethod
    def from_string_handle(
        string_handle: Any, output_types: Any, output_shapes: Any = None, output_classes: Any = None
    ) -> HandleIterator:
        """An iterator that takes elements of the one whose handle a run is fed."""
        return HandleIterator(string_handle, leaves_of(output_types, output_shapes))

    @property
    def initializer(self) -> Any:
        """The operation after which the next element is the first one."""
        if self._initializer is None:
            raise op_error(ValueError, TITLE, "it has no initializer: call make_initializer with a data set.")
        return self._initializer

    def make_initializer(self, dataset: Dataset, name: str | None = None) -> Any:
        """The operation after which the next element is the first one of a data set."""
        dataset = taken(dataset)
        pairs = [list(leaves(each(lambda x: x.dtype, leaf))) for leaf in (self._leaf, dataset.leaf)]
        if pairs[0] != pairs[1]:
            problem = f"the data set has elements of {_shown(pairs[1])}, and the iterator of {_shown(pairs[0])}"
            raise op_error(TypeError, TITLE, f"{problem}: the dtypes must be equal.")

        def begin(*arrays: Any) -> None:
            self._begin(dataset, arrays)

        return done_in(self._graph, begin, dataset.needs, name or "MakeIterator")

    def get_next(self, name: str | None = None) -> Any:
        """The next element, which each run takes; after the last one, a run raises `tf.errors.OutOfRangeError`."""
        needs = () if self._begins is None else self._begins.needs
        return _result(self._graph, self._leaf, self._next, needs, name)

    def string_handle(self, name: str | None = None) -> Any:
        """The handle, with which `from_string_handle` finds the iterator."""
        with graph_mode.inside(self._graph):
            return Text(self._handle, name=name)

    def _begin(self, dataset: Dataset, arrays: Any) -> None:
        values = dict(zip(dataset.needs, arrays, strict=True))
        self._places[running(self._graph)] = continued(values, _begun(dataset))

    def _next(self, *arrays: Any) -> list[Any]:
        session = running(self._graph)
        with self._lock:
            if session not in self._places:
                if self._begins is None:
                    raise op_error(RuntimeError, TITLE, "it has no data set yet: run its initializer before.")
                self._begin(self._begins, arrays)
            element = next(self._places[session], None)
        if element is None:
            raise op_error(IndexError, f"{TITLE}.get_next", "End of sequence: the data set has no more elements.")
        return list(leaves(each(lambda leaf, x: strings_of(x) if leaf.dtype is STRING else x, self._leaf, element)))

    @property
    def output_types(self) -> Any:
        """The dtypes of an element, in its structure."""
        return output_types(self)

    @property
    def output_shapes(self) -> Any:
        """The shapes of an element, in its structure."""
        return output_shapes(self)

    @property
    def output_classes(self) -> Any:
        """The classes of an element, in its structure."""
        return output_classes(self)


class HandleIterator(DataIterator):
    """An iterator that takes elements of the one whose handle a run is fed.

    Args:
        handle: the handle, a tensor of a string.
        leaf: the leaves of an element, in its structure.

    Source: `tf.compat.v1.data.Iterator.from_string_handle`.
    """

    def __init__(self, handle: Any, leaf: Any) -> None:
        super().__init__(leaf)
        self._fed = handle

    def get_next(self, name: str | None = None) -> Any:
        """The next element of the iterator whose handle is fed."""
        with graph_mode.inside(self._graph):
            others = graph_mode.store().iterators
        return _result(self._graph, self._leaf, lambda handle: others[handle.item()]._next(), [self._fed], name)


class LoopIterator:
    """An iterator of a program that computes at once.

    Args:
        dataset: the data set.

    Source: `tf.compat.v1.data.Iterator`.
    """

    def __init__(self, dataset: Dataset) -> None:
        self._rest = iter(dataset)

    def __iter__(self) -> Iterator[Any]:
        return self._rest

    def __next__(self) -> Any:
        return next(self._rest)

    def get_next(self, name: str | None = None) -> Any:
        """The next element."""
        for element in self._rest:
            return element
        raise op_error(IndexError, f"{TITLE}.get_next", "End of sequence: the data set has no more elements.")

    next = get_next


def _begun(dataset: Dataset) -> Iterator[Any]:
    """The elements of a data set, which a graph's values may be given to before the first one."""
    yield from dataset.as_numpy_iterator()


def _result(graph: Any, leaf: Any, function: Callable[..., Any], inputs: Sequence[Any], name: str | None) -> Any:
    """The results of a function that gives the leaves of an element, in their structure."""
    flat = list(leaves(leaf))
    shapes = [None if x.shape.rank is None else tuple(x.shape) for x in flat]
    with graph_mode.inside(graph):
        results = iter(called(function, inputs, [x.dtype for x in flat], shapes, name or "IteratorGetNext"))
    return each(lambda _: next(results), leaf)


def _shown(dtypes: list[Any]) -> str:
    return ", ".join("string" if dtype is STRING else str(dtype.name) for dtype in dtypes)


# -- functions of data sets and iterators -----------------------------------------------------------------------------


def make_one_shot_iterator(dataset: Dataset) -> Any:
    """An iterator that each session goes through once."""
    dataset = taken(dataset)
    return LoopIterator(dataset) if graph_mode.graph() is None else DataIterator(dataset.leaf, dataset)


def make_initializable_iterator(dataset: Dataset, shared_name: str | None = None) -> Any:
    """An iterator that begins whenever its `initializer` is run."""
    return DataIterator(taken(dataset).leaf, initializer=taken(dataset))


def output_types(dataset_or_iterator: Any) -> Any:
    """The dtypes of an element, in its structure."""
    return each(lambda x: x.dtype, _leaf(dataset_or_iterator))


def output_shapes(dataset_or_iterator: Any) -> Any:
    """The shapes of an element, in its structure."""
    return each(lambda x: x.shape, _leaf(dataset_or_iterator))


def output_classes(dataset_or_iterator: Any) -> Any:
    """The classes of an element, in its structure."""
    return each(lambda _: TFTensor, _leaf(dataset_or_iterator))


def _leaf(source: Any) -> Any:
    return taken(source).leaf if isinstance(source, Dataset) else source._leaf


for _method in (make_one_shot_iterator, make_initializable_iterator):
    setattr(Dataset, _method.__name__, _method)
    value(f"data.{_method.__name__}", _method, "v1")
for _property in (output_types, output_shapes, output_classes):
    setattr(Dataset, _property.__name__, property(_property))
    value(f"data.get_{_property.__name__}", _property, "v1")
value("data.Iterator contrib.data.Iterator", DataIterator, "v1")
value("contrib.eager.Iterator", LoopIterator, "v1")
