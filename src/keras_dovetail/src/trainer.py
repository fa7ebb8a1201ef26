"""Keras' Trainer on Dovetail: a training, test or prediction step is one program for each signature."""

from __future__ import annotations

import warnings
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import nullcontext, suppress
from functools import partial
from typing import Any

import numpy as np

import dovetail
from dovetail.core.base.garbage import NoGarbageCollection
from dovetail.core.engines.collectives import WORLD
from dovetail.core.values.foreign import densified
from dovetail.interop.privates import (
    BaseTrainer,
    CallbackList,
    Optimizer,
    array_slicing,
    config,
    data_adapter_utils,
    filter_traceback,
    pythonify_logs,
    tree,
)
from keras_dovetail.src.batch_hooks import BatchHooks
from keras_dovetail.src.batches import Batches
from keras_dovetail.src.building import build_by_output
from keras_dovetail.src.callbacks import in_default_graph
from keras_dovetail.src.generation import compile_generation
from keras_dovetail.src.parallel import backups, merging, shards, whole_batch
from keras_dovetail.src.scopes import at_once
from keras_dovetail.src.steps import Program, Step, run_all
from keras_dovetail.src.tensors import convert_to_numpy, each_leaf

UNDER_WAY = 2  # calls whose results are not fetched yet: engines compute while Python goes on


