"""Layouts: how variables and batches are divided among several devices of jax in one process.

A plan of jax is one program of all devices, so it computes the numbers of one device.  XLA decides how intermediate
results are divided.  The values that a program gives to variables get the variables' layouts.
"""

from __future__ import annotations

import logging
from functools import cache, wraps
from types import ModuleType
from typing import Any, NamedTuple, NoReturn

from dovetail import ops
from dovetail.core.engines.collectives import WORLD
from dovetail.core.engines.engine_registry import AUTO, chooses_engine, current_engine, get_engine, set_engine
from dovetail.core.tensor import Tensor
from dovetail.core.values.value_kinds import is_recorded
from keras_dovetail.src.tensors import convert_to_tensor

PROCESSES = "dovetail run --processes {} script.py"
logger = logging.getLogger("dovetail.engines")
ENGINE = "jax"  # the engine that divides tensors
_CHOSEN_HERE: set[str] = set()  # it, if a distribution made it the engine


class Layout(NamedTuple):
    """The arguments of `ops.distribute`, besides the tensor."""

    axes: tuple[str | None, ...]
    shape: tuple[int, ...]
    names: tuple[str, ...]
    devices: tuple[str, ...]

    @classmethod
    def of(cls, layout: Any) -> Layout:
        """The layout that a `keras.distribution.TensorLayout` describes; its mesh is checked."""
        if layout.device_mesh is None:
            raise ValueError(f"{layout} has no mesh: give it one, as in TensorLayout(axes, device_mesh).")
        mesh = layout.device_mesh
        devices = tuple(map(str, mesh.devices.flat))
        check_devices(devices)
        return cls(tuple(layout.axes), tuple(mesh.shape), tuple(mesh.axis_names), devices)

    def parts(self, dimension: int) -> int:
        """The number of parts of a dimension."""
        axis = self.axes[dimension]
        return 1 if axis is None else self.shape[self.names.index(axis)]


def check_devices(devices: tuple[str, ...]) -> None:
    """Make jax the engine if engines are chosen by measuring; raise an error if the devices are not its own.

    One device of the current engine has nothing to divide, and changes nothing.
    """
    count = len(devices)
    if count == 1 and devices[0] in current_engine().devices():
        return
    if WORLD.size > 1:
        refuse(f"this process is one of {WORLD.size}, and tensors are divided among the devices of one process", count)
    is_open = chooses_engine()
    engine = get_engine(ENGINE) if is_open else current_engine()
    if engine.name != ENGINE:
        refuse(f"the engine {engine.name} does not divide tensors among devices, but {ENGINE} does", count)
    known = engine.devices()
    if absent := [name for name in devices if name not in known]:
        refuse(f"{ENGINE} has the devices {', '.join(known)} here, not {', '.join(absent)}", count)
    if is_open:
        set_engine(ENGINE)
        _CHOSEN_HERE.add(ENGINE)
        logger.info("%s is the engine from now on, since it divides tensors among %s", ENGINE, ", ".join(devices))


def undo_at_end(module: ModuleType) -> None:
    """Let `set_distribution(None)` choose engines by measuring again, if a distribution has ended that.

    Args:
        module: `keras.src.distribution.distribution_lib`, which has just been imported.
    """
    keras: Any = module
    whole = keras.set_distribution

    @wraps(whole)
    def set_distribution(value: Any) -> None:
        whole(value)
        if value is None and _CHOSEN_HERE:
            _CHOSEN_HERE.clear()
            if current_engine().name == ENGINE:
                set_engine(AUTO)

    keras.set_distribution = set_distribution


def refuse(problem: str, count: int) -> NoReturn:
    """Raise an error that says how to train with several devices or processes."""
    raise NotImplementedError(
        f"{problem}. For {count} devices in one process, choose jax (DOVETAIL_ENGINE=jax), and give it the devices; "
        f"CPUs become {count} devices by XLA_FLAGS=--xla_force_host_platform_device_count={count}. For several "
        f"processes on any engine, use keras.distribution.DataParallel(), and start {PROCESSES.format(max(count, 2))}"
    )


@cache
def _state() -> Any:
    from dovetail.interop.privates import global_state  # as the backend is imported, Keras may lack it

    return global_state


def current() -> Any:
    """Keras' distribution, if it divides values among several devices of this process."""
    distribution = _state().get_global_attribute("distribution")
    if distribution is None or distribution.device_mesh.devices.size == 1:
        return None
    return None if WORLD.size > 1 and type(distribution).__name__ == "DataParallel" else distribution


def layout_of(variable: Any) -> Any:
    """The layout of a new variable: the one that it was given, else the one of Keras' distribution; None without."""
    distribution = current()
    return distribution.get_variable_layout(variable) if variable._layout is None and distribution else variable._layout


def divided(value: Any, layout: Any, title: str) -> Any:
    """A value, divided as a layout says.

    Args:
        value: a tensor, also of a graph, or an array.
        layout: a `Layout`, or Keras' `TensorLayout`; dimensions after its last axis stay whole.
        title: the name of the value in messages.

    Raises:
        ValueError: the layout has more axes than the value, or does not divide a dimension evenly.
    """
    layout = layout if isinstance(layout, Layout) else layout.backend_layout
    shape = tuple(value.shape)
    if len(layout.axes) > len(shape):
        raise ValueError(
            f"{title} has the shape {shape}, but its layout {layout.axes} is for {len(layout.axes)} dimensions: give "
            f"the layout an axis, or None, for each dimension."
        )
    layout = layout._replace(axes=layout.axes + (None,) * (len(shape) - len(layout.axes)))
    if not is_recorded(value):
        for number, size in enumerate(shape):
            if size % (parts := layout.parts(number)):
                raise ValueError(
                    f"{title} has the shape {shape}: the axis {layout.axes[number]!r} of the mesh divides dimension "
                    f"{number} by {parts}, but {size} is no multiple of {parts}. Give this dimension None in the "
                    f"layout, or another size."
                )
        value = convert_to_tensor(value) if type(value) is not Tensor else value
    return ops.distribute(value, *layout)


def of_batch(value: Any, distribution: Any, axis: int = 0) -> Any:
    """A part of a batch, divided by its samples; each device gets all of it if the samples are no multiple.

    Args:
        value: the part, or such parts of several batches.
        distribution: Keras' distribution.
        axis: the axis of the samples.
    """
    value = convert_to_tensor(value)
    shape = tuple(value.shape[axis:])
    layout = distribution.get_data_layout(shape or (1,)).backend_layout
    axes = [layout.axes[i] if size % layout.parts(i) == 0 else None for i, size in enumerate(shape)]
    return divided(value, layout._replace(axes=(*[None] * axis, *axes)), "a batch")
