"""`dovetail tune`: measure how fast each engine is on this machine, so that first predictions are better."""

from __future__ import annotations

import argparse
import json
import math
import sys

from dovetail.choose import calibration, costs, records
from dovetail.choose.candidate import FAILURES
from dovetail.choose.rates import Rates, rates
from dovetail.cli.progress import tracked
from dovetail.core.base import cache_folder
from dovetail.core.base.texts import table
from dovetail.core.engines.engine_registry import known_engines, list_candidates
from dovetail.functions import rate_programs

DESCRIPTION = """\
Measures how quick each engine is on this machine: at products, convolutions, recurrent layers, optimizers and so on.
It measures the time to import a library, too.  A program that runs for the first time begins on the engine that is
expected to be the fastest; these numbers make the expectation better.  It takes about a minute.
"""

EXAMPLES = """\
examples:
  dovetail tune                                  all engines that are installed
  dovetail tune --engine torch --engine jax      these two
  dovetail tune --json                           for programs

It is kept in $DOVETAIL_CACHE, or in dovetail/plans in your folder of caches, in a file for this machine.
"""

FAMILIES = {  # family of costs → words for it
    "product": "products of matrices",
    "convolution": "convolutions",
    "strided": "convolutions with strides",
    "thin": "convolutions of few channels",
    "unit": "1x1 convolutions",
    "depthwise": "depthwise convolutions",
    "filter": "gradients of kernels",
    "launches": "calls of convolutions",
    "recurrent": "recurrent layers",
    "steps": "steps of recurrent layers",
    "window": "pools",
    "unpool": "gradients of pools",
    "reduction": "reductions",
    "map": "elementwise ops",
    "optimizer": "steps of optimizers",
    "random": "random numbers",
}
STARTS = {"a_call": "a call, µs", "an_op": "an op, µs", "load": "import, s", "build": "compilation, s"}


def declare(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument(
        "--engine",
        action="append",
        choices=known_engines(),
        help="an engine to measure; may be given several times (default: all that are installed)",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(options: argparse.Namespace) -> int:
    """Measure engines, keep the result and return the exit status."""
    calibration.recall()
    measured_rates = {
        name: measured for name in options.engine or list_candidates() if (measured := _measured(name)) is not None
    }
    calibration.keep()
    if options.json:
        print(json.dumps({name: each._asdict() for name, each in measured_rates.items()}, indent=1))
    elif measured_rates:
        print(_shown(measured_rates))
        print(f"\nKept in {records.folder()}." if records.folder() else f"\nNot kept, since {cache_folder.place()}.")
    return 0 if measured_rates else 1


def _measured(name: str) -> Rates | None:
    """The measured rates of an engine; None if it cannot be used."""
    for family in tracked(rate_programs.SAMPLES, name):
        try:
            rate_programs.calibrate(name, family, costs.known)
        except FAILURES as error:
            print(f"\ndovetail: {name} does not run {FAMILIES.get(family, family)}: {error}", file=sys.stderr)
            return None
    return _corrected(name)


def _corrected(name: str) -> Rates:
    """The rates of an engine with all corrections."""
    shipped = rates(name)
    times = {family: math.exp(error) for (engine, family), error in costs.known.factors.items() if engine == name}
    calls, load, build = (times.get(family, 1.0) for family in ("calls", costs.LOAD, costs.BUILD))
    work = {family: rate / times.get(family, 1.0) for family, rate in shipped.work.items()}
    return Rates(
        a_call=shipped.a_call * calls,
        an_op=shipped.an_op * calls,
        a_turn=shipped.a_turn * calls,
        load=shipped.load * load,
        build=shipped.build * build,
        an_op_built=shipped.an_op_built * build,
        work=work,
    )


def _unit(family: str) -> tuple[str, float]:
    """The unit of a family's rate, and its size."""
    if family in costs.TIMES:
        return "thousands/s", 1e3
    return "G operations/s" if family in costs.OPERATIONS else "GB/s", 1e9


def _shown(found: dict[str, Rates]) -> str:
    units = {"a_call": 1e6, "an_op": 1e6}
    lines = [["", *found]]
    for family in next(iter(found.values())).work:
        unit, size = _unit(family)
        lines.append([f"{FAMILIES[family]}, {unit}", *(f"{each.work[family] / size:.3g}" for each in found.values())])
    for field, text in STARTS.items():
        lines.append([text, *(f"{getattr(each, field) * units.get(field, 1):.3g}" for each in found.values())])
    return table(lines)
