"""The programs of `examples/` with small settings: each learns on every engine."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

from tests.libraries import require

for extra in ("matplotlib", "sklearn", "tqdm"):
    require(extra, "the examples use it")

EXAMPLES = Path(__file__).parent.parent / "examples"
LEARNED = {  # program → whether the result of its quick run is good enough
    "variational_autoencoder": lambda found: found["after"] < 0.65 * found["before"] and found["right"] > 0.4,
    "wgan_gp": lambda found: found["after"] < 0.6 * found["before"] and 0.7 < found["slope"] < 1.5,
    "siamese": lambda found: found["right"] > 0.85 and found["right_of_new"] > 0.5,
    "digits_by_hand": lambda found: found["right"] > 0.9 and found["after"] < 0.4 * found["before"],
}


@pytest.fixture(params=LEARNED)
def program(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch):
    """Each program in turn, as a module."""
    monkeypatch.syspath_prepend(EXAMPLES)
    return importlib.import_module(request.param)


def test_a_quick_run_learns_and_draws(program, engine, tmp_path, capsys):
    name = program.__name__
    found = program.main(["--engine", engine, "--quick", "--folder", str(tmp_path / "pictures")])
    assert LEARNED[name](found), found
    picture = tmp_path / "pictures" / f"{name}.png"
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert str(picture) in capsys.readouterr().out


def test_help_teaches(program, capsys):
    with pytest.raises(SystemExit) as ended:
        program.main(["--help"])
    text = capsys.readouterr().out
    assert ended.value.code == 0
    assert program.__doc__ in text
    for option in ("--engine", "--seed", "--quick", "--folder"):
        assert option in text


@pytest.mark.parametrize("options", [["--engine", "abacus"], ["--batch", "0"], ["--seed", "x"]])
def test_wrong_options_are_met_with_a_sentence(program, options, capsys):
    with pytest.raises(SystemExit) as ended:
        program.main(options)
    assert ended.value.code == 2
    assert options[0] in capsys.readouterr().err
