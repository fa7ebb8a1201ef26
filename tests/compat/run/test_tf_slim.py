"""TF-Slim's own tests, unchanged, by `dovetail run --map tf_slim`, as a table of those that TensorFlow passes says."""

from __future__ import annotations

import json

import pytest

from tests.compat.tf_slim_tests import HERE, TABLE, outcomes
from tests.libraries import require
from tests.parts import WHOLE

require("tf_slim", "the package whose tests run")

GROUPS = {  # the files of one process
    "layers": "layers/layers layers/utils layers/initializers layers/normalization layers/regularizers "
    "layers/optimizers layers/rev_block_lib ops/arg_scope ops/framework_ops ops/variables losses/loss_ops learning",
}
OTHERS = {
    "others": "layers/sparse_ops layers/summaries summaries metrics/classification metrics/histogram_ops "
    "training/training training/evaluation losses/metric_learning data/tfexample_decoder",
    "metrics": "metrics/metric_ops",
    "nets": "nets/alexnet nets/overfeat nets/vgg",
}


def check(group: str) -> None:
    """Fail if a test of a group of files fails that should pass; or, in the whole run, if one of the table passes."""
    table = json.loads(TABLE.read_text())
    files = [f"{file}_test.py" for file in group.split()]
    failing = {name for file in files for name in table["TensorFlow"][file]}
    known = {name for names in table["here"].values() for name in names}
    found = outcomes(HERE, files)
    wrong = {name for name, good in found.items() if not good} - failing - known
    stale = {name for name, good in found.items() if good and name in known}
    assert (sorted(wrong), sorted(stale) if WHOLE else []) == ([], [])
    assert sum(found.values()) > len(files)


@pytest.mark.deeper
@pytest.mark.parametrize("group", GROUPS.values(), ids=GROUPS)
def test_a_sample_is_as_the_table_says(group):
    check(group)


@pytest.mark.long("it takes minutes")
@pytest.mark.parametrize("group", OTHERS.values(), ids=OTHERS)
def test_the_others_are_as_the_table_says(group):
    check(group)


def test_each_test_that_fails_here_alone_has_one_reason():
    table = json.loads(TABLE.read_text())
    names = [name for names in table["here"].values() for name in names]
    assert len({*names}) == len(names)
    assert all(reason.endswith(".") for reason in table["here"])
