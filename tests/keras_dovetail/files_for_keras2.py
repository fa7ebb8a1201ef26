"""Weights that Dovetail writes and tf_keras reads: run with a folder, on Dovetail to write, on another to read."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np

from tests.formats.keras.test_weights import MODELS
from tests.keras_backends import tell

STEMS = ("cnn", "nested", "bidirectional", "attention", "distributed", "two_ends")
ON_DOVETAIL = os.environ["KERAS_BACKEND"] == "dovetail"
if ON_DOVETAIL:
    import keras

    import keras_dovetail  # noqa: F401  first: it makes Keras run on Dovetail
else:
    os.environ["TF_USE_LEGACY_KERAS"] = "1"
    import tf_keras as keras

folder, problems = Path(sys.argv[1]), {}
for stem in STEMS:
    model = keras.models.load_model(MODELS / f"{stem}.h5", compile=False)
    values, own = folder / f"{stem}.npz", model.get_weights()
    x = [array for name, array in np.load(MODELS / f"{stem}.npz").items() if name[0] == "x"]
    if stem == "two_ends":
        x = [dict(zip(("left", "right"), x, strict=True))]
    for ending in (".h5", ".ckpt"):
        if ON_DOVETAIL:
            model.set_weights([weight + 0.1 for weight in own])
            model.save_weights(folder / f"{stem}{ending}")
        else:
            model.set_weights(own)
            model.load_weights(folder / f"{stem}{ending}")
        found = model.predict(x[0], verbose=0)
        found = {str(n): array for n, array in enumerate(found if isinstance(found, (list, tuple)) else [found])}
        if ON_DOVETAIL:
            np.savez(values, **found)
        else:
            wanted = np.load(values)
            problems[f"{stem}{ending}"] = max(float(abs(wanted[name] - found[name]).max()) for name in wanted)
tell(problems)
