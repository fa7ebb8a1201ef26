"""`dovetail audit --only K`: its report on programs, and wrong paths."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from dovetail.cli.audit import k_verdict as verdict
from dovetail.cli.main import main
from tests.compat.source.files import write

ENGINES = verdict.tested_engines()


@pytest.fixture
def audit(tmp_path, capsys):
    """A function that writes files, audits their folder, and returns the exit status and the printed JSON."""

    def run(files: str | dict, *options: str) -> tuple[int, dict]:
        write(tmp_path, {"a.py": files} if isinstance(files, str) else files)
        status = main(["audit", "--only", "K", str(tmp_path), "--json", *options])
        return status, json.loads(capsys.readouterr().out)

    return run


def used(found: dict, how: str = "used") -> list[str]:
    """The functions used, once for each use, in alphabetical order."""
    return [f["name"] for f in found["functions"] for place in f["places"] if place["how"] == how]


# -- reports ----------------------------------------------------------------------------------------------------------

PROGRAM = """\
from keras import backend as K

def loss(y_true, y_pred):
    return K.mean(K.square(y_true - y_pred), axis=-1)

def peak(x):
    return K.argmax(x, axis=-1)

def old(x):
    return K.squre(x), K.ctc_cost(x, x), K._session
"""


def test_the_report(tmp_path, capsys):
    write(tmp_path, {"loss.py": PROGRAM})
    assert main(["audit", "--only", "K", str(tmp_path), "--engine", "numpy"]) == 1
    text = capsys.readouterr().out.replace(str(tmp_path), "src")
    absent = verdict.support()["functions"]["ctc_cost"]["absent"]
    assert text.startswith(
        f"""\
6 uses of 6 functions in 1 file: 2 work, 1 works with a difference, 3 do not.

function  uses  numpy
--------  ----  -------
_session  1     fails
ctc_cost  1     fails
squre     1     fails
argmax    1     differs
mean      1     works
square    1     works

does not work
  K._session (src/loss.py:10)
    It is private to the Keras that had it.
  K.ctc_cost (src/loss.py:10)
    {absent}
  K.squre (src/loss.py:10)
    K has no function of this name; did you mean K.square?

works with a difference
  K.argmax (src/loss.py:7)
    NaN counts as the largest"""
    )
    assert text.endswith("`dovetail run FILE` runs the program as it is.\n")


def test_hints(tmp_path, capsys):
    program = "import keras.backend as K\nf(K)\ngetattr(K, name)\nK.tf.Session()\nimport tensorflow as tf\ntf.Graph"
    write(tmp_path, {"a.py": program, "b.py": "1 +", "c.py": "from somewhere import K  # of keras\nK.square(x)"})
    main(["audit", "--only", "K", str(tmp_path)])
    text = capsys.readouterr().out
    assert "sessions and graphs are used past K; " in text
    assert "K as a whole is handed on" in text
    assert "known only when the program runs" in text
    assert "Nothing shows that this K is Keras'" in text
    assert "not read: 1 file or cell" in text


def test_modules_that_k_had_imported(audit):
    status, found = audit(
        "from keras import backend as K\nK.tf.matmul(x, y)\n_, m = K.control_flow_ops.while_loop(c, b, [0, m])"
    )
    assert (status, used(found)) == (1, ["control_flow_ops", "tf"])
    loop, whole = found["functions"]
    assert "dovetail.ops.while_loop" in " ".join(loop["notes"])
    assert whole["state"] == "works"  # it has TensorFlow's names


def test_verbose_shows_every_place(tmp_path, capsys):
    write(tmp_path, {"a.py": "import keras.backend as K\n" + "K.square(x)\n" * 5 + "K.square = f\n"})
    assert main(["audit", "--only", "K", str(tmp_path), "--verbose", "--engine", "numpy"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[4].split() == ["square", "6", "works"]
    assert lines[5:11] == [f"    {tmp_path}/a.py:{line}" for line in range(2, 7)] + [f"    {tmp_path}/a.py:7  replaced"]


def test_engines(audit):
    _, found = audit("import keras.backend as K\nK.square(x)")
    assert found["functions"][0]["engines"] == dict.fromkeys(ENGINES, "works")
    assert "numpy" in ENGINES


def test_arguments_that_a_function_does_not_take(audit):
    status, found = audit("""
from keras import backend as K
K.conv2d(x, k, border_mode="same", dim_ordering="th")
K.conv2d(x, k, padding="same")
K.square(x, *more)
K.abs(x, **more)
K.mean()
""")
    assert status == 1
    by_name = {f["name"]: f for f in found["functions"]}
    assert {name: f["state"] for name, f in by_name.items()} == {
        "abs": "works",
        "conv2d": "fails",
        "mean": "fails",
        "square": "works",
    }
    assert (
        "a.py:3: got an unexpected keyword argument 'border_mode'; it takes x, kernel, "
        in by_name["conv2d"]["notes"][0]
    )
    assert len(by_name["conv2d"]["notes"]) == 1


def test_an_engine_on_which_cases_fail(audit, monkeypatch):
    functions = {"square": {"eager": {"numpy": [3, 0, 0], "jax": [2, 0, 1]}}, "abs": {"uncompared": "why"}}
    monkeypatch.setattr(verdict, "support", lambda: {"versions": {"numpy": "2", "jax": "1"}, "functions": functions})
    status, found = audit("import keras.backend as K\nK.square(K.abs(x))")
    assert status == 1
    assert [f["engines"] for f in found["functions"]] == [
        {"numpy": "works", "jax": "works"},
        {"numpy": "works", "jax": "fails"},
    ]
    assert found["functions"][1]["notes"] == ["Cases of the parity suite fail on jax."]
    status, found = audit({}, "--engine", "torch")
    assert status == 0
    assert found["summary"].endswith("1 works, 0 work with a difference, 0 do not, 1 is untested.")


# -- programs in the style of their time ------------------------------------------------------------------------------

CAPSULES = """
from keras import activations, backend as K
from keras.engine.topology import Layer

