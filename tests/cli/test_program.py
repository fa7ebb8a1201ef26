"""`dovetail run`: scripts with Keras on Dovetail, in processes of their own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import ExitStack

import pytest

from dovetail.cli.main import main
from dovetail.cli.program import _run
from dovetail.compat.run import running
from dovetail.core.base.tracebacks import leave_out, report
from tests.libraries import require

require("keras", "it is Keras that runs on Dovetail")

SCRIPT = """
import sys, os, dovetail as dt
from beside import VALUE
print(__name__, VALUE, os.path.basename(sys.argv[0]), sys.argv[1:])
print(dt.ops.ones(2).engine, os.environ["KERAS_BACKEND"], os.environ.get("DOVETAIL_ENGINE"))
"""


@pytest.fixture
def script(tmp_path):
    (tmp_path / "beside.py").write_text("VALUE = 7\n")
    (tmp_path / "my.py").write_text(SCRIPT)
    return tmp_path / "my.py"


def run(*arguments):
    done = subprocess.run([sys.executable, "-m", "dovetail", "run", *arguments], capture_output=True, text=True)
    return done.returncode, done.stdout.splitlines(), done.stderr


def test_a_profile_is_printed_at_the_end(tmp_path):
    (tmp_path / "my.py").write_text(
        "import dovetail as dt\ndt.ops.tanh(dt.ops.ones((3, 3)))\nprint(1)\nraise SystemExit(3)"
    )
    code, said, errors = run("--trace", str(tmp_path / "trace.json"), str(tmp_path / "my.py"))
    assert (code, said) == (3, ["1"])
    assert errors.startswith("profile: ") and "Tanh" in errors and "my.py:2" in errors
    assert "Tanh" in {event["name"] for event in json.loads((tmp_path / "trace.json").read_text())["traceEvents"]}


def test_a_script_runs_with_its_arguments(script):
    code, said, _ = run(str(script), "3", "--lr", "0.1")
    assert (code, said[0]) == (0, "__main__ 7 my.py ['3', '--lr', '0.1']")
    assert said[1] == "numpy dovetail None"


def test_the_engine_may_be_one_whose_library_imports_keras(script):
    pytest.importorskip("tensorflow")
    script.write_text("import keras, dovetail as dt\nprint(keras.backend.backend(), keras.ops.ones(2).engine)")
    code, said, complaint = run(str(script), "--engine", "tensorflow")
    assert (code, said) == (0, ["dovetail tensorflow"]), complaint


@pytest.mark.parametrize("backend", ["jax", "tensorflow"])
def test_keras_beside_tensorflow_runs_on_dovetail_whatever_the_script_says(script, backend):
    script.write_text(
        f"import os\nos.environ['KERAS_BACKEND'] = {backend!r}\nimport keras\nimport numpy as np\n"
        "import tensorflow as tf\ndata = tf.data.Dataset.from_tensor_slices((np.ones((4, 2)), np.ones(4))).batch(2)\n"
        "model = keras.Sequential([keras.layers.Dense(1)])\nmodel.compile('sgd', 'mse')\n"
        "print(keras.backend.backend(), len(model.fit(data, verbose=0).history['loss']))"
    )
    code, said, complaint = run(str(script))
    assert (code, said) == (0, ["dovetail 1"]), complaint
    assert f"in place of KERAS_BACKEND={backend}" in complaint


def test_the_engine_stands_before_the_script_or_behind(script):
    pytest.importorskip("torch")
    for before, behind in (([], ["--engine", "torch"]), (["--engine", "torch"], [])):
        code, said, _ = run(*before, str(script), *behind, "--engine", "3")
        assert (code, said) == (0, ["__main__ 7 my.py ['--engine', '3']", "torch dovetail torch"])


def test_what_a_script_raises_is_its_own(script):
    script.write_text("import sys\nif len(sys.argv) > 1: sys.exit(5)\nopen('/nowhere/at/all')")
    code, _, complaint = run(str(script))
    assert code == 1 and "Traceback" in complaint and "FileNotFoundError" in complaint
    assert run(str(script), "x")[0] == 5


def test_an_import_of_a_missing_name_is_reported(script):
    pytest.importorskip("keras")
    script.write_text("from keras.models import no_such_model\nimport keras.engine")
    code, _, complaint = run("--as", "keras2", str(script))
    assert code in (1, 3) and "no_such_model" in complaint and "zip()" not in complaint


def test_wrong_calls_are_errors_in_one_line(script, capsys):
    assert main(["run", "nowhere.py"]) == 1
    assert main(["run", str(script), "--engine", "tensorflw"]) == 1
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 2 and "no file 'nowhere.py'" in said[0] and "tensorflw" in said[1]


def test_help_teaches(capsys):
    with pytest.raises(SystemExit):
        main(["run", "--help"])
    said = capsys.readouterr().out
    assert "script.py [--engine ENGINE]" in said and "KERAS_BACKEND=dovetail" in said


OLD = """
import tensorflow as tf
from helper import double
import numpy, sys
x = tf.placeholder(tf.float32, [None])
with tf.Session() as sess:
    print(sess.run(double(x), {x: [1, 2]}), sys.argv[1:], "tensorflow" in sys.modules)
