"""`dovetail k-audit`: the uses it finds in programs, its report, and unusual folders."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from dovetail.cli.k_audit import verdict
from dovetail.cli.main import main

ENGINES = verdict.tested_engines()


@pytest.fixture
def audit(tmp_path, capsys):
    """A function that writes files, audits their folder, and returns the exit status and the printed JSON."""

    def run(files: str | dict, *options: str) -> tuple[int, dict]:
        write(tmp_path, {"a.py": files} if isinstance(files, str) else files)
        status = main(["k-audit", str(tmp_path), "--json", *options])
        return status, json.loads(capsys.readouterr().out)

    return run


def write(folder: Path, files: dict[str, str | bytes | dict]) -> None:
    """Write files: text, bytes, or a notebook."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        data = json.dumps(content) if isinstance(content, dict) else content
        path.write_bytes(data if isinstance(data, bytes) else data.encode())


def used(found: dict, how: str = "used") -> list[str]:
    """The functions used, once for each use, in alphabetical order."""
    return [f["name"] for f in found["functions"] for place in f["places"] if place["how"] == how]


def notebook(*cells: str, language: str = "python") -> dict:
    return {
        "nbformat": 4,
        "metadata": {"kernelspec": {"language": language}},
        "cells": [
            {"cell_type": "markdown", "source": ["K.nothing(x)"]},
            *({"cell_type": "code", "source": cell.splitlines(keepends=True)} for cell in cells),
        ],
    }


# -- findings ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "code",
    [
        "from keras import backend as K\nK.square(x)",
        "from keras import backend\nbackend.square(x)",
        "import keras.backend as K\nK.square(x)",
        "import keras.backend\nkeras.backend.square(x)",
        "import keras\nkeras.backend.square(x)",
        "import keras as k\nB = k.backend\nB.square(x)",
        "from keras.backend import square\nsquare(x)",
        "from keras.backend import square as sq\nsq(x)",
        "from keras.backend import *\nsquare(x)",
        "from keras.backend import tensorflow_backend as KTF\nKTF.square(x)",
        "import keras.backend.tensorflow_backend as KTF\nKTF.square(x)",
        "from keras.backend.tensorflow_backend import square\nsquare(x)",
        "from tensorflow.keras import backend as K\nK.square(x)",
        "from tensorflow.keras.backend import square\nsquare(x)",
        "import tensorflow.keras.backend as K\nK.square(x)",
        "from tensorflow.python.keras import backend as K\nK.square(x)",
        "from tensorflow_core.python.keras import backend as K\nK.square(x)",
        "from tensorflow.contrib.keras import backend as K\nK.square(x)",
        "from tensorflow.contrib.keras.python.keras import backend as K\nK.square(x)",
        "import tensorflow as tf\ntf.keras.backend.square(x)",
        "import tensorflow.compat.v1 as tf\ntf.keras.backend.square(x)",
        "import tensorflow as tf\nK = tf.compat.v1.keras.backend\nK.square(x)",
        "import tensorflow as tf\nfrom tensorflow import keras\nK, L = keras.backend, keras.layers\nK.square(x)",
        "import tf_keras\ntf_keras.backend.square(x)",
        "from tf_keras.src import backend as K\nK.square(x)",
        "from keras.src import backend as K\nK.square(x)",
        "from dovetail import backend as K\nK.square(x)",
        "import importlib\nK = importlib.import_module('keras.backend')\nK.square(x)",
        "import sys, keras\nsys.modules['keras.backend'].square(x)",
        "from keras import backend as K\ngetattr(K, 'square')(x)",
        "from keras import backend as K\nK.__dict__['square'](x)",
        "from keras import backend as K\nvars(K)['square'](x)",
        "def f(x):\n    from keras import backend as K\n    return K.square(x)",
        "from keras import backend as K\ndef f(x, K=K):\n    return K.square(x)",
        "from keras import backend as K\ndef f(x, *, B=K):\n    return B.square(x)",
        "from keras import backend as K\nf = lambda x: K.square(x)",
        "from keras import backend as K\nclass A:\n    def f(self): self.K = K\n    def g(self): self.K.square(0)",
        "from keras import backend as K\nclass A:\n    @K.square\n    def f(self): pass",
        "try:\n    from keras import backend as K\nexcept ImportError:\n    K = None\nK.square(x)",
        "try:\n    import keras.backend as K\nexcept ImportError:\n    import tf_keras.backend as K\nK.square(x)",
        "def load():\n    global K\n    import keras.backend as K\nload()\nK.square(x)",
        "if (K := __import__('importlib').import_module('keras.backend')):\n    K.square(x)",
        "async def f(x):\n    from keras import backend as K\n    async for y in x:\n        K.square(y)",
        "from keras import backend as K\n[K.square(K) for K in range(3) if K]\nK.square(1)",
    ],
)
def test_every_form_of_import(audit, code):
    status, found = audit(code)
    assert status == 0
    assert used(found) == ["square"]
    assert found["summary"] == "1 use of 1 function in 1 file: 1 works, 0 work with a difference, 0 do not."


