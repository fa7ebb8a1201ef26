"""Damaged and hostile models of ONNX: each is refused with its place, or read in bounds of time and memory."""

from __future__ import annotations

import pytest
from onnx.parser import parse_model

import dovetail as dt
from tests.formats.onnx.mutations import files, mutations

LARGE = 2**40


def test_changed_models_are_read_or_refused(tmp_path):
    found = mutations(600, 0, tmp_path)
    assert sum(found.values()) == 600
    for name in files(tmp_path):
        assert found[f"{name}: refused"] and found[f"{name}: read"], found


@pytest.mark.parametrize(
    "nodes",
    [
        "y = Range (zero, large, one)",
        "y = HannWindow (large)",
        "y = MelWeightMatrix (one, large, large, low, low)",
        "y = EyeLike (x)",
        "z, y = MaxPool <kernel_shape = [3, 3], ceil_mode = 1> (images)",
        "y = AffineGrid (theta, sizes)",
        'y = Pad <mode = "reflect"> (x, pads)',
        "s = SplitToSequence (x) y = ConcatFromSequence <axis = 0> (s)",
        'y = TfIdfVectorizer <min_gram_length = 1, max_gram_length = 1, max_skip_count = 0, mode = "TF", '
        f"ngram_counts = [0], ngram_indexes = [{LARGE}], pool_int64s = [1]> (pads)",
    ],
    ids=lambda nodes: nodes.partition("(")[0].partition("= ")[2].partition(" ")[0],
)
def test_a_few_bytes_do_not_ask_for_large_arrays_while_they_are_read(nodes):
    graph = f"""<ir_version: 8, opset_import: ["": 20]>
        large (float[{LARGE}, 4] x, float[1, 1, {LARGE}, 8] images, float[1, 2, 3] theta) => (float[k] y)
        <int64 zero = {{0}}, int64 one = {{1}}, int64 large = {{{LARGE}}}, float low = {{0}},
            int64[4] sizes = {{1, 1, {LARGE}, {LARGE}}}, int64[4] pads = {{{LARGE}, 0, 0, 0}}>
        {{ {nodes} }}"""
    reasons = " ".join(dt.onnx.load(parse_model(graph)).opaque.values())
    assert "while it is read" in reasons or "unrolled" in reasons, reasons