"""


def test_an_old_program_runs_as_it_is(script):
    (script.parent / "helper.py").write_text("import tensorflow as tf\ndef double(x):\n    return tf.add(x, x)")
    script.write_text(OLD)
    code, said, told = run(str(script), "--engine", "numpy", "--lr", "0.1")
    assert (code, said) == (0, ["[2. 4.] ['--lr', '0.1'] False"]), told
    assert told == "dovetail: TensorFlow 1, since line 5 uses tf.placeholder; engine numpy\n"
    code, said, told = run("--as", "tf2", str(script))
    assert code == 0 and told.startswith("dovetail: TensorFlow 2, since you say so; it looks like TensorFlow 1, since ")


KERAS_2 = """
import keras, tensorflow as tf, tensorflow.keras.backend
from keras import backend as K
from keras.layers.core import Dense
from keras.utils import np_utils
from tensorflow.python.keras.layers import Dense as Same
print(K.backend(), tf.keras.backend.backend(), keras.__version__, Dense is Same is keras.layers.Dense)
print(np_utils.to_categorical([0, 1]).tolist(), K.eval(K.square(3.0)), tf.executing_eagerly())
"""


def test_a_program_of_keras_2_finds_its_names(script):
    script.write_text(KERAS_2)
    code, said, told = run(str(script))
    assert (code, said) == (0, ["tensorflow tensorflow 2.3.1 True", "[[1.0, 0.0], [0.0, 1.0]] 9.0 True"]), told
    script.write_text(KERAS_2 + "print(tf.placeholder('float32').graph is tf.get_default_graph())")
    code, said, told = run(str(script))
    assert (code, said[1:]) == (0, ["[[1.0, 0.0], [0.0, 1.0]] 9.0 False", "True"]), told


OF_TENSORFLOW = """
import numpy as np, tensorflow as tf
from tensorflow.keras.layers import Dense
x, y = np.ones((1, 1)), np.zeros((1, 1))
for made in (tf.train.GradientDescentOptimizer(0.1), tf.train.MomentumOptimizer(0.1, 0.9), tf.train.AdamOptimizer(0.1)):
    model = tf.keras.Sequential([Dense(1, kernel_initializer="ones", input_shape=(1,))])
    model.compile(made, "mse")
    model.train_on_batch(x, y)
    model.train_on_batch(x, y)
    print("%.4f" % model.get_weights()[0][0, 0])
