"""MNIST from files: its splits, batches and folders, and errors that say what to do."""

from __future__ import annotations

import gzip

import numpy as np
import pytest
from dovetail.compat.tensorflow.compat import v1 as tf
from dovetail.compat.tensorflow.compat.v1.examples.tutorials.mnist import input_data
from dovetail.compat.tensorflow.compat.v1.examples.tutorials.mnist import mnist as network

from dovetail.compat.tensorflow.names.io import mnist
from dovetail.core.base.errors import FormatError
from tests.programs.data import COUNTS, write_mnist


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.delenv(mnist.VARIABLE, raising=False)
    monkeypatch.setattr(mnist, "CACHE", tmp_path / "cache")
    write_mnist(tmp_path / "digits")
    return tmp_path / "digits"


def test_the_splits(folder):
    data = input_data.read_data_sets(folder, one_hot=True, validation_size=20)
    assert [part.num_examples for part in data] == [COUNTS["train"] - 20, 20, COUNTS["t10k"]]
    assert (data.train.images.shape, data.train.labels.shape) == ((100, 784), (100, 10))
    assert data.train.images.dtype == np.float32
    assert 0.99 < data.train.images.max() <= 1
    assert np.array_equal(data.validation.labels.argmax(1), np.arange(20) * 7 % 10)


def test_images_as_they_are(folder):
    data = input_data.read_data_sets(folder, dtype=np.uint8, reshape=False, validation_size=0)
    assert (data.test.images.shape, data.test.images.dtype) == ((40, 28, 28, 1), np.uint8)
    assert data.test.labels.tolist() == [i * 7 % 10 for i in range(40)]


@pytest.mark.parametrize("shuffle", [False, True])
def test_batches_go_from_one_epoch_to_the_next(folder, shuffle):
    train = input_data.read_data_sets(folder, validation_size=0, seed=1).train
    order = train.labels.tolist()
    batches = [train.next_batch(50, shuffle=shuffle)[1].tolist() for _ in range(3)]
    epoch = [*batches[0], *batches[1], *batches[2][:20]]
    assert sorted(epoch) == sorted(order)
    assert (epoch == order) is not shuffle
    assert train.epochs_completed == 1
    again = input_data.read_data_sets(folder, validation_size=0, seed=1).train
    assert batches == [again.next_batch(50, shuffle=shuffle)[1].tolist() for _ in range(3)]


@pytest.mark.parametrize("where", ["named", "in the named", "cache", "npz"])
def test_other_folders(folder, tmp_path, monkeypatch, where):
    place = {"named": "a", "in the named": "a/mnist", "cache": "cache", "npz": "none"}[where]
    (tmp_path / place).parent.mkdir(exist_ok=True)
    if where == "npz":
        found = input_data.read_data_sets(folder, dtype="uint8", reshape=False, validation_size=0)
        images = [part.images[..., 0] for part in (found.train, found.test)]
        (tmp_path / place).mkdir()
        np.savez(
            tmp_path / place / mnist.KERAS,
            x_train=images[0],
            y_train=found.train.labels,
            x_test=images[1],
            y_test=found.test.labels,
        )
    else:
        folder.rename(tmp_path / place)
    if "named" in where:
        monkeypatch.setenv(mnist.VARIABLE, str(tmp_path / "a"))
    assert input_data.read_data_sets(tmp_path / "none", validation_size=0).train.images.shape == (120, 784)


def test_no_files(tmp_path, monkeypatch, folder):
    with pytest.raises(FileNotFoundError, match=r"put train-images-idx3-ubyte.*DOVETAIL_DATA"):
        input_data.read_data_sets(tmp_path / "nothing")


@pytest.mark.parametrize("damage", ["cut", "mark", "no gzip"])
def test_damaged_files(folder, damage):
    path = folder / "train-images-idx3-ubyte.gz"
    content = gzip.decompress(path.read_bytes())
    wrong = {"cut": content[:-1], "mark": b"\1" + content[1:], "no gzip": content}[damage]
    path.write_bytes(wrong if damage == "no gzip" else gzip.compress(wrong))
    with pytest.raises(FormatError, match="train-images"):
        input_data.read_data_sets(folder)


def test_names_of_contrib(folder, monkeypatch):
    monkeypatch.setenv(mnist.VARIABLE, str(folder))
    datasets = tf.contrib.learn.datasets
    assert datasets.mnist.read_data_sets is input_data.read_data_sets is datasets.mnist.load_mnist
    with pytest.raises(ValueError, match="5000 of 120"):  # it is read
        datasets.load_dataset("mnist")


def test_wrong_arguments(folder):
    with pytest.raises(ValueError, match="validation_size=5000 of 120"):
        input_data.read_data_sets(folder)
    with pytest.raises(ValueError, match="fake_data"):
        input_data.read_data_sets(folder, fake_data=True)


def test_the_network_of_the_tutorial():
    with tf.Graph().as_default(), tf.Session() as session:
        images, labels = tf.placeholder("float32", [5, network.IMAGE_PIXELS]), tf.placeholder("int32", [5])
        scores = network.inference(images, 8, 4)
        loss = network.loss(scores, labels)
        train = network.training(loss, 0.1)
        right, summary = network.evaluation(scores, labels), tf.summary.merge_all()
        names = [variable.op.name for variable in tf.trainable_variables()]
        assert names == [f"{x}/{y}" for x in ("hidden1", "hidden2", "softmax_linear") for y in ("weights", "biases")]
        session.run(tf.global_variables_initializer())
        fed = {images: np.random.RandomState(0).rand(5, 784), labels: [3, 1, 4, 1, 5]}
        before = session.run(loss, fed)
        for _ in range(9):
            session.run(train, fed)
        assert session.run(loss, fed) < before and session.run(summary, fed)
        w = session.run(tf.trainable_variables())
        x = np.maximum(np.maximum(fed[images] @ w[0] + w[1], 0) @ w[2] + w[3], 0) @ w[4] + w[5]
        np.testing.assert_allclose(session.run(scores, fed), x, rtol=1e-4, atol=1e-4)
        assert session.run(right, fed) == np.sum(x.argmax(1) == fed[labels])
