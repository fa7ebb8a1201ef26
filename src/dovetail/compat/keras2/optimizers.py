"""Features of optimizers in Keras 2: `lr` and `decay`, `get_gradients` and `get_updates`, several models for each.

A program's class may define `get_updates`, in K.  `K.function` runs it.  For Keras 3 it is recorded once, in a default
graph with placeholders for the gradients, and its updates are assigned.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from numbers import Real
from typing import Any
from weakref import WeakKeyDictionary

import keras
import numpy as np

from dovetail import backend as K
from dovetail.autodiff.tape import GradientTape
from dovetail.backend.table import FUNCTIONS
from dovetail.compat.keras2 import words
from dovetail.compat.keras2.optimizer_steps import SCHEDULE_DECAY, by_rounded_decays
from dovetail.compat.keras2.patches import Own, Patch, methods
from dovetail.compat.keras2.resource_steps import operations_of_steps, prepare, steps_by_resources
from dovetail.compat.keras2.words import named
from dovetail.core.base.scopes import not_building, record_on
from dovetail.core.values.value_kinds import is_recorded, kind_of
from dovetail.functions.function import function
from dovetail.graph.nesting import outermost_of
from dovetail.graph.operation import GraphTensor
from dovetail.sessions.session_graph import SessionGraph, open_default_graph

RATE = 0.01  # of an optimizer without a rate: in Keras 2 the base class had none
FIRST_SETTINGS = {  # of optimizers in Keras 2.3, by class
    "Adagrad": {"learning_rate": 0.01, "initial_accumulator_value": 0.0},
    "Adadelta": {"learning_rate": 1.0},
    "Adamax": {"learning_rate": 0.002},
    "Nadam": {"learning_rate": 0.002},
}


def patches() -> Iterable[Patch]:
    """Yield the changes of Keras 3's optimizers."""
    base: Any = keras.optimizers.Optimizer
    classes: list[Any] = [cls for cls in vars(keras.optimizers).values() if inspect.isclass(cls)]
    for cls in dict.fromkeys(classes):
        if issubclass(cls, base) and cls is not base:
            yield Patch(cls, "__init__", _with_old_arguments(cls.__init__, FIRST_SETTINGS.get(cls.__name__, {})))
    yield Patch(base, "__init__", _with_a_rate(base.__init__))
    yield Patch(base, "__setattr__", _also_before_init(base.__setattr__))
    yield Patch(base, "_clip_gradients", _by_both(base._clip_gradients))
    yield from methods(
        base,
        lr=property(lambda self: self._learning_rate, _set_rate),
        decay=0.0,
        initial_decay=Own(lambda self: self.decay),  # as it was given
        variables=property(lambda self: _Variables(self._variables)),
        weights=Own(_weights),
        get_weights=lambda self: [np.asarray(K.get_value(weight)) for weight in self.weights],
        set_weights=_set_weights,
        get_config=_config_with_decay(base.get_config),
        _backend_update_step=by_rounded_decays(_with_decay(base._backend_update_step)),
        get_gradients=_get_gradients,
        get_updates=_get_updates,
        minimize=_minimize,
        apply_gradients=_in_sessions(base.apply_gradients),
        _check_variables_are_known=_get_to_know,
        __init_subclass__=classmethod(_run_own_updates),
    )


class _Variables(list[Any]):
    """The variables of an optimizer, which programs of 2019 get by a call: `optimizer.variables()`."""

    def __call__(self) -> list[Any]:
        return self


def _with_old_arguments(init: Callable[..., None], settings: dict[str, float]) -> Callable[..., None]:
    """Wrap an optimizer's `__init__`: it also takes `lr`, and `decay`, which divides the rate by 1 + decay · steps.

    Args:
        init: the method.
        settings: the defaults of Keras 2 that differ from Keras 3's, but in `tf.keras`.
    """
    names = list(inspect.signature(init).parameters)[1:]

    @functools.wraps(init)
    def call(
        self: Any, *args: Any, lr: Any = None, decay: float = 0.0, schedule_decay: float | None = None, **kwargs: Any
    ) -> None:
        if lr is not None:
            kwargs["learning_rate"] = lr
        if kwargs.get("epsilon", 0) is None:  # K.epsilon(), which is Keras 3's default
            del kwargs["epsilon"]
        if not words.of_tensorflow:
            kwargs = {**{n: v for n, v in settings.items() if n not in names[: len(args)]}, **kwargs}
        init(self, *args, **kwargs)
        if schedule_decay is not None:
            self.schedule_decay = schedule_decay
        if decay and not hasattr(self, "schedule_decay"):  # Nadam's rate does not decay
            self.decay = decay

    return call


