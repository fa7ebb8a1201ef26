"""Pipelines of data, for loops that compute at once, and for iterators of sessions.

An element is an array, or a tuple or dict of elements.  Loops and functions of the program get tensors of them.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from operator import itemgetter
from typing import Any

import numpy as np

from dovetail import ops
from dovetail.compat.tensorflow.entries import value
from dovetail.compat.tensorflow.names.data import elements as parts
from dovetail.compat.tensorflow.names.data.elements import Leaf, each, leaves, number, plain
from dovetail.compat.tensorflow.names.data.owned import OwnedIterator
from dovetail.compat.tensorflow.names.data.traced import Function
from dovetail.compat.tensorflow.names.random.draws import seed_of_draw
from dovetail.core.base.errors import op_error
from dovetail.core.base.tensor_shape import shape_of
from dovetail.core.dtypes import as_dtype
from dovetail.core.values.spec import TensorSpec

INFINITE, UNKNOWN = -1, -2


class _Kind(type):
    """The class of data sets, of which TensorFlow's own are instances, too."""

    def __instancecheck__(cls, value: Any) -> bool:
        return super().__instancecheck__(value) or (cls.__base__ is object and parts.is_of_tensorflow(value))


class Dataset(metaclass=_Kind):
    """A sequence of elements; each loop over it begins with the first one.

    Args:
        elements: a function that returns an iterator over the elements.
        length: their number, `INFINITE` or `UNKNOWN`.
        leaf: the leaves of an element, in its structure; None if they are not known.
        needs: the tensors of a graph whose values the elements need.

    Source: `tf.data.Dataset`.

    Differs: shuffled orders are others.  Pipelines are no part of graphs, and compute in this process alone.

    Example:
        >>> import dovetail.compat.tensorflow as tf
        >>> data = tf.data.Dataset.range(5).map(lambda x: x * x).batch(2)
        >>> [batch.numpy().tolist() for batch in data]
        [[0, 1], [4, 9], [16]]
    """

    def __init__(
        self, elements: Callable[[], Iterable[Any]], length: int = UNKNOWN, leaf: Any = None, needs: Iterable[Any] = ()
    ) -> None:
        self._elements, self._length, self._leaf = elements, length, leaf
        self.needs = tuple({id(x): x for x in needs if parts.is_of_run(x)}.values())

    def _with(self, elements: Callable[[], Iterable[Any]], length: int = UNKNOWN, *needs: Any, **leaf: Any) -> Dataset:
        """A data set that is made of this one."""
        return Dataset(elements, length, leaf.get("leaf", self._leaf), (*self.needs, *needs))

    @property
    def leaf(self) -> Any:
        """The leaves of an element; if they are not known before, those of the first one, with its rank alone."""
        if self._leaf is None:
            first = each(parts.leaf_of, each(np.asarray, next(iter(self._elements()))))
            self._leaf = each(lambda x: Leaf(x.dtype, shape_of([None] * len(x.shape))), first)
        return self._leaf

    @property
    def element_spec(self) -> Any:
        """The shapes and dtypes of an element, in its structure."""
        return each(lambda x: TensorSpec(None if x.shape.rank is None else tuple(x.shape), x.dtype), self.leaf)

    # -- sources

    @staticmethod
    def from_tensors(tensors: Any, name: str | None = None) -> Dataset:
        """One element."""
        whole = each(_source, plain(tensors))
        return Dataset(lambda: [each(parts.known, whole)], 1, each(parts.leaf_of, whole), leaves(whole))

    @staticmethod
    def from_tensor_slices(tensors: Any, name: str | None = None) -> Dataset:
        """The slices of arrays along their first axis."""
        whole = each(_source, plain(tensors))
        sizes = [shape_of(part.shape)[0] if part.shape is not None else None for part in leaves(whole)]
        if len({size for size in sizes if size is not None}) > 1:
            raise ValueError(
                f"tf.data.Dataset.from_tensor_slices: the first sizes must be equal, but they are {sizes}."
            )

        def elements() -> Iterator[Any]:
            now = each(parts.known, whole)
            return (each(itemgetter(i), now) for i in range(len(next(leaves(now)))))

        length = UNKNOWN if sizes[0] is None else sizes[0]
        return Dataset(elements, length, each(lambda x: parts.leaf_of(x).without_first(), whole), leaves(whole))

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
        signature = plain(output_signature)
        dtypes = output_types if signature is None else each(lambda spec: spec.dtype, signature)
        shapes = output_shapes if signature is None else each(lambda spec: spec.shape, signature)

        def elements() -> Iterator[Any]:
            for element in generator(*(np.asarray(parts.known(x)) if parts.is_of_run(x) else x for x in args or ())):
                yield parts.typed(element, dtypes) if dtypes is not None else each(parts.array, plain(element))

        leaf = None if dtypes is None else parts.leaves_of(dtypes, shapes)
        return Dataset(elements, UNKNOWN, leaf, args or ())

    @staticmethod
    def range(*args: Any, output_type: Any = np.int64, name: str | None = None) -> Dataset:
        """Integers, with the arguments of Python's `range`."""
        dtype, given = as_dtype(output_type).numpy, [*map(number, args)]
        numbers = lambda: range(*(int(parts.known(x)) for x in given))  # noqa: E731
        length = UNKNOWN if any(map(parts.is_of_run, given)) else len(numbers())
        leaf = Leaf(as_dtype(output_type), shape_of(()))
        return Dataset(lambda: (np.asarray(x, dtype) for x in numbers()), length, leaf, given)

    @staticmethod
    def zip(*args: Any, datasets: Any = None, name: str | None = None) -> Dataset:
        """Tuples of the elements of several data sets, as long as the shortest one."""
        whole = each(taken, plain(args[0] if len(args) == 1 else args or datasets))
        flat = list(leaves(whole))
        known = [part._length for part in flat if part._length != INFINITE]
        length = UNKNOWN if UNKNOWN in known else min(known, default=INFINITE)

        def elements() -> Iterator[Any]:
            for row in zip(*(part._elements() for part in flat), strict=False):
                now = iter(row)
                yield each(lambda _, now=now: next(now), whole)

        leaf = None if any(part._leaf is None for part in flat) else each(lambda part: part._leaf, whole)
        return Dataset(elements, length, leaf, [x for part in flat for x in part.needs])

    # -- loops

    def __iter__(self) -> OwnedIterator:
        return OwnedIterator(self)

    def in_graph(self) -> OwnedIterator:
        """An iterator of the graph that is built, which begins anew in each run."""
        return OwnedIterator(self, in_graph=True)

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
        state = each(parts.tensor, each(parts.array, plain(initial_state)))
        for element in self:
            state = reduce_func(state, element)
        return state

    def get_single_element(self, name: str | None = None) -> Any:
        """The only element."""
        first_two = list(itertools.islice(self, 2))
        if len(first_two) == 1:
            return first_two[0]
        problem = f"there must be one element, but there is {'more than one' if first_two else 'none'}"
        raise op_error(ValueError, "tf.data.Dataset.get_single_element", f"{problem}: take or batch the elements.")

    # -- functions of the program

    def map(
        self,
        map_func: Callable[..., Any],
        num_parallel_calls: Any = None,
        deterministic: Any = None,
        name: Any = None,
        num_threads: Any = None,
        output_buffer_size: Any = None,
    ) -> Dataset:
        """The results of a function of each element; it gets the parts of a tuple as arguments."""
        called = Function(map_func, self._leaf)
        return self._with(lambda: map(called, self._elements()), self._length, leaf=called.leaf)

    def filter(self, predicate: Callable[..., Any], name: str | None = None) -> Dataset:
        """The elements for which a function is true."""
        called = Function(predicate, self._leaf)
        return self._with(lambda: filter(called, self._elements()))

    def take_while(self, predicate: Callable[..., Any], name: str | None = None) -> Dataset:
        """The elements before the first one for which a function is false."""
        called = Function(predicate, self._leaf)
        return self._with(lambda: itertools.takewhile(called, self._elements()))

    def flat_map(self, map_func: Callable[..., Dataset], name: str | None = None) -> Dataset:
        """The elements of the data sets that a function makes of each element."""
        return self.interleave(map_func, 1)

    def interleave(
        self,
        map_func: Callable[..., Dataset],
        cycle_length: Any = None,
        block_length: Any = 1,
        num_parallel_calls: Any = None,
        deterministic: Any = None,
        name: str | None = None,
    ) -> Dataset:
        """The elements of the data sets that a function makes of each element, in blocks from several of them."""
        called = Function(lambda *element: taken(map_func(*element)), self._leaf)
        width, block = 1 if cycle_length is None else int(cycle_length), int(block_length)

        def elements() -> Iterator[Any]:
            left = iter(self._elements())
            open_ones = [called.inner(element) for element in itertools.islice(left, width)]
            while open_ones:
                for place, one in enumerate(open_ones):
                    block_of_elements = list(itertools.islice(one, block))
                    yield from block_of_elements
                    if len(block_of_elements) < block:
                        open_ones[place : place + 1] = [called.inner(element) for element in itertools.islice(left, 1)]

        def in_turn() -> Iterator[Any]:
            return (x for element in self._elements() for x in called.inner(element))

        inner = None if called.result is None else called.result._leaf
        return self._with(in_turn if width == 1 else elements, leaf=inner)

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
        leaf = lambda size: self._leaf and each(lambda x: x.with_first(size), self._leaf)  # noqa: E731
        return self._in_groups(batch_size, drop_remainder, lambda group: each(parts.stacked, *group), leaf)

    def padded_batch(
        self,
        batch_size: Any,
        padded_shapes: Any = None,
        padding_values: Any = None,
        drop_remainder: bool = False,
        name: str | None = None,
    ) -> Dataset:
        """Stacks of consecutive elements of one rank; shorter ones are filled up, with zeros if nothing is given."""
        filling = each(lambda x: x if x is None else _source(x), plain(padding_values))

        def stacked(group: list[Any]) -> Any:
            now = parts.like(group[0], each(parts.known, filling))
            shapes = parts.like(group[0], padded_shapes)  # tuples, too, so an element's structure leads
            return each(
                lambda part, *others: parts.padded(*others[:2], part, *others[2:]), group[0], shapes, now, *group[1:]
            )

        def leaf(size: Any) -> Any:
            if self._leaf is None:
                return None
            shapes = parts.like(self._leaf, padded_shapes)
            return each(lambda x, shape: _filled(x, shape).with_first(size), self._leaf, shapes)

        return self._in_groups(batch_size, drop_remainder, stacked, leaf, *leaves(filling))

    def _in_groups(
        self,
        size: Any,
        drop_remainder: Any,
        stacked: Callable[[list[Any]], Any],
        leaf: Callable[[Any], Any],
        *needs: Any,
    ) -> Dataset:
        size, drops = number(size), bool(number(drop_remainder))
        is_known = not parts.is_of_run(size)

        def elements() -> Iterator[Any]:
            rest, count = iter(self._elements()), int(parts.known(size))
            while group := list(itertools.islice(rest, count)):
                if len(group) == count or not drops:
                    yield stacked(group)

        length = self._length
        if length >= 0:
            length = UNKNOWN if not is_known else length // size if drops else -(-length // size)
        return self._with(elements, length, size, *needs, leaf=leaf(size if drops and is_known else None))

    def unbatch(self, name: str | None = None) -> Dataset:
        """The slices of each element."""

        def elements() -> Iterator[Any]:
            for whole in self._elements():
                yield from Dataset.from_tensor_slices(whole)._elements()

        return self._with(elements, leaf=self._leaf and each(lambda x: x.without_first(), self._leaf))

    def shuffle(
        self, buffer_size: Any, seed: Any = None, reshuffle_each_iteration: bool | None = True, name: Any = None
    ) -> Dataset:
        """The elements in another order, by the seed or the global one: each is drawn from a buffer of the next."""
        random = np.random.default_rng(seed_of_draw(None if seed is None else number(seed)))
        first, size = int(random.integers(2**32)), number(buffer_size)

        def elements() -> Iterator[Any]:
            draws = random if reshuffle_each_iteration in (None, True) else np.random.default_rng(first)
            rest = iter(self._elements())
            buffer = list(itertools.islice(rest, int(parts.known(size))))
            while buffer:
                place = int(draws.integers(len(buffer)))
                buffer[place], buffer[-1] = buffer[-1], buffer[place]
                yield buffer.pop()
                buffer += itertools.islice(rest, 1)

        return self._with(elements, self._length, size)

    def repeat(self, count: Any = None, name: str | None = None) -> Dataset:
        """The elements several times, without an end if `count` is None or -1."""
        times = number(-1 if count is None else count)

        def elements() -> Iterator[Any]:
            now = int(parts.known(times))
            for _ in itertools.count() if now < 0 else range(now):
                yield from self._elements()

        if parts.is_of_run(times):
            return self._with(elements, UNKNOWN, times)
        length = INFINITE if times < 0 else times * self._length if self._length >= 0 else self._length
        return self._with(elements, length)

    def take(self, count: Any, name: str | None = None) -> Dataset:
        """The first elements; all if `count` is -1."""
        return self._cut(number(count), lambda now: (0, None if now < 0 else now))

    def skip(self, count: Any, name: str | None = None) -> Dataset:
        """The elements after the first ones."""
        return self._cut(number(count), lambda now: (now, None))

    def shard(self, num_shards: Any, index: Any, name: str | None = None) -> Dataset:
        """Each `num_shards`-th element, from the one at `index`."""
        step = int(number(num_shards))
        return self._cut(number(index), lambda now: (now, None, step))

    def _cut(self, size: Any, places: Callable[[int], tuple[Any, ...]]) -> Dataset:
        """The elements at some places, which depend on a number."""

        def elements() -> Iterator[Any]:
            return itertools.islice(self._elements(), *places(int(parts.known(size))))

        if parts.is_of_run(size) or self._length == UNKNOWN:
            return self._with(elements, UNKNOWN, size)
        chosen = slice(*places(size))
        if self._length == INFINITE:
            return self._with(elements, INFINITE if chosen.stop is None else chosen.stop)
        return self._with(elements, len(range(self._length)[chosen]))

    def concatenate(self, dataset: Dataset, name: str | None = None) -> Dataset:
        """These elements, then the ones of another data set."""
        other = taken(dataset)
        lengths = self._length, other._length
        length = sum(lengths) if min(lengths) >= 0 else INFINITE if INFINITE in lengths else UNKNOWN
        leaf = None if None in (self._leaf, other._leaf) else each(Leaf.or_other, self._leaf, other._leaf)
        whole = lambda: itertools.chain(self._elements(), other._elements())  # noqa: E731
        return self._with(whole, length, *other.needs, leaf=leaf)

    def enumerate(self, start: Any = 0, name: str | None = None) -> Dataset:
        """Pairs of a number and an element."""
        first = int(number(start))
        leaf = self._leaf and (Leaf(as_dtype("int64"), shape_of(())), self._leaf)
        return self._with(
            lambda: ((np.int64(place), element) for place, element in enumerate(self._elements(), first)),
            self._length,
            leaf=leaf,
        )

    def cache(self, filename: str = "", name: str | None = None) -> Dataset:
        """The elements of the first whole loop, kept in memory."""
        kept = list[Any]()

        def elements() -> Iterator[Any]:
            if kept:
                yield from kept[0]
                return
            seen = list[Any]()
            for element in self._elements():
                seen.append(element)
                yield element
            kept.append(seen)

        return self._with(elements, self._length)

    def prefetch(self, buffer_size: Any = None, name: str | None = None) -> Dataset:
        """The same elements, which are computed when they are needed."""
        return self

    def with_options(self, options: Any, name: str | None = None) -> Dataset:
        """The same elements: options tell TensorFlow how to compute, and change nothing here."""
        return self


