"""The handwritten digits that come with scikit-learn: 1797 images of 8×8 pixels, ten classes.

The split is the same for every run: 357 images, drawn once at random, are only ever tested on.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.datasets import load_digits

CLASSES = 10
TEST_IMAGES = 357  # so 1440 are left, which are 45 whole batches
SPLIT_SEED = 0


@dataclass(frozen=True)
class Digits:
    """Images as float32 in [0, 1] of shape (number, 8, 8, 1), labels as int32 of shape (number,)."""

    images: np.ndarray
    labels: np.ndarray

    def __len__(self) -> int:
        return len(self.labels)


def load() -> tuple[Digits, Digits]:
    """Images to train on and, apart from them, images to test on."""
    digits = load_digits()
    images = (digits.images / digits.images.max()).astype(np.float32)[..., np.newaxis]
    labels = digits.target.astype(np.int32)
    order = np.random.default_rng(SPLIT_SEED).permutation(len(labels))
    test, train = order[:TEST_IMAGES], order[TEST_IMAGES:]
    return Digits(images[train], labels[train]), Digits(images[test], labels[test])