class Trainer(BaseTrainer):
    """The base class that Keras' models inherit from a backend.

    A model's own `train_step(data)` takes its gradients from a `dovetail.GradientTape`:

        def train_step(self, data):
            x, y = data
            with dovetail.GradientTape() as tape:
                loss = self.compute_loss(x, y, self(x, training=True))
            weights = self.trainable_weights
            self.optimizer.apply(tape.gradient(loss, weights), weights)
            return {"training_loss": loss}
    """

    _eval_epoch_iterator: Any = None

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        compile_generation(cls)

    def __init__(self) -> None:
        super().__init__()
        self.train_function: Step | None = None
        self.test_function: Step | None = None
        self.predict_function: Step | None = None

    def saved_model_parts(self) -> Any:
        """The variables and the signature that `dovetail.saved_model.save` writes."""
        from keras_dovetail.src.export import parts_of_model

        return parts_of_model(self)

    # one step

    def train_step(self, data: Any) -> dict[str, Any]:
        """Train on one batch (x, y, sample_weight), and return the metrics by name."""
        x, y, sample_weight = data_adapter_utils.unpack_x_y_sample_weight(data)
        with dovetail.GradientTape() as tape:
            y_pred = _forward(self, x, training=True)
            loss = self._compute_loss(x=x, y=y, y_pred=y_pred, sample_weight=sample_weight, training=True)
            scaled = loss if self.optimizer is None else self.optimizer.scale_loss(loss)
        self._loss_tracker.update_state(loss, sample_weight=_batch_size(x))
        weights = list(self.trainable_weights)
        gradients = tape.gradient(scaled, weights) if weights else []
        metrics = partial(self.compute_metrics, x, y, y_pred, sample_weight=sample_weight)
        logs = metrics() if merging.joins_metrics(self) else None
        if weights:
            self.optimizer.apply(gradients, weights)
        else:
            warnings.warn("The model does not have any trainable weights.", stacklevel=2)
        return metrics() if logs is None else logs

    def test_step(self, data: Any) -> dict[str, Any]:
        """Evaluate one batch (x, y, sample_weight), and return the metrics by name."""
        x, y, sample_weight = data_adapter_utils.unpack_x_y_sample_weight(data)
        y_pred = _forward(self, x, training=False)
        loss = self._compute_loss(x=x, y=y, y_pred=y_pred, sample_weight=sample_weight, training=False)
        self._loss_tracker.update_state(loss, sample_weight=_batch_size(x))
        return self.compute_metrics(x, y, y_pred, sample_weight=sample_weight)

    def predict_step(self, data: Any) -> Any:
        """The model's outputs for one batch."""
        return _forward(self, data_adapter_utils.unpack_x_y_sample_weight(data)[0], training=False)

    def _symbolic_build(self, iterator: Any = None, data_batch: Any = None) -> None:
        """Make all variables before the first step; a model without `call` makes them in its own steps."""
        if _has_call(self):
            with NoGarbageCollection():
                build_by_output(self, lambda: next(iter(iterator))[-1][0] if data_batch is None else data_batch)
                super()._symbolic_build(iterator, data_batch)

    # the programs of steps, each for a list of batches

    def make_train_function(self, force: bool = False) -> Step | None:
        """Make the function that trains on a list of batches, and return it if it existed already."""
        return _make(self, "train_function", self.train_step, force)

    def make_test_function(self, force: bool = False) -> Step | None:
        """Make the function that evaluates a list of batches, and return it if it existed already."""
        return _make(self, "test_function", self.test_step, force)

    def make_predict_function(self, force: bool = False) -> Step | None:
        """Make the function that predicts for a list of batches, and return it if it existed already."""
        return _make(self, "predict_function", self.predict_step, force, keeps_all=True)

    # many steps

    @at_once
    @filter_traceback
    def fit(
        self,
        x: Any = None,
        y: Any = None,
        batch_size: int | None = None,
        epochs: int = 1,
        verbose: Any = "auto",
        callbacks: Any = None,
        validation_split: float = 0.0,
        validation_data: Any = None,
        shuffle: bool = True,
        class_weight: dict[int, float] | None = None,
        sample_weight: Any = None,
        initial_epoch: int = 0,
        steps_per_epoch: int | None = None,
        validation_steps: int | None = None,
        validation_batch_size: int | None = None,
        validation_freq: Any = 1,
    ) -> Any:
        """Train the model; see `keras.Model.fit`."""
        self._assert_compile_called("fit")
        epochs = _capped(epochs)
        self._eval_epoch_iterator = None
        if validation_split and validation_data is None:
            (x, y, sample_weight), validation_data = array_slicing.train_validation_split(
                (x, y, sample_weight), validation_split=validation_split
            )
        batches = Batches(
            x=x,
            y=y,
            sample_weight=sample_weight,
            batch_size=batch_size,
            steps_per_epoch=steps_per_epoch,
            shuffle=shuffle,
            class_weight=class_weight,
            steps_per_execution=self.steps_per_execution,
        )
        _build(self, Trainer.train_step, iterator=batches)
        batches.reset()
        callbacks = _callback_list(self, callbacks, batches, verbose, epochs, add_history=True)
        validation = {
            "batch_size": validation_batch_size or batch_size,
            "steps": validation_steps,
            "callbacks": callbacks,
        }

        self.stop_training = False
        is_shared = shards.is_shared()
        if is_shared:
            merging.begin(self)
        self.make_train_function()
        callbacks.on_train_begin()
        epoch_logs: dict[str, Any] | None = None
        for epoch in range(self._initial_epoch or initial_epoch, epochs):
            self.reset_metrics()
            callbacks.on_epoch_begin(epoch)
            hooks = BatchHooks(callbacks, "train")
            steps = (epochs - epoch) * (batches.num_batches or 0)
            logs = _last(
                run_all(self.train_function, batches, hooks, lambda: self.stop_training and not is_shared, steps)
            )
            epoch_logs = dict(_results(self, logs, batches))
            if validation_data is not None and self._should_eval(epoch, validation_freq):
                epoch_logs.update(_validate(self, validation_data, validation))
            callbacks.on_epoch_end(epoch, epoch_logs)
            if merging.is_stopped(self) if is_shared else self.stop_training:
                break
        if isinstance(self.optimizer, Optimizer) and epochs > 0:
            self.optimizer.finalize_variable_values(self.trainable_weights)
        self._eval_epoch_iterator = None
        callbacks.on_train_end(logs=epoch_logs)
        return self.history

    @at_once
    @filter_traceback
    def evaluate(
        self,
        x: Any = None,
        y: Any = None,
        batch_size: int | None = None,
        verbose: Any = "auto",
        sample_weight: Any = None,
        steps: int | None = None,
        callbacks: Any = None,
        return_dict: bool = False,
        **kwargs: Any,
    ) -> Any:
        """The loss and the metrics over a data set; see `keras.Model.evaluate`."""
        self._assert_compile_called("evaluate")
        use_cached = kwargs.pop("_use_cached_eval_dataset", False)
        if kwargs:
            raise ValueError(f"Arguments not recognized: {kwargs}")
        batches = (
            self._eval_epoch_iterator
            if use_cached
            else Batches(
                x=x,
                y=y,
                sample_weight=sample_weight,
                batch_size=batch_size,
                steps_per_epoch=steps,
                shuffle=False,
                steps_per_execution=self.steps_per_execution,
            )
        )
        _build(self, Trainer.test_step, iterator=batches)
        batches.reset()
        callbacks = _callback_list(self, callbacks, batches, verbose)

        self.make_test_function()
        self.stop_evaluating = False
        callbacks.on_test_begin()
        self.reset_metrics()
        hooks = BatchHooks(callbacks, "test")
        logs = _last(run_all(self.test_function, batches, hooks, lambda: self.stop_evaluating, batches.num_batches))
        logs = pythonify_logs(_results(self, logs, batches))
        callbacks.on_test_end(logs)
        return logs if return_dict else self._flatten_metrics_in_order(logs)

    @at_once
    @filter_traceback
    def predict(
        self,
        x: Any,
        batch_size: int | None = None,
        verbose: Any = "auto",
        steps: int | None = None,
        callbacks: Any = None,
    ) -> Any:
        """The model's outputs for a data set, as NumPy arrays; see `keras.Model.predict`."""
        batches = Batches(
            x=x,
            batch_size=batch_size,
            steps_per_epoch=steps,
            shuffle=False,
            steps_per_execution=self.steps_per_execution,
        )
        callbacks = _callback_list(self, callbacks, batches, verbose)
        self.make_predict_function()
        self.stop_predicting = False
        callbacks.on_predict_begin()
        hooks = BatchHooks(callbacks, "predict")
        fetched: list[Any] = []
        function = shards.gathering(self.predict_function)
        for outputs in run_all(function, batches, hooks, lambda: self.stop_predicting, batches.equal_steps):
            fetched.append(outputs)
            if len(fetched) > UNDER_WAY:  # the engine goes on while this one is fetched
                fetched[-UNDER_WAY - 1] = each_leaf(convert_to_numpy, fetched[-UNDER_WAY - 1])
        fetched[-UNDER_WAY:] = [each_leaf(convert_to_numpy, outputs) for outputs in fetched[-UNDER_WAY:]]
        callbacks.on_predict_end()
        return tree.map_structure(lambda *parts: np.concatenate(parts), *fetched)

    # single batches

    @at_once
    def train_on_batch(
        self,
        x: Any,
        y: Any = None,
        sample_weight: Any = None,
        class_weight: dict[int, float] | None = None,
        return_dict: bool = False,
    ) -> Any:
        """Train on one batch; see `keras.Model.train_on_batch`."""
        self._assert_compile_called("train_on_batch")
        if class_weight is not None:
            if sample_weight is not None:
                raise ValueError(
                    "Arguments `sample_weight` and `class_weight` cannot be specified at the same time. "
                    f"Received: sample_weight={sample_weight}, class_weight={class_weight}"
                )
            sample_weight = data_adapter_utils.class_weight_to_sample_weights(y, class_weight)
        data = _as_batch(x, y, sample_weight)
        _build(self, Trainer.train_step, data_batch=data)
        self.make_train_function()
        self.reset_metrics()
        return _logs_of(self, self.train_function, data, return_dict)

    @at_once
    def test_on_batch(self, x: Any, y: Any = None, sample_weight: Any = None, return_dict: bool = False) -> Any:
        """Evaluate one batch; see `keras.Model.test_on_batch`."""
        self._assert_compile_called("test_on_batch")
        data = _as_batch(x, y, sample_weight)
        _build(self, Trainer.test_step, data_batch=data)
        self.make_test_function()
        self.reset_metrics()
        return _logs_of(self, self.test_function, data, return_dict)

    @at_once
    def predict_on_batch(self, x: Any) -> Any:
        """The model's outputs for one batch; see `keras.Model.predict_on_batch`."""
        self.make_predict_function()
        return each_leaf(convert_to_numpy, shards.gathering(self.predict_function)([shards.shared((x,))]))


