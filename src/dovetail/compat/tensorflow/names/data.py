"""Pipelines of data of TensorFlow 2, for loops that compute at once.

An element is an array, or a tuple or dict of elements.  Loops and functions of the program get tensors of them.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from operator import itemgetter
from typing import Any

import numpy as np

from dovetail import ops
from dovetail.compat.tensorflow.table import function, value
from dovetail.core.dtypes import as_dtype

INFINITE, UNKNOWN = -1, -2


class Dataset:
    """A sequence of elements; each loop over it begins with the first one.

    Args:
        elements: a function that returns an iterator over the elements.
        length: their number, `INFINITE` or `UNKNOWN`.

    Source: `tf.data.Dataset`.

    Differs: shuffled orders are others.  Pipelines are no part of graphs, and compute in this process alone.

    Example:
        >>> import dovetail.compat.tensorflow as tf
        >>> data = tf.data.Dataset.range(5).map(lambda x: x * x).batch(2)
        >>> [batch.numpy().tolist() for batch in data]
        [[0, 1], [4, 9], [16]]
    """

    def __init__(self, elements: Callable[[], Iterable[Any]], length: int = UNKNOWN) -> None:
        self._elements, self._length = elements, length

    # -- sources

    @staticmethod
    def from_tensors(tensors: Any, name: str | None = None) -> Dataset:
        """One element."""
        element = _each(_array, _plain(tensors))
        return Dataset(lambda: [element], 1)

    @staticmethod
    def from_tensor_slices(tensors: Any, name: str | None = None) -> Dataset:
        """The slices of arrays along their first axis."""
        whole = _each(_array, _plain(tensors))
        count = len(next(_leaves(whole)))
        if any(len(leaf) != count for leaf in _leaves(whole)):
            sizes = [len(leaf) for leaf in _leaves(whole)]
            raise ValueError(
                f"tf.data.Dataset.from_tensor_slices: the first sizes must be equal, but they are {sizes}."
            )
        return Dataset(lambda: (_each(itemgetter(i), whole) for i in range(count)), count)

    @staticmethod
    def from_generator(
        generator: Callable[..., Iterable[Any]],
        output_types: Any = None,
        output_shapes: Any = None,
        args: Any = (),
        output_signature: Any = None,
        name: str | None = None,
    ) -> Dataset:
        """The elements of a generator, of the dtypes that are given."""
        dtypes = output_types if output_signature is None else _each(lambda spec: spec.dtype, _plain(output_signature))

        def elements() -> Iterator[Any]:
            for element in generator(*(args or ())):
                yield _typed(element, dtypes) if dtypes is not None else _each(_array, _plain(element))

        return Dataset(elements)

    @staticmethod
    def range(*args: Any, output_type: Any = np.int64, name: str | None = None) -> Dataset:
        """Integers, with the arguments of Python's `range`."""
        dtype, numbers = as_dtype(output_type).numpy, range(*map(int, args))
        return Dataset(lambda: (np.asarray(number, dtype) for number in numbers), len(numbers))

    @staticmethod
    def zip(*args: Any, datasets: Any = None, name: str | None = None) -> Dataset:
        """Tuples of the elements of several data sets, as long as the shortest one."""
        parts = _plain(args[0] if len(args) == 1 else args or datasets)
        flat = list(_leaves(parts))
        known = [part._length for part in flat if part._length != INFINITE]
        length = UNKNOWN if UNKNOWN in known else min(known, default=INFINITE)

        def elements() -> Iterator[Any]:
            for found in zip(*(part._elements() for part in flat), strict=False):
                known = dict(zip(map(id, flat), found, strict=True))
                yield _each(lambda part, known=known: known[id(part)], parts)

        return Dataset(elements, length)

    # -- loops

    def __iter__(self) -> Iterator[Any]:
        return (_each(_tensor, element) for element in self._elements())

    def as_numpy_iterator(self) -> Iterator[Any]:
        """An iterator over the elements as NumPy's arrays."""
        return iter(self._elements())

    def __len__(self) -> int:
        if self._length < 0:
            raise TypeError(f"the length is {'infinite' if self._length == INFINITE else 'unknown'}.")
        return self._length

    def __bool__(self) -> bool:
        return True

    def cardinality(self) -> Any:
        """The number of elements; -1 if there is no end, -2 if it is unknown."""
        return ops.constant(np.int64(self._length))

    def reduce(self, initial_state: Any, reduce_func: Callable[..., Any], name: str | None = None) -> Any:
        """The last state of a function of a state and an element."""
        state = _each(_tensor, _each(_array, _plain(initial_state)))
        for element in self:
            state = reduce_func(state, element)
        return state

    # -- functions of the program

    def map(
        self, map_func: Callable[..., Any], num_parallel_calls: Any = None, deterministic: Any = None, name: Any = None
    ) -> Dataset:
        """The results of a function of each element; it gets the parts of a tuple as arguments."""
        return Dataset(lambda: (_called(map_func, element) for element in self._elements()), self._length)

    def filter(self, predicate: Callable[..., Any], name: str | None = None) -> Dataset:
        """The elements for which a function is true."""
        return Dataset(lambda: (each for each in self._elements() if _called(predicate, each)))

    def take_while(self, predicate: Callable[..., Any], name: str | None = None) -> Dataset:
        """The elements before the first one for which a function is false."""
        return Dataset(lambda: itertools.takewhile(lambda each: _called(predicate, each), self._elements()))

    def flat_map(self, map_func: Callable[..., Dataset], name: str | None = None) -> Dataset:
        """The elements of the data sets that a function makes of each element."""
        made = lambda: (_passed(map_func, element) for element in self._elements())  # noqa: E731
        return Dataset(lambda: itertools.chain.from_iterable(part._elements() for part in made()))

    def apply(self, transformation_func: Callable[[Dataset], Dataset]) -> Dataset:
        """The result of a function of this data set."""
        return transformation_func(self)

    # -- parts and batches

    def batch(
        self,
        batch_size: Any,
        drop_remainder: bool = False,
        num_parallel_calls: Any = None,
        deterministic: Any = None,
        name: str | None = None,
    ) -> Dataset:
        """Stacks of consecutive elements."""
        return self._in_groups(int(batch_size), drop_remainder, lambda group: _each(_stacked, *group))

    def padded_batch(
        self,
        batch_size: Any,
        padded_shapes: Any = None,
        padding_values: Any = None,
        drop_remainder: bool = False,
        name: str | None = None,
    ) -> Dataset:
        """Stacks of consecutive elements of one rank; shorter ones are filled up, with zeros if nothing is given."""

        def stacked(group: list[Any]) -> Any:
            shapes = _like(group[0], padded_shapes)
            return _each(_padded, shapes, _like(group[0], padding_values), *group)

        return self._in_groups(int(batch_size), drop_remainder, stacked)

    def _in_groups(self, size: int, drop_remainder: bool, stacked: Callable[[list[Any]], Any]) -> Dataset:
        def elements() -> Iterator[Any]:
            rest = iter(self._elements())
            while group := list(itertools.islice(rest, size)):
                if len(group) == size or not drop_remainder:
                    yield stacked(group)

        count = self._length // size if drop_remainder else -(-self._length // size)
        return Dataset(elements, count if self._length >= 0 else self._length)

    def unbatch(self, name: str | None = None) -> Dataset:
        """The slices of each element."""

        def elements() -> Iterator[Any]:
            for whole in self._elements():
                yield from Dataset.from_tensor_slices(whole)._elements()

        return Dataset(elements)

    def shuffle(
        self, buffer_size: Any, seed: Any = None, reshuffle_each_iteration: bool | None = True, name: Any = None
    ) -> Dataset:
        """The elements in another order: each is drawn from a buffer of the next ones."""
        random = np.random.default_rng(seed)
        first = int(random.integers(2**32))

        def elements() -> Iterator[Any]:
            draws = random if reshuffle_each_iteration in (None, True) else np.random.default_rng(first)
            rest = iter(self._elements())
            buffer = list(itertools.islice(rest, int(buffer_size)))
            while buffer:
                place = int(draws.integers(len(buffer)))
                buffer[place], buffer[-1] = buffer[-1], buffer[place]
                yield buffer.pop()
                buffer += itertools.islice(rest, 1)

        return Dataset(elements, self._length)

    def repeat(self, count: Any = None, name: str | None = None) -> Dataset:
        """The elements several times, without an end if `count` is None or -1."""
        times = None if count is None or int(count) < 0 else int(count)
        rounds = (lambda: itertools.count()) if times is None else (lambda: range(times))
        length = INFINITE if times is None else times * self._length if self._length >= 0 else self._length
        return Dataset(lambda: (element for _ in rounds() for element in self._elements()), length)

    def take(self, count: Any, name: str | None = None) -> Dataset:
        """The first elements; all if `count` is -1."""
        if int(count) < 0:
            return self
        length = int(count) if self._length == INFINITE else min(self._length, int(count))
        return Dataset(lambda: itertools.islice(self._elements(), int(count)), length)

    def skip(self, count: Any, name: str | None = None) -> Dataset:
        """The elements after the first ones."""
        length = max(self._length - int(count), 0) if self._length >= 0 else self._length
        return Dataset(lambda: itertools.islice(self._elements(), int(count), None), length)

    def shard(self, num_shards: Any, index: Any, name: str | None = None) -> Dataset:
        """Each `num_shards`-th element, from the one at `index`."""
        length = -(-max(self._length - int(index), 0) // int(num_shards)) if self._length >= 0 else self._length
        return Dataset(lambda: itertools.islice(self._elements(), int(index), None, int(num_shards)), length)

    def concatenate(self, dataset: Dataset, name: str | None = None) -> Dataset:
        """These elements, then the ones of another data set."""
        lengths = self._length, dataset._length
        length = sum(lengths) if min(lengths) >= 0 else INFINITE if INFINITE in lengths else UNKNOWN
        return Dataset(lambda: itertools.chain(self._elements(), dataset._elements()), length)

    def enumerate(self, start: Any = 0, name: str | None = None) -> Dataset:
        """Pairs of a number and an element."""
        return Dataset(
            lambda: ((np.int64(number), each) for number, each in enumerate(self._elements(), int(start))), self._length
        )

    def cache(self, filename: str = "", name: str | None = None) -> Dataset:
        """The elements of the first whole loop, kept in memory."""
        kept = list[Any]()

        def elements() -> Iterator[Any]:
            if kept:
                yield from kept[0]
                return
            found = list[Any]()
            for element in self._elements():
                found.append(element)
                yield element
            kept.append(found)

        return Dataset(elements, self._length)

    def prefetch(self, buffer_size: Any = None, name: str | None = None) -> Dataset:
        """The same elements, which are computed when they are needed."""
        return self

    def with_options(self, options: Any, name: str | None = None) -> Dataset:
        """The same elements: options tell TensorFlow how to compute, and change nothing here."""
        return self


class Options:
    """Settings of a pipeline, which have no effect here.

    Source: `tf.data.Options`.
    """


# -- elements ---------------------------------------------------------------------------------------------------------


def _each(function: Callable[..., Any], first: Any, *others: Any) -> Any:
    """The results of a function for the leaves of elements of one structure."""
    if isinstance(first, dict):
        return {key: _each(function, first[key], *(other[key] for other in others)) for key in first}
    if isinstance(first, tuple):
        return tuple(_each(function, *parts) for parts in zip(first, *others, strict=True))
    return function(first, *others)


def _leaves(element: Any) -> Iterator[Any]:
    parts = element.values() if isinstance(element, dict) else element if isinstance(element, tuple) else None
    if parts is None:
        yield element
    else:
        for part in parts:
            yield from _leaves(part)


def _plain(value: Any) -> Any:
    """A value in dicts and plain tuples: named tuples have no names, and a list of arrays is one array."""
    if isinstance(value, dict):
        return {key: _plain(part) for key, part in value.items()}
    return tuple(map(_plain, value)) if isinstance(value, tuple) else value


def _array(value: Any) -> Any:
    found = np.asarray(value.numpy() if hasattr(value, "numpy") else value)
    if not isinstance(value, (np.ndarray, np.generic)) and not hasattr(value, "numpy"):  # TensorFlow's defaults
        narrow = {"float64": "float32", "int64": "int32"}.get(found.dtype.name)
        return found if narrow is None else found.astype(narrow)
    return found


def _tensor(leaf: Any) -> Any:
    return leaf if np.asarray(leaf).dtype.kind in "OSU" else ops.constant(np.asarray(leaf))  # texts stay arrays


def _typed(element: Any, dtypes: Any) -> Any:
    """An element of a generator, with the dtypes of the same structure."""
    if isinstance(dtypes, dict):
        return {key: _typed(element[key], dtype) for key, dtype in dtypes.items()}
    if isinstance(dtypes, tuple):
        return tuple(_typed(part, dtype) for part, dtype in zip(element, dtypes, strict=True))
    name = getattr(dtypes, "name", dtypes)
    return np.asarray(element) if name == "string" else np.asarray(_array(element), as_dtype(dtypes).numpy)


def _passed(function: Callable[..., Any], element: Any) -> Any:
    tensors = _each(_tensor, element)
    return function(*tensors) if isinstance(tensors, tuple) else function(tensors)


def _called(function: Callable[..., Any], element: Any) -> Any:
    """The result of a program's function for an element, as an element."""
    found = _passed(function, element)
    return _each(_array, _plain(tuple(found) if isinstance(found, list) else found))


def _stacked(*leaves: Any) -> Any:
    if len({np.shape(leaf) for leaf in leaves}) > 1:
        shapes = [np.shape(leaf) for leaf in leaves]
        problem = f"tf.data.Dataset.batch: elements must have one shape, but they have {shapes}"
        raise ValueError(f"{problem}: use padded_batch.")
    return np.stack(leaves)


def _like(element: Any, values: Any) -> Any:
    """Values in the structure of an element; one value, or None, is for all leaves."""
    if isinstance(element, (tuple, dict)) and not isinstance(values, type(element)):
        return _each(lambda _: values, element)
    return values if values is None or not isinstance(element, tuple) else tuple(map(_like, element, values))


def _padded(shape: Any, filling: Any, *leaves: Any) -> Any:
    longest = np.max([np.shape(leaf) for leaf in leaves], axis=0, initial=0).astype(int)
    pairs = zip(longest, longest if shape is None else shape, strict=True)
    sizes = [size if wanted in (None, -1) else int(wanted) for size, wanted in pairs]
    found = np.full([len(leaves), *sizes], 0 if filling is None else _array(filling), np.asarray(leaves[0]).dtype)
    for row, leaf in zip(found, leaves, strict=True):
        row[tuple(map(slice, np.shape(leaf)))] = leaf
    return found


value("data.Dataset", Dataset)
value("data.Options", Options)
value("data.AUTOTUNE data.experimental.AUTOTUNE", -1)
value("data.INFINITE_CARDINALITY data.experimental.INFINITE_CARDINALITY", INFINITE)
value("data.UNKNOWN_CARDINALITY data.experimental.UNKNOWN_CARDINALITY", UNKNOWN)


@function("data.experimental.cardinality")
def _cardinality(dataset: Dataset) -> Any:
    """The number of elements; -1 if there is no end, -2 if it is unknown.

    Source: `tf.data.experimental.cardinality`.
    """
    return dataset.cardinality()
