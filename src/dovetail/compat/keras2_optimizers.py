"""What optimizers had in Keras 2: `lr` and `decay`, `get_gradients` and `get_updates`, also one of a class's own.

A `get_updates` of one's own is a program in K.  `K.function` runs it as ever; where Keras 3 trains, it is recorded once
in a default graph for the purpose, with placeholders in the place of gradients, and what it updates is assigned.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

import keras

from dovetail import backend as K
from dovetail.core.recording import not_building, record_on
from dovetail.graph.session_graph import open_default_graph
from dovetail.plan.function import function

RATE = 0.01  # of an optimizer that says none: in Keras 2 the base class had no rate


def install() -> None:
    """Gives Keras 3's optimizers what those of Keras 2 had."""
    base: Any = keras.optimizers.Optimizer
    classes: list[Any] = [cls for cls in vars(keras.optimizers).values() if inspect.isclass(cls)]
    for cls in classes:
        if issubclass(cls, base) and cls is not base:
            cls.__init__ = _with_old_arguments(cls.__init__)
    base.__init__ = _with_a_rate(base.__init__)
    base.lr = property(lambda self: self._learning_rate, lambda self, value: setattr(self, "learning_rate", value))
    base.get_gradients = _get_gradients
    base.get_updates = _get_updates
    base.__init_subclass__ = classmethod(_run_own_updates)


def _with_old_arguments(init: Callable[..., None]) -> Callable[..., None]:
    """An optimizer's `__init__` that also takes `lr`, and `decay`: by it the rate is divided by 1 + decay · steps."""

    @functools.wraps(init)
    def call(self: Any, *args: Any, lr: Any = None, decay: float = 0.0, **kwargs: Any) -> None:
        if lr is not None:
            kwargs["learning_rate"] = lr
        if decay:
            given = inspect.signature(init).bind(self, *args, **kwargs)
            given.apply_defaults()
            rate = given.arguments["learning_rate"]
            args, kwargs = args[1:], {**kwargs, "learning_rate": _decaying(rate, decay)}
        init(self, *args, **kwargs)

    return call


def _decaying(rate: float, decay: float) -> Any:
    return keras.optimizers.schedules.InverseTimeDecay(rate, decay_steps=1, decay_rate=decay)


def _with_a_rate(init: Callable[..., None]) -> Callable[..., None]:
    """The base class' `__init__`, which classes of one's own called without a rate."""

    @functools.wraps(init)
    def call(self: Any, *args: Any, **kwargs: Any) -> None:
        if not args:
            kwargs.setdefault("learning_rate", RATE)
        init(self, *args, **kwargs)

    return call


def _get_gradients(self: Any, loss: Any, params: Any) -> list[Any]:
    """The gradients of a tensor of K's default graph by variables, clipped as the optimizer was told.

    Source: `keras.optimizers.Optimizer.get_gradients` of Keras 2.3.
    """
    return self._clip_gradients(K.gradients(loss, params))


def _get_updates(self: Any, loss: Any, params: Any) -> list[Any]:
    """What a step does to variables, as pairs of a variable and its new value, for the `updates` of `K.function`.

    Args:
        loss: a tensor of K's default graph, which the first `K.placeholder` opens.
        params: the variables to train.

    Source: `keras.optimizers.Optimizer.get_updates` of Keras 2.3.
    """
    params = list(params)
    gradients = K.gradients(loss, params)
    if not self.built:
        self.build(params)
    with keras.StatelessScope() as scope:
        self.apply(gradients, params)
    found = ((v, scope.get_current_value(v)) for v in (*params, *self.variables))
    return [(variable, value) for variable, value in found if value is not None]


# -- a get_updates of one's own ---------------------------------------------------------------------------------------


def _run_own_updates(cls: Any, **options: Any) -> None:
    """Makes Keras 3 train by the `get_updates` that a class defines, unless it defines `update_step`, too."""
    if "get_updates" in vars(cls) and "update_step" not in vars(cls):
        cls.iterations = property(_iterations, _set_iterations)
        cls._backend_update_step = _update_step


_counts: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()
_programs: WeakKeyDictionary[Any, tuple[list[Any], Callable[..., Any]]] = WeakKeyDictionary()


def _iterations(self: Any) -> Any:
    """How often `get_updates` was run; it counts, not Keras."""
    if self not in _counts:
        _counts[self] = K.variable(0, dtype="int64", name="iterations")
    return _counts[self]


def _set_iterations(self: Any, value: Any) -> None:
    _counts[self] = value


def _update_step(self: Any, grads: list[Any], trainable_variables: list[Any], learning_rate: Any) -> None:
    """A step by `get_updates`, which Keras 3 calls where it would call `update_step` for each variable.

    Raises:
        TypeError: Keras runs on another backend than Dovetail.
        ValueError: the variables are others than in the first step.
    """
    if keras.config.backend() != "dovetail":
        raise TypeError(
            f"{type(self).__name__} defines get_updates, which trains where Keras runs on Dovetail: import "
            "keras_dovetail before keras, or define update_step(self, gradient, variable, learning_rate), which "
            "assigns the variable, and make its averages in build(self, variables) by self.add_variable_from_reference"
        )
    grads = [keras.ops.convert_to_tensor(gradient) for gradient in grads]
    if self not in _programs:
        _programs[self] = list(trainable_variables), _program(self, grads, trainable_variables)
    variables, program = _programs[self]
    if [id(variable) for variable in variables] != [id(variable) for variable in trainable_variables]:
        raise ValueError(f"{type(self).__name__}.get_updates was called for other variables: make a new optimizer.")
    program(*grads)


def _program(self: Any, grads: list[Any], variables: list[Any]) -> Callable[..., Any]:
    """A function of gradients that does what `get_updates` says.

    The loss that `get_updates` is given has these gradients, whichever way it asks for them.
    """
    with not_building(), record_on(()):
        open_default_graph()
        given = [K.placeholder(g.shape, dtype=str(g.dtype)) for g in grads]
        loss = sum(K.sum(g * K.cast(v, str(g.dtype))) for g, v in zip(given, variables, strict=True))
        updates = self.get_updates(loss=loss, params=variables)
        return function(K.function(given, [], updates=updates).graph)
