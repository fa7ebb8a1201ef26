"""`dovetail run` and `dovetail demo`: programs with Keras on Dovetail, on an engine."""

from __future__ import annotations

import os
import runpy
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from dovetail.core.engine_registry import AUTO, list_engines, set_engine
from dovetail.plan.profile import profile

KERAS_BACKEND = "keras_dovetail"  # it depends on Dovetail, so Dovetail imports it by name only
DEMO = {  # the libraries that the demo imports → their names for pip
    "keras": "keras==3.15.1",
    "matplotlib": "matplotlib",
    "sklearn": "scikit-learn",
    "tqdm": "tqdm",
}


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


def demo() -> Callable[..., int]:
    """The function that `dovetail demo` runs.

    Raises:
        ImportError: a library that it needs is not installed, or the installed Keras does not run on Dovetail.
    """
    missing = [library for library in DEMO if find_spec(library) is None]
    if missing:
        advice = f"pip install {' '.join(DEMO[library] for library in missing)}"
        raise ImportError(f"the demo needs libraries that are not installed, {', '.join(missing)}: {advice}")
    return import_module(f"{KERAS_BACKEND}.demo").run
