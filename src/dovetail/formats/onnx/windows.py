"""Windows of convolutions and pools, and the layouts of their images."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dovetail.core.base.windows import Windows
from dovetail.formats.nodes.constants import is_tensor, of_rank
from dovetail.formats.nodes.opaque import Unreadable
from dovetail.formats.nodes.waiting import wait_for
from dovetail.formats.onnx.sizes import more
from dovetail.formats.onnx.written_nodes import Place, Ref
from dovetail.ops.shapes.shape import dims_of

FIRST = "channels_first"
WINDOW = "kernel_shape:size strides dilations pads auto_pad:auto"


def paddings(
    x: Any, size: Sequence[Any], strides: Sequence[int], dilations: Sequence[int], pads: Any, auto: str
) -> list[tuple[Any, Any]]:
    """The widths before and after each spatial axis.

    Raises:
        Unreadable: they wait for sizes.
    """
    rank = len(size)
    of_rank(x, rank + 2)
    numbers = [one for one in (*size, *strides, *dilations) if one is not None]
    if {len(strides), len(dilations)} != {rank} or (pads and len(pads) != 2 * rank) or min(numbers, default=1) < 1:
        raise Unreadable(f"it has windows {list(size)}, strides {strides}, dilations {dilations}, and pads {pads}")
    if auto in ("NOTSET", "VALID"):
        pads = pads if pads and auto == "NOTSET" else [0] * 2 * rank
        return list(zip(pads[:rank], pads[rank:], strict=True))
    widths = []
    for i in range(rank):
        reach, length = (size[i] - 1) * dilations[i] + 1, dims_of(x)[2 + i]
        if is_tensor(length) and strides[i] > 1:
            wait_for("its padding depends on a size that is not known")
        is_fixed = is_tensor(length) and strides[i] == 1
        whole = reach - 1 if is_fixed else more((-(-length // strides[i]) - 1) * strides[i] + reach - length, 0)
        small, large = whole // 2, whole - whole // 2
        widths.append((small, large) if auto == "SAME_UPPER" else (large, small))
    return widths


def channels_first(place: Place, x: Ref, rank: int, layout: str = "channels_last") -> Ref:
    """An image of some spatial axes with the channels first."""
    return x if layout == "channels_first" else place.node("Transpose", x, perm=[0, rank + 1, *range(1, rank + 1)])


def given_back(place: Place, x: Ref, rank: int, layout: str = "channels_last") -> list[Ref]:
    """An image whose channels are first, as the operation's result."""
    return [x] if layout == "channels_first" else place.result("Transpose", x, perm=[0, *range(2, rank + 2), 1])


def image_of(shape: Any, layout: str) -> tuple[Any, Any]:
    """The spatial sizes of an image, and the number of its channels."""
    return (shape[2:], shape[1]) if layout == "channels_first" else (shape[1:-1], shape[-1])


def pad_attributes(windows: Windows, sizes: Sequence[Any]) -> dict[str, Any]:
    """The attributes that say the padding; sizes that are not known are padded when the model runs."""
    if all(stride == 1 for stride in windows.strides):
        sizes = [1 if size is None else size for size in sizes]  # any size is padded alike
    if windows.padding == "same" and None in sizes:
        return {"auto_pad": "SAME_UPPER"}
    pairs = windows.pads(sizes)
    return {"pads": [*(low for low, _ in pairs), *(high for _, high in pairs)]}
