"""ONNX models, to be called, edited and trained; `onnx` is not needed."""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dovetail.core.errors import op_error, warn
from dovetail.core.infer import fits
from dovetail.core.spec import TensorSpec
from dovetail.core.value_kinds import is_tensor, static_shape
from dovetail.core.variable import Variable
from dovetail.edit.graph import Graph, GraphTensor
from dovetail.edit.transplant import copy_graph
from dovetail.formats.constants import constant_of
from dovetail.formats.onnx.model import Model, Output, Read, Type, Unread, of_host, read_model, result_of
from dovetail.formats.onnx.nodes import Foreign, Weight
from dovetail.formats.waiting import Waits
from dovetail.formats.wire.libraries import need
from dovetail.graph.unchecked import rewire
from dovetail.passes.resolve import resolve, waits
from dovetail.plan.function import function

KEPT = 16  # graphs that a model keeps, for shapes and values that differ


class LoadedModel:
    """A model of ONNX; made by `load`.

    Some nodes need shapes that the file does not say, or values of inputs, as a `Reshape` to a shape that is an input.
    They wait in the graph.  A call copies the graph, edited as it is, and puts their operations in their places; the
    copy is kept for the next call with these shapes and values.

    Attributes:
        inputs, outputs: the names.
    """

    def __init__(self, model: Model) -> None:
        self._model = model
        self.inputs, self.outputs = list(model.inputs), list(model.outputs)
        self._read = model.read({}, {})
        self._version = self._read.graph.version
        self._general = _Runnable(self._read.graph, self._read.inputs, self._read.results)
        self._known: OrderedDict[Any, _Runnable] = OrderedDict()
        hosts = {name for name, type in model.inputs.items() if type.spec is None}  # no tensors of numbers
        self._values = {*self._read.needed, *hosts}  # inputs whose values must be known
        self._warned: set[str] = set()  # inputs whose shapes are not those that the file declares

    @property
    def graph(self) -> Graph:
        """The graph for inputs of all values; edits of it change the next call."""
        return self._read.graph

    @property
    def opaque(self) -> dict[str, str]:
        """Names of operations that Dovetail does not compute → the reason."""
        return self._read.opaque

    @property
    def variables(self) -> list[Variable]:
        """The weights: floats with at least one axis."""
        return list(self._model.variables.values())

    @property
    def trainable_variables(self) -> list[Variable]:
        """The weights that training changes, so no running moments."""
        return [variable for variable in self.variables if variable.trainable]

    @property
    def input_specs(self) -> dict[str, TensorSpec | None]:
        """The shape and the dtype of each input; None for one that is no tensor of numbers."""
        return {name: type.spec for name, type in self._model.inputs.items()}

    @property
    def output_types(self) -> dict[str, Type]:
        """The type of each output that the file declares."""
        return self._model.outputs

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The result, or a dict of several by their names.

        Args:
            args: values of the inputs, in the order of `inputs`.
            kwargs: values by their names.

        Raises:
            TypeError: an input is missing, given twice or not known.
            NotImplementedError: a result needs an opaque operation.
        """
        found = self.run([*args], kwargs)
        return found[0] if len(found) == 1 else dict(zip(self.outputs, found, strict=True))

    def run(self, args: Sequence[Any], kwargs: Mapping[str, Any] | None = None) -> list[Any]:
        """The results as a list, for values in the order of `inputs`, and others by their names."""
        given = dict(zip(self.inputs, args, strict=False)) | dict(kwargs or {})
        twice = [key for key in kwargs or {} if key in self.inputs[: len(args)]]
        if len(args) > len(self.inputs) or twice or given.keys() != {*self.inputs}:
            needed = ", ".join(self.inputs) or "nothing"
            problem = f"it takes {needed}, not {len(args)} values and {', '.join(kwargs or {}) or 'no names'}."
            raise op_error(TypeError, "onnx", problem)
        return self._for(given).run(given)

    def _for(self, given: Mapping[str, Any]) -> _Runnable:
        """The graph for some values, in which no node waits if that is possible at all."""
        shapes, read = self._shapes(given), self._read
        if any(self._model.inputs[name].shape is not None for name in shapes):
            read = self._otherwise(shapes)
        must_wait = waits(read.graph) or any(isinstance(value, Unread) for value in read.results)
        if must_wait:
            shapes = {name: _shape(given[name]) for name in read.inputs}
        elif not shapes and not self._values:
            return self._general
        while True:
            values = {name: _host(given[name]) for name in sorted(self._values) if _is_known(given[name])}
            known = tuple((name, _key(value)) for name, value in values.items())
            key = read.graph.version, tuple(shapes.items()), known
            found = self._known.get(key)
            if found is None:
                found, needed = _resolved(read, shapes, values)
                if not needed <= self._values:
                    self._values |= needed
                    continue
                self._known[key] = found
                if len(self._known) > KEPT:
                    self._known.popitem(last=False)
            return found

    def _otherwise(self, shapes: Mapping[str, Any]) -> Read:
        """The model, read for shapes that the file does not declare.

        Raises:
            ValueError: the graph was edited.
        """
        if self.graph.version != self._version:
            problem = "the graph was edited for the shapes that the file declares"
            problem = f"{problem}: load it with shapes={dict(shapes)}, then edit it."
            raise op_error(ValueError, "onnx", problem)
        return self._model.read(shapes, {})

    def _shapes(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """The shapes of inputs that the file does not declare, or declares otherwise."""
        found = {}
        for name, type in self._model.inputs.items():
            if type.spec is not None and (shape := _shape(given[name])) != type.shape:
                if type.shape is None:
                    found[name] = (None,) * len(shape)
                elif not fits(shape, type.shape):
                    if name not in self._warned:
                        problem = f"{name!r} has the shape {shape}, and the file declares {type.shape}."
                        warn(UserWarning, "onnx", problem)
                        self._warned.add(name)
                    found[name] = shape
        return found

    def __repr__(self) -> str:
        return f"<onnx model {str(self._model.file)!r}: {', '.join(self.inputs)} -> {', '.join(self.outputs)}>"


def _shape(value: Any) -> Any:
    return tuple(static_shape(value)) if is_tensor(value) else np.shape(value)


def _is_known(value: Any) -> bool:
    return type(value) is not GraphTensor or constant_of(value) is not None


def _host(value: Any) -> Any:
    """A value that is known before the model runs: an array, a list of them, or None for an empty optional one."""
    if isinstance(value, (list, tuple)):
        return [_host(item) for item in value]
    if type(value) is GraphTensor:
        return constant_of(value)
    return None if value is None else np.asarray(value.numpy() if is_tensor(value) else value)


def _key(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(map(_key, value))
    if value is None:
        return None
    return value.dtype, value.shape, str(value.tolist()) if value.dtype.hasobject else value.tobytes()


class _Runnable:
    """A graph of a model, to be run; `results` are as in `Read`."""

    def __init__(self, graph: Graph, inputs: Sequence[str], results: Sequence[Any]) -> None:
        self._graph, self._inputs, self._results, self._run = graph, inputs, results, function(graph)

    def run(self, given: Mapping[str, Any]) -> list[Any]:
        numbers = [_taken(given[name], t.dtype) for name, t in zip(self._inputs, self._graph.inputs, strict=True)]
        found = self._run(*numbers) if self._graph.outputs else []
        tensors = list(found) if isinstance(found, (list, tuple)) else [found]
        return [_filled(value, tensors) for value in self._results]


def _resolved(read: Read, shapes: Mapping[str, Any], values: Mapping[str, Any]) -> tuple[_Runnable, set[str]]:
    """A copy of a graph for shapes and values of inputs, and the inputs whose values it needs, too."""
    graph = copy_graph(read.graph, own=True)
    inputs = dict(zip(read.inputs, graph.inputs, strict=True))
    graph.set_input_shapes({inputs[name]: shape for name, shape in shapes.items()})
    for name in values.keys() & inputs.keys():
        with graph.insert_before(graph.operations[0]):
            known = graph.constant(values[name].astype(inputs[name].dtype.numpy))
        rewire(graph, inputs[name], known)
    host = {name: of_host(value) for name, value in values.items() if name not in inputs}
    _, needed = resolve(graph, host)
    results = [_read_now(value, read, graph, host, needed) for value in read.results]
    names = {tensor: name for name, tensor in inputs.items()}
    return _Runnable(graph, read.inputs, results), {names[tensor] for tensor in needed if tensor in names}


def _read_now(value: Any, read: Read, graph: Graph, host: Mapping[str, Any], needed: set[Any]) -> Any:
    """A result that could not be read before; it is given back if too little is known, and what it needs is added."""
    if isinstance(value, list):
        return [_read_now(one, read, graph, host, needed) for one in value]
    if not isinstance(value, Unread):
        return value
    outputs = list(graph.outputs)
    known = {tensor: outputs[place] for tensor, place in value.places.items()}
    with graph.as_default():
        reader = read.reader.anew()
        try:
            found = result_of(reader, reader.filled(value.value, known, host, {}), outputs)
        except Waits:
            needed |= reader.needed
            return value.value
    graph.outputs = outputs
    return found


def _taken(value: Any, dtype: Any) -> Any:
    """A value in the dtype of an input, if Dovetail does not have its own."""
    if isinstance(value, np.ndarray) and value.dtype != dtype.numpy:
        return value.astype(dtype.numpy)
    return value


def _filled(value: Any, tensors: list[Any]) -> Any:
    if isinstance(value, list):
        return [_filled(item, tensors) for item in value]
    if isinstance(value, Foreign):
        raise op_error(NotImplementedError, "onnx", f"the result of {value.name!r} is not computed: {value.reason}.")
    if isinstance(value, Weight):
        return value.array
    if isinstance(value, Output):
        found = tensors[value.place]
        return found if value.make is None else value.make(found.numpy())
    return value


def load(model: str | os.PathLike[str] | bytes | Any) -> LoadedModel:
    """Load an ONNX model, opset 7 to 28.

    Nothing in the file is executed, and `onnx` is not needed.  A node that Dovetail cannot compute becomes an opaque
    operation of the graph: it can be looked at and cut away, and a run that needs it names it.

    Args:
        model: the path of a file, its bytes, an `onnx.ModelProto` or an `onnx_ir.Model`.  External data is looked for
            in the folder of the file alone.

    Returns:
        The model: `model(x)` runs it, `model.graph` can be edited, and `model.variables` are its weights.

    Raises:
        FileNotFoundError: there is no such file.
        FormatError: it is damaged, or its opset is not known.
        ImportError: the extra `formats` is not installed.
        TypeError: the argument is of another kind.

    Source: https://onnx.ai/onnx/repo-docs/IR.html.

    Example:
        >>> from dovetail.formats.wire.messages import ONNX
        >>> node = ONNX.NodeProto(op_type="Relu", input=["x"], output=["y"])
        >>> x, y = (ONNX.ValueInfoProto(name=name) for name in "xy")
        >>> x.type.tensor_type.elem_type = y.type.tensor_type.elem_type = 1
        >>> proto = ONNX.ModelProto(graph=ONNX.GraphProto(node=[node], input=[x], output=[y]))
        >>> proto.opset_import.add(version=18).domain
        ''
        >>> load(proto.SerializeToString())(np.array([-1.0, 2.0], "float32")).numpy()
        array([0., 2.], dtype=float32)
    """
    need("onnx.load")
    return LoadedModel(read_model(model))


__all__ = ["LoadedModel", "load"]
