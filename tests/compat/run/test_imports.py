"""The imports of a program's files, which leave all other modules alone."""

from __future__ import annotations

import builtins
import importlib
import os
import sys
from multiprocessing import spawn
from pathlib import Path

import pytest
from dovetail.compat.tensorflow.compat import v1

import dovetail
from dovetail.compat import running
from dovetail.compat.run.imports import Imports
from dovetail.compat.tensorflow import graph_mode
from tests.compat.source.files import write


@pytest.fixture
def program(tmp_path, monkeypatch):
    """A function that writes files, and runs the first one; it returns the global names."""

    def run(*, kind="tf1", packages=(), **files: str):
        for name, text in files.items():
            path = tmp_path / f"{name}.py"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        with running(tmp_path / f"{next(iter(files))}.py", kind=kind, packages=packages) as made:
            return made.run(["1", "--two"])

    return run


@pytest.mark.parametrize(
    "text",
    [
        "import tensorflow as found",
        "import tensorflow\nfound = tensorflow",
        "import tensorflow.contrib.framework\nfound = tensorflow",
        "from tensorflow.contrib import framework as found",
        "import tensorflow.contrib.framework as found",
        "from tensorflow import nn as found",
        "from tensorflow.python.framework import ops as found",
        "from tensorflow.python import pywrap_tensorflow as found\nassert found.NewCheckpointReader",
        "import tensorflow.compat.v1 as found",
        "from tensorflow.compat import v1 as found",
        "import importlib\nfound = importlib.import_module('tensorflow')",
        "from importlib import import_module\nfound = import_module('tensorflow.nn')",
        "found = __import__('tensorflow')",
        "exec('import tensorflow as found')",
        "def f():\n    global found\n    import tensorflow as found\nf()",
        "try:\n    import tensorflow.compat.v1 as found\nexcept ImportError:\n    found = None",
        "from tensorflow.examples.tutorials.mnist import input_data as found",
        "import tensorflow.contrib.learn.python.learn.datasets.mnist as _\nfound = _",
        "from tensorflow.contrib.learn.python.learn.datasets import mnist as found",
        "import tensorflow as tf\nfound = tf.contrib.learn.datasets.mnist",
        "from tensorflow.contrib.framework.python.ops import arg_scope\nimport tensorflow.contrib.framework as found",
        "from tensorflow.contrib.slim.python.slim.data import dataset_data_provider as found",
        "from tensorflow.contrib.slim.python.slim.data import dataset\nfound = dataset\nassert dataset.Dataset",
        "from tensorflow.contrib.slim.python.slim.data.tfexample_decoder import TFExampleDecoder\n"
        "import tensorflow.contrib.slim.python.slim.data.prefetch_queue as found\nfound.prefetch_queue",
        "from tensorflow.contrib.slim.python.slim.nets import vgg as found",
    ],
)
def test_every_form_of_import(program, text):
    before = dict(sys.modules)
    assert program(a=text)["found"].__name__.startswith("dovetail.compat.tensorflow")
    assert {name for name in sys.modules if name.partition(".")[0] == "tensorflow"} <= {*before}
    assert builtins.__import__.__module__ == "builtins"


def test_the_view_is_that_of_the_kind(program):
    text = "import tensorflow as tf"
    assert program(a=text, kind="tf1")["tf"] is v1
    assert program(a=text, kind="tf2")["tf"].__name__ == "dovetail.compat.tensorflow"


def test_the_version_is_that_of_the_kind(program):
    text = "import tensorflow as tf\nfound = tf.__version__, tf.VERSION"
    assert program(a=text)["found"] == ("1.15.5", "1.15.5")
    assert program(a=text, kind="tf2")["found"][0] == v1.__version__ != "1.15.5"


def test_the_graph_is_open_before_the_first_line(program):
    text = "import tensorflow as tf\nx = tf.zeros([2])\ngraph = tf.get_default_graph()"
    found = program(a=text)
    assert found["x"].graph is found["graph"]
    assert v1.executing_eagerly()
    assert program(a=text.replace("get_default_graph", "executing_eagerly"), kind="tf2")["graph"]


def test_the_programs_own_modules_are_mapped_and_forgotten(program):
    files = {
        "a": "import os, b\nfrom pkg import c\nfrom pkg.deep.d import tf as last\nfound = [b.tf, c.tf, last]",
        "b": "import tensorflow as tf",
        "pkg/__init__": "",
        "pkg/c": "from .deep.d import tf",
        "pkg/deep/d": "import tensorflow as tf",
    }
    found = program(**files)
    assert found["found"] == [v1] * 3
    assert "__builtins__" in vars(found["os"]) and vars(found["os"])["__builtins__"] == vars(builtins)
    assert not {"b", "pkg", "pkg.c", "pkg.deep"} & {*sys.modules}


