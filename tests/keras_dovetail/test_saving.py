"""Models saved on Dovetail and loaded on Keras' own backends, and the other way round: the same predictions."""

from __future__ import annotations

from itertools import product

from tests.keras_backends import BACKENDS, told
from tests.libraries import require

for library in ("keras", "jax", "torch", "tensorflow"):
    require(library, "models are saved on each backend of Keras")
MODULE = "tests.keras_dovetail.saving_checks"
ENGINES = {f"dovetail-{name}" for name in ("numpy", "torch", "jax", "tensorflow")}


def test_each_backend_loads_what_the_others_saved(tmp_path):
    folder = str(tmp_path)
    told(MODULE, "dovetail", folder, "save")
    problems = {}
    for backend in BACKENDS:
        problems |= told(MODULE, backend, folder, "load", "save")
    problems |= told(MODULE, "dovetail", folder, "load")
    pairs = {pair for engine, backend in product(ENGINES, BACKENDS) for pair in ((engine, backend), (backend, engine))}
    assert {" → ".join(pair) for pair in pairs} < problems.keys()
    assert not any(problems.values()), "\n".join(f"{pair}: {problem}" for pair, problem in problems.items() if problem)
