"""Models on Dovetail that leave as ONNX files: ONNX Runtime computes the same."""

from __future__ import annotations

from tests.keras_backends import told
from tests.libraries import require

for library in ("keras", "onnx", "onnxruntime"):
    require(library, "it runs the models")


def test_onnx_runtime_runs_exported_models(tmp_path):
    problems = told("tests.keras_dovetail.onnx_checks", "dovetail", str(tmp_path))
    assert len(problems) > 130
    assert not any(problems.values()), "\n".join(f"{name}: {text}" for name, text in problems.items() if text)