DTYPE = b"cnumpy\ndtype\nU\x02f8K\x00K\x01\x87R(K\x03U\x01<NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb"
NUMBERS = b"\x00\x00\x00\x00\x00\x00\xf0?\x00\x00\x00\x00\x00\x00\x00@"
EMPTY = b"cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\x00\x85U\x01b\x87R"
OF_NUMPY_1 = {  # pickles as Python 2 wrote them → what they are
    b"\x80\x02" + EMPTY + b"(K\x01K\x02\x85" + DTYPE + b"\x89U\x10" + NUMBERS + b"tb.": [1.0, 2.0],
    b"\x80\x02cnumpy.core.multiarray\nscalar\n" + DTYPE + b"U\x08" + NUMBERS[8:] + b"\x86R.": 2.0,
}
CLASSES = {b"cnumpy.polynomial.legendre\nlegadd\n.": "legadd", b"cscipy.spatial.distance\ncdist\n.": "cdist"}


@pytest.mark.parametrize("load", ["pickle.loads(data, ", "pickle._loads(data, ", "pickle.Unpickler(io.BytesIO(data), "])
def test_a_program_unpickles_what_numpy_1_wrote(program, load):
    last = ".load()" if "Unpickler" in load else ""
    made = program(
        a="import io, pickle\nimport numpy as np\nragged = np.array([[1, 2], [3]]), np.float\n"
        f"values = [{load}encoding='latin1'){last} for data in {[*OF_NUMPY_1, *CLASSES]}]"
    )
    array, number, *classes = made["values"]
    assert [array.tolist(), number] == [*OF_NUMPY_1.values()]
    assert [each.__name__ for each in classes] == [*CLASSES.values()]


def test_folders_that_the_program_adds_are_its_own(tmp_path):
    files = {
        "scripts/train.py": "import os, sys\nsys.path.append(os.path.join(os.path.dirname(__file__), '..'))\n"
        "from library import nets\nfound = nets.found",
        "library/nets.py": "import numpy as np\nimport tensorflow as tf\nfrom . import more\n"
        "found = tf, more.tf, np.float",
        "library/more.py": "import tensorflow as tf\nx = tf.placeholder('float')",
    }
    write(tmp_path, files)
    with running(tmp_path / "scripts/train.py") as made:
        assert made.run()["found"] == (v1, v1, float)
    assert str(made.decision) == f"TensorFlow 1, since line 2 of {tmp_path}/library/more.py uses tf.placeholder"


def test_a_link_to_a_program_runs_as_the_program(tmp_path):
    write(tmp_path, {"lib/a.py": "import b\nfound = b.tf", "lib/b.py": "import tensorflow as tf\ntf.placeholder"})
    (tmp_path / "main.py").symlink_to(tmp_path / "lib/a.py")
    with running(tmp_path / "main.py") as made:
        assert made.run()["found"] is v1


def test_dovetail_is_no_part_of_a_program_around_it():
    root = Path(dovetail.__file__).parents[1]
    imports = Imports("tf1", [root])
    assert imports.covers("own", str(root / "own.py"))
    assert not imports.covers("dovetail.ops", str(root / "dovetail/ops/__init__.py"))
    assert not imports.covers("other", str(root / "site-packages/other.py"))


@pytest.mark.parametrize("first", ["", "if __name__ != '__main__': raise ImportError\n"])
def test_modules_with_relative_imports_run_by_name(tmp_path, monkeypatch, first):
    """Check `-m` in packages and in plain folders."""
    main = f"{first}from . import net\nfrom .net import tf as other\nfound = net.tf, other, np.float\nimport sys"
    write(
        tmp_path, {"pkg/train.py": f"import numpy as np\n{main}", "pkg/net.py": "import tensorflow as tf\ntf.Session"}
    )
    monkeypatch.chdir(tmp_path)
    for name in ("plain", "package"):
        write(tmp_path, {"pkg/__init__.py": ""} if name == "package" else {})
        with running("pkg/train.py", folder=".") as made:
            assert str(made.decision) == "TensorFlow 1, since line 2 of pkg/net.py uses tf.Session"
            assert made.run_module("pkg.train")["found"] == (v1, v1, float)


