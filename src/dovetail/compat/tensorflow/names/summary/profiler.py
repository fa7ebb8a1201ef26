"""TensorFlow's names for profiles: `tf.profiler.experimental`, and the profiles of `tf.summary`."""

from __future__ import annotations

import os
from contextlib import ExitStack
from typing import Any, NamedTuple

from dovetail.compat.tensorflow.entries import value
from dovetail.compat.tensorflow.table import function
from dovetail.compat.tensorflow.unused import warn_once
from dovetail.core.base.errors import op_error
from dovetail.observe.profile import Profile as _Profile
from dovetail.observe.profile import named, profile, step

_exports: list[bool] = []  # filled while the profile is one of `trace_on`
_running: list[tuple[_Profile, str]] = []  # the profile that `start` began, and its folder


class ProfilerOptions(NamedTuple):
    """Settings of a profile; it records the same with each of them.

    Source: `tf.profiler.experimental.ProfilerOptions`.
    """

    host_tracer_level: int = 2
    python_tracer_level: int = 0
    device_tracer_level: int = 1
    delay_ms: int | None = None


@function("profiler.experimental.start")
def start(logdir: str | os.PathLike[str], options: Any = None) -> None:
    """Open a profile, as `dovetail.profile` does, until `stop`.

    Args:
        logdir: the folder for `stop` to write into.
        options: has no effect.

    Raises:
        RuntimeError: another profile is open.

    Source: `tf.profiler.experimental.start`.
    """
    if options is not None and options != ProfilerOptions():
        warn_once("tf.profiler.experimental.ProfilerOptions", "they do nothing: a profile records all operations.")
    begun = profile().__enter__()
    _running.append((begun, os.fspath(logdir)))


@function("profiler.experimental.stop")
def stop(save: bool = True) -> None:
    """Close the profile that `start` opened.

    Args:
        save: whether to write traces into its folder, for TensorBoard and Perfetto.

    Raises:
        RuntimeError: `start` opened none.
        OSError: the folder cannot be written to.

    Source: `tf.profiler.experimental.stop`.
    """
    if not _running:
        raise op_error(RuntimeError, "tf.profiler.experimental.stop", "no profile is open: call start(logdir) first.")
    ended, folder = _running.pop()
    ended.__exit__(None, None, None)
    if save:
        ended.save_for_tensorboard(folder)


class Profile:
    """A profile of a `with` block, written into a folder at its end.

    Args:
        logdir, options: as in `start`.

    Source: `tf.profiler.experimental.Profile`.
    """

    def __init__(self, logdir: str | os.PathLike[str], options: Any = None) -> None:
        self._logdir, self._options = logdir, options

    def __enter__(self) -> None:
        start(self._logdir, self._options)

    def __exit__(self, *raised: object) -> None:
        stop()


class Trace:
    """A span of the open profile, with a name, for a `with` block.

    Args:
        name: its name.
        **kwargs: values to show with the name; `step_num` makes the block a step.

    Source: `tf.profiler.experimental.Trace`.
    """

    def __init__(self, name: str, **kwargs: Any) -> None:
        self._is_step = "step_num" in kwargs
        shown = ", ".join(f"{key}={given}" for key, given in kwargs.items() if not key.startswith("_"))
        self._name, self._block = f"{name} ({shown})" if shown else name, ExitStack()

    def set_metadata(self, **kwargs: Any) -> None:
        """Accept values to show with the name, which are not shown."""

    def __enter__(self) -> Trace:
        self._block.enter_context(named(self._name))
        return self

    def __exit__(self, *raised: object) -> None:
        self._block.close()
        if self._is_step:
            step(1)


@function("summary.trace_on")
def trace_on(graph: bool = True, profiler: bool = False, profiler_outdir: str | None = None) -> None:
    """Open a profile if asked to; graphs are written by `tf.summary.graph`, not by a trace.

    Args:
        graph: has no effect.
        profiler: whether to open a profile, until `trace_export`.
        profiler_outdir: the folder for the profile.

    Raises:
        ValueError: a profile is asked for, and the folder is not given.
        RuntimeError: another profile is open.

    Source: `tf.summary.trace_on`.
    """
    if not profiler:
        return
    if profiler_outdir is None:
        raise op_error(ValueError, "tf.summary.trace_on", "a profile needs profiler_outdir, the folder for it.")
    start(profiler_outdir)
    _exports.append(True)


@function("summary.trace_export")
def trace_export(name: str, step: Any = None, profiler_outdir: str | None = None) -> None:
    """Close the profile that `trace_on` opened, if it opened one, and write it.

    Args:
        name, step: have no effect, since no graph is written.
        profiler_outdir: a folder instead of the one of `trace_on`.

    Source: `tf.summary.trace_export`.
    """
    if _exports:
        if profiler_outdir is not None:
            _running[-1] = _running[-1][0], profiler_outdir
        _exports.clear()
        stop()


for _name in (ProfilerOptions, Profile, Trace):
    value(f"profiler.experimental.{_name.__name__}", _name)
