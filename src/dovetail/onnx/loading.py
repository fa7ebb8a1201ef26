"""ONNX models, to be called, edited and trained; `onnx` is not needed."""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dovetail.core.base.errors import op_error, warn
from dovetail.core.values.shapes import fits
from dovetail.core.values.spec import TensorSpec
from dovetail.core.values.value_kinds import is_tensor, static_shape
from dovetail.core.values.variable import Variable
from dovetail.edit.graph import Graph, GraphTensor
from dovetail.edit.transplant import copy_graph
from dovetail.formats.nodes.constants import constant_of
from dovetail.formats.nodes.waiting import Waits
from dovetail.formats.onnx.declared import Type
from dovetail.formats.onnx.model import Model, Output, Read, Unread, of_host, read_model, result_of
from dovetail.formats.onnx.nodes import Foreign, Weight
from dovetail.formats.onnx.refreshing import as_it_stands
from dovetail.formats.onnx.tensors import number_of
from dovetail.formats.onnx.writing import IR_VERSIONS
from dovetail.formats.outside import read_by
from dovetail.formats.tensorflow.saved_model import read_of
from dovetail.formats.wire.libraries import need
from dovetail.functions.function import function
from dovetail.graph.pass_edits import rewire
from dovetail.passes.resolve import resolve, waits
from dovetail.saved_model.signatures import SERVING, OneSignature, Signature, given_shapes, renamed, variables_of

SHORT = 64  # bytes of a value that tells the graph of a call, if it is found quickly
MOST = 1 << 30  # bytes of a file that a library gets as it stands
KEPT = 16  # graphs that a model keeps, for shapes and values that differ


