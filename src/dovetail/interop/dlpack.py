"""DLPack: tensors that share memory with other libraries.

Tensors and variables speak DLPack themselves (`torch.from_dlpack(tensor)`), and `ops.convert` takes any object that
does.  These functions are for capsules, and for programs that want to be explicit.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dovetail import ops
from dovetail.core.engines.engine_registry import current_engine, get_engine
from dovetail.core.tensor import Tensor

CPU = (1, 0)


class _Capsule:
    """A bare capsule, as an object that speaks DLPack; its memory is assumed to be on the CPU."""

    def __init__(self, capsule: Any) -> None:
        self._capsule = capsule

    def __dlpack__(self, **options: Any) -> Any:
        return self._capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return CPU


def to_dlpack(x: Any) -> Any:
    """A capsule with the memory of a tensor or variable, which a library can take once.

    The library must not write to the memory: tensors are values.

    Source: `tf.experimental.dlpack.to_dlpack`.
    """
    return ops.convert(x).__dlpack__()


def from_dlpack(source: Any, engine: str | None = None) -> Tensor:
    """A Tensor of an object that speaks DLPack: in the same memory if the engine can hold it, else a copy.

    Later writes by the source's owner show in the Tensor; `ops.convert` copies NumPy arrays instead.

    Args:
        source: an object with `__dlpack__`, or a capsule on the CPU.
        engine: the engine of the Tensor; the current engine if not given.

    Raises:
        TypeError: the source does not speak DLPack.

    Source: `numpy.from_dlpack`.

    Example:
        >>> import numpy as np
        >>> from_dlpack(np.arange(3.))
        Tensor([0., 1., 2.], float64[3], numpy)
    """
    if type(source).__name__ == "PyCapsule":
        source = np.from_dlpack(_Capsule(source))
    if not hasattr(source, "__dlpack__"):
        raise TypeError(f"from_dlpack needs an object with __dlpack__, or a capsule, not {source!r}.")
    holder = current_engine() if engine is None else get_engine(engine).holder
    return Tensor(holder.take(source), holder)
