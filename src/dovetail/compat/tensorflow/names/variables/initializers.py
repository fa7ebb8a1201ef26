"""TensorFlow's initialisers, which give variables of a shape their first values."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from dovetail import ops
from dovetail.compat.tensorflow import graph_mode
from dovetail.compat.tensorflow.entries import value
from dovetail.compat.tensorflow.names.random.draws import normal, truncated_normal, uniform
from dovetail.compat.tensorflow.table import in_v1
from dovetail.core.base.errors import op_error
from dovetail.core.dtypes import as_dtype


class Initializer:
    """A source of first values for a shape.

    Source: `tf.initializers`.
    """

    dtype: Any = "float32"

    def __call__(self, shape: Any, dtype: Any = None, partition_info: Any = None, **options: Any) -> Any:
        dims, dtype = [int(dim) for dim in shape], as_dtype(self.dtype if dtype is None else dtype)
        result = self.values(dims, dtype) if partition_info is None else self.part(dims, dtype, partition_info)
        return graph_mode.recorded(result, type(self).__name__)

    def values(self, shape: list[int], dtype: Any) -> Any:
        """The values for a shape."""
        raise NotImplementedError

    def part(self, shape: list[int], dtype: Any, info: Any) -> Any:
        """The values for a part of a variable; `info` says of which, and where it is."""
        return self.values(shape, dtype)

    def get_config(self) -> dict[str, Any]:
        """The settings that it was made with."""
        return dict(vars(self))


class Zeros(Initializer):
    """Zeros."""

    def __init__(self, dtype: Any = "float32") -> None:
        self.dtype = dtype

    def values(self, shape: list[int], dtype: Any) -> Any:
        return ops.zeros(shape, dtype)


class Ones(Initializer):
    """Ones."""

    def __init__(self, dtype: Any = "float32") -> None:
        self.dtype = dtype

    def values(self, shape: list[int], dtype: Any) -> Any:
        return ops.ones(shape, dtype)


class Constant(Initializer):
    """A number, or an array of the shape's size."""

    def __init__(self, value: Any = 0, dtype: Any = "float32", verify_shape: bool = False) -> None:
        self.value, self.dtype, self._verifies = value, dtype, verify_shape

    def values(self, shape: list[int], dtype: Any) -> Any:
        array = np.asarray(self.value)
        if self._verifies and array.shape != tuple(shape):
            problem = f"the value has the shape {array.shape}, not {tuple(shape)}, and verify_shape is True."
            raise op_error(TypeError, "tf.constant_initializer", problem)
        if array.size == 1:
            return ops.broadcast_to(ops.cast(array.reshape(()), dtype), shape)
        if array.size != math.prod(shape):
            raise op_error(ValueError, "tf.constant_initializer", f"{array.size} numbers do not fill {tuple(shape)}.")
        return ops.cast(array.reshape(shape), dtype)


class _Random(Initializer):
    draw: Callable[..., Any]
    first: str
    second: str

    def __init__(self, first: Any, second: Any, seed: Any, dtype: Any) -> None:
        self._parameters, self.seed, self.dtype = (first, second), seed, dtype

    def values(self, shape: list[int], dtype: Any) -> Any:
        return type(self).draw(shape, *self._parameters, dtype=dtype, seed=self.seed)


def _random(names: str, draw: Callable[..., Any], first: tuple[str, Any, Any], second: tuple[str, Any, Any]) -> Any:
    """Add an initialiser of random numbers; a parameter is its name and its defaults in the two versions."""
    for view, place in (("v2", 2), ("v1", 1)):

        class Drawn(_Random):
            """Random numbers."""

            def __init__(self, *args: Any, _place: int = place, **kwargs: Any) -> None:
                given = {first[0]: first[_place], second[0]: second[_place], "seed": None, "dtype": "float32"}
                given.update(zip(given, args, strict=False))
                if unknown := set(kwargs) - set(given):
                    raise TypeError(f"no argument {sorted(unknown)}; it takes {', '.join(given)}.")
                given.update(kwargs)
                super().__init__(given[first[0]], given[second[0]], given["seed"], given["dtype"])

        Drawn.draw = staticmethod(draw)
        value(names, Drawn, view)
    return Drawn


