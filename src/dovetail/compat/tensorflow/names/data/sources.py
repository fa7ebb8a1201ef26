"""Data sets of files, and the functions that `Dataset.apply` takes."""

from __future__ import annotations

import functools
import itertools
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from dovetail.compat.tensorflow.entries import value
from dovetail.compat.tensorflow.names.data import elements as parts
from dovetail.compat.tensorflow.names.data.dataset import INFINITE, UNKNOWN, Dataset, taken
from dovetail.compat.tensorflow.names.data.elements import Leaf
from dovetail.compat.tensorflow.names.data.traced import Function
from dovetail.compat.tensorflow.names.io.files import found_files
from dovetail.compat.tensorflow.names.io.readers import FixedLengthRecordReader, TextLineReader, TFRecordReader
from dovetail.compat.tensorflow.names.strings.text import STRING, strings_of
from dovetail.compat.tensorflow.table import function
from dovetail.core.base.errors import op_error
from dovetail.core.base.tensor_shape import shape_of
from dovetail.core.dtypes import as_dtype

STRINGS = Leaf(STRING, shape_of(()))
COMPUTING = (ArithmeticError, LookupError, OSError, RuntimeError, ValueError)  # errors of elements, not of programs


class FileDataset(Dataset):
    """The records of files.

    Args:
        filenames: the names, as strings, or a data set of them.
        reader: gives the records of a file.

    Source: `tf.data.TextLineDataset`, `tf.data.TFRecordDataset`, `tf.data.FixedLengthRecordDataset`.
    """

    def __init__(self, filenames: Any, reader: Any) -> None:
        names = taken(filenames)
        if not isinstance(filenames, Dataset):
            flat = filenames if parts.is_of_run(filenames) else strings_of(filenames).reshape(-1)
            names = Dataset.from_tensors(flat)

        def elements() -> Iterator[Any]:
            for batch in names._elements():
                for name in strings_of(batch).reshape(-1).tolist():
                    yield from (record for _, record in reader.records(name.decode()))

        super().__init__(elements, UNKNOWN, STRINGS, names.needs)


def _refuse_compressed(kind: Any, title: str) -> None:
    if kind not in (None, ""):
        raise op_error(NotImplementedError, f"tf.data.{title}", "decompress the files before.")


class TextLineDataset(FileDataset):
    """The lines of files.

    Source: `tf.data.TextLineDataset`.
    """

    def __init__(
        self, filenames: Any, compression_type: Any = None, buffer_size: Any = None, num_parallel_reads: Any = None
    ) -> None:
        _refuse_compressed(compression_type, "TextLineDataset")
        super().__init__(filenames, TextLineReader())


class TFRecordDataset(FileDataset):
    """The records of TensorFlow's files of records.

    Source: `tf.data.TFRecordDataset`.
    """

    def __init__(
        self, filenames: Any, compression_type: Any = None, buffer_size: Any = None, num_parallel_reads: Any = None
    ) -> None:
        super().__init__(filenames, TFRecordReader(options=compression_type))


class FixedLengthRecordDataset(FileDataset):
    """The records of one length in files.

    Source: `tf.data.FixedLengthRecordDataset`.
    """

    def __init__(
        self,
        filenames: Any,
        record_bytes: int,
        header_bytes: int | None = None,
        footer_bytes: int | None = None,
        buffer_size: Any = None,
        compression_type: Any = None,
    ) -> None:
        _refuse_compressed(compression_type, "FixedLengthRecordDataset")
        super().__init__(filenames, FixedLengthRecordReader(record_bytes, header_bytes, footer_bytes))


def list_files(file_pattern: Any, shuffle: bool | None = True, seed: Any = None, name: str | None = None) -> Dataset:
    """The names of the files that fit a pattern, or several, in another order unless `shuffle` is false."""
    patterns = [one.decode() for one in strings_of(file_pattern).reshape(-1).tolist()]
    names = np.array([path.encode() for path in found_files(patterns)], object)
    dataset = Dataset.from_tensor_slices(names)
    return dataset.shuffle(max(len(names), 1), seed) if shuffle in (None, True) else dataset


setattr(Dataset, "list_files", staticmethod(list_files))  # noqa: B010
for _kind in (Dataset, TextLineDataset, TFRecordDataset, FixedLengthRecordDataset):
    value(f"data.{_kind.__name__}", _kind)
    value(f"contrib.data.{_kind.__name__}", _kind, "v1")


# -- functions that `apply` takes -------------------------------------------------------------------------------------


