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
from dovetail.formats.summary.kinds import summarize
from tests.libraries import require

GLOSSARY = Path(__file__).parents[2] / "docs" / "glossary.md"
TEXT = """
about action address after again algorithms all alone also always amd and another any are argument arguments array
arrays audit auto back backend bash batches because become becomes been before began begins behind below beside bfloat
bits but bytes cache caches call calls can carries change channels choice choose chooses chose chosen classic clear
client clients code columns come command commands compare comparison compilation compiled complete completes completion
computes connects contents convert converts convolution convolutional convolutions core cost could count ctrl cuda cut
damaged data default demo depthwise devices difference differs digits dimension dir direction distributed doctor does
dovetail downloads draw drawing dropped each elementwise else end ends engine enough entry environment epyc eval every
example examples executed exit expectation expected explain explains exported expression extra fails far faster fastest
features federated few file files first fit fits fix fixed floating folder folders follows for forget forgot formats
former found four fpath free from function functions get give given gives gone google gpus gradients graph guide guides
gzip had hand handwritten has have hdf help here how image import imported imports information initial inside install
installed intel it's its itself jax join json keep keeps kept keras kernels kind kinds know known knows lacks language
last layers learn learned learning less library like limited line lines list lists litert load long look loop loops loss
lost machine machines main make makes many map mapped matplotlib matrices max may measure measurements measures meet
memory message metadata metric min minute misses missing model models module more most name named names need needed
needs neither net next nine none nor not notebook notebooks nothing now npz number numbers numpy nvidia of older one
ones only onnx onnxruntime op open openvino operation operations operators ops optimizers option options order other
others out over own package packages packaging page part parts passes path peak picture pip place plain plan pools port
positional prefix print prints processes processors products program programs protobuf pytest python pytorch quick
random read reads ready recognised recurrent reductions replace replaced report rest result results rounds rows run runs
runtime safetensors same sample saved say says scikit scipy script second sent server set sets several share shell
shorter show shown shtab side since sizes slim small smaller something start state status steps stops store strategies
strides such suite tables take takes tanh tcsh tell tells ten tensorboard tensorflow test tested tests tfrecord than
that the their them then there these they thing things this those thousands threadpoolctl threads time timeline times
together too took torch total tqdm train training trains trial tried tune turn two type types unknown unless usage use
user uses using value values variables version versions was way weight weights were what whatever when where wherever
which whose will with without words work worker works write writes written wrote xeon yet you your zlib zsh
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


OLD = "import tensorflow as tf\nx = tf.placeholder(tf.float32, [None])\ny = tf.contrib.nothing.here(x)\n"


def test_an_audit(tmp_path, capsys):
    (tmp_path / "old.py").write_text(OLD)
    main(["audit", str(tmp_path)])
    assert unknown(capsys.readouterr().out) == set()


FILES = ["models/mlp", "models/frozen.pb", "models/loop1.meta", "models/loop1", "models/mlp.npz", "old_models/cnn.h5"]


@pytest.mark.parametrize("file", FILES)
def test_the_contents_of_a_file(file):
    """Facts and heads of tables; the rest are names of the file."""
    require("google.protobuf", "most are TensorFlow's files")
    found = summarize(MODEL.parents[1] / file)
    heads = [text for table in found.tables for text in (table.title, *table.columns)]
    assert unknown(" ".join([found.kind, *found.facts, *heads])) == set()


@pytest.mark.parametrize("asked", ["--explain", "--flops"])
def test_what_a_command_says_of_a_function(asked, tmp_path, capsys):
    (tmp_path / "a_step.py").write_text("import dovetail as dt\n\ndef step(x):\n    return dt.ops.tanh(x) * 2.0\n")
    assert main(["show", asked, f"{tmp_path / 'a_step.py'}:step", "x=float32[2,3]"]) == 0
    assert unknown(re.sub(r"\bf+\b|Tanh|Mul|Const|ufunc", "", capsys.readouterr().out)) == set()


@pytest.mark.parametrize("command", COMMANDS)
def test_the_help_of_a_command(command, capsys):
    with pytest.raises(SystemExit):
        main([command, "--help"])
    assert unknown(capsys.readouterr().out) == set()
