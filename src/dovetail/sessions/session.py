"""Sessions: they run parts of a graph while it is still being built, as in TensorFlow 1."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any, NoReturn
from weakref import WeakKeyDictionary, WeakSet

from dovetail.compat.tf_graph.elements import element_of, face_of
from dovetail.compat.tf_graph.variable_operation import VariableOperation
from dovetail.core.base.cache import Cache
from dovetail.core.base.errors import describe, place
from dovetail.core.base.scopes import Setting, not_building
from dovetail.core.engines.devices import soft_placement
from dovetail.core.engines.engine_registry import get_engine
from dovetail.core.tensor import Tensor
from dovetail.core.values.structure import flatten, pack_as
from dovetail.core.values.value_kinds import kind_of
from dovetail.core.values.variable import Variable
from dovetail.edit.graph import Graph, GraphTensor, Operation
from dovetail.execute.feeds import flat_feeds
from dovetail.graph.base import in_contrast
from dovetail.sessions.cut_program import CutProgram
from dovetail.sessions.session_graph import open_default_graph
from dovetail.sessions.values import SessionValues
from dovetail.trace.trace import current_graph

PROGRAMS = 100  # programs in each of the two generations of a session's cache


DEFAULT_SESSIONS: Setting[tuple[Session, ...]] = Setting(())  # outermost first
_open: WeakKeyDictionary[Graph, WeakSet[Session]] = WeakKeyDictionary()  # a graph → its sessions that are not closed


class Session:
    """A session: it computes the fetched parts of a graph, and nothing else.

    Args:
        graph: the graph to run; if not given, the graph that is being built, or this thread's default one.
        engine: the name of the engine; if not given, the first fed Tensor's engine, or the current one.
        allow_soft_placement: whether the nearest device stands in for one that does not exist; if not given, as
            `dovetail.soft_placement` says now.

    Attributes:
        graph: as given.
        values: the values of the graph's own variables, one set a session; `dt.Variable`s belong to the process.

    Source: `tf.compat.v1.Session`.

    Example:
        >>> import dovetail as dt
        >>> graph, w = dt.Graph(), dt.Variable(3.0)
        >>> with graph.as_default():
        ...     x = graph.placeholder(dt.spec(()), "x")
        ...     y = x * w
        >>> with Session(graph) as session:
        ...     session.run({"product": y, "w": w}, {x: 2.0}), y.eval({"x:0": 4.0})
        ({'product': np.float32(6.0), 'w': np.float32(3.0)}, np.float32(12.0))
    """

    def __init__(
        self, graph: Graph | None = None, engine: str | None = None, allow_soft_placement: bool | None = None
    ) -> None:
        self.graph = current_graph() or open_default_graph() if graph is None else graph
        if not isinstance(self.graph, Graph):
            raise TypeError(f"a session runs a dovetail.Graph, not {describe(graph)}.")
        self._engine = None if engine is None else get_engine(engine)
        self._is_soft = soft_placement() if allow_soft_placement is None else allow_soft_placement
        self.values = SessionValues(self.graph, self.run)
        self._programs: Cache[Any, tuple[CutProgram, Any]] = Cache(PROGRAMS)
        self._version = self.graph.version
        self._is_closed = False
        self._awaited: set[threading.Condition] = set()  # for which runs wait
        self._entered: list[ExitStack] = []
        _open.setdefault(self.graph, WeakSet()).add(self)

    def run(self, fetches: Any, feed_dict: Mapping[Any, Any] | None = None) -> Any:
        """Compute tensors, and make the assignments among them.  Edits of the graph count from the next run on.

        A run makes its assignments in program order.  It reads a variable at its start, or right after the last
        assignment for which the read waits; see `graph.control_dependencies`.

        Args:
            fetches: a structure of tensors, variables, operations, their names, and None; `"x"` names an operation,
                `"x:0"` a tensor.
            feed_dict: tensors and variables of the graph, or names of tensors → their values in this run: numbers,
                lists, arrays or tensors, also of other libraries.
                A key that is a tuple of these takes a structure of values; see `flat_feeds`.

        Returns:
            NumPy arrays and scalars in the structure of `fetches`, whose dicts keep their order; of operations, None.

        Raises:
            ValueError: a needed placeholder is not fed, a value does not fit, a tensor is of another graph, or an
                operation's device does not exist and no other one is allowed.
            KeyError: there is no tensor or operation of a name.
            TypeError: a fetch or a key of `feed_dict` is none of these.
            RuntimeError: the session is closed.

        Source: `tf.compat.v1.Session.run`.
        """
        leaves, _ = flatten(fetches, "Session.run")
        feeds = flat_feeds(feed_dict)
        with not_building():
            leaves = [self._face(x) for x in leaves]
            parts = [x.tensors if hasattr(x, "written") else [x] for x in leaves]
            keys = [self._fed(key) for key in feeds]
            fetched = [self._fetched(x) for part in parts for x in part]
            computed = iter(self._computed(keys, fetched, list(feeds.values())))
        values = [[next(computed) for _ in part] for part in parts]
        rows = zip(leaves, values, strict=True)
        return pack_as(fetches, [x.written(row) if hasattr(x, "written") else row[0] for x, row in rows])

    def _computed(self, keys: Sequence[Any], fetched: Sequence[Any], values: Sequence[Any]) -> list[Any]:
        """The fetched values, if these keys are fed with these values."""
        if self._is_closed:
            raise RuntimeError("the session is closed: make another one, dovetail.Session(graph).")
        results = [x for x in fetched if isinstance(x, (GraphTensor, Variable))]
        wanted = [x for x in fetched if isinstance(x, Operation)]
        program = self._program(keys, results, wanted)
        computed = iter(program(values, self._engine) if program else ())
        return [next(computed) if isinstance(x, (GraphTensor, Variable)) else _value(x) for x in fetched]

    def _program(self, keys: Sequence[Any], results: Sequence[Any], wanted: Sequence[Any]) -> CutProgram | None:
        if not (results or wanted):
            return None
        if self._version != self.graph.version:
            self._version = self.graph.version  # the graph was edited
            self._programs = Cache(PROGRAMS)
        known = tuple(keys), tuple(results), tuple(wanted)  # kept alive, so that no other object gets their ids
        key = tuple(tuple(map(id, part)) for part in known)
        entry = self._programs.get(key)
        if entry is None:
            program = CutProgram(self.graph, *known, "run", self._is_soft, self.values)
            entry = self._programs.put(key, (program, known))
        return entry[0]

    def _face(self, x: Any) -> Any:
        """A leaf of the fetches; the tensor of the strings in place of one of their numbers, or of its name."""
        element = self._element(x) if isinstance(x, str) else x
        return face_of(element) if hasattr(element, "face") else x

    def _fetched(self, x: Any) -> Any:
        """A leaf of the fetches, as a tensor or operation of the graph, a variable or a Tensor."""
        if isinstance(x, (str, GraphTensor, Operation, VariableOperation)):
            return self._element(x)
        return self._held(x, "can be computed")

    def _fed(self, x: Any) -> Any:
        """A key of the feeds, as a tensor of the graph or a variable."""
        if isinstance(x, (str, GraphTensor, Operation)):
            return self._element(x, allow_operation=False)
        key = self._held(x, "can be fed")
        return self.graph.closures.get(key, key) if isinstance(key, Tensor) else key

    def _element(self, x: Any, **allowed: bool) -> Any:
        """A tensor or operation of the graph, which may be given by its name."""
        if not isinstance(x, str) and x.graph is not self.graph:
            line = (x.op if isinstance(x, GraphTensor) else x).where
            problem = f"{x!r}, made at {place(line)}, belongs to {in_contrast(self.graph, x.graph)}"
            raise ValueError(f"{problem}: run it in a session of its graph, or build it in the session's graph.")
        return element_of(self.graph, x, **allowed)

    def _held(self, x: Any, what: str) -> Any:
        held = kind_of(x).followed(x)
        if not isinstance(held, (Variable, Tensor)):
            held = kind_of(x).in_graph(x, self.graph)
        if not isinstance(held, (GraphTensor, Variable, Tensor)):
            raise TypeError(f"tensors, operations, variables and their names {what}, not {x!r}.")
        return held

    def make_callable(self, fetches: Any, feed_list: Sequence[Any] = ()) -> Callable[..., Any]:
        """Make a function that takes values for the feeds and computes the fetches.

        Args:
            fetches: as for `run`.
            feed_list: the tensors and variables that the arguments of the function are fed to.

        Source: `tf.compat.v1.Session.make_callable`.
        """
        return lambda *values: self.run(fetches, dict(zip(feed_list, values, strict=True)))

    @contextmanager
    def as_default(self) -> Iterator[Session]:
        """Use this session for `tensor.eval` and `operation.run` inside the `with` block.

        Source: `tf.compat.v1.Session.as_default`.
        """
        with DEFAULT_SESSIONS.scope((*DEFAULT_SESSIONS.get(), self)):
            yield self

    def __enter__(self) -> Session:
        """Make this session the default one, and record into its graph; the end of the `with` block closes it."""
        with ExitStack() as entered:
            entered.enter_context(self.graph.as_default())
            entered.enter_context(self.as_default())
            self._entered.append(entered.pop_all())
        return self

    def __exit__(self, *error: Any) -> None:
        self._entered.pop().__exit__(*error)
        self.close()

    def wait_for(self, changed: threading.Condition, ready: Callable[[], bool]) -> bool:
        """Wait in a run until another thread makes something true, or the session is closed.

        Args:
            changed: the condition, which this thread holds.
            ready: whether it is true.

        Returns:
            Whether it is; False if the session is closed.
        """
        self._awaited.add(changed)
        changed.wait_for(lambda: self._is_closed or ready())
        return not self._is_closed

    def close(self) -> None:
        """Free the compiled programs, and the values of the graph's own variables; later runs raise an error.

        Runs that wait end first: they may hold variables.

        Source: `tf.compat.v1.Session.close`.
        """
        self._is_closed = True
        for changed in list(self._awaited):
            with changed:
                changed.notify_all()
        _open[self.graph].discard(self)
        self._programs = Cache(PROGRAMS)
        self.values.clear()

    @property
    def is_closed(self) -> bool:
        """Whether the session was closed."""
        return self._is_closed

    def partial_run_setup(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Raise an error: partial runs are not offered, since a program is compiled as a whole.

        Raises:
            NotImplementedError: always; its text says what to do.
        """
        problem = "a run is compiled as a whole, so it cannot be interrupted for more values"
        raise NotImplementedError(
            f"partial runs are not offered: {problem}; run twice, and feed the results of the first run to the second."
        )

    partial_run = partial_run_setup

    def __repr__(self) -> str:
        return f"<session of {self.graph!r}>"


def _value(x: Any) -> Any:
    return x.numpy()[()] if isinstance(x, Tensor) else None


def default_session() -> Session | None:
    """The innermost default session of this thread or task; None if there is none."""
    sessions = DEFAULT_SESSIONS.get()
    return sessions[-1] if sessions else None


def session_of(graph: Graph) -> Session:
    """The session that runs a graph if none is named.

    It is the default session if that is of the graph, else the only session that a program made for the graph, else
    the graph's own.
    """
    session = default_session()
    if session is not None and session.graph is graph:
        return session
    made = [s for s in _open.get(graph, ()) if s is not graph.session]
    if len(made) == 1:
        return made[0]
    if graph.session is None or graph.session.is_closed:
        graph.session = Session(graph)
    return graph.session


def run(fetches: Any, feed_dict: Any, graph: Graph, session: Session | None = None) -> Any:
    """Compute tensors of a graph in a session; if none is given, in the one of `session_of`."""
    return (session or session_of(graph)).run(fetches, feed_dict)
