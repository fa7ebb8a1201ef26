"""Rows whose types several ops compute: functions of tensors and static values, in modules by family."""

from dovetail.formats.tensorflow.bodies import (
    arithmetic,
    blocks,
    gradients,
    images,
    indexing,
    layers,
    linalg,
    optimizers,
    segments,
    shapes,
    variables,
)

__all__ = [
    "arithmetic",
    "blocks",
    "gradients",
    "images",
    "indexing",
    "layers",
    "linalg",
    "optimizers",
    "segments",
    "shapes",
    "variables",
]
