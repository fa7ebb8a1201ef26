"""Calls of TensorFlow's ops as graphs: run there with their gradients, and read and run here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import dovetail as dt
from dovetail.formats.tensorflow.attributes import value_of
from dovetail.formats.tensorflow.saved_model import SavedGraph, Signature
from dovetail.formats.wire.messages import TENSORFLOW
from tests.formats.tensorflow.cases import Case, Static, Var
from tests.libraries import Library

tf = Library("tensorflow")
op_def_library = Library("tensorflow.python.framework.op_def_library")
op_def_registry = Library("tensorflow.python.framework.op_def_registry")
kernels = Library("tensorflow.python.framework.kernels")
framework_ops = Library("tensorflow.python.framework.ops")
SIGNS = ("Eig", "Qr", "SelfAdjointEigV2", "Svd")  # the signs of their factors are free
OTHERS = {  # types whose gradient TensorFlow defines in another way
    **dict.fromkeys(("ImageProjectiveTransformV2", "ImageProjectiveTransformV3"), "it transforms the gradient back"),
    **dict.fromkeys(("MatrixDiagV2", "MatrixDiagPartV2", "MatrixSetDiagV2"), "it aligns diagonals as V3 does"),
    "BlockLSTMV2": "it differs from finite differences of its own results",
}
RESULTS = {  # TensorFlow differentiates these results only
    **dict.fromkeys(("FusedBatchNorm", "SoftmaxCross", "SparseSoftmax"), (0,)),
    "BlockLSTM": (1, 6),
}


@dataclass
class Call:
    """A graph of TensorFlow with one node `y` for a case.

    Attributes:
        type: of the node.
        graph: the graph.
        names: of the placeholders, with their values in `values`.
        variables: their names, with their first values.
        fetches: names of the results, and of the variables' values after the node ran.
        gradients: names of the gradients by the placeholders of floats; None where there is none.
    """

    type: str
    graph: Any
    names: list[str] = field(default_factory=list)
    values: list[np.ndarray] = field(default_factory=list)
    variables: dict[str, np.ndarray] = field(default_factory=dict)
    fetches: list[str] = field(default_factory=list)
    gradients: list[str | None] | None = None

    @property
    def graph_def(self) -> Any:
        return self.graph.as_graph_def()

    def run(self, graph_def: Any = None) -> list[np.ndarray]:
        """The values of the results and the gradients in TensorFlow."""
        graph = self.graph
        if graph_def is not None:
            with tf.Graph().as_default() as graph:
                tf.import_graph_def(graph_def, name="")
        wanted = [*self.fetches, *([] if graph_def is not None else [n for n in self.gradients or () if n])]
        with tf.compat.v1.Session(graph=graph) as session:
            session.run([f"start_{name}" for name in self.variables])
            feeds = {f"{name}:0": value.copy() for name, value in zip(self.names, self.values, strict=True)}
            found = iter(session.run(wanted, feeds))
        return [next(found) for _ in wanted]

    def read(self) -> Any:
        """The node as a graph of Dovetail."""
        graph_def = TENSORFLOW.GraphDef.FromString(self.graph_def.SerializeToString())
        inputs = {name: f"{name}:0" for name in self.names}
        signature = Signature(inputs, {f"{n}": name for n, name in enumerate(self.fetches)})
        return SavedGraph(Path("a file"), graph_def, {"f": signature}, bundle=self.variables).read("f")


def called(case: Case, with_gradient: bool = False, unknown: bool = False) -> Call:
    """The call of a case.

    Args:
        case: the case.
        with_gradient: whether to add the gradient of the results, weighted, if TensorFlow has one.
        unknown: whether no dimension of the placeholders is known.
    """
    with tf.Graph().as_default() as graph:
        call = Call(case.type, graph)
        given = [
            [_input(call, one, unknown) for one in value] if isinstance(value, list) else _input(call, value, unknown)
            for value in case.inputs
        ]
        definition = op_def_registry.get(case.type)
        arguments = [argument.name for argument in definition.input_arg]
        for number, (argument, value) in enumerate(zip(definition.input_arg, given, strict=True)):
            if isinstance(value, Var):
                given[number] = _variable(call, value.array, argument.is_ref)
        attrs = {**defaults(definition), **case.attrs}
        if call.variables and "dtype" in {one.name for one in definition.attr} - {
            argument.type_attr for argument in definition.input_arg
        }:
            attrs["dtype"] = call.variables["v0"].dtype
        op_def_library.apply_op(case.type, name="y", **dict(zip(arguments, given, strict=True)), **attrs)
        node = graph.get_operation_by_name("y")
        call.fetches = [result.name for result in node.outputs if not result.dtype._is_ref_dtype]
        with tf.control_dependencies([node]):
            for name in call.variables:
                handle = graph.get_tensor_by_name(f"{name}:0")
                is_resource = handle.dtype == tf.resource
                dtype = call.variables[name].dtype
                read = tf.raw_ops.ReadVariableOp(resource=handle, dtype=dtype) if is_resource else tf.identity(handle)
                call.fetches.append(read.name)
        if with_gradient and not call.variables and case.type not in OTHERS and _has_gradient(node):
            xs = [graph.get_tensor_by_name(f"{name}:0") for name in call.names]
            floats = [x for x in xs if x.dtype.is_floating or x.dtype.is_complex]
            ys = differentiated(case.type, node.outputs)
            parts = [part for y in ys if y.dtype.is_floating or y.dtype.is_complex for part in _parts(y, case.type)]
            if floats and parts:
                call.gradients = _gradients(parts, floats)
    return call


def _gradients(ys: list[Any], xs: list[Any]) -> list[str | None] | None:
    try:
        found = tf.gradients(ys, xs, [tf.convert_to_tensor(_weights(y)) for y in ys])
    except (
        LookupError,
        TypeError,
        NotImplementedError,
    ):  # TensorFlow refuses to differentiate the node, or its function is wrong
        return None
    return [None if g is None else tf.convert_to_tensor(g).name for g in found]


def differentiated(type: str, ys: Sequence[Any]) -> Sequence[Any]:
    """The results of a node that TensorFlow differentiates."""
    numbers = next((numbers for prefix, numbers in RESULTS.items() if type.startswith(prefix)), range(len(ys)))
    return [ys[number] for number in numbers]


def _input(call: Call, value: Any, unknown: bool) -> Any:
    if isinstance(value, Static):
        return tf.constant(value.array)
    if isinstance(value, Var):
        return value
    value = np.asarray(value)
    call.names.append(f"x{len(call.names)}")
    call.values.append(value)
    shape = [None] * value.ndim if unknown else value.shape
    return tf.compat.v1.placeholder(value.dtype, shape, call.names[-1])


def _variable(call: Call, value: np.ndarray, is_reference: bool) -> Any:
    name = f"v{len(call.variables)}"
    call.variables[name] = value
    if is_reference:
        handle = tf.raw_ops.VariableV2(shape=value.shape, dtype=value.dtype, name=name, shared_name=name)
        tf.raw_ops.Assign(ref=handle, value=value, name=f"start_{name}")
        return handle
    handle = tf.raw_ops.VarHandleOp(dtype=value.dtype, shape=value.shape, name=name, shared_name=name)
    tf.raw_ops.AssignVariableOp(resource=handle, value=value, name=f"start_{name}")
    return handle


def defaults(definition: Any, of_inputs: bool = False) -> dict[str, Any]:
    """The defaults of the attributes of an op, of those that its inputs do not say."""
    said = set() if of_inputs else {argument.type_attr for argument in definition.input_arg}
    given = {
        one.name: one.default_value.SerializeToString() for one in definition.attr if one.HasField("default_value")
    }
    return {name: value_of(TENSORFLOW.AttrValue.FromString(data)) for name, data in given.items() if name not in said}


def _has_gradient(node: Any) -> bool:
    """Whether TensorFlow's registry has a gradient of a node."""
    try:
        return framework_ops.get_gradient_function(node) is not None
    except LookupError:
        return False


