"""Files of records and examples: the same calls by TensorFlow's names and by Dovetail's, each reading the other's."""

from __future__ import annotations

import numpy as np
import pytest

from dovetail.compat import tensorflow as ours
from dovetail.core.base.errors import FormatError
from tests.libraries import Library, require

require("google_crc32c", "records have its checksums")

theirs = Library("tensorflow")

VALUES = {"x": [1.5, -2.0], "n": [3], "name": [b"a", b"\xff"], "many": [7, 8, 9]}


def example(tf):
    feature = {
        "x": tf.train.Feature(float_list=tf.train.FloatList(value=VALUES["x"])),
        "n": tf.train.Feature(int64_list=tf.train.Int64List(value=VALUES["n"])),
        "name": tf.train.Feature(bytes_list=tf.train.BytesList(value=VALUES["name"])),
        "many": tf.train.Feature(int64_list=tf.train.Int64List(value=VALUES["many"])),
    }
    return tf.train.Example(features=tf.train.Features(feature=feature)).SerializeToString()


def parse(tf, data, text):
    spec = {
        "x": tf.io.FixedLenFeature([2], tf.float32),
        "n": tf.io.FixedLenFeature([], tf.int64),
        "gone": tf.io.FixedLenFeature([2, 1], tf.float32, default_value=[[0.5], [1.0]]),
        "many": tf.io.VarLenFeature(tf.int64),
        "name": tf.io.FixedLenFeature([2], text),
    }
    found = tf.io.parse_single_example(data, spec)
    several = {
        "name": tf.io.VarLenFeature(text),
        "x": tf.io.FixedLenSequenceFeature([1], tf.float32, allow_missing=True),
        "no": tf.io.FixedLenSequenceFeature([3], tf.int64, allow_missing=True),
    }
    found |= {f"{key} of several": one for key, one in tf.io.parse_single_example(data, several).items()}
    return plain(found)


def plain(found):
    """Parsed features as plain data."""
    if isinstance(found, (dict, list, tuple)) and not hasattr(found, "dense_shape"):
        return {k: plain(v) for k, v in found.items()} if isinstance(found, dict) else list(map(plain, found))
    if hasattr(found, "dense_shape"):
        shape = [int(dim) for dim in np.asarray(found.dense_shape)]
        return np.asarray(found.indices).tolist(), plain(found.values), shape
    array = np.asarray(found)
    return array.dtype, array.shape, array.tolist()


def test_examples_are_exchanged(engine):
    assert parse(ours, example(theirs), bytes) == parse(theirs, example(ours), theirs.string)


def sequence(tf, steps):
    def numbers(kind, values):
        lists = {"float": tf.train.FloatList, "int64": tf.train.Int64List, "bytes": tf.train.BytesList}
        return tf.train.Feature(**{f"{kind}_list": lists[kind](value=values)})

    rows = {
        "pairs": [numbers("float", [i, i + 0.5]) for i in range(steps)],
        "words": [numbers("bytes", [b"w"] * i) for i in range(steps)],
        "ids": [numbers("int64", range(i)) for i in range(steps)],
    }
    lists = tf.train.FeatureLists(feature_list={key: tf.train.FeatureList(feature=row) for key, row in rows.items()})
    context = tf.train.Features(feature={"length": numbers("int64", [steps])})
    return tf.train.SequenceExample(context=context, feature_lists=lists).SerializeToString()


@pytest.mark.parametrize("steps", [0, 3])
def test_sequences_of_steps_are_exchanged(engine, steps):
    def both(tf, data, text):
        features = {
            "pairs": tf.io.FixedLenSequenceFeature([2], tf.float32),
            "words": tf.io.VarLenFeature(text),
            "ids": tf.io.VarLenFeature(tf.int64),
            "none": tf.io.VarLenFeature(tf.float32),
            "gone": tf.io.FixedLenSequenceFeature([], tf.int64, allow_missing=True),
        }
        context = {"length": tf.io.FixedLenFeature([], tf.int64)}
        return plain(tf.io.parse_single_sequence_example(data, context, features))

    assert both(ours, sequence(theirs, steps), bytes) == both(theirs, sequence(ours, steps), theirs.string)
    with pytest.raises(ValueError, match="no feature 'x': give allow_missing=True"):
        features = {"x": ours.io.FixedLenSequenceFeature([], "int64")}
        ours.io.parse_single_sequence_example(sequence(ours, steps), None, features)
    with pytest.raises(TypeError, match="the steps 'ids' are a FixedLenSequenceFeature or VarLenFeature"):
        ours.io.parse_single_sequence_example(sequence(ours, 1), None, {"ids": ours.io.FixedLenFeature([], "int64")})


def test_a_batch_of_examples(engine):
    def batch(tf):
        rows = [{"many": [1, 2]}, {"many": []}, {"many": [3]}]
        data = []
        for row in rows:
            feature = {"many": tf.train.Feature(int64_list=tf.train.Int64List(value=row["many"]))}
            feature["n"] = tf.train.Feature(float_list=tf.train.FloatList(value=[0.5]))
            data.append(tf.train.Example(features=tf.train.Features(feature=feature)).SerializeToString())
        spec = {"many": tf.io.VarLenFeature(tf.int64), "n": tf.io.FixedLenFeature([1], tf.float32)}
        filled = {"many": tf.io.FixedLenSequenceFeature([1], tf.int64, allow_missing=True, default_value=7)}
        return plain([tf.io.parse_example(data, spec), tf.io.parse_example(data, filled)])

    assert batch(ours) == batch(theirs)


