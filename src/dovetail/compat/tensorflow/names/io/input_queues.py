"""TensorFlow 1's input pipelines: queues of single examples, which runners fill, and batches of them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from dovetail import ops
from dovetail.compat.tensorflow import graph_mode
from dovetail.compat.tensorflow.names.array.core import convert_to_tensor
from dovetail.compat.tensorflow.names.array.creation import range_
from dovetail.compat.tensorflow.names.graph.graph import GraphKeys
from dovetail.compat.tensorflow.names.io.queue_runners import QueueRunner, add_queue_runner
from dovetail.compat.tensorflow.names.io.queues import FIFOQueue, PaddingFIFOQueue, QueueBase, RandomShuffleQueue
from dovetail.compat.tensorflow.names.random import draws
from dovetail.compat.tensorflow.names.strings.tensors import StringTensor, in_graph
from dovetail.compat.tensorflow.names.strings.text import is_text
from dovetail.compat.tensorflow.names.variables.variables import variable
from dovetail.compat.tensorflow.table import function, in_v1
from dovetail.core.base.errors import op_error


def example_parts(tensors: Any) -> tuple[list[Any], Any]:
    """The tensors of an example, and their keys if it is a dict."""
    names = sorted(tensors) if isinstance(tensors, dict) else None
    given = tensors if isinstance(tensors, (dict, list, tuple)) else [tensors]
    return [_recorded(given[key]) for key in (range(len(given)) if names is None else names)], names


def _recorded(x: Any) -> Any:
    """A value as a tensor of the graph that is being built."""
    with graph_mode.inside(graph_mode.open_graph()):
        return convert_to_tensor(x)


def _batches(
    examples: Sequence[Any],
    batch_size: Any,
    many: bool,
    shapes: Any,
    smaller: bool,
    threads: int,
    name: str | None,
    kind: Any,
    *more: Any,
) -> Any:
    """Batches from a queue into which threads put examples.

    Args:
        examples: structures of tensors; each has threads of its own.
        many: whether an example is several, along the first axes.
        shapes: the shapes of an example's tensors, if not given by the tensors.
        smaller: whether the last batch may be smaller.
        threads: how many threads put in each example.
        name: the name of the queue.
        kind: makes the queue.
        more: the arguments of `kind` before the dtypes.
    """
    parts = [example_parts(example) for example in examples]
    first, names = parts[0]
    if shapes is None:
        shapes = [x.shape[1:] if many else x.shape for x in first]
    queue = kind(*more, [x.dtype for x in first], shapes=shapes, names=names, name=name or "batch")
    enqueue = queue.enqueue_many if many else queue.enqueue
    given = [tensors if names is None else dict(zip(names, tensors, strict=True)) for tensors, names in parts]
    add_queue_runner(QueueRunner(queue, [operation for x in given for operation in [enqueue(x)] * threads]))
    return queue.dequeue_up_to(batch_size) if smaller else queue.dequeue_many(batch_size)


@function("train.batch", "v1")
def batch(
    tensors: Any,
    batch_size: Any,
    num_threads: int = 1,
    capacity: int = 32,
    enqueue_many: bool = False,
    shapes: Any = None,
    dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """Batches of an example, which threads compute again and again; see `tf.train.start_queue_runners`.

    Args:
        tensors: the example: a tensor, or a list or dict of tensors.
        batch_size: how many examples are in a batch.
        num_threads: how many threads compute examples.
        capacity: how many examples wait at most.
        enqueue_many: whether `tensors` has several examples, along the first axes.
        shapes: the shapes of an example's tensors; by default, the tensors' own.
        dynamic_pad: whether zeros make the examples of a batch equal in shape.
        allow_smaller_final_batch: whether the last batch may have fewer examples; else these are dropped.

    Source: `tf.compat.v1.train.batch`.

    Example:
        >>> import dovetail.compat.tensorflow.compat.v1 as tf
        >>> with tf.Graph().as_default(), tf.Session() as session:
        ...     counts = tf.train.batch(tf.Variable(0).count_up_to(6), 3)
        ...     session.run(tf.global_variables_initializer())
        ...     threads = tf.train.start_queue_runners()
        ...     session.run(counts).tolist(), session.run(counts).tolist()
        ([0, 1, 2], [3, 4, 5])
    """
    kind = PaddingFIFOQueue if dynamic_pad else FIFOQueue
    how = enqueue_many, shapes, allow_smaller_final_batch, num_threads, name
    return _batches([tensors], batch_size, *how, kind, capacity)


@function("train.batch_join", "v1")
def batch_join(
    tensors_list: Sequence[Any],
    batch_size: Any,
    capacity: int = 32,
    enqueue_many: bool = False,
    shapes: Any = None,
    dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """Batches of several examples, each of which a thread computes again and again; see `tf.train.batch`.

    Source: `tf.compat.v1.train.batch_join`.
    """
    kind = PaddingFIFOQueue if dynamic_pad else FIFOQueue
    how = enqueue_many, shapes, allow_smaller_final_batch, 1, name
    return _batches(tensors_list, batch_size, *how, kind, capacity)


@function("train.shuffle_batch", "v1")
def shuffle_batch(
    tensors: Any,
    batch_size: Any,
    capacity: int,
    min_after_dequeue: int,
    num_threads: int = 1,
    seed: int | None = None,
    enqueue_many: bool = False,
    shapes: Any = None,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """Batches of an example in a random order; see `tf.train.batch` and `tf.queue.RandomShuffleQueue`.

    Source: `tf.compat.v1.train.shuffle_batch`.
    """
    how = enqueue_many, shapes, allow_smaller_final_batch, num_threads, name
    return _batches([tensors], batch_size, *how, partial(RandomShuffleQueue, seed=seed), capacity, min_after_dequeue)


@function("train.shuffle_batch_join", "v1")
def shuffle_batch_join(
    tensors_list: Sequence[Any],
    batch_size: Any,
    capacity: int,
    min_after_dequeue: int,
    seed: int | None = None,
    enqueue_many: bool = False,
    shapes: Any = None,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """Batches of several examples in a random order; see `tf.train.batch_join` and `tf.queue.RandomShuffleQueue`.

    Source: `tf.compat.v1.train.shuffle_batch_join`.
    """
    how = enqueue_many, shapes, allow_smaller_final_batch, 1, name
    return _batches(tensors_list, batch_size, *how, partial(RandomShuffleQueue, seed=seed), capacity, min_after_dequeue)


# -- producers --------------------------------------------------------------------------------------------------------


@function("train.limit_epochs", "v1")
def limit_epochs(tensor: Any, num_epochs: int | None = None, name: str | None = None) -> Any:
    """A tensor that runs compute a number of times, after which they raise IndexError.

    Args:
        num_epochs: how often; None for no limit.  A local variable counts: run `tf.local_variables_initializer()`.

    Source: `tf.compat.v1.train.limit_epochs`.
    """
    if num_epochs is None:
        return tensor
    if num_epochs <= 0:
        raise op_error(ValueError, "tf.train.limit_epochs", f"num_epochs must be positive, not {num_epochs}.")
    with graph_mode.inside(graph := graph_mode.open_graph()):
        given = _recorded(tensor)
        epochs = variable(0, False, name="epochs", dtype="int64", collections=[GraphKeys.LOCAL_VARIABLES])
        with graph.control_dependencies([epochs.count_up_to(num_epochs)]):
            return ops.identity(given, name=name)


def _shuffled(rows: Any, seed: int | None) -> Any:
    return in_v1(draws.shuffle)(rows, seed=seed)


@function("train.input_producer", "v1")
def input_producer(
    input_tensor: Any,
    element_shape: Any = None,
    num_epochs: int | None = None,
    shuffle: bool = True,
    seed: int | None = None,
    capacity: int = 32,
    shared_name: str | None = None,
    summary_name: str | None = None,
    name: str | None = None,
    cancel_op: Any = None,
) -> QueueBase:
    """A queue into which a thread puts the rows of a tensor, again and again.

    Args:
        element_shape: the shape of a row, if the tensor's is not known.
        num_epochs: how often each row is put in; see `tf.train.limit_epochs`.
        shuffle: whether the rows are put in in a random order, which is another one each time.
        cancel_op: as in `tf.train.QueueRunner`.

    Source: `tf.compat.v1.train.input_producer`.
    """
    with graph_mode.inside(graph_mode.open_graph()):
        rows = _recorded(input_tensor)
        shape = rows.shape[1:] if element_shape is None else element_shape
        rows = in_graph(rows) if is_text(rows) else rows
        if shuffle:
            rows = StringTensor(_shuffled(rows.numbers, seed)) if is_text(rows) else _shuffled(rows, seed)
        queue = FIFOQueue(capacity, [rows.dtype], [shape], name=name or "input_producer")
        operation = queue.enqueue_many([limit_epochs(rows, num_epochs)])
    add_queue_runner(QueueRunner(queue, [operation], cancel_op=cancel_op))
    return queue


@function("train.range_input_producer", "v1")
def range_input_producer(
    limit: Any,
    num_epochs: int | None = None,
    shuffle: bool = True,
    seed: int | None = None,
    capacity: int = 32,
    shared_name: str | None = None,
    name: str | None = None,
) -> QueueBase:
    """A queue into which a thread puts the numbers below a limit; see `tf.train.input_producer`.

    Source: `tf.compat.v1.train.range_input_producer`.
    """
    return input_producer(in_v1(range_)(limit), (), num_epochs, shuffle, seed, capacity, name=name)


@function("train.slice_input_producer", "v1")
def slice_input_producer(
    tensor_list: Sequence[Any],
    num_epochs: int | None = None,
    shuffle: bool = True,
    seed: int | None = None,
    capacity: int = 32,
    shared_name: str | None = None,
    name: str | None = None,
) -> list[Any]:
    """One row of each tensor, the same of all; each run takes the next one; see `tf.train.input_producer`.

    Source: `tf.compat.v1.train.slice_input_producer`.

    Example:
        >>> import dovetail.compat.tensorflow.compat.v1 as tf
        >>> with tf.Graph().as_default(), tf.Session() as session:
        ...     image, label = tf.train.slice_input_producer([[[1.0], [2.0]], [7, 8]], shuffle=False)
        ...     images, labels = tf.train.batch([image, label], 3)
        ...     threads = tf.train.start_queue_runners()
        ...     session.run([images, labels])[1].tolist()
        [7, 8, 7]
    """
    tensors, _ = example_parts(list(tensor_list))
    with graph_mode.inside(graph_mode.open_graph()):
        queue = range_input_producer(tensors[0].shape[0], num_epochs, shuffle, seed, capacity, name=name)
        row = queue.dequeue()
        return [ops.take(x, row, axis=0) for x in tensors]


@function("train.string_input_producer", "v1")
def string_input_producer(
    string_tensor: Any,
    num_epochs: int | None = None,
    shuffle: bool = True,
    seed: int | None = None,
    capacity: int = 32,
    shared_name: str | None = None,
    name: str | None = None,
    cancel_op: Any = None,
) -> QueueBase:
    """A queue into which a thread puts strings, such as names of files for a reader; see `tf.train.input_producer`.

    Raises:
        ValueError: there are no strings.

    Source: `tf.compat.v1.train.string_input_producer`.
    """
    if isinstance(string_tensor, (list, tuple)) and not string_tensor:
        raise op_error(ValueError, "tf.train.string_input_producer", "it needs at least one string.")
    return input_producer(string_tensor, (), num_epochs, shuffle, seed, capacity, name=name, cancel_op=cancel_op)
