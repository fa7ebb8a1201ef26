"""TensorFlow 1's names for sessions: their settings, and their reports of runs."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import numpy as np

from dovetail.backend.feeding import map_sparse
from dovetail.compat.tensorflow import graph_mode
from dovetail.compat.tensorflow.entries import value
from dovetail.compat.tensorflow.names.array.conversions import fed, fetched
from dovetail.compat.tensorflow.names.array.sparse import SparseFetch, fed_parts
from dovetail.compat.tensorflow.names.session.devices import (
    DeviceAttributes,
    allows_soft_placement,
    attributes_of,
    full_name,
    logs_placement,
    print_placement,
    without_printing,
)
from dovetail.compat.tensorflow.names.session.settings import (
    DeviceStepStats,
    NodeExecStats,
    RunMetadata,
    RunOptions,
    heed,
)
from dovetail.compat.tensorflow.names.strings.tensors import NUMBERS, strings_of_a_run
from dovetail.compat.tensorflow.names.strings.text import is_text, strings_of
from dovetail.compat.tf_graph.definition import definition_of
from dovetail.core.base.errors import describe, op_error
from dovetail.core.base.scopes import Scoped
from dovetail.core.engines.engine_registry import current_engine
from dovetail.core.values.structure import flatten, refuse_nesting
from dovetail.edit.graph import Operation
from dovetail.execute.events import FUSION, OPERATION, PROGRAM
from dovetail.observe.profile import is_open, profile
from dovetail.sessions import session as sessions
from dovetail.sessions.cut_program import CutProgram

# The metadata of the run that is going on, if it asks for some.
_metadata: Scoped[RunMetadata | None] = Scoped(None)
# The session whose run is going on.
_running: Scoped[Session | None] = Scoped(None)
# Calls of the run that is going on → the elements that were taken out of queues for them before it.
_early: Scoped[dict[Any, Any]] = Scoped({})


def running(graph: Any) -> sessions.Session:
    """The session whose run is going on; outside of runs of the graph, the one that runs it if none is named."""
    session = _running.get()
    return session if session is not None and session.graph is graph else sessions.session_of(graph)


def taken_early(call: Any) -> Any:
    """The elements that were taken out of a queue for a call, before the run; None if none were."""
    return _early.get().pop(call, None)


def _take_early(program: CutProgram) -> None:
    """Take the elements for a run out of queues before it, unless it puts some in itself.

    A run that waits would keep the variables that it assigns from the runs that give it elements.
    """
    functions = [operation.attrs["function"] for operation in program.graph.find("PyFunc")]
    calls = [one if hasattr(one, "take") else getattr(one, "function", one) for one in functions]
    if not any(hasattr(one, "puts") for one in (*functions, *calls)):
        for call in calls:
            if hasattr(call, "take"):
                _early.get()[call] = call.take()


def as_running(session: Session) -> AbstractContextManager[Any]:
    """Act for a run of a session in the `with` block, which is none: it holds no variables."""
    return _running.scope(session)


class Session(sessions.Session):
    """A session, which computes parts of a graph.

    Args:
        target: "", since a session runs in this process.
        graph: the graph; the one that is being built, if not given.
        config: a `tf.ConfigProto`.  `allow_soft_placement=False` refuses to compute an operation elsewhere than on the
            device that `tf.device` said; `log_device_placement` prints the device of each operation once to stderr;
            `intra_op_parallelism_threads` holds for the process.

    Source: `tf.compat.v1.Session`.
    """

    def __init__(self, target: str = "", graph: Any = None, config: Any = None) -> None:
        if target:
            raise op_error(NotImplementedError, "tf.Session", "a session runs in this process: leave target out.")
        if config is not None:
            heed(config)
        graph = graph_mode.open_graph() if graph is None else graph
        super().__init__(graph, allow_soft_placement=allows_soft_placement(config))
        self._logs = logs_placement(config)
        self._logged: set[Operation] = set()

    @property
    def graph_def(self) -> Any:
        """The definition of its graph.

        Source: `tf.compat.v1.Session.graph_def`.
        """
        return definition_of(self.graph)

    def list_devices(self) -> list[DeviceAttributes]:
        """The devices of its engine.

        Source: `tf.compat.v1.Session.list_devices`.
        """
        return attributes_of(self._engine or current_engine())

    def run(self, fetches: Any, feed_dict: Any = None, options: Any = None, run_metadata: Any = None) -> Any:
        """Compute tensors, summaries among them, and run operations.

        Args:
            fetches, feed_dict: as in `dovetail.Session.run`.
            options: a `tf.RunOptions`; with `trace_level` the run fills `run_metadata`.
            run_metadata: a `tf.RunMetadata`, whose `step_stats` gets the devices, and the operations that the run
                computes on each, with their times.  An operation that a library fuses with others has the time 0; the
                fusion has a row of its own.

        Raises:
            TypeError: options or run_metadata are of another type; also the errors of `dovetail.Session.run`.
        """
        _check(options, RunOptions, "options")
        _check(run_metadata, RunMetadata, "run_metadata")
        if options is not None:
            heed(options)
        try:
            given = map_sparse(SparseFetch, fetched(fetches))
            flatten(given, "tf.Session.run")  # its errors name TensorFlow's function
        except RecursionError:
            refuse_nesting("tf.Session.run", [fetches])
            raise
        if run_metadata is not None:
            run_metadata.Clear()
        traced = run_metadata if options is not None and options.trace_level else None
        with _metadata.scope(traced), _running.scope(self), _timed(traced), strings_of_a_run(), without_printing():
            return super().run(given, fed_parts(fed(feed_dict)))

    def _computed(self, keys: Sequence[Any], fetched: Sequence[Any], values: Sequence[Any]) -> list[Any]:
        given = list(values)
        for place, (key, x) in enumerate(zip(keys, values, strict=True)):
            if is_text(x):  # TensorFlow reads the numbers that a text has, if they are fed for numbers
                given[place] = NUMBERS.of(strings_of(x)) if hasattr(key, "face") else np.asarray(x, key.dtype.numpy)
            elif hasattr(key, "face") and np.size(x):
                raise op_error(TypeError, "tf.Session.run", f"{key.face!r} takes strings, not {describe(x)}.")
        early: dict[Any, Any] = {}
        try:
            with _early.scope(early):
                return super()._computed(keys, fetched, given)
        finally:
            for call, elements in early.items():
                call.give_back(elements)

    def _program(self, *parts: Any) -> CutProgram | None:
        program, metadata = super()._program(*parts), _metadata.get()
        if program is not None and (self._logs or metadata is not None):
            places = program.placement(self._engine)
            placed = [(operation, full_name(device)) for operation, device in places if operation.graph is self.graph]
            if metadata is not None:
                _fill(metadata, placed)
            if self._logs:
                self._log(placed)
        if program is not None:
            _take_early(program)
        return program

    def _log(self, placed: list[tuple[Operation, str]]) -> None:
        for operation, device in placed:
            if operation not in self._logged:
                self._logged.add(operation)
                print_placement(operation, device)


def _check(given: Any, kind: type, name: str) -> None:
    if not isinstance(given, (kind, type(None))):
        raise op_error(TypeError, "tf.Session.run", f"{name} must be a tf.{kind.__name__}, not {given!r}.")


def _fill(metadata: RunMetadata, placed: list[tuple[Operation, str]]) -> None:
    """Note the operations of a run, device by device."""
    now = time.time_ns() // 1000
    devices: dict[str, DeviceStepStats] = {}
    for operation, device in placed:
        stats = devices.setdefault(device, DeviceStepStats(device=device))
        inputs = ", ".join(tensor.op.name if tensor.index == 0 else tensor.name for tensor in operation.inputs)
        label = f"{operation.name} = {operation.type}({inputs})"
        stats.node_stats.append(NodeExecStats(node_name=operation.name, all_start_micros=now, timeline_label=label))
    metadata.step_stats.dev_stats.extend(devices.values())


@contextmanager
def _timed(metadata: RunMetadata | None) -> Iterator[None]:
    """Time the operations of a run by a profile; one that is open already keeps its times."""
    if metadata is None or is_open():
        yield
        return
    with profile() as taken:
        yield
    beginning = time.time_ns() - time.perf_counter_ns()
    nodes = {node.node_name: node for device in metadata.step_stats.dev_stats for node in device.node_stats}
    for event in taken.events:
        names, start = event.subject.operations, (beginning + event.start) // 1000
        if event.subject.kind == OPERATION and names[0] in nodes:
            node = nodes[names[0]]
        elif event.subject.kind in (FUSION, PROGRAM) and metadata.step_stats.dev_stats:
            name = " + ".join(names) or event.subject.types[0]
            label = f"{name} = {'Fusion' if names else 'Call'}({', '.join(names)})"
            node = NodeExecStats(node_name=name, timeline_label=label)
            metadata.step_stats.dev_stats[0].node_stats.append(node)
        else:
            continue
        node.all_start_micros = node.scheduled_micros = start
        took = max(1, event.duration // 1000)
        node.op_end_rel_micros = node.all_end_rel_micros = took
        node.thread_id = event.thread & 0xFFFF


class InteractiveSession(Session):
    """A session that is the default one as soon as it is made, until it is closed.

    Source: `tf.compat.v1.InteractiveSession`.
    """

    def __init__(self, target: str = "", graph: Any = None, config: Any = None) -> None:
        super().__init__(target, graph, config)
        sessions.DEFAULT_SESSIONS.set((*sessions.DEFAULT_SESSIONS.get(), self))

    def close(self) -> None:
        others = tuple(s for s in sessions.DEFAULT_SESSIONS.get() if s is not self)
        sessions.DEFAULT_SESSIONS.set(others)
        super().close()


value("Session", Session, "v1")
value("InteractiveSession", InteractiveSession, "v1")
value("get_default_session", sessions.default_session, "v1")