def test_strings_of_examples_are_tensors(engine):
    def strings(tf, text):
        spec = {"name": tf.io.FixedLenFeature([2], text), "gone": tf.io.FixedLenFeature([1], text, ["no"])}
        found = tf.io.parse_example([example(ours)], spec)
        parts = tf.io.parse_single_example(example(ours), {"name": tf.io.VarLenFeature(text)})["name"]
        return found["name"].numpy().tolist(), found["gone"].numpy().tolist(), parts.values.numpy().tolist()

    assert strings(ours, bytes) == strings(theirs, theirs.string)


def test_a_batch_without_examples(engine):
    def batch(tf):
        spec = {"x": tf.io.FixedLenFeature([2], tf.float32), "many": tf.io.VarLenFeature(tf.int64)}
        return plain(tf.io.parse_example(np.zeros(0, object), spec))

    assert batch(ours) == batch(theirs)


@pytest.mark.parametrize("compression", [None, "GZIP", "ZLIB"])
def test_files_are_exchanged(tmp_path, compression):
    for writer, reader in ((ours, theirs), (theirs, ours)):
        path = str(tmp_path / str(writer is ours))
        options = writer.io.TFRecordOptions(compression_type=compression)
        with writer.io.TFRecordWriter(path, options) as file:
            file.write(example(ours))
            file.write(b"two")
            file.flush()
        options = reader.compat.v1.io.TFRecordOptions(compression)
        assert list(reader.compat.v1.io.tf_record_iterator(path, options))[1] == b"two"
    assert ours.compat.v1.python_io.TFRecordWriter is ours.io.TFRecordWriter


def test_a_damaged_file_names_itself(tmp_path):
    (tmp_path / "x.tfrecord").write_bytes(b"0" * 40)
    with pytest.raises(FormatError, match=r"x.tfrecord' cannot be read: record 0: found a length of another checksum"):
        list(ours.compat.v1.io.tf_record_iterator(str(tmp_path / "x.tfrecord")))


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"gone": ("fixed", [1], "float32")}, "no feature 'gone'"),
        ({"x": ("fixed", [3], "float32")}, r"has 2 elements, and the shape \(3,\) needs 3"),
        ({"x": ("fixed", [2], "int64")}, "holds float32, not int64"),
        ({"gone": ("steps", [], "int64")}, "'gone' of an example may be missing in TensorFlow: say allow_missing=True"),
        ({"x": ("steps", [3], "float32", True)}, "has 2 elements, and its steps need 3 each"),
        ({"x": ("none",)}, "a FixedLenFeature, a VarLenFeature or a FixedLenSequenceFeature"),
    ],
)
def test_features_that_do_not_fit(spec, message):
    kinds = {"fixed": ours.io.FixedLenFeature, "steps": ours.io.FixedLenSequenceFeature, "none": lambda: "none"}
    features = {key: kinds[kind](*given) for key, (kind, *given) in spec.items()}
    with pytest.raises((ValueError, TypeError, AttributeError), match=message):
        ours.io.parse_single_example(example(ours), features)


def test_no_example():
    with pytest.raises(FormatError, match="found no Example"):
        ours.io.parse_single_example(b"\x0a\xff", {})
    with pytest.raises(TypeError, match="before a graph is fed"):
        ours.io.parse_single_example(ours.constant([1.0]), {})


@pytest.mark.parametrize("little_endian", [True, False])
def test_raw_numbers(little_endian, engine):
    def decoded(tf):
        texts = np.array([b"\x01\x02\x03\x04", b"abcd"], object)
        several = tf.io.decode_raw(texts, tf.int16, little_endian=little_endian)
        return np.asarray(several).tolist(), np.asarray(tf.io.decode_raw(b"\x01\x02", tf.uint8)).tolist()

    assert decoded(ours) == decoded(theirs)
    with pytest.raises(ValueError, match="a multiple of 2 bytes"):
        ours.io.decode_raw(b"abc", ours.int16)


def test_a_default_may_be_a_tensor_of_the_graph(engine):
    """Check one example and a batch, and the order of the results."""

    def found(tf):
        v1 = tf.compat.v1
        with v1.Graph().as_default(), v1.Session() as session:
            data, fed = v1.placeholder(v1.string, []), v1.placeholder(v1.float32, [2])
            spec = {
                "zeros": v1.FixedLenFeature([2, 1], v1.float32, v1.zeros([2, 1])),
                "x": v1.FixedLenFeature([2], v1.float32, fed),
                "many": v1.VarLenFeature(v1.int64),
                "gone": v1.FixedLenFeature([2], v1.float32, fed * 2.0),
                "words": v1.FixedLenFeature([1], v1.string, v1.constant(["no"])),
                "all": v1.VarLenFeature(v1.float32),
            }
            parsed = [v1.parse_single_example(data, spec), v1.parse_example(v1.reshape(data, [1]), spec)]
            return [*map(list, parsed)], plain(session.run(parsed, {data: example(ours), fed: [5.0, 6.0]}))

    assert found(ours) == found(theirs)
