"""Checks of modules of Keras 2 that prepare data and wrap models, in a process where Keras 3 runs on Dovetail."""

from __future__ import annotations

import tempfile
from pathlib import Path

import keras_dovetail  # noqa: F401  first: it makes Keras run on Dovetail

# isort: split
import dovetail.compat.keras2.imported as imported

# isort: split
import h5py
import keras
import numpy as np
import pytest
from keras.applications.imagenet_utils import _obtain_input_shape, preprocess_input
from keras.layers.core import Dense
from keras.legacy import interfaces
from keras.models import Sequential
from keras.preprocessing import image
from keras.utils import conv_utils, data_utils, generic_utils, np_utils
from keras.utils.io_utils import HDF5Matrix
from keras.utils.layer_utils import convert_all_kernels_in_model, count_params, print_summary
from keras.wrappers.scikit_learn import KerasClassifier, KerasRegressor
from sklearn.metrics import get_scorer
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from tests.keras_backends import main

X, Y = np.ones((4, 2), "float32"), np.zeros((4, 3), "float32")


# -- names from imports -----------------------------------------------------------------------------------------------


def star(module):
    found = {}
    exec(f"from keras.{module} import *", found)
    return found


def check_names_from_imports():
    for modules, names in imported.NAMES.items():
        for module in modules.split():
            assert star(module).keys() >= {name for name in names.split() if name[0] != "_"}, module
    for module in ("layers", "layers.core", "callbacks", "losses"):
        assert star(module)["K"] is keras.backend
    assert star("layers")["np"] is np and "time" not in star("layers") and "time" in star("callbacks")
    assert star("engine.topology")["Layer"] is keras.layers.Layer
    assert issubclass(keras.layers.Conv2D, keras.layers.convolutional._Conv)
    assert star("preprocessing.text")["Tokenizer"] is keras.preprocessing.text.Tokenizer


def check_optimizers_in_small_letters():
    """Check that Keras 2.2's functions of optimizers are the classes."""
    assert keras.optimizers.rmsprop is keras.optimizers.RMSprop and star("optimizers")["adam"] is keras.optimizers.Adam


def check_applications():
    for module in ("vgg16", "resnet50", "inception_v3", "imagenet_utils"):
        assert getattr(keras.applications, module)._obtain_input_shape is _obtain_input_shape
    assert _obtain_input_shape(None, 224, 48, "channels_last", include_top=False) == (None, None, 3)
    assert _obtain_input_shape((60, 50, 3), 224, 48, "channels_last", True, weights=None) == (60, 50, 3)
    assert preprocess_input(np.zeros((1, 2, 2, 3)), mode="tf").max() == -1
    assert keras.backend.eval(keras.applications.mobilenet.relu6(keras.backend.constant([7.0])))[0] == 6


def check_softmax_on_any_axis():
    x = np.random.default_rng(0).normal(size=(2, 3, 4)).astype("float32")
    for axis in (0, 1, 2, -2):
        found = keras.backend.eval(keras.activations.softmax(keras.backend.constant(x), axis=axis))
        np.testing.assert_allclose(found, np.exp(x) / np.exp(x).sum(axis, keepdims=True), rtol=1e-5)


# -- functions --------------------------------------------------------------------------------------------------------


def check_functions_of_utils():
    assert generic_utils.has_arg(lambda a, *, b, **c: 0, "b") and not generic_utils.has_arg(lambda **c: 0, "a")
    assert generic_utils.has_arg(lambda **c: 0, "a", accept_all=True)
    assert not generic_utils.has_arg(np.sin, "x")  # without a name
    assert generic_utils.to_list((1,)) == [(1,)] and generic_utils.to_list((1,), allow_tuple=True) == [1]
    assert generic_utils.unpack_singleton([1]) == 1 and generic_utils.is_all_none((None, None))
    assert generic_utils.object_list_uid([X, Y]) != generic_utils.object_list_uid([Y, X])
    first, second = generic_utils.slice_arrays([X, None], 1, 3)
    assert first.shape == (2, 2) and second is None and generic_utils.slice_arrays(Y, np.array([0, 2])).shape == (2, 3)
    assert np_utils.probas_to_classes(np.array([[0.2, 0.8], [0.9, 0.1]])).tolist() == [1, 0]
    assert np_utils.probas_to_classes(np.array([[0.2], [0.9]])).tolist() == [0, 1]
    assert conv_utils.normalize_padding("SAME") == "same" and conv_utils.normalize_tuple(2, 2, "size") == (2, 2)
    with pytest.raises(ValueError, match="padding"):
        conv_utils.normalize_padding("most")
    rows = np_utils.to_categorical([[0], [2]], nb_classes=3)
    assert rows.dtype == np.float32 and rows.tolist() == [[1, 0, 0], [0, 0, 1]]
    assert keras.utils.to_categorical(np.array([1, 0]), dtype="int32").dtype == np.int32
    assert generic_utils.func_load(*generic_utils.func_dump(lambda x: x + 1))(2) == 3
    with pytest.raises(ValueError, match=r"gpus=2.*leave the call out.*DataParallel"):
        keras.utils.multi_gpu_model(None, gpus=2)
    assert interfaces.legacy_conv2d_support(check_applications) is check_applications
    assert not hasattr(interfaces, "modern_support")


