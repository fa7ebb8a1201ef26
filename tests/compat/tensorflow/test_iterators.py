"""Iterators of TensorFlow 1 over pipelines of data: the same programs by TensorFlow's `compat.v1` and here."""

from __future__ import annotations

import numpy as np
import pytest
from dovetail.compat.tensorflow.compat import v1 as ours

from dovetail.compat.run import running
from tests.libraries import Library

theirs = Library("tensorflow")
X, WORDS = np.arange(6.0, dtype="float32").reshape(3, 2), ["one", "two", "three"]
FILES = {"a.csv": "x,y\n1.5,2\n2.5,3\n", "b.csv": "x,y\n-1,4\n"}


def rest(tf, session, fetches, feeds=None):
    """The results of runs until the data set ends."""
    found = []
    with pytest.raises(tf.errors.OutOfRangeError):
        while True:
            found.append(session.run(fetches, feeds))
    return found


def written(folder):
    for name, text in FILES.items():
        (folder / name).write_text(text)
    return [str(folder / name) for name in FILES]


def one_shot(tf, session, folder):
    data = tf.data.Dataset.from_tensor_slices({"x": X, "word": WORDS}).map(
        lambda row: (row["x"] * 2.0, tf.string_join([row["word"], "!"]))
    )
    x, word = data.batch(2).make_one_shot_iterator().get_next()
    return (
        data.output_shapes[0].as_list(),
        x.shape.as_list(),
        word.dtype == tf.string,
        rest(tf, session, [tf.reduce_sum(x), word]),
    )


def initializable(tf, session, folder):
    x, size = tf.placeholder(tf.float32, [None, 2]), tf.placeholder(tf.int64, [])
    data = tf.data.Dataset.from_tensor_slices((x, tf.range(tf.shape(x)[0]))).repeat(2).batch(size)
    iterator = data.make_initializable_iterator()
    found = iterator.get_next()
    with pytest.raises(tf.errors.FailedPreconditionError):
        session.run(found)
    session.run(iterator.initializer, {x: X, size: 4})
    first = rest(tf, session, found)
    session.run(iterator.initializer, {x: X[:1], size: 1})
    return first, rest(tf, session, found)


def reinitializable(tf, session, folder):
    train = tf.data.Dataset.range(3).map(lambda n: n * n)
    test = tf.data.Dataset.range(10, 12)
    iterator = tf.data.Iterator.from_structure(train.output_types, train.output_shapes)
    number, begin = iterator.get_next(), [iterator.make_initializer(data) for data in (train, test)]
    found = []
    for place in (0, 1, 0):
        session.run(begin[place])
        found.append(rest(tf, session, number))
    return found


def feedable(tf, session, folder):
    handle = tf.placeholder(tf.string, shape=[])
    train, test = tf.data.Dataset.range(3).repeat(), tf.data.Dataset.range(10, 12)
    iterator = tf.data.Iterator.from_string_handle(handle, train.output_types, train.output_shapes)
    number, begin = iterator.get_next(), test.make_initializable_iterator()
    handles = session.run([train.make_one_shot_iterator().string_handle(), begin.string_handle()])
    session.run(begin.initializer)
    return [session.run(number, {handle: handles[place]}) for place in (0, 0, 1, 0, 1, 0)]


def lines(tf, session, folder):
    names = tf.data.Dataset.from_tensor_slices(written(folder))
    data = names.flat_map(
        lambda name: tf.data.TextLineDataset(name).skip(1).map(lambda line: tf.decode_csv(line, [[0.0], [0]]))
    )
    return rest(tf, session, data.batch(2).make_one_shot_iterator().get_next())


def records(tf, session, folder):
    path = str(folder / "rows.tfrecords")
    with tf.python_io.TFRecordWriter(path) as writer:
        for row, word in zip(X, WORDS, strict=True):
            features = tf.train.Features(
                feature={
                    "x": tf.train.Feature(bytes_list=tf.train.BytesList(value=[row.tobytes()])),
                    "size": tf.train.Feature(int64_list=tf.train.Int64List(value=[len(word)])),
                }
            )
            writer.write(tf.train.Example(features=features).SerializeToString())
    kinds = {"x": tf.FixedLenFeature([], tf.string), "size": tf.FixedLenFeature([], tf.int64)}

    def parsed(record):
        found = tf.parse_single_example(record, kinds)
        x = tf.decode_raw(found["x"], tf.float32)
        x.set_shape([2])
        return x, tf.cast(found["size"], tf.int32)

    data = tf.data.TFRecordDataset([path]).map(parsed).filter(lambda x, size: size > 2).repeat(2).batch(4)
    x, size = data.make_one_shot_iterator().get_next()
    return x.shape.as_list(), rest(tf, session, [x, size])


def padded(tf, session, folder):
    def rows():
        for size in (1, 3, 2, 4, 1):
            yield list(range(size)), str(size)

    data = tf.data.Dataset.from_generator(rows, (tf.int32, tf.string), ([None], []))
    filling = tf.negative(1), 0, ""
    data = data.map(lambda row, word: (row, tf.size(row), word)).padded_batch(
        2, (tf.TensorShape([None]), [], []), filling
    )
    return rest(tf, session, data.make_one_shot_iterator().get_next())


