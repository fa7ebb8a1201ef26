"""Programs on Dovetail: old ones as they are, and programs of Keras 3, on an engine."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import dovetail.cli
from dovetail.cli import WrongInput
from dovetail.compat import run as running_package
from dovetail.compat.run import Program, running
from dovetail.compat.run.missing import missing, said
from dovetail.compat.source.sources import PYTHON_2, Unread
from dovetail.core.base.optional_api import spec_of
from dovetail.core.base.tracebacks import leave_out, report
from dovetail.core.engines.engine_registry import AUTO, list_engines, set_engine
from dovetail.observe.profile import profile

KERAS_BACKEND = "keras_dovetail"  # it depends on Dovetail, so Dovetail imports it by name only
OURS = os.path.dirname(dovetail.cli.__file__), (os.path.dirname(running_package.__file__), "<frozen ")
LACKS_NAMES = 3  # the exit status of a program that needs a name that is not offered


def choose(engine: str | None) -> None:
    """Make an engine current for Keras, also in processes that the script starts; None keeps the default."""
    if engine is not None:
        if engine in (AUTO, *list_engines()):  # else set_engine raises an error
            import_module(KERAS_BACKEND)  # before TensorFlow, which imports Keras
        set_engine(engine)
        os.environ["DOVETAIL_ENGINE"] = engine


def prepared(
    target: Path,
    arguments: Sequence[str],
    *,
    is_module: bool = False,
    **given: Any,
) -> Callable[[], None]:
    """Map a program's imports, tell its kind on stderr, and return the function that runs it.

    Args:
        target: a Python file or a notebook; or the name of a module, if `is_module` is true.
        arguments: the program's own, `sys.argv[1:]`.
        given: the other arguments of `running`.

    Raises:
        WrongInput: the file is not Python 3.
    """
    import_module(KERAS_BACKEND)
    if not sys.flags.safe_path:
        del sys.path[0]  # the folder of this command; the program's takes its place
    file = _file_of(str(target)) if is_module else target
    stack = ExitStack()
    folder = "." if is_module else None
    suite = arguments if is_module and file is None and str(target) == "pytest" else None
    program = stack.enter_context(running(file, folder=folder, suite=suite, **given))
    for unread in program.unread:
        if unread.place.path == str(target) and (unread.place.cell is None or PYTHON_2 in unread.why):
            raise WrongInput(_said(unread))
    if program.decision.is_shown:
        engine = os.environ.get("DOVETAIL_ENGINE", AUTO)
        print(f"dovetail: {program.decision}; engine {engine}", file=sys.stderr)
    run = partial(program.run_module, str(target)) if is_module else program.run
    return partial(_run, program, partial(run, arguments), stack)


def _file_of(module: str) -> Path | None:
    """The file of a module that `-m` names; None for an installed package, which is not read."""
    parts = Path(*module.split("."))
    return next((file for file in (parts.with_suffix(".py"), parts / "__main__.py") if file.is_file()), None)


def _said(unread: Unread) -> str:
    """Why a file is not Python 3, and the command that converts one of Python 2."""
    path = Path(unread.place.path)
    before = "" if unread.place.cell is None else f"jupyter nbconvert --to script {path}; "
    command = "python -m lib2to3" if spec_of("lib2to3") else "pip install fissix; python -m fissix"
    advice = f"\nto convert it: {before}{command} --write --nobackups {path.with_suffix('.py')}"
    return f"{unread.place}: {unread.why}{advice if PYTHON_2 in unread.why else ''}"


def _run(program: Program, run: Callable[[], object], stack: ExitStack) -> None:
    """Run a program as Python does; one that lacks names ends with the list of them."""
    leave_out(*OURS)
    with stack:
        try:
            run()
        except (AttributeError, ImportError) as error:
            names = missing(program.uses, program.imports)
            if not any(each.message in str(error) for each in names):
                raise
            report(type(error), error, error.__traceback__)
            print(f"\ndovetail: {len(names)} names of this program are not offered:\n{said(names)}", file=sys.stderr)
            raise SystemExit(LACKS_NAMES) from None
        except SyntaxError as error:
            old = [each for each in program.unread if os.path.realpath(each.place.path) == error.filename]
            if not old:
                raise
            report(type(error), error, error.__traceback__)
            raise SystemExit(f"\ndovetail: {_said(old[0])}") from None


def profiled(run: Callable[[], None], trace: Path | None) -> None:
    """Run a program in a profile, and print its table to stderr at the end, also if the program fails.

    Args:
        run: the program.
        trace: the file for a trace; None for none.
    """
    taken = profile()
    try:
        with taken:
            run()
    finally:
        print(taken, file=sys.stderr)
        if trace is not None:
            taken.save(trace)
