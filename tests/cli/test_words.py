"""The words that reports print: each is plain English, or `docs/glossary.md` explains it."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

import dovetail as dt
from dovetail.choose import records
from dovetail.choose.report import Report
from dovetail.cli import sample, tune
from dovetail.cli.main import COMMANDS, main
from dovetail.core.base import cache_folder
from dovetail.execute.choice import Choice, Row, Strategy
from tests.libraries import require

GLOSSARY = Path(__file__).parents[2] / "docs" / "glossary.md"
TEXT = """
about after again all also amd and another any are arguments arrays audit auto because been before began begins below
bits but bytes cache caches call calls carries change channels choice choose chooses chose chosen clear client clients
columns command commands compilation complete completes completion contents convert convolutions cost count data
default demo depthwise devices digits distributed doctor dovetail each elementwise else engine entry epyc example
examples exit expectation expected explains faster fastest federated few file files first fit fits fixed folder
folders for forget forgot formats former free from function functions get given google gradients graph guide guides
had handwritten has have help here how import install installed intel it's its itself jax json keep keeps kept keras
kernels kind know known language last layers learn learning library line lines list load lost machine make many
matplotlib matrices may measure measurements measures memory message minute misses missing model models more most name
named names next none not nothing now numbers numpy nvidia of older one ones onnxruntime op open openvino operation
operations ops optimizers option options other others out own package packages packaging part peak pip place plan
pools positional print processes processors products program programs protobuf python quick random ready recurrent
reductions report rest results run runs same sample saved scikit scipy script server set several share shell show
shown shtab since small start state steps strategies strides such takes tanh tell tensorflow than that the their them
then there these they thing things this those thousands threadpoolctl threads time times took torch tqdm train trains
trial tried tune turn two type types usage use user uses using value variables version versions was weights were what
where which whose will with words work worker write written xeon yet you your
"""
PLAIN = {*TEXT.split()}


def glossary():
    """The words that the page explains, with their plurals."""
    titles = re.findall(r"^### (.+)$", GLOSSARY.read_text(), re.MULTILINE)
    titles += re.findall(r"\*(.+?)\*", GLOSSARY.read_text())  # words that an entry explains beside its own
    words = {word.lower() for title in titles for word in re.findall(r"[A-Za-z-]+", title)}
    return words | {f"{word}s" for word in words} | {re.sub("y$", "ies", word) for word in words}


def unknown(text):
    """The words of a text that are neither plain nor explained; names in code, paths and options do not count."""
    bare = re.sub(r"`[^`]*`|\S*[/_.=\"()\\]\S*|--?\w+", " ", text)
    return {word.lower() for word in re.findall(r"[A-Za-z]{3,}", bare)} - PLAIN - glossary()


def test_words_that_nobody_explains_are_found():
    assert unknown("each strategy has a regret") == {"regret"}


def test_the_list_of_commands():
    assert unknown(" ".join(COMMANDS.values())) == set()


@pytest.fixture
def _measured(monkeypatch, tmp_path):
    """A record of measurements with each kind of row."""
    monkeypatch.setenv(cache_folder.VARIABLE, str(tmp_path))
    monkeypatch.setattr(sys, "argv", ["fit.py"])
    records.append("ab" * 20, "train", Strategy("torch"), [0.003, 0.002, 0.004], 40)
    split = Strategy("jax", "patches", threads=2, group=32, split="torch")
    rows = [Row(Strategy("torch"), 0.004, 0.5, 9), Row(Strategy("numpy"), 0.002, gain=3.0, cost=12.0), Row(split)]
    records.append_report("ab" * 20, "train", 80, Report(rows, 0.25, 60.0))


@pytest.mark.usefixtures("_measured")
@pytest.mark.parametrize("action", ["list", "show", "clear"])
def test_the_measurements_that_are_kept(action, capsys):
    assert main(["plan", action]) == 0
    assert unknown(capsys.readouterr().out.replace("ab" * 4, "")) == set()


def test_a_report_of_a_process_and_its_summary():
    rows = (Row(Strategy("torch"), measured=0.004, calls=9), Row(Strategy("jax"), 0.002, problem="it lost"))
    tried = [
        "jax was tried for 2.6 s since it may be faster than numpy",
        "jax was tried for 2 s because numpy had lost 4 s",
    ]
    assert unknown(f"{Report(rows, 0.5, 9.0, tried)} {Choice(rows[0].strategy, rows).summary}") == set()


def test_the_table_of_rates():
    assert unknown(" ".join([*tune.FAMILIES.values(), *tune.STARTS.values()])) == set()


def test_the_table_of_engines(capsys):
    assert main(["engines"]) == 0
    assert unknown(capsys.readouterr().out) == set()


def test_a_profile():
    with dt.profile() as p:
        dt.ops.tanh(dt.ops.ones((2, 2), "float32"))
    assert unknown("\n".join(line for line in str(p).splitlines()[:2])) == set()


MODEL = Path(sample.__file__).parent / "samples" / "models" / "mlp"


@pytest.mark.parametrize("command", [["doctor"], ["sample"], ["run", str(MODEL)]], ids=lambda command: command[0])
def test_a_command(command, capsys):
    if command[0] == "run":
        require("google.protobuf", "the model is TensorFlow's file")
    main(command)
    processor = r"(?m)^  processors .*$"  # its name is the machine's
    assert unknown(re.sub(processor, "", capsys.readouterr().out)) == set()


@pytest.mark.parametrize("command", ["plan", "tune"])
def test_the_help_of_a_command(command, capsys):
    with pytest.raises(SystemExit):
        main([command, "--help"])
    assert unknown(capsys.readouterr().out) == set()
