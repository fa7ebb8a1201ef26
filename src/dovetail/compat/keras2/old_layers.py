"""Layers of Keras 1 and 2 that Keras 3 lacks, computed by K."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import keras
import numpy as np

from dovetail import backend as K
from dovetail.compat.keras2.patches import Patch
from dovetail.interop.privates import BaseConv

of_keras2 = keras.saving.register_keras_serializable("dovetail")


def patches() -> Iterable[Patch]:
    """Yield the names of the layers."""
    yield from (Patch(keras.layers, cls.__name__, cls) for cls in CLASSES)


class _LocallyConnected(BaseConv):
    """A convolution with a separate kernel and bias for each window."""

    def build(self, input_shape: Any) -> None:
        """Make the weights of all windows; their number must be known."""
        first = self.data_format == "channels_first"
        shape = self.compute_output_shape(input_shape)
        self.windows = tuple(shape[2:] if first else shape[1:-1])
        size = math.prod(self.kernel_size) * input_shape[1 if first else -1]
        _weights(self, (math.prod(self.windows), size, self.filters), (*self.windows, self.filters))

    def call(self, inputs: Any) -> Any:
        """The convolution, with bias and activation."""
        options = {"data_format": self.data_format}
        if self.rank == 1:
            convolved = K.local_conv1d(inputs, self._kernel, self.kernel_size, self.strides, **options)
        else:
            convolved = K.local_conv2d(inputs, self._kernel, self.kernel_size, self.strides, self.windows, **options)
        return self.activation(K.bias_add(convolved, self.bias, **options) if self.use_bias else convolved)


def _check_padding(layer: Any, padding: str) -> None:
    if padding != "valid":
        raise ValueError(f"{type(layer).__name__} takes padding='valid' alone, not {padding!r}.")


@of_keras2
class LocallyConnected1D(_LocallyConnected):
    """A convolution over steps with a separate kernel for each window.

    Source: `keras.layers.LocallyConnected1D` of Keras 2.3.
    """

    def __init__(
        self, filters: int, kernel_size: Any, strides: Any = 1, padding: str = "valid", **options: Any
    ) -> None:
        _check_padding(self, padding)
        super().__init__(**{**options, "rank": 1}, filters=filters, kernel_size=kernel_size, strides=strides)


@of_keras2
class LocallyConnected2D(_LocallyConnected):
    """A convolution over images with a separate kernel for each window.

    Source: `keras.layers.LocallyConnected2D` of Keras 2.3.
    """

    def __init__(
        self, filters: int, kernel_size: Any, strides: Any = 1, padding: str = "valid", **options: Any
    ) -> None:
        _check_padding(self, padding)
        super().__init__(**{**options, "rank": 2}, filters=filters, kernel_size=kernel_size, strides=strides)


@of_keras2
class MaxoutDense(keras.layers.Dense):
    """The largest of several linear maps, for each unit.

    Source: `keras.layers.MaxoutDense` of Keras 1.2.
    """

    def __init__(self, units: int, nb_feature: int = 4, **options: Any) -> None:
        super().__init__(units, **options)
        self.nb_feature = nb_feature

    def build(self, input_shape: Any) -> None:
        """Make a kernel and a bias for each map."""
        _weights(self, (self.nb_feature, input_shape[-1], self.units), (self.nb_feature, self.units))

    def call(self, inputs: Any) -> Any:
        """The largest values."""
        sums = K.dot(inputs, self._kernel)
        return K.max(sums + self.bias if self.use_bias else sums, axis=1)

    def get_config(self) -> dict[str, Any]:
        """The arguments of the layer."""
        return {**super().get_config(), "nb_feature": self.nb_feature}


@of_keras2
class Highway(keras.layers.Dense):
    """A dense layer beside its inputs, in shares that another dense layer computes.

    Source: `keras.layers.Highway` of Keras 1.2.
    """

    # A file has all weights; Keras' Dense writes one kernel and one bias.
    save_own_variables = keras.layers.Layer.save_own_variables
    load_own_variables = keras.layers.Layer.load_own_variables

    def __init__(self, transform_bias: float = -2, **options: Any) -> None:
        super().__init__(**{**options, "units": 1})
        self.transform_bias = transform_bias

    def build(self, input_shape: Any) -> None:
        """Make the weights of both layers."""
        self.units = input_shape[-1]
        _weights(self, (self.units, self.units), (self.units,), ends=("", "_carry"))
        if self.use_bias:
            self.bias_carry.assign(np.full(self.units, self.transform_bias))

    def call(self, inputs: Any) -> Any:
        """The shares of the transformed and of the given values."""

        def dense(kernel: Any, bias: Any) -> Any:
            sums = K.dot(inputs, kernel)
            return sums if bias is None else sums + bias

        share = K.sigmoid(dense(self._kernel_carry, self.bias_carry))
        return share * self.activation(dense(self._kernel, self.bias)) + (1 - share) * inputs

    def get_config(self) -> dict[str, Any]:
        """The arguments of the layer."""
        return {**super().get_config(), "transform_bias": self.transform_bias}


@of_keras2
class ThresholdedReLU(keras.layers.Layer):
    """Inputs above a threshold, and zeros for the others; Keras 3's own class computes with TensorFlow.

    Source: `keras.layers.ThresholdedReLU` of Keras 2.3.
    """

    def __init__(self, theta: float = 1.0, **options: Any) -> None:
        super().__init__(**options)
        self.supports_masking, self.theta = True, float(theta)

    def call(self, inputs: Any) -> Any:
        """The inputs, times whether they are above the threshold."""
        return inputs * keras.ops.cast(inputs > self.theta, inputs.dtype)

    def get_config(self) -> dict[str, Any]:
        """The arguments of the layer."""
        return {**super().get_config(), "theta": self.theta}


def _weights(layer: Any, kernel: tuple[int, ...], bias: tuple[int, ...], ends: tuple[str, ...] = ("",)) -> None:
    """Make kernels and biases as the arguments of a layer say; without `use_bias` the biases are None."""
    for name, shape, wanted in (("kernel", kernel, True), ("bias", bias, layer.use_bias)):
        parts = "initializer", "regularizer", "constraint"
        options = {part: getattr(layer, f"{name}_{part}") for part in parts}
        for end in ends:
            made = layer.add_weight(name=f"{name}{end}", shape=shape, **options) if wanted else None
            setattr(layer, f"_{name}{end}" if name == "kernel" else f"{name}{end}", made)
    layer.built = True


CLASSES = LocallyConnected1D, LocallyConnected2D, MaxoutDense, Highway, ThresholdedReLU
