"""GradientTape: records the ops that watched tensors go through, and plays them back for gradients.

    with GradientTape() as tape:
        loss = ops.mean((model(x) - y) ** 2)
    gradients = tape.gradient(loss, variables)
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from dovetail import ops
from dovetail.autodiff import reverse
from dovetail.autodiff.recorder import Recorder
from dovetail.errors import op_error
from dovetail.structure import flatten, unflatten
from dovetail.tensor import recording
from dovetail.variable import Variable


class GradientTape(Recorder):
    """Records ops for reverse-mode differentiation, as `tf.GradientTape`.

    Args:
        persistent: whether `gradient` may be asked more than once.
        watch_accessed_variables: whether trainable variables are watched when they are read.

    Example:
        >>> x = ops.constant(3.)
        >>> with GradientTape() as tape:
        ...     tape.watch(x)
        ...     y = x * x
        >>> float(tape.gradient(y, x))
        6.0
    """

    def __init__(self, persistent: bool = False, watch_accessed_variables: bool = True) -> None:
        super().__init__(watch_accessed_variables)
        self._persistent = persistent
        self._used = False

    def watch(self, tensors: Any) -> None:
        """Follows tensors or variables (or a structure of them) from here on.

        Raises:
            TypeError: one is not of a float or complex dtype, so it has no gradient.
        """
        for tensor in flatten(tensors)[0]:
            if not tensor.dtype.is_differentiable:
                raise op_error(TypeError, "GradientTape.watch", f"{tensor.dtype} has no gradient; cast it to a float first.")
            self.follow(tensor)

    def watched_variables(self) -> list[Variable]:
        """The variables that were read while the tape recorded."""
        return [t for t in self._watched.values() if isinstance(t, Variable)]

    @contextmanager
    def stop_recording(self) -> Iterator[None]:
        """Ops inside the `with` block are not recorded on this tape."""
        outside = recording.tapes
        recording.tapes = tuple(t for t in outside if t is not self)
        try:
            yield
        finally:
            recording.tapes = outside

    def reset(self) -> None:
        """Forgets all that was recorded and watched."""
        self.nodes, self._watched, self._used = [], {}, False

    # the result

    def gradient(
        self, target: Any, sources: Any, output_gradients: Any = None, unconnected_gradients: str = "none"
    ) -> Any:
        """The gradient of the sum of targets with respect to each source.

        Args:
            target: a tensor or a structure of tensors; several are added.
            sources: a tensor or variable, or a structure of them.
            output_gradients: what to multiply with from the left, in the structure of `target`; ones if not given.
            unconnected_gradients: "none" or "zero": what stands for sources that the target does not depend on.

        Returns:
            Gradients in the structure of `sources`.

        Raises:
            RuntimeError: a tape that is not persistent was asked before.
            TypeError: a source is of an integer dtype.
        """
        if self._used and not self._persistent:
            raise RuntimeError(
                "GradientTape.gradient: this tape was asked already; make it GradientTape(persistent=True) to ask again."
            )
        if unconnected_gradients not in ("none", "zero"):
            raise ValueError(f"unconnected_gradients must be 'none' or 'zero', not {unconnected_gradients!r}.")
        targets = flatten(target)[0]
        flat_sources, structure = flatten(sources)
        for source in flat_sources:
            if not source.dtype.is_differentiable:
                raise op_error(TypeError, "GradientTape.gradient", f"a source is {source.dtype}, which has no gradient.")
        seeds = [None] * len(targets) if output_gradients is None else flatten(output_gradients)[0]
        pairs = [
            (t, reverse.ones_like(t) if s is None else ops.convert(s, dtype=t.dtype))
            for t, s in zip(targets, seeds, strict=True)
            if id(t) in self._watched
        ]
        nodes = list(self.nodes)
        with self._paused():
            found = reverse.backward(nodes, pairs)
            results = [found.get(id(s)) for s in flat_sources]
            if unconnected_gradients == "zero":
                results = [reverse.zeros_like(s) if r is None else r for r, s in zip(results, flat_sources, strict=True)]
        if not self._persistent:
            self._used, self.nodes = True, []
        return unflatten(structure, results)

    @contextmanager
    def _paused(self) -> Iterator[None]:
        if self._persistent:  # inside its own `with` block, a persistent tape records its gradients, for higher orders
            yield
        else:
            with self.stop_recording():
                yield
