"""Files that Dovetail writes and other libraries read: models, weights, and predictions.  Run with a folder."""

from __future__ import annotations

import sys
from pathlib import Path

import keras_dovetail  # noqa: F401  first: it makes Keras run on Dovetail

# isort: split
import keras
import numpy as np

from tests.formats.keras.test_weights import MODELS
from tests.keras_backends import tell

folder, *stems = sys.argv[1:]
for stem in stems:
    model = keras.models.load_model(MODELS / f"{stem}.h5", compile=False)
    model.set_weights([weight + 0.1 for weight in model.get_weights()])
    arrays = [array for name, array in np.load(MODELS / f"{stem}.npz").items() if name[0] == "x"]
    given = {str(one.name): array for one, array in zip(model.inputs, arrays, strict=True)}
    found = model.predict(given if len(given) > 1 else arrays[0], verbose=0)
    results = found if isinstance(found, (list, tuple)) else [found]
    np.savez(Path(folder, f"{stem}.npz"), **given, **{str(number): array for number, array in enumerate(results)})
    model.save(Path(folder, f"{stem}.keras"))
    for ending in ("h5", "ckpt"):
        model.save_weights(Path(folder, f"{stem}.{ending}"))
tell(stems)
