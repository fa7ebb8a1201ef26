"""K on engines' own values: each function on torch's tensors, JAX's arrays and tracers, and TensorFlow's.

The results are the engine's own values too, with the same numbers as the oracle's.
"""

from __future__ import annotations

import numpy as np
import pytest

import dovetail as dt
from dovetail import backend as K
from tests.backend.parity import Case, agree, expected
from tests.backend.test_parity import CASES
from tests.libraries import require

require("tf_keras", "the oracle")

NOT_OF_ARRAYS = {  # function that does not only compute on an engine's own values → why
    "dropout": "it draws random numbers, as do random_* and truncated_normal; test_random has them",
    "variable": "it makes a variable",
    "gradients": "it goes by what the library recorded; test_differentiation has it",
    "moving_average_update": "it changes a variable, as do update*; test_state has them",
    "ones": "it makes a variable, as does zeros",
    "zeros": "it makes a variable",
}
DRAWS_OR_UPDATES = ("random_", "truncated_", "update")
KNOWN_SHAPES = ("conv", "switch")  # the size of a kernel, or whether a condition is a scalar, must be known
COMPUTED = {  # function → its first case that takes arrays
    case.functions[0]: case
    for case in reversed(CASES)
    if case.arrays and "symbolic" in case.ways and not case.raises
    if case.functions[0] not in NOT_OF_ARRAYS and not case.functions[0].startswith(DRAWS_OR_UPDATES)
}


def flat(result):
    """The leaves of a result, in the order of `parity.leaves`."""
    if isinstance(result, dict):
        result = [result[key] for key in sorted(result)]
    if isinstance(result, (list, tuple)):
        return [leaf for item in result for leaf in flat(item)]
    return [result]


def share_memory(a, b) -> bool:
    return a is b or a.untyped_storage().data_ptr() == b.untyped_storage().data_ptr() != 0


def on_torch(case: Case) -> list[np.ndarray]:
    torch = pytest.importorskip("torch")
    given = [torch.tensor(a) for a in case.drawn()]
    results = flat(case.run(K, *given))
    assert all(isinstance(t, torch.Tensor) for t in results)
    assert not any(share_memory(t, x) for t in results for x in given), "of which A16 tells"
    return [t.numpy() for t in results]


def on_jax(case: Case) -> list[np.ndarray]:
    jax = pytest.importorskip("jax")
    with jax.enable_x64(True):
        results = flat(case.run(K, *map(jax.numpy.asarray, case.drawn())))
        assert all(isinstance(t, (jax.Array, np.ndarray, dt.Tensor)) for t in results)
        return [np.asarray(t) for t in results]


def under_jit(case: Case) -> list[np.ndarray]:
    jax = pytest.importorskip("jax")

    def program(*arrays):
        return [np.asarray(t) if type(t) is dt.Tensor else t for t in flat(case.run(K, *arrays))]

    with jax.enable_x64(True):
        return [np.asarray(t) for t in jax.jit(program)(*case.drawn())]


def on_tensorflow(case: Case) -> list[np.ndarray]:
    tf = pytest.importorskip("tensorflow")
    known = any(part in case.functions[0] for part in KNOWN_SHAPES)
    specs = [tf.TensorSpec(a.shape if known else (None,) * a.ndim, a.dtype) for a in case.drawn()]
    results = tf.function(lambda *arrays: flat(case.run(K, *arrays)), input_signature=specs)(*case.drawn())
    return [t.numpy() for t in results]


@pytest.mark.parametrize("run", [on_torch, on_jax, under_jit, on_tensorflow], ids=lambda run: run.__name__)
@pytest.mark.parametrize("name", sorted(COMPUTED))
def test_engines_own_values(name, run):
    case = COMPUTED[name]
    wanted = expected(case)
    if isinstance(wanted, Exception):
        raise wanted
    agree(case, run(case), wanted)
