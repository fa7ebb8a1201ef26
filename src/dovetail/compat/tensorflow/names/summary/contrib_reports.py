"""Reports of models: the sizes of tensors, and the settings of TensorBoard's projector of embeddings."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

from dovetail.compat.tensorflow.entries import lazy
from dovetail.compat.tensorflow.table import function
from dovetail.core.values.value_kinds import static_shape
from dovetail.formats.wire.messages import TENSORFLOW, to_text

_SIZES, _PROJECTOR = "contrib.slim.model_analyzer", "contrib.tensorboard.plugins.projector"


@function(f"{_SIZES}.tensor_description", "v1")
def tensor_description(var: Any) -> str:
    """The dtype and the shape of a tensor or variable: "(float32 3x4)".

    Source: `tf.contrib.slim.model_analyzer.tensor_description`.
    """
    return f"({var.dtype.base_dtype.name} {'x'.join(map(str, var.get_shape()))})"


@function(f"{_SIZES}.analyze_ops", "v1")
def analyze_ops(graph: Any, print_info: bool = False) -> int:
    """The number of elements of all tensors in a graph; those of unknown shape count as 0.

    Source: `tf.contrib.slim.model_analyzer.analyze_ops`.
    """
    lines, total = ["Operations: name -> (type shapes) [size]"], 0
    for node in graph.get_operations():
        size = sum(_size(tensor) for tensor in node.outputs)
        shapes = ", ".join(tensor_description(tensor) for tensor in node.outputs if static_shape(tensor))
        lines.append(f"{node.name} \t-> {shapes} [{size}]")
        total += size
    if print_info:
        _show(lines)
    return total


@function(f"{_SIZES}.analyze_vars", "v1")
def analyze_vars(variables: Any, print_info: bool = False) -> tuple[int, int]:
    """The numbers of elements and of bytes of all variables.

    Source: `tf.contrib.slim.model_analyzer.analyze_vars`.
    """
    lines, total, total_bytes = ["Variables: name (type shape) [size]"], 0, 0
    for variable in variables:
        size = _size(variable)
        count = size * variable.dtype.size
        lines.append(f"{variable.name} {tensor_description(variable)} [{size}, bytes: {count}]")
        total, total_bytes = total + size, total_bytes + count
    if print_info:
        _show([*lines, f"Total size of variables: {total}", f"Total bytes of variables: {total_bytes}"])
    return total, total_bytes


def _size(tensor: Any) -> int:
    return tensor.get_shape().num_elements() or 0


def _show(lines: list[str]) -> None:
    title, *rest = lines
    print("---------", title, "---------", *rest, sep="\n")


for _name in ("ProjectorConfig", "EmbeddingInfo", "SpriteMetadata"):
    lazy(f"{_PROJECTOR}.{_name}", partial(getattr, TENSORFLOW, _name))


@function(f"{_PROJECTOR}.visualize_embeddings", "v1")
def visualize_embeddings(summary_writer: Any, config: Any) -> None:
    """Write the settings of the projector into the folder of a writer, where TensorBoard reads them.

    Args:
        summary_writer: a `FileWriter`, or the folder.
        config: a `ProjectorConfig`.

    Source: `tf.contrib.tensorboard.plugins.projector.visualize_embeddings`.
    """
    folder = getattr(summary_writer, "get_logdir", lambda: summary_writer)()
    Path(folder, "projector_config.pbtxt").write_text(to_text(config))
