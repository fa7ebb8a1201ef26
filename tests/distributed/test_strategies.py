"""A program with TensorFlow's strategies, run by two processes, computes the numbers of one."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.distributed.programs import numbers, printed
from tests.libraries import require

require("torch", "it carries")
require("keras", "it trains")


@pytest.mark.parametrize("strategy", ["mirrored", "workers"])
def test_two_replicas_train_as_one(strategy):
    alone, two = (printed("strategy.py", strategy, processes=count) for count in (1, 2))
    assert alone.pop("replicas") == [["1"]] and two.pop("replicas") == [["2"], ["2"]]
    assert alone.keys() == two.keys() == {"fit", "epoch", "weights"}
    assert len(alone["epoch"]) == 3 and len(numbers(alone["weights"][0])) == 2 * (4 * 8 + 8 + 8 * 2 + 2)
    for name, lines in alone.items():
        for rank in range(2):  # a rank's line is next to the other's
            for expected, found in zip(lines, sorted(two[name])[rank::2], strict=True):
                assert numbers(found) == pytest.approx(numbers(expected), rel=0, abs=1e-9)


def test_an_estimator_trains_as_one(tmp_path):
    """Replicas take batches in turn; the first one writes the files, and its values are those of all."""
    alone, two = printed("estimator.py", tmp_path, processes=1), printed("estimator.py")
    assert alone.pop("folder") == [[str(tmp_path)]]
    folder, other = two.pop("folder")
    assert folder == other
    assert alone.pop("step") == [["10"]] and two.pop("step") == [["10"], ["10"]]
    assert all("input_fn must return a tf.data.Dataset" in " ".join(words) for words in two.pop("refused"))
    assert alone.keys() == two.keys() == {"first", "weights"}
    for name, (expected,) in alone.items():
        for found in two[name]:
            assert numbers(found) == pytest.approx(numbers(expected), rel=0, abs=1e-9)
    files = sorted(path.name for path in Path(*folder).glob("model.ckpt-*.index"))
    assert files == [f"model.ckpt-{step}.index" for step in (0, 10, 4, 5, 8)]
    shutil.rmtree(*folder)
