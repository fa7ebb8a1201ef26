"""TensorFlow 1's estimators: a model function and input functions, each in a graph of its own, and checkpoints."""

from __future__ import annotations

import inspect
import itertools
import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from dovetail.compat.tensorflow.entries import named, value
from dovetail.compat.tensorflow.names.array.structures import nest_flatten, pack_sequence_as
from dovetail.compat.tensorflow.names.data.dataset import Dataset
from dovetail.compat.tensorflow.names.data.iterators import make_one_shot_iterator
from dovetail.compat.tensorflow.names.estimators.replicas import Replicas
from dovetail.compat.tensorflow.names.estimators.serving import exported
from dovetail.compat.tensorflow.names.graph.graph import GraphKeys, get_collection
from dovetail.compat.tensorflow.names.metrics.measures import mean
from dovetail.compat.tensorflow.names.monitored import hooks as hook_classes
from dovetail.compat.tensorflow.names.monitored.sessions import (
    ChiefSessionCreator,
    MonitoredSession,
    Scaffold,
    monitored_training_session,
)
from dovetail.compat.tensorflow.names.random.draws import set_seed
from dovetail.compat.tensorflow.names.saving import checkpoint_files as files
from dovetail.compat.tensorflow.names.saving.checkpoint_files import list_variables, load_variable
from dovetail.compat.tensorflow.names.saving.checkpoints import Saver
from dovetail.compat.tensorflow.names.saving.warm_starts import warm_start
from dovetail.compat.tensorflow.names.summary.event_files import FileWriter
from dovetail.compat.tensorflow.names.summary.summary import scalar_v1
from dovetail.compat.tensorflow.names.train.steps import create_global_step
from dovetail.core.base.errors import op_error
from dovetail.core.base.scopes import Setting
from dovetail.formats.wire.messages import TENSORFLOW
from dovetail.sessions.session_graph import SessionGraph

MOST_STEPS: Setting[int | None] = Setting(None)  # how many steps `train` may take; None for all that a program asks for


class ModeKeys:
    """The purposes for which a model function is called.

    Source: `tf.estimator.ModeKeys`.
    """

    TRAIN, EVAL, PREDICT, INFER = "train", "eval", "infer", "infer"


class EstimatorSpec(NamedTuple):
    """The parts of a model, which a model function returns.

    Source: `tf.estimator.EstimatorSpec`.
    """

    mode: str
    predictions: Any = None
    loss: Any = None
    train_op: Any = None
    eval_metric_ops: Any = None
    export_outputs: Any = None
    training_chief_hooks: Any = None
    training_hooks: Any = None
    scaffold: Any = None
    evaluation_hooks: Any = None
    prediction_hooks: Any = None


class RunConfig(NamedTuple):
    """The settings of an estimator.

    Attributes:
        train_distribute: a strategy, by which several processes train; each takes whole batches of the data set.
        eval_distribute: each process evaluates all examples, with or without a strategy.

    Source: `tf.estimator.RunConfig`.
    """

    model_dir: str | None = None
    tf_random_seed: int | None = None
    save_summary_steps: int | None = 100
    save_checkpoints_steps: int | None = None
    save_checkpoints_secs: float | None = None
    session_config: Any = None
    keep_checkpoint_max: int = 5
    keep_checkpoint_every_n_hours: float = 10000
    log_step_count_steps: int | None = 100
    train_distribute: Any = None
    eval_distribute: Any = None

    def replace(self, **settings: Any) -> RunConfig:
        """The settings with other values."""
        return self._replace(**settings)


class TrainSpec(NamedTuple):
    """The inputs and steps with which `train_and_evaluate` trains.

    Source: `tf.estimator.TrainSpec`.
    """

    input_fn: Callable[..., Any]
    max_steps: int | None = None
    hooks: Any = ()
    saving_listeners: Any = ()