class LoadedModel(OneSignature):
    """A model of ONNX; made by `load`.

    Some nodes need shapes that the file does not say, or values of inputs, as a `Reshape` to a shape that is an input.
    They wait in the graph.  A call copies the graph, edited as it is, and puts their operations in their places; the
    copy is kept for the next call with these shapes and values.

    Attributes:
        outputs: the names of the results.
        opset: the version of ONNX's operators in the file.
        metadata: the texts of the file by their keys, `metadata_props`.
    """

    def __init__(self, model: Model) -> None:
        self._model = model
        self._inputs, self.outputs = list(model.inputs), list(model.outputs)
        self.opset = model.versions.get("", 1)
        self.metadata = {one.key: one.value for one in model.proto.metadata_props}
        self._names, self._types = list(model.inputs), list(model.outputs.values())  # in the file
        self._read = model.read({}, {})
        self._read.graph.file = self
        self._version = self._read.graph.version
        self._placeholders = dict(zip(self._read.inputs, self._read.graph.inputs, strict=True))
        self._known: OrderedDict[Any, _Runnable] = OrderedDict()
        self._others: dict[Any, Read] = {}
        self._looked_at: tuple[Any, bool] = None, False  # a state of a graph, and whether it waits
        hosts = {name for name, type in model.inputs.items() if type.spec is None}  # no tensors of numbers
        self._values = {*self._read.needed, *hosts}  # inputs whose values must be known
        self._warned: set[str] = set()  # inputs whose shapes differ from the declared ones
        self._latest: Any = None, None  # a call by arrays alone, and what runs calls like it

    @property
    def inputs(self) -> list[str]:
        """The names of the inputs, without the ones that `graph.prune(inputs=True)` removed."""
        gone = [name for name, tensor in self._placeholders.items() if tensor.op.is_removed]
        for name in gone:
            del self._placeholders[name], self._inputs[self._names.index(name)]
            self._names.remove(name)
            self._read.inputs.remove(name)
        return self._inputs

    @property
    def graph(self) -> Graph:
        """The graph for inputs of all values; edits of it change the next call."""
        return self._read.graph

    @property
    def opaque(self) -> dict[str, str]:
        """Names of operations that Dovetail does not compute → the reason."""
        return self._read.opaque

    @property
    def usable_opset(self) -> int:
        """The version of operators with which it is saved."""
        return max(min(IR_VERSIONS), self.opset)

    @property
    def is_unedited(self) -> bool:
        """Whether the graph, the inputs and the results are as the file has them."""
        named, model = (self.inputs, self.outputs), self._model
        is_same = named == (list(model.inputs), list(model.outputs)) and not model.has_shapes
        return is_same and self.graph.version == self._version

    def file(self, format: str) -> bytes | None:
        """The file with the values that the weights have now, for a library that computes such files.

        Args:
            format: of the file, "onnx".

        Returns:
            The bytes; None if the model was edited, takes or gives values that are no tensors of numbers, is of another
            format, or is larger than a GiB.
        """
        is_plain = self._read.inputs == self._names and self._read.results == list(
            map(Output, range(len(self.outputs)))
        )
        if format != "onnx" or not is_plain or not self.is_unedited or self._model.size > MOST:
            return None
        return as_it_stands(self._model, MOST)

    @property
    def ends(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """The inputs and the results by their names: tensors of the graph, or others: names in the file, and values."""
        inputs = {key: self._placeholders.get(name, name) for key, name in zip(self.inputs, self._names, strict=True)}
        tensors = self.graph.outputs
        return inputs, {
            key: _of_file(value, tensors) for key, value in zip(self.outputs, self._read.results, strict=True)
        }

    @property
    def signature(self) -> Signature:
        """The model as a signature over the same graph, as for a model of TensorFlow.

        Raises:
            ValueError: it takes or gives values that are no tensors of numbers.
        """
        if self._read.inputs != self._names or self._read.results != list(map(Output, range(len(self.outputs)))):
            values = {**self._model.inputs, **self._model.outputs}
            others = [repr(name) for name, type in values.items() if type.spec is None] or ["a result"]
            problem = f"{str(self._model.file)!r} takes or gives values that are no tensors of numbers"
            problem += f" ({', '.join(others)}); call the model, dt.onnx.load(path)(...), or keep other results."
            raise op_error(ValueError, "onnx", problem)
        is_edited = self.graph.version != self._version
        signature = Signature(SERVING, read_of(self.graph, list(self.inputs), list(self.outputs), self.opaque))
        self._version = self._version if is_edited else self.graph.version
        return signature

    @property
    def variables(self) -> list[Variable]:
        """The weights: floats with at least one axis."""
        own = variables_of(self.graph)
        hidden = self._model.variables.values() if waits(self.graph) else ()  # a node that waits may have some
        return list(dict.fromkeys([*own, *hidden]))

    @property
    def defaults(self) -> list[str]:
        """The names of inputs that have values in the file; a call may give others, by these names."""
        return list(self._model.defaults)

    @property
    def input_specs(self) -> dict[str, TensorSpec | None]:
        """The shape and the dtype of each input; None for one that is no tensor of numbers."""
        specs = {name: tensor.spec for name, tensor in zip(self._read.inputs, self.graph.inputs, strict=True)}
        return {key: specs.get(name) for key, name in zip(self.inputs, self._names, strict=True)}

    @property
    def output_types(self) -> dict[str, Type]:
        """The type of each output that the file declares."""
        return dict(zip(self.outputs, self._types, strict=True))

    def keep(self, *outputs: str) -> None:
        known = dict(zip(self.outputs, zip(self._read.results, self._types, strict=True), strict=True))
        tensors, kept = list(self.graph.outputs), list[Any]()
        try:
            kept_results = [known.get(key) or self.graph.get_tensor(key) for key in outputs]
        except KeyError as error:
            raise KeyError(f"there is no such result: {error.args[0]}; the results are {', '.join(known)}") from None
        pairs = [
            one if isinstance(one, tuple) else (one, Type("tensor", number_of(one.dtype), one.shape))
            for one in kept_results
        ]
        self._read.results = [_moved(value, tensors, kept) for value, _ in pairs]
        self.graph.outputs, self.outputs, self._types = kept, list(outputs), [type for _, type in pairs]

    def rename(self, inputs: Mapping[str, str] | None = None, outputs: Mapping[str, str] | None = None) -> None:
        name = str(self._model.file)
        new = renamed(name, self.inputs, inputs or {}, "inputs"), renamed(name, self.outputs, outputs or {}, "results")
        self._inputs, self.outputs = new

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The result, or a dict of several by their names.

        Args:
            args: values of the inputs, in the order of `inputs`.
            kwargs: values by their names.

        Raises:
            TypeError: an input is missing, given twice or not known.
            NotImplementedError: a result needs an opaque operation.
        """
        results = self.run([*args], kwargs)
        return results[0] if len(results) == 1 else dict(zip(self.outputs, results, strict=True))

    def run(self, args: Sequence[Any], kwargs: Mapping[str, Any] | None = None) -> list[Any]:
        """The results as a list, for values in the order of `inputs`, and others by their names."""
        call = None if kwargs else self._call(args)
        if call is not None and call == self._latest[0]:
            return self._latest[1].run(args)
        given = dict(zip(self.inputs, args, strict=False)) | dict(kwargs or {})
        twice = [key for key in kwargs or {} if key in self.inputs[: len(args)]]
        others = {key: given.pop(key) for key in self.defaults if key in given and key not in self.inputs}
        if len(args) > len(self.inputs) or twice or given.keys() != {*self.inputs}:
            needed = ", ".join(self.inputs) or "nothing"
            needed += f", and it may take {', '.join(self.defaults)}" if self.defaults else ""
            problem = f"it takes {needed}, not {len(args)} values and {', '.join(kwargs or {}) or 'no names'}."
            raise op_error(TypeError, "onnx", problem)
        known = {name: given[key] for key, name in zip(self.inputs, self._names, strict=True)} | others
        runnable = self._for(known, others)
        if call is not None and runnable.inputs == self._names:
            self._latest = self._call(args), runnable
        return runnable.run([known[name] for name in runnable.inputs])

    def _call(self, args: Sequence[Any]) -> Any:
        """What tells the graph for some arrays, as a key; None if there are others, or if that would take long."""
        if any(type(value) is not np.ndarray for value in args):
            return None
        names = self._names if self._values else ()
        needed = [value for name, value in zip(names, args, strict=False) if name in self._values]
        if any(value.nbytes > SHORT for value in needed):
            return None
        return self.graph.version, self.outputs, [value.shape for value in args], list(map(_key, needed))

    def _for(self, given: Mapping[str, Any], others: Mapping[str, Any]) -> _Runnable:
        """The graph for some values, in which no node waits if that is possible at all.

        Args:
            given: name in the file → value.
            others: those among them that the file has values for.
        """
        shapes, read = self._shapes(given), self._read
        fixed = {name: _host(value) for name, value in others.items() if name not in self._model.variables}
        if fixed or any(self._model.inputs[name].shape is not None for name in shapes):
            read = self._otherwise(shapes, fixed)
        swapped = {name: self._model.variables[name] for name in others if name not in fixed}
        if self._is_waiting(read):
            shapes = {name: _shape(given[name]) for name in read.inputs}
        while True:
            values = {name: _host(given[name]) for name in sorted(self._values) if _is_known(given[name])}
            known = tuple((name, _key(value)) for name, value in (fixed | values).items())
            key = read.graph.version, tuple(shapes.items()), known, tuple(self.outputs), tuple(swapped)
            runnable = self._known.get(key)
            if runnable is None and not (shapes or values or swapped):
                runnable = self._known[key] = _Runnable(read.graph, read.inputs, read.results)
            elif runnable is None:
                specs = {name: TensorSpec(_shape(given[name]), variable.dtype) for name, variable in swapped.items()}
                with self._model.reading():
                    runnable, needed = _resolved(read, shapes, values, specs, swapped)
                if not needed <= self._values:
                    self._values |= needed
                    continue
                self._known[key] = runnable
            if len(self._known) > KEPT:
                self._known.popitem(last=False)
            return runnable

    def _is_waiting(self, read: Read) -> bool:
        """Whether a call must resolve nodes; looking at a large graph takes longer than a short call."""
        state = id(read), read.graph.version, len(read.graph)
        if self._looked_at[0] != state:
            is_waiting = waits(read.graph) or any(isinstance(value, Unread) for value in read.results)
            self._looked_at = state, is_waiting
        return self._looked_at[1]

    def _otherwise(self, shapes: Mapping[str, Any], values: Mapping[str, Any]) -> Read:
        """The model, read for shapes that the file does not declare, or for other values than its own.

        Raises:
            ValueError: the graph was edited.
        """
        if self.graph.version != self._version:
            problem = f"the graph was edited for what the file says of {', '.join({**shapes, **values})}"
            advice = f"load the model with shapes={dict(shapes)}, then edit it"
            advice = advice if shapes else "give them to a model that is not edited, or write them into the file"
            raise op_error(ValueError, "onnx", f"{problem}: {advice}.")
        key = tuple(shapes.items()), tuple((name, _key(value)) for name, value in values.items())
        if key not in self._others:
            self._others = {key: self._model.read(shapes, values)}
        return self._others[key]

    def _shapes(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """The shapes of inputs that the file does not declare, or declares otherwise."""
        shapes = {}
        for name, type in self._model.inputs.items():
            if name in given and type.spec is not None and (shape := _shape(given[name])) != type.shape:
                if type.shape is None:
                    shapes[name] = (None,) * len(shape)
                elif not fits(shape, type.shape):
                    if name not in self._warned:
                        problem = f"{name!r} has the shape {shape}, and the file declares {type.shape}."
                        warn(UserWarning, "onnx", problem)
                        self._warned.add(name)
                    shapes[name] = shape
        return shapes

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
        self.inputs = list(inputs)
        self._dtypes = [tensor.dtype for tensor in graph.inputs]
        self._graph, self._results, self._run = graph, results, function(graph)

    def run(self, given: Sequence[Any]) -> list[Any]:
        numbers = [_taken(value, dtype) for value, dtype in zip(given, self._dtypes, strict=True)]
        outputs = self._run(*numbers) if self._graph.outputs else []
        tensors = list(outputs) if isinstance(outputs, (list, tuple)) else [outputs]
        return [_filled(value, tensors) for value in self._results]


def _resolved(
    read: Read, shapes: Mapping[str, Any], values: Mapping[str, Any], specs: Mapping[str, TensorSpec], swapped: Any
) -> tuple[_Runnable, set[str]]:
    """A copy of a graph for shapes and values of inputs, and the inputs whose values it needs, too.

    Args:
        read: the graph.
        shapes, values: by the names of inputs.
        specs, swapped: specs and variables by the names of further inputs.
    """
    graph = copy_graph(read.graph, own=True)
    inputs = dict(zip(read.inputs, graph.inputs, strict=True))
    graph.set_input_shapes({inputs[name]: shape for name, shape in shapes.items()})
    for name in values.keys() & inputs.keys():
        with graph.insert_before(graph.operations[0]):
            known = graph.constant(values[name].astype(inputs[name].dtype.numpy))
        rewire(graph, inputs[name], known)
    for name, spec in specs.items():
        with graph.insert_before(graph.operations[0]):
            fed = graph.placeholder(spec, name)
        for operation in graph.find("ReadVariableOp"):
            if operation.attrs["variable"] is swapped[name]:
                rewire(graph, operation.outputs[0], fed)
    host = {name: of_host(value) for name, value in values.items() if name not in inputs}
    graph.file = None if specs or host else read.graph.file
    _, needed = resolve(graph, host)
    results = [_read_now(value, read, graph, host, needed) for value in read.results]
    names = {tensor: name for name, tensor in inputs.items()}
    return _Runnable(graph, [*read.inputs, *specs], results), {names[tensor] for tensor in needed if tensor in names}


def _moved(value: Any, tensors: Sequence[Any], kept: list[Any]) -> Any:
    """A result, or a tensor, whose places are those among the tensors that are kept; these are added."""
    if isinstance(value, list):
        return [_moved(one, tensors, kept) for one in value]
    if isinstance(value, Unread):
        places = dict(zip(value.places, range(len(kept), len(kept) + len(value.places)), strict=True))
        kept += [tensors[place] for place in value.places.values()]
        return value._replace(places=places)
    if isinstance(value, (Output, GraphTensor)):
        kept.append(tensors[value.place] if isinstance(value, Output) else value)
        return Output(len(kept) - 1, getattr(value, "make", None))
    return value


def _of_file(value: Any, tensors: Sequence[Any]) -> Any:
    """A result as its nodes gave it: a tensor of the graph, a list of them, or another value."""
    if isinstance(value, list):
        return [_of_file(one, tensors) for one in value]
    if isinstance(value, Output):
        return tensors[value.place]
    return value.value if isinstance(value, Unread) else value


def _read_now(value: Any, read: Read, graph: Graph, host: Mapping[str, Any], needed: set[Any]) -> Any:
    """A result that could not be read before, or the same one, and its needs noted, if too little is known."""
    if isinstance(value, list):
        return [_read_now(one, read, graph, host, needed) for one in value]
    if not isinstance(value, Unread):
        return value
    outputs = list(graph.outputs)
    known = {tensor: outputs[place] for tensor, place in value.places.items()}
    with graph.as_default():
        reader = read.reader.anew()
        try:
            value_now = result_of(reader, reader.filled(value.value, known, host, {}), outputs)
        except Waits:
            value_now = value.value
    if isinstance(value_now, Foreign):
        needed |= reader.needed
        return value_now
    graph.outputs = outputs
    return value_now


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
        tensor = tensors[value.place]
        return tensor if value.make is None else value.make(tensor.numpy())
    return value


@read_by("dt.onnx.load")
def load(
    model: str | os.PathLike[str] | bytes | Any, shapes: Mapping[str, Sequence[int | None]] | None = None
) -> LoadedModel:
    """Load an ONNX model, opset 7 to 28.

    Nothing in the file is executed, and `onnx` is not needed.  A node that Dovetail cannot compute becomes an opaque
    operation of the graph: it can be looked at and cut away, and a run that needs it names it.

    Args:
        model: the path of a file, its bytes, an `onnx.ModelProto` or an `onnx_ir.Model`.  External data is looked for
            in the folder of the file alone.
        shapes: names of inputs → their shapes, in place of the shapes in the file.

    Returns:
        The model: `model(x)` runs it, `model.graph` can be edited, and `model.variables` are its weights.

    Raises:
        FileNotFoundError: there is no such file.
        FormatError: it is damaged, or its opset is not known.
        ImportError: the extra `formats` is not installed.
        KeyError: there is no input of a name among `shapes`.
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
    read = read_model(model)
    read.has_shapes = bool(shapes)
    for name, shape in given_shapes(shapes or {}, read.inputs).items():
        read.inputs[name] = read.inputs[name]._replace(shape=shape)
    return LoadedModel(read)


__all__ = ["LoadedModel", "load"]
