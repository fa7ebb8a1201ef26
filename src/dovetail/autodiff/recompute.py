"""`recompute_grad`: trade time for memory, by running a function again when its gradient is needed.

In a graph it marks the operations that the function records, as `graph.recompute` does.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from dovetail import ops
from dovetail.autodiff.custom import (
    ReadVariables,
    call,
    differentiates_itself,
    graph_of_call,
    is_tensor,
    native_engine,
    native_leaves,
    replaced,
)
from dovetail.autodiff.reverse import through
from dovetail.core.base.errors import check_callable
from dovetail.core.base.scopes import record_on, scopes
from dovetail.core.calls.gradients import exactly
from dovetail.core.engine import Engine
from dovetail.core.values.structure import flatten, unflatten
from dovetail.core.values.variable import Variable


def recompute_grad(function: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate a function to run again when its gradient is needed, instead of keeping intermediate results.

    Args:
        function: computes tensors from tensors and variables; it must compute the same ones when it runs again.

    Returns:
        A function of the same arguments; keyword arguments are not differentiated.

    Raises:
        TypeError: `function` cannot be called.

    Source: Chen et al., "Training deep nets with sublinear memory cost" (2016); `tf.recompute_grad`.

    Example:
        >>> from dovetail import GradientTape, ops
        >>> block = recompute_grad(lambda x: ops.exp(ops.tanh(x)))
        >>> x = ops.constant(0.)
        >>> with GradientTape() as tape:
        ...     tape.watch(x)
        ...     y = block(x)
        >>> float(tape.gradient(y, x))
        1.0
    """

    check_callable("recompute_grad", function)

    @functools.wraps(function)
    def forgetting(*args: Any, **kwargs: Any) -> Any:
        leaves, structure = flatten(args, "recompute_grad")
        forgetful = _Forgetful(lambda leaves: function(*unflatten(structure, leaves), **kwargs))
        engine = native_engine(leaves)
        if engine is not None:
            return forgetful.native(engine, leaves)
        graph = graph_of_call(leaves, getattr(function, "__name__", "recompute_grad"))
        if graph is None:
            return call(forgetful, tuple(leaves), {})
        with graph.as_default(), graph.recomputed():
            return function(*args, **kwargs)

    return forgetting


class _Forgetful:
    """A function of flat eager arguments, for `CustomCall`; its gradient runs it again."""

    def __init__(self, run: Callable[[Sequence[Any]], Any]) -> None:
        self._run = run

    def __call__(self, *leaves: Any) -> Any:
        with record_on(t for t in scopes().tapes if isinstance(t, ReadVariables)):
            return self._run(leaves), functools.partial(self._gradient, leaves, scopes().overrides)

    def _gradient(
        self, leaves: Sequence[Any], overrides: Mapping[str, str], *arriving: Any, variables: Sequence[Variable] = ()
    ) -> Any:
        moving = [i for i, leaf in enumerate(leaves) if is_tensor(leaf)]
        # Without the barrier, an optimizer finds that all this was computed before, and keeps it.
        flat, structure = flatten(([leaves[i] for i in moving], arriving))
        again, arriving = unflatten(structure, ops.optimization_barrier(flat))
        results = functools.partial(self._results, replaced(leaves, moving, again))
        with exactly(overrides):
            derivatives = through(results, [*again, *variables], arriving)
        gradients = replaced([None] * len(leaves), moving, derivatives)
        return (gradients, derivatives[len(moving) :]) if variables else gradients

    def _results(self, leaves: Sequence[Any]) -> tuple[Any, ...]:
        return tuple(flatten(self._run(leaves), "recompute_grad")[0])

    def native(self, engine: Engine, leaves: Sequence[Any]) -> Any:
        """The result on an engine's own values, by the engine's own recomputation."""
        moving = [i for i, leaf in enumerate(leaves) if differentiates_itself(leaf)]
        form: list[Any] = []

        def run(*natives: Any) -> Any:
            values, form[:] = native_leaves(self._run(replaced(leaves, moving, natives)), engine)
            return tuple(values)

        values = engine.recompute(run, [leaves[i] for i in moving])
        return unflatten(form[0], [engine.owned(value, leaves) for value in values])
