"""A user's layers, models, losses, metrics and callbacks, which random programs use under the name `own`."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import keras
import numpy as np
from keras import ops

import dovetail as dt

registered = keras.saving.register_keras_serializable("own")


# -- layers -----------------------------------------------------------------------------------------------------------


@registered
class Counter(keras.layers.Layer):
    """A layer that adds an average of the inputs seen in training, which it keeps."""

    def build(self, shape: Any) -> None:
        self.total = self.add_weight(shape=(), initializer="zeros", trainable=False, name="total")
        self.count = self.add_weight(shape=(), initializer="zeros", trainable=False, name="count", dtype="int32")

    def call(self, x: Any, training: bool | None = None) -> Any:
        if training:
            self.total.assign(0.8 * self.total + ops.mean(ops.cast(x, self.total.dtype)))
            self.count.assign_add(1)
        return x + ops.cast(0.1 * self.total, x.dtype)


@registered
class Penalty(keras.layers.Layer):
    """A layer that adds the size of its inputs to the loss."""

    def __init__(self, factor: float, **options: Any) -> None:
        super().__init__(**options)
        self.factor, self.supports_masking = factor, True

    def call(self, x: Any) -> Any:
        self.add_loss(self.factor * ops.mean(ops.square(ops.cast(x, "float32"))))
        return x

    def get_config(self) -> Any:
        return {**super().get_config(), "factor": self.factor}


@registered
class Scaled(keras.layers.Layer):
    """A layer that multiplies by weights, of which one is frozen."""

    def build(self, shape: Any) -> None:
        self.scale = self.add_weight(shape=(shape[-1],), initializer="ones", regularizer="l2", name="scale")
        self.offset = self.add_weight(shape=(shape[-1],), initializer="ones", trainable=False, name="offset")

    def call(self, x: Any) -> Any:
        return x * self.scale + self.offset


@registered
class Visible(keras.layers.Layer):
    """A layer that sets masked steps to 0, and passes the mask on."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.supports_masking = True

    def call(self, x: Any, mask: Any = None) -> Any:
        return x if mask is None else x * ops.cast(mask, x.dtype)[..., None]


# -- models -----------------------------------------------------------------------------------------------------------


def replayed(nodes: list[Any], layers: list[Any], tensors: list[Any]) -> list[Any]:
    """Call layers on tensors as the nodes of a program say, and return all tensors."""
    for node, layer in zip(nodes, layers, strict=True):
        taken = [tensors[i] for i in node["takes"]]
        if "op" in node:
            found = getattr(ops, node["op"])(*taken)
        elif node.get("apart"):
            found = layer(*taken, **node.get("call", {}))
        else:
            found = layer(taken if len(taken) > 1 else taken[0], **node.get("call", {}))
        tensors = [*tensors, found[node["pick"]] if "pick" in node else found]
    return tensors


def layers_of(nodes: list[Any], built: Any) -> list[Any]:
    """The layer of each node; None for an op."""
    found: list[Any] = []
    for node in nodes:
        found.append(found[node["again"]] if "again" in node else None if "op" in node else built(node["layer"]))
    return found


@registered
class Replayed(keras.Model):
    """A model with its own `call`."""

    def __init__(self, model: Any, **options: Any) -> None:
        from tests.keras_dovetail.random_models.keras3_run import built

        super().__init__(**options)
        self.model_data = model
        self.own_layers = list(layers_of(model["nodes"], built))

    def call(self, inputs: Any) -> Any:
        data = self.model_data
        given = [inputs[x["name"]] for x in data["inputs"]] if isinstance(inputs, dict) else inputs
        tensors = replayed(data["nodes"], self.own_layers, list(given) if isinstance(given, (list, tuple)) else [given])
        found = [tensors[head["value"]] for head in data["heads"]]
        if data["outputs_as"] == "dict":
            return {f"out{i}": value for i, value in enumerate(found)}
        return found if data["outputs_as"] == "list" else found[0]

    def get_config(self) -> Any:
        return {"model": self.model_data, "name": self.name}


@registered
class Doubled(keras.Model):
    """A functional model with twice the loss."""

    def compute_loss(self, *args: Any, **options: Any) -> Any:
        return 2.0 * super().compute_loss(*args, **options)


