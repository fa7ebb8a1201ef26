"""Imports of engines' libraries: when a program first runs on them, not by imports, nor while it is built."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.libraries import require

CHECK = "loaded = sorted({'jax', 'jaxlib', 'torch', 'tensorflow'} & sys.modules.keys()); assert not loaded, loaded"

DOVETAIL = {
    "functions": [
        "import dovetail as dt; from dovetail import ops; import numpy as np",
        "w = dt.Variable(np.ones((3, 2), 'float32')); y = ops.tanh(ops.ones((2, 3))) @ w",
        "f = dt.function(lambda x: ops.softmax(ops.tanh(x @ w)))",
        "g = f.graph(dt.spec((None, 3))); g.get_operation('Tanh'); str(g)",
        "h = dt.function(lambda x: ops.map_fn(lambda row: row * 2.0, x)).graph(dt.spec((4, 3)))",
    ],
    "gradients": [
        "import dovetail as dt; from dovetail import ops",
        "w = dt.Variable([[1.0], [2.0]])",
        "with dt.GradientTape() as tape: y = ops.mean((ops.ones((2, 2)) @ w) ** 2)",
        "tape.gradient(y, w)",
    ],
    "K": [
        "from dovetail import backend as K",
        "x, w = K.placeholder((None, 3)), K.variable([[1.0], [2.0], [3.0]])",
        "y = K.mean(K.square(K.dot(x, w))); g = K.gradients(y, [w])",
        "c = K.conv2d(K.placeholder((2, 8, 8, 3)), K.ones((3, 3, 3, 4)), padding='same')",
        "K.rnn(lambda i, s: (i + s[0], [i + s[0]]), K.placeholder((2, 4, 3)), [K.zeros((2, 3))])",
        "f = K.function([x], [y, *g], updates=[K.update_add(w, K.ones_like(w))])",
        "K.eval(K.sum(K.ones((2, 2))))",
    ],
    "sessions": [
        "import dovetail.compat.tensorflow.compat.v1 as tf",
        "p = tf.placeholder(tf.float32, [None, 2]); v = tf.get_variable('v', [2, 1])",
        "hidden = tf.nn.conv2d(tf.placeholder(tf.float32, [2, 8, 8, 3]), tf.ones([3, 3, 3, 4]), 1, 'SAME')",
        "n = tf.while_loop(lambda i: i < 3, lambda i: i + 1, [tf.constant(0)])",
        "b = tf.cond(tf.reduce_sum(p) > 0, lambda: tf.reduce_max(p), lambda: tf.reduce_min(p))",
        "loss = tf.reduce_mean(tf.square(tf.matmul(p, v))) + tf.reduce_sum(hidden)",
        "train = tf.train.AdamOptimizer(0.05).minimize(loss); saver = tf.train.Saver()",
        "start = tf.global_variables_initializer(); tf.summary.scalar('loss', loss)",
        "session = tf.Session()",
    ],
    "TensorFlow 2's names": [
        "import dovetail.compat.tensorflow as tf",
        "v = tf.Variable([1.0, 2.0])",
        "f = tf.function(lambda x: tf.reduce_sum(x * v))",
        "f.graph(tf.TensorSpec([2], tf.float32))",
    ],
}

KERAS = {
    "functional": [
        "import keras_dovetail",
        "import keras",
        "keras.utils.set_random_seed(1)",
        "x = inputs = keras.Input((8, 8, 3))",
        "x = keras.layers.BatchNormalization()(keras.layers.Conv2D(4, 3, activation='relu')(x))",
        "x = keras.layers.Dropout(0.5)(keras.layers.GlobalAveragePooling2D()(x))",
        "model = keras.Model(inputs, keras.layers.Dense(3, 'softmax')(x))",
        "model.summary(print_fn=str); model.count_params(); model.get_weights()",
        "keras.models.clone_model(model); keras.models.model_from_json(model.to_json())",
        "optimizer = keras.optimizers.Adam(keras.optimizers.schedules.CosineDecay(0.1, 10))",
        "metrics = ['accuracy', keras.metrics.AUC()]",
    ],
    "sequential": [
        "import keras_dovetail, keras",
        "layers = [keras.Input((5, 4)), keras.layers.LSTM(3, return_sequences=True), keras.layers.GRU(2)]",
        "model = keras.Sequential([*layers, keras.layers.Dense(1)])",
        "attend = keras.layers.MultiHeadAttention(2, 4)",
        "y = keras.layers.RandomFlip()(keras.Input((8, 8, 3)))",
        "z = keras.ops.softmax(keras.Input((3,))); s = keras.ops.shape(z)",
        "callbacks = [keras.callbacks.EarlyStopping(), keras.callbacks.ModelCheckpoint('a.keras')]",
    ],
    "a class, and K": [
        "import keras_dovetail, keras; from dovetail import backend as K",
        "class Own(keras.Model):\n"
        "    def __init__(self): super().__init__(); self.dense = keras.layers.Dense(2)\n"
        "    def call(self, x): return K.relu(self.dense(x))",
        "model = Own(); model.build((None, 3))",
        "layer = keras.layers.Lambda(lambda x: K.square(x))(keras.Input((3,)))",
    ],
}


def run(statements: list[str]) -> None:
    """Run statements one by one in a process that names no engine; after each, list the imported libraries."""
    program = "\n".join(["import sys", *(f"{statement}\n{CHECK}" for statement in statements)])
    environment = {**os.environ, "DOVETAIL_ENGINE": "auto", "KERAS_BACKEND": ""}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment)
    assert not done.returncode, done.stderr[-3000:]


@pytest.mark.parametrize("name", DOVETAIL)
def test_programs_of_dovetail(name):
    run(DOVETAIL[name])


@pytest.mark.parametrize("name", KERAS)
def test_models_of_keras(name):
    require("keras", "it is Keras that runs on Dovetail")
    run(KERAS[name])


def test_a_named_engine_imports_its_own_library():
    require("torch", "it is about torch")
    with pytest.raises(AssertionError, match=r"AssertionError: \['torch'\]"):
        run(["import dovetail as dt", "dt.set_engine('torch')"])
