"""The shapes of recurrent layers, and their values step by step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dovetail.core.values.infer import any_rank, ranked, require_shape
from dovetail.core.values.spec import TensorSpec
from dovetail.ops.linalg.products import matmul
from dovetail.ops.shapes.join import concatenate
from dovetail.ops.shapes.shape import dims_of, expand_dims, reshape, transpose


def recurrent_dims(
    x: TensorSpec, h: TensorSpec, kernel: TensorSpec, recurrent: TensorSpec, gates: int
) -> tuple[Any, Any, Any]:
    """The batch, the steps and the units of a layer with a number of gates.

    Raises:
        ValueError: shapes do not fit together.
    """
    x = ranked(x, 3)
    if x.rank != 3:
        raise ValueError(f"the sequences must be (batch, steps, features), but their shape is {x.shape}.")
    batch, steps, features = x.shape
    require_shape(h, (batch, None))
    units = next((s.shape[axis] for s, axis in ((h, 1), (recurrent, 0)) if s.shape and s.shape[axis] is not None), None)
    wide = None if units is None else gates * units
    require_shape(h, (batch, units))
    require_shape(kernel, (features, wide))
    require_shape(recurrent, (units, wide))
    return batch, steps, units


def gradient_spec(of_layer: Callable[..., list[TensorSpec]], results: int) -> Callable[..., list[TensorSpec]]:
    """The shape rule of the gradients of a layer.

    Args:
        of_layer: the shape rule of the layer.
        results: the number of its results; the op of the gradients takes their gradients, the first result, and the
            layer's arguments.
    """

    @any_rank
    def of_gradient(*specs: Any) -> list[TensorSpec]:
        given, arguments = specs[: results + 1], specs[results + 1 :]
        outputs = of_layer(*arguments)
        for spec, output in zip(given, (*outputs, outputs[0]), strict=True):
            require_shape(spec, output.shape)
        return [argument for argument in arguments if argument is not None]

    return of_gradient


def by_step(x: Any) -> Any:
    """Exchange the axes of batch and steps."""
    return transpose(x, (1, 0, 2))


def before_each(outputs: Any, first: Any) -> Any:
    """The outputs (steps, batch, units) before each step; `first` comes before the first step."""
    return concatenate([expand_dims(first, 0), outputs])[:-1]


def weight_gradient(x: Any, g: Any) -> Any:
    """The gradient of a matrix by which all steps were multiplied, as one product."""
    (steps, batch, features), units = dims_of(x), dims_of(g)[-1]
    flat_x, flat_g = (reshape(t, (steps * batch, wide)) for t, wide in ((x, features), (g, units)))
    return matmul(flat_x, flat_g, transpose_a=True)
