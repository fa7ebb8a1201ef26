"""A program for a process in which jax has four devices: Keras divides batches and variables among them.

XLA_FLAGS=--xla_force_host_platform_device_count=4 KERAS_BACKEND=dovetail python -m tests.keras_dovetail.layouts_checks
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import keras
import numpy as np
from keras.distribution import DataParallel, DeviceMesh, LayoutMap, ModelParallel, TensorLayout, distribute_tensor

import dovetail as dt
from dovetail import backend as K
from dovetail.core.engines.collectives import WORLD
from dovetail.core.engines.engine_registry import chooses_engine, current_engine
from dovetail.core.values.variable import Variable

DEVICES = keras.distribution.list_devices()
RNG = np.random.default_rng(5)
X, Y = RNG.normal(size=(70, 6)), RNG.integers(0, 4, 70)  # batches of 16 rows, and a last one of 6
IMAGES, SERIES, WORDS = RNG.normal(size=(70, 5, 5, 2)), RNG.normal(size=(70, 6, 3)), RNG.integers(0, 12, (70, 5))
MESH = DeviceMesh((2, 2), ("batch", "model"), [f"cpu:{n}" for n in range(4)])
LAYOUTS = {
    ".*(dense|lstm).*kernel": (None, "model"),
    ".*dense.*bias": ("model",),
    ".*conv.*kernel": (None, None, None, "model"),
    ".*embeddings": ("model", None),
    ".*hidden/output": ("batch", "model"),
}
layers = keras.layers


def mlp():
    hidden = layers.Dense(8, "tanh", name="hidden")
    return keras.Sequential([hidden, layers.Dropout(0.4), layers.GaussianNoise(0.1), layers.Dense(4, "softmax")])


def cnn():
    norm = layers.BatchNormalization()
    return keras.Sequential([layers.Conv2D(4, 3), norm, layers.ReLU(), layers.Flatten(), layers.Dense(4, "softmax")])


def lstm():
    return keras.Sequential([layers.LSTM(8), layers.Dropout(0.2), layers.Dense(4, "softmax")])


def transformer():
    words = keras.Input((5,), dtype="int32")
    h = layers.Embedding(12, 8)(words)
    h = layers.LayerNormalization()(h + layers.MultiHeadAttention(2, 4, dropout=0.1)(h, h))
    h = layers.LayerNormalization()(h + layers.Dense(8)(layers.Dense(16, "gelu")(h)))
    return keras.Model(words, layers.Dense(4, "softmax")(layers.GlobalAveragePooling1D()(h)))


MODELS = {"mlp": (mlp, X), "cnn": (cnn, IMAGES), "lstm": (lstm, SERIES), "transformer": (transformer, WORDS)}


def model_parallel():
    layout_map = LayoutMap(MESH)
    for pattern, axes in LAYOUTS.items():
        layout_map[pattern] = axes
    return ModelParallel(layout_map=layout_map, batch_dim_name="batch")


def compiled(make, distribution, **options):
    keras.backend.clear_session()
    keras.utils.set_random_seed(1)
    keras.distribution.set_distribution(distribution)
    model = make()
    model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"], **options)
    return model


def trained(make, x, distribution, **options):
    """The model, its losses, evaluation and predictions, after 20 steps with whole batches and 5 with smaller ones."""
    model = compiled(make, distribution, **options)
    history = model.fit(x, Y, batch_size=16, epochs=5, verbose=0).history
    found = model.evaluate(x, Y, batch_size=16, verbose=0), model.predict(x, batch_size=16, verbose=0)
    return model, history["loss"], history["accuracy"], *found


def array_of(variable):
    """The array of jax that a variable of Keras holds."""
    return variable.value.value


def check_layouts(model):
    """Weights and the optimizer's slots have their layouts: each device holds its part."""
    for variable in [*model.variables, *model.optimizer.variables, *model.metrics_variables]:
        array, axes = array_of(variable), variable._layout.axes
        parts = [1 if axis is None else 2 for axis in axes] if "model" in axes else [1] * array.ndim
        assert len(array.addressable_shards) == 4, variable.path
        for shard in array.addressable_shards:
            assert [n * k for n, k in zip(shard.data.shape, parts, strict=True)] == list(array.shape), variable.path


