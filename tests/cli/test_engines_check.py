"""`dovetail engines --check`: the packages, the versions that fit, and what to install."""

from __future__ import annotations

from importlib import metadata

import pytest

from dovetail.cli import engines_check
from dovetail.cli.main import main

REQUIRED = [
    "numpy>=2",
    'torch>=2.6; extra == "torch"',
    'tensorflow<3,>=2.18; extra == "tensorflow"',
    'keras==3.15.1; extra == "demo"',
    'ruff>=0.12; extra == "test"',
    'keras-dovetail[torch]; extra == "all"',
]
GOOD = {"numpy": "2.1.0", "torch": "2.10.0+cpu", "tensorflow-cpu": "2.20.0rc1", "keras": "3.15.1"}


def checked(monkeypatch, capsys, versions, required=REQUIRED):
    def version(name):
        if name not in versions:
            raise metadata.PackageNotFoundError(name)
        return versions[name]

    monkeypatch.setattr(metadata, "requires", lambda name: required)
    monkeypatch.setattr(metadata, "version", version)
    status = main(["engines", "--check"])
    lines = capsys.readouterr().out.splitlines()
    end = lines.index("")
    return status, {line.split()[0]: line.split(None, 4)[1:] for line in lines[2:end]}, lines[end + 1 :]


def test_all_fit(monkeypatch, capsys):
    status, rows, advice = checked(monkeypatch, capsys, GOOD)
    assert (status, advice) == (0, ["Nothing is missing."])
    assert rows == {
        "numpy": ["dovetail", ">=2", "2.1.0", "fits"],
        "torch": ["torch", ">=2.6", "2.10.0+cpu", "fits"],
        "tensorflow": ["tensorflow", "<3,>=2.18", "2.20.0rc1", "fits"],
        "keras": ["demo", "==3.15.1", "3.15.1", "fits"],
    }


@pytest.mark.parametrize(
    ("change", "status", "state", "advice"),
    [
        ({"torch": None}, 0, "not installed", "pip install 'keras-dovetail[torch]'"),
        ({"torch": "2.5.1"}, 1, "does not fit", "pip install 'torch>=2.6'"),
        ({"tensorflow-cpu": "3.0"}, 1, "does not fit", "pip install 'tensorflow<3,>=2.18'"),
        ({"keras": "3.15"}, 1, "does not fit", "pip install 'keras==3.15.1'"),
        ({"numpy": None}, 1, "not installed", "pip install 'numpy>=2'"),
    ],
)
def test_what_is_missing_or_does_not_fit(monkeypatch, capsys, change, status, state, advice):
    (name,) = change
    versions = {key: value for key, value in (GOOD | change).items() if value is not None}
    found, rows, lines = checked(monkeypatch, capsys, versions)
    assert (found, rows[name.removesuffix("-cpu")][-1], lines) == (status, state, ["To install:", f"  {advice}"])


def test_the_metadata_of_this_package_can_be_read(capsys):
    assert main(["engines", "--check"]) in (0, 1)
    text = capsys.readouterr().out
    wanted = {need.name for need in engines_check.needs(metadata.requires(engines_check.DISTRIBUTION))}
    assert wanted >= {"numpy", "torch", "jax", "tensorflow", "protobuf"} and "ruff" not in wanted
    assert all(f"\n{name} " in text for name in wanted)


def test_a_source_tree(monkeypatch, capsys):
    def requires(name):
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "requires", requires)
    assert main(["engines", "--check"]) == 1
    assert "not installed here as a package" in capsys.readouterr().out
