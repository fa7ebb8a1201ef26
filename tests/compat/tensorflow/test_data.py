"""Pipelines of data: the same ones by TensorFlow's names and by Dovetail's."""

from __future__ import annotations

import numpy as np
import pytest

from dovetail.compat import tensorflow as ours
from tests.libraries import Library

theirs = Library("tensorflow")

X, Y = np.arange(12.0, dtype="float32").reshape(6, 2), np.arange(6)
ROWS = [[1], [2, 3], [4, 5, 6]]


def rows():
    yield from ROWS


PIPELINES = {
    "slices": lambda tf, d: d.from_tensor_slices((X, Y)).batch(4),
    "lists": lambda tf, d: d.from_tensor_slices([1.5, 2.5]).concatenate(d.from_tensors(3.0)),
    "names": lambda tf, d: d.from_tensor_slices({"x": X, "y": (Y, Y)}).skip(1).take(2),
    "range": lambda tf, d: d.range(2, 12, 3).repeat(2).batch(3, drop_remainder=True),
    "zip": lambda tf, d: d.zip((d.range(3), d.range(5).map(lambda n: n * n))).enumerate(2),
    "map": lambda tf, d: d.from_tensor_slices((X, Y)).map(lambda x, y: {"sum": tf.reduce_sum(x), "y": y}),
    "filter": lambda tf, d: d.range(9).filter(lambda n: n % 2 > 0).shard(2, 1).prefetch(tf.data.experimental.AUTOTUNE),
    "flat": lambda tf, d: d.range(3).flat_map(lambda n: d.range(n)).cache(),
    "padded": lambda tf, d: d.from_generator(rows, tf.int32, tf.TensorShape([None])).padded_batch(2, [None]),
    "padded pairs": lambda tf, d: d.from_generator(
        lambda: ((row, len(row)) for row in rows()), (tf.int32, tf.int32), ([None], ())
    ).padded_batch(2, ((None,), ())),
    "filled": lambda tf, d: d.from_generator(rows, "int64", [None]).padded_batch(3, [4], np.int64(-1)),
    "unbatched": lambda tf, d: d.from_tensors((X, Y)).unbatch().take_while(lambda x, y: y < 3),
    "applied": lambda tf, d: d.range(4).apply(lambda data: data.with_options(tf.data.Options()).batch(2)),
    "endless": lambda tf, d: d.from_tensors(np.int64(7)).repeat().take(3),
    "shuffled": lambda tf, d: d.from_tensor_slices(np.zeros(5)).shuffle(3, seed=1),
}


def flat(tf, element):
    return [(np.asarray(leaf).dtype, np.asarray(leaf).tolist()) for leaf in tf.nest.flatten(element)]


@pytest.mark.parametrize("name", PIPELINES)
def test_a_pipeline_gives_the_elements_of_tensorflow(name):
    made = [(tf, PIPELINES[name](tf, tf.data.Dataset)) for tf in (ours, theirs)]
    for _ in range(2):  # each loop begins anew
        found, wanted = ([flat(tf, element) for element in data] for tf, data in made)
        assert found and found == wanted
    found, wanted = ([flat(tf, element) for element in data.as_numpy_iterator()] for tf, data in made)
    assert found == wanted
    assert len({int(tf.data.experimental.cardinality(data)) for tf, data in made}) == 1


def test_a_shuffled_loop_has_each_element_once():
    data = ours.data.Dataset.range(20).shuffle(7)
    orders = [[int(number) for number in data] for _ in range(2)]
    assert all(sorted(order) == [*range(20)] and order[0] < 7 for order in orders) and orders[0] != orders[1]
    kept = ours.data.Dataset.range(20).shuffle(20, reshuffle_each_iteration=False)
    assert [*map(int, kept)] == [*map(int, kept)] != [*range(20)]


def test_the_global_seed_orders_shuffles_and_queues():
    def orders(seed):
        ours.random.set_seed(seed)
        data, again = (ours.data.Dataset.range(20).shuffle(20, seed=own) for own in (None, 5))
        with ours.Graph().as_default(), ours.compat.v1.Session() as session:
            queue = ours.queue.RandomShuffleQueue(20, 0, "int64", [()])
            session.run(queue.enqueue_many([np.arange(20)]))
            drawn = session.run(queue.dequeue_many(20)).tolist()
        return [*map(int, data)], [*map(int, again)], drawn

    first, second, other = orders(3), orders(3), orders(4)
    assert first == second and all(a != b for a, b in zip(first, other, strict=True))


def test_sums_lengths_and_their_errors():
    data = ours.data.Dataset.from_tensor_slices(Y)
    assert int(data.reduce(np.int64(0), lambda state, number: state + number)) == 15 and len(data) == 6
    with pytest.raises(TypeError, match="length is infinite"):
        len(data.repeat())
    with pytest.raises(ValueError, match="first sizes must be equal"):
        ours.data.Dataset.from_tensor_slices((X, Y[:3]))
    with pytest.raises(ValueError, match="use padded_batch"):
        [*ours.data.Dataset.from_generator(rows, "int32").batch(2)]
