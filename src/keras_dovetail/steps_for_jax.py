"""Refusal of steps that are written for Keras on JAX: `train_step(self, state, data)` of a model's own."""

from __future__ import annotations

import functools
import inspect
from types import ModuleType
from typing import Any

from dovetail.core.base.errors import op_error
from dovetail.core.base.lacking import STEP

STEPS = ("train_step", "test_step", "predict_step")


def refuse(module: ModuleType) -> None:
    """Let `compile` refuse a model with such a step, before it changes anything.

    Args:
        module: `keras.src.trainers.trainer`, which has just been imported.
    """
    trainer: Any = module.Trainer
    compile_ = trainer.compile

    @functools.wraps(compile_)
    def checked(self: Any, *args: Any, **kwargs: Any) -> None:
        for name in STEPS:
            _check(getattr(type(self), name, None), name)
        compile_(self, *args, **kwargs)

    trainer.compile = checked


def _check(step: Any, name: str) -> None:
    """Raise TypeError if a step takes a state beside the data."""
    if not inspect.isfunction(step):
        return
    parameters = list(inspect.signature(step).parameters)
    if parameters[1:2] != ["state"] or len(parameters) < 3:
        return
    code = inspect.unwrap(step).__code__
    given = ", ".join(parameters)
    problem = (
        f"{name}({given}) is a step for Keras on JAX. On Dovetail a step takes the data alone, as {name}(self, data), "
        f"and changes the model's variables itself. Take gradients from {STEP}"
    )
    raise op_error(TypeError, f"compile of {step.__qualname__}", problem, where=(code.co_filename, code.co_firstlineno))