@pytest.mark.parametrize(
    "code",
    [
        "from scipy import linalg as K\nK.dot(x)",
        "import numpy as np  # for keras\nK = np.eye(3)\nK.dot(x)\nK.shape",
        "from matplotlib import backend\nbackend.shape(x)",
        "from keras import layers\nlayers.dot(x)",
        "from keras import backend_config\nbackend_config.floatx()",
        "import keras\nclass K:\n    pass\nK.sum",
        "from keras import backend as K\ndef f(K):\n    return 'K.square(x)'  # K.square(x)",
        "def gram(K):  # keras\n    return K.dot(K)",
        "def f():\n    from keras import backend as K\ndef g(K):\n    return K.sum()",
        "sum([1]); abs(2)",
    ],
)
def test_what_is_not_k(audit, code):
    status, found = audit(code)
    assert (status, found["functions"]) == (0, [])
    assert found["summary"] == "K is not used in 1 file."


def test_builtins_are_those_of_k_after_a_star_import(audit):
    _, found = audit("from keras.backend import *\nsum(abs(x))\nlen(x)\ndef max(x): pass\nmax(x)")
    assert used(found) == ["abs", "sum"]


def test_a_function_under_another_name(audit):
    _, found = audit("from keras import backend as K\nf = K.square\nf(1)\nf = K.square\ng = K.abs\ng = len\ng(2)")
    assert used(found) == ["abs", "square", "square", "square"]


def test_names_go_through_the_files_of_a_project(audit):
    _, found = audit(
        {
            "pkg/__init__.py": "from .common import *\n",
            "pkg/common.py": "from keras import backend as K\nfrom keras.backend import square as s\nfrom .x import *",
            "pkg/x.py": "from .common import *\n",
            "pkg/deep/__init__.py": "",
            "pkg/deep/model.py": "from ..common import K, s\nfrom .. import common\nK.abs(s(common.K.sum(0)))",
            "main.py": "from pkg import K as B\nimport pkg.common\nB.mean(0); pkg.common.K.std(0)",
        }
    )
    assert used(found) == ["abs", "mean", "square", "std", "sum"]


def test_keras_own_sources(audit):
    """Check a copy of Keras in the tree: its relative imports are imports of K."""
    _, found = audit(
        {
            "keras/__init__.py": "",
            "keras/backend/__init__.py": "from .tensorflow_backend import *",
            "keras/backend/tensorflow_backend.py": "def square(x): return x * x",
            "keras/layers/__init__.py": "",
            "keras/layers/core.py": "from .. import backend as K\nK.square(1)",
        }
    )
    assert used(found) == ["square"]


def test_what_is_only_imported(audit):
    _, found = audit("from keras.backend import square, abs, tensorflow_backend\nabs(x)")
    assert used(found) == ["abs"]
    assert used(found, "imported") == ["square"]


def test_replaced_functions(audit):
    status, found = audit("""
from unittest import mock
from keras import backend as K
K.update = f
setattr(K, "update_add", f)
K.__dict__["gradients"] = f
K.my_own = f
K.my_own(x)
with mock.patch.object(K, "relu"), mock.patch("keras.backend.elu"):
    monkeypatch.setattr(K, "tanh", f)
    hasattr(K, "sigmoid")
    K.update(1, 2, 3, 4, 5, 6)
""")
    assert status == 0
    assert used(found, "replaced") == ["elu", "gradients", "my_own", "relu", "tanh", "update", "update_add"]
    assert used(found) == ["my_own", "update"]