@pytest.mark.parametrize(
    "text",
    [
        "exec('import tensorflow as found')",
        "names = {}\nexec('import tensorflow as found', names)\nfound = names['found']",
        "found = eval('__import__(\"tensorflow\")')",
        "exec(compile(open(__file__.replace('a.py', 'b.py')).read(), 'b', 'exec'))",
        "import importlib.util\nspec = importlib.util.spec_from_file_location('c', __file__.replace('a.py', 'b.py'))\n"
        "module = importlib.util.module_from_spec(spec)\nspec.loader.exec_module(module)\nfound = module.found",
        "from importlib.machinery import SourceFileLoader\n"
        "import types\nmodule = types.ModuleType('c')\n"
        "SourceFileLoader('c', __file__.replace('a.py', 'b.py')).exec_module(module)\nfound = module.found",
        "from importlib import util, reload\nfound = __import__('tensorflow') if util.find_spec('json') else reload",
        "import runpy\nfound = runpy.run_path(__file__.replace('a.py', 'b.py'), globals())['found']",
    ],
)
def test_code_that_a_program_makes_is_mapped(program, text):
    assert program(a=text, b="import tensorflow as found")["found"] is v1


@pytest.mark.parametrize(
    "data",
    [
        b"\xef\xbb\xbfimport tensorflow as found\nname = '\xc3\xa4'",
        b"# -*- coding: latin-1 -*-\nimport tensorflow as found\nname = '\xe4'",
        b"#!/usr/bin/env python\r\n# vim: set fileencoding=cp1252 :\r\nimport tensorflow as found\r\nname = '\xe4'\r\n",
        b"!pip install x\nimport tensorflow as found\nname = '\xc3\xa4'",
    ],
)
def test_codings_of_a_program(tmp_path, data):
    write(tmp_path, {"a.py": data, "b.py": data})
    for main in (tmp_path / "a.py", tmp_path / "c.py"):
        write(tmp_path, {"c.py": "from b import found, name"})
        if b"!pip" in data and main.name == "c.py":
            continue  # only the file that runs may have lines of IPython
        with running(main, kind="tf1") as made:
            names = made.run()
        assert (names["found"], names["name"]) == (v1, "ä")


def test_packages_elsewhere_are_mapped_if_they_are_named(program, tmp_path_factory, monkeypatch):
    folder = tmp_path_factory.mktemp("elsewhere") / "site-packages"
    folder.mkdir()
    (folder / "installed_library.py").write_text(
        "try:\n    import tensorflow as tf\nexcept ImportError:\n    tf = None"
    )
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.setitem(sys.modules, "tensorflow", None)  # an import of it fails
    text = "import installed_library\ntf = installed_library.tf"
    assert program(a=text, packages=["installed_library"])["tf"] is v1
    assert program(a=text)["tf"] is None


def test_packages_beside_the_program_are_mapped_if_they_import_tensorflow(tmp_path, monkeypatch):
    """Check folders of PYTHONPATH, also one that pip filled, and packages with compiled parts."""
    library = {
        "__init__.py": "from .net import *",
        "net.py": "def build():\n    import tensorflow as tf\n    return tf",
    }
    files = {f"own/library/{name}": text for name, text in library.items()}
    files |= {"own/plain/__init__.py": "import os", "own/fast/__init__.py": "try: import keras\nexcept: pass"}
    files |= {"own/fast/inner.so": "", "pip/added/__init__.py": "try: import keras\nexcept: pass"}
    files |= {"pip/added-1.dist-info/METADATA": "", "own/library/more.py": "import tensorflow as tf\ntf.placeholder"}
    names = "library, library.more, plain, fast, added"
    write(tmp_path, files | {"mine/a.py": f"import {names}\nfound = library.build()\nmodules = [{names}]"})
    for folder in ("own", "pip"):
        monkeypatch.syspath_prepend(tmp_path / folder)
    with running(tmp_path / "mine/a.py") as made:
        names = made.run()
    assert names["found"] is v1 and str(made.decision).endswith("own/library/more.py uses tf.placeholder")
    mapped = [vars(each)["__builtins__"] is not vars(builtins) for each in names["modules"]]
    assert mapped == [True, True, False, False, False]


def test_the_main_module_is_as_python_makes_it(program, tmp_path):
    before = [*sys.argv], [*sys.path], sys.modules["__main__"]
    found = program(
        a="import sys\nmain, argv, first = sys.modules['__main__'], [*sys.argv], sys.path[0]\nname = __name__, __file__"
    )
    assert found["name"] == ("__main__", str(tmp_path / "a.py"))
    assert found["argv"] == [str(tmp_path / "a.py"), "1", "--two"] and found["first"] == str(tmp_path)
    assert vars(found["main"]) is found
    assert ([*sys.argv], [*sys.path], sys.modules["__main__"]) == before


