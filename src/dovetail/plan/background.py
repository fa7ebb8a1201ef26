"""Work in the background: one thread that prepares plans while a program runs others."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

_workers: list[ThreadPoolExecutor] = []


def later(function: Callable[[], None]) -> None:
    """Calls a function in the background, after those that came before it; never if the process ends before."""
    if not _workers:
        _workers.append(ThreadPoolExecutor(1, thread_name_prefix="dovetail-plans"))
    try:
        _workers[0].submit(function)
    except RuntimeError:
        return  # the process ends


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_workers.clear)  # whose thread a fork does not copy
