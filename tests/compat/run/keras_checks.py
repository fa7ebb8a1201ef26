"""Checks of old programs that fit models, in a process where Keras runs on Dovetail."""

from __future__ import annotations

import ast
import os
import tarfile
import tempfile
from pathlib import Path

import keras_dovetail  # noqa: F401  first: it makes Keras run on Dovetail

# isort: split
import keras
import numpy as np
import pytest

from dovetail import backend as K
from dovetail.compat.run import running
from dovetail.compat.run.data_sets import answered
from dovetail.compat.run.steps import limited
from dovetail.core.base.hooks import hooks
from dovetail.core.base.scopes import DEFAULT_GRAPH
from tests.keras_backends import changes_keras, main
from tests.programs.data import write_mnist

X, Y = np.ones((20, 3), "float32"), np.zeros((20, 1), "float32")


def run(text):
    model = keras.Sequential([keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    batches = []
    count = keras.callbacks.LambdaCallback(on_train_batch_end=lambda batch, logs: batches.append(batch))
    names = {"model": model, "x": X, "y": Y, "count": count, "batches": batches, "__name__": "old"}
    exec(compile(limited(ast.parse(text), 4), "old.py", "exec"), names)
    assert int(model.optimizer.iterations) == len(batches)
    return names


def check_fit_ends_after_its_steps():
    names = run("h = model.fit(x, y, batch_size=2, epochs=3, verbose=0, validation_split=0.5, callbacks=[count])")
    assert names["batches"] == [0, 1, 2, 3] and len(names["h"].history["val_loss"]) == 1


def check_epochs_count_together():
    names = run("h = model.fit(x, y, 10, 9, 0, [count])")
    assert names["batches"] == [0, 1, 0, 1] and len(names["h"].history["loss"]) == 2


def check_a_loop_around_fit_ends_too():
    names = run("for e in range(9):\n    a = e\n    model.fit(x, y, batch_size=10, verbose=0, callbacks=count)")
    assert names["batches"] == [0, 1, 0, 1] and names["a"] == 1


def check_fit_after_fit():
    names = run("for k in (1, 2): model.fit(x, y, epochs=1, verbose=0, callbacks=[count])")
    assert names["batches"] == [0, 0]


OWN = """
from keras.engine.topology import Layer
class Attention(Layer):
    pass
class Dense(Layer):
    pass
from {module} import *
own = Attention.__module__ == __name__
theirs = Dense.__module__ != __name__ and K is not None
"""


def check_star_imports_keep_layers_that_keras_2_lacked():
    with tempfile.TemporaryDirectory() as folder:
        for module, own in (("keras.layers", True), ("keras.layers.core", True), ("tensorflow.keras.layers", False)):
            path = Path(folder) / "old.py"
            path.write_text(OWN.format(module=module))
            with running(path, kind="keras2") as made:
                names = made.run()
            assert names["own"] is own and names["theirs"], module


def check_the_package_of_preprocessing_is_the_module_of_keras():
    with running("keras2") as made:
        text, sequence = (made.import_module(f"keras_preprocessing.{name}") for name in ("text", "sequence"))
        assert text.Tokenizer is keras.preprocessing.text.Tokenizer
        assert sequence.pad_sequences([[1]], 2).tolist() == [[0, 1]]
        assert made.import_module("keras_preprocessing").image.ImageDataGenerator.__module__.startswith("keras.")


def check_fits_of_searches_end():
    text = """
from keras.models import Sequential
from keras.layers.core import Dense
from keras.wrappers.scikit_learn import KerasRegressor
from sklearn.model_selection import GridSearchCV
import numpy as np
def build(units):
    made.append(Sequential([Dense(units, input_shape=(3,)), Dense(1)]))
    made[-1].compile("sgd", "mse")
    return made[-1]
made = []
search = GridSearchCV(KerasRegressor(build, units=1, epochs=9, batch_size=2, verbose=0), {"units": [1, 2]}, cv=2)
search.fit(np.ones((20, 3)), np.zeros(20))
steps = [int(model.optimizer.iterations) for model in made]
"""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "old.py").write_text(text)
        with running(Path(folder, "old.py"), steps=4) as program:
            assert program.run()["steps"] == [4] * 5


def check_keras_data_that_is_here():
    with tempfile.TemporaryDirectory() as folder, answered(folder):
        hooks.run_keras()
        np.savez(Path(folder, "mnist.npz"), x_train=X, y_train=Y, x_test=X[:2], y_test=Y[:2])
        write_mnist(Path(folder, "fashion-mnist"))
        with tarfile.open(Path(folder, "cifar-10-python.tar.gz"), "w:gz") as archive:
            archive.addfile(tarfile.TarInfo("cifar-10-batches-py/readme.html"))
        (x, _), (_, test_y) = keras.datasets.mnist.load_data()
        assert x.shape == (20, 3) and test_y.shape == (2, 1)
        assert keras.datasets.fashion_mnist.load_data()[0][0].shape == (120, 28, 28)
        assert keras.utils.get_file("mnist.npz", origin="https://gone/mnist.npz") == str(Path(folder, "mnist.npz"))
        with pytest.raises(FileNotFoundError, match="data_batch_1"):  # the archive is unpacked
            keras.datasets.cifar10.load_data()
        with pytest.raises(FileNotFoundError, match=r"put imdb\.npz into"):
            keras.datasets.imdb.load_data()
        around = keras.utils.get_file("cifar-10-batches-py", origin="https://gone/cifar-10-python.tar.gz")
        assert os.listdir(around) == ["cifar-10-batches-py"]
    assert "partial" not in repr(keras.utils.get_file) and not os.path.exists(around)


def check_other_files_of_the_folder():
    """Check that Keras copies and unpacks a file of the folder, and that a failed download says how to give one."""
    with tempfile.TemporaryDirectory() as folder, answered(folder):
        hooks.run_keras()
        cache = Path(folder, "cache")
        cache.mkdir()
        Path(folder, "old.txt").write_text("texts")
        with tarfile.open(Path(folder, "old.tar.gz"), "w:gz") as archive:
            archive.add(Path(folder, "old.txt"), "old/old.txt")
        for fname, origin in (("new.txt", "nowhere:/old.txt"), ("old.txt", "nowhere:/new.txt?v=1")):
            found = keras.utils.get_file(fname, origin=origin, cache_dir=cache)
            assert found == str(cache / "datasets" / fname) and Path(found).read_text() == "texts"
        unpacked = keras.utils.get_file("old", "nowhere:/old.tar.gz", extract=True, cache_dir=cache)
        assert [each.name for each in Path(unpacked).rglob("*.txt")] == ["old.txt"]
        with pytest.raises(Exception, match="nowhere") as raised:
            keras.utils.get_file("gone.txt", "nowhere:/gone.txt", cache_dir=cache)
        assert "the file gone.txt, put it into a folder, and name the folder by --data" in raised.value.__notes__[0]


def check_the_words_of_tensorflow_beside_keras():
    found = {}
    for use in ("keras.layers.core", "tf.keras.layers.Merge"):
        with tempfile.TemporaryDirectory() as folder:
            old = Path(folder, "old.py")
            old.write_text(f"import keras, tensorflow as tf\nif tf is None: {use}\nname = tf.__name__")
            with running(old) as program:
                found[use] = program.run()["name"].rpartition(".")[2]
    assert found == {"keras.layers.core": "v1", "tf.keras.layers.Merge": "tensorflow"}


def check_keras_is_as_it_was_after_a_program():
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "old.py").write_text("from keras.layers.core import Dense\nold = Dense.__init__")
        with running(Path(folder, "old.py")) as program:
            old = program.run()["old"]
    assert keras.layers.Dense.__init__ is not old and not changes_keras()