_random("random_normal_initializer initializers.random_normal", normal, ("mean", 0.0, 0.0), ("stddev", 1.0, 0.05))
TruncatedNormal = _random(
    "truncated_normal_initializer initializers.truncated_normal",
    truncated_normal,
    ("mean", 0.0, 0.0),
    ("stddev", 1.0, 0.05),
)
RandomUniform = _random(
    "random_uniform_initializer initializers.random_uniform",
    in_v1(uniform),
    ("minval", 0.0, -0.05),
    ("maxval", None, 0.05),
)


SPREAD_OF_CUT = 0.87962566103423978  # the deviation of a normal that is cut off at 2


class VarianceScaling(Initializer):
    """Random numbers whose variance is a scale divided by the number of inputs, of outputs, or their mean."""

    def __init__(
        self,
        scale: float = 1.0,
        mode: str = "fan_in",
        distribution: str = "truncated_normal",
        seed: Any = None,
        dtype: Any = "float32",
    ) -> None:
        if scale <= 0 or mode not in ("fan_in", "fan_out", "fan_avg"):
            problem = f"scale must be above 0 and mode fan_in, fan_out or fan_avg, not {scale} and {mode!r}."
            raise op_error(ValueError, "tf.variance_scaling_initializer", problem)
        if distribution not in ("normal", "truncated_normal", "untruncated_normal", "uniform"):
            raise op_error(ValueError, "tf.variance_scaling_initializer", f"no distribution is {distribution!r}.")
        self.scale, self.mode, self.distribution, self.seed, self.dtype = scale, mode, distribution, seed, dtype

    def values(self, shape: list[int], dtype: Any) -> Any:
        return self._drawn(shape, dtype, fans(shape))

    def part(self, shape: list[int], dtype: Any, info: Any) -> Any:
        return self._drawn(shape, dtype, fans(info.full_shape))

    def _drawn(self, shape: list[int], dtype: Any, size: tuple[float, float]) -> Any:
        inputs, outputs = size
        count = {"fan_in": inputs, "fan_out": outputs, "fan_avg": (inputs + outputs) / 2}[self.mode]
        variance = self.scale / max(1.0, count)
        if self.distribution == "uniform":
            bound = math.sqrt(3 * variance)
            return in_v1(uniform)(shape, -bound, bound, dtype=dtype, seed=self.seed)
        if self.distribution == "untruncated_normal":
            return normal(shape, 0.0, math.sqrt(variance), dtype=dtype, seed=self.seed)
        spread = math.sqrt(variance) / SPREAD_OF_CUT
        return truncated_normal(shape, 0.0, spread, dtype=dtype, seed=self.seed)


def fans(shape: list[int]) -> tuple[float, float]:
    """The numbers of inputs and of outputs that a weight of a shape connects."""
    if len(shape) < 2:
        size = shape[0] if shape else 1
        return size, size
    window = math.prod(shape[:-2])
    return window * shape[-2], window * shape[-1]


def _scaling(names: str, scale: float, mode: str, distribution: str) -> None:
    class Scaled(VarianceScaling):
        """Random numbers of a variance that fits the shape."""

        def __init__(self, seed: Any = None, dtype: Any = "float32") -> None:
            super().__init__(scale, mode, distribution, seed, dtype)

    value(names, Scaled)