class Taken(Dataset):
    """A data set of TensorFlow itself as one of these names; it has the other's further names, too.

    Args:
        whole: the data set.

    Attributes:
        whole: the data set.

    Source: `tf.data.Dataset`.
    """

    def __init__(self, whole: Any) -> None:
        spec = plain(whole.element_spec)
        shapes = each(lambda leaf: None if leaf.shape.rank is None else leaf.shape.as_list(), spec)
        leaf = parts.leaves_of(each(lambda leaf: leaf.dtype.name, spec), shapes)
        super().__init__(lambda: map(plain, whole.as_numpy_iterator()), int(whole.cardinality()), leaf)
        self.whole = whole

    def __getattr__(self, name: str) -> Any:
        if name == "whole":  # it is being copied
            raise AttributeError(name)
        return getattr(self.whole, name)


def taken(x: Any) -> Any:
    """A data set of these names; one of TensorFlow itself is its source."""
    return Taken(x) if parts.is_of_tensorflow(x) else x


class Options:
    """Settings of a pipeline, which have no effect here.

    Source: `tf.data.Options`.
    """


def _source(value: Any) -> Any:
    """A leaf of a source: an array, or a tensor whose value a run gives."""
    return value if parts.is_of_run(value) else parts.array(value)


def _filled(leaf: Leaf, shape: Any) -> Leaf:
    """The dtype and shape of a leaf that is filled up to a shape."""
    if shape is None:
        return Leaf(leaf.dtype, shape_of(None if leaf.shape.rank is None else [None] * len(leaf.shape)))
    return parts.leaves_of(leaf.dtype, shape)


value("data.Options", Options)
value("data.AUTOTUNE data.experimental.AUTOTUNE contrib.data.AUTOTUNE", -1)
value("data.INFINITE_CARDINALITY data.experimental.INFINITE_CARDINALITY", INFINITE)
value("data.UNKNOWN_CARDINALITY data.experimental.UNKNOWN_CARDINALITY", UNKNOWN)
