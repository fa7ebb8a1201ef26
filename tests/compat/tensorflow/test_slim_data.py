"""TF-Slim's data sets: one program on Dovetail and, with TF-Slim itself, on TensorFlow, with the same files."""

from __future__ import annotations

import importlib

import numpy as np
import pytest

from dovetail.compat import tensorflow as ours
from tests.libraries import require

require("google_crc32c", "records have its checksums")
require("PIL", "it decodes pictures")
tf = ours.compat.v1
RANDOM = np.random.RandomState(3)
PICTURES = [RANDOM.randint(0, 255, (2, 3, 3)).astype("uint8") for _ in range(3)]


@pytest.fixture(scope="module")
def theirs():
    require("tf_slim", "it is the oracle")
    import tensorflow
    import tf_slim

    for module in ("dataset", "dataset_data_provider", "parallel_reader", "prefetch_queue", "tfexample_decoder"):
        setattr(tf_slim, module, importlib.import_module(f"tf_slim.data.{module}"))
    old = tensorflow.compat.v1
    tf_slim.tfexample_decoder.control_flow_ops = tf_slim.tfexample_decoder.array_ops = old  # its functions moved
    return old, tf_slim


def feature(**values):
    kinds = {bytes: ("bytes_list", tf.train.BytesList), int: ("int64_list", tf.train.Int64List)}
    named = {
        key: (kinds.get(type(given[0]), ("float_list", tf.train.FloatList)), given) for key, given in values.items()
    }
    return {key: tf.train.Feature(**{name: kind(value=given)}) for key, ((name, kind), given) in named.items()}


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Two files of records: three pictures with labels, boxes, sparse values, and shapes."""
    folder = tmp_path_factory.mktemp("slim")
    with tf.Graph().as_default(), tf.Session() as session:
        encoded = session.run([tf.image.encode_png(picture) for picture in PICTURES])
    encoded[2] = PICTURES[2].tobytes()
    for file, numbers in {"a-0.tfrecord": [0, 1], "a-1.tfrecord": [2]}.items():
        with tf.python_io.TFRecordWriter(str(folder / file)) as writer:
            for n in numbers:
                boxes = {f"box/{side}": [0.1 * (n + 1), 0.5][: n + 1] for side in ("ymin", "xmin", "ymax", "xmax")}
                values = {"indices": [0, n + 1], "values": [1.5, 2.0 + n], "shape": [2, 3], "parts": [1, 2, 3, 4, 5, 6]}
                own = {"image/encoded": [encoded[n]], "image/format": [b"raw" if n == 2 else b"png"]}
                named = {"class": [n], "word": [b"w%d" % n]}
                more = {} if n else {"second": [7]}
                example = tf.train.Example(
                    features=tf.train.Features(feature=feature(**own, **boxes, **values, **named, **more))
                )
                writer.write(example.SerializeToString())
    return str(folder / "a-*")


def data_set(tf, slim, files):
    handlers = slim.tfexample_decoder
    sides = [f"box/{side}" for side in ("ymin", "xmin", "ymax", "xmax")]
    keys = {
        "image/encoded": tf.FixedLenFeature((), tf.string, default_value=""),
        "image/format": tf.FixedLenFeature((), tf.string, default_value="png"),
        "class": tf.FixedLenFeature([1], tf.int64, default_value=tf.zeros([1], tf.int64)),
        "word": tf.FixedLenFeature([], tf.string),
        "shape": tf.FixedLenFeature([2], tf.int64),
        **{key: tf.VarLenFeature(tf.int64) for key in ("indices", "parts", "second")},
        **{key: tf.VarLenFeature(tf.float32) for key in ("values", *sides)},
    }
    items = {
        "image": handlers.Image(shape=[2, 3, 3]),
        "label": handlers.Tensor("class", shape=[]),
        "word": handlers.Tensor("word"),
        "boxes": handlers.BoundingBox(["ymin", "xmin", "ymax", "xmax"], "box/"),
        "table": handlers.Tensor("parts", shape_keys="shape"),
        "dense": handlers.SparseTensor(shape=[4], densify=True, default_value=-1.0),
        "either": handlers.BackupHandler(handlers.Tensor("second"), handlers.Tensor("parts")),
        "sum": handlers.ItemHandlerCallback(["values", "class"], lambda of: tf.reduce_sum(of["values"].values)),
    }
    decoder = handlers.TFExampleDecoder(keys, items)
    return slim.dataset.Dataset(files, tf.TFRecordReader, decoder, 3, {"image": "a picture"}, num_classes=3)


def samples(tf, slim, files):
    with tf.Graph().as_default():
        data = data_set(tf, slim, files)
        provider = slim.dataset_data_provider.DatasetDataProvider(data, shuffle=False, num_epochs=1, num_readers=1)
        assert provider.num_samples() == 3 and data.num_classes == 3
        names = sorted(provider.list_items())
        tensors = provider.get(names)
        found = []
        with tf.Session() as session:
            session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
            with slim.queues.QueueRunners(session), pytest.raises(tf.errors.OutOfRangeError):
                while True:
                    found.append(dict(zip(names, session.run(tensors), strict=True)))
    return sorted(found, key=lambda sample: sample["label"])  # patterns find files in any order


def test_samples_are_those_of_tf_slim(theirs, files):
    mine, wanted = samples(tf, tf.contrib.slim, files), samples(*theirs, files)
    assert len(mine) == len(wanted) == 3
    for found, right in zip(mine, wanted, strict=True):
        assert found.keys() == right.keys()
        for name in found:
            if isinstance(right[name], bytes):  # the number in a record's key is its place in the file there
                assert found[name].partition(b":")[0] == right[name].partition(b":")[0]
            else:
                np.testing.assert_allclose(found[name], right[name], rtol=1e-6, err_msg=name)
    np.testing.assert_array_equal([sample["image"] for sample in mine], PICTURES)


def test_batches_wait_in_a_queue(files):
    slim = tf.contrib.slim
    with tf.Graph().as_default(), tf.Session() as session:
        provider = slim.dataset_data_provider.DatasetDataProvider(
            data_set(tf, slim, files), num_readers=2, common_queue_capacity=8, common_queue_min=2
        )
        image, label = provider.get(["image", "label"])
        images, labels = tf.train.batch([image, label], 4)
        queue = slim.prefetch_queue.prefetch_queue({"images": images, "labels": labels}, capacity=2)
        session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        with slim.queues.QueueRunners(session):
            found = session.run(queue.dequeue())
        assert found["images"].shape == (4, 2, 3, 3) and {*found["labels"]} <= {0, 1, 2}


def test_mistakes_are_told(files):
    slim = tf.contrib.slim
    with pytest.raises(ValueError, match="no files are found"):
        slim.parallel_reader.get_data_files(files + "nothing*")
    with pytest.raises(ValueError, match="4 keys"):
        slim.tfexample_decoder.BoundingBox(["a"])
    with pytest.raises(ValueError, match="not both"):
        slim.tfexample_decoder.Tensor("a", shape_keys="b", shape=[1])
    with pytest.raises(ValueError, match="must be an ItemHandler"):
        slim.tfexample_decoder.BackupHandler("a", "b")
    with tf.Graph().as_default():
        data = data_set(tf, slim, files)
        with pytest.raises(ValueError, match="another record_key"):
            slim.dataset_data_provider.DatasetDataProvider(data, record_key="label")
        with pytest.raises(ValueError, match="items of image"):
            slim.dataset_data_provider.DatasetDataProvider(data).get(["picture"])
    inner, outer = pytest.raises(slim.queues.NestedQueueRunnerError), slim.queues.QueueRunners
    with tf.Graph().as_default(), tf.Session() as session, outer(session), inner, outer(session):
        pass
