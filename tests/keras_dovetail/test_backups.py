"""Keras' BackupAndRestore over ranks: after an error, training goes on at the same batch, with any number of ranks."""

from __future__ import annotations

import pytest

from tests.distributed import ranks
from tests.libraries import require
from tests.parts import WHOLE

require("torch", "it carries")
require("keras", "it trains")

CHECKED = [
    "shuffled arrays 6\n",
    "shuffled arrays epoch\n",
    "a generator 6\n",
    "a generator epoch\n",
]


@pytest.mark.deeper
@pytest.mark.parametrize("engines", [("numpy", "torch"), ("jax", "tensorflow")], ids="-".join)
def test_training_goes_on_within_an_epoch_also_with_another_number_of_ranks(engines, tmp_path):
    again = [(engines[:1], "again"), ((*engines, engines[0]), "again")]
    for each, what in [(engines, "begin"), *again[: 1 + WHOLE]]:
        for text in ranks.run(
            "tests.keras_dovetail.backup_checks", each, what, str(tmp_path), KERAS_BACKEND="dovetail"
        ):
            assert text.split("checked ")[1:] == CHECKED, text