class EvalSpec(NamedTuple):
    """The inputs and steps with which `train_and_evaluate` evaluates a checkpoint.

    Attributes:
        throttle_secs: the least seconds between two evaluations; the last checkpoint is always evaluated.

    Source: `tf.estimator.EvalSpec`.
    """

    input_fn: Callable[..., Any]
    steps: int | None = 100
    name: str | None = None
    hooks: Any = ()
    exporters: Any = None
    start_delay_secs: float = 120
    throttle_secs: float = 600


class Estimator:
    """A model that is trained, evaluated and asked for predictions; its variables are in checkpoints of a folder.

    Args:
        model_fn: a function of `features`, and of those of `labels`, `mode`, `params` and `config` that it takes; it
            returns an `EstimatorSpec`.
        model_dir: the folder; by default the one of `config`, or a new one.
        params: what the model function gets as `params`.
        warm_start_from: the checkpoint, or its folder, that gives the first values.

    Source: `tf.estimator.Estimator`.

    Differs: checkpoints have no graph.

    Example:
        >>> import dovetail.compat.tensorflow.compat.v1 as tf
        >>> def model(features, labels, mode):
        ...     w = tf.get_variable("w", [], initializer=tf.zeros_initializer())
        ...     loss = tf.reduce_mean(tf.square(w * features["x"] - labels))
        ...     step = tf.train.GradientDescentOptimizer(0.1).minimize(loss, tf.train.get_global_step())
        ...     return tf.estimator.EstimatorSpec(mode, {"y": w * features["x"]}, loss, step)
        >>> ones = np.ones(4, "float32")
        >>> data = tf.estimator.inputs.numpy_input_fn({"x": ones}, ones, batch_size=4, num_epochs=None, shuffle=False)
        >>> found = tf.estimator.Estimator(model).train(data, steps=5).evaluate(data, steps=1)
        >>> int(found["global_step"]), round(float(found["loss"]), 4)
        (5, 0.1074)
    """

    def __init__(
        self,
        model_fn: Callable[..., Any],
        model_dir: str | None = None,
        config: Any = None,
        params: Any = None,
        warm_start_from: Any = None,
    ) -> None:
        self.config = config or RunConfig()
        self._replicas = Replicas(self.config.train_distribute)
        self.model_dir = model_dir or self.config.model_dir or self._replicas.new_folder()
        self.model_fn, self.params, self._first = model_fn, {} if params is None else params, warm_start_from

    def train(
        self,
        input_fn: Callable[..., Any],
        hooks: Sequence[Any] | None = None,
        steps: int | None = None,
        max_steps: int | None = None,
        saving_listeners: Sequence[Any] | None = None,
    ) -> Estimator:
        """Train for some steps, to a global step, or to the end of the inputs, and write checkpoints."""
        if steps is not None and max_steps is not None:
            raise op_error(ValueError, "tf.estimator.Estimator.train", "give either steps or max_steps.")
        done, config = self._global_step(), self.config
        most = [x for x in (steps, None if max_steps is None else max_steps - done, MOST_STEPS.get()) if x is not None]
        if most and min(most) <= 0:
            return self
        replicas = self._replicas
        with replicas.training(), SessionGraph().as_default():
            spec, step = self._spec(input_fn, ModeKeys.TRAIN)
            spec = replicas.with_mean_loss(spec)
            if self._first is not None and not done:
                warm_start(self._first)
            if not any(one.op.name == "loss" for one in get_collection(GraphKeys.SUMMARIES)):
                scalar_v1("loss", spec.loss)
            own: list[Any] = [hook_classes.NanTensorHook(spec.loss)]
            own += [hook_classes.StopAtStepHook(num_steps=min(most))] if most else []
            if config.log_step_count_steps:
                shown = {"loss": spec.loss, "step": step}
                own.append(hook_classes.LoggingTensorHook(shown, every_n_iter=config.log_step_count_steps))
            scaffold = spec.scaffold or Scaffold(saver=Saver(max_to_keep=config.keep_checkpoint_max))
            of_first = (spec.training_chief_hooks or ()) if replicas.is_first else ()
            given = [*(spec.training_hooks or ()), *of_first, *(hooks or ())]
            saving = self._saving(given, scaffold, saving_listeners or ()) if replicas.is_first else ()
            with monitored_training_session(
                checkpoint_dir=self.model_dir if replicas.is_first else None,
                scaffold=scaffold,
                hooks=[*replicas.hooks, *own, *given],
                chief_only_hooks=saving,
                save_checkpoint_secs=None,
                save_checkpoint_steps=None,
                save_summaries_steps=config.save_summary_steps,
                config=config.session_config,
                log_step_count_steps=config.log_step_count_steps,
            ) as session:
                while not session.should_stop():
                    session.run([spec.train_op, spec.loss])
        return self

    def _saving(self, hooks: Sequence[Any], scaffold: Scaffold, listeners: Sequence[Any]) -> list[Any]:
        """The hook that writes checkpoints, unless one of the program's hooks does."""
        kind = hook_classes.CheckpointSaverHook
        for hook in hooks:
            if isinstance(hook, kind):
                hook.add_listeners(listeners)
                return []
        secs, steps = self.config.save_checkpoints_secs, self.config.save_checkpoints_steps
        secs = secs or (None if steps else 600)
        options: dict[str, Any] = {"scaffold": scaffold, "listeners": listeners}
        return [kind(self.model_dir, secs, steps, save_graph_def=False, **options)]  # iterators are no part of files

    def evaluate(
        self,
        input_fn: Callable[..., Any],
        steps: int | None = None,
        hooks: Sequence[Any] | None = None,
        checkpoint_path: str | None = None,
        name: str | None = None,
    ) -> dict[str, Any]:
        """The measures of a model function over some batches, or all, with the loss and the global step.

        They are written as summaries, too, into the folder `eval_dir(name)`.
        """
        path = self._checkpoint(checkpoint_path, "evaluate")
        with SessionGraph().as_default():
            spec, step = self._spec(input_fn, ModeKeys.EVAL)
            measures = {"loss": mean(spec.loss), **(spec.eval_metric_ops or {})}
            values = {key: measures[key][0] for key in sorted(measures)} | {"global_step": step}
            updates = [pair[1] for pair in measures.values()]
            creator = ChiefSessionCreator(spec.scaffold, "", self.config.session_config, None, path)
            last = hook_classes.FinalOpsHook(values)
            with MonitoredSession(creator, [*(hooks or ()), *(spec.evaluation_hooks or ()), last]) as session:
                for _ in itertools.count() if steps is None else range(steps):
                    session.run(updates)
        final = last.final_ops_values
        numbers = {key: x for key, x in final.items() if np.ndim(x) == 0 and key != "global_step"}
        with FileWriter(self.eval_dir(name)) as writer:
            shown = [TENSORFLOW.Summary.Value(tag=key, simple_value=float(x)) for key, x in sorted(numbers.items())]
            writer.add_summary(TENSORFLOW.Summary(value=shown), int(final["global_step"]))
        return final

    def eval_dir(self, name: str | None = None) -> str:
        """The folder of the summaries of evaluations with a name, or without one."""
        return os.path.join(self.model_dir, f"eval_{name}" if name else "eval")

    def predict(
        self,
        input_fn: Callable[..., Any],
        predict_keys: Any = None,
        hooks: Sequence[Any] | None = None,
        checkpoint_path: str | None = None,
        yield_single_examples: bool = True,
    ) -> Iterator[Any]:
        """The predictions for each example, or for each batch."""
        path = self._checkpoint(checkpoint_path, "predict")
        with SessionGraph().as_default():
            spec, _ = self._spec(input_fn, ModeKeys.PREDICT)
            predictions = spec.predictions
            if predict_keys is not None:
                keys = [predict_keys] if isinstance(predict_keys, str) else list(predict_keys)
                predictions = {key: predictions[key] for key in keys}
            creator = ChiefSessionCreator(spec.scaffold, "", self.config.session_config, None, path)
            session = MonitoredSession(creator, [*(hooks or ()), *(spec.prediction_hooks or ())])
        with session:
            while not session.should_stop():
                batch = session.run(predictions)
                if not yield_single_examples:
                    yield batch
                    continue
                for leaves in zip(*nest_flatten(batch), strict=True):
                    yield pack_sequence_as(batch, leaves)

    def export_saved_model(
        self,
        export_dir_base: str,
        serving_input_receiver_fn: Callable[[], Any],
        assets_extra: Any = None,
        as_text: bool = False,
        checkpoint_path: str | None = None,
        strip_default_attrs: bool = False,
    ) -> bytes:
        """Write a SavedModel of a checkpoint into a new folder, whose name is the time, and return its path."""
        if assets_extra is not None:
            problem = "assets_extra is not offered: copy the files into the folder that is returned."
            raise op_error(NotImplementedError, "tf.estimator.Estimator.export_saved_model", problem)
        path = self._checkpoint(checkpoint_path, "export_saved_model")
        with SessionGraph().as_default(), named("Session")() as session:
            receiver = serving_input_receiver_fn()
            spec, _ = self._spec(lambda: receiver.features, ModeKeys.PREDICT)
            Saver().restore(session, path)
            return exported(session, spec, receiver.receiver_tensors, export_dir_base, as_text)

    export_savedmodel = export_saved_model

    def latest_checkpoint(self) -> str | None:
        """The latest checkpoint of the folder; None if there is none."""
        return files.latest_checkpoint(self.model_dir)

    def get_variable_names(self) -> list[str]:
        """The names of the variables in the latest checkpoint."""
        return [name for name, _ in list_variables(self._checkpoint(None, "get_variable_names"))]

    def get_variable_value(self, name: str) -> np.ndarray:
        """The value of a variable in the latest checkpoint."""
        return load_variable(self._checkpoint(None, "get_variable_value"), name)

    def _global_step(self) -> int:
        path = self.latest_checkpoint()
        return 0 if path is None else int(load_variable(path, "global_step"))

    def _checkpoint(self, given: str | None, method: str) -> str:
        path = given or self.latest_checkpoint()
        if path is None:
            problem = f"there is no checkpoint in {self.model_dir}: train the model before."
            raise op_error(ValueError, f"tf.estimator.Estimator.{method}", problem)
        return path

    def _spec(self, input_fn: Callable[..., Any], mode: str) -> tuple[EstimatorSpec, Any]:
        """The result of the model function for the inputs, in the graph that is open, and the global step."""
        if self.config.tf_random_seed is not None:
            set_seed(self.config.tf_random_seed)
        step = create_global_step()
        known = {"mode": mode, "params": self.params, "config": self.config}
        is_training = mode == ModeKeys.TRAIN
        given = input_fn(**taken(input_fn, known | ({"input_context": self._replicas.context} if is_training else {})))
        inputs = self._replicas.dealt(given) if is_training else given
        if isinstance(inputs, Dataset):
            inputs = make_one_shot_iterator(inputs).get_next()
        features, labels = inputs if isinstance(inputs, (list, tuple)) and len(inputs) == 2 else (inputs, None)
        known["labels"] = None if mode == ModeKeys.PREDICT else labels
        return self.model_fn(features, **taken(self.model_fn, known)), step