def buckets(tf, session, folder):
    data = tf.data.Dataset.from_tensor_slices([1, 5, 2, 6, 3, 7, 8, 1]).map(lambda n: tf.fill([n], n))
    grouped = data.apply(tf.data.experimental.bucket_by_sequence_length(tf.size, [4], [2, 3], drop_remainder=False))
    windows = data.apply(
        tf.data.experimental.group_by_window(
            lambda row: tf.cast(tf.size(row) // 4, tf.int64),
            lambda key, rows: rows.padded_batch(2, [None], tf.negative(7)),
            2,
        )
    )
    return [rest(tf, session, one.make_one_shot_iterator().get_next()) for one in (grouped, windows)]


def interleaved(tf, session, folder):
    data = tf.data.Dataset.range(1, 5).interleave(
        lambda n: tf.data.Dataset.from_tensors(n).map(lambda x: x * 10).repeat(3), cycle_length=2, block_length=2
    )
    return rest(tf, session, data.make_one_shot_iterator().get_next())


def table(tf, session, folder):
    """A function that looks up in the program's own graph."""
    words = tf.constant(["two", "one"])
    data = tf.data.Dataset.from_tensor_slices(WORDS).map(
        lambda word: tf.reduce_sum(tf.cast(tf.equal(words, word), "int32"))
    )
    return rest(tf, session, data.make_one_shot_iterator().get_next())


def left_out(tf, session, folder):
    data = tf.data.Dataset.from_tensor_slices(["1", "x", "3"]).map(tf.string_to_number)
    data = data.apply(tf.data.experimental.ignore_errors()).repeat(2)
    return rest(tf, session, data.make_one_shot_iterator().get_next())


def trained(tf, session, folder):
    data = tf.data.Dataset.from_tensor_slices((X, X.sum(1))).repeat().batch(2)
    x, y = data.make_one_shot_iterator().get_next()
    w = tf.get_variable("w", [2, 1], initializer=tf.zeros_initializer())
    loss = tf.reduce_mean(tf.square(tf.matmul(x, w)[:, 0] - y))
    step = tf.train.GradientDescentOptimizer(0.05).minimize(loss)
    session.run(tf.global_variables_initializer())
    return [session.run([loss, step])[0] for _ in range(4)]


PROGRAMS = [
    *(one_shot, initializable, reinitializable, feedable, lines, records, padded, buckets, interleaved, table),
    *(left_out, trained),
]


def flat(value):
    if isinstance(value, (list, tuple)):
        return [flat(part) for part in value]
    array = np.asarray(value, object if value is None else None)
    return [str(array.dtype), np.around(array.astype("float64"), 4).tolist()] if array.dtype.kind in "fi" else value


def ran(tf, program, folder):
    with tf.Graph().as_default(), tf.Session() as session:
        found = program(tf, session, folder)
    return repr([flat(part) for part in found] if isinstance(found, tuple) else flat(found))


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_sessions_take_the_elements_of_tensorflow(program, engine, tmp_path):
    assert ran(ours, program, tmp_path) == ran(theirs.compat.v1, program, tmp_path)


def test_each_session_has_its_own_place_in_a_one_shot_iterator():
    with ours.Graph().as_default():
        number = ours.data.Dataset.range(3).make_one_shot_iterator().get_next()
        for _ in range(2):
            with ours.Session() as session:
                assert [int(session.run(number)) for _ in range(3)] == [0, 1, 2]


def test_a_data_set_of_other_dtypes_is_refused():
    with ours.Graph().as_default():
        iterator = ours.data.Iterator.from_structure(ours.float32)
        with pytest.raises(TypeError, match="int64, and the iterator of float32: the dtypes must be equal"):
            iterator.make_initializer(ours.data.Dataset.range(3))
        with pytest.raises(ValueError, match="call make_initializer with a data set"):
            _ = iterator.initializer


def test_loops_that_compute_at_once_end_with_the_same_error():
    iterator = ours.data.Dataset.range(2).make_one_shot_iterator()
    assert [int(iterator.get_next()) for _ in range(2)] == [0, 1]
    with pytest.raises(ours.errors.OutOfRangeError, match="no more elements"):
        iterator.get_next()


def test_shapes_of_old_programs_pad(tmp_path):
    """In programs that `dovetail run` runs, sizes of shapes are objects."""
    program = tmp_path / "old.py"
    program.write_text(
        "import tensorflow as tf\n"
        "rows = tf.data.Dataset.range(1, 4).map(lambda n: tf.fill([n], n))\n"
        "batch = rows.padded_batch(3, tf.TensorShape([None])).make_one_shot_iterator().get_next()\n"
        "found = tf.Session().run(batch).tolist()\n"
    )
    with running(program, kind="tf1") as old:
        assert old.run()["found"] == [[1, 0, 0], [2, 2, 0], [3, 3, 3]]
