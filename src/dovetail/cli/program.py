"""Programs with Keras on Dovetail, on an engine."""

from __future__ import annotations

import os
import runpy
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from dovetail.core.engine_registry import AUTO, list_engines, set_engine
from dovetail.plan.profile import profile

KERAS_BACKEND = "keras_dovetail"  # it depends on Dovetail, so Dovetail imports it by name only


def choose(engine: str | None) -> None:
    """Make an engine current for Keras, also in processes that the script starts; None keeps the default."""
    if engine is not None:
        if engine in (AUTO, *list_engines()):  # else set_engine raises an error
            import_module(KERAS_BACKEND)  # before TensorFlow, which imports Keras
        set_engine(engine)
        os.environ["DOVETAIL_ENGINE"] = engine


def run(script: Path, arguments: Sequence[str]) -> None:
    """Make Keras run on Dovetail, then run a script as Python does.

    Args:
        script: a Python file.
        arguments: the script's own, `sys.argv[1:]`.
    """
    import_module(KERAS_BACKEND)
    sys.argv[:] = [str(script), *arguments]
    sys.path.insert(0, str(script.resolve().parent))
    runpy.run_path(str(script), run_name="__main__")


def run_profiled(script: Path, arguments: Sequence[str], trace: Path | None) -> None:
    """Run a script in a profile, and print its table to stderr at the end, also if the script fails.

    Args:
        script, arguments: as in `run`.
        trace: the file for a trace; None for none.
    """
    taken = profile()
    try:
        with taken:
            run(script, arguments)
    finally:
        print(taken, file=sys.stderr)
        if trace is not None:
            taken.save(trace)
