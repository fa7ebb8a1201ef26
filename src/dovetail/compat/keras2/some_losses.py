"""Models of which only some outputs have a loss: `compile(loss=["mse", None])`, `compile(loss={"a": "mse"})`.

Keras 2 takes targets for the outputs that have a loss, and also targets for all outputs.  A model without any such
loss trains by `add_loss`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

TRAINED = "_has_loss"  # the attribute of a model: whether each output has a loss; missing if Keras 3 knows what to do


def of_losses(compile: Callable[..., None]) -> Callable[..., None]:
    """Wrap `compile`: `loss` may name some outputs, or have None for others."""

    @functools.wraps(compile)
    def call(self: Any, *args: Any, loss: Any = None, **kwargs: Any) -> None:
        vars(self).pop(TRAINED, None)
        losses = _by_output(self, loss)
        if losses is not None:
            vars(self)[TRAINED] = [each is not None for each in losses]
            loss = losses if any(vars(self)[TRAINED]) else None
        compile(self, *args, loss=loss, **kwargs)

    return call


def _by_output(model: Any, loss: Any) -> list[Any] | None:
    """The losses of the outputs in their order, if some output has none; else None."""
    names = getattr(model, "output_names", None) or []
    if isinstance(loss, dict) and loss.keys() <= {*names}:
        loss = [loss.get(name) for name in names]
    is_partial = isinstance(loss, (list, tuple)) and len(loss) == len(names) and any(each is None for each in loss)
    return [*loss] if is_partial else None


def of_targets(method: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap `fit` or the like: targets of outputs without a loss, which may be None, are left out."""

    @functools.wraps(method)
    def call(self: Any, x: Any = None, y: Any = None, *args: Any, **kwargs: Any) -> Any:
        trained = vars(self).get(TRAINED)
        return method(self, x, y if trained is None else _targets(self, y, trained), *args, **kwargs)

    return call


def _targets(model: Any, y: Any, trained: list[bool]) -> Any:
    """The targets of the outputs that have a loss; None if there are none."""
    if isinstance(y, dict):
        y = [y.get(name) for name in model.output_names]
    if not isinstance(y, (list, tuple)):
        return y if any(trained) else None
    if len(y) == len(trained):
        y = [each for each, has_loss in zip(y, trained, strict=True) if has_loss]
    return [*y] or None