def same_numbers():
    """Four devices compute the numbers of one, and values keep their layouts."""
    for name, (make, x) in MODELS.items():
        _, *expected = alone = trained(make, x, None)
        for distribution in (DataParallel(), model_parallel()):
            for options in ({}, {"steps_per_execution": 3}):
                model, *found = trained(make, x, distribution, **options)
                for ours, theirs in zip(found, expected, strict=True):
                    np.testing.assert_allclose(ours, theirs, atol=1e-9, err_msg=f"{name} {distribution} {options}")
                for ours, theirs in zip(model.weights, alone[0].weights, strict=True):
                    np.testing.assert_allclose(ours.numpy(), theirs.numpy(), atol=1e-9, err_msg=ours.path)
                check_layouts(model)
        divided = [v.path for v in model.weights if "model" in v._layout.axes]
        slots = [v.path for v in model.optimizer.variables if "model" in v._layout.axes]
        assert divided and len(slots) == 2 * len([v for v in divided if "seed" not in v]), (divided, slots)
        print("checked", name, flush=True)


def programs():
    """A program is one segment on the four devices, whose devices exchange values; a batch is divided."""
    model, *_ = trained(mlp, X, model_parallel())
    found = [op.attrs["axes"] for op in model.train_function.plans[0].graph.by_type["Distribute"]]
    assert ("batch", "model") in found, found  # of a layer's output
    model, *_ = trained(mlp, X, DataParallel())
    plan = model.train_function.plans[0]
    assert f"jax ({','.join([DEVICES[0], '1', '2', '3'])}): " in str(plan), plan
    (segment,) = plan.segments
    assert "all-reduce" in segment.source
    model.summary(print_fn=lambda text: None)
    print("checked programs", flush=True)


class Own(keras.Sequential):
    """A model with a training step of its own."""

    def train_step(self, data):
        x, y, *_ = data
        with dt.GradientTape() as tape:
            loss = self.compute_loss(x, y, self(x, training=True))
        self.optimizer.apply(tape.gradient(loss, self.trainable_weights), self.trainable_weights)
        return {"rows": x.shape[0], "own": loss}


def single_steps():
    """Single batches, steps of a model's own, and steps that are not compiled compute the same numbers."""
    for name, make in (("own", lambda: Own([layers.Dense(4, "softmax")])), ("mlp", mlp)):
        for options in ({}, {"run_eagerly": True}):
            found = []
            for distribution in (None, DataParallel(), model_parallel()):
                model = compiled(make, distribution, **options)
                logs = [model.train_on_batch(X[:rows], Y[:rows], return_dict=True) for rows in (16, 6, 16)]
                losses = [log["own" if name == "own" else "loss"] for log in logs]
                found.append([*losses, *np.ravel(model.predict_on_batch(X[:8]))])
            for other in found[1:]:
                np.testing.assert_allclose(other, found[0], atol=1e-9, err_msg=f"{name} {options}")
    print("checked single steps", flush=True)


def files():
    """Files and lists of arrays hold whole weights; reading gives them the layouts of the new model."""
    model, *_ = trained(transformer, WORDS, model_parallel())
    before = model.get_weights()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.keras")
        model.save(path)
        model.save_weights(weights := Path(folder, "model.weights.h5"))
        for distribution in (None, DataParallel(), model_parallel()):
            keras.distribution.set_distribution(distribution)
            read = keras.models.load_model(path)
            for ours, theirs in zip(read.get_weights(), before, strict=True):
                np.testing.assert_array_equal(ours, theirs)
            if distribution is not None:
                check_layouts(read)
        model.set_weights([np.zeros_like(weight) for weight in before])
        check_layouts(model)
        assert not model.predict(WORDS[:4], verbose=0).std()
        model.load_weights(weights)
        check_layouts(model)
    np.testing.assert_array_equal(model.get_weights()[0], before[0])
    print("checked files", flush=True)


def values():
    """Tensors are divided eagerly and in programs; ops take them, and other engines refuse them."""
    keras.distribution.set_distribution(None)
    layout = TensorLayout(("batch", "model"), MESH)
    x = np.arange(24.0).reshape(4, 6)
    divided = distribute_tensor(x, layout)
    assert {shard.data.shape for shard in divided.value.addressable_shards} == {(2, 3)}
    assert divided.device == "cpu:0,1,2,3"
    np.testing.assert_array_equal(K.eval(K.sum(K.dot(divided, K.constant(x.T)), axis=0)), (x @ x.T).sum(0))
    np.testing.assert_array_equal(keras.ops.convert_to_numpy(divided), x)

    @dt.function
    def halves(x):
        return distribute_tensor(x * 0.5, layout)

    for given in (x, divided, distribute_tensor(x, TensorLayout((None, "model"), MESH)), divided):
        found = halves(dt.ops.convert(given))
        assert {shard.data.shape for shard in found.value.addressable_shards} == {(2, 3)}
        np.testing.assert_array_equal(found.numpy(), x / 2)
    assert "Distribute" in str(dt.explain(halves, divided))
    v = Variable(divided)
    with dt.GradientTape() as tape:
        y = dt.function(lambda x: dt.ops.sum(x * x * v))(divided)
    np.testing.assert_array_equal(tape.gradient(y, v).numpy(), x * x)
    v.assign(x + 1)
    assert v.value.value.sharding == divided.value.sharding
    measured = dt.function(lambda x: dt.ops.sum(x * x), engine="auto")
    assert float(measured(divided)) == (x * x).sum() and measured.plans[0].engine.name == "jax"
    refused(lambda: dt.function(lambda x: x + 1.0, engine="numpy")(divided), ValueError, "gather it by .numpy()")
    print("checked values", flush=True)


