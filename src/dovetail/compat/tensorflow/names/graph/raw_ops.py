"""`tf.raw_ops`: each type of TensorFlow's graphs by its name, computed by the row or the function that reads its nodes.

    tf.raw_ops.BiasAdd(value=x, bias=b, data_format="NHWC")

A call makes a node: TensorFlow's definition of the type says its inputs, and its attributes with their defaults.  Types
of strings and of tables are computed by Python.
"""

from __future__ import annotations

import functools
import inspect
import re
from collections import namedtuple
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property, partial
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

from dovetail import ops
from dovetail.compat.tensorflow import graph_mode
from dovetail.compat.tensorflow.entries import value
from dovetail.compat.tensorflow.names.graph.control import group
from dovetail.compat.tensorflow.names.graph.raw_arguments import attributes_of, inputs_of
from dovetail.compat.tensorflow.names.strings.tensors import computed
from dovetail.compat.tensorflow.names.strings.text import STRING, Text, is_text, text
from dovetail.compat.tensorflow.nearest import close_op
from dovetail.compat.tensorflow.table import arguments_of, told
from dovetail.core.base.table import OPS
from dovetail.core.values.places import engine
from dovetail.formats.nodes.opaque import Unreadable
from dovetail.formats.tensorflow.attributes import Attributes, set_attribute
from dovetail.formats.tensorflow.calls import by_row, listed
from dovetail.formats.tensorflow.host import HOST
from dovetail.formats.tensorflow.host.evaluation import Evaluator
from dovetail.formats.tensorflow.op_defs import MISSING, Attr, OpDef, definition
from dovetail.formats.tensorflow.ops import READ, SPECIAL
from dovetail.formats.tensorflow.read_nodes import Body, Node
from dovetail.formats.tensorflow.results import specs_of
from dovetail.formats.tensorflow.table import OF_FILES
from dovetail.formats.tensorflow.values import Handle
from dovetail.formats.wire.messages import TENSORFLOW
from dovetail.formats.wire.tensors import STRING as STRINGS
from dovetail.formats.wire.tensors import number_of
from dovetail.trace.trace import current_graph


class Given(Attributes):
    """The attributes of a call, whose values are given."""

    def __init__(self, type: str, values: Mapping[str, Any]) -> None:
        super().__init__(SimpleNamespace(op=type, attr=values))

    def check(self, theirs: Attr) -> None:
        """Do nothing: values of a program are no messages."""

    def given(self, name: str) -> Any:
        return self._node.attr[name]


class Call(Node):
    """A node that a program calls; no file has it.

    Args:
        reader: computes or records it.
        op_def: the definition of its type.
        inputs: its inputs.
        attrs: its attributes, all that the type has.
    """

    def __init__(self, reader: Calls, op_def: OpDef, inputs: list[Any], attrs: Mapping[str, Any]) -> None:
        self.reader, self.body, self.inputs, self.waits = reader, Body("a call", [], {}), inputs, []
        self.name = self.title = self.type = op_def.type
        self.op_def, self.values, self.attrs = op_def, attrs, Given(op_def.type, attrs)

    @cached_property
    def proto(self) -> Any:
        """Its message; its inputs are TensorFlow's words for them."""
        made = TENSORFLOW.NodeDef(name=self.name, op=self.type, input=[one.word for one in self.op_def.inputs])
        for name, one in self.values.items():
            kind = self.op_def.attrs[name].kind
            if kind == "type":
                made.attr[name].type = _number(one)
            elif kind == "list(type)":
                made.attr[name].list.type.extend(map(_number, one))
            elif "shape" not in kind:  # the host asks for none
                set_attribute(made.attr[name], one)
        return made


def _number(dtype: Any) -> int:
    return STRINGS if dtype is None else number_of(dtype)


class Calls(Evaluator):
    """A reader of calls: each is computed at once, or recorded where ops are recorded."""

    def __init__(self) -> None:
        super().__init__("a program", {}, TABLES)
        self.is_session = graph_mode.graph() is not None
        self.assigned: list[Any] = []
        self._first = len(self.graph) if self.is_session else 0

    @property
    def graph(self) -> Any:
        return current_graph() or graph_mode.graph() or self.now

    @property
    def effects_recorded(self) -> list[Any]:
        """The operations of the call that are computed whatever a run asks for."""
        return [op for op in self.graph.operations[self._first :] if op.is_kept]

    def current(self, variable: Any) -> Any:
        return variable.read()

    def assign(self, variable: Any, value: Any) -> Any:
        self.assigned.append(variable.assign(value))
        return self.assigned[-1]


class _Tables:
    """The tables that calls make, by their names, and the files that fill them."""

    def __init__(self) -> None:
        self._named: dict[str, dict[Any, Any]] = {}

    def table(self, node: Node) -> dict[Any, Any]:
        """The table of a shared name, or a new one."""
        name = node.attrs("shared_name")
        return self._named.setdefault(name, {}) if name else {}

    def lines(self, path: bytes) -> Iterator[bytes]:
        """The lines of a file."""
        yield from Path(path.decode()).read_bytes().splitlines()


TABLES = _Tables()


# -- calls ------------------------------------------------------------------------------------------------------------


