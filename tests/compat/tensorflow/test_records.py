"""Files of records and examples: the same calls by TensorFlow's names and by Dovetail's, each reading the other's."""

from __future__ import annotations

import numpy as np
import pytest

from dovetail.compat import tensorflow as ours
from dovetail.core.errors import FormatError
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
    many = found.pop("many")
    arrays = {key: np.asarray(one) for key, one in found.items()} | {"many": np.asarray(many.values)}
    return {key: (array.dtype, array.tolist()) for key, array in arrays.items()}, np.asarray(many.indices).tolist()


def test_examples_are_exchanged(engine):
    assert parse(ours, example(theirs), bytes) == parse(theirs, example(ours), theirs.string)


def test_a_batch_of_examples(engine):
    def batch(tf):
        rows = [{"many": [1, 2]}, {"many": []}, {"many": [3]}]
        data = []
        for row in rows:
            feature = {"many": tf.train.Feature(int64_list=tf.train.Int64List(value=row["many"]))}
            feature["n"] = tf.train.Feature(float_list=tf.train.FloatList(value=[0.5]))
            data.append(tf.train.Example(features=tf.train.Features(feature=feature)).SerializeToString())
        spec = {"many": tf.io.VarLenFeature(tf.int64), "n": tf.io.FixedLenFeature([1], tf.float32)}
        found = tf.io.parse_example(data, spec)
        many = found["many"]
        shape = [int(dim) for dim in np.asarray(many.dense_shape)]
        return (
            np.asarray(found["n"]).tolist(),
            np.asarray(many.indices).tolist(),
            np.asarray(many.values).tolist(),
            shape,
        )

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
        ({"name": ("var", bytes)}, "holds numbers"),
        ({"x": ("none",)}, "a FixedLenFeature or a VarLenFeature"),
    ],
)
def test_features_that_do_not_fit(spec, message):
    kinds = {"fixed": ours.io.FixedLenFeature, "var": ours.io.VarLenFeature, "none": lambda: ours.io.FixedLenFeature}
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
