"""Files of Keras 1, 2 and 3 on Dovetail: each check runs in a process where Keras runs on it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests import foreign, keras_backends
from tests.keras_backends import told
from tests.libraries import checks_of, require

require("keras", "it makes the models")
CHECKS = "tests.keras_dovetail.files_checks"
MODELS = Path(__file__).parents[1] / "formats" / "keras" / "models"
WITH_OWN = "dovetail.interop.keras_files"  # has the functions that Keras 3 lacks, such as hard_sigmoid of Keras 2
WRITTEN = {  # a file of Keras 2, which Dovetail writes again → the import that Keras 3 needs before it reads it
    **dict.fromkeys(("cnn", "nested", "bidirectional", "attention", "two_ends"), ""),
    **dict.fromkeys(("distributed", "lstm", "slices"), WITH_OWN),
}


@pytest.mark.parametrize("check", checks_of(CHECKS))
def test_files(check):
    keras_backends.check(CHECKS, check, "dovetail")


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of models and weights that Dovetail wrote."""
    folder = tmp_path_factory.mktemp("written")
    told("tests.keras_dovetail.files_for_keras", "dovetail", str(folder), *WRITTEN)
    return folder


def inputs_and_results(path: Path) -> list[dict[str, np.ndarray]]:
    """The named inputs of a model, and its results, which have numbers."""
    found = dict(np.load(path))
    return [{name: one for name, one in found.items() if name.isdigit() == is_result} for is_result in (False, True)]


@pytest.mark.parametrize("stem", WRITTEN)
def test_keras_opens_a_model_that_dovetail_writes(stem, written):
    given, expected = inputs_and_results(written / f"{stem}.npz")
    found = foreign.keras(written / f"{stem}.keras", given, imports=WRITTEN[stem])
    assert found.keys() == expected.keys()
    for name, array in expected.items():
        np.testing.assert_allclose(found[name], array, atol=1e-5)


@pytest.mark.parametrize("ending", ["h5", "ckpt"])
@pytest.mark.parametrize("stem", WRITTEN)
def test_keras_2_opens_weights_that_dovetail_writes(stem, ending, written):
    given, expected = inputs_and_results(written / f"{stem}.npz")
    found = foreign.tf_keras(MODELS / f"{stem}.h5", given, weights=str(written / f"{stem}.{ending}"))
    assert found.keys() == expected.keys()
    for name, array in expected.items():
        np.testing.assert_allclose(found[name], array, atol=1e-5)
