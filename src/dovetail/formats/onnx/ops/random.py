"""Random numbers, other ones in each run: RandomUniform, RandomNormal, Bernoulli, Multinomial, Dropout.

A seed gives the same sequence of runs for each load of a model, on every engine; without one, each load has its own.
"""

from __future__ import annotations

import secrets
from typing import Any

import numpy as np

from dovetail import ops
from dovetail.core.base import threefry
from dovetail.core.base.scopes import not_building
from dovetail.formats.onnx.nodes import Node
from dovetail.formats.onnx.table import special, writes
from dovetail.formats.onnx.tensors import dtype_of
from dovetail.formats.onnx.written_nodes import Place, Ref
from dovetail.ops.random.generator import Generator

# -- reading ----------------------------------------------------------------------------------------------------------


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


# -- writing ----------------------------------------------------------------------------------------------------------

WORD = 2**32


@writes("StatelessRandomUniformFullInt")
def _random(place: Place, key: Ref, shape: Any, counter: Ref | None, part: Ref | None) -> list[Ref]:
    """Threefry, as `core.base.threefry` has it, in int64 whose values are words of 32 bits."""
    mask = place.constant(WORD - 1)

    def word(x: Ref) -> Ref:
        return place.node("BitwiseAnd", x, mask)

    def add(*parts: Any) -> Ref:
        total = parts[0]
        for part in parts[1:]:
            total = place.node("Add", total, part if isinstance(part, Ref) else place.constant(part))
        return word(total)

    def xor(x: Ref, y: Any) -> Ref:
        return place.node("BitwiseXor", x, y if isinstance(y, Ref) else place.constant(y))

    def pair(x: Ref) -> tuple[Ref, ...]:
        words = word(place.ints(x))
        return tuple(place.node("Gather", words, place.constant([number])) for number in range(2))

    sizes = place.ints(shape)
    size = place.node("ReduceProd", sizes, keepdims=0)
    is_row = part is not None and len(place.operation.outputs[0].shape or ()) == 1
    zero, one, two = (place.constant(number) for number in range(3))

    def half(count: Ref) -> Ref:
        return place.node("Div", place.node("Add", count, one), two)

    if part is None:
        x = place.node("Range", zero, half(size), one)
    else:
        offset, total = (place.node("Gather", part, number) for number in (zero, one))
        count = place.node("Gather", sizes, place.constant(-1))
        columns = place.node("Add", offset, place.node("Range", zero, count, one))
        period = half(total) if is_row else total
        is_first = place.node("Less", columns, period, dtype="bool")
        x = place.node("Where", is_first, columns, place.node("Sub", columns, period))
    y = place.node("Sub", x, x)
    if counter is not None:
        x, y = (add(one, start) for one, start in zip((x, y), pair(counter), strict=True))
    k0, k1 = pair(key)
    keys = k0, k1, xor(xor(k0, k1), threefry.PARITY)
    x, y = add(x, k0), add(y, k1)
    for turn in range(5):
        for bits in threefry.ROTATIONS[turn % 2]:
            x = add(x, y)
            wide = place.node("Mul", y, place.constant(1 << bits))
            y = xor(place.node("Add", word(wide), place.node("Div", wide, place.constant(WORD))), x)
        x, y = add(x, keys[(turn + 1) % 3]), add(y, keys[(turn + 2) % 3], turn + 1)
    if is_row:
        words = place.node("Where", is_first, x, y)
    else:
        words = place.node("Slice", place.node("Concat", [x, y], axis=0), place.constant([0]), _row(place, size))
    is_high = place.node("GreaterOrEqual", words, place.constant(WORD // 2), dtype="bool")
    signed = place.node("Where", is_high, place.node("Sub", words, place.constant(WORD)), words, dtype="int64")
    return place.result("Reshape", place.cast(signed, "int32"), sizes, allowzero=1)


def _row(place: Place, x: Ref) -> Ref:
    return place.node("Unsqueeze", x, place.constant([0]))
