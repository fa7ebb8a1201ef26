"""Probes: they look at values while a program computes them; scopes hold them.

Eager calls show their results to the probes around them.  A compiled function has its own traces and plans under
probes: `plan.probe` adds outputs to its graph for them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

from dovetail.core.base.hooks import hooks

VARIABLE = "DOVETAIL_CHECK_NUMERICS"


class Probe:
    """One that looks at values; programs that are traced under equal probes are the same.

    Attributes:
        has_points: whether it looks at points that programs name.
        sees_all: whether it also looks at the calls inside of composites, and of folding.
    """

    has_points = False
    sees_all = False

    def expect(self, op: Any, specs: Callable[[], Any]) -> None:
        """Look at an eager call that a rule will compute.

        Args:
            op: its op.
            specs: gives the specs of its results.
        """

    def see(self, op: Any, values: Sequence[Any], results: Sequence[Any]) -> None:
        """Look at an eager call.

        Args:
            op: its op.
            values: its arguments in parameter order, with Tensors.
            results: its results, as Tensors.
        """

    def see_gradients(self, node: Any, arriving: Sequence[Any], found: Sequence[Any]) -> None:
        """Look at the gradients that arrive at an eager call, and at the results of its gradient function."""

    def recorded(self, operation: Any, results: Sequence[Any]) -> Sequence[Any]:
        """The graph tensors for the caller instead of the results of an operation that was just recorded."""
        return results

    def add(self, graph: Any, ends: int) -> Sequence[Any]:
        """Add outputs to a graph, of which the first `ends` outputs are its results; return a note about each."""
        raise NotImplementedError

    def saw(self, run: Any, notes: Sequence[Any], found: Sequence[Any]) -> None:
        """Look at the outputs that it, or an equal probe, added, after a run; an error that it raises undoes the run.

        Args:
            run: the run, a `plan.probe.Run`.
            notes: as `add` returned them.
            found: the native arrays of the outputs.
        """
        raise NotImplementedError


class _Numerics(Probe):
    """The check for NaN and infinity, which `plan.numerics` does."""

    def see(self, op: Any, values: Sequence[Any], results: Sequence[Any]) -> None:
        hooks.numerics.see(op, values, results)

    def see_gradients(self, node: Any, arriving: Sequence[Any], found: Sequence[Any]) -> None:
        hooks.numerics.see_gradients(node, arriving, found)

    def add(self, graph: Any, ends: int) -> Sequence[Any]:
        return hooks.numerics.add(graph, ends)

    def saw(self, run: Any, notes: Sequence[Any], found: Sequence[Any]) -> None:
        hooks.numerics.saw(run, notes, found)


NUMERICS = _Numerics()


def seeing_all(probes: Sequence[Probe] | None) -> tuple[Probe, ...]:
    """The probes that also look at calls inside of a call."""
    return tuple([probe for probe in probes if probe.sees_all]) if probes else ()


def from_environment() -> tuple[Probe, ...] | None:
    """The probes outside of all scopes: the check of numbers, if the environment variable is 1."""
    return (NUMERICS,) if os.environ.get(VARIABLE) == "1" else None
