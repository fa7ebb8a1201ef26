"""The program that changes gradients by type: its numbers, computed by hand."""

from __future__ import annotations

import importlib
from pathlib import Path

import numpy as np
import pytest

EXAMPLES = Path(__file__).parent.parent / "examples"


def at_identity(name, gradient):
    """The gradient behind the identity, with NumPy."""
    return {"reversed": -0.5 * gradient, "clipped": np.clip(gradient, -1.0, 1.0)}.get(name, gradient)


def by_hand(program, name):
    """The gradient, forward through the two layers and back."""
    h, layers = program.IMAGES, []
    for kernel in program.KERNELS:
        h = np.maximum(h @ kernel, 0.0)
        layers.append((h, kernel))
    gradient = at_identity(name, np.broadcast_to(program.WEIGHTS, h.shape))
    for h, kernel in reversed(layers):
        passes = (h > 0) & (gradient > 0) if name == "guided" else h > 0
        gradient = np.where(passes, gradient, 0.0) @ kernel.T
    return gradient


@pytest.fixture(scope="module")
def program():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(EXAMPLES)
        yield importlib.import_module("gradients_by_type")


def test_each_gradient_in_each_way(program, engine, capsys):
    found = program.main(["--engine", engine])
    assert list(found) == ["plain", "guided", "reversed", "clipped"]
    for name, ways in found.items():
        assert list(ways) == ["built", "edited", "imported"]
        for gradient in ways.values():
            np.testing.assert_allclose(gradient, by_hand(program, name), rtol=1e-5, atol=1e-6)
    assert len(capsys.readouterr().out.splitlines()) == 12
    different = {tuple(ways["built"].ravel().round(4)) for ways in found.values()}
    assert len(different) == len(found)  # on these images each map has an effect


def test_help_teaches(program, capsys):
    with pytest.raises(SystemExit) as ended:
        program.main(["--help"])
    assert ended.value.code == 0
    text = capsys.readouterr().out
    assert program.__doc__ in text
    assert "--engine" in text
