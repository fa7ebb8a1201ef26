"""Known data sets of old programs: from files, made up, or an error that says which file is wanted."""

from __future__ import annotations

import gzip
import json
import os
import urllib.request
from pathlib import Path

import numpy as np
import pytest

from dovetail.compat.run import data_sets
from dovetail.compat.run.data_sets import answered
from dovetail.compat.tensorflow.names.io import mnist
from tests import keras_backends
from tests.libraries import checks_of, require
from tests.programs.data import write_mnist

CHECKS = "tests.compat.run.keras_checks"
URL = "http://yann.lecun.com/exdb/mnist/train-labels-idx1-ubyte.gz"


@pytest.fixture(autouse=True)
def no_cache(tmp_path, monkeypatch):
    monkeypatch.setattr(mnist, "CACHE", tmp_path / "cache")
    monkeypatch.delenv(mnist.VARIABLE, raising=False)
    data_sets._say.cache_clear()


@pytest.mark.parametrize("inside", ["", "mnist", "MNIST_data"])
def test_files_of_a_folder(tmp_path, inside):
    write_mnist(tmp_path / "data" / inside)
    with answered(tmp_path / "data"):
        path, _ = urllib.request.urlretrieve(URL)
        assert Path(path) == tmp_path / "data" / inside / "train-labels-idx1-ubyte.gz"
        copied, _ = urllib.request.urlretrieve(URL, tmp_path / "own.gz")
        with urllib.request.urlopen(urllib.request.Request(URL)) as opened:
            assert opened.read() == Path(path).read_bytes() == Path(copied).read_bytes()
        assert len(mnist.read_data_sets(tmp_path, validation_size=20).train.images) == 100
    assert mnist.VARIABLE not in os.environ and not hasattr(urllib.request.urlretrieve, "func")


def test_a_file_that_is_not_here(tmp_path):
    problem = r"train-labels-idx1-ubyte\.gz.*: nothing is downloaded.*put train-labels.*gz into '.*/data'.*--data"
    with answered(tmp_path / "data"), pytest.raises(FileNotFoundError, match=problem):
        urllib.request.urlopen(URL)
    with answered(), pytest.raises(FileNotFoundError, match=r"put fashion-mnist/t10k-images.*into '.*/cache'"):
        urllib.request.urlretrieve("http://fashion-mnist.s3-website.eu/t10k-images-idx3-ubyte.gz")


def test_other_addresses_are_the_programs_own(tmp_path):
    tmp_path.joinpath("own.txt").write_text("own")
    with answered(made_up=True):
        assert urllib.request.urlopen(f"file://{tmp_path}/own.txt").read() == b"own"
        assert Path(urllib.request.urlretrieve(f"file://{tmp_path}/own.txt")[0]).read_text() == "own"


@pytest.mark.parametrize("name", data_sets.SETS)
def test_what_is_made_up(name, capsys):
    (x, y), (test_x, test_y) = data_sets.made(name, num_words=50)
    again, _ = data_sets.made(name, num_words=50)
    shape, classes, count, tests = data_sets.SETS[name]
    assert (len(x), len(y), len(test_x), len(test_y)) == (count, count, tests, tests)
    assert np.array_equal(y, again[1]) and x[7:9].tolist() == again[0][7:9].tolist()
    if shape and classes:
        assert x.shape == (count, *shape) and x.dtype == y.dtype == np.uint8 and len(np.unique(y)) == classes
    elif classes:
        assert {type(x[0]), type(x[0][1])} == {list, int} and max(map(max, x)) == 49
    assert capsys.readouterr().err == "dovetail: the data sets of this program are made up (--synthetic-data)\n"


def test_each_program_says_once_that_data_are_made_up(capsys):
    for _ in range(2):
        with answered(made_up=True):
            for _ in range(2):
                urllib.request.urlretrieve(URL)
    assert capsys.readouterr().err.count("are made up") == 2


def test_files_that_are_made_up(tmp_path):
    with answered(made_up=True):
        images = urllib.request.urlretrieve(URL.replace("labels-idx1", "images-idx3"))[0]
        labels = gzip.decompress(urllib.request.urlopen(URL).read())
        assert np.frombuffer(labels, "uint8", offset=8).tolist()[:3] == [0, 7, 4]
        assert len(gzip.decompress(Path(images).read_bytes())) == 16 + 60_000 * 28 * 28
        data = mnist.read_data_sets(tmp_path, one_hot=True)
        assert data.train.images.shape == (55_000, 784) and data.test.labels.shape == (10_000, 10)
        words = urllib.request.urlopen("https://s3.amazonaws.com/text-datasets/imdb_word_index.json")
        assert json.load(words)["word3"] == 3
        with pytest.raises(FileNotFoundError, match=r"cifar-10-python\.tar\.gz.*: this file is not made up"):
            urllib.request.urlretrieve("https://www.cs.toronto.edu/~kriz/cifar-10-python.tar.gz")
    assert not os.path.exists(images)


@pytest.mark.parametrize("check", [check for check in checks_of(CHECKS) if "data" in check])
def test_keras(check):
    require("keras", "these are its functions")
    keras_backends.check(CHECKS, check, "dovetail")
