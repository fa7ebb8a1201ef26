"""Checks of layers of other libraries, in a process where Keras runs on Dovetail."""

from __future__ import annotations

import keras_dovetail  # noqa: F401  # must be first: it makes Keras run on Dovetail

# isort: split
import copy
import tempfile
from pathlib import Path

import keras
import numpy as np
from keras import layers

import dovetail as dt
from tests.keras_backends import ENGINES, main

RANDOM = np.random.default_rng(0)
X, Y = RANDOM.normal(size=(48, 6)).astype("float32"), RANDOM.normal(size=(48, 2)).astype("float32")
RATE, BATCH = 0.05, 16


def compiled(*parts):
    model = keras.Sequential([keras.Input((6,)), *parts])
    model.compile(keras.optimizers.SGD(RATE), "mse")
    return model


def fitted(model, epochs=2):
    return model.fit(X, Y, batch_size=BATCH, epochs=epochs, shuffle=False, verbose=0).history["loss"]


if "torch" in ENGINES:
    import torch
    from torch import nn

    class Both(nn.Module):
        """Two results of two arguments, with a parameter that is not trained."""

        def __init__(self):
            super().__init__()
            self.linear = nn.Linear(6, 2)
            self.scale = nn.Parameter(torch.tensor(3.0), requires_grad=False)

        def forward(self, a, b, times=1):
            return {"sum": self.linear(a) * self.scale * times + b, "least": torch.argmin(a, dim=-1)}

    def module():
        torch.manual_seed(0)
        return nn.Sequential(nn.Linear(6, 8), nn.BatchNorm1d(8), nn.Tanh(), nn.Linear(8, 2))

    def by_torch(own, epochs=2):
        """The losses of the same training by torch alone."""
        optimizer = torch.optim.SGD([p for p in own.parameters() if p.requires_grad], RATE)
        losses = []
        own.train()
        for _ in range(epochs):
            of_epoch = []
            for i in range(0, len(X), BATCH):
                optimizer.zero_grad()
                loss = nn.functional.mse_loss(own(torch.tensor(X[i : i + BATCH])), torch.tensor(Y[i : i + BATCH]))
                loss.backward()
                optimizer.step()
                of_epoch.append(loss.item())
            losses.append(np.mean(of_epoch))
        return losses

    def check_a_module_trains_as_by_torch():
        for engine in ("torch", "auto"):
            with dt.engine(engine):
                own, wrapped = module(), module()
                model = compiled(layers.TorchModuleWrapper(wrapped))
                np.testing.assert_allclose(fitted(model), by_torch(own), rtol=1e-5)
                own.eval()
                np.testing.assert_allclose(
                    model.predict(X, verbose=0), own(torch.tensor(X)).detach().numpy(), rtol=1e-4, atol=1e-5
                )
                np.testing.assert_allclose(wrapped[1].running_mean, own[1].running_mean, rtol=1e-4, atol=1e-6)
                assert len(model.trainable_weights) == 6

    def check_dropped_elements_have_no_gradient():
        with dt.engine("torch"):
            layer = layers.TorchModuleWrapper(nn.Dropout(0.5))

            @dt.function
            def both(x):
                with dt.GradientTape() as tape:
                    tape.watch(x)
                    y = layer(x, training=True)
                return y, tape.gradient(y, x)

            for _ in range(3):
                y, gradient = both(dt.ops.ones((4, 50)))
                np.testing.assert_allclose(y.numpy(), gradient.numpy())
            assert 0 < (y.numpy() == 0).mean() < 1
            np.testing.assert_array_equal(layer(dt.ops.ones((4, 50)), training=False).numpy(), np.ones((4, 50)))

    def check_structures_and_unknown_sizes():
        with dt.engine("torch"):
            layer = layers.TorchModuleWrapper(Both())
            a, b = keras.Input((6,)), keras.Input((2,))
            results = layer(a, b, times=2)
            assert (results["sum"].shape, results["least"].shape) == ((None, 2), (None,))
            assert str(results["least"].dtype) == "int64" and len(layer.trainable_weights) == 2
            found = keras.Model([a, b], results).predict([X, Y], verbose=0)
            wanted = layer.module(torch.tensor(X), torch.tensor(Y), times=2)
            np.testing.assert_allclose(found["sum"], wanted["sum"].detach().numpy(), rtol=1e-5, atol=1e-6)
            np.testing.assert_array_equal(found["least"], wanted["least"])

    def check_modules_in_files():
        with dt.engine("torch"), tempfile.TemporaryDirectory() as folder:
            model, path = compiled(layers.TorchModuleWrapper(module())), Path(folder, "m.weights.h5")
            fitted(model)
            model.save_weights(path)
            other = compiled(layers.TorchModuleWrapper(copy.deepcopy(module())))
            assert not np.allclose(other.predict(X, verbose=0), model.predict(X, verbose=0))
            other.load_weights(path)
            np.testing.assert_allclose(other.predict(X, verbose=0), model.predict(X, verbose=0), rtol=1e-5, atol=1e-6)
            np.testing.assert_allclose(fitted(other), fitted(model), rtol=1e-5)
            whole = Path(folder, "m.keras")
            model.save(whole)
            read = keras.saving.load_model(whole, safe_mode=False)
            np.testing.assert_allclose(read.predict(X, verbose=0), model.predict(X, verbose=0), rtol=1e-5, atol=1e-6)

    def check_other_engines_say_which_one_runs_it():
        for engine in ENGINES:
            if engine != "torch":
                with dt.engine(engine):
                    try:
                        compiled(layers.TorchModuleWrapper(module())).predict(X, verbose=0)
                    except NotImplementedError as error:
                        assert "DOVETAIL_ENGINE=torch" in str(error), error
                    else:
                        raise AssertionError(engine)

    def check_a_lazy_module_is_refused():
        try:
            layers.TorchModuleWrapper(nn.LazyLinear(3))
        except ValueError as error:
            assert "call the lazy module once" in str(error)
        else:
            raise AssertionError


