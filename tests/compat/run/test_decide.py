"""The kind of small programs, and its reason."""

from __future__ import annotations

import ast
from typing import Any

import pytest

from dovetail.compat.run.decide import KINDS, Decision, decide
from dovetail.compat.source.sources import Source
from dovetail.compat.source.uses import find

TF = "import tensorflow as tf\n"
V1 = "import tensorflow.compat.v1 as tf\n"
FILES = {
    "tf1": [
        f"{TF}x = tf.placeholder(tf.float32)",
        f"{TF}with tf.Session() as sess:\n    pass",
        f"{TF}w = tf.get_variable('w', [3])",
        f"{TF}tf.app.run(main)",
        f"{TF}flags = tf.flags\nflags.DEFINE_integer('n', 3, '')",
        f"{TF}slim = tf.contrib.slim",
        "from tensorflow.contrib import layers",
        "import tensorflow.contrib.slim as slim",
        "from tensorflow.examples.tutorials.mnist import input_data",
        f"{TF}opt = tf.train.AdamOptimizer(0.1)",
        f"{TF}y = tf.mul(a, b)",
        f"{TF}tf.scalar_summary('loss', loss)",
        f"{TF}cell = tf.nn.rnn_cell.BasicLSTMCell(3)",
        f"{TF}loss = tf.losses.softmax_cross_entropy(a, b)",
        f"{V1}x = tf.constant(3)",
        f"{V1}tf.disable_v2_behavior()",
        "from tensorflow.compat import v1 as tf\nx = tf.constant(1)",
        f"{TF}tf.compat.v1.disable_eager_execution()",
        "from tensorflow.python.platform import gfile",
        f"from keras.layers.core import Dense\n{TF}x = tf.placeholder('float')",
        f"{TF}if tf.__version__ < '2':\n    tf.logging.set_verbosity(tf.logging.INFO)",
        "from tensorflow import *\nx = placeholder('float')",
        f"{TF}tf = tf.compat.v1\nx = tf.placeholder('float')",
        f"{TF}getattr(tf, 'placeholder')('float')",
        "import importlib\ntf = importlib.import_module('tensorflow')\ntf.Session()",
        f"{TF}class A:\n    def f(self, tf=tf):\n        return tf.Session()",
    ],
    "tf2": [
        f"{TF}x = tf.constant(3.0)\nwith tf.GradientTape() as tape:\n    pass",
        f"{TF}@tf.function\ndef f(x):\n    return tf.math.log(x)",
        f"{TF}model = tf.keras.Sequential([tf.keras.layers.Dense(3)])",
        "from tensorflow.keras import layers\nlayers.Dense(3)",
        f"{TF}loss = tf.losses.mean_squared_error(a, b)\nopt = tf.optimizers.Adam()",
        f"{TF}session = tf.compat.v1.Session(config=tf.compat.v1.ConfigProto())",
        f"{TF}tf.compat.v1.logging.set_verbosity(0)",
        f"{TF}class tf1:\n    placeholder = 1\ntf1.placeholder",
        f"{TF}# tf.placeholder\nprint('tf.Session', tf.random.normal([2]))",
        "def f():\n    from tensorflow import nn\n    return nn.relu",
        f"{TF}if hasattr(tf, 'Session') or getattr(tf, 'contrib', None):\n    pass",
    ],
    "keras2": [
        "from keras.layers.core import Dense",
        "from keras.layers import Dense, merge",
        "from keras.utils import np_utils",
        "from keras.engine.topology import Layer",
        "from keras import backend as K\nK.mean(x)",
        "from tensorflow.keras import backend as K\nK.set_session(None)",
        f"{TF}loss = tf.keras.metrics.Mean()\nloss.reset_states()",
        "import keras\nmodel.fit(x, y, nb_epoch=3)",
        "from keras.layers import *\nConvolution2D(8, 3, 3, border_mode='same')",
        "from keras.optimizers import Adam\nAdam(lr=0.1)",
        "from keras.models import *\nfrom keras.layers import *\nLSTM(output_dim=3)",
        "from keras.models import *\nfrom keras.layers import *\nx = merge([a, b])",
        "from utils import *  # of keras\nK.set_session(1)",
        "import tensorflow as tf\ntf.keras.optimizers.SGD(lr=0.1, decay=1e-6)",
        "from keras.layers import Dense\nDense(output_dim=3, init='uniform')",
        "from keras.models import Model\nModel(input=a, output=b)",
        "import keras\nmodel.fit_generator(g, steps_per_epoch=3)",
        "from keras.preprocessing.image import ImageDataGenerator",
        "from keras.preprocessing.text import Tokenizer",
        "import keras\nprint(model.layers[0].output_shape)",
        "from __future__ import print_function\nfrom keras.models import Sequential",
        "from tf_keras.layers import CuDNNLSTM",
        "from keras.layers import Dense\nDense(2, input_dim=3)",
        "from keras.models import Sequential\nprint(Sequential().input_layers_node_indices)",
        "import keras\nprint(model.output_layers)",
    ],
    "keras3": [
        "import keras\nmodel = keras.Sequential([keras.layers.Dense(3)])",
        "from keras import layers, ops\nlayers.Embedding(input_dim=3, output_dim=4)",
        "from keras import layers\nlayers.RandomFlip(mode='horizontal')",
        "from keras.optimizers import Adam\nAdam(learning_rate=0.1)\nplot(lr=3, decay=2, init=1)",
        "import keras\nkeras.backend.backend(), keras.backend.epsilon()",
        "from keras.utils import to_categorical\nfrom keras.preprocessing.image import load_img",
        "from dovetail import backend as K\nK.mean(x)",
        "from keras.models import *\nfrom keras.layers import *\nx = Input((3,))\nmerge = 3\nprint(merge)",
        "from keras.models import *  # no keras.backend\nK = f()\nK.mean(x)",
        "import dovetail.compat.tensorflow.compat.v1 as tf\ntf.placeholder('float32')",
        "model.fit_generator(g, nb_epoch=2)",
        "from sklearn.svm import SVC\nSVC().predict_proba(x)",
        "print(1)",
    ],
}


