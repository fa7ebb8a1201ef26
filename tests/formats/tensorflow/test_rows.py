"""Every row and special node against TensorFlow, by value; rows that are written, also back in TensorFlow."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dovetail as dt
from dovetail import saved_model  # it declares the special nodes
from dovetail.core.table import OPS
from dovetail.formats.tensorflow.attributes import value_of
from dovetail.formats.tensorflow.bodies.layers import batch_norm
from dovetail.formats.tensorflow.reading import SPECIAL
from dovetail.formats.tensorflow.rows import NAMES, READ, WRITTEN
from dovetail.formats.tensorflow.saved_model import SavedGraph, Signature
from dovetail.formats.tensorflow.writing import Writer
from dovetail.formats.wire.messages import TENSORFLOW
from tests.formats.tensorflow.cases import CASES, Case, Static
from tests.libraries import Library, require

require("tensorflow", "rows are compared with it")
tf = Library("tensorflow")
op_def_library = Library("tensorflow.python.framework.op_def_library")
op_def_registry = Library("tensorflow.python.framework.op_def_registry")
assert saved_model
ELSEWHERE = {  # types that models have, or that give no values; test_models.py runs them
    *["Const", "ConstV2", "HostConst", "NoOp", "ControlTrigger", "IdentityN", "RefIdentity", "Assert", "AccumulateNV2"],
    *(name for name in SPECIAL if name.startswith(("TensorList", "TensorArray", "EmptyTensorList"))),
    *(row.type for row in READ.values() if any(one.way in "&^" for one in row.inputs if one.way)),
    *["VarHandleOp", "Variable", "VariableV2", "PartitionedCall", "StatefulPartitionedCall"],
    *["If", "StatelessIf", "Case", "StatelessCase", "While", "StatelessWhile", "Merge", "RefMerge", "Exit", "RefExit"],
}
SIGNS = ("Qr", "SelfAdjointEigV2")  # the signs of their factors are free


def arrays(case: Case) -> list[np.ndarray]:
    """The values of the placeholders of a case."""
    flat = [one for value in case.inputs for one in (value if isinstance(value, list) else [value])]
    return [np.asarray(value) for value in flat if not isinstance(value, Static)]


def placeholder(value: Any, names: list[str]) -> Any:
    if isinstance(value, Static):
        return tf.constant(value.array)
    value = np.asarray(value)
    names.append(f"x{len(names)}")
    return tf.compat.v1.placeholder(value.dtype, value.shape, names[-1])


def defaults(definition: Any) -> dict[str, Any]:
    """The defaults of the attributes of an op that its inputs do not say."""
    said = {argument.type_attr for argument in definition.input_arg}
    given = {
        one.name: one.default_value.SerializeToString() for one in definition.attr if one.HasField("default_value")
    }
    return {name: value_of(TENSORFLOW.AttrValue.FromString(data)) for name, data in given.items() if name not in said}


def in_tensorflow(case: Case) -> tuple[Any, list[str], int]:
    """A graph of TensorFlow with the call, named `y`, the names of its placeholders, and the number of its results."""
    names: list[str] = []
    with tf.Graph().as_default() as graph:
        given = [
            [placeholder(one, names) for one in value] if isinstance(value, list) else placeholder(value, names)
            for value in case.inputs
        ]
        definition = op_def_registry.get(case.type)
        arguments = [argument.name for argument in definition.input_arg]
        attrs = {**defaults(definition), **case.attrs}
        op_def_library.apply_op(case.type, name="y", **dict(zip(arguments, given, strict=True)), **attrs)
        count = len(graph.get_operation_by_name("y").outputs)
    return graph.as_graph_def(), names, count


def run_tensorflow(graph_def: Any, names: list[str], count: int, values: list[np.ndarray]) -> list[np.ndarray]:
    with tf.Graph().as_default() as graph:
        tf.import_graph_def(graph_def, name="")
        with tf.compat.v1.Session(graph=graph) as session:
            feeds = {f"{name}:0": value for name, value in zip(names, values, strict=True)}
            return session.run([f"y:{number}" for number in range(count)], feeds)


def read(data: bytes, names: list[str], count: int) -> Any:
    graph_def = TENSORFLOW.GraphDef.FromString(data)
    outputs = {f"y{number}": f"y:{number}" for number in range(count)}
    return SavedGraph(Path("a file"), graph_def, {"f": Signature({n: f"{n}:0" for n in names}, outputs)}).read("f")


def check(found: list[np.ndarray], expected: list[np.ndarray]) -> None:
    for ours, theirs in zip(found, expected, strict=True):
        assert ours.dtype == theirs.dtype
        np.testing.assert_allclose(ours, theirs, rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_node_computes_what_tensorflow_computes(case: Case):
    graph_def, names, count = in_tensorflow(case)
    values = arrays(case)
    expected = run_tensorflow(graph_def, names, count, values)
    if case.type in SIGNS:
        expected = [np.abs(value) for value in expected]
    made = read(graph_def.SerializeToString(), names, count)
    assert made.opaque == {}
    with dt.engine("numpy"):
        found = dt.function(made.graph)(*values)
    found = [np.asarray(t.numpy()) for t in (found if isinstance(found, (list, tuple)) else [found])]
    if case.type in SIGNS:
        found = [np.abs(value) for value in found]
    check(found, expected)
    back = written(made.graph, case)
    if back is not None:
        definition = tf.compat.v1.GraphDef.FromString(back.SerializeToString())
        again = run_tensorflow(definition, names, count, values)
        check([np.abs(value) for value in again] if case.type in SIGNS else again, expected)


def written(graph: Any, case: Case) -> Any:
    """The graph in TensorFlow's words, if rows say all its operations; None else."""
    row = READ.get(case.type)
    if row is None or not row.is_written:
        return None
    return TENSORFLOW.GraphDef(node=Writer().nodes(graph))


def test_every_row_and_every_special_node_has_a_case():
    tested = {case.type for case in CASES}
    assert sorted(READ.keys() - tested - ELSEWHERE) == []
    assert sorted(SPECIAL.keys() - tested - ELSEWHERE) == []


def test_rows_name_parameters_and_inputs_that_exist():
    for row in READ.values():
        definition = op_def_registry.get(row.type)
        parameters = OPS[row.ours].positions if row.body is None else parameters_of(row.body)
        assert len(definition.input_arg) == len(row.inputs), row
        for argument, one in zip(definition.input_arg, row.inputs, strict=True):
            assert one.param in parameters, row
            assert argument.type_attr == one.dtype, row
        named = {one.dtype for one in row.inputs} | {attribute.theirs for attribute in row.attributes}
        others = {attribute.name for attribute in definition.attr} - named
        assert others <= {"N", "use_cudnn_on_gpu", "explicit_paddings", "dtype"}, row
        assert all(attribute.ours in parameters for attribute in row.attributes if attribute.ours), row


def parameters_of(body: Any) -> list[str]:
    """The parameters of the function of a row; with keywords of another row's function, also those."""
    found = inspect.signature(body).parameters
    return [*found, *(inspect.signature(batch_norm).parameters if "others" in found else ())]


def test_the_results_of_functions_have_tensorflows_names():
    for name, outputs in NAMES.items():
        assert [output.name for output in op_def_registry.get(name).output_arg] == outputs


def test_most_rows_are_read_in_both_directions():
    assert len(WRITTEN) > 0.85 * sum(row.body is None for row in READ.values())


def test_few_types_need_the_nodes_around_them():
    assert len(SPECIAL) < 0.25 * len(SPECIAL.keys() | READ.keys())