def taken(function: Callable[..., Any], arguments: dict[str, Any]) -> dict[str, Any]:
    """The arguments that a function takes."""
    parameters = inspect.signature(function).parameters
    return {name: argument for name, argument in arguments.items() if name in parameters}


class _Evaluating(hook_classes.CheckpointSaverListener):
    """A listener that evaluates an estimator's checkpoints: the last one, and before it one in `throttle_secs`.

    Attributes:
        measures: of the latest evaluation; empty before the first.
        exports: the results of the exporters, a list for each evaluation.
    """

    def __init__(self, estimator: Estimator, spec: EvalSpec, last_step: int | None) -> None:
        self._estimator, self._spec, self._last_step = estimator, spec, last_step
        self._timer = hook_classes.SecondOrStepTimer(every_secs=spec.throttle_secs)
        self._is_first = True
        self.measures: dict[str, Any] = {}
        self.exports: list[list[Any]] = []

    def after_save(self, session: Any, global_step_value: int) -> None:
        """Evaluate the checkpoint, unless it is the one before the first step, or the last evaluation is too recent."""
        was_first, self._is_first = self._is_first, False
        if not was_first and self._timer.should_trigger_for_step(global_step_value):
            self._evaluate(global_step_value)

    def end(self, session: Any, global_step_value: int) -> None:
        """Evaluate the last checkpoint, if that was not done yet."""
        if global_step_value != self._timer.last_triggered_step():
            self._evaluate(global_step_value)

    def _evaluate(self, step: int) -> None:
        self._timer.update_last_triggered_step(step)
        estimator, spec = self._estimator, self._spec
        path = estimator.latest_checkpoint()
        self.measures = estimator.evaluate(spec.input_fn, spec.steps, spec.hooks, path, spec.name)
        exporters = spec.exporters or ()
        is_last = self._last_step is not None and step >= self._last_step
        exported = []
        for exporter in exporters if isinstance(exporters, (list, tuple)) else [exporters]:
            folder = os.path.join(estimator.model_dir, "export", exporter.name)
            exported.append(exporter.export(estimator, folder, path, self.measures, is_last))
        self.exports.append(exported)