def check_lengths_of_convolutions():
    for padding in ("valid", "same"):
        for length, size, stride in ((7, 3, 1), (8, 3, 2), (5, 2, 2)):
            x = np.ones((1, length, 1), "float32")
            found = keras.layers.Conv1D(1, size, strides=stride, padding=padding)(x).shape[1]
            assert conv_utils.conv_output_length(length, size, padding, stride) == found
            found = keras.layers.Conv1DTranspose(1, size, strides=stride, padding=padding)(x).shape[1]
            assert conv_utils.deconv_length(length, stride, size, padding, None) == found
    assert conv_utils.conv_output_length(7, 3, "full", 1, dilation=2) == 11
    assert conv_utils.conv_output_length(None, 3, "same", 1) is None is conv_utils.deconv_length(None, 2, 3, "same")
    assert conv_utils.conv_input_length(5, 3, "valid", 2) == 11 and conv_utils.conv_input_length(5, 3, "full", 1) == 3
    assert conv_utils.deconv_length(5, 2, 3, "valid", 1) == 12 and conv_utils.deconv_length(5, 2, 3, "full") == 7


def check_kernels_are_converted():
    made = Sequential([keras.layers.Conv2D(2, 3, input_shape=(5, 5, 1)), keras.layers.Flatten(), Dense(1)])
    before = made.get_weights()
    convert_all_kernels_in_model(made)
    after = made.get_weights()
    np.testing.assert_array_equal(after[0], before[0][::-1, ::-1])
    np.testing.assert_array_equal(after[2], before[2])
    assert count_params(made.weights) == made.count_params()
    lines = []
    print_summary(made, print_fn=lambda line, **_: lines.append(line))
    assert "conv2d" in "".join(lines)


def check_parts_of_hdf5():
    with tempfile.TemporaryDirectory() as folder:
        path, x = f"{folder}/x.h5", np.arange(20.0).reshape(10, 2)
        with h5py.File(path, "w") as file:
            file["x"] = x
        part = HDF5Matrix(path, "x", start=2, end=8, normalizer=lambda x: x / 2)
        assert (len(part), part.shape, part.ndim, part.size, part.dtype) == (6, (6, 2), 2, 12, "float64")
        for key in (0, -1, slice(1, 4), slice(None, None, 2), [0, 3], slice(5, 2)):
            np.testing.assert_array_equal(part[key], x[2:8][key] / 2)
        with pytest.raises(IndexError):
            part[6]
        made = Sequential([Dense(1, input_shape=(2,))])
        made.compile("sgd", "mse")
        assert made.predict(part, verbose=0).shape == (6, 1)
        made.fit(part, part[:][:, :1], batch_size=2, shuffle="batch", verbose=0)


class Squares(keras.utils.Sequence):
    def __len__(self):
        return 3

    def __getitem__(self, index):
        return index**2


def check_enqueuers_give_items():
    for enqueuer, wanted in (
        (data_utils.OrderedEnqueuer(Squares(), use_multiprocessing=False), [0, 1, 4, 0]),
        (data_utils.GeneratorEnqueuer((i for i in range(9)), wait_time=0.1), [0, 1, 2, 3]),
    ):
        enqueuer.start(workers=2, max_queue_size=3)
        items = enqueuer.get()
        assert [next(items) for _ in range(4)] == wanted and enqueuer.is_running()
        enqueuer.stop()
        assert list(items) == [] and not enqueuer.is_running()
    shuffled = data_utils.OrderedEnqueuer(Squares(), shuffle=True)
    shuffled.start()
    items = shuffled.get()
    assert sorted(next(items) for _ in range(3)) == [0, 1, 4]


# -- estimators of scikit-learn ---------------------------------------------------------------------------------------


def classifier(units=4, loss="categorical_crossentropy", outputs=3):
    keras.utils.set_random_seed(0)
    end = Dense(outputs, activation="softmax" if outputs > 1 else "sigmoid")
    made = Sequential([Dense(units, activation="tanh", input_dim=2), end])
    made.compile(keras.optimizers.Adam(lr=0.03), loss, metrics=["accuracy"])
    return made


def points(kinds):
    """Points around as many centers, with names of the kinds."""
    random = np.random.default_rng(0)
    kind = np.arange(60) % kinds
    return np.stack([3 * kind, -2 * kind], 1) + random.normal(size=(60, 2)), np.array(["a", "b", "c"])[kind]


