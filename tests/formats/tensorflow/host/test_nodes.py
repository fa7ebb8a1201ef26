"""Every host node against TensorFlow, by value; tables, variants and loops in graphs of TensorFlow."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dovetail import saved_model
from dovetail.formats.tensorflow.host import HOST
from dovetail.formats.tensorflow.table import SHAPES
from dovetail.functions.function import function
from tests.formats.tensorflow.calling import Call, called, op_def_registry
from tests.formats.tensorflow.cases import Case
from tests.formats.tensorflow.host.cases import CASES
from tests.libraries import require

require("tensorflow", "host nodes are compared with it")

assert saved_model  # it declares the nodes
ELSEWHERE = {  # types that the graphs below have, or test_models.py
    *[
        "Const",
        "ConstV2",
        "HostConst",
        "OptionalFromValue",
        "OptionalNone",
        "RestoreV2",
        "ReadVariableOp",
        "AssignVariableOp",
    ],
    *["DecodePng", "DecodeJpeg", "DecodeBmp", "DecodeImage", "EncodePng", "EncodeJpeg"],
    *["RaggedTensorToVariant", "RaggedTensorFromVariant"],
    *(name for name in HOST if "Table" in name),
}


def check(found: list[Any], expected: list[Any]) -> None:
    assert len(found) == len(expected)
    for ours, theirs in zip(found, expected, strict=True):
        ours, theirs = (np.asarray(value, object if isinstance(value, bytes) else None) for value in (ours, theirs))
        assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape)
        if ours.dtype == object:
            assert ours.tolist() == theirs.tolist()
        else:
            np.testing.assert_allclose(ours, theirs, rtol=1e-6)


def computed(call: Call) -> list[Any]:
    made = call.read()
    return made.program.run(function(made.graph), call.values)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_node_computes_what_tensorflow_computes(case: Case):
    call = called(case)
    check(computed(call), call.run())


def test_every_host_node_has_a_case():
    assert sorted(HOST.keys() - {case.type for case in CASES} - ELSEWHERE) == []


def test_the_table_of_shapes_has_all_results_of_its_types():
    for name, shapes in SHAPES.items():
        assert len(op_def_registry.get(name).output_arg) == len(shapes), name