model.compile(tf.train.FtrlOptimizer(0.1), "mse")
"""


def test_keras_2_by_itself_and_of_tensorflow(script):
    text = (
        "from {} import layers, backend as K\nK.gradients\nx = layers.Input((2, 3, 4))\nprint(layers.Dense(1).name)\n"
    )
    script.write_text(text.format("keras") + "print(K.batch_dot(K.ones((1, 2, 3, 4)), K.ones((1, 2, 4, 5))).shape)")
    assert run("--engine", "numpy", str(script))[:2] == (0, ["dense_1", "(1, 2, 3, 5)"])
    script.write_text(text.format("tensorflow.keras"))
    assert run("--engine", "numpy", str(script))[:2] == (0, ["dense"])


def test_keras_takes_the_optimizers_of_tensorflow_1(script):
    script.write_text(OF_TENSORFLOW)
    code, said, told = run(str(script), "--engine", "numpy")
    assert said == ["0.6800", "0.5000", "0.8012"], told
    assert code == 1 and "no optimizer with the steps of FtrlOptimizer: name one of keras.optimizers" in told


def test_a_program_that_misses_names_ends_with_the_list_of_them(script):
    script.write_text(
        "import tensorflow as tf\ndef f():\n    tf.placeholder(3, tf.summm)\n    tf.contrib.seq2seq.A\ntf.reduce_summ"
    )
    code, _, told = run(str(script))
    assert code == 3
    trace, _, names = told.partition("dovetail: 3 names of this program are not offered:\n")
    assert f'File "{script}", line 5, in <module>' in trace and "cli" not in trace and "frozen" not in trace
    assert [line.split()[0] for line in names.splitlines()[::2]] == [
        "tf.summm",
        "tf.contrib.seq2seq.A",
        "tf.reduce_summ",
    ]
    assert "Did you mean tf.reduce_sum" in names


def test_a_package_that_lacks_tensorflow_is_told_how_to_get_it(script):
    (script.parent / "site-packages/library").mkdir(parents=True)
    lacks = "raise ModuleNotFoundError('No module', name='tensorflow')"
    (script.parent / "site-packages/library/__init__.py").write_text(lacks)
    script.write_text("import sys\nsys.path.append(sys.path[0] + '/site-packages')\nimport library")
    assert "`dovetail run --map library` gives it Dovetail's." in run(str(script))[2]


def test_errors_in_what_a_program_imports_look_as_in_python(script):
    (script.parent / "helper.py").write_text("import beside\n1 / 0")
    script.write_text("def f():\n    import helper\nf()")
    plain = subprocess.run([sys.executable, str(script)], capture_output=True, text=True)
    assert run(str(script)) == (1, [], plain.stderr)


def test_a_file_of_python_2_is_refused_with_the_command_that_converts(script):
    script.write_text("import tensorflow as tf\nprint 'loss', 3")
    code, _, told = run(str(script))
    assert code == 1 and told.startswith(f"dovetail: {script}:2: Python 2, which has to be converted first")
    assert f"to convert it: python -m lib2to3 --write --nobackups {script}" in told
    (script.parent / "beside.py").write_text("print 'loss', 3")
    script.write_text("import beside, tensorflow as tf")
    code, _, told = run(str(script))
    assert code == 1 and "SyntaxError: Missing parentheses" in told
    assert told.endswith(f"to convert it: python -m lib2to3 --write --nobackups {script.parent}/beside.py\n")


def test_a_module_runs_and_pytest_rewrites_the_assertions_of_mapped_files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("pkg", "beside"):
        (tmp_path / name).mkdir()
    (tmp_path / "pkg/mod.py").write_text("import sys\nfrom beside.part import x\nprint(x, sys.argv, sys.path[0])")
    (tmp_path / "beside/part.py").write_text("import tensorflow as tf\nx = tf.placeholder('float32')")
    code, said, told = run("-m", "pkg.mod", "--x")
    assert code == 0 and said[0].endswith(f"['{tmp_path}/pkg/mod.py', '--x'] {tmp_path}"), told
    assert told.startswith("dovetail: TensorFlow 1, since line 2 of beside/part.py uses tf.placeholder")
    (tmp_path / "test_it.py").write_text(
        "import tensorflow as tf\ndef test():\n    x = 3\n    assert [tf.float32.name, x] == ['float32', 4]"
    )
    code, said, told = run("-m", "pytest", "-q", "-p", "no:cacheprovider", "test_it.py")
    assert told.startswith("dovetail: TensorFlow 1, since line 2 of ") and code == 1
    assert "At index 1 diff: 3 != 4" in "\n".join(said), told


LOADED = "assert not {'tensorflow', 'keras'} & {*sys.modules}"


def test_a_program_of_tensorflow_1_starts_within_a_second(script):
    compiled = os.environ | {"PYTHONDONTWRITEBYTECODE": ""}  # later runs find the bytecode of the first one
    measure = "print(sum(resource.getrusage(resource.RUSAGE_SELF)[:2]))"

    def least(*arguments):
        options = {"env": compiled, "capture_output": True, "check": True}
        runs = [subprocess.run([sys.executable, *arguments], **options) for _ in range(3)]
        return min(float(run.stdout) for run in runs)

    script.write_text(f"import resource, sys, tensorflow as tf\ntf.placeholder('float32')\n{measure}\n{LOADED}")
    assert least("-m", "dovetail", "run", str(script)) < least("-c", f"import resource, numpy, scipy\n{measure}") + 1.0


def test_an_error_of_a_program_has_its_frames_alone(script, capsys):
    hook = sys.excepthook

    def runs(text):
        script.write_text(text)
        stack = ExitStack()
        made = stack.enter_context(running(script, kind="tf1"))
        _run(made, made.run, stack)

    runs("")
    with pytest.raises(SystemExit):
        runs("raise SystemExit(2)")
    with pytest.raises(ZeroDivisionError) as caught:
        runs("1 / 0")
    assert sys.excepthook is hook
    try:
        report(ZeroDivisionError, caught.value, caught.value.__traceback__)
    finally:
        leave_out("", ())
    assert capsys.readouterr().err.splitlines()[:2] == [
        "Traceback (most recent call last):",
        f'  File "{script}", line 1, in <module>',
    ]
    script.write_text("import sys\nsys.excepthook = lambda *error: print('own', error[0].__name__)\n1 / 0")
    assert run(str(script))[:2] == (1, ["own ZeroDivisionError"])
