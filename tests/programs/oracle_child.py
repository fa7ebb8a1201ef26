"""One old program with TensorFlow 2.21 and tf_keras, under the names of its time."""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import tensorflow.compat.v1 as tf
from tensorflow.python.ops import gen_candidate_sampling_ops, gen_random_ops

PRIME, FACTORS = 2**31 - 1, (48271, 16807)


# -- random numbers ----------------------------------------------------------------------------------------------------


def uniform(shape: Any, dtype: Any = tf.float32) -> Any:
    """Numbers between 0 and 1, each from its index."""
    place = tf.range(tf.cast(tf.reduce_prod(tf.cast(shape, tf.int64)), tf.int64), dtype=tf.int64) + 1
    found = place * FACTORS[0] % PRIME
    found = found * found % PRIME * FACTORS[1] % PRIME
    return tf.cast(tf.reshape((tf.cast(found, tf.float64) + 0.5) / 2.0**31, shape), dtype)


def normal(shape: Any, dtype: Any, part: float = 1.0) -> Any:
    """Normal numbers, of the middle part of the distribution."""
    return tf.cast(2**0.5 * tf.math.erfinv((2 * uniform(shape, tf.float64) - 1) * part), dtype)


def draw_by_place() -> None:
    """Replace TensorFlow's random ops."""
    gen: Any = gen_random_ops
    gen.random_uniform = lambda shape, dtype, **_: uniform(shape, dtype)
    gen.random_standard_normal = lambda shape, dtype, **_: normal(shape, dtype)
    gen.truncated_normal = lambda shape, dtype, **_: normal(shape, dtype, 0.9545)

    def log_uniform(true_classes: Any, num_true: int, num_sampled: int, unique: bool, range_max: int, **_: Any) -> Any:
        def counts(classes: Any) -> Any:
            c = tf.cast(classes, tf.float32)
            return num_sampled * tf.log((c + 2) / (c + 1)) / np.log(range_max + 1)

        sampled = tf.range(num_sampled, dtype=tf.int64)
        return sampled, counts(true_classes), counts(sampled)

    gen_candidate_sampling_ops.log_uniform_candidate_sampler = log_uniform


# -- names of TensorFlow -----------------------------------------------------------------------------------------------


def old_names() -> None:
    """Give `tensorflow` the names that only TensorFlow 0.x and 1.x had."""
    words: dict[str, Callable[..., Any]] = {
        "mul": tf.multiply, "sub": tf.subtract, "neg": tf.negative, "pack": tf.stack, "unpack": tf.unstack,
        "initialize_all_variables": tf.global_variables_initializer, "all_variables": tf.global_variables,
        "merge_all_summaries": tf.summary.merge_all,
        "scalar_summary": tf.summary.scalar, "histogram_summary": tf.summary.histogram,
    }  # fmt: skip
    for name, function in words.items():
        setattr(tf, name, function)
    tf.train.SummaryWriter = tf.summary.FileWriter
    concat, split, entropy = tf.concat, tf.split, tf.nn.softmax_cross_entropy_with_logits
    tf.concat = lambda *a, **k: concat(*a[::-1], **k) if a and isinstance(a[0], int) else concat(*a, **k)
    tf.split = lambda *a, **k: split(a[2], a[1], a[0], **k) if len(a) == 3 and isinstance(a[0], int) else split(*a, **k)
    tf.nn.softmax_cross_entropy_with_logits = lambda *a, **k: entropy(
        **dict(zip(("logits", "labels"), a, strict=False)), **k
    )


class Optimizer:
    """`tf.contrib.opt.ScipyOptimizerInterface`: one flat vector of all variables for SciPy."""

    def __init__(self, loss: Any, var_list: Any = None, method: str = "L-BFGS-B", options: Any = None) -> None:
        self.loss, self.variables = loss, var_list or tf.trainable_variables()
        self.gradients, self.method, self.options = tf.gradients(loss, self.variables), method, options

    def minimize(self, session: Any, feed_dict: Any = None) -> None:
        from scipy.optimize import minimize

        shapes = [v.shape.as_list() for v in self.variables]
        ends = np.cumsum([int(np.prod(shape)) for shape in shapes])

        def assign(x: Any) -> None:
            for v, part, shape in zip(self.variables, np.split(x, ends[:-1]), shapes, strict=True):
                v.load(part.reshape(shape).astype(v.dtype.as_numpy_dtype), session)

        def value(x: Any) -> Any:
            assign(x)
            loss, gradients = session.run([self.loss, self.gradients], feed_dict)
            return float(loss), np.concatenate([g.ravel() for g in gradients]).astype("float64")

        start = np.concatenate([v.ravel() for v in session.run(self.variables)]).astype("float64")
        self.options.pop("disp", None)
        assign(minimize(value, start, jac=True, method=self.method, options=self.options).x)


