"""The names of `horovod.keras`: those of `dovetail.compat.horovod`, but exchanges of values give NumPy's arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from dovetail.compat import horovod


def __getattr__(name: str) -> Any:
    call = getattr(horovod, name)
    if name not in ("allgather", "allreduce", "broadcast"):
        return call
    return lambda value, *args, **options: np.asarray(call(value, *args, **options))[()]