def train_and_evaluate(estimator: Estimator, train_spec: TrainSpec, eval_spec: EvalSpec) -> tuple[dict[str, Any], list]:
    """Train, evaluate checkpoints as they are written, and return the last measures and all results of exporters.

    Source: `tf.estimator.train_and_evaluate`.
    """
    evaluating = _Evaluating(estimator, eval_spec, train_spec.max_steps)
    listeners = [*(train_spec.saving_listeners or ()), evaluating]
    hooks, most = train_spec.hooks, train_spec.max_steps
    estimator.train(train_spec.input_fn, hooks, max_steps=most, saving_listeners=listeners)
    return evaluating.measures, evaluating.exports


def numpy_input_fn(
    x: Any,
    y: Any = None,
    batch_size: int = 128,
    num_epochs: int | None = 1,
    shuffle: bool | None = None,
    queue_capacity: int = 1000,
    num_threads: int = 1,
) -> Callable[[], Any]:
    """A function that gives batches of arrays, as features, or as features and labels.

    Args:
        x: an array, or a dict of arrays, which come by sorted keys; y: the labels, in one of these forms.
        num_epochs: how often all examples come; None for no end.

    Source: `tf.compat.v1.estimator.inputs.numpy_input_fn`.
    """

    ordered = dict(sorted(x.items())) if isinstance(x, dict) else x
    return _input_fn(ordered, y, batch_size, num_epochs, shuffle, queue_capacity)