def by_example(logits: list[Any], targets: list[Any], weights: list[Any]) -> Any:
    """`tf.contrib.legacy_seq2seq.sequence_loss_by_example`."""
    losses = [
        w * tf.nn.sparse_softmax_cross_entropy_with_logits(labels=t, logits=x)
        for x, t, w in zip(logits, targets, weights, strict=True)
    ]
    return tf.add_n(losses) / (tf.add_n(weights) + 1e-12)


def contrib() -> Any:
    """The parts of `tf.contrib` that the programs use."""
    made = SimpleNamespace(
        rnn=tf.nn.rnn_cell,
        opt=SimpleNamespace(ScipyOptimizerInterface=Optimizer),
        legacy_seq2seq=SimpleNamespace(sequence_loss_by_example=by_example),
        framework=SimpleNamespace(get_or_create_global_step=tf.train.get_or_create_global_step),
        layers=SimpleNamespace(xavier_initializer=tf.glorot_uniform_initializer),
    )
    if importlib.util.find_spec("tf_slim"):
        from tensorflow.python.framework import ops

        ops.IndexedSlices = tf.IndexedSlices  # which tf-slim takes from there
        made.slim = importlib.import_module("tf_slim")
        made.slim.get_or_create_global_step = tf.train.get_or_create_global_step
    return made


class Digits:
    """A split of MNIST, as TensorFlow's tutorials read it."""

    def __init__(self, images: Any, labels: Any) -> None:
        self.images, self.labels, self.num_examples, self.at = images, labels, len(images), 0

    def next_batch(self, size: int, shuffle: bool = True) -> Any:
        assert not shuffle
        first, rest = self.at, self.num_examples - self.at
        if size > rest:
            self.at = size - rest
            return tuple(np.concatenate([x[first:], x[: self.at]]) for x in (self.images, self.labels))
        self.at += size
        return self.images[first : self.at], self.labels[first : self.at]


def read_data_sets(folder: str, one_hot: bool = False, validation_size: int = 5000) -> Any:
    """`tensorflow.examples.tutorials.mnist.input_data.read_data_sets`."""
    import gzip

    def read(name: str, header: int) -> Any:
        return np.frombuffer(gzip.decompress((Path(folder) / name).read_bytes())[header:], "uint8")

    def part(split: str) -> Any:
        images = read(f"{split}-images-idx3-ubyte.gz", 16).reshape(-1, 784).astype("float32") / 255
        labels = read(f"{split}-labels-idx1-ubyte.gz", 8)
        return images, np.eye(10)[labels] if one_hot else labels

    (images, labels), test = part("train"), part("t10k")
    n = validation_size
    return SimpleNamespace(
        train=Digits(images[n:], labels[n:]), validation=Digits(images[:n], labels[:n]), test=Digits(*test)
    )


# -- names of Keras ----------------------------------------------------------------------------------------------------

MOVED = {
    "keras.layers.advanced_activations": "tf_keras.layers", "keras.layers.convolutional": "tf_keras.layers",
    "keras.layers.normalization": "tf_keras.layers", "keras.engine.topology": "tf_keras.layers",
    "keras.engine": "tf_keras", "keras.utils.np_utils": "tf_keras.utils",
}  # fmt: skip
WORDS = {
    "output_dim": "units", "init": "kernel_initializer", "bias": "use_bias", "border_mode": "padding",
    "subsample": "strides", "nb_filter": "filters", "W_regularizer": "kernel_regularizer", "nb_epoch": "epochs",
    "input": "inputs", "output": "outputs",
}  # fmt: skip


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Modules of `keras` are those of tf_keras."""

    def find_spec(self, name: str, path: Any, target: Any = None) -> Any:
        if name != "keras" and not name.startswith("keras."):
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec: Any) -> ModuleType:
        name = MOVED.get(spec.name, f"tf_{spec.name}")
        found = importlib.import_module(name)
        made = ModuleType(spec.name)
        made.__dict__.update({key: value for key, value in vars(found).items() if not key.startswith("__")})
        return made

    def exec_module(self, module: ModuleType) -> None:
        pass


def translated(function: Callable[..., Any], ignored: tuple[str, ...] = ()) -> Callable[..., Any]:
    """A function that takes Keras 1's words."""

    def call(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **{WORDS.get(k, k): v for k, v in kwargs.items() if k not in ignored})

    return call


