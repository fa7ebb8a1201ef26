"""Optimizers of programs in the words of tf.keras' OptimizerV2: settings, slots, and a step by `_resource_apply_dense`.

    class Slow(keras.optimizers.Optimizer):
        def __init__(self, learning_rate=0.1, name="Slow", **kwargs):
            super().__init__(name, **kwargs)
            self._set_hyper("learning_rate", learning_rate)

        def _create_slots(self, var_list):
            for var in var_list:
                self.add_slot(var, "mean")

        def _resource_apply_dense(self, grad, var):
            mean = self.get_slot(var, "mean")
            mean.assign(0.9 * mean + 0.1 * grad)
            return var.assign_sub(self._decayed_lr(var.dtype) * mean)

Keras 3 asks such a class for `update_step`, which makes that step.  Variables in these methods have the names and
methods of TensorFlow's.  All gradients are dense, so no step is one of `_resource_apply_sparse`.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import keras
import numpy as np

from dovetail import backend as K
from dovetail.compat.keras2.patches import Patch, methods
from dovetail.core.base.scopes import Scoped
from dovetail.core.values.variable import Variable

_made: Scoped[list[Any] | None] = Scoped(None)  # the operations of the steps that are recorded
DENSE = "_resource_apply_dense"
HYPERS, SLOTS = "_hypers", "_slots_by_name"  # attributes of an optimizer


def patches() -> Iterable[Patch]:
    """Yield the methods of the base class."""
    base: Any = keras.optimizers.Optimizer
    yield Patch(base, "build", _with_slots(base.build))
    yield from methods(
        base,
        _use_locking=False,
        _initial_decay=0.0,
        _set_hyper=_set_hyper,
        _get_hyper=_get_hyper,
        _serialize_hyperparameter=lambda self, name: _plain(self._get_hyper(name)),
        __getattr__=_hyper_by_name,
        add_slot=_add_slot,
        get_slot=lambda self, var, slot_name: _of_tensorflow(vars(self)[SLOTS][_key(var), slot_name]),
        get_slot_names=lambda self: [*dict.fromkeys(name for _, name in vars(self).get(SLOTS, {}))],
        _create_slots=lambda self, var_list: None,
        _decayed_lr=_decayed_lr,
        _prepare_local=_prepare_local,
        _fallback_apply_state=_fallback_apply_state,
        _resource_apply_dense=_own_step,
        _resource_scatter_add=lambda self, x, i, v: x.assign(
            keras.ops.scatter_update(x, i[:, None], K.gather(x, i) + v)
        ),
    )


def prepare(cls: Any) -> None:
    """Let Keras 3 train by the `_resource_apply_dense` that a class defines, unless it also defines `update_step`."""
    if DENSE in vars(cls) and "update_step" not in vars(cls):
        cls.update_step = _update_step
        cls.get_config = _of_settings(cls.get_config) if "get_config" in vars(cls) else _config


def steps_by_resources(optimizer: Any) -> bool:
    """Whether Keras 3 trains by the `_resource_apply_dense` of a program's class."""
    return type(optimizer).update_step is _update_step


# -- settings ---------------------------------------------------------------------------------------------------------


def _set_hyper(self: Any, name: str, value: Any) -> None:
    """Set a number that steps use, which callbacks may change: a number, a schedule, or a function."""
    hypers = vars(self).setdefault(HYPERS, {})
    if name == "learning_rate":
        self.learning_rate = value
    elif isinstance(hypers.get(name), Variable) and not callable(value):
        K.set_value(hypers[name], value)
    else:
        hypers[name] = value if callable(value) else K.variable(value, "float32", name)


def _get_hyper(self: Any, name: str, dtype: Any = None) -> Any:
    """A number that was set, in a dtype; a schedule as it is."""
    value = self._learning_rate if name == "learning_rate" else vars(self)[HYPERS][name]
    if isinstance(value, keras.optimizers.schedules.LearningRateSchedule):
        return value
    value = value() if callable(value) else value
    return value if dtype is None else keras.ops.cast(value, str(dtype))


def _hyper_by_name(self: Any, name: str) -> Any:
    """A number that was set, for a name that is no attribute."""
    hypers = vars(self).get(HYPERS, {})
    if name not in hypers:
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
    return hypers[name]


def _plain(value: Any) -> Any:
    is_schedule = isinstance(value, keras.optimizers.schedules.LearningRateSchedule)
    return keras.saving.serialize_keras_object(value) if is_schedule else float(np.asarray(K.get_value(value)))


def _decayed_lr(self: Any, var_dtype: Any) -> Any:
    """The learning rate of this step, in a dtype.

    Source: `tf.keras.optimizers.legacy.Optimizer._decayed_lr`.
    """
    rate, step = self._get_hyper("learning_rate", var_dtype), keras.ops.cast(self.iterations, str(var_dtype))
    rate = keras.ops.cast(rate(step), str(var_dtype)) if callable(rate) else rate
    return rate / (1.0 + self._initial_decay * step) if self._initial_decay else rate