def _parts(y: Any, type: str) -> list[Any]:
    """The real parts of a result of TensorFlow."""
    parts = [tf.math.real(y), tf.math.imag(y)] if y.dtype.is_complex else [y]
    return [part * part if type in SIGNS else part for part in parts]


def _weights(y: Any) -> Any:
    """Another number for each element of a result of TensorFlow."""
    if y.shape.is_fully_defined():
        return np.cos(np.arange(y.shape.num_elements(), dtype="float32")).reshape(y.shape).astype(y.dtype.name)
    return tf.cast(tf.reshape(tf.cos(tf.cast(tf.range(tf.size(y)), "float32")), tf.shape(y)), y.dtype)


def loss_of(y: Any, type: str) -> Any:
    """The sum of a result of Dovetail, each element times its number."""
    ops = dt.ops
    numbers = np.cos(np.arange(np.prod(y.shape), dtype="float32")).reshape(y.shape)
    parts = [ops.real(y), ops.imag(y)] if y.dtype.is_complex else [y]
    parts = [part * part if type in SIGNS else part for part in parts]
    found = [ops.cast(ops.sum(part * numbers.astype(str(part.dtype))), "float64") for part in parts]
    return found[0] if len(found) == 1 else found[0] + found[1]


def computed(call: Call, engine: str = "numpy") -> list[np.ndarray]:
    """The values of the results and the gradients in Dovetail, which reads the node.

    Raises:
        AssertionError: the node is opaque.
    """
    made = call.read()
    assert made.opaque == {}
    with dt.engine(engine):
        xs = [dt.ops.convert(value) for value in call.values]
        floats = [x for x in xs if x.dtype.is_differentiable]
        with dt.GradientTape() as tape:
            tape.watch(floats)
            found = dt.function(made.graph)(*xs)
            ys = list(found) if isinstance(found, (list, tuple)) else [found]
            some = differentiated(call.type, ys)
            losses = [loss_of(y, call.type) for y in some if y.dtype.is_differentiable]
            loss = sum(losses[1:], losses[0]) if losses and call.gradients is not None else None
        results = [np.asarray(y.numpy()) for y in ys]
        if call.gradients is None or loss is None:
            return results
        gradients = tape.gradient(loss, floats)
    pairs = zip(call.gradients, gradients, floats, strict=True)
    return results + [np.zeros_like(x.numpy()) if g is None else np.asarray(g.numpy()) for name, g, x in pairs if name]


