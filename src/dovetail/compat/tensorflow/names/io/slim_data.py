"""The data sets of TF-Slim, and their readers beside each other.

Source: `tf.contrib.slim`, the class or the function of the same name.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from dovetail import ops
from dovetail.compat.tensorflow import graph_mode
from dovetail.compat.tensorflow.entries import named, value
from dovetail.compat.tensorflow.names.graph.graph import GraphKeys
from dovetail.compat.tensorflow.names.io.input_queues import example_parts, string_input_producer
from dovetail.compat.tensorflow.names.io.queue_runners import QueueRunner, add_queue_runner
from dovetail.compat.tensorflow.names.io.queues import FIFOQueue, PaddingFIFOQueue, RandomShuffleQueue
from dovetail.compat.tensorflow.names.strings.text import STRING
from dovetail.compat.tensorflow.names.summary.summary import scalar_v1
from dovetail.compat.tensorflow.names.train.coordinator import Coordinator
from dovetail.compat.tensorflow.table import in_v1
from dovetail.core.base.errors import op_error

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
    coord, threads = Coordinator(), []
    try:
        for runner in graph_mode.open_graph().get_collection(GraphKeys.QUEUE_RUNNERS):
            threads += runner.create_threads(session, coord, daemon=True, start=True)
        yield
    finally:
        coord.request_stop()
        try:
            coord.join(threads, stop_grace_period_secs=120)
        except RuntimeError:
            session.close()
        _RUNNING.release()


MODULES = {  # module of TF-Slim → what it has
    "data_provider": (DataProvider,),
    "dataset": (Dataset,),
    "dataset_data_provider": (DatasetDataProvider,),
    "parallel_reader": (ParallelReader, parallel_read, single_pass_read, get_data_files),
    "prefetch_queue": (prefetch_queue,),
}
for _module, _members in MODULES.items():
    for _member in _members:
        value(f"contrib.slim.{_module}.{_member.__name__}", _member, "v1")
value("contrib.slim.queues.QueueRunners", queue_runners, "v1")
value("contrib.slim.queues.NestedQueueRunnerError", NestedQueueRunnerError, "v1")