def _prepare_local(self: Any, var_device: Any, var_dtype: Any, apply_state: dict[Any, Any]) -> None:
    """Put the rate of a step into the state for a device and a dtype, to which a class may add more."""
    apply_state.setdefault((var_device, var_dtype), {})["lr_t"] = self._decayed_lr(var_dtype)


def _fallback_apply_state(self: Any, var_device: Any, var_dtype: Any) -> dict[str, Any]:
    state: dict[Any, Any] = {(var_device, var_dtype): {}}
    self._prepare_local(var_device, var_dtype, state)
    return state[var_device, var_dtype]


def _config(self: Any) -> dict[str, Any]:
    """The settings that all optimizers have: those that are given."""
    clips = {name: getattr(self, name) for name in ("clipnorm", "clipvalue", "global_clipnorm")}
    return {"name": self.name, **{name: value for name, value in clips.items() if value is not None}}


def _of_settings(get_config: Callable[..., dict[str, Any]]) -> Callable[..., dict[str, Any]]:
    """Wrap `get_config`: it has no settings of Keras 3 that its constructor does not take."""

    @functools.wraps(get_config)
    def call(self: Any) -> dict[str, Any]:
        own, base = get_config(self), keras.optimizers.Optimizer.get_config(self)
        known = {*_config(self), *inspect.signature(type(self).__init__).parameters}
        return {name: value for name, value in own.items() if name in known or name not in base}

    return call


# -- slots ------------------------------------------------------------------------------------------------------------


def _key(variable: Any) -> int:
    """The identity of a variable, of Keras or inside of it."""
    return id(getattr(variable, "_value", variable))


def _of_tensorflow(variable: Any) -> Any:
    """The variable in one of Keras, with the names and methods of TensorFlow's.

    Raises:
        TypeError: Keras runs on another backend than Dovetail.
    """
    if keras.config.backend() != "dovetail":
        raise TypeError(
            f"{DENSE} trains where Keras runs on Dovetail: import keras_dovetail before keras, or define "
            "update_step(self, gradient, variable, learning_rate), which assigns the variable."
        )
    from dovetail.compat.tensorflow.names.variables.keras_weights import KerasWeight

    return KerasWeight.of(variable)


def _add_slot(self: Any, var: Any, slot_name: str, initializer: Any = "zeros", shape: Any = None) -> Any:
    """The state of a variable under a name, which is made if there is none.

    Args:
        initializer: an initializer or its name, or the first value.
        shape: its shape; the variable's if not given.

    Source: `tf.keras.optimizers.legacy.Optimizer.add_slot`.
    """
    slots = vars(self).setdefault(SLOTS, {})
    if (_key(var), slot_name) not in slots:
        is_rule = isinstance(initializer, str) or callable(initializer)
        rule = initializer if is_rule else keras.initializers.Constant(np.asarray(K.get_value(initializer)))
        name = f"{var.op_name.replace('/', '_')}_{slot_name}"
        slots[_key(var), slot_name] = self.add_variable(tuple(shape or var.shape), rule, str(var.dtype), name=name)
    return self.get_slot(var, slot_name)


def _with_slots(build: Callable[..., None]) -> Callable[..., None]:
    """Wrap `build`, which makes the state of variables: also the slots of a class that makes some."""

    @functools.wraps(build)
    def call(self: Any, variables: Sequence[Any]) -> None:
        build(self, variables)
        if steps_by_resources(self):
            self._create_slots([*map(_of_tensorflow, self._trainable_variables)])

    return call


# -- steps ------------------------------------------------------------------------------------------------------------


@contextmanager
def operations_of_steps() -> Iterator[list[Any]]:
    """A scope whose value is a list of the operations that `_resource_apply_dense` makes in it."""
    operations: list[Any] = []
    with _made.scope(operations):
        yield operations


def _update_step(self: Any, gradient: Any, variable: Any, learning_rate: Any) -> None:
    """Take a step of one variable by `_resource_apply_dense`."""
    apply = getattr(self, DENSE)
    state: dict[str, Any] = {"apply_state": {}} if "apply_state" in inspect.signature(apply).parameters else {}
    operation = apply(keras.ops.cast(gradient, variable.dtype), _of_tensorflow(variable), **state)
    made = _made.get()
    if made is not None and operation is not None:
        made.append(operation)


def _own_step(self: Any, grad: Any, var: Any, apply_state: Any = None) -> None:
    """Take the step of the class of Keras from which a program's class is derived.

    Raises:
        NotImplementedError: there is none.
    """
    steps = (vars(cls).get("update_step") for cls in type(self).__mro__)
    step = next((each for each in steps if each not in (None, _update_step)), None)
    if step is None or step is keras.optimizers.Optimizer.update_step:
        raise NotImplementedError(f"{type(self).__name__} must define {DENSE}(self, grad, var).")
    step(self, grad, var.weight, self._get_current_learning_rate())
