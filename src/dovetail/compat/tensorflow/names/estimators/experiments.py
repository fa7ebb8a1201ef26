"""`tf.contrib.learn.Experiment`: an estimator with the inputs and steps of its training and its evaluation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dovetail.compat.tensorflow.entries import value
from dovetail.compat.tensorflow.names.estimators.contrib_learn import TakesArrays
from dovetail.compat.tensorflow.table import takes
from dovetail.core.base.errors import op_error

PLACE = "tf.contrib.learn.Experiment"


class Experiment:
    """An estimator with all that its training and its evaluation take.

    Args:
        estimator: one of contrib, or of `tf.estimator`.
        train_input_fn, eval_input_fn: the input functions.
        eval_metrics: further measures, for an estimator of contrib.
        train_steps, eval_steps: the global step at which training ends, and the batches of an evaluation.
        train_monitors, eval_hooks: monitors or hooks of the training, and hooks of the evaluation.

    Raises:
        NotImplementedError: export strategies are given.

    Source: `tf.contrib.learn.Experiment`.
    """

    @takes(
        "estimator train_input_fn eval_input_fn eval_metrics=None train_steps=None eval_steps=100 train_monitors=None "
        "eval_hooks=None local_eval_frequency=None eval_delay_secs=120 continuous_eval_throttle_secs=60 "
        "min_eval_frequency=None delay_workers_by_global_step=False export_strategies=None",
        "local_eval_frequency eval_delay_secs continuous_eval_throttle_secs min_eval_frequency "
        "delay_workers_by_global_step",
    )
    def __init__(self, estimator: Any, given: Any) -> None:
        if given.export_strategies:
            problem = "leave export_strategies out, and write tf.saved_model.simple_save after the training."
            raise op_error(NotImplementedError, PLACE, problem)
        self.estimator, self.train_steps, self.eval_steps = estimator, given.train_steps, given.eval_steps
        self._inputs = given.train_input_fn, given.eval_input_fn
        self._metrics, self._monitors, self._hooks = given.eval_metrics, given.train_monitors, given.eval_hooks

    def train(self, max_steps: int | None = None) -> Any:
        """Train to a global step."""
        last = max_steps or self.train_steps
        if isinstance(self.estimator, TakesArrays):
            return self.estimator.fit(input_fn=self._inputs[0], max_steps=last, monitors=self._monitors)
        return self.estimator.train(self._inputs[0], self._monitors, max_steps=last)

    def evaluate(self, name: str | None = None) -> dict[str, Any]:
        """The measures of an evaluation."""
        measures = {"metrics": self._metrics} if isinstance(self.estimator, TakesArrays) else {}
        steps = self.eval_steps
        return self.estimator.evaluate(input_fn=self._inputs[1], steps=steps, hooks=self._hooks, name=name, **measures)

    def train_and_evaluate(self) -> tuple[dict[str, Any], list[Any]]:
        """Train, then evaluate; return the measures, and no exports."""
        self.train()
        return self.evaluate(), []

    local_run = continuous_train_and_eval = train_and_evaluate

    def test(self) -> tuple[dict[str, Any], list[Any]]:
        """Train for one step, then evaluate."""
        self.train(1)
        return self.evaluate(), []


def run(
    experiment_fn: Callable[..., Experiment],
    output_dir: str | None = None,
    schedule: str | None = None,
    run_config: Any = None,
    hparams: Any = None,
) -> Any:
    """Make an experiment, and run it.

    Args:
        experiment_fn: makes it of `run_config` and `hparams`, or of `output_dir`.
        schedule: the name of its method; by default "train_and_evaluate".

    Raises:
        ValueError: neither is given, or both are; or there is no such method.

    Source: `tf.contrib.learn.learn_runner.run`.
    """
    if (output_dir is None) == (run_config is None):
        raise op_error(ValueError, "tf.contrib.learn.learn_runner.run", "give either output_dir or run_config.")
    experiment = experiment_fn(output_dir) if run_config is None else experiment_fn(run_config, hparams)
    if schedule is not None and not hasattr(experiment, schedule):
        raise op_error(ValueError, "tf.contrib.learn.learn_runner.run", f"an experiment has no method {schedule!r}.")
    return getattr(experiment, schedule or "train_and_evaluate")()


value("contrib.learn.Experiment contrib.learn.experiment.Experiment", Experiment, "v1")
value("contrib.learn.learn_runner.run", run, "v1")
