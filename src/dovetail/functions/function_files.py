"""Traced functions: compiled functions as data, and functions made of data, which run their traces.

The function that is called stays Python's; a document has the graphs of its traces, with the arguments and results that
belong to them.  A function made of a document records the graph of the trace that fits its arguments.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import NoneType
from typing import Any, NamedTuple

from dovetail.core.base.errors import describe, op_error
from dovetail.core.values.shapes import fits
from dovetail.core.values.signature import static_key
from dovetail.core.values.spec import TensorSpec
from dovetail.core.values.structure import flatten, unflatten
from dovetail.core.values.value_kinds import dtype_of, static_shape
from dovetail.edit.graph import Graph
from dovetail.edit.replay import replay
from dovetail.execute.choice import Choice
from dovetail.functions.function import FollowingFunction, Function, GraphFunction, Options, Trace
from dovetail.graph.attributes import Beside, Form, Refused, decode, encode, register


class Recording(NamedTuple):
    """A trace as data, which may be read from a file.

    Attributes:
        leaves, structure: of its arguments, or of the pair (args, kwargs) if it has keywords, with specs for tensors.
        graph: takes the tensors among the arguments.
        result: the result, with specs in the places of the graph's outputs.
    """

    leaves: Sequence[Any]
    structure: Any
    graph: Graph
    result: Any

    @classmethod
    def of(cls, trace: Trace) -> Recording:
        graph = trace.concrete.graph
        return cls(trace.leaves, trace.structure, graph, trace.rebuild([t.spec for t in graph.outputs]))

    def takes(self, leaves: Sequence[Any], structure: Any) -> bool:
        """Whether the arguments of a call fit it."""
        return structure == self.structure and all(map(_fits, leaves, self.leaves))

    @property
    def unknowns(self) -> int:
        """The number of unknown dimensions of its arguments."""
        return sum(1000 if s.shape is None else s.shape.count(None) for s in self.leaves if type(s) is TensorSpec)

    def replay(self, leaves: Sequence[Any]) -> Any:
        """Record its graph in the graph that is being built, and return the result."""
        given = [leaf for leaf, known in zip(leaves, self.leaves, strict=True) if type(known) is TensorSpec]
        parts, structure = flatten(self.result)
        places, count = sum(type(part) is TensorSpec for part in parts), len(self.graph.outputs)
        if places != count:
            problem = f"the function gives {places} tensors, and its graph has {count} outputs after edits"
            raise op_error(ValueError, self.graph.name, f"{problem}; dt.function(graph) gives them all.")
        results = replay(self.graph, *given)
        outputs = iter((results,) if count == 1 else results)
        return unflatten(structure, [next(outputs) if type(part) is TensorSpec else part for part in parts])

    def __str__(self) -> str:
        return repr(unflatten(self.structure, self.leaves))


def _fits(given: Any, known: Any) -> bool:
    is_static, has_shape = type(known) is not TensorSpec, hasattr(given, "shape")
    if is_static or not has_shape:
        return given is known or (is_static and not has_shape and static_key(given) == static_key(known))
    return dtype_of(given) == known.dtype and fits(static_shape(given), known.shape)


class TracedFunction(FollowingFunction):
    """A compiled function, mostly read from a file: it runs the traces that it has, and calls no Python function.

    Calls see edits of the graphs of these traces.

    Attributes:
        recordings: its traces; one with more unknown dimensions comes later.
        missing: the text of the error for other arguments.
    """

    missing = (
        "the file has no trace for the arguments ({given}). It has traces for {known}. Before you save the "
        "function, call it with such arguments, or trace unknown dimensions: f.concrete(dt.spec((None, 3)))."
    )

    def __init__(self, name: str, recordings: list[Recording], signature: Any, options: Options) -> None:
        super().__init__(self._replay, signature, name, options)
        self.recordings = sorted(recordings, key=lambda recording: recording.unknowns)

    @property
    def graphs(self) -> list[Graph]:
        return [recording.graph for recording in self.recordings]

    def _replay(self, *args: Any, **kwargs: Any) -> Any:
        leaves, structure, _ = self._flat(args, kwargs)
        for recording in self.recordings:
            if recording.takes(leaves, structure):
                return recording.replay(leaves)
        given = ", ".join([*map(describe, args), *(f"{name}={describe(value)}" for name, value in kwargs.items())])
        known = ", ".join(map(str, self.recordings))
        raise op_error(TypeError, self._name, self.missing.format(given=given, known=known))


# -- as data ----------------------------------------------------------------------------------------------------------


def _function_data(function: Function[..., Any], beside: Beside) -> Any:
    name, options = function._name, function._options
    if isinstance(function, GraphFunction):
        if options.passes:
            raise Refused(f"the function {name!r} has passes, which are functions of the program")
        signature, programs = function._given_signature, {"graph": encode(function._replayed, beside)}
    else:
        specs = function._signature
        signature = None if specs is None else unflatten(specs[1], specs[0])
        programs = {"traces": _traces_data(function, beside)}
    chosen = {"engine": options.engine, "choice": encode(options.fixed, beside)}
    return {"name": name, "signature": encode(signature and tuple(signature), beside), **chosen, **programs}


def _traces_data(function: Function[..., Any], beside: Beside) -> list[Any]:
    if isinstance(function, TracedFunction):
        recordings = function.recordings
    else:
        recordings = list(map(Recording.of, function.traces))
    if not recordings:
        name = function._name
        raise Refused(
            f"the function {name!r} has no trace under the present settings: call it, or trace it with "
            "f.concrete(dt.spec(...))"
        )
    return [
        {
            "arguments": encode(unflatten(structure, leaves), beside),
            "graph": encode(graph, beside),
            "result": encode(result, beside),
        }
        for leaves, structure, graph, result in recordings
    ]


def _function_of(data: Any, beside: Beside) -> Function[..., Any]:
    name, engine, signature = data["name"], data["engine"], decode(data["signature"], beside)
    fixed = decode(data["choice"], beside)
    if type(name) is not str or type(engine) not in (str, NoneType) or type(fixed) not in (Choice, NoneType):
        given = ", ".join(map(describe, (name, engine, fixed)))
        raise ValueError(f"a function has no name, engine and choice, but {given}")
    options = Options(engine=engine, fixed=fixed)
    if "graph" in data:
        return GraphFunction(decode(data["graph"], beside), signature, name, options)
    return TracedFunction(name, [_recording(given, beside) for given in data["traces"]], signature, options)


def _recording(given: Any, beside: Beside) -> Recording:
    leaves, structure = flatten(decode(given["arguments"], beside))
    graph, result = decode(given["graph"], beside), decode(given["result"], beside)
    counts = [sum(type(leaf) is TensorSpec for leaf in part) for part in (leaves, flatten(result)[0])]
    if counts != [len(graph.inputs), len(graph.outputs)]:
        raise ValueError(f"the graph {graph.name!r} does not have the arguments and results that are said beside it")
    return Recording(leaves, structure, graph, result)


register(Function, Form("compiled", _function_data, _function_of, is_part=True))
