"""Nodes of strings: ours and ONNX Runtime's results of the same models."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.formats.onnx.running import onnx, session_of
from tests.libraries import require

require("onnx", "models are made by it")
require("onnxruntime", "results are compared with its")

WORDS = ["a b,c", " x  y ", "", "tab\there\xa0too", ",,p,,q,", "one"]


def model(type: str, domain: str, version: int, outputs: list[str], **attributes: Any) -> bytes:
    """A model of one node of a vector of strings."""
    kinds = {"S": onnx.TensorProto.STRING, "I": onnx.TensorProto.INT64, "B": onnx.TensorProto.BOOL}
    make = onnx.helper.make_tensor_value_info
    results = [make(f"y{number}", kinds[kind], None) for number, kind in enumerate(outputs)]
    node = onnx.helper.make_node(type, ["x"], [one.name for one in results], domain=domain, **attributes)
    graph = onnx.helper.make_graph([node], "strings", [make("x", kinds["S"], [None])], results)
    imports = [onnx.helper.make_opsetid("", 20), *([onnx.helper.make_opsetid(domain, version)] if domain else [])]
    return onnx.helper.make_model(graph, opset_imports=imports, ir_version=9).SerializeToString()


CASES = {
    "between spaces": ("StringSplit", "", 20, "SI", {}),
    "two parts between spaces": ("StringSplit", "", 20, "SI", {"maxsplit": 1}),
    "between commas": ("StringSplit", "", 20, "SI", {"delimiter": ","}),
    "few parts between commas": ("StringSplit", "", 20, "SI", {"delimiter": ",", "maxsplit": 2}),
    "a pattern": ("RegexFullMatch", "", 20, "B", {"pattern": r"\w*|.* .*"}),
    "numbers of words": (
        *("LabelEncoder", "ai.onnx.ml", 2, "I"),
        {"keys_strings": ["one", ""], "values_int64s": [7, 8], "default_int64": -2},
    ),
    "words of words": (
        *("LabelEncoder", "ai.onnx.ml", 2, "S"),
        {"keys_strings": ["one", ""], "values_strings": ["eins", "nichts"]},
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_nodes_of_strings_compute_what_onnx_runtime_computes(name: str):
    from dovetail.interop import onnx_backend

    type, domain, version, outputs, attributes = CASES[name]
    written, words = model(type, domain, version, list(outputs), **attributes), np.array(WORDS, object)
    found = onnx_backend.run_model(onnx.load_from_string(written), [words])
    for ours, theirs in zip(found, session_of(written).run(None, {"x": words}), strict=True):
        assert np.asarray(ours).tolist() == theirs.tolist()
