"""The gradients of the library of an engine, for values of its own users."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any


class Autodiff:
    """The part of an engine that asks its library for gradients."""

    def gradients(self: Any, ys: Sequence[Any], xs: Sequence[Any]) -> list[Any]:
        """The gradients of the sum of values that were computed before, with respect to their inputs.

        Args:
            ys, xs: native arrays.

        Returns:
            An array for each of xs, None where the ys do not depend on it.

        Raises:
            NotImplementedError: the library keeps no record of computations.
        """
        problem = f"{self.name} differentiates functions, and keeps no record of how a value was computed"
        raise NotImplementedError(f"{problem}: use its own gradient of a function.")

    def gradients_of(self: Any, function: Callable[..., Any], args: Sequence[Any]) -> list[Any]:
        """The gradients of a function, which can be differentiated again if the library records them.

        Args:
            function: takes native arrays; returns one number.
            args: native arrays of float dtypes.

        Returns:
            An array for each argument, None where the number does not depend on it.

        Raises:
            NotImplementedError: the library does not differentiate.
        """
        raise NotImplementedError(f"{self.name} does not differentiate; use jax, torch or tensorflow.")

    def custom_gradient(self, function: Callable[..., Any], args: Sequence[Any]) -> Sequence[Any]:
        """Run a function so that the library's autodiff uses the gradient that comes with it.

        Args:
            function: takes native arrays; returns a list of them, and a function from a gradient for each of these to
                a gradient for each argument.  Gradients of arrays of other than float dtypes are None.
            args: the native arrays.
        """
        return function(*args)[0]

    def recompute(self, function: Callable[..., Any], args: Sequence[Any]) -> Any:
        """Run a function so that the library's autodiff keeps only the arguments, and runs it again for gradients."""
        return function(*args)


def differentiates_functions(engine: Autodiff) -> bool:
    """Whether the library of an engine differentiates functions alone, by tracing what they compute."""
    return type(engine).gradients is Autodiff.gradients