def _input_fn(
    x: Any,
    y: Any = None,
    batch_size: int = 128,
    num_epochs: int | None = 1,
    shuffle: bool | None = None,
    queue_capacity: int = 1000,
    *ignored: Any,
    **hints: Any,
) -> Callable[[], Any]:
    def input_fn() -> Any:
        data = Dataset.from_tensor_slices(x if y is None else (x, y))
        data = data.shuffle(queue_capacity) if shuffle else data
        return make_one_shot_iterator(data.repeat(num_epochs).batch(batch_size)).get_next()

    return input_fn


def pandas_input_fn(x: Any, y: Any = None, *args: Any, **kwargs: Any) -> Callable[[], Any]:
    """A function that gives batches of a table's columns; see `numpy_input_fn`.

    Source: `tf.compat.v1.estimator.inputs.pandas_input_fn`.
    """
    kwargs.pop("target_column", None)
    columns = {name: x[name].to_numpy() for name in x.columns}
    return _input_fn(columns, None if y is None else y.to_numpy(), *args, **kwargs)


for _part in (Estimator, EstimatorSpec, RunConfig, ModeKeys, TrainSpec, EvalSpec, train_and_evaluate):
    value(f"estimator.{_part.__name__}", _part, "v1")
for _function in (numpy_input_fn, pandas_input_fn):
    value(f"estimator.inputs.{_function.__name__}", _function, "v1")
for _part in (ModeKeys, RunConfig):
    value(f"contrib.learn.{_part.__name__}", _part, "v1")
