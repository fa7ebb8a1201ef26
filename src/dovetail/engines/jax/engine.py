"""JaxEngine: how JAX holds, compiles, moves and differentiates values."""

from __future__ import annotations

import functools
import operator
import os
from collections.abc import Callable, Collection, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import io_callback

from dovetail.core.base.hooks import hooks
from dovetail.core.base.optional_api import optional_api
from dovetail.core.dtypes import DType
from dovetail.core.engine import Engine, Segment
from dovetail.core.engines.accumulation import PRODUCTS
from dovetail.core.engines.control_flow import Control, Values
from dovetail.core.engines.devices import is_several
from dovetail.core.engines.host_calls import print_array
from dovetail.core.rules import PROGRAM, Rule, Rules
from dovetail.engines.jax import disk_cache
from dovetail.engines.jax.devices import (
    devices,
    is_of_host,
    name_of,
    name_of_all,
    named,
    placed,
    require_whole,
    told,
)
from dovetail.engines.jax.dimensions import Dimensions
from dovetail.engines.jax.executable import Executable, Executables, aligned_copy, copied, with_64_bits
from dovetail.engines.jax.lax_control import LaxControl
from dovetail.engines.symbolic_dimensions import OnDimensions, with_dimensions

if TYPE_CHECKING:
    from dovetail.core.values.spec import TensorSpec


def _zero_tangent(x: Any) -> Any:
    return jnp.zeros_like(x) if jnp.issubdtype(x.dtype, np.inexact) else np.zeros(x.shape, jax.dtypes.float0)


def _is_traced(values: Any) -> bool:
    if type(values) in (tuple, list):
        return any(map(_is_traced, values))
    return isinstance(values, jax.core.Tracer)


_LOOPS = {"While": (2, 3, 4), "Scan": (3, 4, 5)}  # loops, and the arguments of their rules that are no arrays

COMPILED = {f"/jax/core/compile/{part}_duration" for part in ("jaxpr_to_mlir_module", "backend_compile")}


def _note_compiled(event: str, seconds: float, **_: Any) -> None:
    """Tell an open profile what jax has compiled."""
    if event in COMPILED and hooks.compiled is not None:
        hooks.compiled(seconds)


jax.monitoring.register_event_duration_secs_listener(_note_compiled)

_has_started = optional_api(jax, "_src.xla_bridge.backends_are_initialized")


