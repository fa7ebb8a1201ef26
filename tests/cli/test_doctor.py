"""`dovetail doctor`: the packages, the versions that fit, what to install, and the machine."""

from __future__ import annotations

from importlib import metadata

import pytest

from dovetail.cli import doctor
from dovetail.cli.main import main

REQUIRED = [
    "numpy>=2",
    'torch>=2.6; extra == "torch"',
    'tensorflow<3,>=2.18; extra == "tensorflow"',
    'keras==3.15.1; extra == "demo"',
    'ruff>=0.12; extra == "test"',
    'keras-dovetail[torch]; extra == "all"',
]


@pytest.fixture(autouse=True)
def _no_gpu(monkeypatch, tmp_path):
    monkeypatch.setattr(doctor, "GPUS", tmp_path / "gpus")


GOOD = {"numpy": "2.1.0", "torch": "2.10.0+cpu", "tensorflow-cpu": "2.20.0rc1", "keras": "3.15.1"}


def checked(monkeypatch, capsys, versions, required=REQUIRED):
    def version(name):
        if name not in versions:
            raise metadata.PackageNotFoundError(name)
        return versions[name]

    monkeypatch.setattr(metadata, "requires", lambda name: required)
    monkeypatch.setattr(metadata, "version", version)
    status = main(["doctor"])
    lines = capsys.readouterr().out.splitlines()
    end, last = (number for number, line in enumerate(lines) if not line)
    return status, {line.split()[0]: line.split(None, 4)[1:] for line in lines[2:end]}, lines[end + 1 : last]


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
    small = [doctor.SMALL_TORCH] * (name == "torch")
    assert (found, rows[name.removesuffix("-cpu")][-1], lines) == (
        status,
        state,
        ["To install:", f"  {advice}", *small],
    )


def test_the_metadata_of_this_package_can_be_read(capsys):
    assert main(["doctor"]) in (0, 1)
    text = capsys.readouterr().out
    wanted = {need.name for need in doctor.needs(metadata.requires(doctor.DISTRIBUTION))}
    assert wanted >= {"numpy", "torch", "jax", "tensorflow", "protobuf"} and "ruff" not in wanted
    assert all(f"\n{name} " in text for name in wanted)


def test_a_source_tree(monkeypatch, capsys):
    def requires(name):
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "requires", requires)
    assert main(["doctor"]) == 1
    assert "not installed here as a package" in capsys.readouterr().out


def test_the_machine(monkeypatch, tmp_path, capsys):
    for number, name in enumerate(["NVIDIA H200", "NVIDIA A10"]):
        folder = tmp_path / "gpus" / f"0000:{number}"
        folder.mkdir(parents=True)
        (folder / "information").write_text(f"Model: \t {name}\nIRQ:  \t 1\n")
    (tmp_path / "meminfo").write_text("MemTotal:  8000000 kB\nMemFree:  1 kB\nMemAvailable:  2000000 kB\n")
    (tmp_path / "memory.max").write_text("4096000000\n")
    monkeypatch.setattr(doctor, "MEMORY", tmp_path / "meminfo")
    monkeypatch.setattr(doctor, "LIMIT", tmp_path / "memory.max")
    monkeypatch.setenv("DOVETAIL_THREADS", "3")
    main(["doctor"])
    said = capsys.readouterr().out.partition("This machine:\n")[2].splitlines()
    facts = {line.split()[0]: " ".join(line.split()[1:]) for line in said}
    assert facts["GPU"] == "NVIDIA H200, NVIDIA A10" and facts["threads"] == "3"
    assert facts["memory"] == "2.05 GB free of 8.19 GB, limited to 4.1 GB"
    assert {"Dovetail", "Python", "processors", "load", "engine", "Keras", "cache"} <= facts.keys()


def test_a_system_without_these_files(monkeypatch, tmp_path):
    monkeypatch.setattr(doctor, "MEMORY", tmp_path / "meminfo")
    facts = doctor.machine()
    assert facts["memory"] == "not known" and facts["GPU"] == "none of NVIDIA"