# -- other dtypes and shapes ------------------------------------------------------------------------------------------


def in_dtype(case: Case, dtype: str) -> Case | None:
    """The case with its floats in another dtype; None if no kernel of TensorFlow takes it."""
    definition = op_def_registry.get(case.type)
    pairs = list(zip(definition.input_arg, case.inputs, strict=True))
    names = {one.type_attr for one, value in pairs if dtype_of(value) == "float32"} - {"", *case.attrs}
    allowed = [one.allowed_values.list.type for one in definition.attr if {one.name} == names]
    if not allowed or "type" in case.attrs or not _has_kernel(case.type, *names, dtype):
        return None
    if allowed[0] and tf.as_dtype(dtype).as_datatype_enum not in allowed[0]:
        return None
    inputs = [_cast(value, dtype) if one.type_attr in names else value for one, value in pairs]
    return case._replace(inputs=tuple(inputs))


def dtype_of(value: Any) -> Any:
    """The dtype of an input, of the first one in a list."""
    return dtype_of(value[0]) if isinstance(value, (list, Static)) else np.asarray(value).dtype


def _cast(value: Any, dtype: str) -> Any:
    if isinstance(value, list):
        return [_cast(one, dtype) for one in value]
    return Static(value.array.astype(dtype)) if isinstance(value, Static) else np.asarray(value).astype(dtype)


def _has_kernel(type: str, attribute: str, dtype: str) -> bool:
    number = tf.as_dtype(dtype).as_datatype_enum
    for kernel in kernels.get_registered_kernels_for_op(type).kernel:
        allowed = [one.allowed_values.list.type for one in kernel.constraint if one.name == attribute]
        if kernel.device_type == "CPU" and all(number in types for types in allowed):
            return True
    return False


def emptied(case: Case) -> Case:
    """The case with no elements along the first axis of its placeholders."""

    def cut(value: Any) -> Any:
        if isinstance(value, list):
            return [cut(one) for one in value]
        return value if isinstance(value, Static) or not np.ndim(value) else value[:0]

    return case._replace(inputs=tuple(map(cut, case.inputs)))
