"""Suites of other people, which need packages that import Keras by themselves."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
from urllib.error import URLError

import pytest

from dovetail.compat.run.suites import add_ons, packages_named, suite_files
from dovetail.compat.source.sources import read
from tests.compat import suites
from tests.compat.source.files import write
from tests.libraries import require

INSTALLED = {
    "first/__init__.py": "from .inner import layer\nfrom second.part import Twice",
    "first/inner/__init__.py": "",
    "first/inner/layer.py": "if True:\n    from tensorflow import keras",
    "second/__init__.py": "",
    "second/part.py": "",
    "second/lazy.py": "import keras",
    "third.py": "try:\n    import keras\nexcept ImportError:\n    keras = None",
    "progress/__init__.py": "def f():\n    import keras",
    "progress/keras.py": "import keras",
    "tensorflow_data/__init__.py": "import tensorflow",
}


@pytest.fixture
def site(tmp_path, monkeypatch):
    write(tmp_path, {f"site-packages/{name}": text for name, text in INSTALLED.items()})
    monkeypatch.syspath_prepend(tmp_path / "site-packages")
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    ("text", "packages"),
    [
        ("import first", ["first"]),
        ("def f():\n    from first.inner import layer\nimport third, os, numpy", ["third", "first"]),
        ("import progress, tensorflow_data, second, keras, dovetail, no_such_package", []),
    ],
)
def test_packages_that_import_keras_at_once(site, tmp_path, text, packages):
    write(tmp_path, {"test_it.py": text})
    assert add_ons(read([tmp_path / "test_it.py"])[0]) == packages


def test_packages_that_add_ons_import(site, tmp_path):
    write(tmp_path, {"site-packages/second/part.py": "import third", "test_it.py": "import first.inner"})
    write(tmp_path, {"site-packages/second/__init__.py": "from .part import third\nimport keras"})
    assert add_ons(read([tmp_path / "test_it.py"])[0]) == ["first", "second", "third"]


def test_files_of_a_suite(site, tmp_path):
    write(tmp_path, {"suite/test_a.py": "", "suite/pkg/b.py": "", "suite/examples/old.py": "", "suite/c.ipynb": "{}"})
    folder = tmp_path / "suite"
    assert suite_files(["-q", "nothing.py"], folder) == [folder / "test_a.py", folder / "pkg/b.py"]
    asked = [str(folder / "examples/old.py") + "::test"]
    assert suite_files(asked, folder)[2:] == [folder / "examples/old.py"]
    assert packages_named(["--pyargs", "-q", "first.inner", "a/b.py", "absent"]) == ["first"]
    assert packages_named(["first"]) == []


FILES = {
    "suite/test_it.py": """
import numpy as np
from bert import model
def test():
    assert model().predict(np.ones((1, 2)))
""",
    "suite/bert/__init__.py": """
from tensorflow import keras
from tensorflow.keras import backend as K
from twice import Twice
def model():
    return keras.Sequential([keras.Input((2,)), Twice(), keras.layers.Lambda(K.tanh)])
""",
    "suite/examples/old.py": "import tensorflow as tf\ntf.placeholder",
    "site-packages/twice/__init__.py": """
from tensorflow import keras
from deep import K
class Twice(keras.layers.Layer):
    def call(self, x): return K.sum(x, -1, keepdims=True)
""",
    "site-packages/deep.py": "from keras import backend as K",
    "site-packages/lazy.py": """
def load():
    raise ModuleNotFoundError("No module 'keras.api'", name='keras.api')
load()
""",
}
RUN = "-m", "dovetail", "run", "--engine", "numpy", "-m", "pytest", "-q", "-p", "no:cacheprovider"


def test_a_suite_runs_without_options(tmp_path):
    require("keras", "it is Keras that runs on Dovetail")
    write(tmp_path, FILES)
    path = os.pathsep.join([str(tmp_path / "site-packages"), os.environ.get("PYTHONPATH", "")])
    settings = os.environ | {"PYTHONPATH": path}
    command = [sys.executable, *RUN]
    options = {"cwd": tmp_path / "suite", "env": settings, "capture_output": True, "text": True}
    done = subprocess.run(command, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr.startswith("dovetail: Keras 2, since line 6 of bert/__init__.py"), done.stderr
    write(tmp_path, {"suite/bert/__init__.py": "import lazy"})
    said = subprocess.run(command, **options).stdout
    assert "lazy imports keras by itself; `dovetail run --map lazy` gives it Dovetail's." in said


def test_tests_that_the_registry_lacks_come_from_a_repository_or_the_error_says_what_to_do(
    tmp_path, monkeypatch, capsys
):
    def packed(address, timeout):
        write(tmp_path / "of_it", {"part-c0ffee/tests/test_it.py": "", "part-c0ffee/part.py": ""})
        archive = tmp_path / "packed.tar.gz"
        with tarfile.open(archive, "w:gz", pax_headers={"comment": "facade"}) as made:
            made.add(tmp_path / "of_it", ".")
        assert address == "https://github.com/some/part/archive/c0ffee.tar.gz"
        return open(archive, "rb")

    def refused(address, timeout):
        raise URLError("no network")

    folder = tmp_path / "sources"
    (folder / "part-1.0").mkdir(parents=True)
    suite = suites.Suite(repository="some/part/c0ffee")
    monkeypatch.setattr(suites, "urlopen", refused)
    for name in ("part", "part==1.0"):
        with pytest.raises(OSError, match=r"lacks tests of part.*no network.*put its tests, or all of it, into"):
            suites.unpacked(name, suite, folder)
    monkeypatch.setattr(suites, "urlopen", packed)
    assert sorted(path.name for path in suites.unpacked("part", suite, folder).iterdir()) == ["part.py", "tests"]
    assert [path.name for path in suites.unpacked("part==1.0", suite, folder).iterdir()] == ["tests"]
    assert "part-1.0 has the tests of the commit facade of some/part." in capsys.readouterr().err
    write(folder, {"part-2.0/tests/other.py": ""})
    found = suites.unpacked("part==2.0", suite._replace(lacks="test_it.py"), folder) / "tests"
    assert sorted(path.name for path in found.iterdir()) == ["other.py", "test_it.py"]
    monkeypatch.setattr(suites, "urlopen", refused)
    assert suites.unpacked("part==1.0", suite, folder) == folder / "part-1.0"
