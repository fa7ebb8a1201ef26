"""GradientTape: records the ops that watched tensors go through, and plays them back for gradients.

    with GradientTape() as tape:
        loss = ops.mean((model(x) - y) ** 2)
    gradients = tape.gradient(loss, variables)

Tapes nest, work inside compiled functions and around them, and differentiate gradients in turn.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any

from dovetail import ops
from dovetail.autodiff import jacobian, reverse
from dovetail.autodiff.recorder import Recorder, others
from dovetail.core.base.errors import op_error
from dovetail.core.base.scopes import leave, record_on, scopes
from dovetail.core.dtypes import as_dtype
from dovetail.core.values.structure import flatten, flatten_like, unflatten
from dovetail.core.values.value_kinds import kind_of
from dovetail.core.values.variable import Variable
from dovetail.ops.shapes.shape import dims_of


class GradientTape(Recorder):
    """A tape that records ops for reverse-mode differentiation.

    Args:
        persistent: whether gradients may be asked for more than once, and are recorded if asked for inside the block.
        watch_accessed_variables: whether trainable variables are watched when they are read.

    Source: `tf.GradientTape`.  State stops gradients: a value that is assigned to a variable starts a new history.

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

    def __enter__(self) -> GradientTape:
        if any(t.origin is self for t in scopes().tapes):
            raise ValueError("GradientTape: this tape is recording already.")
        return super().__enter__()

    def watch(self, tensors: Any) -> None:
        """Follow tensors or variables (or a structure of them) from here on.

        Raises:
            TypeError: one of them is not a tensor, or not of a float or complex dtype, so it has no gradient.
        """
        for tensor in flatten(tensors, "GradientTape.watch")[0]:
            _check(tensor, "GradientTape.watch")
            self.follow(kind_of(tensor).followed(tensor))

    def watched_variables(self) -> list[Variable]:
        """The variables that were read while the tape recorded, or watched."""
        return [t for t in self._watched.values() if isinstance(t, Variable)]

    def stop_recording(self) -> AbstractContextManager[None]:
        """Stop recording ops on this tape inside the `with` block."""
        return record_on(others(self))

    def reset(self) -> None:
        """Forget everything that was recorded and watched."""
        self.nodes, self._watched, self._used = [], {}, False

    # the result

    def gradient(
        self, target: Any, sources: Any, output_gradients: Any = None, unconnected_gradients: str = "none"
    ) -> Any:
        """The gradient of the sum of targets with respect to each source.

        Args:
            target: a tensor or a structure of tensors; several are added.
            sources: a tensor or variable, or a structure of them.
            output_gradients: the factors from the left, in the structure of `target`; ones if None.
            unconnected_gradients: "none" or "zero": the gradient of a source that the target does not depend on.

        Returns:
            Gradients in the structure of `sources`.

        Raises:
            RuntimeError: a tape that is not persistent was asked before.
            TypeError: a target or a source is not a tensor, or a source is of an integer dtype.
        """
        targets, form = flatten(target, "GradientTape.gradient")
        for each in targets:
            _check_kind(each, "GradientTape.gradient")
        flat, structure = self._question("gradient", sources, unconnected_gradients)
        given = flatten_like(form, output_gradients)
        seeds = [(t, reverse.seed(t, g)) for t, g in zip(targets, given, strict=True) if self.follows(t)]
        gradients = reverse.backward(self._playback(), seeds, flat)
        if unconnected_gradients == "zero":
            gradients = reverse.or_zeros(gradients, flat)
        return unflatten(structure, gradients)

    def jacobian(self, target: Any, sources: Any, unconnected_gradients: str = "none") -> Any:
        """The derivative of every element of the target by every element of each source.

        Args:
            target: a tensor whose shape is known.
            sources: a tensor or variable, or a structure of them.
            unconnected_gradients: as for `gradient`.

        Returns:
            Tensors of shape `target.shape + source.shape`, in the structure of `sources`.

        Raises:
            RuntimeError, TypeError: as `gradient`.
            ValueError: the target's shape is not known.

        Example:
            >>> x = ops.constant([1., 2.])
            >>> with GradientTape() as tape:
            ...     tape.watch(x)
            ...     y = x * x
            >>> tape.jacobian(y, x).numpy()
            array([[2., 0.],
                   [0., 4.]], dtype=float32)
        """
        _check_kind(target, "GradientTape.jacobian")
        flat, structure = self._question("jacobian", sources, unconnected_gradients)
        jacobians = jacobian.jacobian(self._pullback(target, flat), target, flat)
        if unconnected_gradients == "zero":
            jacobians = [
                ops.broadcast_to(ops.zeros_like(x), (*target.shape, *dims_of(x))) if j is None else j
                for j, x in zip(jacobians, flat, strict=True)
            ]
        return unflatten(structure, jacobians)

    def batch_jacobian(self, target: Any, source: Any, unconnected_gradients: str = "none") -> Any:
        """The jacobian of each example of a batch, for examples that do not depend on each other.

        Args:
            target: a tensor of shape (batch, …), of which only the batch may be unknown.
            source: a tensor of shape (batch, …).
            unconnected_gradients: as for `gradient`.

        Returns:
            A tensor of shape `(batch, *target.shape[1:], *source.shape[1:])`.

        Raises:
            RuntimeError, TypeError: as `gradient`.
            ValueError: the batches differ in size, or the shape of an example's target is not known.

        Example:
            >>> x = ops.constant([[1., 2.], [3., 4.]])
            >>> with GradientTape() as tape:
            ...     tape.watch(x)
            ...     y = x * x
            >>> tape.batch_jacobian(y, x)[1].numpy()
            array([[6., 0.],
                   [0., 8.]], dtype=float32)
        """
        _check_kind(target, "GradientTape.batch_jacobian")
        flat, _ = self._question("batch_jacobian", source, unconnected_gradients)
        matrix = jacobian.batch_jacobian(self._pullback(target, flat), target, flat[0])
        if matrix is None and unconnected_gradients == "zero":
            dims = dims_of(source)
            return ops.zeros((dims[0], *target.shape[1:], *dims[1:]), source.dtype)
        return matrix

    def _question(self, method: str, sources: Any, unconnected_gradients: str) -> tuple[list[Any], Any]:
        """Check a request, stop a tape that is not persistent, and return the sources, flat, and their structure."""
        if self._used and not self._persistent:
            raise RuntimeError(
                f"GradientTape.{method}: this tape was asked already; make it with persistent=True to ask again."
            )
        if unconnected_gradients not in ("none", "zero"):
            raise ValueError(f"unconnected_gradients must be 'none' or 'zero', not {unconnected_gradients!r}.")
        flat, structure = flatten(sources, f"GradientTape.{method}")
        for source in flat:
            _check(source, f"GradientTape.{method}")
        if not self._persistent:
            self._used = True
            leave(self)
        return [kind_of(source).followed(source) for source in flat], structure

    def _playback(self) -> Iterator[Any]:
        """Yield the nodes, the last one first; a tape that is not persistent drops each."""
        if self._persistent:
            yield from list(reversed(self.nodes))
            return
        nodes, self.nodes = self.nodes, []
        self._watched = {id(v): v for v in self.watched_variables()}
        while nodes:
            yield nodes.pop()

    def _pullback(self, target: Any, sources: list[Any]) -> Callable[[Any], list[Any]]:
        """A function from a gradient of the target to the gradients of the sources."""
        followed = self.follows(target)
        nodes = list(self._playback())
        return lambda gradient: reverse.backward(nodes, [(target, gradient)] if followed else [], sources)


def _check(tensor: Any, method: str) -> None:
    _check_kind(tensor, method)
    if not as_dtype(tensor.dtype).is_differentiable:
        raise op_error(
            TypeError, method, f"{tensor!r} has the dtype {tensor.dtype}, which has no gradient; cast it to a float."
        )


def _check_kind(tensor: Any, method: str) -> None:
    problem = kind_of(tensor).untaped(tensor)
    if problem is not None:
        raise op_error(TypeError, method, problem)
