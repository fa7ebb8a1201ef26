"""TensorFlow 1's names for TPUs, as they work without one: estimators with `use_tpu=False`, and a single shard."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, NamedTuple

from dovetail import ops
from dovetail.compat.tensorflow.entries import value
from dovetail.compat.tensorflow.names.estimators.estimators import Estimator, EstimatorSpec, ModeKeys, RunConfig
from dovetail.compat.tensorflow.names.monitored.hook_base import SessionRunArgs, SessionRunHook
from dovetail.compat.tensorflow.names.optimizers.base import Optimizer
from dovetail.compat.tensorflow.table import function
from dovetail.core.base.errors import op_error

# -- estimators -------------------------------------------------------------------------------------------------------


class InputPipelineConfig:
    """How the inputs of several TPUs are made; without TPUs all ways are one.

    Source: `tf.estimator.tpu.InputPipelineConfig`.
    """

    PER_SHARD_V1, PER_HOST_V1, PER_HOST_V2, BROADCAST, SLICED = range(1, 6)


class TPUConfig(NamedTuple):
    """The settings of TPUs, which do nothing without one.

    Source: `tf.estimator.tpu.TPUConfig`.
    """

    iterations_per_loop: int = 2
    num_shards: int | None = None
    num_cores_per_replica: int | None = None
    per_host_input_for_training: Any = True
    tpu_job_name: str | None = None
    initial_infeed_sleep_secs: float | None = None
    input_partition_dims: Any = None
    eval_training_input_configuration: int = InputPipelineConfig.PER_HOST_V1


class TPURunConfig(RunConfig):
    """The settings of an estimator, with those of TPUs.

    Source: `tf.estimator.tpu.RunConfig`.
    """

    tpu_config: TPUConfig

    def __new__(
        cls,
        tpu_config: TPUConfig | None = None,
        evaluation_master: str | None = None,
        master: str | None = None,
        cluster: Any = None,
        **settings: Any,
    ) -> TPURunConfig:
        if master or evaluation_master or cluster is not None:
            problem = "a program runs in this process: leave master, evaluation_master and cluster out."
            raise op_error(NotImplementedError, "tf.estimator.tpu.RunConfig", problem)
        made = super().__new__(cls, **settings)
        made.tpu_config = tpu_config or TPUConfig()
        return made

    def replace(self, **settings: Any) -> TPURunConfig:
        """The settings with other values."""
        tpu_config = settings.pop("tpu_config", self.tpu_config)
        return TPURunConfig(tpu_config, **{**self._asdict(), **settings})


class TPUEstimatorSpec(NamedTuple):
    """The parts of a model, which a model function returns.

    `eval_metrics` and `host_call` are pairs: a function, and a list or a dict of its tensors.

    Source: `tf.estimator.tpu.TPUEstimatorSpec`.
    """

    mode: str
    predictions: Any = None
    loss: Any = None
    train_op: Any = None
    eval_metrics: Any = None
    export_outputs: Any = None
    scaffold_fn: Callable[[], Any] | None = None
    host_call: Any = None
    training_hooks: Any = None
    evaluation_hooks: Any = None
    prediction_hooks: Any = None

    def as_estimator_spec(self) -> EstimatorSpec:
        """The same parts for an estimator without TPUs."""
        hooks = [] if self.host_call is None else [_RunWith(_result(self.host_call))]
        return EstimatorSpec(
            self.mode,
            self.predictions,
            self.loss,
            self.train_op,
            None if self.eval_metrics is None else _result(self.eval_metrics),
            self.export_outputs,
            training_hooks=[*(self.training_hooks or ()), *hooks],
            scaffold=None if self.scaffold_fn is None else self.scaffold_fn(),
            evaluation_hooks=[*(self.evaluation_hooks or ()), *hooks],
            prediction_hooks=[*(self.prediction_hooks or ()), *hooks],
        )


def _result(pair: Any) -> Any:
    run, tensors = pair
    return run(**tensors) if isinstance(tensors, dict) else run(*tensors)


class _RunWith(SessionRunHook):
    """A hook that runs operations beside each step."""

    def __init__(self, fetches: Any) -> None:
        self._fetches = fetches

    def before_run(self, run_context: Any) -> SessionRunArgs:
        return SessionRunArgs(self._fetches)


class TPUEstimator(Estimator):
    """An estimator that gives its functions the size of a batch, as `params["batch_size"]`.

    Args:
        use_tpu: must be False.
        train_batch_size, eval_batch_size, predict_batch_size: the number of examples in a batch.
        others: as of `tf.estimator.Estimator`; those of TPUs do nothing.

    Raises:
        NotImplementedError: the estimator is to use a TPU.
        ValueError: params has a batch_size of its own.

    Source: `tf.estimator.tpu.TPUEstimator`.
    """

    def __init__(
        self,
        model_fn: Callable[..., Any] | None = None,
        model_dir: str | None = None,
        config: Any = None,
        params: Any = None,
        use_tpu: bool = True,
        train_batch_size: int | None = None,
        eval_batch_size: int | None = None,
        predict_batch_size: int | None = None,
        batch_axis: Any = None,
        eval_on_tpu: bool = True,
        export_to_tpu: bool = True,
        export_to_cpu: bool = True,
        warm_start_from: Any = None,
    ) -> None:
        title = "tf.estimator.tpu.TPUEstimator"
        if use_tpu:
            raise op_error(NotImplementedError, title, "there are no TPUs here: give use_tpu=False.")
        if "batch_size" in (params or ()):
            raise op_error(ValueError, title, "batch_size is set by the estimator: leave it out of params.")
        super().__init__(model_fn, model_dir, config, params, warm_start_from)  # type: ignore[arg-type]  # it is given
        self._sizes = {
            ModeKeys.TRAIN: train_batch_size,
            ModeKeys.EVAL: eval_batch_size or train_batch_size,
            ModeKeys.PREDICT: predict_batch_size or train_batch_size,
        }
        self._given = self.params

    def _spec(self, input_fn: Callable[..., Any], mode: str) -> tuple[EstimatorSpec, Any]:
        size = self._sizes[mode]
        self.params = self._given if size is None else {**self._given, "batch_size": size}
        spec, step = super()._spec(input_fn, mode)
        return spec.as_estimator_spec() if isinstance(spec, TPUEstimatorSpec) else spec, step


for _class in (InputPipelineConfig, TPUConfig, TPUEstimator, TPUEstimatorSpec):
    value(f"contrib.tpu.{_class.__name__} estimator.tpu.{_class.__name__}", _class, "v1")
value("contrib.tpu.RunConfig estimator.tpu.RunConfig", TPURunConfig, "v1")

# -- shards -----------------------------------------------------------------------------------------------------------


class CrossShardOptimizer(Optimizer):
    """An optimizer that averages gradients over the shards of a batch: here there is one.

    Source: `tf.compat.v1.tpu.CrossShardOptimizer`.
    """

    def __init__(
        self, opt: Optimizer, reduction: Any = "mean", name: str = "CrossShardOptimizer", group_assignment: Any = None
    ) -> None:
        super().__init__(False, name)
        self._opt = opt

    def compute_gradients(self, loss: Any, var_list: Any = None, *args: Any, **kwargs: Any) -> Any:
        return self._opt.compute_gradients(loss, var_list, *args, **kwargs)

    def apply_gradients(self, grads_and_vars: Any, global_step: Any = None, name: str | None = None) -> Any:
        return self._opt.apply_gradients(grads_and_vars, global_step, name)

    def get_slot(self, *args: Any, **kwargs: Any) -> Any:
        return self._opt.get_slot(*args, **kwargs)

    def get_slot_names(self, *args: Any, **kwargs: Any) -> list[str]:
        return self._opt.get_slot_names(*args, **kwargs)

    def variables(self) -> list[Any]:
        return self._opt.variables()


value("contrib.tpu.CrossShardOptimizer tpu.CrossShardOptimizer", CrossShardOptimizer, "v1")


@function("tpu.cross_replica_sum contrib.tpu.cross_replica_sum", "v1")
def cross_replica_sum(x: Any, group_assignment: Any = None, name: str | None = None) -> Any:
    """The sum of a tensor over the replicas: here there is one.

    Source: `tf.compat.v1.tpu.cross_replica_sum`.
    """
    return ops.identity(x, name=name)


value(
    "contrib.tpu.tpu_function.get_tpu_context python.tpu.tpu_function.get_tpu_context",
    lambda: SimpleNamespace(number_of_shards=None),
    "v1",
)