def check_a_classifier():
    x, y = points(3)
    made = KerasClassifier(build_fn=classifier, units=8, epochs=20, batch_size=10, verbose=0)
    history = made.fit(x, y, sample_weight=np.ones(60))
    assert len(history.history["loss"]) == 20 and made.model.layers[0].units == 8
    assert made.classes_.tolist() == ["a", "b", "c"] and made.n_classes_ == 3
    found = made.predict(x)
    assert np.mean(found == y) == pytest.approx(made.score(x, y), abs=1e-6) and made.score(x, y) > 0.8
    assert made.predict_proba(x).shape == (60, 3)
    assert made.get_params()["units"] == 8 and made.get_params()["build_fn"] is classifier
    assert made.set_params(units=3).sk_params["units"] == 3
    with pytest.raises(ValueError, match="wings is not a legal parameter"):
        KerasClassifier(classifier, wings=2)
    with pytest.raises(ValueError, match="Invalid shape"):
        made.fit(x, np.zeros((60, 2, 2)))


def check_a_classifier_of_two():
    x, y = points(2)
    made = KerasClassifier(classifier, loss="binary_crossentropy", outputs=1, nb_epoch=20, verbose=0)
    assert len(made.fit(x, y, batch_size=10).epoch) == 20
    assert made.predict(x).shape == (60, 1) and made.predict_proba(x).shape == (60, 2)
    assert made.score(x, y) > 0.9 and get_scorer("roc_auc")(made, x, y) > 0.9


class Regressor(KerasRegressor):
    """A class that makes the model itself."""

    def __call__(self, units=5):
        keras.utils.set_random_seed(0)
        made = Sequential([Dense(units, activation="relu", input_dim=2), Dense(1)])
        made.compile(keras.optimizers.Adam(lr=0.05), "mse")
        return made


def check_estimators_in_searches():
    x, y = points(2)
    search = GridSearchCV(
        KerasClassifier(classifier, loss="binary_crossentropy", outputs=1, verbose=0),
        {"units": [2, 4], "epochs": [1, 20], "batch_size": [10]},
        cv=2,
    )
    search.fit(x, y)
    assert search.best_params_["epochs"] == 20 and search.best_score_ > 0.8
    scaled = make_pipeline(StandardScaler(), Regressor(epochs=30, batch_size=10, verbose=0))
    losses = cross_val_score(scaled, x, x[:, 0], cv=2)
    assert losses.shape == (2,) and losses.max() < 0
    assert scaled.fit(x, x[:, 0]).predict(x).shape == (60,)


# -- preprocessing in the words of Keras 1 and 2.1 --------------------------------------------------------------------


def check_images_in_old_words():
    pixels = np.arange(2 * 3 * 4 * 5, dtype="float32").reshape(2, 3, 4, 5)
    flow = image.ImageDataGenerator(dim_ordering="th").flow(X=pixels, y=[1, 2], batch_size=1, shuffle=False)
    assert (flow.N, flow.n) == (2, 2) and np.array_equal(next(flow)[0], pixels[:1]) and flow.next()[1] == [2]
    shift = np.float64([[1, 0, 0], [0, 1, 1], [0, 0, 1]])
    np.testing.assert_array_equal(image.apply_transform(pixels[0], shift)[:, :, :-1], pixels[0][:, :, 1:])
    np.testing.assert_array_equal(
        image.apply_transform(np.moveaxis(pixels[0], 0, 2), shift, 2, "constant", 9.0)[:, -1], np.full((4, 3), 9)
    )
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/a.png"
        image.array_to_img(pixels[0], dim_ordering="th").save(path)
        Path(folder, "notes.txt").touch()
        assert image.list_pictures(folder) == image.list_pictures(folder, "jpg|png") == [path]
        assert image.list_pictures(folder, "bmp") == []
        assert image.img_to_array(image.load_img(path), dim_ordering="th").shape == (3, 4, 5)
        for arguments in ((True, (2, 3)), (True, "rgb", (2, 3))):
            assert np.shape(image.load_img(path, *arguments)) == (2, 3)
        assert np.shape(image.load_img(path, grayscale=True)) == (4, 5) == np.shape(image.load_img(path, "grayscale"))
        Path(folder, "class").mkdir()
        Path(path).rename(f"{folder}/class/a.png")
        flow = image.ImageDataGenerator().flow_from_directory(folder)
        assert (flow.nb_sample, flow.nb_class, flow.num_class) == (1, 1, 1)


def check_own_iterators_of_images():
    """Check a subclass that defines `next`, as programs for Keras 1 and 2.0 wrote it."""

    class Own(image.Iterator):
        def next(self):
            with self.lock:
                return self._get_batches_of_transformed_samples(next(self.index_generator))

        def _get_batches_of_transformed_samples(self, index_array):
            return X[index_array], Y[index_array]

    own = Own(len(X), batch_size=3, shuffle=False, seed=None)
    assert [len(next(own)[0]) for _ in range(3)] == [3, 1, 3]
    made = Sequential([Dense(3, input_shape=(2,))])
    made.compile("sgd", "mse")
    assert np.isfinite(made.fit_generator(own, 2, epochs=1, verbose=0).history["loss"][0])


if __name__ == "__main__":
    main(globals())
