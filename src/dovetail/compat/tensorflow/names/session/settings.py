"""TensorFlow's names for settings of sessions and of runs, with the reasons why some do nothing here."""

from __future__ import annotations

from typing import Any, ClassVar

from dovetail.compat.tensorflow.entries import value
from dovetail.compat.tensorflow.names.session.memory import ACTING
from dovetail.compat.tensorflow.names.session.setting_groups import Message, Open, Repeated
from dovetail.compat.tensorflow.table import function
from dovetail.compat.tensorflow.unused import warn_once
from dovetail.core.base.errors import op_error
from dovetail.core.engines.engine_registry import set_threads, threads


class GPUOptions(Message):
    """Settings of GPUs in a `ConfigProto`.

    Source: `tf.compat.v1.GPUOptions`.
    """

    fields: ClassVar = {
        "per_process_gpu_memory_fraction": 0.0,
        "allow_growth": False,
        "allocator_type": "",
        "deferred_deletion_bytes": 0,
        "visible_device_list": "",
        "polling_active_delay_usecs": 0,
        "polling_inactive_delay_msecs": 0,
        "force_gpu_compatible": False,
        "experimental": Open,
    }


class OptimizerOptions(Message):
    """Settings of the changes to graphs before they run.

    Source: `tf.compat.v1.OptimizerOptions`.
    """

    L1, L0 = 0, -1
    DEFAULT, OFF, ON_1, ON_2 = 0, -1, 1, 2
    fields: ClassVar = {
        "do_common_subexpression_elimination": False,
        "do_constant_folding": False,
        "max_folded_constant_in_bytes": 0,
        "do_function_inlining": False,
        "opt_level": 0,
        "global_jit_level": 0,
        "cpu_global_jit": False,
    }


class RewriterConfig(Open):
    """Settings of TensorFlow's changes of graphs, in a `ConfigProto`; they do nothing.

    Source: `tensorflow.core.protobuf.rewriter_config_pb2.RewriterConfig`.
    """

    DEFAULT, ON, OFF, AGGRESSIVE = range(4)
    DEFAULT_MEM_OPT, NO_MEM_OPT, MANUAL = range(3)
    fields: ClassVar = {"optimizers": list, "custom_optimizers": Repeated}


class GraphOptions(Message):
    """Settings of graphs in a `ConfigProto`.

    Source: `tf.compat.v1.GraphOptions`.
    """

    fields: ClassVar = {
        "enable_recv_scheduling": False,
        "optimizer_options": OptimizerOptions,
        "build_cost_model": 0,
        "build_cost_model_after": 0,
        "infer_shapes": False,
        "place_pruned_graph": False,
        "enable_bfloat16_sendrecv": False,
        "timeline_step": 0,
        "rewrite_options": RewriterConfig,
    }


class ConfigProto(Message):
    """Settings of a session.

    `allow_soft_placement`, `log_device_placement` and `intra_op_parallelism_threads` act.  For each other field that is
    set, the first session warns that it does nothing.  `SerializeToString` gives the bytes of TensorFlow's message, and
    `ParseFromString` takes them.

    Source: `tf.compat.v1.ConfigProto`.
    """

    fields: ClassVar = {
        "device_count": dict,
        "intra_op_parallelism_threads": 0,
        "inter_op_parallelism_threads": 0,
        "use_per_session_threads": False,
        "session_inter_op_thread_pool": Repeated,
        "placement_period": 0,
        "device_filters": list,
        "gpu_options": GPUOptions,
        "pluggable_device_options": GPUOptions,
        "allow_soft_placement": None,
        "log_device_placement": False,
        "graph_options": GraphOptions,
        "operation_timeout_in_ms": 0,
        "rpc_options": Open,
        "cluster_def": Open,
        "isolate_session_state": False,
        "share_cluster_devices_in_session": False,
        "experimental": Open,
    }


class RunOptions(Message):
    """Settings of one run: `trace_level` says whether `run_metadata` is filled.

    Source: `tf.compat.v1.RunOptions`.
    """

    NO_TRACE, SOFTWARE_TRACE, HARDWARE_TRACE, FULL_TRACE = range(4)
    fields: ClassVar = {
        "trace_level": 0,
        "timeout_in_ms": 0,
        "inter_op_thread_pool": 0,
        "output_partition_graphs": False,
        "debug_options": Open,
        "report_tensor_allocations_upon_oom": False,
        "experimental": Open,
    }


class NodeExecStats(Message):
    """An operation that a run computed: `node_name`, `timeline_label`, its start, and its duration in microseconds."""

    fields: ClassVar = {
        "node_name": "",
        "all_start_micros": 0,
        "op_start_rel_micros": 0,
        "op_end_rel_micros": 0,
        "all_end_rel_micros": 0,
        "timeline_label": "",
        "scheduled_micros": 0,
        "thread_id": 0,
        "memory": list,
        "output": list,
    }


class DeviceStepStats(Message):
    """The operations that a run computed on one device."""

    fields: ClassVar = {"device": "", "node_stats": list, "thread_names": dict}


class StepStats(Message):
    """The devices that computed something in a run."""

    fields: ClassVar = {"dev_stats": list}


class RunMetadata(Message):
    """A report of a run: `step_stats` has the devices, and the operations that each of them computed.

    Source: `tf.compat.v1.RunMetadata`.
    """

    fields: ClassVar = {"step_stats": StepStats, "cost_graph": Open, "partition_graphs": list, "function_graphs": list}