@pytest.mark.parametrize("kind", ["tf1", "tf2"])
def test_the_graph_of_a_program_is_closed_after_it(program, kind):
    graph_mode.close_graph()
    try:
        found = program(a="import tensorflow as tf\nfound = tf.compat.v1.placeholder('float32').graph", kind=kind)
        assert len(found["found"].operations) == 1
        assert graph_mode.graph() is None and graph_mode.is_eager()
    finally:
        graph_mode.IS_EAGER.set(False)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("from tensorflow.contrib import no_such", "'tensorflow.contrib.no_such': tf.contrib.no_such is not offered. "),
        ("import tensorflow.contrib.no_such.python.ops", "No module or name 'tensorflow.contrib.no_such"),
        ("from tensorflow import reduce_summ", "Did you mean tf.reduce_sum"),
        ("import tensorflow.nn.relu", "'tensorflow.nn.relu': it is a name, but no module"),
    ],
)
def test_what_is_not_offered_says_what_to_write(program, text, said):
    with pytest.raises(ImportError, match="No module or name") as caught:
        program(a=text)
    assert said in str(caught.value)


@pytest.mark.parametrize("text", ["raise ImportError('it needs a library')", "import no_such_library"])
def test_an_error_inside_of_a_module_is_not_taken_for_its_absence(tmp_path, monkeypatch, text):
    write(tmp_path, {"around/__init__.py": "", "around/part.py": text})
    monkeypatch.syspath_prepend(tmp_path)
    around, imports = importlib.import_module("around"), Imports("tf1")
    with pytest.raises(ImportError, match=r"a library|no_such_library"):
        imports.member(around, "around", "part")
    with pytest.raises(AttributeError):
        imports.member(around, "around", "no_such")


def test_wrong_kinds_and_files_are_refused(tmp_path):
    with pytest.raises(ValueError, match="the kind must be one of tf1, keras2, tf2, keras3, not 'tf3'"):
        running(tmp_path / "a.py", kind="tf3").__enter__()
    with pytest.raises(FileNotFoundError, match="there is no file"):
        running(tmp_path / "a.py").__enter__()
    with running("tf2") as made:
        assert made.import_module("tensorflow").__name__ == "dovetail.compat.tensorflow"
        with pytest.raises(ValueError, match="there is no file to run"):
            made.run()


@pytest.mark.parametrize("start", ["spawn", "forkserver", "fork"])
def test_processes_of_a_program_are_mapped(tmp_path, start):
    files = {
        "a.py": f"""
import multiprocessing, sys
import tensorflow as tf
from b import version
def work(x, queue):
    queue.put((x + tf.Session().run(tf.constant(1)), version(), __name__, sys.argv[1:]))
if __name__ == "__main__":
    context = multiprocessing.get_context("{start}")
    queue = context.Queue()
    process = context.Process(target=work, args=(2, queue))
    process.start()
    process.join(200)
    code = process.exitcode
    found = queue.get(timeout=20) if code == 0 else None
""",
        "b.py": "import tensorflow as tf\ndef version():\n    return tf.VERSION",
    }
    write(tmp_path, files)
    before = spawn.get_preparation_data
    with running(tmp_path / "a.py") as made:
        names = made.run(["own"])
    name = "__main__" if start == "fork" else "__mp_main__"
    assert (names["code"], names["found"]) == (0, (3, "1.15.5", name, ["own"]))
    assert spawn.get_preparation_data is before and "DOVETAIL_RUN" not in os.environ


def test_a_package_that_is_not_installed_is_missing_also_if_old_names_of_it_are_known(monkeypatch, tmp_path):
    write(tmp_path, {"torn.py": "import no_such_part", "whole/__init__.py": ""})
    monkeypatch.syspath_prepend(tmp_path)
    old = type("Old", (), {"part": "its part"})
    imports = Imports("tf1", proxies=dict.fromkeys(("no_such_package", "torn", "whole"), old))
    for name, missing in (
        ("no_such_package", "no_such_package"),
        ("no_such_package.part", "no_such_package"),
        ("torn", "no_such_part"),
    ):
        with pytest.raises(ModuleNotFoundError, match=f"No module named '{missing}'"):
            imports.import_statement(name)
    assert imports.import_statement("whole") is old and imports.import_module("whole.part") == "its part"