@functools.cache
def raw(type: str) -> Any:
    """The function of a type, with the parameters that TensorFlow's has; None if only files have such nodes."""
    known = definition(type)
    if known is None or type in OF_FILES or type not in {*READ, *SPECIAL, *HOST}:
        return None

    def call(*args: Any, name: str | None = None, **given: Any) -> Any:
        given = arguments_of(signature, args, given, defaults=False) if args else given
        _check_words(signature, given)
        attrs = attributes_of(known, given)
        node = Call(Calls(), known, inputs_of(known, given, attrs), attrs)
        try:
            return _grouped(node, _results(node, name))
        except Unreadable as error:
            raise ValueError(f"{error}.") from None

    call.__signature__ = signature = inspect.Signature([*_parameters(known)])  # type: ignore[attr-defined]
    call.__name__, call.__doc__ = type, f"TensorFlow's op {type}.\n\nSource: `tf.raw_ops.{type}`."
    return call


def _parameters(known: OpDef) -> Iterator[inspect.Parameter]:
    empty, kind = inspect.Parameter.empty, inspect.Parameter.POSITIONAL_OR_KEYWORD
    for word in (one.word for one in known.inputs):
        yield inspect.Parameter(word, kind)
    for one in known.free:
        yield inspect.Parameter(one.word, kind, default=empty if one.default is MISSING else one.default)
    yield inspect.Parameter("name", kind, default=None)


def _check_words(signature: inspect.Signature, given: Mapping[str, Any]) -> None:
    """Refuse arguments that a type does not take, and calls without one that it needs."""
    params = {name: one for name, one in signature.parameters.items() if name != "name"}
    takes = f"the op takes {', '.join(params)}." if params else "the op takes none."
    if unknown := given.keys() - params.keys():
        raise TypeError(f"no argument {min(unknown)!r}; {takes}")
    if missing := [n for n, one in params.items() if one.default is one.empty and n not in given]:
        raise TypeError(f"the argument {missing[0]!r} is missing; {takes}")


def _results(node: Call, name: str | None) -> list[Any]:
    """The results of a call: of its row or its function, or of Python if it is of strings or tables."""
    is_plain = node.type in READ or node.type in SPECIAL
    specs = specs_of(node.type, node.attrs, node.inputs) if not is_plain or any(map(is_text, node.inputs)) else []
    if not is_plain and any(one.dtype == "resource" for one in (*node.op_def.inputs, *node.op_def.results)):
        values = _on_arrays(node, *(value.strings if isinstance(value, Text) else value for value in node.inputs))
        return [one if isinstance(one, dict) else text(one) if is_text(one) else ops.convert(one) for one in values]
    if not is_plain or any(map(is_text, node.inputs)):
        dtypes = [STRING if spec.dtype is None else spec.dtype for spec in specs]
        return computed(partial(_on_arrays, node), node.inputs, dtypes, [spec.shape for spec in specs], name)
    return listed(SPECIAL[node.type](node) if node.type in SPECIAL else by_row(READ[node.type], node))


def _on_arrays(node: Call, *arrays: Any) -> list[Any]:
    """The results of a call, from arrays, by NumPy."""
    with engine("numpy"):
        return node.reader.results(node.of([*arrays]))  # type: ignore[attr-defined]


def _grouped(node: Call, results: list[Any]) -> Any:
    """The results as a program gets them: one, a list, or a tuple with TensorFlow's names for them.

    A type without results gives an operation in a graph of TensorFlow 1, and else None.
    """
    reader: Any = node.reader
    results = [reader.assigned[0] if isinstance(one, Handle) else one for one in results]
    named = []
    for one in node.op_def.results:
        count = one.count(node.attrs)
        named.append(results[:count] if one.is_many else results[0])
        results = results[count:]
    if not named:
        return group(*reader.effects_recorded) if reader.is_session else None
    return named[0] if len(named) == 1 else namedtuple(node.type, [one.name for one in node.op_def.results])(*named)


class RawOps(ModuleType):
    """`tf.raw_ops`: each type that files are read with, and Dovetail's and the program's own ops, by their names."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        call = raw(name) or _own(name)
        if call is None:
            close = close_op(name, dir(self))
            hint = f"did you mean {close!r}? A" if close else "a"
            problem = (
                f"no op is called {name!r}; {hint} gradient registered under a name is not one, "
                "and dovetail.register_op makes one."
            )
            raise AttributeError(f"tf.raw_ops has no {name!r}: {problem}", name=name, obj=self)
        return told(f"raw_ops.{name}", call, scope=True)

    def lower_case(self, name: str) -> Any:
        """The function that TensorFlow's modules `gen_nn_ops` and others have by such a name; None if there is none."""
        type = _lower_case_names().get(name)
        return None if type is None or raw(type) is None else getattr(self, type)

    def __dir__(self) -> list[str]:
        return sorted({*OPS, *filter(raw, {*READ, *SPECIAL, *HOST})})


@functools.cache
def _lower_case_names() -> dict[str, str]:
    """`max_pool_grad` → `MaxPoolGrad`: TensorFlow's names for the functions of the types."""
    return {_BETWEEN_WORDS.sub("_", type).lower(): type for type in (*READ, *SPECIAL, *HOST)}


_BETWEEN_WORDS = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<!^)(?=[A-Z][a-z])")


def _own(name: str) -> Callable[..., Any] | None:
    """The function of an op of Dovetail or of the program, with its own parameters; None if there is none."""
    op: Any = OPS.get(name)

    def call(*, name: str | None = None, **given: Any) -> Any:
        if unknown := given.keys() - op.positions.keys():
            raise TypeError(f"no argument {min(unknown)!r}; the op takes {', '.join(op.positions)}.")
        return op(**given, name=name)

    return None if op is None else call


value("raw_ops", RawOps("dovetail.compat.tensorflow.raw_ops"))