def keras1() -> None:
    """Give tf_keras the words of Keras 1."""
    import tf_keras as keras

    layers = keras.layers

    def convolution(filters: Any = None, rows: Any = None, columns: Any = None, **kwargs: Any) -> Any:
        filters, rows, columns = (
            kwargs.pop(name, value) for name, value in (("nb_filter", filters), ("nb_row", rows), ("nb_col", columns))
        )
        return translated(layers.Conv2D)(filters, (rows, columns), **kwargs)

    modes = {"concat": layers.Concatenate(-1), "sum": layers.Add(), "mul": layers.Multiply()}
    layers.merge = lambda inputs, mode="sum", concat_axis=-1: modes[mode](inputs)
    layers.Convolution2D = convolution
    layers.Dense = translated(layers.Dense)
    layers.MaxPooling2D = translated(layers.MaxPooling2D, ignored=("dim_ordering",))
    layers.BatchNormalization = translated(layers.BatchNormalization, ignored=("mode",))
    model = keras.models.Model
    model.fit = translated(model.fit)
    keras.models.Model = lambda *args, **kwargs: translated(model)(*args, **kwargs)
    keras.backend.set_image_dim_ordering = lambda order: None


def keras2() -> None:
    """Give tf_keras the names that Keras 2.0 had."""
    import tf_keras as keras

    for name in ("SGD", "RMSprop", "Adam", "Adadelta", "Adagrad", "Nadam", "Adamax"):
        setattr(keras.optimizers, name, getattr(keras.optimizers.legacy, name))
    from tf_keras.src.engine.base_layer_v1 import Layer as layer

    add_weight = layer.add_weight

    def with_shape_first(self: Any, *args: Any, **kwargs: Any) -> Any:
        if args and isinstance(args[0], tuple):
            return add_weight(self, shape=args[0], **kwargs)
        return add_weight(self, *args, **kwargs)

    layer.add_weight = with_shape_first
    sequential = keras.models.Sequential
    sequential.predict_proba = lambda self, x: self.predict(x)
    sequential.predict_classes = lambda self, x: (self.predict(x) > 0.5).astype("int32")


# -- running -----------------------------------------------------------------------------------------------------------


def code_of(path: Path) -> Any:
    """The code of a program; of a notebook, that of its cells without lines of IPython."""
    if path.suffix == ".py":
        return compile(path.read_text(), str(path), "exec")
    cells = [cell["source"] for cell in json.loads(path.read_text())["cells"] if cell["cell_type"] == "code"]
    lines = [line.rstrip("\n") for cell in cells for line in [*cell, ""]]
    return compile("\n".join("" if line[:1] in "%!" else line for line in lines), str(path), "exec")


def main(path: Path) -> None:
    """Run a program."""
    tf.disable_v2_behavior()
    draw_by_place()
    old_names()
    tf.contrib = contrib()
    reader = ModuleType("input_data")
    reader.__dict__["read_data_sets"] = read_data_sets
    import scipy

    images = scipy.misc = ModuleType("scipy.misc")
    images.__dict__["imsave"] = lambda name, pixels: None
    keras2()
    if path.stem.startswith("keras1"):
        keras1()
    import tf_keras
    from tf_keras.src.legacy_tf_layers import normalization

    sys.modules["tf_keras.legacy_tf_layers.normalization"] = normalization

    tutorial = ModuleType("tensorflow.examples.tutorials.mnist")
    tutorial.__dict__["input_data"] = reader
    for name, module in {
        "tensorflow": tf, "tensorflow.keras": tf_keras, "tensorflow.keras.layers": tf_keras.layers,
        "tensorflow.keras.models": tf_keras.models,
        "tensorflow.examples": ModuleType("tensorflow.examples"), "scipy.misc": images,
        "tensorflow.examples.tutorials": ModuleType("tensorflow.examples.tutorials"),
        "tensorflow.examples.tutorials.mnist": tutorial,
        "tensorflow.examples.tutorials.mnist.input_data": reader,
    }.items():  # fmt: skip
        sys.modules[name] = module
    if path.stem == "tf_keras_autoencoder":
        sys.modules["tensorflow.python.keras"] = tf_keras
        tf_keras.backend = sys.modules["tensorflow.python.keras.backend"] = tf_keras.src.backend
    for name in [name for name in sys.modules if name == "keras" or name.startswith("keras.")]:
        del sys.modules[name]
    sys.meta_path.insert(0, Finder())
    sys.argv = [str(path)]
    main_module = ModuleType("__main__")
    main_module.__dict__["__file__"] = str(path)
    sys.modules["__main__"] = main_module
    try:
        exec(code_of(path), main_module.__dict__)
    except SystemExit as end:
        if end.code:
            raise


if __name__ == "__main__":
    main(Path(sys.argv[1]))
