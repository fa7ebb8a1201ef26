"""Names of `tf.contrib.eager`: gradients of functions, networks of layers, and second names.

Source: `tf.contrib.eager`, the function of the same name.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from dovetail import ops
from dovetail.autodiff.tape import GradientTape
from dovetail.compat.tensorflow.entries import second, value
from dovetail.compat.tensorflow.names.array.core import convert_to_tensor
from dovetail.compat.tensorflow.names.layers.base import Layer
from dovetail.compat.tensorflow.names.saving.checkpoints import Saver
from dovetail.compat.tensorflow.names.session.devices import list_physical_devices
from dovetail.compat.tensorflow.table import function
from dovetail.core.base.errors import describe, op_error

for _name in ("enable_eager_execution", "executing_eagerly", "py_func", "GradientTape"):
    second(f"contrib.eager.{_name}", _name)
for _name in ("Checkpoint", "CheckpointManager"):
    second(f"contrib.eager.{_name}", f"train.{_name}")
second("contrib.eager.Variable", "Variable", of="v2")
second("contrib.eager.defun", "function", of="v2")


@function("contrib.eager.implicit_value_and_gradients", "v1")
def implicit_value_and_gradients(f: Callable[..., Any]) -> Callable[..., tuple[Any, list[tuple[Any, Any]]]]:
    """A function that gives the value of another one, and pairs of a gradient and a variable that it reads."""

    def both(*args: Any, **kwargs: Any) -> tuple[Any, list[tuple[Any, Any]]]:
        with GradientTape() as tape:
            result = f(*args, **kwargs)
        variables = [v for v in tape.watched_variables() if v.trainable]
        return result, list(zip(tape.gradient(result, variables), variables, strict=True))

    return both


@function("contrib.eager.implicit_gradients", "v1")
def implicit_gradients(f: Callable[..., Any]) -> Callable[..., list[tuple[Any, Any]]]:
    """A function that gives pairs of a gradient and a variable that another one reads."""
    both = implicit_value_and_gradients(f)
    return lambda *args, **kwargs: both(*args, **kwargs)[1]


@function("contrib.eager.value_and_gradients_function", "v1")
def value_and_gradients_function(
    f: Callable[..., Any], params: Sequence[int] | None = None
) -> Callable[..., tuple[Any, list[Any]]]:
    """A function that gives the value of another one, and the gradients by its arguments.

    Args:
        params: the places of the arguments; by default all.
    """

    def both(*args: Any) -> tuple[Any, list[Any]]:
        given = [convert_to_tensor(arg) for arg in args]
        chosen = [given[i] for i in (range(len(given)) if params is None else params)]
        with GradientTape() as tape:
            tape.watch(chosen)
            result = f(*given)
        return result, tape.gradient(result, chosen)

    return both


@function("contrib.eager.gradients_function", "v1")
def gradients_function(f: Callable[..., Any], params: Sequence[int] | None = None) -> Callable[..., list[Any]]:
    """A function that gives the gradients of another one by its arguments."""
    both = value_and_gradients_function(f, params)
    return lambda *args: both(*args)[1]


class Mean:
    """The mean of the values of all calls.

    Source: `tf.contrib.eager.metrics.Mean`.
    """

    def __init__(self, name: str | None = None, dtype: Any = "float32") -> None:
        self.name, self.dtype = name or type(self).__name__.lower(), dtype
        self.init_variables()

    def init_variables(self) -> None:
        """Begin anew."""
        self._total: Any = 0.0
        self._count: Any = 0.0

    def __call__(self, values: Any, weights: Any = 1.0) -> Any:
        values = ops.cast(values, self.dtype)
        counts = ops.multiply(ops.ones_like(values), weights)
        self._total = ops.add(self._total, ops.sum(ops.multiply(values, counts)))
        self._count = ops.add(self._count, ops.sum(counts))
        return values

    def result(self) -> Any:
        """The mean."""
        return ops.divide(self._total, self._count)


class Accuracy(Mean):
    """The share of equal labels and predictions of all calls.

    Source: `tf.contrib.eager.metrics.Accuracy`.
    """

    def __call__(self, labels: Any, predictions: Any, weights: Any = 1.0) -> Any:  # type: ignore[override]
        super().__call__(ops.equal(labels, predictions), weights)
        return labels, predictions


for _metric in (Mean, Accuracy):
    value(f"contrib.eager.metrics.{_metric.__name__}", _metric, "v1")


class EagerSaver:
    """A saver of variables whose values are computed at once.

    Args:
        var_list: the variables, in a list, or by name.

    Source: `tf.contrib.eager.Saver`.
    """

    def __init__(self, var_list: Any) -> None:
        self._saver = Saver(dict(var_list) if isinstance(var_list, dict) else list(var_list))

    def save(self, file_prefix: str, global_step: Any = None) -> str:
        """Write the values, and return the path of the checkpoint."""
        return self._saver.save(None, file_prefix, global_step, write_meta_graph=False)

    def restore(self, file_prefix: str) -> None:
        """Give the variables the values of a checkpoint."""
        self._saver.restore(None, file_prefix)


value("contrib.eager.Saver", EagerSaver, "v1")


class Network(Layer):
    """A layer of other layers, whose variables are those of the layers that it tracks.

    Programs derive classes, which make layers in `__init__` by `self.track_layer(layer)`, and whose `call(inputs)`
    computes.

    Source: `tf.contrib.eager.Network`.
    """

    def __init__(self, name: str | None = None) -> None:
        super().__init__(name=name)
        self._tracked: list[Layer] = []

    def track_layer(self, layer: Layer) -> Layer:
        """Make a layer part of this one, and return it.

        Raises:
            TypeError: it is no layer of `tf.layers`.
        """
        if not isinstance(layer, Layer):
            problem = f"it takes a layer of tf.layers, not {describe(layer)}."
            raise op_error(TypeError, "tf.contrib.eager.Network.track_layer", problem)
        self._tracked.append(layer)
        return layer

    @property
    def layers(self) -> list[Layer]:
        """The layers that it tracks."""
        return list(self._tracked)

    def get_layer(self, name: str | None = None, index: int | None = None) -> Layer:
        """The layer of this place, or of this name.

        Raises:
            ValueError: there is no such layer.
        """
        chosen = self._tracked[index : index + 1] if index is not None else [x for x in self._tracked if x.name == name]
        if not chosen:
            problem = f"no layer has the {f'name {name!r}' if index is None else f'index {index}'}."
            raise op_error(ValueError, "tf.contrib.eager.Network.get_layer", problem)
        return chosen[0]

    @property
    def losses(self) -> list[Any]:
        """Its own losses and those of its layers."""
        return [*super().losses, *(loss for layer in self._tracked for loss in layer.losses)]

    @property
    def trainable_weights(self) -> list[Any]:
        """The variables of its layers that are trained."""
        return [v for layer in self._tracked for v in layer.trainable_weights] if self.trainable else []

    @property
    def non_trainable_weights(self) -> list[Any]:
        """The other variables of its layers."""
        trained = [] if self.trainable else [v for layer in self._tracked for v in layer.trainable_weights]
        return [*trained, *(v for layer in self._tracked for v in layer.non_trainable_weights)]

    trainable_variables, non_trainable_variables = trainable_weights, non_trainable_weights


value("contrib.eager.Network", Network, "v1")


@function("contrib.eager.num_gpus", "v1")
def num_gpus() -> int:
    """The number of GPUs.

    Source: `tf.contrib.eager.num_gpus`.
    """
    return len(list_physical_devices("GPU"))