value("zeros_initializer initializers.zeros", Zeros)
value("ones_initializer initializers.ones", Ones)
value("constant_initializer initializers.constant", Constant)
value("variance_scaling_initializer initializers.variance_scaling", VarianceScaling)
_scaling("glorot_uniform_initializer initializers.glorot_uniform", 1.0, "fan_avg", "uniform")
_scaling("glorot_normal_initializer initializers.glorot_normal", 1.0, "fan_avg", "truncated_normal")
_scaling("initializers.he_normal", 2.0, "fan_in", "truncated_normal")
_scaling("initializers.he_uniform", 2.0, "fan_in", "uniform")
_scaling("initializers.lecun_normal", 1.0, "fan_in", "truncated_normal")
_scaling("initializers.lecun_uniform", 1.0, "fan_in", "uniform")


class UniformUnitScaling(Initializer):
    """Uniform numbers that keep the scale of inputs.

    Source: `tf.compat.v1.uniform_unit_scaling_initializer`.
    """

    def __init__(self, factor: float = 1.0, seed: Any = None, dtype: Any = "float32") -> None:
        self.factor, self.seed, self.dtype = factor, seed, dtype

    def values(self, shape: list[int], dtype: Any) -> Any:
        return self._drawn(shape, dtype, shape)

    def part(self, shape: list[int], dtype: Any, info: Any) -> Any:
        return self._drawn(shape, dtype, info.full_shape)

    def _drawn(self, shape: list[int], dtype: Any, whole: list[int]) -> Any:
        bound = math.sqrt(3 / max(1.0, math.prod(whole[:-1]))) * self.factor
        return in_v1(uniform)(shape, -bound, bound, dtype=dtype, seed=self.seed)


class Orthogonal(Initializer):
    """Weights whose columns, or rows if these are fewer, are orthogonal, and as long as the gain.

    Source: `tf.compat.v1.orthogonal_initializer`; Saxe et al. 2014, "Exact solutions to the nonlinear dynamics".
    """

    def __init__(self, gain: float = 1.0, seed: Any = None, dtype: Any = "float32") -> None:
        self.gain, self.seed, self.dtype = gain, seed, dtype

    def values(self, shape: list[int], dtype: Any) -> Any:
        if len(shape) < 2:
            problem = f"weights with rows and columns can be orthogonal, and not a tensor of the shape {shape}."
            raise op_error(ValueError, "tf.orthogonal_initializer", problem)
        rows, columns = math.prod(shape[:-1]), shape[-1]
        drawn = normal((max(rows, columns), min(rows, columns)), dtype=dtype, seed=self.seed)
        q, r = ops.qr(drawn)
        q = ops.multiply(q, ops.sign(ops.diagonal(r)))  # so that the draws alone decide
        return ops.multiply(self.gain, ops.reshape(ops.transpose(q) if rows < columns else q, shape))


class Identity(Initializer):
    """An identity matrix times a gain.

    Source: `tf.compat.v1.initializers.identity`.
    """

    def __init__(self, gain: float = 1.0, dtype: Any = "float32") -> None:
        self.gain, self.dtype = gain, dtype

    def values(self, shape: list[int], dtype: Any) -> Any:
        if len(shape) != 2:
            problem = f"a matrix can be an identity, and not a tensor of the shape {shape}."
            raise op_error(ValueError, "tf.initializers.identity", problem)
        return ops.multiply(self.gain, ops.eye(shape[0], shape[1], dtype=dtype))

    def part(self, shape: list[int], dtype: Any, info: Any) -> Any:
        start = info.var_offset
        whole = self.values(info.full_shape, dtype)
        return whole[tuple(slice(first, first + size) for first, size in zip(start, shape, strict=True))]


value("uniform_unit_scaling_initializer initializers.uniform_unit_scaling", UniformUnitScaling)
value("orthogonal_initializer initializers.orthogonal", Orthogonal)
value("initializers.identity", Identity)


def default_initializer(dtype: Any) -> Initializer:
    """The default initialiser of `get_variable`: glorot_uniform for floats, zeros for other dtypes."""
    return VarianceScaling(1.0, "fan_avg", "uniform") if as_dtype(dtype).is_floating else Zeros()