def test_k_that_comes_from_elsewhere(audit):
    _, found = audit(
        {
            "a.py": "from some.where import *  # keras\nK.square(x)\nK.no_such(x)",
            "b.py": "from some.where import K  # keras\nK.abs(x)",
            "c.py": "def get(**kwargs):  # of keras\n    backend = kwargs['backend']\n    backend.sum(x)",
        }
    )
    assert used(found, "assumed") == ["abs", "square", "sum"]


def test_hints(audit, capsys, tmp_path):
    _, found = audit("""
import tensorflow as tf
import keras.backend as K
from keras.backend import tf as T
f(K)
getattr(K, name)
vars(K)[name]
K.tf.Session(config=tf.ConfigProto())
tf.compat.v1.placeholder
""")
    assert [place["line"] for place in found["handed_on"]] == [5]
    assert [place["line"] for place in found["dynamic"]] == [6, 7]
    assert [place["line"] for place in found["past"]] == [8, 9]
    assert used(found) == ["tf"]
    main(["k-audit", str(tmp_path)])
    text = capsys.readouterr().out
    assert "sessions and graphs are used past K: " in text
    assert "K as a whole is handed on" in text
    assert "known only when the program runs" in text


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
    assert main(["k-audit", str(tmp_path), "--engine", "numpy"]) == 1
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
    assert text.endswith("change its import of K to `from dovetail import backend as K`.\n")


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
    assert main(["k-audit", str(tmp_path), "--verbose", "--engine", "numpy"]) == 0
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


# -- unusual trees ----------------------------------------------------------------------------------------------------


def test_notebooks(audit):
    code = "%matplotlib inline\n!pip install keras\nfrom keras import backend as K\nK?\nfiles = !ls"
    status, found = audit(
        {
            "a.ipynb": notebook(code, "%%time\nK.square(x)", "%%bash\nK.abs", "K.sum(", "y = (x\n     % K.exp(x))"),
            "b.ipynb": {
                "nbformat": 3,
                "metadata": {},
                "worksheets": [notebook("from keras.backend import abs\nabs(1)")],
            },
            "r.ipynb": notebook("K.square(x)", language="R"),
            "damaged.ipynb": "{not JSON",
            "other.ipynb": {"cells": "none"},
        }
    )
    assert status == 0
    by_name = {f["name"]: f["places"] for f in found["functions"]}
    assert sorted(by_name) == ["abs", "exp", "square"]
    assert (by_name["square"][0]["cell"], by_name["square"][0]["line"]) == (3, 2)
    assert (by_name["exp"][0]["cell"], by_name["exp"][0]["line"]) == (6, 2)
    unread = {(os.path.basename(u["file"]), u.get("cell")): u["why"] for u in found["unread"]}
    assert sorted(unread, key=str) == [
        ("a.ipynb", 5),
        ("damaged.ipynb", None),
        ("other.ipynb", None),
        ("r.ipynb", None),
    ]
    assert unread["r.ipynb", None] == "a notebook in R"
    assert "was never closed" in unread["a.ipynb", 5]


@pytest.mark.parametrize(
    ("code", "why"),
    [
        ("import keras\nprint 'loss', loss", "Python 2, which has to be converted first"),
        ("try:\n    pass\nexcept ValueError, e:\n    pass", "Python 2, which has to be converted first"),
        ("mode = 0755", "Python 2, which has to be converted first"),
        ("x = `y`", "Python 2, which has to be converted first"),
        ("if x <> y: pass", "Python 2, which has to be converted first"),
        ("if x:\n\tpass\n        pass", "Python 2, which has to be converted first"),
        ("def f(:", "not Python 3: "),
        ("x = 1\0", "no text: it has null bytes"),
        ("x = '\xe4'".encode("latin-1"), "not Python 3: "),
        ("# coding: no-such-code\n", "not Python 3: "),
        ("(" * 500 + ")" * 500, "not Python 3: "),
    ],
)
def test_files_that_are_not_python(audit, code, why):
    status, found = audit({"a.py": code, "b.py": "from keras import backend as K\nK.square(x)"})
    assert status == 0
    assert used(found) == ["square"]
    assert found["unread"][0]["why"].startswith(why)


