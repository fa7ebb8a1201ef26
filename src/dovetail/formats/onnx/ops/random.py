"""Random numbers: of ONNX's distributions, other ones in each run.

A seed gives the same sequence of runs for each load of a model, on every engine; without one, each load has its own.
"""

from __future__ import annotations

import secrets
from typing import Any

import numpy as np

from dovetail import ops
from dovetail.core.base.scopes import not_building
from dovetail.formats.onnx.nodes import Node
from dovetail.formats.onnx.table import special
from dovetail.formats.onnx.tensors import dtype_of
from dovetail.ops.random.generator import Generator


def _key(node: Node) -> Any:
    """The key of a draw; the model keeps the generator, also where it is read for other shapes."""
    generators, seed = node.reader.generators, node.attrs.get("seed")
    if node.name not in generators:
        number = secrets.randbits(62) if seed is None else int(np.float64(seed).view(np.uint64)) >> 1
        with not_building():  # it belongs to the model, and is no part of a trace
            generators[node.name] = Generator(number)
    return generators[node.name].next_key()


def _shape(node: Node) -> Any:
    return node.attrs["shape"] if "shape" in node.attrs else ops.shape(node.tensor(0))


def _cast(node: Node, found: Any) -> Any:
    """Numbers in the dtype that the node says, or that its input has."""
    return ops.cast(found, dtype_of(node.attrs.get("dtype", node.number(0) if node.inputs else 1)))


@special("RandomUniform RandomUniformLike")
def _uniform(node: Node) -> Any:
    low, high = node.attrs.get("low", 0.0), node.attrs.get("high", 1.0)
    return _cast(node, ops.random.uniform(_key(node), _shape(node)) * (high - low) + low)


@special("RandomNormal RandomNormalLike")
def _normal(node: Node) -> Any:
    numbers = ops.random.normal(_key(node), _shape(node))
    return _cast(node, numbers * node.attrs.get("scale", 1.0) + node.attrs.get("mean", 0.0))


@special("Bernoulli")
def _bernoulli(node: Node) -> Any:
    return _cast(node, ops.less(ops.random.uniform(_key(node), _shape(node)), node.tensor(0)))


@special("Multinomial")
def _multinomial(node: Node) -> Any:
    """Classes, drawn by the logarithms of their shares, for each row."""
    logits, count = node.tensor(0), node.attrs.get("sample_size", 1)
    classes = ops.random.categorical(_key(node), logits, (count,))
    return ops.cast(classes, dtype_of(node.attrs.get("dtype", 6)))


@special("Dropout")
def _dropout(node: Node) -> Any:
    """Dropout and its mask; nothing is dropped where no training is asked for."""
    x, ratio = node.tensor(0), node.constant(1) if node.has(1) else 0.5
    if not (node.has(2) and node.constant(2) and ratio):
        return [x, ops.ones_like(x, "bool")]
    kept = ops.greater_equal(ops.random.uniform(_key(node), ops.shape(x)), ratio)
    return [ops.where(kept, ops.cast(x / (1 - ratio), x.dtype), ops.zeros_like(x)), kept]