def _capped(epochs: int) -> int:
    limit = config.max_epochs()
    if limit and limit < epochs:
        warnings.warn(f"Limiting epochs to {limit}", stacklevel=3)
        return limit
    return epochs


def _as_batch(*parts: Any) -> tuple[Any, ...]:
    """The parts of a single batch, as arrays or tensors, which are dense."""
    dense = each_leaf(densified, parts)
    return each_leaf(lambda v: v if v is None or hasattr(v, "shape") else np.asarray(v), dense)


def _last(found: Iterable[Any]) -> Any:
    """The logs of the last call, if there was one."""
    return next(iter(deque(found, 1)), {})


def _batch_size(x: Any) -> int:
    return next(value for value in tree.flatten(x) if value is not None).shape[0]


def _build(model: Any, step: Callable[..., Any], **batches: Any) -> None:
    """Make all variables before the first step, unless the model's own step may call it with other data than a batch.

    Args:
        model: the model.
        step: the step that does call it with a batch, which the model's own one replaces.
        batches: the argument of `_symbolic_build`.
    """
    is_built = all(layer.built for layer in model._flatten_layers())
    is_own = getattr(type(model), step.__name__) is not step
    if is_built or not is_own:
        with suppress(Exception) if is_own else nullcontext():
            model._symbolic_build(**batches)