def _applied(names: str) -> Callable[[Callable[..., Any]], Any]:
    """Decorator: add a function of a data set and arguments, as one of the arguments that returns one of a data set."""

    def decorate(transformation: Callable[..., Dataset]) -> Any:
        @functools.wraps(transformation)
        def call(*args: Any, **kwargs: Any) -> Callable[[Dataset], Dataset]:
            return lambda dataset: transformation(dataset, *args, **kwargs)

        del call.__wrapped__
        value(" ".join(f"contrib.data.{name} data.experimental.{name}" for name in names.split()), call)
        return transformation

    return decorate


@_applied("map_and_batch")
def map_and_batch(
    dataset: Dataset,
    map_func: Callable[..., Any],
    batch_size: Any,
    num_parallel_batches: Any = None,
    drop_remainder: Any = False,
    num_parallel_calls: Any = None,
) -> Dataset:
    """Stacks of results of a function.

    Source: `tf.data.experimental.map_and_batch`.
    """
    return dataset.map(map_func).batch(batch_size, drop_remainder)


@_applied("shuffle_and_repeat")
def shuffle_and_repeat(dataset: Dataset, buffer_size: Any, count: Any = None, seed: Any = None) -> Dataset:
    """The elements several times, in another order each time.

    Source: `tf.data.experimental.shuffle_and_repeat`.
    """
    return dataset.shuffle(buffer_size, seed).repeat(count)


@_applied("parallel_interleave sloppy_interleave")
def parallel_interleave(
    dataset: Dataset,
    map_func: Callable[..., Dataset],
    cycle_length: Any,
    block_length: Any = 1,
    *ignored: Any,
    **hints: Any,
) -> Dataset:
    """The elements of the data sets that a function makes of each element, in blocks from several of them.

    Source: `tf.data.experimental.parallel_interleave`.
    """
    return dataset.interleave(map_func, cycle_length, block_length)


@_applied("batch_and_drop_remainder")
def batch_and_drop_remainder(dataset: Dataset, batch_size: Any) -> Dataset:
    """Stacks of one size.

    Source: `tf.contrib.data.batch_and_drop_remainder`.
    """
    return dataset.batch(batch_size, drop_remainder=True)


@_applied("unbatch")
def unbatch(dataset: Dataset) -> Dataset:
    """The slices of each element.

    Source: `tf.data.experimental.unbatch`.
    """
    return dataset.unbatch()


@_applied("ignore_errors")
def ignore_errors(dataset: Dataset, log_warning: bool = False) -> Dataset:
    """The elements that a function of the last `map` computes without an error.

    Source: `tf.data.experimental.ignore_errors`.
    """

    def elements() -> Iterator[Any]:
        rest = iter(dataset._elements())
        while True:
            try:
                element = next(rest)
            except StopIteration:
                return
            except COMPUTING as error:
                if log_warning:
                    warnings.warn(f"tf.data.experimental.ignore_errors left out an element: {error}", stacklevel=2)
                continue
            yield element

    return dataset._with(elements)


@_applied("prefetch_to_device copy_to_device snapshot")
def the_same(dataset: Dataset, *args: Any, **kwargs: Any) -> Dataset:
    """The same elements.

    Source: `tf.data.experimental.prefetch_to_device`.
    """
    return dataset


@_applied("group_by_window")
def group_by_window(
    dataset: Dataset, key_func: Any, reduce_func: Any, window_size: Any = None, window_size_func: Any = None
) -> Dataset:
    """The elements of the data sets that a function makes of a key, and of the elements that have it.

    Source: `tf.data.experimental.group_by_window`.
    """
    key_of, token = Function(key_func, dataset._leaf), object()
    window = Dataset(lambda: iter(parts.VALUES.get()[token]), UNKNOWN, dataset._leaf)
    made = Function(lambda key: taken(reduce_func(key, window)), Leaf(np.dtype("int64"), shape_of(())))

    def reduced(key: int, elements: list[Any]) -> Iterator[Any]:
        return parts.continued({token: elements}, made.inner(np.int64(key)))

    def size_of(key: int) -> int:
        return int(window_size if window_size_func is None else window_size_func(np.int64(key)))

    def elements() -> Iterator[Any]:
        groups: dict[int, list[Any]] = {}
        for element in dataset._elements():
            key = int(key_of(element))
            groups.setdefault(key, []).append(element)
            if len(groups[key]) == size_of(key):
                yield from reduced(key, groups.pop(key))
        yield from itertools.chain.from_iterable(itertools.starmap(reduced, groups.items()))

    return dataset._with(elements, leaf=None if made.result is None else made.result._leaf)