def test_other_codings_are_read(audit):
    _, found = audit(
        {
            "a.py": b"\xef\xbb\xbffrom keras import backend as K\nK.square(1)",
            "b.py": "# -*- coding: latin-1 -*-\n# ä\nfrom keras import backend as K\nK.abs('ö')".encode("latin-1"),
            "c.py": b"from keras import backend as K\r\nK.sum(1)\r\n",
        }
    )
    assert used(found) == ["abs", "sum", "square"] or sorted(used(found)) == ["abs", "square", "sum"]


def test_folders_that_are_not_the_users(audit, tmp_path):
    (tmp_path / "env").mkdir()
    (tmp_path / "env/pyvenv.cfg").touch()
    (tmp_path / "loop").symlink_to(tmp_path)
    (tmp_path / "gone.py").symlink_to(tmp_path / "nowhere")
    code = "import keras.backend as K\nK.square(x)"
    _, found = audit({"env/a.py": code, "lib/site-packages/a.py": code, "node_modules/a.py": code, "b.py": code})
    assert used(found) == ["square"]
    assert found["unread"] == [{"file": str(tmp_path / "gone.py"), "line": 1, "why": "No such file or directory"}]


def test_nothing_is_executed_and_nothing_is_warned(tmp_path):
    (tmp_path / "a.py").write_text("import keras.backend as K\nopen('ran', 'w')\nK.square('\\d')\nassert (0, 'no')\n")
    code = (
        "import sys\nfrom dovetail.cli.main import main\nstatus = main(['k-audit', '.'])\n"
        "print(status, [m for m in ('torch', 'jax', 'tensorflow', 'keras') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.endswith("\n0 []\n")
    assert done.stderr == ""
    assert not (tmp_path / "ran").exists()


def test_names_that_define_each_other(audit):
    """Check that many names in circles take no longer than few."""
    names = [f"x{i}" for i in range(60)]
    code = "\n".join(f"{a} = {b}.T\n{b} = {a}.sum" for a in names for b in names)
    _, found = audit(f"from keras import backend as K\n{code}\nK.square(x1.mean(x2.sum))")
    assert used(found) == ["square"]


@pytest.mark.parametrize("terms", [900, 50_000])
def test_sums_of_many_terms(audit, terms):
    """Check that a sum too deep for Python to parse does not end the audit, nor a shorter one."""
    code = "import keras.backend as K\n"
    _, found = audit({"a.py": f"{code}x = {'+'.join(['K.square(x)'] * terms)}", "b.py": f"{code}K.abs(x)"})
    assert len(used(found)) == 1 + (terms if terms < 1000 else 0)
    assert len(found["unread"]) == (terms > 1000)


def test_attributes_that_define_each_other(audit):
    _, found = audit("import keras.backend as K\nself.a = self.b\nself.b = self.a\nK.square(self.a.sum(self.b.c))")
    assert used(found) == ["square"]


def test_paths_that_are_wrong(tmp_path, capsys):
    assert main(["k-audit", str(tmp_path / "nowhere")]) == 2
    assert "there is no file or folder" in capsys.readouterr().err
    assert main(["k-audit", str(tmp_path)]) == 2
    assert "has no .py file" in capsys.readouterr().err
    with pytest.raises(SystemExit) as stop:
        main(["k-audit"])
    assert stop.value.code == 2


def test_one_file_of_any_name(tmp_path, capsys):
    (tmp_path / "train").write_text("#!/usr/bin/env python\nimport keras.backend as K\nK.square(x)\n")
    assert main(["k-audit", str(tmp_path / "train")]) == 0
    assert capsys.readouterr().out.startswith("1 use of 1 function in 1 file: ")


def test_help_teaches(capsys):
    with pytest.raises(SystemExit):
        main(["k-audit", "--help"])
    text = capsys.readouterr().out
    assert "dovetail k-audit src/ --engine jax" in text
    assert "nothing is executed" in text