def squash(x, axis=-1):
    s_squared_norm = K.sum(K.square(x), axis, keepdims=True) + K.epsilon()
    return K.sqrt(s_squared_norm) / (0.5 + s_squared_norm) * x

class Capsule(Layer):
    def call(self, u):
        hat = K.conv1d(u, self.W) if self.share else K.local_conv1d(u, self.W, [1], [1])
        hat = K.permute_dimensions(K.reshape(hat, (K.shape(u)[0], K.shape(u)[1], self.n, self.d)), (0, 2, 1, 3))
        b = K.zeros_like(hat[:, :, :, 0])
        for i in range(self.routings):
            c = K.softmax(b, 1)
            o = K.batch_dot(c, hat, [2, 2])
            if K.backend() == "theano":
                o = K.sum(o, axis=1)
        return squash(o)
"""
READER = """
import itertools
from keras.layers import Lambda
from keras.layers.merge import add
from keras import backend as K

def ctc_lambda_func(args):
    y_pred, labels, input_length, label_length = args
    return K.ctc_batch_cost(labels, y_pred[:, 2:, :], input_length, label_length)

loss_out = Lambda(ctc_lambda_func, output_shape=(1,), name="ctc")([y_pred, labels, input_length, label_length])
test_func = K.function([input_data, K.learning_phase()], [y_pred])
K.set_image_dim_ordering("th")
if K.image_data_format() == "channels_first":
    pass
"""
ACCUMULATING = """
import keras.backend as K
from keras.legacy import interfaces
from keras.optimizers import Optimizer

class AccumAdam(Optimizer):
    def get_updates(self, loss, params):
        grads = self.get_gradients(loss, params)
        self.updates = [K.update_add(self.iterations, 1)]
        t = K.cast(self.iterations, K.floatx()) + 1
        update_switch = K.equal((self.iterations + 1) % self.steps, 0)
        for p, g in zip(params, grads):
            m = K.zeros(K.int_shape(p), dtype=K.dtype(p))
            self.updates.append(K.update(m, K.switch(update_switch, m * 0, m + g)))
        return self.updates

class Patched:
    def __enter__(self):
        self.old = K.update
        K.update = self.track
    def __exit__(self, *args):
        K.update = self.old
"""
KERAS_1 = """
from keras import backend as K

def gram(x):
    features = K.batch_flatten(K.permute_dimensions(x, (2, 0, 1)))
    return K.dot(features, K.transpose(features))

def total_variation(x):
    if K.image_dim_ordering() == "th":
        a = K.square(x[:, :, :-1, :-1] - x[:, :, 1:, :-1])
    return K.sum(K.pow(a, 1.25))

def blur(x, kernel):
    return K.conv2d(x, kernel, border_mode="same", dim_ordering="th")
"""


@pytest.mark.parametrize(
    ("code", "status", "names"),
    [
        (
            CAPSULES,
            0,
            "backend batch_dot conv1d epsilon local_conv1d permute_dimensions reshape shape softmax sqrt square sum "
            "zeros_like",
        ),
        (READER, 0, "ctc_batch_cost function image_data_format learning_phase set_image_dim_ordering"),
        (ACCUMULATING, 0, "cast dtype equal floatx int_shape switch update update_add zeros"),
        (KERAS_1, 1, "batch_flatten conv2d dot image_dim_ordering permute_dimensions pow square sum transpose"),
    ],
    ids=["capsules", "reader", "accumulating", "keras 1"],
)
def test_programs(audit, code, status, names):
    found = audit(code)
    assert [f["name"] for f in found[1]["functions"]] == names.split()
    assert found[0] == status
    assert [f["name"] for f in found[1]["functions"] if f["state"] == "fails"] == ["conv2d"] * status


# -- the command ------------------------------------------------------------------------------------------------------


def test_nothing_is_executed_and_nothing_is_warned(tmp_path):
    (tmp_path / "a.py").write_text("import keras.backend as K\nopen('ran', 'w')\nK.square('\\d')\nassert (0, 'no')\n")
    code = (
        "import sys\nfrom dovetail.cli.main import main\nstatus = main(['audit', '--only', 'K', '.'])\n"
        "print(status, [m for m in ('torch', 'jax', 'tensorflow', 'keras') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.endswith("\n0 []\n")
    assert done.stderr == ""
    assert not (tmp_path / "ran").exists()


def test_paths_that_are_wrong(tmp_path, capsys):
    assert main(["audit", "--only", "K", str(tmp_path / "nowhere")]) == 2
    assert "there is no file or folder" in capsys.readouterr().err
    assert main(["audit", "--only", "K", str(tmp_path)]) == 2
    assert "has no .py file" in capsys.readouterr().err
    with pytest.raises(SystemExit) as stop:
        main(["audit", "--only", "K"])
    assert stop.value.code == 2


def test_one_file_of_any_name(tmp_path, capsys):
    (tmp_path / "train").write_text("#!/usr/bin/env python\nimport keras.backend as K\nK.square(x)\n")
    assert main(["audit", "--only", "K", str(tmp_path / "train")]) == 0
    assert capsys.readouterr().out.startswith("1 use of 1 function in 1 file: ")


def test_help_teaches(capsys):
    with pytest.raises(SystemExit):
        main(["audit", "--only", "K", "--help"])
    text = capsys.readouterr().out
    assert "dovetail audit src/ --engine jax --json" in text
    assert "nothing is executed" in text