def refused(call, kind, text):
    try:
        call()
    except kind as error:
        assert text in str(error), error
        return
    raise AssertionError(text)


def refusals():
    """Errors name the misfit and the remedy."""
    five = DeviceMesh((5,), ("batch",), [f"cpu:{n}" for n in range(5)])
    x = np.zeros((4, 6))
    tensors = (
        (TensorLayout(("model", None, None), MESH), ValueError, "for 3 dimensions"),
        (TensorLayout(("batch",), DeviceMesh((4,), ("batch",))), None, ""),
        (TensorLayout((None, "batch"), DeviceMesh((4,), ("batch",))), ValueError, "but 6 is no multiple of 4"),
        (TensorLayout(("batch",), five), NotImplementedError, "not cpu:4. For 5 devices"),
        (TensorLayout(("batch",)), ValueError, "has no mesh"),
    )
    for layout, kind, text in tensors:
        if kind is None:
            distribute_tensor(x, layout)
        else:
            refused(lambda: distribute_tensor(x, layout), kind, text)  # noqa: B023  # called at once
    refused(lambda: TensorLayout(("rows",), MESH), ValueError, "Invalid axis names")
    layout_map = LayoutMap(MESH)
    layout_map["dense/kernel"] = (None, "model")
    keras.backend.clear_session()
    with ModelParallel(layout_map=layout_map, batch_dim_name="batch").scope():
        refused(lambda: layers.Dense(3).build((None, 4)), ValueError, "dense/kernel has the shape (4, 3)")
    of_four = TensorLayout(("batch", None), DeviceMesh((4,), ("batch",)))
    with dt.engine("numpy"):
        refused(lambda: distribute_tensor(x, of_four), NotImplementedError, "the engine numpy does not divide")
    print("checked refusals", flush=True)


def chosen():
    """With engines chosen by measuring, a distribution over devices of jax makes jax the engine."""
    assert chooses_engine() and len(DEVICES) == 4
    far = DataParallel(devices=[f"cpu:{n}" for n in range(5)])
    refused(lambda: trained(mlp, X, far), NotImplementedError, "not cpu:4")
    assert chooses_engine()
    _, *expected = trained(mlp, X, None)
    model, *found = trained(mlp, X, DataParallel())
    assert not chooses_engine()
    np.testing.assert_allclose(found[0], expected[0], atol=1e-9)
    check_layouts(model)
    keras.distribution.set_distribution(None)
    assert chooses_engine() and current_engine().name == "numpy"
    print("checked chosen", flush=True)


def one_device():
    """With engines chosen by measuring, one device changes nothing, also not what is written for several."""
    one = DeviceMesh((1,), ("batch",), ["cpu:0"])
    placed = distribute_tensor(X[:4], TensorLayout(("batch", None), one))
    np.testing.assert_array_equal(placed, X[:4])
    keras.distribution.set_distribution(DataParallel(device_mesh=one))
    trained(mlp, X, keras.distribution.distribution())
    assert chooses_engine() and current_engine().name == "numpy"
    keras.distribution.set_distribution(None)
    print("checked one device", flush=True)


def elsewhere():
    """One device trains as usual; more are refused, with the line that starts processes, if jax does not have them."""
    kept = [model.get_weights() for model, *_ in (trained(mlp, X, d) for d in (None, DataParallel()))]
    for ours, theirs in zip(*kept, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    line = "start dovetail run --processes 4 script.py"
    for distribution in (DataParallel(devices=[f"cpu:{n}" for n in range(4)]), model_parallel()):
        refused(lambda: trained(mlp, X, distribution), NotImplementedError, line)  # noqa: B023  # called at once
    refused(lambda: distribute_tensor(X[:4], TensorLayout(("batch",), MESH)), NotImplementedError, line)
    WORLD.size = 2
    refused(lambda: trained(mlp, X, model_parallel()), NotImplementedError, "this process is one of 2")
    assert keras.distribution.list_devices() == ["cpu:0", "cpu:1"]
    WORLD.size = 1
    keras.distribution.set_distribution(None)


if __name__ == "__main__":
    keras.config.set_floatx("float64")
    for name in sys.argv[1:]:
        globals()[name]()
