"""Every row and special node against TensorFlow, by value; rows that are written, also back in TensorFlow."""

from __future__ import annotations

import inspect
import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dovetail.core.base.table import OPS
from dovetail.formats.nodes.rows import Input
from dovetail.formats.tensorflow.host import HOST
from dovetail.formats.tensorflow.host.functions import FUNCTIONS
from dovetail.formats.tensorflow.ops import READ, SPECIAL, WRITTEN
from dovetail.formats.tensorflow.table import NO_ROW, OF_FILES
from dovetail.formats.tensorflow.unread import UNREAD
from dovetail.formats.tensorflow.writing import Writer
from dovetail.formats.wire.messages import TENSORFLOW
from tests.formats.tensorflow.calling import SIGNS, called, computed, emptied, in_dtype, op_def_registry, tf
from tests.formats.tensorflow.cases import CASES, UNUSUAL, Case, Var
from tests.formats.tensorflow.tf2onnx_types import TYPES
from tests.libraries import require

require("tensorflow", "rows are compared with it")
RANDOM = (
    "Multinomial",
    "StatelessMultinomial",
    "TruncatedNormal",
    "StatelessTruncatedNormal",
    "StatelessTruncatedNormalV2",
    "StatelessShuffle",
    "RngReadAndSkip",
)
ELSEWHERE = {  # types that models have, or that give no values; test_models.py runs them
    *["Const", "ConstV2", "HostConst", "NoOp", "ControlTrigger", "IdentityN", "RefIdentity", "Assert", "AccumulateNV2"],
    "Print",
    "PreventGradient",  # its gradient is refused, which tests/compat/tensorflow/test_saved_models.py checks
    *(
        name
        for name in (*SPECIAL, *READ)
        if name.startswith(("TensorList", "TensorArray", "EmptyTensorList", "Optional"))
    ),
    *["RaggedTensorToVariant", "RaggedTensorFromVariant"],
    *(name for name in READ if "Random" in name or name in RANDOM or name.startswith("Cudnn")),  # have their own tests
    *["VarHandleOp", "Variable", "VariableV2", "PartitionedCall", "StatefulPartitionedCall"],
    *["FFTND", "IFFTND", "RFFTND", "IRFFTND"],  # TensorFlow has no kernels of these for CPUs; NumPy is the oracle
    *["If", "StatelessIf", "Case", "StatelessCase", "While", "StatelessWhile", "Merge", "RefMerge", "Exit", "RefExit"],
    *["StackV2", "StackPushV2", "StackPopV2"],  # of gradients of loops
}


