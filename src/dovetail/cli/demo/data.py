"""The handwritten digits that come with scikit-learn: 1797 images of 8×8 pixels, ten classes.

The split is the same for every run: 360 images, drawn once at random, are only ever tested on.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from sklearn.datasets import load_digits

CLASSES = 10
TEST_IMAGES = 360
SPLIT_SEED = 0
BATCH = 32


@dataclass(frozen=True)
class Digits:
    """Images as float32 in [0, 1] of shape (number, 8, 8, 1), labels as int32 of shape (number,)."""

    images: np.ndarray
    labels: np.ndarray

    def __len__(self) -> int:
        return len(self.labels)

    def batches(self, seed: int, epoch: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """The whole batches of one epoch, in an order of its own."""
        order = np.random.default_rng([seed, epoch]).permutation(len(self))
        for start in range(0, len(self) - BATCH + 1, BATCH):
            chosen = order[start : start + BATCH]
            yield self.images[chosen], self.labels[chosen]

    @property
    def batches_per_epoch(self) -> int:
        return len(self) // BATCH


def load() -> tuple[Digits, Digits]:
    """Images to train on and, apart from them, images to test on."""
    digits = load_digits()
    images = (digits.images / digits.images.max()).astype(np.float32)[..., np.newaxis]
    labels = digits.target.astype(np.int32)
    order = np.random.default_rng(SPLIT_SEED).permutation(len(labels))
    test, train = order[:TEST_IMAGES], order[TEST_IMAGES:]
    return Digits(images[train], labels[train]), Digits(images[test], labels[test])
