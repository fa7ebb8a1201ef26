"""TensorFlowEngine: how TensorFlow holds, compiles, moves and differentiates values."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import tensorflow as tf

from dovetail.core.base.errors import LIBRARIES
from dovetail.core.dtypes import DType
from dovetail.core.engine import Engine, Segment
from dovetail.core.engines.accumulation import PRODUCTS
from dovetail.core.engines.allocation import ALIGNED
from dovetail.core.engines.control_flow import Control
from dovetail.core.engines.devices import device_for
from dovetail.core.engines.host_calls import print_array
from dovetail.core.rules import PROGRAM, Rule
from dovetail.engines.tensorflow.executable import KERNELS, XLA, Executable, as_program, fits_xla
from dovetail.engines.tensorflow.tf_control import TensorFlowControl

if TYPE_CHECKING:
    from dovetail.core.values.spec import TensorSpec

_CPU = 1  # DLPack's number for the CPU


class TensorFlowEngine(Engine):
    """TensorFlow on its default device."""

    name = "tensorflow"
    _reports = "dovetail.engines.tensorflow.routines"
    _named_scope = staticmethod(tf.name_scope)
    compiles_programs = True
    specializes = True
    # Whether the kernels for CPUs add up halves in halves depends on the processor.
    accumulates = PRODUCTS if tf.config.list_physical_devices("GPU") else ()
    forks = False
    strategies = {"": (KERNELS,), "xla": (XLA,)}  # noqa: RUF012  # not changed, as the base class says
    errors = (*LIBRARIES, tf.errors.OpError)

    def version(self) -> str:
        return tf.__version__

    def devices(self) -> list[str]:
        names = [device.name.rpartition("device:")[2].lower() for device in tf.config.list_logical_devices()]
        return sorted((name for name in names if name.startswith(("gpu", "cpu"))), key=lambda name: name[0] == "c")

    def rule_choices(self, graph: Any, variants: Collection[str]) -> frozenset[Any]:
        choices = super().rule_choices(graph, variants)
        return choices | {XLA} if XLA in variants and fits_xla(graph) else choices

    def device_of(self, value: Any) -> str:
        return value.device.rpartition("device:")[2].lower() or "cpu:0"

    on_device = staticmethod(tf.device)

    def to_device(self, value: Any, device: str) -> Any:
        with tf.device(device):
            return tf.identity(value)

    def owns_type(self, kind: type) -> bool:
        return issubclass(kind, tf.Tensor | tf.Variable)

    def native_dtype(self, dtype: DType) -> Any:
        return tf.as_dtype(dtype)

    def asarray(self, value: Any, dtype: DType, device: str | None = None) -> Any:
        array = np.asarray(value, dtype.numpy)
        device = device_for("tensorflow", device)
        if device is None and tf.executing_eagerly():
            return tf.constant(array)
        with tf.init_scope(), tf.device(device):  # so that the value outlives the trace of a function
            return tf.constant(array)

    def to_numpy(self, value: Any) -> np.ndarray:
        return np.asarray(value.numpy() if value.shape.rank == 0 else value)  # a scalar may be no NumPy array

    def shape(self, value: Any) -> Any:
        shape = value.shape
        return None if shape.rank is None else tuple(shape.as_list())

    def to_ints(self, value: Any) -> Any:
        known = tf.get_static_value(value, partial=True)
        known = [None] if known is None else [n if n is None else int(n) for n in np.asarray(known).reshape(-1)]
        if None not in known:
            return tuple(known)
        flat = tf.reshape(value, (-1,))
        if flat.shape[0] is None:
            return flat
        sizes = tf.unstack(flat)
        return tuple(sizes if known == [None] else [x if n is None else n for n, x in zip(known, sizes, strict=True)])

    def _make_control(self) -> Control:
        return TensorFlowControl(self.unstack, self.stack, self._stack_nothing, self._truth)

    _truth = bool  # type: ignore[assignment]  # saves a Python frame in each turn of a loop

    unstack = staticmethod(tf.unstack)

    def copy(self, value: Any) -> Any:
        return tf.raw_ops.DeepCopy(x=value)

    def owned(self, value: Any, given: Iterable[Any] | None = None) -> Any:
        return value.read_value() if isinstance(value, tf.Variable) else value

    def from_dlpack(self, value: Any) -> Any:
        if value.__dlpack_device__()[0] == _CPU:
            array = np.from_dlpack(value)
            if array.ctypes.data % ALIGNED:  # TensorFlow would end the process
                raise BufferError(f"TensorFlow needs memory that starts at a multiple of {ALIGNED} bytes.")
        return tf.experimental.dlpack.from_dlpack(value.__dlpack__())

    def limit_memory(self, limit: int | None, device: str) -> bool:
        kind, _, number = device.partition(":")
        if kind != "gpu" or limit is None:
            raise NotImplementedError(f"TensorFlow's own allocator cannot be limited on {device}, nor a limit removed.")
        try:
            configuration = tf.config.LogicalDeviceConfiguration(memory_limit=limit / 2**20)
            gpu = tf.config.list_physical_devices("GPU")[int(number)]
            tf.config.set_logical_device_configuration(gpu, [configuration])
        except RuntimeError as error:
            raise NotImplementedError(f"TensorFlow has started, and takes no limit any more: {error}") from error
        return True

    def grow_memory(self, enable: bool, device: str) -> bool:
        kind, _, number = device.partition(":")
        if kind != "gpu":
            return False
        try:
            tf.config.experimental.set_memory_growth(tf.config.list_physical_devices("GPU")[int(number)], enable)
        except RuntimeError:  # TensorFlow has started
            return False
        return True

    def forget_peak(self, device: str) -> None:
        if device.startswith("gpu"):
            tf.config.experimental.reset_memory_stats(device)

    def reported_memory(self, device: str) -> dict[str, int]:
        return dict(tf.config.experimental.get_memory_info(device)) if device.startswith("gpu") else {}

    def set_threads(self, count: int) -> bool:
        try:
            tf.config.threading.set_intra_op_parallelism_threads(count)
        except RuntimeError:  # TensorFlow has computed something
            return False
        return True

    def _print(self, value: Any, message: str, summarize: int) -> Any:
        if tf.executing_eagerly():
            return super()._print(value, message, summarize)
        shown = tf.numpy_function(lambda array: print_array(array, message, summarize), [value], [])
        with tf.control_dependencies([shown]):
            return tf.identity(value)

    def traced_call(self, function: Callable[[np.ndarray], np.ndarray], value: Any, result: TensorSpec) -> Any:
        tensor = tf.numpy_function(function, [value], value.dtype)
        tensor.set_shape(result.shape)
        return tensor

    def rule_for(self, operation: Any, layer: str = PROGRAM, preferred: Collection[str] = ()) -> Rule | None:
        rule = super().rule_for(operation, layer, preferred)
        return as_program(rule) if rule is not None and operation.type in ("While", "Scan") else rule

    def start_trace(self, folder: str) -> Callable[[], None] | None:
        options = tf.profiler.experimental.ProfilerOptions(host_tracer_level=2, python_tracer_level=0)
        try:
            tf.profiler.experimental.start(folder, options)
        except tf.errors.AlreadyExistsError:  # the program itself traces
            return None
        return tf.profiler.experimental.stop

    traced_as = staticmethod(tf.profiler.experimental.Trace)

    def compile(self, segment: Segment) -> Callable[..., Any]:
        return Executable(segment)

    def is_traced(self, value: Any) -> bool:
        return hasattr(value, "op")  # eager tensors have no `op`

    is_tracing = staticmethod(tf.inside_function)

    def fresh_key(self, seed: int) -> Any:
        return tf.random.uniform((2,), tf.int32.min, tf.int32.max, tf.int32, seed) if tf.inside_function() else None

    def gradients(self, ys: Sequence[Any], xs: Sequence[Any]) -> list[Any]:
        if not tf.inside_function():
            raise NotImplementedError(
                "gradients of tf tensors work only inside tf.function; elsewhere use tf.GradientTape."
            )
        return tf.gradients(ys, xs)

    def gradients_of(self, function: Callable[..., Any], args: Sequence[Any]) -> list[Any]:
        with tf.GradientTape() as tape:
            tape.watch(args)
            y = function(*args)
        return tape.gradient(y, list(args))

    def custom_gradient(self, function: Callable[..., Any], args: Sequence[Any]) -> Sequence[Any]:
        def with_rule(*args: Any) -> Any:
            results, gradient = function(*args)

            def rule(*arriving: Any, variables: Any = ()) -> Any:
                floats = [
                    g if r.dtype.is_floating or r.dtype.is_complex else None
                    for g, r in zip(arriving, results, strict=True)
                ]
                departing = list(gradient(*floats))
                return (departing, [None] * len(variables)) if variables else departing

            return tuple(results), rule

        return tf.custom_gradient(with_rule)(*map(tf.convert_to_tensor, args))

    def recompute(self, function: Callable[..., Any], args: Sequence[Any]) -> Any:
        return tf.recompute_grad(function)(*args)