def _with_decay(step: Callable[..., None]) -> Callable[..., None]:
    """Wrap the method that takes a step: the rate, which callbacks may set, decays."""

    @functools.wraps(step)
    def call(self: Any, grads: Any, trainable_variables: Any, learning_rate: Any) -> None:
        if isinstance(self.decay, float) and self.decay:
            learning_rate = learning_rate / (1 + self.decay * keras.ops.cast(self.iterations, "float32"))
        step(self, grads, trainable_variables, learning_rate)

    return call


def _config_with_decay(get_config: Callable[..., dict[str, Any]]) -> Callable[..., dict[str, Any]]:
    @functools.wraps(get_config)
    def call(self: Any) -> dict[str, Any]:
        if hasattr(type(self), "_trains_by_get_updates"):  # its own class has the rest
            return {name: getattr(self, name) for name in ("clipnorm", "clipvalue") if getattr(self, name)}
        settings = {
            **get_config(self),
            **({"decay": self.decay} if isinstance(self.decay, float) and self.decay else {}),
        }
        schedule = getattr(self, "schedule_decay", SCHEDULE_DECAY)
        return settings if schedule == SCHEDULE_DECAY else {**settings, "schedule_decay": schedule}

    return call


def _with_a_rate(init: Callable[..., None]) -> Callable[..., None]:
    """Wrap the base class' `__init__`: the rate may be missing, or any real number; gradients may be clipped twice.

    The first argument is the name for classes in the words of tf.keras.
    """

    @functools.wraps(init)
    def call(self: Any, learning_rate: Any = RATE, *args: Any, clipvalue: Any = None, **kwargs: Any) -> None:
        decay = kwargs.pop("decay", None)
        if isinstance(learning_rate, str) and steps_by_resources(self):
            kwargs.setdefault("name", learning_rate)
            learning_rate = kwargs.pop("lr", RATE)
        init(self, float(learning_rate) if isinstance(learning_rate, Real) else learning_rate, *args, **kwargs)
        self.clipvalue, self._initial_decay = clipvalue, decay or 0.0

    return call


def _set_rate(self: Any, value: Any) -> None:
    """Set `lr`: a tensor of a graph takes its place, as in Keras 2, until a variable does; else its value changes."""
    if is_recorded(value) or is_recorded(self._learning_rate):
        self._learning_rate = value
    else:
        self.learning_rate = value


def _also_before_init(put: Callable[..., None]) -> Callable[..., None]:
    """Wrap `__setattr__`: in Keras 2 attributes might come before `super().__init__()`, or without it."""

    @functools.wraps(put)
    def call(self: Any, name: str, value: Any) -> None:
        (put if name == "_lock" or "_lock" in vars(self) else object.__setattr__)(self, name, value)

    return call


