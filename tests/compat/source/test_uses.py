"""The uses of K and of TensorFlow that the reader finds in programs."""

from __future__ import annotations

import pytest

from dovetail.compat.source.sources import read
from dovetail.compat.source.uses import Use, find, of_k, of_tensorflow
from tests.compat.source.files import write


@pytest.fixture
def find_in(tmp_path):
    """A function that writes files, and finds the uses of K in their folder."""

    def run(files: str | dict) -> list[Use]:
        write(tmp_path, {"a.py": files} if isinstance(files, str) else files)
        return of_k(find(read([tmp_path])[0]))

    return run


def used(found: list[Use], how: str = "used") -> list[str]:
    """The functions used, once for each use, in alphabetical order."""
    return sorted(use.name for use in found if use.name and use.how == how)


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
def test_every_form_of_import(find_in, code):
    found = find_in(code)
    assert used(found) == ["square"]


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
def test_what_is_not_k(find_in, code):
    found = find_in(code)
    assert found == []


def test_builtins_are_those_of_k_after_a_star_import(find_in):
    found = find_in("from keras.backend import *\nsum(abs(x))\nlen(x)\ndef max(x): pass\nmax(x)")
    assert used(found) == ["abs", "sum"]


def test_a_function_under_another_name(find_in):
    found = find_in("from keras import backend as K\nf = K.square\nf(1)\nf = K.square\ng = K.abs\ng = len\ng(2)")
    assert used(found) == ["abs", "square", "square", "square"]


def test_names_go_through_the_files_of_a_project(find_in):
    found = find_in(
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


def test_keras_own_sources(find_in):
    """Check a copy of Keras in the tree: its relative imports are imports of K."""
    found = find_in(
        {
            "keras/__init__.py": "",
            "keras/backend/__init__.py": "from .tensorflow_backend import *",
            "keras/backend/tensorflow_backend.py": "def square(x): return x * x",
            "keras/layers/__init__.py": "",
            "keras/layers/core.py": "from .. import backend as K\nK.square(1)",
        }
    )
    assert used(found) == ["square"]


def test_what_is_only_imported(find_in):
    found = find_in("from keras.backend import square, abs, tensorflow_backend\nabs(x)")
    assert used(found) == ["abs"]
    assert used(found, "imported") == ["square"]


def test_replaced_functions(find_in):
    found = find_in("""
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
    delattr(K, "no_such", *x)
""")
    assert used(found, "replaced") == ["elu", "gradients", "my_own", "no_such", "relu", "tanh", "update", "update_add"]
    assert used(found) == ["my_own", "update"]


def test_k_that_comes_from_elsewhere(find_in):
    found = find_in(
        {
            "a.py": "from some.where import *  # keras\nK.square(x)\nK.no_such(x)",
            "b.py": "from some.where import K  # keras\nK.abs(x)",
            "c.py": "def get(**kwargs):  # of keras\n    backend = kwargs['backend']\n    backend.sum(x)",
        }
    )
    assert used(found, "assumed") == ["abs", "square", "sum"]


def test_hints(find_in):
    found = find_in("""
import tensorflow as tf
import keras.backend as K
from keras.backend import tf as T
f(K)
getattr(K, name)
vars(K)[name]
K.tf.Session(config=tf.ConfigProto())
tf.compat.v1.placeholder
""")
    hints = [(use.how, use.place.line) for use in found if not use.name]
    assert hints == [("handed on", 5), ("dynamic", 6), ("dynamic", 7), ("past", 8), ("past", 9)]
    assert used(found) == ["tf"]


def test_names_that_may_be_absent(find_in):
    """Check that a program may ask for a name, and that attributes of every module are none of K's names."""
    found = find_in(
        "import keras.backend as K\nhasattr(K, 'a')\nf = getattr(K, 'b', None)\nprint(K.__name__, K.__file__)"
    )
    assert found == []


@pytest.mark.parametrize(
    ("code", "names"),
    [
        ("import tensorflow as tf\ntf.nn.relu(tf.abs(x))", ["abs", "nn.relu"]),
        ("from tensorflow import nn, abs\nnn.relu(x)", ["abs", "nn.relu"]),
        ("import tensorflow.contrib.slim", ["contrib.slim"]),
        ("import tensorflow.contrib.slim as slim\nslim.conv2d(x)", ["contrib.slim.conv2d"]),
        ("import tensorflow as tf\ngetattr(tf.nn, 'relu')(x)", ["nn.relu"]),
        ("import tensorflow as tf\ngetattr(tf.nn, name)(x)", ["nn"]),
        ("import tensorflow as tf\ntf.app.x = 1\ntf.keras.backend.abs(x)", []),
        ("import tensorflow as tf\ntry: pass\nexcept Exception as tf: tf.nn", ["nn"]),
        ("import tensorflow as tf\nwith a as tf: tf.nn\ndef f(*tf): tf.abs(x)", ["nn"]),
        ("import tensorflow as tf\nmatch x:\n    case [tf]: tf.nn\n    case {'a': int() as t}: t.abs(x)", ["nn"]),
        (
            "import tensorflow as tf\ndef f(x=tf.abs, *, y: tf.int32 = tf.ones): return y(x)",
            ["abs", "int32", "ones"],
        ),
    ],
)
def test_names_of_tensorflow(tmp_path, code, names):
    write(tmp_path, {"a.py": code})
    found = sorted({use.name for use in of_tensorflow(find(read([tmp_path])[0]))})
    assert found == names


def test_names_that_define_each_other(find_in):
    """Check that many names in circles take no longer than few."""
    names = [f"x{i}" for i in range(60)]
    code = "\n".join(f"{a} = {b}.T\n{b} = {a}.sum" for a in names for b in names)
    found = find_in(f"from keras import backend as K\n{code}\nK.square(x1.mean(x2.sum))")
    assert used(found) == ["square"]


@pytest.mark.parametrize("terms", [900, 50_000])
def test_sums_of_many_terms(find_in, terms):
    """Check that a sum too deep for Python to parse does not end the reading, nor a shorter one."""
    code = "import keras.backend as K\n"
    found = find_in({"a.py": f"{code}x = {'+'.join(['K.square(x)'] * terms)}", "b.py": f"{code}K.abs(x)"})
    assert len(used(found)) == 1 + (terms if terms < 1000 else 0)


def test_attributes_that_define_each_other(find_in):
    found = find_in("import keras.backend as K\nself.a = self.b\nself.b = self.a\nK.square(self.a.sum(self.b.c))")
    assert used(found) == ["square"]
