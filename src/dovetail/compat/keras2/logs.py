"""Results of training under their names in Keras 1 and 2, which are also found under the names of Keras 2.3."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable
from typing import Any

import keras

from dovetail.compat.keras2.names import METRICS
from dovetail.compat.keras2.patches import Patch, methods
from dovetail.compat.keras2.words import in_old_words, named
from dovetail.core.base.scopes import not_building
from dovetail.interop.privates import MonitorCallback, python_utils

RENAMED = {"learning_rate": "lr"}  # what callbacks add
PAIRS = METRICS | RENAMED
ENDS = [*PAIRS.items(), *((new, old) for old, new in PAIRS.items())]


class Logs(dict[str, Any]):
    """Results by name, in which "val_accuracy" finds "val_acc", and the other way round."""

    def __setitem__(self, key: str, value: Any) -> None:
        super().__setitem__(RENAMED.get(key, key), value)

    def __missing__(self, key: str) -> Any:
        for other in others(key):
            if dict.__contains__(self, other):
                return dict.__getitem__(self, other)
        raise KeyError(key)

    def __contains__(self, key: object) -> bool:
        return any(dict.__contains__(self, each) for each in (key, *others(key)))

    def get(self, key: str, default: Any = None) -> Any:
        """The value of a key, or the default."""
        try:
            return self[key]
        except KeyError:
            return default


def others(name: object) -> list[str]:
    """Other names of a result.

    Example:
        >>> others("val_acc"), others("loss")
        (['val_accuracy'], [])
    """
    name = str(name)
    stems = [(name.removesuffix(end), other) for end, other in ENDS if name.endswith(end)]
    return [f"{start}{other}" for start, other in stems if not start or start.endswith("_")]


def patches() -> Iterable[Patch]:
    """Yield the changes of callbacks and of their logs."""
    yield Patch(python_utils, "pythonify_logs", _as_logs(python_utils.pythonify_logs))
    callbacks: Any = keras.callbacks
    model = callbacks.Callback.model
    yield Patch(callbacks.Callback, "model", model.setter(lambda self, value: setattr(self, "_model", value)))
    yield from methods(
        callbacks.Callback,
        set_params=_with_old_params(callbacks.Callback.set_params),
        on_train_batch_begin=_with_size(callbacks.Callback.on_train_batch_begin),
        on_train_batch_end=_with_size(callbacks.Callback.on_train_batch_end),
    )
    yield from methods(callbacks.History, __init__=_with_logs(callbacks.History.__init__))
    checkpoint = callbacks.ModelCheckpoint
    yield from methods(
        checkpoint,
        __init__=_of_any_file(checkpoint.__init__),
        on_epoch_end=_in_periods(checkpoint.on_epoch_end),
        _get_file_path=_with_all_names(checkpoint._get_file_path),
    )
    for name in ("on_epoch_end", "on_test_end", "on_train_batch_end"):
        yield Patch(callbacks.TensorBoard, name, _computed(vars(callbacks.TensorBoard)[name]))
    yield Patch(MonitorCallback, "_set_monitor_op", _by_name(MonitorCallback._set_monitor_op))
    plateau = callbacks.ReduceLROnPlateau
    yield Patch(plateau, "__init__", in_old_words(plateau.__init__, "epsilon:min_delta"))


def _as_logs(pythonify: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(pythonify)
    def call(logs: Any) -> Any:
        return Logs(pythonify(logs))

    return call


def _with_old_params(set_params: Callable[..., None]) -> Callable[..., None]:
    """Wrap `set_params`: callbacks of `fit` know the names of results, and the numbers that `fit` was called with."""

    @functools.wraps(set_params)
    def call(self: Any, params: Any) -> None:
        given = vars(self).get(OF_FIT)
        if given is not None:
            names = list(self.model.metrics_names) if self.model else []  # a program's set_model may do nothing
            more = [f"val_{name}" for name in names] if given["do_validation"] else []
            params = {**params, **given, "metrics": names + more, "nb_epoch": params.get("epochs")}
        set_params(self, params)

    return call


OF_FIT = "_params_of_fit"  # an attribute of callbacks, for `set_params`


def params_of_fit(given: dict[str, Any]) -> dict[str, Any]:
    """The `params` of Keras 2 from the arguments of `fit`; generators may say the size of their batches."""
    has_validation = given.get("validation_data") is not None or bool(given.get("validation_split"))
    arrays: Any = given.get("x")
    while isinstance(arrays, (list, tuple, dict)) and arrays:
        arrays = next(iter(arrays.values() if isinstance(arrays, dict) else arrays))
    params = {
        "do_validation": has_validation,
        "batch_size": given.get("batch_size") or getattr(arrays, "batch_size", 32),
    }
    if given.get("y") is None or not hasattr(arrays, "shape"):
        return params
    count = int(arrays.shape[0] * (1 - (given.get("validation_split") or 0)))
    return {**params, "samples": count, "nb_sample": count}


def _with_size(method: Callable[..., None]) -> Callable[..., None]:
    """Wrap a method that calls `on_batch_begin` or `on_batch_end`: the logs have the batch's number and its size."""

    @functools.wraps(method)
    def call(self: Any, batch: int, logs: Any = None) -> None:
        params = self.params or {}
        size = params.get("batch_size", 1)
        rest = params.get("samples", math.inf) - batch * size
        method(self, batch, Logs({**(logs or {}), "batch": batch, "size": min(size, rest)}))

    return call