@_applied("bucket_by_sequence_length")
def bucket_by_sequence_length(
    dataset: Dataset,
    element_length_func: Callable[..., Any],
    bucket_boundaries: Sequence[int],
    bucket_batch_sizes: Sequence[int],
    padded_shapes: Any = None,
    padding_values: Any = None,
    pad_to_bucket_boundary: bool = False,
    no_padding: bool = False,
    drop_remainder: bool = False,
) -> Dataset:
    """Padded stacks of elements of like lengths, the lengths of a bucket below its boundary.

    Source: `tf.data.experimental.bucket_by_sequence_length`.
    """
    length_of = Function(element_length_func, dataset._leaf)

    def elements() -> Iterator[Any]:
        buckets: dict[int, list[Any]] = {}
        for element in dataset._elements():
            place = int(np.searchsorted(bucket_boundaries, int(length_of(element)), "right"))
            buckets.setdefault(place, []).append(element)
            if len(buckets[place]) == bucket_batch_sizes[place]:
                yield batch(buckets.pop(place))
        if not drop_remainder:
            yield from map(batch, buckets.values())

    def batch(group: list[Any]) -> Any:
        whole = Dataset(lambda: group, len(group), dataset._leaf)
        made = whole.batch(len(group)) if no_padding else whole.padded_batch(len(group), padded_shapes, padding_values)
        return next(iter(made._elements()))

    if pad_to_bucket_boundary:
        problem = "pad_to_bucket_boundary is not offered: give padded_shapes."
        raise op_error(NotImplementedError, "tf.data.experimental.bucket_by_sequence_length", problem)
    leaf = (dataset.batch(1) if no_padding else dataset.padded_batch(1, padded_shapes))._leaf
    return dataset._with(elements, leaf=leaf)


@function("data.experimental.cardinality")
def cardinality(dataset: Dataset) -> Any:
    """The number of elements; -1 if there is no end, -2 if it is unknown.

    Source: `tf.data.experimental.cardinality`.
    """
    return dataset.cardinality()


@function("data.experimental.get_single_element contrib.data.get_single_element")
def get_single_element(dataset: Dataset) -> Any:
    """The only element.

    Source: `tf.data.experimental.get_single_element`.
    """
    return dataset.get_single_element()


@function("data.experimental.Counter contrib.data.Counter")
def counter(start: Any = 0, step: Any = 1, dtype: Any = "int64") -> Dataset:
    """Numbers without an end.

    Source: `tf.data.experimental.Counter`.
    """
    start, step = int(start), int(step)
    leaf = Leaf(as_dtype(dtype), shape_of(()))
    return Dataset(lambda: (np.asarray(x, as_dtype(dtype).numpy) for x in itertools.count(start, step)), INFINITE, leaf)


@_applied("take_while")
def take_while(dataset: Dataset, predicate: Callable[..., Any]) -> Dataset:
    """The elements before the first one for which a function is false.

    Source: `tf.data.experimental.take_while`.
    """
    return dataset.take_while(predicate)


@_applied("enumerate_dataset")
def enumerate_dataset(dataset: Dataset, start: Any = 0) -> Dataset:
    """Pairs of a number and an element.

    Source: `tf.data.experimental.enumerate_dataset`.
    """
    return dataset.enumerate(start)


@_applied("unique")
def unique(dataset: Dataset) -> Dataset:
    """The elements, which are numbers or strings, without those that came before.

    Source: `tf.data.experimental.unique`.
    """

    def elements() -> Iterator[Any]:
        seen: set[Any] = set()
        for element in dataset._elements():
            known = np.asarray(element).item()
            if known not in seen:
                seen.add(known)
                yield element

    return dataset._with(elements)


@_applied("assert_cardinality")
def assert_cardinality(dataset: Dataset, expected_cardinality: Any) -> Dataset:
    """The elements; another number of them than this is an error.

    Source: `tf.data.experimental.assert_cardinality`.
    """
    wanted = int(expected_cardinality)

    def elements() -> Iterator[Any]:
        count = 0
        for count, element in enumerate(dataset._elements(), 1):
            if count <= wanted or wanted < 0:
                yield element
        if wanted >= 0 and count != wanted:
            problem = f"there are {count} elements, not {wanted}."
            raise op_error(RuntimeError, "tf.data.experimental.assert_cardinality", problem)

    return dataset._with(elements, wanted)
