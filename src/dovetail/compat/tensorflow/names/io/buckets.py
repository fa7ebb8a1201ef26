"""Batches of examples of like lengths, from a queue with buckets: `tf.contrib.training.bucket` and its like."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from dovetail import ops
from dovetail.compat.tensorflow import graph_mode
from dovetail.compat.tensorflow.names.io.input_queues import example_parts
from dovetail.compat.tensorflow.names.io.queue_runners import QueueRunner, add_queue_runner
from dovetail.compat.tensorflow.names.io.queues import Element, QueueBase
from dovetail.compat.tensorflow.table import function
from dovetail.core.base.errors import op_error
from dovetail.core.dtypes import as_dtype


class BucketQueue(QueueBase):
    """A queue whose elements begin with the number of a bucket; a batch comes out of the first bucket that has enough.

    Args:
        sizes: how many elements a batch of each bucket has.
        capacities: how many elements each bucket holds.
        pads: whether zeros make the elements of a batch equal in shape.
        smaller: whether the last batches may have fewer elements.
        dtypes, shapes: of an element's tensors behind the number.
        name: the name, for errors.
    """

    def __init__(
        self,
        sizes: Sequence[int],
        capacities: Sequence[int],
        pads: bool,
        smaller: bool,
        dtypes: Any,
        shapes: Any,
        name: str,
    ) -> None:
        self._pads = pads
        self._sizes, self._smaller = [*sizes], smaller
        self._capacities = [max(pair) for pair in zip(sizes, capacities, strict=True)]
        super().__init__(sum(self._capacities), ["int32", *dtypes], [(), *shapes], None, name)

    def put(self, keep: Any, which: Any, tensors: Sequence[Any]) -> Any:
        """The operation that puts an element in, if `keep` is true."""
        parts = self._parts([ops.cast(which, "int32"), *tensors])
        return self._operation(lambda keep, *arrays: self._put([[*arrays]] if keep else []), [keep, *parts], None)

    def batch(self) -> list[Any]:
        """The number of a bucket, and the tensors of a batch, which each run takes out."""
        known = self._sizes[0] if len({*self._sizes}) == 1 and not self._smaller else None
        shapes = [(), *((known, *shape) for shape in (self.shapes or ())[1:])]
        return self._result(self._take_batch, self.dtypes, shapes, None)

    def _has_room(self, element: Element) -> bool:
        which = int(element[0])
        if not 0 <= which < len(self._sizes):
            problem = f"there is no bucket {which}; they are 0 to {len(self._sizes) - 1}."
            raise op_error(ValueError, "tf.contrib.training.bucket", problem)
        return self._filled()[which] < self._capacities[which]

    def _filled(self) -> Counter[int]:
        return Counter(int(element[0]) for element in self._elements)

    def _ready(self) -> int | None:
        """The bucket with enough elements for a batch whose first one has waited longest."""
        return next((which for which, count in self._filled().items() if count >= self._sizes[which]), None)

    def _take_batch(self) -> Element:
        with self._changed:
            self._changed.wait_for(lambda: self._ready() is not None or (self._closed and not self._putting))
            which = self._ready()
            if which is None and self._elements and self._smaller:
                which = int(self._elements[0][0])
            if which is None:
                problem = f"the queue {self.name!r} is closed and has no batch."
                raise op_error(IndexError, "tf.contrib.training.bucket", problem)
            batch = [element for element in self._elements if int(element[0]) == which][: self._sizes[which]]
            taken = {id(element) for element in batch}
            self._elements = [element for element in self._elements if id(element) not in taken]
            self._changed.notify_all()
        return [np.array(which, np.int32), *self._stacked([element[1:] for element in batch])]


@function("contrib.training.bucket", "v1")
def bucket(
    tensors: Any,
    which_bucket: Any,
    batch_size: Any,
    num_buckets: int,
    num_threads: int = 1,
    capacity: int = 32,
    bucket_capacities: Sequence[int] | None = None,
    shapes: Any = None,
    dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False,
    keep_input: Any = True,
    shared_name: str | None = None,
    name: str | None = None,
) -> tuple[Any, Any]:
    """Batches whose examples are all of one bucket; see `tf.train.batch`.

    Args:
        tensors: the example: a list or dict of tensors.
        which_bucket: the number of its bucket, int32.
        batch_size: how many examples a batch has; a list has a number for each bucket.
        num_buckets: how many buckets there are.
        bucket_capacities: how many examples wait in each bucket; by default `capacity`.
        keep_input: whether the example is put in, bool.

    Returns:
        The number of a batch's bucket, and the batch.

    Source: `tf.contrib.training.bucket` of TensorFlow 1.15.
    """
    parts, names = example_parts(tensors)
    sizes = [*batch_size] if isinstance(batch_size, (list, tuple)) else [batch_size] * num_buckets
    if len(sizes) != num_buckets or len(bucket_capacities or sizes) != num_buckets:
        problem = f"batch_size and bucket_capacities must have a number for each of {num_buckets} buckets."
        raise op_error(ValueError, "tf.contrib.training.bucket", problem)
    with graph_mode.inside(graph_mode.open_graph()):
        dtypes, known = [x.dtype for x in parts], [x.shape for x in parts] if shapes is None else shapes
        capacities = bucket_capacities or [capacity] * num_buckets
        how = dynamic_pad, allow_smaller_final_batch, dtypes, known, name or "bucket"
        queue = BucketQueue(sizes, capacities, *how)
        put = queue.put(ops.cast(keep_input, as_dtype("bool")), which_bucket, parts)
        add_queue_runner(QueueRunner(queue, [put] * num_threads))
        which, *batched = queue.batch()
    return which, batched if names is None else dict(zip(names, batched, strict=True))


@function("contrib.training.bucket_by_sequence_length", "v1")
def bucket_by_sequence_length(
    input_length: Any,
    tensors: Any,
    batch_size: Any,
    bucket_boundaries: Sequence[int],
    num_threads: int = 1,
    capacity: int = 32,
    bucket_capacities: Sequence[int] | None = None,
    shapes: Any = None,
    dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False,
    keep_input: Any = True,
    shared_name: str | None = None,
    name: str | None = None,
) -> tuple[Any, Any]:
    """Batches of examples of like lengths; see `tf.contrib.training.bucket`.

    Args:
        input_length: the length of the example, int32.
        bucket_boundaries: the lengths at which the next bucket begins, ascending.

    Returns:
        The lengths of a batch's examples, and the batch.

    Raises:
        ValueError: the boundaries do not ascend.

    Source: `tf.contrib.training.bucket_by_sequence_length` of TensorFlow 1.15.

    Example:
        >>> import dovetail.compat.tensorflow.compat.v1 as tf
        >>> with tf.Graph().as_default(), tf.Session() as session:
        ...     length = tf.train.range_input_producer(6, shuffle=False).dequeue()
        ...     rows = [tf.fill([length], 1.0)]
        ...     given = {"batch_size": 2, "bucket_boundaries": [3], "dynamic_pad": True}
        ...     lengths, batch = tf.contrib.training.bucket_by_sequence_length(length, rows, **given)
        ...     threads = tf.train.start_queue_runners()
        ...     session.run(lengths).tolist()
        [0, 1]
    """
    if [*bucket_boundaries] != sorted({*bucket_boundaries}) or not bucket_boundaries:
        problem = f"bucket_boundaries must be numbers that ascend, not {[*bucket_boundaries]}."
        raise op_error(ValueError, "tf.contrib.training.bucket_by_sequence_length", problem)
    with graph_mode.inside(graph_mode.open_graph()):
        length = ops.cast(input_length, "int32")
        which = ops.sum(ops.cast(ops.greater_equal(length, np.array(bucket_boundaries, np.int32)), "int32"))
    parts, names = example_parts(tensors)
    known = None if shapes is None else [(), *shapes]
    _, (lengths, *batched) = bucket(
        [length, *parts], which, batch_size, len(bucket_boundaries) + 1, num_threads, capacity, bucket_capacities,
        known, dynamic_pad, allow_smaller_final_batch, keep_input, name=name,
    )  # fmt: skip
    return lengths, batched if names is None else dict(zip(names, batched, strict=True))