def _by_both(clip: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap the method that clips gradients: first by their norm, then by value."""

    @functools.wraps(clip)
    def call(self: Any, gradients: list[Any]) -> list[Any]:
        clipped, most = clip(self, gradients), self.clipvalue
        if not (self.clipnorm and most):
            return clipped
        return [g if g is None else keras.ops.clip(g, -most, most) for g in clipped]

    return call


def _get_gradients(self: Any, loss: Any, params: Any) -> list[Any]:
    """The gradients of a tensor of K's default graph by variables, clipped as the optimizer says.

    Source: `keras.optimizers.Optimizer.get_gradients` of Keras 2.3.
    """
    return self._clip_gradients(_function("gradients")(_in_default_graph(loss), params))


def _get_updates(self: Any, *args: Any, **kwargs: Any) -> list[Any]:
    """The updates of a step, for the `updates` of `K.function`; each is made by `K.update`.

    Args:
        loss: a tensor of K's default graph, or of a Keras model; the default graph then records its computation.
        params: the variables to train, of Keras' layers or of K.  Up to Keras 2.0 they came first, and `constraints`
            followed, which the variables have themselves.

    Source: `keras.optimizers.Optimizer.get_updates` of Keras 2.3.
    """
    has_constraints = len(args) == 3 or "constraints" in kwargs
    given = named(["params", "constraints", "loss"] if has_constraints else ["loss", "params"], args, kwargs)
    loss, params = given["loss"], list(given["params"])
    return _updates(self, _function("gradients")(_in_default_graph(loss), params), params)


def _updates(self: Any, gradients: list[Any], params: list[Any]) -> list[Any]:
    """The updates of a step by gradients of a graph."""
    if self.built and self._trainable_variables:
        self._check_variables_are_known(params)
    else:
        self.built, self._trainable_variables_indices = False, {}  # one around this one may have set them
        self.build(params)
    with keras.StatelessScope() as scope, operations_of_steps() as made:
        self.apply(gradients, params)
    after = (
        (variable, scope.get_current_value(variable)) for variable in (*self._trainable_variables, *self.variables)
    )
    return [*made, *(_function("update")(variable, value) for variable, value in after if value is not None)]


def _minimize(
    self: Any, loss: Any, var_list: Any, grad_loss: Any = None, name: str | None = None, tape: Any = None
) -> Any:
    """Take a step that lowers a loss; in a session graph, make the operation of the step.

    Args:
        loss: a function, a tensor of a graph, or a tensor that `tape` has recorded.
        var_list: the variables, or a function that returns them.
        grad_loss: the gradient by the loss.

    Source: `tf.keras.optimizers.legacy.Optimizer.minimize`.
    """
    if callable(loss):
        with GradientTape() as tape:
            loss = loss()
    variables = list(var_list() if callable(var_list) else var_list)
    if tape is not None:
        gradients = tape.gradient(loss, variables, grad_loss)
    else:
        gradients = _function("gradients")(loss if grad_loss is None else loss * grad_loss, variables)
    return self.apply_gradients(zip(gradients, variables, strict=True), name)


def _in_sessions(apply_gradients: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap `apply_gradients`: for gradients of a session graph it makes the operation of a step, as in TensorFlow 1."""

    @functools.wraps(apply_gradients)
    def call(self: Any, grads_and_vars: Any, name: str | None = None, **aggregation: Any) -> Any:
        given = [(_in_default_graph(gradient), variable) for gradient, variable in grads_and_vars]
        pairs = [(gradient, variable) for gradient, variable in given if gradient is not None]
        graphs = [outermost_of(gradient.graph) for gradient, _ in pairs if type(gradient) is GraphTensor]
        if not graphs or not isinstance(graphs[0], SessionGraph):
            return apply_gradients(self, given)
        from dovetail.compat.tensorflow.names.graph.graph import group  # Keras' programs need none of these names

        with graphs[0].as_default():
            updates = _updates(self, [gradient for gradient, _ in pairs], [variable for _, variable in pairs])
            return group(*updates, name=name)

    return call


def _weights(self: Any) -> list[Any]:
    """The count of steps and the state of an optimizer, without its rate: each kind of state for all variables.

    Keras 3 has all kinds of state for a variable, then those of the next.
    """
    own = [variable for variable in self.variables if variable is not self._learning_rate]
    kinds = [kind for kind in vars(self).values() if isinstance(kind, list) and kind]
    slots = [v for kind in kinds if all(any(v is each for each in own) for v in kind) for v in kind]
    return [*(v for v in own if not any(v is slot for slot in slots)), *slots]


def _set_weights(self: Any, weights: list[Any]) -> None:
    """Set the count of steps and the state.

    Raises:
        ValueError: there are more or fewer of them.

    Source: `keras.optimizers.Optimizer.set_weights` of Keras 2.3.
    """
    for variable, value in zip(self.weights, weights, strict=True):
        K.set_value(variable, value)


def _function(name: str) -> Callable[..., Any]:
    """A function of K, or its replacement by a program, in `keras.backend` or in `dovetail.backend`."""
    own = getattr(keras.backend, name)
    return getattr(K, name) if own is FUNCTIONS[name] else own


def _in_default_graph(loss: Any) -> Any:
    """The tensor of K's default graph for one of a Keras model, if Keras runs on Dovetail; other values stay."""
    if isinstance(loss, keras.KerasTensor) and keras.config.backend() == "dovetail":
        return kind_of(loss).in_graph(loss, open_default_graph())
    return loss


# -- several models ---------------------------------------------------------------------------------------------------


def _get_to_know(self: Any, variables: Iterable[Any]) -> None:
    """Make state for variables that the optimizer was not built with, as it may be compiled into several models.

    Each variable has its state; the count of steps is shared, and so is any other single variable.
    """
    known = self._trainable_variables_indices
    new = [variable for variable in variables if self._var_key(variable) not in known]
    if not new:
        return
    before, count = dict(vars(self)), len(known)
    self.built = False
    self.build(new)
    for name, was in before.items():
        now = vars(self)[name]
        if isinstance(was, list) and now is not was:  # one for each variable
            vars(self)[name] = [*was, *now]
        elif isinstance(was, keras.Variable) and now is not was:
            vars(self)[name] = was
            self._untrack_variable(now)
    known.update({self._var_key(variable): number for number, variable in enumerate(new, count)})


# -- a get_updates of a program's class -------------------------------------------------------------------------------


def _run_own_updates(cls: Any, **options: Any) -> None:
    """Make Keras 3 train by the steps that a class defines in other words, unless it also defines `update_step`."""
    prepare(cls)
    if "get_updates" in vars(cls):
        cls.get_updates = _of_the_default_graph(cls.get_updates)
        if "update_step" not in vars(cls):
            cls.iterations = property(_iterations, _set_iterations)
            cls._trains_by_get_updates = True
            cls._backend_update_step = _update_step
            cls._filter_empty_gradients = _with_zeros


def _of_the_default_graph(get_updates: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap `get_updates`: for a loss of a Keras model it opens the default graph, which records the updates.

    Up to Keras 2.0 it also took constraints.  It gets none where Keras 3 trains, which applies them after the step.
    """
    parameters = inspect.signature(get_updates).parameters

    @functools.wraps(get_updates)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        given = {name: _in_default_graph(value) for name, value in kwargs.items()}
        if not args and "constraints" in parameters:
            given.setdefault("constraints", {})
        return get_updates(self, *map(_in_default_graph, args), **given)

    return call


_counts: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()
_programs: WeakKeyDictionary[Any, list[tuple[list[Any], Callable[..., Any]]]] = WeakKeyDictionary()  # by optimizer


def _iterations(self: Any) -> Any:
    """The number of runs of `get_updates`, which counts them instead of Keras."""
    if self not in _counts:
        _counts[self] = K.variable(0, dtype="int64", name="iterations")
    return _counts[self]


def _set_iterations(self: Any, value: Any) -> None:
    _counts[self] = value


def _with_zeros(self: Any, grads: list[Any], variables: list[Any]) -> tuple[list[Any], list[Any]]:
    """Zeros for gradients that are None: `get_updates` may not ask for them."""
    return [keras.ops.zeros_like(v) if g is None else g for g, v in zip(grads, variables, strict=True)], variables


def _update_step(self: Any, grads: list[Any], trainable_variables: list[Any], learning_rate: Any) -> None:
    """Take a step by `get_updates`; Keras 3 calls this method instead of `update_step` for each variable.

    For other variables, for example of another model, `get_updates` runs again and makes another state.

    Raises:
        TypeError: Keras runs on another backend than Dovetail.
    """
    if keras.config.backend() != "dovetail":
        raise TypeError(
            f"{type(self).__name__} defines get_updates, which trains where Keras runs on Dovetail: import "
            "keras_dovetail before keras, or define update_step(self, gradient, variable, learning_rate), which "
            "assigns the variable, and make its averages in build(self, variables) by self.add_variable_from_reference"
        )
    grads = [keras.ops.convert_to_tensor(gradient) for gradient in grads]
    programs = _programs.setdefault(self, [])
    ids = list(map(id, trainable_variables))
    program = next((program for variables, program in programs if list(map(id, variables)) == ids), None)
    if program is None:
        program = _program(self, grads, trainable_variables)
        programs.append((list(trainable_variables), program))
    program(*grads)


def _program(self: Any, grads: list[Any], variables: list[Any]) -> Callable[..., Any]:
    """A function of gradients that makes the updates of `get_updates`.

    The loss that `get_updates` receives has these gradients, in whichever way it asks for them.
    """
    with not_building(), record_on(()):
        open_default_graph()
        given = [K.placeholder(g.shape, dtype=str(g.dtype)) for g in grads]
        loss = sum(K.sum(g * K.cast(v, str(g.dtype))) for g, v in zip(given, variables, strict=True))
        updates = self.get_updates(loss=loss, params=variables)
        return function(K.function(given, [], updates=updates).graph)