def check(found: list[np.ndarray], expected: list[np.ndarray], signs: bool, tolerance: float = 2e-5) -> None:
    for ours, theirs in zip(found, expected, strict=True):
        assert ours.dtype == theirs.dtype
        ours, theirs = (np.abs(one) if signs else one for one in (ours, theirs))
        np.testing.assert_allclose(ours, theirs, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_node_and_its_gradient_compute_what_tensorflow_computes(case: Case):
    call = called(case, with_gradient=True)
    expected, results, signs = call.run(), len(call.fetches), case.type in SIGNS
    found = computed(call)
    check(found[:results], expected[:results], signs)
    gradients = [
        [by + by.swapaxes(-1, -2) if case.type == "Cholesky" else by for by in one[results:]]
        for one in (found, expected)
    ]  # its input is symmetric, and TensorFlow's gradient, too
    check(*gradients, signs=False, tolerance=2e-4)
    back = written(call.read().graph, case)
    if back is not None:
        check(call.run(tf.compat.v1.GraphDef.FromString(back.SerializeToString())), expected[:results], signs)


@pytest.mark.parametrize("case", UNUSUAL, ids=str)
def test_nan_and_equal_elements_give_tensorflows_results_on_each_engine(case: Case, engine: str):
    call = called(case)
    check(computed(call, engine), call.run(), signs=False)


FIRST = {case.type: case for case in reversed(CASES) if not any(isinstance(one, Var) for one in case.inputs)}


KNOWN = (  # types whose shapes must be known
    *("MatrixDiagV", "MatrixSetDiagV", "ApproxTopK"),  # in TensorFlow
    *("Dilation2D", "CombinedNonMaxSuppression", "CropAndResizeGrad"),  # windows, classes and crops, here
)
FULL = (  # types that are not computed of empty tensors
    *("AvgPool", "DepthwiseConv2dNativeBackpropInput", "Conv3DBackpropInput"),  # another input says their shape
    *("SparseSegment", "ResizeNearestNeighborGrad"),  # TensorFlow leaves the result as the memory was
    *("FFT2D", "IFFT2D"),  # a transform of no elements is refused here
    *("Conv2D", "Dilation2D"),  # the kernel would have no elements
    "Mean",  # of no integers, TensorFlow's is 0 and ours the integer for NaN
)


@pytest.mark.parametrize("case", FIRST.values(), ids=str)
def test_a_node_computes_what_tensorflow_computes_of_other_dtypes_and_shapes(case: Case):
    half, whole = (in_dtype(case, dtype) for dtype in ("float16", "int32"))
    call = called(half or whole or case, unknown=not case.type.startswith(KNOWN))
    check(computed(call), call.run(), case.type in SIGNS, 2e-2 if half else 2e-5)
    if case.type.startswith(FULL):
        return
    try:
        call = called(emptied(whole or case))
        expected = call.run()
    except (tf.errors.OpError, ValueError):  # TensorFlow refuses an empty tensor
        return
    check(computed(call), expected, case.type in SIGNS)


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
            assert (one.way == "*") == bool(argument.number_attr), row
        named = {attribute.theirs for attribute in row.attributes} - {""}
        known = {attribute.name for attribute in definition.attr}
        said = {name for one in definition.input_arg for name in (one.type_attr, one.number_attr)}
        assert named <= known, row
        assert known - said - named <= {"use_cudnn_on_gpu", "explicit_paddings", "dtype"}, row
        assert all(attribute.ours in parameters for attribute in row.attributes if attribute.ours), row


def test_each_type_has_a_row_a_function_of_arrays_or_one_reason_for_none():
    without = {*SPECIAL, *HOST} - {*READ, *FUNCTIONS}
    assert sorted(without ^ {*NO_ROW}) == []
    assert {*NO_ROW} > OF_FILES


def test_functions_of_the_host_have_tensorflows_inputs_and_attributes():
    for name, function in FUNCTIONS.items():
        definition, given = op_def_registry.get(name), inspect.signature(function).parameters.values()
        places = [one for one in given if one.kind is one.POSITIONAL_OR_KEYWORD]
        by_name = [one for one in given if one.kind is one.KEYWORD_ONLY]
        takes_any, count = any(one.kind is one.VAR_POSITIONAL for one in given), len(definition.input_arg)
        assert takes_any or len(places) >= count, name
        needed = {one.name for one in (*places[count:], *by_name) if one.default is one.empty}
        assert needed <= {one.name for one in definition.attr}, name


def parameters_of(body: Any) -> set[str]:
    """The parameters of the function of a row; with `**`, also all that rows name."""
    found = inspect.signature(body).parameters
    takes_others = any(one.kind == one.VAR_KEYWORD for one in found.values())
    named = {name for row in READ.values() for one in (*row.inputs, *row.attributes) for name in names_of(one)}
    return {*found, *(named if takes_others else ())}


def names_of(part: Any) -> tuple[str, ...]:
    return (part.param,) if isinstance(part, Input) else (part.ours,)


def test_the_types_that_tf2onnx_converts_are_read_or_have_a_reason():
    read = {*READ, *SPECIAL, *HOST, "Placeholder", "PlaceholderV2"}  # the last two are inputs
    left = [name for name in TYPES if name not in read and name not in UNREAD]
    assert [name for name in left if op_def_registry.get(name) is not None] == []
    made_there = {"Conv1D", "DepthwiseConv2d", "Dropout", "Flatten", "HardSwish", "L2Normalization", "Loop", "Prelu"}
    made_there |= {"RandomNormal", "RandomNormalLike", "RandomUniformLike", "Scan", "SquaredDistance"}
    assert {*left} == made_there  # tf2onnx makes these of others
    assert sorted(UNREAD.keys() & read) == []


def test_the_page_of_types_is_what_its_script_writes():
    script = runpy.run_path(str(Path(__file__).parents[3] / "docs/tf_types.py"))
    assert script["PAGE"].read_text(encoding="utf-8") == script["page"]()


def test_most_rows_are_read_in_both_directions():
    assert len(WRITTEN) > 0.85 * sum(row.body is None for row in READ.values())


def test_few_types_need_the_nodes_around_them():
    assert len(SPECIAL) < 0.25 * len(SPECIAL.keys() | READ.keys())
