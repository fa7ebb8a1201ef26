"""Run SavedModels in TensorFlow: python -m tests.saved_model.surgery_checks INPUT.npy OUTPUT.npz FOLDER ...

Each folder's signature `serving_default` has one input; its results go to the output by the folder's name.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import tensorflow as tf


def main(given: str, out: str, *folders: str) -> None:
    x, found = tf.constant(np.load(given)), {}
    for folder in folders:
        run = tf.saved_model.load(folder).signatures["serving_default"]
        (key,) = run.structured_input_signature[1]
        (found[Path(folder).name],) = (value.numpy() for value in run(**{key: x}).values())
    np.savez(out, **found)


if __name__ == "__main__":
    main(*sys.argv[1:])
