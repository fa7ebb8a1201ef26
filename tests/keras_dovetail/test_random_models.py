"""Random models on Dovetail and on Keras' own backends: training, prediction, saving; and faults that are found.

The faults are put into Dovetail. `python -m tests.keras_dovetail.random_models` runs more models.
"""

from __future__ import annotations

import pytest

from tests.keras_backends import ENGINES, told
from tests.keras_dovetail.random_models.compare import judge, outcomes, verdict_on
from tests.keras_dovetail.random_models.program import program
from tests.libraries import require

for library in ("keras", "jax", "torch", "tensorflow"):
    require(library, "Keras on Dovetail is compared with Keras on torch")
# Each program runs on numpy and on one more engine. jax and TensorFlow take ten times as long, so they get fewer.
SEEDS = {
    "torch": (4, 13, 19, 21, 33, 64, 67, 73, 103),
    "jax": (3, 7, 16, 26, 31),
    "tensorflow": (8, 22, 25, 76, 80, 104),
}
EACH = sorted((seed, engine) for engine, seeds in SEEDS.items() for seed in seeds)
PROGRAMS = [pair for pair in EACH if pair[1] in ENGINES] or [(seed, "numpy") for seed, _ in EACH[:4]]
FAULTS = (
    "momentum of a batch normalization",
    "gradient of a dense layer",
    "gradient of a recurrent layer",
    "Adam's rate at first steps",
    "saved weights",
    "weights of batches in means",
)


@pytest.mark.parametrize(("seed", "engine"), PROGRAMS)
def test_random_models_agree_with_keras(seed, engine):
    verdict = verdict_on(program(seed), ["torch"], list(dict.fromkeys(["numpy", engine])))
    assert verdict.kind == "agreed", "\n".join(f"{way}: {problem}" for way, problem in verdict.problems.items())


@pytest.mark.parametrize("fault", FAULTS)
def test_faults_are_found(fault):
    found = told("tests.keras_dovetail.random_models.keras3_faults", "dovetail", *FAULTS, alone=True)[fault]
    made = program(found["seed"])
    assert (found["outcome"]["error"], found["seed"] in dict(EACH)) == ("", True)
    verdict = judge(made, outcomes(made, "torch", "torch"), {"numpy": found["outcome"]})
    assert verdict.kind == "wrong", f"the fault stays unseen in program {found['seed']}"