def check_settings_are_as_they_were_before_a_program():
    K.set_batch_dot_mode("matmul")
    K.set_backend_name("theano")
    del os.environ["KERAS_BACKEND"]
    text = (
        "import os\nfrom keras import backend as K\nimport keras.layers.core\n"
        "name = K.backend(), os.environ['KERAS_BACKEND']\n"
        "shape = K.batch_dot(K.ones((1, 2, 3, 4)), K.ones((1, 2, 4, 5))).shape\n"
        "K.set_batch_dot_mode('batch')\nK.placeholder((2,))"
    )
    try:
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "old.py").write_text(text)
            with running(Path(folder, "old.py")) as program:
                names = program.run()
        assert names["name"] == ("tensorflow", "tensorflow") and tuple(names["shape"]) == (1, 2, 3, 5)
        assert DEFAULT_GRAPH.get() is None and K.backend() == "theano" and "KERAS_BACKEND" not in os.environ
        assert tuple(K.batch_dot(K.ones((1, 2, 3, 4)), K.ones((1, 2, 4, 5))).shape) == (1, 2, 3, 5)
    finally:
        K.set_batch_dot_mode("batch")
        K.set_backend_name(None)
        os.environ["KERAS_BACKEND"] = "dovetail"


def check_keras_data_that_is_made_up():
    own = keras.datasets.imdb.load_data
    with answered(made_up=True):
        hooks.run_keras()
        (x, y), _ = keras.datasets.imdb.load_data(num_words=30, maxlen=9)
        assert len(x) == len(y) == 25_000 and max(x[0]) < 30
        assert keras._tf_keras.keras.datasets.cifar10.load_data()[0][0].shape == (50_000, 32, 32, 3)
        assert keras.datasets.reuters.get_word_index()["word7"] == 7
    assert keras.datasets.imdb.load_data is own


def check_weights_that_are_made_up():
    """Files of weights are not loaded, in `keras.applications` and by a program; other files are."""
    own = keras.Model.load_weights
    with answered(made_up=True):
        hooks.run_keras()
        model = keras.applications.MobileNet(alpha=0.25)
        path = keras.utils.get_file("my_weights_tf.h5", "https://nowhere.example/my_weights_tf.h5")
        before = model.get_weights()[0]
        model.load_weights(path)
        np.testing.assert_array_equal(model.get_weights()[0], before)
        found = keras.applications.mobilenet.decode_predictions(np.eye(1000)[7:8], top=1)
        assert found == [[("n00000007", "class_7", 1.0)]]
        with pytest.raises(FileNotFoundError):
            model.load_weights("nowhere/my.weights.h5")
    assert keras.Model.load_weights is own


if __name__ == "__main__":
    main(globals())