def decided(*texts: str, asked: str | None = None) -> Decision:
    sources = [
        Source(f"{name}.py", (name,), text, ((None, ast.parse(text)),))
        for name, text in zip("abc", texts, strict=False)
    ]
    return decide(sources, find(sources), asked)


@pytest.mark.parametrize(("kind", "text"), [(kind, text) for kind, texts in FILES.items() for text in texts])
def test_the_kind_of_small_files(kind, text):
    found = decided(text)
    assert found.kind == kind, found.why


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (f"{TF}\nx = tf.nn.relu(tf.placeholder('float'))", "TensorFlow 1, since line 3 uses tf.placeholder"),
        (f"{V1}", "TensorFlow 1, since line 1 imports tensorflow.compat.v1"),
        (f"{TF}tf.compat.v1.placeholder(3)", "TensorFlow 1, since line 2 uses tf.compat.v1.placeholder"),
        ("import keras\nmodel.fit(\n    x, nb_epoch=3)", "Keras 2, since line 2 has nb_epoch="),
        (TF, "TensorFlow 2, since line 1 imports tensorflow, and no line a name of TensorFlow 1 alone"),
        ("print(1)", "Keras 3, since nothing in it is of TensorFlow or Keras"),
    ],
)
def test_the_reason_names_the_line(text, why):
    assert str(decided(text)) == why


def test_the_files_that_a_program_imports_count():
    found = decided("import tensorflow as tf\nimport b\nb.f(tf)", f"{TF}tf.Session()")
    assert (found.kind, found.why) == ("tf1", "line 2 of b.py uses tf.Session")


def test_keras_2_beside_tensorflow_1():
    assert decided(f"{TF}tf.Session()\nfrom keras.layers.core import Dense").uses_keras_2
    assert not decided(f"{TF}tf.Session()\nfrom keras.layers import Dense").uses_keras_2


def test_the_user_is_obeyed_and_told():
    wrong: Any = decided(f"{TF}tf.Session()", asked="keras3")
    assert wrong.kind == "keras3"
    assert wrong.why == "you say so; it looks like TensorFlow 1, since line 2 uses tf.Session"
    assert decided(f"{TF}tf.Session()", asked="tf1") == decided(f"{TF}tf.Session()")


def test_the_table_has_files_of_each_kind():
    assert {*FILES} == {*KINDS} and sum(map(len, FILES.values())) >= 40