@registered
class Stepped(keras.Model):
    """A functional model with a training step written for Dovetail; other backends do the same by default."""

    if keras.backend.backend() == "dovetail":

        def train_step(self, data: Any) -> Any:
            x, y, weights = keras.utils.unpack_x_y_sample_weight(data)
            with dt.GradientTape() as tape:
                found = self(x, training=True)
                loss = self.compute_loss(x, y, found, weights, training=True)
                scaled = self.optimizer.scale_loss(loss)
            trained = self.trainable_weights
            self.optimizer.apply(tape.gradient(scaled, trained), trained)
            self._loss_tracker.update_state(loss, sample_weight=keras.tree.flatten(x)[0].shape[0])
            return self.compute_metrics(x, y, found, weights)


# -- losses and metrics -----------------------------------------------------------------------------------------------


@registered
def cubed(wanted: Any, found: Any) -> Any:
    """The mean cube of errors."""
    return ops.mean(ops.abs(found - ops.cast(wanted, found.dtype)) ** 3, axis=-1)


@registered
class Spread(keras.metrics.Metric):
    """The weighted variance of errors."""

    def __init__(self, name: str = "spread", **options: Any) -> None:
        super().__init__(name=name, **options)
        self.total, self.squares, self.count = [
            self.add_variable((), "zeros", name=part) for part in ("total", "squares", "count")
        ]

    def update_state(self, wanted: Any, found: Any, sample_weight: Any = None) -> None:
        error = ops.cast(found, "float32") - ops.cast(wanted, "float32")
        weights = ops.ones_like(error)
        if sample_weight is not None:
            shape = (-1, *[1] * (len(error.shape) - 1))
            weights = weights * ops.reshape(ops.cast(sample_weight, "float32"), shape)
        self.total.assign_add(ops.sum(weights * error))
        self.squares.assign_add(ops.sum(weights * error**2))
        self.count.assign_add(ops.sum(weights))

    def result(self) -> Any:
        mean = self.total / self.count
        return self.squares / self.count - mean**2


# -- callbacks --------------------------------------------------------------------------------------------------------


def halved(epoch: int, rate: float) -> float:
    """A learning rate for `LearningRateScheduler`."""
    return 0.5 * rate


class Shrinks(keras.callbacks.Callback):
    """A callback that scales all weights after each epoch or batch."""

    def __init__(self, factor: float, when: str) -> None:
        super().__init__()
        self.factor, self.when = factor, when

    def _shrink(self, when: str) -> None:
        if when == self.when:
            self.model.set_weights([w if w.dtype.kind == "i" else w * self.factor for w in self.model.get_weights()])

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        self._shrink("epoch")

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        self._shrink("batch")


class Looks(keras.callbacks.Callback):
    """A callback that keeps the logs of each batch."""

    seen: Any = ()

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        self.seen = [*self.seen, [float(v) for _, v in sorted((logs or {}).items()) if np.ndim(v) == 0]]

    def on_test_batch_end(self, batch: int, logs: Any = None) -> None:
        self.on_train_batch_end(batch, logs)


class Predicts(keras.callbacks.Callback):
    """A callback that keeps sums of the weights after each epoch."""

    seen: Any = ()

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        self.seen = [*self.seen, [float(np.sum(np.float64(w))) for w in self.model.get_weights()]]


class Stops(keras.callbacks.Callback):
    """A callback that ends training after a batch."""

    def __init__(self, batch: int) -> None:
        super().__init__()
        self.batch = batch

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        if batch >= self.batch:
            self.model.stop_training = True


class Rates(keras.callbacks.Callback):
    """A callback that sets another learning rate before the second batch."""

    def __init__(self, rate: float) -> None:
        super().__init__()
        self.rate = rate

    def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
        if batch == 1:
            self.model.optimizer.learning_rate = self.rate


class Keeps(keras.callbacks.ModelCheckpoint):
    """A callback that saves weights after each epoch, and restores the first ones after training."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory()
        super().__init__(Path(self._folder.name) / "{epoch}.weights.h5", save_weights_only=True)

    def on_train_end(self, logs: Any = None) -> None:
        self.model.load_weights(Path(self._folder.name) / "1.weights.h5")