def _with_logs(init: Callable[..., None]) -> Callable[..., None]:
    @functools.wraps(init)
    def call(self: Any) -> None:
        init(self)
        self.history = Logs()

    return call


def _with_all_names(path: Callable[..., str]) -> Callable[..., str]:
    """Wrap the method that makes the name of a file of logs: it knows each result by all its names."""

    @functools.wraps(path)
    def call(self: Any, epoch: int, batch: Any, logs: Any) -> str:
        more = {other: value for name, value in (logs or {}).items() for other in others(name)}
        return path(self, epoch, batch, {**more, **(logs or {})})

    return call


def _computed(method: Callable[..., None]) -> Callable[..., None]:
    """Wrap a method that writes results: they are computed, also while K's default graph is open."""

    @functools.wraps(method)
    def call(self: Any, *args: Any, **kwargs: Any) -> None:
        with not_building():
            method(self, *args, **kwargs)

    return call


RISING = "acc", "auc", "fmeasure"  # parts of names of results that are better if they are larger


def _by_name(set_op: Callable[..., None]) -> Callable[..., None]:
    """Wrap the method that finds out which results are better: the name of the result tells, as in Keras 2."""

    @functools.wraps(set_op)
    def call(self: Any) -> None:
        if self.mode == "auto":
            self.mode = "max" if any(part in self.monitor for part in RISING) else "min"
        set_op(self)

    return call


CHECKPOINT = ["filepath", "monitor", "verbose", "save_best_only", "save_weights_only", "mode", "period"]


def _of_any_file(init: Callable[..., None]) -> Callable[..., None]:
    """Wrap the `__init__` of ModelCheckpoint: a file may have any name, and be written every `period` epochs."""

    @functools.wraps(init)
    def call(self: Any, *args: Any, **kwargs: Any) -> None:
        given = named(CHECKPOINT, args, kwargs)
        path, period = str(given.pop("filepath")), given.pop("period", 1)
        init(self, "any.weights.h5" if given.get("save_weights_only") else "any.keras", **given)
        self.filepath, self.period = path, period

    return call


def _in_periods(on_epoch_end: Callable[..., None]) -> Callable[..., None]:
    @functools.wraps(on_epoch_end)
    def call(self: Any, epoch: int, logs: Any = None) -> None:
        if (epoch + 1) % self.period == 0:
            on_epoch_end(self, epoch, logs)

    return call
