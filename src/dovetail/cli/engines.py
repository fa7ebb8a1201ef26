"""`dovetail engines`: the engines, with their versions and devices, or how to install them."""

from __future__ import annotations

import argparse
import os

from dovetail.core.base.texts import table
from dovetail.core.engines.engine_registry import AUTO, BUILT_IN, get_engine, is_installed, known_engines

DESCRIPTION = "Lists the engines: versions, devices, and how to install those that are missing."

EXAMPLES = """\
examples:
  dovetail engines                               the engines, and which one is the default
  dovetail doctor                                the packages, the versions that fit, and what to install
"""

HOW_TO_CHOOSE = """\
Default: {default} ({why}).  Choose with dovetail.set_engine(name), `with dovetail.engine(name):` or DOVETAIL_ENGINE.
With "auto" each function and model runs on the engine that is measured to be the fastest for it, all else on numpy."""


def declare(parser: argparse.ArgumentParser) -> None:
    """Add no arguments."""


def run(options: argparse.Namespace) -> int:
    """Print the table of engines, and return the exit status."""
    print(report())
    return 0


def report() -> str:
    """The table of engines, as text.  The line of a broken library shows its error."""
    rows = [["engine", "version", "devices", "state"], *map(_row, known_engines())]
    chosen = os.environ.get("DOVETAIL_ENGINE")
    why = "from DOVETAIL_ENGINE" if chosen else "DOVETAIL_ENGINE is not set"
    if chosen and chosen not in (AUTO, *known_engines()):
        why += ", but there is no such engine"
    return f"{table(rows)}\n\n{HOW_TO_CHOOSE.format(default=chosen or AUTO, why=why)}"


def _row(name: str) -> list[str]:
    if not is_installed(name):
        return [name, "-", "-", f"not installed: {BUILT_IN[name].install}"]
    try:
        engine = get_engine(name)
        return [name, engine.version(), ", ".join(engine.devices()), "ready"]
    except Exception as error:  # a broken library may raise anything, and the user has to see it
        return [name, "-", "-", f"broken: {type(error).__name__}: {_first_line(error)}"]


def _first_line(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return lines[0] if lines else "no message"
