"""Numerics: the check for NaN and infinity, which names the operation that made them.

An eager call is checked at once.  A compiled function has one more output, which says whether its results and the new
values of variables are finite.  If they are not, `plan.replay` computes the call again, operation by operation, on the
same arguments, and finds the operations whose bad numbers reach a result.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from dovetail.core.base.errors import user_line
from dovetail.core.base.hooks import hooks
from dovetail.core.base.probe import NUMERICS, Probe
from dovetail.core.base.scopes import change, opened, scopes
from dovetail.core.tensor import Tensor
from dovetail.functions.faults import Fault, NumericsError, named_inputs, statistics_of
from dovetail.functions.statistics import Statistics, bad_numbers
from dovetail.passes.probe import add_finite

if TYPE_CHECKING:
    from dovetail.functions.probed_plan import Run

WHOLE = (
    "the compiled program returned NaN or infinity, but its operations give finite numbers, one by one. The program "
    "rounds in another way: numbers come close to the largest one of their dtype."
)


def check_numerics(enabled: bool = True) -> AbstractContextManager[None]:
    """A scope in which the first NaN or infinity stops the program, with the operation that made it.

    - An eager call is checked at once, and so is each gradient of a tape.
    - A compiled function is checked after each call: its results, and the values that it assigns to variables.  If they
      are bad, it runs again, operation by operation.  Values that `ops.where` masks, and values that nobody uses, are
      no fault.  The variables keep their values.
    - Infinities that a program is given, in arguments or constants, are no fault, since masks need them.

    Functions have plans of their own in the scope.  The environment variable `DOVETAIL_CHECK_NUMERICS=1` opens it for
    the whole process; `function(check_numerics=True)` checks one function.

    Args:
        enabled: False for a scope without checks, inside of another one.

    Raises:
        NumericsError: later, by the call whose numbers are bad; it is a FloatingPointError and a ValueError.

    Source: `tf.debugging.enable_check_numerics`, `jax.debug_nans`.

    Example:
        >>> import dovetail as dt
        >>> with check_numerics():
        ...     try:
        ...         dt.ops.log([1.0, 0.0])
        ...     except dt.NumericsError as error:
        ...         print(error.faults[0].type, error.faults[0].result)
        Log float32[2], 1 infinite of 2 numbers (50 %), the others from 0 to 0
    """
    return opened(lambda around: {"probes": with_check(around.probes, enabled)})


def set_check_numerics(enabled: bool) -> None:
    """Begin or end the checks of `check_numerics` without a scope, in this thread or task."""
    change({"probes": with_check(scopes().probes, enabled)})


def with_check(probes: tuple[Probe, ...] | None, enabled: bool = True) -> tuple[Probe, ...] | None:
    """The probes of a scope, with the check of numbers or without it."""
    others = tuple(probe for probe in probes or () if probe is not NUMERICS)
    return (NUMERICS, *others) if enabled else others or None


class _Check(Probe):
    """The check of eager calls, of gradients, and of compiled functions."""

    def see(self, op: Any, values: Sequence[Any], results: Sequence[Any]) -> None:
        """Refuse an eager result with a NaN, or with an infinity if the inputs are finite."""
        worst = _worst(results, named_inputs(op, values))
        if worst is not None:
            raise NumericsError([Fault(op.name, "", user_line(), *worst)])

    def see_gradients(self, node: Any, arriving: Sequence[Any], found: Sequence[Any]) -> None:
        """Refuse bad gradients, as `see` refuses bad results."""
        given = ((f"input {i}", t) for i, t in enumerate(node.inputs))
        arrived = ((f"gradient {i}", g) for i, g in enumerate(arriving))
        bad = _worst(found, (*given, *arrived))
        if bad is not None:
            raise NumericsError([Fault("Gradient", "", node.where or user_line(), *bad, part_of=node.op.name)])

    def add(self, graph: Any, ends: int) -> Sequence[Any]:
        """Add the output that says whether the results of a graph are finite."""
        return ["finite"] * add_finite(graph, ends)

    def saw(self, run: Run, notes: Sequence[Any], found: Sequence[Any]) -> None:
        """Find the operations that made the bad numbers of a run.

        Raises:
            NumericsError: there are some, or the program made bad numbers as a whole.
        """
        if all(run.engine.to_numpy(flag) for flag in found):
            return
        faults, are_finite = run.faults()
        if faults:
            raise NumericsError(faults)
        if are_finite:
            raise NumericsError(text=f"{run.graph.name}: {WHOLE}")


def _worst(tensors: Sequence[Any], named: Iterable[tuple[str, Any]]) -> tuple[Statistics, Any] | None:
    """The statistics of the worst eager result, if it is at fault, and of the inputs; else None.

    An infinity is no fault if the operation was given one.
    """
    kept = [t for t in tensors if type(t) is Tensor and t._engine is not t._engine.native]  # a library traces others
    bad = [Statistics.of(array) for array in map(bad_numbers, kept) if array is not None]
    if not bad:
        return None
    given, worst = statistics_of(named), max(bad, key=lambda found: found.nans)
    return (worst, given) if worst.nans or not any(statistics.bad for _, statistics in given) else None


hooks.numerics = _Check()
