"""The table of ONNX's ops beside the schemas: attributes, their defaults and the number of inputs, by version."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, defs, helper
from onnx.reference import ReferenceEvaluator

import dovetail as dt
from dovetail.core.base.table import OPS
from dovetail.formats.onnx import ops as ops  # it fills the tables
from dovetail.formats.onnx.table import BODIES, BY_VALUES, NEWEST, READ, SPECIAL, WRITE, row_of

UNREAD = {  # attributes that no row has → the reason
    "LinearAttention chunk_size": "it changes no result",
    "Split num_outputs": "the number of results says it",
    "ai.onnx.ml.OneHotEncoder cats_strings": "encoders.py reads it",
}
OTHERWISE = {  # attributes whose default has another form → the reason
    "Clip min": "no limit is the least number",
    "Clip max": "no limit is the largest number",
    "GridSample mode": "it has two names",
}
SHARED = {"moved", "same"}  # functions that several families use
OLDEST = 7
MISSING: Any = object()
HISTORY: dict[str, list[Any]] = {}
for one in sorted(defs.get_all_schemas_with_history(), key=lambda one: one.since_version):
    HISTORY.setdefault(f"{one.domain}.{one.name}".lstrip("."), []).append(one)


def versions(type: str) -> Iterator[tuple[int, Any]]:
    """The versions of a type that models have, with their schemas."""
    for schema, after in pairwise([*HISTORY[type], None]):
        last = NEWEST if after is None else after.since_version - 1
        if not schema.deprecated and (schema.domain or last >= OLDEST):
            yield max(schema.since_version, 1 if schema.domain else OLDEST), schema


def default_of(row: Any, attribute: Any) -> Any:
    """The value that a row gives for an attribute that is left out; `MISSING` if a function inside says it."""
    if attribute.only is not None or attribute.default is not None or not attribute.ours:
        return attribute.default if attribute.only is None else attribute.only
    if row.body is None:
        return next(one.default for one in OPS[row.ours].params if one.name == attribute.ours)
    parameter = inspect.signature(row.body).parameters.get(attribute.ours)
    return MISSING if parameter is None or parameter.default is parameter.empty else parameter.default


def is_same(default: Any, ours: Any) -> bool:
    if default is None or ours is MISSING:
        return True
    default = default.decode() if isinstance(default, bytes) else default
    if isinstance(default, (str, type(None))) or ours is None:
        return default == ours
    return np.allclose(default, ours, rtol=1e-6, atol=0)


@pytest.mark.parametrize("type", [one for one in READ if one in HISTORY])  # ONNX Runtime has the others
def test_rows_have_the_attributes_defaults_and_inputs_of_the_schemas(type: str):
    for version, schema in versions(type):
        left_out = {one.theirs: one.only for row in READ[type] for one in row.attributes if one.only is not None}
        said = {name: helper.get_attribute_value(one.default_value) for name, one in schema.attributes.items()}
        texts = {name: one.decode() if isinstance(one, bytes) else one for name, one in said.items()}
        row = row_of(type, version, {name: one for name, one in texts.items() if name in left_out and one is not None})
        if row is None:
            continue
        known = {one.theirs: one for one in row.attributes if one.theirs}
        unread = {f"{type} {name}" for name in schema.attributes.keys() - known.keys()}
        assert unread <= UNREAD.keys(), version
        for name in schema.attributes.keys() & known.keys():
            is_right = is_same(texts[name], default_of(row, known[name]))
            assert is_right or f"{type} {name}" in OTHERWISE, (version, name, texts[name])
        assert any(one.way == "*" for one in row.inputs) or schema.max_input <= len(row.inputs), version


@pytest.mark.parametrize("type", ["Adagrad", "Adam"])
def test_optimizers_have_the_epsilon_of_the_schema(type: str):
    names = ["rate", "step", "x", "gradient", *["mean"] * (type == "Adam"), "squares"]
    results = [f"{name}_new" for name in names[2:] if name != "gradient"]
    node = helper.make_node(type, names, results, domain="ai.onnx.preview.training")
    kinds = {"rate": (TensorProto.FLOAT, ()), "step": (TensorProto.INT64, ())}
    graph = helper.make_graph(
        [node],
        "g",
        [helper.make_tensor_value_info(name, *kinds.get(name, (TensorProto.FLOAT, (3,)))) for name in names],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, (3,)) for name in results],
    )
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid("ai.onnx.preview.training", 1)]
    message = helper.make_model(graph, opset_imports=opsets)
    given = {name: np.zeros(3, "float32") for name in names[2:]}
    given |= {"rate": np.float32(0.1), "step": np.int64(0), "gradient": np.array([0, 1e-6, 1], "float32")}
    given = {name: np.asarray(one) for name, one in given.items()}
    found, expected = dt.onnx.load(message)(**given), ReferenceEvaluator(message).run(None, given)
    for name, array in zip(results, expected, strict=True):
        np.testing.assert_allclose(found[name].numpy(), array, rtol=1e-4)


def test_a_family_has_all_that_reads_or_writes_a_type():
    read = {type: [row.body for row in rows if row.body] for type, rows in READ.items()}
    for table in (SPECIAL, BY_VALUES):
        for type, function in table.items():
            read.setdefault(type, []).append(function)
    written = {
        type: [one for table in (WRITE, BODIES) for _, one in table.get(type, ())] for type in {**WRITE, **BODIES}
    }
    for type, functions in [*read.items(), *written.items()]:
        own = [getattr(one, "func", one) for one in functions]
        families = {one.__module__ for one in own if ".onnx.ops." in one.__module__ and one.__name__ not in SHARED}
        assert len(families) <= 1, type
