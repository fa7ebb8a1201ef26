"""The verdict on each name of Keras that a program uses: whether Keras 3 has it, or Dovetail gives it Keras 2's."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from dovetail.cli.audit.k_verdict import FAILS, WORKS, Verdict
from dovetail.compat.run.imports import Imports
from dovetail.compat.run.missing import problem_of
from dovetail.compat.source.uses import Use


def judge(uses: Iterable[Use], engines: Sequence[str]) -> dict[str, Verdict]:
    """The verdict on each name, the same on all engines.

    Args:
        uses: the uses of all names.
        engines: the engines to judge for.
    """
    imports = Imports("keras2")
    problems = {name: problem_of(f"keras.{name}", imports) for name in sorted({use.name for use in uses})}
    return {
        name: Verdict(dict.fromkeys(engines, FAILS if said else WORKS), (said,) if said else ())
        for name, said in problems.items()
    }