class JaxEngine(Engine):
    """JAX on its default device."""

    name = "jax"
    _reports = "dovetail.engines.jax.routines"
    _named_scope = staticmethod(jax.named_scope)
    specializes = True
    static_shapes = True
    compiles_programs = True
    fuses_elementwise = True
    consumes = True
    accumulates = PRODUCTS - {"Einsum"}
    forks = False
    strategies = {  # noqa: RUF012  # not changed, as the base class says
        "": (),
        "patches": ("patches", "comparison", "columns"),
        "shifted": ("shifted", "comparison", "columns"),
    }
    array_key = staticmethod(operator.attrgetter("aval"))

    def version(self) -> str:
        return jax.__version__

    def devices(self) -> list[str]:
        return list(map(name_of, devices()))

    device_of = staticmethod(name_of_all)

    def put_on(self, value: Any) -> str | None:
        return self.device_of(value) if value.committed else None

    def on_device(self, device: str) -> AbstractContextManager[Any]:
        return nullcontext() if is_several(device) else jax.default_device(named(device))

    @with_64_bits
    def to_device(self, value: Any, device: str) -> Any:
        self._require_whole(value)
        return jax.device_put(value, named(device))

    @with_64_bits
    def beside(self, value: Any, other: Any) -> Any:
        is_whole = len(other.devices()) == 1
        return self.to_device(value, self.device_of(other)) if is_whole else jax.device_put(value, other.sharding)

    _require_whole = staticmethod(require_whole)

    def owns_type(self, kind: type) -> bool:
        return issubclass(kind, jax.Array | jax.core.Tracer | Dimensions | Dimensions.symbolic)

    @with_64_bits
    def asarray(self, value: Any, dtype: DType, device: str | None = None) -> Any:
        array = aligned_copy(np.asarray(value, dtype.numpy))
        made = jax.device_put(array)  # `jnp.array` would compile a program for each shape
        if isinstance(made, jax.core.Tracer):  # so that the value outlives the trace
            with jax.ensure_compile_time_eval():
                made = jax.device_put(array)
        return placed(made, device) if self.has_devices else made

    def argument(self, value: np.ndarray, dtype: DType) -> Any:
        if value.dtype.itemsize == 8 or not value.dtype.isnative:  # without `enable_x64` programs take 64 bits as 32
            return self.asarray(value, dtype)
        return aligned_copy(value)  # a copy, since JAX reads it in place, and maybe after the call

    def limit_memory(self, limit: int | None, device: str) -> bool:
        advice = "say XLA_PYTHON_CLIENT_MEM_FRACTION in the environment before jax starts (for GPUs)"
        raise NotImplementedError(f"jax takes memory by XLA's allocator, which cannot be limited here: {advice}.")

    def reported_memory(self, device: str) -> dict[str, int]:
        return {name: int(value) for name, value in (named(device).memory_stats() or {}).items()}

    def set_up_library(self) -> None:
        disk_cache.start()

    def set_threads(self, count: int) -> bool:
        if _has_started is None or _has_started():
            return False
        os.environ["NPROC"] = str(count)  # XLA reads it for its thread pool when it starts
        return True

    wait = staticmethod(jax.block_until_ready)

    def _make_control(self) -> Control:
        return LaxControl()

    @with_64_bits
    def unstack(self, value: Any) -> Values:
        return list(value)

    @with_64_bits
    def stack(self, values: Values) -> Any:
        return jnp.stack(values)

    copy = staticmethod(copied)

    def is_deleted(self, value: Any) -> bool:
        return value.is_deleted()

    @with_64_bits
    def from_dlpack(self, value: Any) -> Any:
        made = jnp.from_dlpack(value)
        if is_of_host(made):  # not put on a device, so that it goes along with other values
            made = jax.device_put(np.asarray(made))
        if made.format.layout.major_to_minor != tuple(range(made.ndim)):
            made = jnp.array(made, copy=True)  # row by row, as compiled programs take it
        return placed(made)

    def eager_rule(self, rule: Rule) -> Rule:
        @with_64_bits
        @functools.wraps(rule)
        def wide(*args: Any) -> Any:
            try:
                result = rule(*args)
            except ValueError as error:
                raise told(error) from error.__cause__
            if not _is_traced(result) or _is_traced(args):
                return result
            with jax.ensure_compile_time_eval():  # an eager result has a value, also inside `jit`
                return rule(*args)

        return wide

    def _make_native(self, rules: Rules) -> Engine:
        return NativeJaxEngine(rules)

    def native_rule(self, name: str, rule: Rule) -> Rule:
        return rule if name == "Shape" else with_dimensions(name, rule, Dimensions)

    def rule_for(self, operation: Any, layer: str = PROGRAM, preferred: Collection[str] = ()) -> Rule | None:
        rule = super().rule_for(operation, layer, preferred)
        static = _LOOPS.get(operation.type)
        if rule is None or static is None:
            return rule
        compiled = jax.jit(rule, static_argnums=static)  # once; JAX would compile an eager loop in each call
        return lambda *args: (rule if _is_traced(args) else compiled)(*args)

    def compile(self, segment: Segment) -> Callable[..., Any]:
        specs = [tensor.spec for tensor in segment.inputs]
        is_known = all(spec.shape is not None and None not in spec.shape for spec in specs)
        return Executable(segment) if is_known else Executables(segment)

    def start_trace(self, folder: str) -> Callable[[], None] | None:
        options = jax.profiler.ProfileOptions()
        options.python_tracer_level, options.host_tracer_level = 0, 1
        try:
            jax.profiler.start_trace(folder, profiler_options=options)
        except RuntimeError:  # the program itself traces
            return None
        return jax.profiler.stop_trace

    traced_as = staticmethod(jax.profiler.TraceAnnotation)

    def _print(self, value: Any, message: str, summarize: int) -> Any:
        jax.debug.callback(lambda array: print_array(np.asarray(array), message, summarize), value)
        return value

    def traced_call(self, function: Callable[[np.ndarray], np.ndarray], value: Any, result: TensorSpec) -> Any:
        made = jax.ShapeDtypeStruct(result.shape, value.dtype)
        return io_callback(lambda array: function(np.asarray(array)), made, value, ordered=True)

    def is_traced(self, value: Any) -> bool:
        return isinstance(value, jax.core.Tracer)

    def is_tracing(self) -> bool:
        return isinstance(jnp.zeros((), bool), jax.core.Tracer)  # inside `jit` even a constant is a tracer

    def gradients_of(self, function: Callable[..., Any], args: Sequence[Any]) -> list[Any]:
        return list(jax.grad(function, tuple(range(len(args))))(*args))

    def custom_gradient(self, function: Callable[..., Any], args: Sequence[Any]) -> Sequence[Any]:
        def with_rule(*args: Any) -> Any:
            results, gradient = function(*args)

            def rule(arriving: Any) -> Any:
                departing = gradient(*[None if g.dtype == jax.dtypes.float0 else g for g in arriving])
                return tuple(_zero_tangent(x) if g is None else g for x, g in zip(args, departing, strict=True))

            return tuple(results), rule

        return jax.custom_gradient(with_rule)(*args)

    def recompute(self, function: Callable[..., Any], args: Sequence[Any]) -> Any:
        return jax.checkpoint(function)(*args)


class NativeJaxEngine(OnDimensions, JaxEngine):
    """JAX on its users' own values, whose shapes may have unknown dimensions."""

    dimensions = Dimensions
    static_shapes = False
    native_dtype_of = staticmethod(operator.attrgetter("dtype"))
