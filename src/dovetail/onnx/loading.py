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
from dovetail.edit.graph import Graph
from dovetail.formats.onnx.model import Model, Output, Read, Type, read_model
from dovetail.formats.onnx.nodes import Foreign, Weight
from dovetail.formats.wire.libraries import need
from dovetail.plan.function import function

KEPT = 16  # graphs that a model keeps, for shapes and values that differ


class LoadedModel:
    """A model of ONNX; made by `load`.

    Some nodes need the values of inputs before the graph runs, as a `Reshape` to a shape that is an input.  Then a call
    reads the model for these values, and the graph is kept for the next call with them.

    Attributes:
        inputs, outputs: the names.
    """

    def __init__(self, model: Model) -> None:
        self._model = model
        self.inputs, self.outputs = list(model.inputs), list(model.outputs)
        self._general = _Runnable(model.read({}, {}))
        self._known: OrderedDict[Any, _Runnable] = OrderedDict()
        hosts = {name for name, type in model.inputs.items() if type.spec is None}  # no tensors of numbers
        self._values = {*self._general.read.needed, *hosts}  # inputs whose values must be known
        self._warned: set[str] = set()  # inputs whose shapes are not those that the file declares
        self._is_exact = bool(self._general.read.opaque)  # whether shapes must be known

    @property
    def graph(self) -> Graph:
        """The graph for inputs of all values; edits of it change the next call."""
        return self._general.read.graph

    @property
    def opaque(self) -> dict[str, str]:
        """Names of operations that Dovetail does not compute → the reason."""
        return self._general.read.opaque

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
        """The graph for some values, with which all nodes can be read if that is possible at all."""
        shapes = self._shapes(given)
        while True:
            values = {name: _host(given[name]) for name in sorted(self._values)}
            if not shapes and not values and not self._is_exact:
                return self._general
            if self._is_exact:
                shapes = {name: _shape(given[name]) for name in given if self._model.inputs[name].spec is not None}
            key = tuple(sorted(shapes.items())), tuple((name, _key(value)) for name, value in values.items())
            found = self._known.get(key)
            if found is None:
                found = self._known[key] = _Runnable(self._model.read(shapes, values))
                if len(self._known) > KEPT:
                    self._known.popitem(last=False)
            if found.read.needed <= self._values:
                return found
            self._values |= found.read.needed

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


def _host(value: Any) -> Any:
    """A value that is known while a model is read: an array, a list of them, or None for an empty optional one."""
    if isinstance(value, (list, tuple)):
        return [_host(item) for item in value]
    return None if value is None else np.asarray(value.numpy() if is_tensor(value) else value)


def _key(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(map(_key, value))
    if value is None:
        return None
    return value.dtype, value.shape, str(value.tolist()) if value.dtype.hasobject else value.tobytes()


class _Runnable:
    """A graph of a model, to be run."""

    def __init__(self, read: Read) -> None:
        self.read, self._run = read, function(read.graph)

    def run(self, given: Mapping[str, Any]) -> list[Any]:
        specs = {name: tensor.dtype for name, tensor in zip(self.read.inputs, self.read.graph.inputs, strict=True)}
        numbers = [_taken(given[name], dtype) for name, dtype in specs.items()]
        found = self._run(*numbers) if self.read.graph.outputs else []
        tensors = list(found) if isinstance(found, (list, tuple)) else [found]
        return [_filled(value, tensors) for value in self.read.results]


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