def _has_call(model: Any) -> bool:
    from dovetail.interop.privates import Model  # it inherits from this module

    return getattr(model.call, "__func__", None) is not Model.call


def _forward(model: Any, x: Any, training: bool) -> Any:
    return model(x, training=training) if model._call_has_training_arg else model(x)


def _make(model: Any, name: str, step: Step, force: bool, keeps_all: bool = False) -> Step | None:
    program, is_shared = getattr(model, name), shards.is_shared()
    is_of_others = isinstance(program, Program) and program.is_shared != is_shared  # the distribution changed since
    if program is not None and not force and not is_of_others:
        return program
    # Some of Keras' layers need concrete values, for example for strings, and say so.
    eagerly = model.run_eagerly or not all(layer.supports_jit for layer in model._flatten_layers())
    ended = None
    if is_shared:
        whole_batch.check(model)
        step = shards.of_share(step, model)
        ended = merging.ended(step, model)
    setattr(model, name, Program(step, name, eagerly, keeps_all, ended, model.name))
    return None


def _validate(model: Any, data: Any, options: dict[str, Any]) -> dict[str, Any]:
    x, y, sample_weight = data_adapter_utils.unpack_x_y_sample_weight(data)
    if model._eval_epoch_iterator is None:  # the epochs share it
        model._eval_epoch_iterator = Batches(
            x=x,
            y=y,
            sample_weight=sample_weight,
            batch_size=options["batch_size"],
            steps_per_execution=model.steps_per_execution,
            steps_per_epoch=options["steps"],
            shuffle=False,
        )
    logs = model.evaluate(
        x=x, y=y, sample_weight=sample_weight, return_dict=True, _use_cached_eval_dataset=True, **options
    )
    return {f"val_{name}": value for name, value in logs.items()}


@at_once  # a callback may have opened the default graph
def _results(model: Any, logs: Any, batches: Batches) -> Any:
    is_shared = shards.is_shared()
    if is_shared:
        results = merging.finish(model, logs, batches.share)
    elif model._compile_metrics is not None and not model._compile_metrics.built:  # the model's own step left them out
        results = logs
    else:
        results = model._get_metrics_result_or_logs(logs)
    if not logs and shards.is_data_parallel():  # the last batch of the epoch came before a restart
        results = model.get_metrics_result()
    return pythonify_logs(merging.mean_logs(results)) if is_shared else results


def _callback_list(model: Any, callbacks: Any, batches: Batches, verbose: Any, epochs: int = 1, **options: Any) -> Any:
    if isinstance(callbacks, CallbackList):
        return callbacks
    callbacks = tree.flatten(callbacks or [])
    if shards.is_data_parallel():
        callbacks = backups.over_ranks(callbacks, batches)
    if shards.is_shared():
        callbacks, verbose = shards.callbacks_of_rank(callbacks), 0 if WORLD.rank else verbose
    return CallbackList(
        [in_default_graph(callback) for callback in callbacks],
        add_progbar=verbose != 0,
        verbose=verbose,
        epochs=epochs,
        steps=batches.num_batches,
        model=model,
        **options,
    )


def _logs_of(model: Any, step: Any, data: Any, return_dict: bool) -> Any:
    part = shards.shared(data)
    if not shards.is_shared():
        logs = step([part])
    elif isinstance(step, Program):
        logs = step.ended([part])
    else:
        logs = merging.finish(model, step([part]), part[1])
    logs = pythonify_logs(logs)
    return logs if return_dict else model._flatten_metrics_in_order(logs)
