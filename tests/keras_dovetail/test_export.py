"""Models that Dovetail exports as SavedModels: TensorFlow computes the same, and trains them."""

from __future__ import annotations

from tests.keras_backends import told
from tests.libraries import require

for library in ("keras", "tensorflow"):
    require(library, "it loads the models")
MODULE = "tests.keras_dovetail.export_checks"


def test_tensorflow_runs_exported_models(tmp_path):
    problems = {
        **told(MODULE, "dovetail", str(tmp_path), "save"),
        **told(MODULE, "tensorflow", str(tmp_path), "load"),
    }
    assert len(problems) == 10
    assert not any(problems.values()), "\n".join(f"{name}: {text}" for name, text in problems.items() if text)