value("core.protobuf.rewriter_config_pb2.RewriterConfig", RewriterConfig, "v1")
for _class in (ConfigProto, GPUOptions, OptimizerOptions, GraphOptions, RunOptions, RunMetadata):
    value(_class.__name__, _class)

# -- settings that do nothing ----------------------------------------------------------------------------------------

_ALONE = "one process computes, on its own devices."
_PASSES = "Dovetail has passes of its own; see dovetail.passes."
# A field, or the beginning of fields → the reason.
DOES_NOTHING = {
    "gpu_options.per_process_gpu_memory_fraction": "the engine has no GPU here whose memory its library limits.",
    "gpu_options.allow_growth": "engines take memory as they need it; TensorFlow's own has the setting for GPUs.",
    "gpu_options.allocator_type": "engines have allocators of their own; dovetail.set_allocator gives them another.",
    "gpu_options.visible_device_list": "say CUDA_VISIBLE_DEVICES in the environment.",
    "gpu_options.": "engines have no such setting.",
    "pluggable_device_options.": "engines have no such setting.",
    "device_count": "say CUDA_VISIBLE_DEVICES in the environment, or compute in `with dovetail.device(name):`.",
    "inter_op_parallelism_threads": "a run computes one operation after the other.",
    "use_per_session_threads": "all sessions share the threads of the engines.",
    "session_inter_op_thread_pool": "a run computes one operation after the other.",
    "graph_options.": _PASSES,
    "operation_timeout_in_ms": "runs have no time limit.",
    "timeout_in_ms": "runs have no time limit.",
    "inter_op_thread_pool": "a run computes one operation after the other.",
    "output_partition_graphs": "a run is not divided into graphs.",
    "debug_options.": "write tf.print or tf.debugging into the graph.",
    "report_tensor_allocations_upon_oom": "engines report failed allocations in words of their own.",
    "device_filters": _ALONE,
    "rpc_options.": _ALONE,
    "cluster_def.": _ALONE,
    "isolate_session_state": _ALONE,
    "share_cluster_devices_in_session": _ALONE,
}
_ACTS = {"allow_soft_placement", "log_device_placement", "intra_op_parallelism_threads", "trace_level"}
_AS_IT_IS = (("inter_op_parallelism_threads", 1),)  # the settings that hold anyway


def heed(settings: Any) -> None:
    """Apply the settings of a session or a run that hold for the process, and warn of settings that do nothing.

    Raises:
        TypeError: `settings` is not a group of settings.
    """
    if not hasattr(settings, "said"):
        problem = f"the settings are a tf.ConfigProto or tf.RunOptions of Dovetail, not {settings!r}."
        raise op_error(TypeError, "tf.Session", problem)
    for name, setting in settings.said():
        if name == "intra_op_parallelism_threads":
            use_threads(setting)
        elif name not in _ACTS and (name, setting) not in _AS_IT_IS and not _acts(name, setting):
            why = next(
                (why for key, why in DOES_NOTHING.items() if _covers(key, name)), "Dovetail has no such setting."
            )
            warn_once(f"tf.{type(settings).__name__}: {name}", f"it does nothing: {why}")


def _acts(name: str, setting: Any) -> bool:
    """Apply a setting of memory; whether the current engine's library has it."""
    return name in ACTING and ACTING[name](setting)


def _covers(key: str, name: str) -> bool:
    return name.startswith(key) if key.endswith(".") else name == key


# -- threads ----------------------------------------------------------------------------------------------------------


def use_threads(count: int) -> None:
    """Compute each operation with a number of threads, in the whole process; 0 leaves it to the engines."""
    if count and count != threads():
        set_threads(count)
        warn_once(
            "tf.ConfigProto: intra_op_parallelism_threads",
            f"it holds for all sessions and engines of the process, as dovetail.set_threads({count}).",
        )


@function("config.threading.set_intra_op_parallelism_threads")
def set_intra_op_parallelism_threads(num_threads: int) -> None:
    """Compute each operation with a number of threads, in the whole process; 0 leaves it to the engines.

    Source: `tf.config.threading.set_intra_op_parallelism_threads`.
    """
    if num_threads:
        set_threads(num_threads)


@function("config.threading.get_intra_op_parallelism_threads")
def get_intra_op_parallelism_threads() -> int:
    """The number of threads that compute an operation; 0 where engines decide.

    Source: `tf.config.threading.get_intra_op_parallelism_threads`.
    """
    return threads() or 0


@function("config.threading.set_inter_op_parallelism_threads")
def set_inter_op_parallelism_threads(num_threads: int) -> None:
    """Warn that this does nothing, unless the number is 1: a run computes one operation after the other.

    Source: `tf.config.threading.set_inter_op_parallelism_threads`.
    """
    if num_threads > 1:
        title = "tf.config.threading.set_inter_op_parallelism_threads"
        warn_once(title, f"it does nothing: {DOES_NOTHING['inter_op_parallelism_threads']}")


@function("config.threading.get_inter_op_parallelism_threads")
def get_inter_op_parallelism_threads() -> int:
    """The number of operations that are computed at once: 1.

    Source: `tf.config.threading.get_inter_op_parallelism_threads`.
    """
    return 1
