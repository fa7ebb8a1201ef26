"""Residual networks of `tf.contrib.slim.nets`, of few units."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.compat.tensorflow.legacy import array

IMAGE = array(1, 33, 33, 3)


def _resnet(version: int, **options: Any) -> Callable[[Any, Any], Any]:
    """A case: the logits, and the outputs of parts by name."""

    def case(tf: Any, fed: Any) -> Any:
        slim, title = tf.contrib.slim, f"resnet_v{version}"
        made = getattr(slim.nets, title)
        block = getattr(made, f"{title}_block")
        blocks = [block("block1", 1, 2, 2), block("block2", 2, 2, 2)]
        with slim.arg_scope(slim.nets.resnet_utils.resnet_arg_scope()):
            net, points = getattr(made, title)(fed(IMAGE, [1, 33, 33, 3]), blocks, 4, False, **options)
        return [net, *(points[key] for key in sorted(points))]

    return case


CASES = {
    f"version {version}, {options}": _resnet(version, **options)
    for version in (1, 2)
    for options in ({}, {"output_stride": 8, "global_pool": False}, {"include_root_block": False, "scope": "own"})
}