if "jax" in ENGINES:
    import jax
    import jax.numpy as jnp

    def parameters():
        a, b = (np.random.default_rng(n).normal(size=shape) * 0.3 for n, shape in enumerate([(6, 8), (8, 2)]))
        return {"a": a.astype("float32"), "b": [b.astype("float32"), np.zeros(2, "float32")]}

    def perceptron(params, inputs):
        return jnp.tanh(inputs @ params["a"]) @ params["b"][0] + params["b"][1]

    def counted(params, state, rng, inputs, training):
        """A function that counts its calls in training, in which it adds noise."""
        outputs = perceptron(params, inputs)
        noise = 0.0 if rng is None else 1e-3 * jax.random.normal(rng, outputs.shape)
        return outputs + noise, {"count": state["count"] + training}

    def by_jax(epochs=2):
        params, losses = parameters(), []
        step = jax.value_and_grad(lambda p, x, y: jnp.mean((perceptron(p, x) - y) ** 2))
        for _ in range(epochs):
            of_epoch = []
            for i in range(0, len(X), BATCH):
                loss, gradients = step(params, X[i : i + BATCH], Y[i : i + BATCH])
                params = jax.tree_util.tree_map(lambda p, g: p - RATE * g, params, gradients)
                of_epoch.append(float(loss))
            losses.append(np.mean(of_epoch))
        return losses, params

    def check_a_function_trains_as_by_jax():
        for engine in ("jax", "auto"):
            with dt.engine(engine):
                model = compiled(layers.JaxLayer(perceptron, params=parameters()))
                losses, params = by_jax()
                np.testing.assert_allclose(fitted(model), losses, rtol=1e-5)
                np.testing.assert_allclose(model.predict(X, verbose=0), perceptron(params, X), rtol=1e-4, atol=1e-5)

    def check_state_and_random_keys():
        with dt.engine("jax"):
            layer = layers.JaxLayer(counted, params=parameters(), state={"count": np.zeros((), "float32")}, seed=1)
            model = compiled(layer)
            fitted(model, epochs=2)
            assert float(layer.state["count"].numpy()) == 6
            again = [model.predict(X, verbose=0) for _ in range(2)]
            np.testing.assert_array_equal(*again)
            noisy = [np.asarray(layer(X, training=True)) for _ in range(2)]
            assert 0 < np.abs(noisy[0] - noisy[1]).max() < 0.1

    def check_parameters_that_a_function_makes():
        def made(rng, inputs, training):
            return {"w": jax.random.normal(rng, (inputs.shape[-1], 2))}

        with dt.engine("jax"):
            layer = layers.JaxLayer(lambda params, inputs: inputs @ params["w"], init_fn=made)
            model = compiled(layer)
            assert [tuple(w.shape) for w in model.trainable_weights] == [(6, 2)]
            np.testing.assert_allclose(model.predict(X, verbose=0), X @ layer.params["w"].numpy(), rtol=1e-4, atol=1e-5)
            assert model.output_shape == (None, 2)


main(globals())
