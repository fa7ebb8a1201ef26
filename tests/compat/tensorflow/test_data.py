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
    "counted": lambda tf, d: tf.data.experimental.Counter(5, -2).take(3),
    "without repeats": lambda tf, d: d.from_tensor_slices([1, 1, 2, 1, 5, 0]).apply(tf.data.experimental.unique()),
    "numbered": lambda tf, d: d.range(7, 9).apply(tf.data.experimental.enumerate_dataset(2)),
    "at first": lambda tf, d: d.range(9).apply(tf.data.experimental.take_while(lambda n: n < 4)),
    "of a number": lambda tf, d: d.range(3).filter(lambda n: n > 0).apply(tf.data.experimental.assert_cardinality(2)),
    "chosen": lambda tf, d: d.choose_from_datasets([d.range(3), d.range(5, 9)], d.range(2).repeat()),
    "chosen to the end": lambda tf, d: tf.data.experimental.choose_from_datasets(
        [d.range(3), d.range(5, 9)], d.from_tensor_slices(np.array([0, 1, 0, 0, 0, 1])), stop_on_empty_dataset=False
    ),
    "drawn": lambda tf, d: d.sample_from_datasets([d.range(3), d.range(5, 9)], [1.0, 0.0]),
    "drawn by rows": lambda tf, d: d.sample_from_datasets(
        [d.range(3), d.range(5, 9)], d.from_tensor_slices([[0.0, 1.0], [1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    ),
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


def test_draws_take_all_elements_or_end_with_the_first_set():
    draw = ours.data.Dataset.sample_from_datasets
    few, many = ours.data.Dataset.range(3), ours.data.Dataset.range(10, 50)
    data = draw([few, many], [0.5, 0.5], seed=3)
    found = [*map(int, data)]
    assert sorted(found) == [*range(3), *range(10, 50)] and [x for x in found if x > 9] == [*range(10, 50)]
    assert [*map(int, data)] == found
    again = draw([few, many], seed=3, rerandomize_each_iteration=True)
    assert [*map(int, again)] != [*map(int, again)]
    assert len([*draw([few, many], seed=3, stop_on_empty_dataset=True)]) < 43
    with pytest.raises(ValueError, match="one for each data set"):
        draw([few, many], [1.0])
    with pytest.raises(ValueError, match="none has the number 2"):
        [*ours.data.Dataset.choose_from_datasets([few, many], few)]
    assert int(few.take(1).get_single_element()) == 0
    with pytest.raises(ValueError, match="more than one"):
        few.get_single_element()


SPECS = {
    "strings": lambda tf, d: d.from_tensors({"x": ["a"], "y": (1, 2.0)}),
    "batches": lambda tf, d: d.from_tensor_slices((X, Y)).batch(4),
    "equal sizes": lambda tf, d: d.from_tensors(X).concatenate(d.from_tensors(X)),
    "other sizes": lambda tf, d: d.from_tensors(X).concatenate(d.from_tensors(X[:2])),
    "other ranks": lambda tf, d: d.sample_from_datasets([d.from_tensors(Y), d.from_tensors(X.astype(Y.dtype))]),
}


@pytest.mark.parametrize("name", SPECS)
def test_the_specs_of_elements_are_those_of_tensorflow(name):
    def specs(tf):
        found = tf.nest.flatten(SPECS[name](tf, tf.data.Dataset).element_spec)
        return [(x.dtype.name, None if getattr(x.shape, "rank", 0) is None else x.shape) for x in found]

    assert specs(ours) == specs(theirs)


def test_data_sets_of_tensorflow_itself_stand_beside_ours():
    d, other = ours.data.Dataset, theirs.data.Dataset.from_tensor_slices({"x": ["a", "b"], "y": X[:2]})
    assert isinstance(other, d) and not isinstance(other, ours.data.TextLineDataset) and not isinstance(3, d)
    zipped = d.zip((d.range(5), other))
    assert len(zipped) == 2 and [str(x) for x in ours.nest.flatten(zipped.element_spec)] == [
        *("int64[]", "string[]", "float32[2]")
    ]
    assert [(int(n), row["x"], row["y"].tolist()) for n, row in zipped.as_numpy_iterator()] == [
        *((0, b"a", [0, 1]), (1, b"b", [2, 3]))
    ]
    numbers = theirs.data.Dataset.range(7, 9)
    assert [*map(int, d.range(2).concatenate(numbers).map(lambda n: n * 2))] == [0, 2, 14, 16]
    assert [*map(int, d.range(2).flat_map(lambda _: numbers))] == [7, 8, 7, 8]
    assert [*map(int, d.sample_from_datasets([numbers, d.range(2)], [1.0, 0.0]))] == [7, 8]
    shapes = [batch.shape for batch in d.from_generator(lambda: iter(numbers), output_signature=numbers.element_spec)]
    assert shapes == [(), ()]
    with ours.Graph().as_default(), ours.compat.v1.Session() as session:
        found = ours.compat.v1.data.make_one_shot_iterator(numbers).get_next()
        inner = d.range(2).flat_map(lambda _: numbers).make_one_shot_iterator().get_next()
        assert [session.run((found, inner)) for _ in range(2)] == [(7, 7), (8, 8)]


def test_another_number_of_elements_is_an_error():
    numbers = ours.data.Dataset.range(3)
    with pytest.raises(RuntimeError, match="there are 3 elements, not 9"):
        list(numbers.apply(ours.data.experimental.assert_cardinality(9)))
