"""The programs of `examples/` in TensorFlow 1's style: they learn, and TensorFlow gives the same numbers."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.libraries import Library, require

require("sklearn", "a program explains one of its digits")

EXAMPLES = Path(__file__).parents[3] / "examples"
tensorflow = Library("tensorflow")


def finds_the_goal(found: dict[str, Any]) -> bool:
    return np.mean(found["lengths"][-20:]) < 12 < 30 < np.mean(found["lengths"][:20])


def explains(found: dict[str, Any]) -> bool:
    learned = found["losses"][-1] < 0.2 * found["losses"][0]
    complete = abs(found["integrated"].sum() - found["whole"]) < 0.001 * found["whole"]
    return learned and complete and np.abs(found["guided"] - found["gradient"]).max() > 0.1


def tells_words_apart(found: dict[str, Any]) -> bool:
    return found["right"] > 0.9 and found["losses"][-1] < 0.7 * found["losses"][0]


LEARNED: dict[str, Callable[[dict[str, Any]], bool]] = {
    "actor_critic": finds_the_goal,
    "attribution": explains,
    "word2vec": tells_words_apart,
}
SHORT = {"actor_critic": ["--updates", "60"], "attribution": ["--steps", "30"], "word2vec": ["--steps", "100"]}


@pytest.fixture(params=LEARNED)
def program(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch):
    """Each program in turn, as a module."""
    monkeypatch.syspath_prepend(EXAMPLES)
    return importlib.import_module(request.param)


@functools.cache
def by_tensorflow(name: str) -> dict[str, Any]:
    """TensorFlow's results of a program's text."""
    tensorflow.compat.v1.logging.set_verbosity(tensorflow.compat.v1.logging.ERROR)
    text = (EXAMPLES / f"{name}.py").read_text()
    here, there = "import dovetail.compat.tensorflow as tf", "import tensorflow.compat.v1 as tf"
    names: dict[str, Any] = {"__name__": name, "__doc__": name}
    exec(compile(text.replace(f"\n{here}\n", f"\n{there}\n"), name, "exec"), names)
    assert "dovetail" not in names["tf"].__name__
    return names["main"](SHORT[name])


def test_the_numbers_are_tensorflows(program, engine):
    wanted = by_tensorflow(program.__name__)
    found = program.main(SHORT[program.__name__])
    assert found.keys() == wanted.keys()
    for key, value in wanted.items():
        np.testing.assert_allclose(found[key], value, rtol=1e-3, atol=1e-5, err_msg=key)


def test_it_learns(program, capsys):
    assert LEARNED[program.__name__](program.main([]))
    assert len(capsys.readouterr().out.splitlines()) > 3


def test_help_teaches(program, capsys):
    with pytest.raises(SystemExit) as ended:
        program.main(["--help"])
    assert ended.value.code == 0
    assert program.__doc__ in capsys.readouterr().out
