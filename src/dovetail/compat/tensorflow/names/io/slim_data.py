"""The data sets of TF-Slim: readers beside each other, and decoders of the items of an example.

Source: `tf.contrib.slim`, the class or the function of the same name.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from dovetail import ops
from dovetail.backend.sparse import SparseTensor as KSparseTensor
from dovetail.compat.tensorflow import graph_mode
from dovetail.compat.tensorflow.entries import named, value
from dovetail.compat.tensorflow.names.array.sparse import SparseTensorValue, sparse_to_dense
from dovetail.compat.tensorflow.names.graph.control import cond
from dovetail.compat.tensorflow.names.graph.graph import GraphKeys
from dovetail.compat.tensorflow.names.graph.python_calls import py_func
from dovetail.compat.tensorflow.names.io.input_queues import example_parts, string_input_producer
from dovetail.compat.tensorflow.names.io.queue_runners import QueueRunner, add_queue_runner
from dovetail.compat.tensorflow.names.io.queues import FIFOQueue, PaddingFIFOQueue, RandomShuffleQueue
from dovetail.compat.tensorflow.names.io.records import FixedLenFeature, parse_single_example
from dovetail.compat.tensorflow.names.strings.text import STRING
from dovetail.compat.tensorflow.names.summary.summary import scalar_v1
from dovetail.compat.tensorflow.names.train.coordinator import Coordinator
from dovetail.compat.tensorflow.table import in_v1
from dovetail.core.base.errors import op_error
from dovetail.core.dtypes import as_dtype
from dovetail.formats.host import images

SPARSE = KSparseTensor, SparseTensorValue
CORNERS = ["ymin", "xmin", "ymax", "xmax"]


def _dense(given: Any, default: Any = 0) -> Any:
    """A tensor, or a sparse one with a value at all other places."""
    if not isinstance(given, SPARSE):
        return given
    return in_v1(sparse_to_dense)(given.indices, given.dense_shape, given.values, default)


# -- items of an example ----------------------------------------------------------------------------------------------


class ItemHandler:
    """An item that is made of some features of an example; a class of this one says how.

    Args:
        keys: the keys of the features, or one.
    """

    def __init__(self, keys: Any) -> None:
        self._keys = keys if isinstance(keys, (list, tuple)) else [keys]

    @property
    def keys(self) -> Sequence[str]:
        """The keys of the features."""
        return self._keys

    def tensors_to_item(self, keys_to_tensors: Mapping[str, Any]) -> Any:
        """The item, of the tensors of the features."""
        raise NotImplementedError(f"{type(self).__name__} must define tensors_to_item.")


class ItemHandlerCallback(ItemHandler):
    """An item that a function makes of the tensors by their keys."""

    def __init__(self, keys: Any, func: Callable[[Mapping[str, Any]], Any]) -> None:
        super().__init__(keys)
        self._func = func

    def tensors_to_item(self, keys_to_tensors: Mapping[str, Any]) -> Any:
        return self._func(keys_to_tensors)


class BoundingBox(ItemHandler):
    """Boxes, a row each, of the features of their four sides.

    Args:
        keys: the last parts of the keys of the lower and upper ends of y and of x, in the order ymin, xmin, ymax, xmax.
        prefix: the first part of the keys.

    Raises:
        ValueError: there are not four keys.
    """

    def __init__(self, keys: Sequence[str] | None = None, prefix: str = "") -> None:
        sides = CORNERS if keys is None else keys
        if len(sides) != 4:
            raise op_error(ValueError, "slim.tfexample_decoder.BoundingBox", f"it takes 4 keys, not {len(sides)}.")
        super().__init__([prefix + key for key in sides])

    def tensors_to_item(self, keys_to_tensors: Mapping[str, Any]) -> Any:
        sides = [keys_to_tensors[key] for key in self.keys]
        return ops.stack([side.values if isinstance(side, SPARSE) else side for side in sides], -1)


class Tensor(ItemHandler):
    """The tensor of a feature.

    Args:
        tensor_key: the key of the feature.
        shape_keys: the keys of features that have the shape, or one.
        shape: the shape, if it is the same in all examples.
        default_value: the value of elements that the feature lacks.

    Raises:
        ValueError: there are both a shape and keys of it.
    """

    def __init__(self, tensor_key: str, shape_keys: Any = None, shape: Any = None, default_value: Any = 0) -> None:
        if shape_keys and shape is not None:
            problem = "it takes shape_keys or shape, not both."
            raise op_error(ValueError, "slim.tfexample_decoder.Tensor", problem)
        self._tensor_key, self._shape, self._default_value = tensor_key, shape, default_value
        self._shape_keys = shape_keys if isinstance(shape_keys, list) else [shape_keys] if shape_keys else []
        super().__init__([tensor_key, *self._shape_keys])

    def tensors_to_item(self, keys_to_tensors: Mapping[str, Any]) -> Any:
        tensor, shape = keys_to_tensors[self._tensor_key], self._shape
        if self._shape_keys:
            shape = ops.concatenate([ops.reshape(_dense(keys_to_tensors[key]), [-1]) for key in self._shape_keys], 0)
        if isinstance(tensor, SPARSE) and shape is not None:
            tensor = named("sparse_reshape")(tensor, shape)
            shape = None
        tensor = _dense(tensor, self._default_value)
        return tensor if shape is None else named("reshape")(tensor, shape)


class LookupTensor(Tensor):
    """The values of a table at the tensor of a feature.

    Args:
        table: a table of `tf.contrib.lookup`.
        tensor_key, shape_keys, shape, default_value: as of `Tensor`.
    """

    def __init__(
        self, tensor_key: str, table: Any, shape_keys: Any = None, shape: Any = None, default_value: Any = ""
    ) -> None:
        self._table = table
        super().__init__(tensor_key, shape_keys, shape, default_value)

    def tensors_to_item(self, keys_to_tensors: Mapping[str, Any]) -> Any:
        return self._table.lookup(super().tensors_to_item(keys_to_tensors))


class BackupHandler(ItemHandler):
    """The item of a handler, or of another one if that has no elements.

    Raises:
        ValueError: one of them is no handler.
    """

    def __init__(self, handler: ItemHandler, backup: ItemHandler) -> None:
        for each in (handler, backup):
            if not isinstance(each, ItemHandler):
                problem = "both must be an ItemHandler."
                raise op_error(ValueError, "slim.tfexample_decoder.BackupHandler", problem, repr(each))
        self._handler, self._backup = handler, backup
        super().__init__([*handler.keys, *backup.keys])

    def tensors_to_item(self, keys_to_tensors: Mapping[str, Any]) -> Any:
        item = self._handler.tensors_to_item(keys_to_tensors)
        is_empty = ops.equal(ops.size(item), 0)
        return in_v1(cond)(is_empty, lambda: self._backup.tensors_to_item(keys_to_tensors), lambda: item)


class SparseTensor(ItemHandler):
    """A sparse tensor, of a feature that has the positions along the last axis and one that has the values.

    Args:
        indices_key, values_key: the keys of the two features.
        shape_key: the key of the feature that has its shape.
        shape: its shape, if no feature has it.
        densify: whether the item is a tensor with all its elements.
        default_value: the value of elements that it lacks.
    """

    def __init__(
        self,
        indices_key: str | None = None,
        values_key: str | None = None,
        shape_key: str | None = None,
        shape: Any = None,
        densify: bool = False,
        default_value: Any = 0,
    ) -> None:
        self._parts = [indices_key or "indices", values_key or "values"]
        self._shape_key, self._shape, self._densify, self._default_value = shape_key, shape, densify, default_value
        super().__init__([*self._parts, *([shape_key] if shape_key else [])])

    def tensors_to_item(self, keys_to_tensors: Mapping[str, Any]) -> Any:
        indices, values = (keys_to_tensors[key] for key in self._parts)
        shape = self._shape or indices.dense_shape
        if self._shape_key:
            shape = _dense(keys_to_tensors[self._shape_key])
        last = ops.expand_dims(ops.cast(indices.values, "int64"), 1)
        item = named("SparseTensor")(ops.concatenate([indices.indices[:, :-1], last], 1), values.values, shape)
        return _dense(item, self._default_value) if self._densify else item


class Image(ItemHandler):
    """The pixels of a file of an image, or of raw bytes.

    Args:
        image_key: the key of the feature that has the bytes of the file.
        format_key: the key of the feature that has the format; files of "raw" are numbers of the dtype.
        shape: the shape, if all images have one.
        channels: how many numbers a pixel has.
        dtype: the dtype of the numbers.
        repeated: whether the feature has several files, of images of one size.
        dct_method: nothing, since there is one method.
    """

    def __init__(
        self,
        image_key: str | None = None,
        format_key: str | None = None,
        shape: Any = None,
        channels: int = 3,
        dtype: Any = "uint8",
        repeated: bool = False,
        dct_method: str = "",
    ) -> None:
        super().__init__([image_key or "image/encoded", format_key or "image/format"])
        self._shape, self._channels, self._dtype, self._repeated = shape, channels, as_dtype(dtype), repeated

    def tensors_to_item(self, keys_to_tensors: Mapping[str, Any]) -> Any:
        contents, form = (keys_to_tensors[key] for key in self.keys)
        image = in_v1(py_func)(self._images if self._repeated else self._image, [contents, form], self._dtype)
        if self._shape is not None:
            return ops.reshape(image, [*([-1] if self._repeated else []), *self._shape])
        image.set_shape([*([None] if self._repeated else []), None, None, self._channels])
        return image

    def _image(self, contents: bytes, form: bytes) -> np.ndarray:
        if form in (b"raw", b"RAW"):
            return np.frombuffer(contents, self._dtype.numpy)
        return images.decode(np.array(contents, object), channels=self._channels).astype(self._dtype.numpy)

    def _images(self, contents: np.ndarray, form: bytes) -> np.ndarray:
        return np.stack([self._image(one, form) for one in contents.reshape(-1)])


class DataDecoder:
    """What gives the items of a record; a class of this one says how."""

    def decode(self, data: Any, items: Sequence[str]) -> list[Any]:
        """The tensors of some items of a record."""
        raise NotImplementedError(f"{type(self).__name__} must define decode.")

    def list_items(self) -> list[str]:
        """The names of the items."""
        raise NotImplementedError(f"{type(self).__name__} must define list_items.")


class TFExampleDecoder(DataDecoder):
    """The items of the bytes of a `tf.train.Example`.

    Args:
        keys_to_features: keys → features, as `tf.parse_single_example` takes them.
        items_to_handlers: names of items → their `ItemHandler`.
    """

    def __init__(self, keys_to_features: Mapping[str, Any], items_to_handlers: Mapping[str, ItemHandler]) -> None:
        self._keys_to_features, self._items_to_handlers = keys_to_features, items_to_handlers

    def list_items(self) -> list[str]:
        return list(self._items_to_handlers)

    def decode(self, serialized_example: Any, items: Sequence[str] | None = None) -> list[Any]:
        tensors = in_v1(parse_single_example)(serialized_example, self._keys_to_features)
        for key, feature in self._keys_to_features.items():
            if isinstance(feature, FixedLenFeature):
                tensors[key] = named("reshape")(tensors[key], feature.shape)
        handlers = [self._items_to_handlers[item] for item in items or self._items_to_handlers]
        return [handler.tensors_to_item({key: tensors[key] for key in handler.keys}) for handler in handlers]


# -- readers ----------------------------------------------------------------------------------------------------------


def get_data_files(data_sources: Any) -> list[str]:
    """The files of a name, a pattern, or a list of these.

    Raises:
        ValueError: there is none.
    """
    if isinstance(data_sources, (list, tuple)):
        found = [file for source in data_sources for file in get_data_files(source)]
    else:
        found = named("gfile.Glob")(data_sources) if {*"*?["} & {*data_sources} else [data_sources]
    if not found:
        raise op_error(ValueError, "slim.parallel_reader.get_data_files", f"no files are found at {data_sources!r}.")
    return found


class ParallelReader:
    """Several readers of the files of one queue, whose records come together in another queue.

    Args:
        reader_class: the class of the readers, as `tf.TFRecordReader`.
        common_queue: the queue of pairs of strings, in which records wait.
        num_readers: how many readers there are.
        reader_kwargs: arguments of `reader_class`.
    """

    def __init__(
        self, reader_class: Callable[..., Any], common_queue: Any, num_readers: int = 4, reader_kwargs: Any = None
    ) -> None:
        self.common_queue, self.num_readers = common_queue, num_readers
        self._readers = [reader_class(**(reader_kwargs or {})) for _ in range(num_readers)]

    def read(self, queue: Any, name: str | None = None) -> Any:
        """The key and the bytes of the next record; a runner fills the queue of records."""
        self._fill_from(queue)
        return self.common_queue.dequeue(name)

    def read_up_to(self, queue: Any, num_records: Any, name: str | None = None) -> Any:
        """The keys and the bytes of the next records."""
        self._fill_from(queue)
        return self.common_queue.dequeue_up_to(num_records, name)

    def _fill_from(self, queue: Any) -> None:
        puts = [self.common_queue.enqueue(reader.read(queue)) for reader in self._readers]
        add_queue_runner(QueueRunner(self.common_queue, puts))

    def num_records_produced(self, name: str | None = None) -> Any:
        """How many records all readers have read."""
        return named("add_n")([reader.num_records_produced() for reader in self._readers])

    def num_work_units_completed(self, name: str | None = None) -> Any:
        """How many files all readers have read."""
        return named("add_n")([reader.num_work_units_completed() for reader in self._readers])


def parallel_read(
    data_sources: Any,
    reader_class: Callable[..., Any],
    num_epochs: int | None = None,
    num_readers: int = 4,
    reader_kwargs: Any = None,
    shuffle: bool = True,
    dtypes: Any = None,
    capacity: int = 256,
    min_after_dequeue: int = 128,
    seed: int | None = None,
    scope: str | None = None,
) -> Any:
    """The key and the bytes of the next record of some files, which several readers read.

    Args:
        data_sources: a file, a pattern, or a list of these.
        num_epochs: how often each file is read; None for no end.
        shuffle: whether files and records come in a random order.
        dtypes: the dtypes of the parts of a record; strings by default.
        capacity, min_after_dequeue: how many records wait at most, and at least.
    """
    files = get_data_files(data_sources)
    with graph_mode.inside(graph_mode.open_graph()), graph_mode.name_scope(scope or "parallel_read"):
        names = in_v1(string_input_producer)(files, num_epochs, shuffle, seed, name="filenames")
        kinds = list(dtypes or [STRING, STRING])
        shapes = [()] * len(kinds)
        records: Any = FIFOQueue(capacity, kinds, shapes, name="common_queue")
        if shuffle:
            records = RandomShuffleQueue(capacity, min_after_dequeue, kinds, shapes, seed=seed, name="common_queue")
        return ParallelReader(reader_class, records, num_readers, reader_kwargs).read(names)


def single_pass_read(
    data_sources: Any, reader_class: Callable[..., Any], reader_kwargs: Any = None, scope: str | None = None
) -> Any:
    """The key and the bytes of the next record of some files, each of which is read once."""
    files = get_data_files(data_sources)
    with graph_mode.inside(graph_mode.open_graph()), graph_mode.name_scope(scope or "single_pass_read"):
        names = in_v1(string_input_producer)(files, 1, False, capacity=1, name="filenames")
        return reader_class(**(reader_kwargs or {})).read(names)


def prefetch_queue(
    tensors: Any,
    capacity: int = 8,
    num_threads: int = 1,
    dynamic_pad: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """A queue in which tensors wait, which threads compute again and again.

    Args:
        tensors: a list or a dict of tensors.
        capacity: how many wait at most.
        dynamic_pad: whether zeros make tensors equal in shape if several are taken at once.
    """
    parts, names = example_parts(tensors)
    with graph_mode.inside(graph_mode.open_graph()), graph_mode.name_scope(name or "prefetch_queue"):
        kind = PaddingFIFOQueue if dynamic_pad else FIFOQueue
        queue = kind(capacity, [x.dtype for x in parts], [x.shape for x in parts], names)
        put = queue.enqueue(parts if names is None else dict(zip(names, parts, strict=True)))
        add_queue_runner(QueueRunner(queue, [put] * num_threads))
        scalar_v1(f"fraction_of_{capacity}_full", ops.cast(queue.size(), "float32") * (1.0 / capacity))
    return queue


# -- data sets --------------------------------------------------------------------------------------------------------


class Dataset:
    """A data set: its files, their reader and decoder, and further attributes.

    Args:
        data_sources: the files.
        reader: the class of the reader, as `tf.TFRecordReader`.
        decoder: gives the items of a record, as `TFExampleDecoder`.
        num_samples: how many samples there are.
        items_to_descriptions: names of items → what they are.
    """

    def __init__(
        self, data_sources: Any, reader: Any, decoder: Any, num_samples: Any, items_to_descriptions: Any, **kwargs: Any
    ) -> None:
        self.data_sources, self.reader, self.decoder = data_sources, reader, decoder
        self.num_samples, self.items_to_descriptions = num_samples, items_to_descriptions
        vars(self).update(kwargs)


class DataProvider:
    """The tensors of a sample, by the names of its items.

    Args:
        items_to_tensors: names → tensors.
        num_samples: how many samples there are.
    """

    def __init__(self, items_to_tensors: Mapping[str, Any], num_samples: Any) -> None:
        self._items_to_tensors, self._num_samples = items_to_tensors, num_samples

    def get(self, items: Iterable[str]) -> list[Any]:
        """The tensors of some items.

        Raises:
            ValueError: it is no list, or there is no such item.
        """
        known = self.list_items()
        if not isinstance(items, (list, tuple)) or not {*items} <= {*known}:
            problem = f"it takes a list of items of {', '.join(known)}."
            raise op_error(ValueError, "slim.data_provider.DataProvider.get", problem, repr(items))
        return [self._items_to_tensors[item] for item in items]

    def list_items(self) -> list[str]:
        """The names of the items."""
        return list(self._items_to_tensors)

    def num_samples(self) -> Any:
        """How many samples there are."""
        return self._num_samples


class DatasetDataProvider(DataProvider):
    """The tensors of the next sample of a data set, which several readers read.

    Args:
        dataset: a `Dataset`.
        num_readers, reader_kwargs, shuffle, num_epochs, seed, scope: as of `parallel_read`.
        common_queue_capacity, common_queue_min: how many records wait at most, and at least.
        record_key: the name of the item that is the key of the record.

    Raises:
        ValueError: the data set has an item of this name.
    """

    def __init__(
        self,
        dataset: Any,
        num_readers: int = 1,
        reader_kwargs: Any = None,
        shuffle: bool = True,
        num_epochs: int | None = None,
        common_queue_capacity: int = 256,
        common_queue_min: int = 128,
        record_key: str = "record_key",
        seed: int | None = None,
        scope: str | None = None,
    ) -> None:
        how = num_epochs, num_readers, reader_kwargs, shuffle, None, common_queue_capacity, common_queue_min
        key, record = parallel_read(dataset.data_sources, dataset.reader, *how, seed, scope)
        items = list(dataset.decoder.list_items())
        if record_key in items:
            problem = f"the data set has an item {record_key!r}: give another record_key."
            raise op_error(ValueError, "slim.dataset_data_provider.DatasetDataProvider", problem)
        tensors = dataset.decoder.decode(record, items)
        super().__init__(dict(zip([*items, record_key], [*tensors, key], strict=True)), dataset.num_samples)


# -- runners of queues ------------------------------------------------------------------------------------------------


class NestedQueueRunnerError(Exception):
    """The error of a `QueueRunners` inside of another one."""


_RUNNING = threading.Lock()


@contextmanager
def queue_runners(session: Any) -> Iterator[None]:
    """Run the runners of queues in the `with` block.

    Raises:
        NestedQueueRunnerError: they run already.
    """
    if not _RUNNING.acquire(blocking=False):
        raise NestedQueueRunnerError("slim.queues.QueueRunners: the runners of queues run already.")
    coord = Coordinator()
    runners = graph_mode.open_graph().get_collection(GraphKeys.QUEUE_RUNNERS)
    threads = [thread for each in runners for thread in each.create_threads(session, coord, daemon=True, start=True)]
    try:
        yield
    finally:
        coord.request_stop()
        try:
            coord.join(threads, stop_grace_period_secs=120)
        except RuntimeError:
            session.close()
        _RUNNING.release()


MODULES = {  # module of TF-Slim → what it has
    "data_decoder": (DataDecoder,),
    "data_provider": (DataProvider,),
    "dataset": (Dataset,),
    "dataset_data_provider": (DatasetDataProvider,),
    "parallel_reader": (ParallelReader, parallel_read, single_pass_read, get_data_files),
    "prefetch_queue": (prefetch_queue,),
    "tfexample_decoder": (
        *(BackupHandler, BoundingBox, Image, ItemHandler, ItemHandlerCallback, LookupTensor, SparseTensor, Tensor),
        TFExampleDecoder,
    ),
}
for _module, _members in MODULES.items():
    for _member in _members:
        value(f"contrib.slim.{_module}.{_member.__name__}", _member, "v1")
value("contrib.slim.queues.QueueRunners", queue_runners, "v1")
value("contrib.slim.queues.NestedQueueRunnerError", NestedQueueRunnerError, "v1")
