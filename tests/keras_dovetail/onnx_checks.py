"""Models on Dovetail that leave as ONNX files: run with a folder.  Prints the problems, {"check name": traceback}."""

from __future__ import annotations

import os
import re
import sys
import traceback
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

if os.environ["KERAS_BACKEND"] == "dovetail":
    import keras_dovetail  # noqa: F401  first: it makes Keras run on Dovetail

import keras
import numpy as np
from keras import layers

import dovetail as dt
from tests.formats.onnx.running import onnx, session, trained, types_in
from tests.keras_backends import tell

# shapes and dtypes of the inputs: layers, each of which becomes a model of its own
LAYERS = """
4: Dense(3) Activation("gelu") ActivityRegularization() AlphaDropout(0.1) Dropout(0.3) GaussianDropout(0.1)
4: GaussianNoise(0.1) BatchNormalization() ELU() EinsumDense("ab,bc->ac",3) Identity() LayerNormalization() LeakyReLU()
4: Normalization(mean=0.5,variance=2.0) PReLU() RMSNormalization() ReLU(6.0) RepeatVector(3) Rescaling(2.0,1.0)
4: Softmax() SpectralNormalization(layers.Dense(3)) UnitNormalization() Lambda(lambda	x:x*2) GroupNormalization(2)
4: Discretization([-1.0,0.0,1.0]) Reshape((2,2)) CategoryEncoding(4,"multi_hot")
6,4: AveragePooling1D(2) Conv1D(3,2,padding="causal") Conv1D(3,3,strides=2,padding="same",activation="relu")
6,4: Conv1DTranspose(3,3,2,"same") Cropping1D() DepthwiseConv1D(3) SeparableConv1D(3,2) GlobalAveragePooling1D()
6,4: GlobalMaxPooling1D() MaxPooling1D() Flatten() LSTM(5) LSTM(5,return_sequences=True,go_backwards=True) GRU(5)
6,4: GRU(5,reset_after=False) SimpleRNN(5) Bidirectional(layers.LSTM(5)) RNN(layers.LSTMCell(5)) Masking()
6,4: Permute((2,1))
6,4: RNN(layers.StackedRNNCells([layers.GRUCell(3),layers.SimpleRNNCell(2)])) SpatialDropout1D(0.2) UpSampling1D()
6,4: TimeDistributed(layers.Dense(3)) ZeroPadding1D() AdaptiveAveragePooling1D(3) AdaptiveMaxPooling1D(2)
none,4: Conv1D(3,2) LSTM(5) GRU(5,return_sequences=True) GlobalAveragePooling1D() Dense(3) LayerNormalization()
8,8,3: AveragePooling2D(3,2,"same") BatchNormalization() CenterCrop(4,5) Conv2D(4,3) Conv2D(3,3,2,"same",groups=3)
8,8,3: Conv2D(4,3,dilation_rate=2) Conv2DTranspose(4,3,2) Conv2DTranspose(4,3,2,"same") Cropping2D() DepthwiseConv2D(3)
8,8,3: GlobalAveragePooling2D() GlobalMaxPooling2D(keepdims=True) MaxPooling2D(3,2,"same") MaxPooling2D()
8,8,3: SeparableConv2D(4,3) SpatialDropout2D(0.2) UpSampling2D() UpSampling2D(2,interpolation="bilinear")
8,8,3: ZeroPadding2D()
8,8,3: Resizing(5,6) Resizing(5,6,"nearest") AdaptiveAveragePooling2D(3) AdaptiveMaxPooling2D(2) GroupNormalization(3)
8,8,3: RandomCrop(4,4) RandomFlip() RandomRotation(0.1) RandomZoom(0.1) RandomTranslation(0.1,0.1) RandomContrast(0.1)
8,8,3: RandomBrightness(0.1) RandomShear(0.1) RandomErasing() RandomGrayscale() RandomHue(0.1) RandomInvert(0.1)
8,8,3: RandomSharpness(0.1) RandomPosterization(4) RandomSaturation(0.1) RandomPerspective() RandomColorJitter()
8,8,3: RandomColorDegeneration(0.1) RandomGaussianBlur() RandomElasticTransform() AutoContrast() AugMix() RandAugment()
8,8,3: Solarization() CutMix() MixUp() Pipeline([layers.Rescaling(2.0)])
4,4,4,2: AveragePooling3D(2) Conv3D(3,2) Conv3DTranspose(3,2,2) Cropping3D() GlobalAveragePooling3D()
4,4,4,2: GlobalMaxPooling3D()
4,4,4,2: MaxPooling3D(2) SpatialDropout3D(0.2) UpSampling3D() ZeroPadding3D() AdaptiveAveragePooling3D(2)
4,4,4,2: AdaptiveMaxPooling3D(2) ConvLSTM2D(3,2)
3,4,2: ConvLSTM1D(3,2)
2,3,3,3,2: ConvLSTM3D(2,2)
4 4: Add() Average() Concatenate() Dot(1) Maximum() Minimum() Multiply() Subtract()
5,8 6,8: Attention() AdditiveAttention() MultiHeadAttention(2,4) GroupQueryAttention(4,4,2)
512: MelSpectrogram(64,32,num_mel_bins=8,sampling_rate=8000,max_freq=4000)
512,1: STFTSpectrogram("log",64,32,64) STFTSpectrogram("magnitude",64,32,64)
5:int32: Embedding(9,3) ReversibleEmbedding(9,3)
"""


ABSENT = {  # layers that are not in the table → why
    **dict.fromkeys(("StringLookup", "TextVectorization"), "ONNX Runtime has no tables of strings"),
    **dict.fromkeys(("Hashing", "HashedCrossing"), "Keras hashes the text of values by TensorFlow, outside of models"),
    "IntegerLookup": "Keras looks up by tables of TensorFlow, outside of models",
    "ContrastLimitedAdaptiveHistogramEqualization": "Keras computes it outside of models",
    "Equalization": "Keras makes no model of it: its output is its input",
    "MaxNumBoundingBoxes": "it takes dicts of boxes, and has no model of its own",
    **dict.fromkeys(("Layer", "InputLayer", "InputSpec", "Wrapper"), "a base or an input, no layer of its own"),
    **dict.fromkeys(("JaxLayer", "FlaxLayer", "TFSMLayer", "TorchModuleWrapper"), "another library computes it"),
}


def missing() -> list[str]:
    """The layers that neither the table nor the list of the absent ones has."""
    named = {*re.findall(r"[A-Z]\w+", LAYERS), *ABSENT}
    known = {getattr(layers, name) for name in named if hasattr(layers, name)}
    found = [one for name, one in vars(layers).items() if isinstance(one, type) and one not in known]
    return sorted({one.__name__ for one in found})


def rows() -> Iterator[tuple[str, list[tuple[list[Any], str]], str]]:
    """The name of each case, the shapes and dtypes of its inputs, and its layer."""
    for line in LAYERS.strip().splitlines():
        head, _, rest = line.rpartition(": ")
        given = [one.partition(":") for one in head.split()]
        kinds = [
            ([None if n == "none" else int(n) for n in shape.split(",")], dtype or "float32")
            for shape, _, dtype in given
        ]
        for text in rest.split(" "):
            yield f"{head} {text}", kinds, text.replace("\t", " ")


def mlp() -> Any:
    parts = [layers.Dense(8, "relu"), layers.Dense(3, "softmax", name="probs")]
    return keras.Sequential([keras.Input((6,), name="x"), *parts])


def residual() -> Any:
    x = keras.Input((8, 8, 3), name="image")
    y = layers.BatchNormalization()(layers.Conv2D(6, 3, padding="same", activation="relu")(x))
    z = layers.Conv2D(6, 3, padding="same")(layers.ReLU()(layers.DepthwiseConv2D(3, padding="same")(y)))
    return keras.Model(x, layers.Dense(2, name="scores")(layers.GlobalAveragePooling2D()(layers.Add()([y, z]))))


def two_ends() -> Any:
    x, y = keras.Input((4,), name="left"), keras.Input((3,), name="right")
    joined = layers.Concatenate()([x, y])
    ends = layers.Dense(2, name="first")(joined), layers.Dense(1, name="second")(joined)
    return keras.Model([x, y], ends)


MODELS = {
    "mlp": (mlp, ["x"], ["probs"]),
    "residual": (residual, ["image"], ["scores"]),
    "two ends": (two_ends, ["left", "right"], ["first", "second"]),
}


def model_of(kinds: Any, text: str) -> Any:
    """A model of one layer."""
    inputs = [keras.Input(shape, name=f"x{i}", dtype=dtype) for i, (shape, dtype) in enumerate(kinds)]
    layer = eval(f"layers.{text}", {"layers": layers})
    takes_all = len(inputs) > 1 and type(layer) not in (layers.MultiHeadAttention, layers.GroupQueryAttention)
    return keras.Model(inputs, layer(inputs) if takes_all else layer(*inputs))


def check(path: Path, model: Any, inputs: list[str] | None = None, outputs: list[str] | None = None) -> None:
    """Export a model, and compare its prediction with ONNX Runtime's."""
    rng = np.random.default_rng(0)
    for variable in model.weights:
        if variable.dtype == "float32":
            variable.assign(np.abs(rng.normal(size=variable.shape)) * 0.5)
    model.export(path, format="onnx", verbose=False)
    ready = session(path)
    names = [one.name for one in ready.get_inputs()]
    assert inputs is None or names == inputs
    assert outputs is None or [one.name for one in ready.get_outputs()] == outputs
    assert ready.get_inputs()[0].shape[0] == ready.get_outputs()[0].shape[0] == "batch"
    for size in (1, 3):
        data = [
            (rng.normal(size=(size, *(7 if n is None else n for n in x.shape[1:]))) * 3).astype(x.dtype) % 9
            for x in model.inputs
        ]
        expected = model.predict_on_batch(data if len(data) > 1 else data[0])
        found = ready.run(None, dict(zip(names, data, strict=True)))
        leaves = keras.tree.flatten(expected)
        for ours, theirs in zip(leaves, found[: len(leaves)], strict=True):  # the state of seeds comes behind
            np.testing.assert_allclose(theirs, ours, rtol=1e-4, atol=1e-5)


def check_model(name: str, build: Any, *args: Any) -> None:
    path = Path(sys.argv[1]) / "model.onnx"
    check(path, build(), *args)
    types = types_in(onnx.load(path).graph)
    assert types.count("Transpose") == 1 or name != "residual", types
    assert not {"Loop", "Scan"} & {*types} or not name.endswith("LSTM(5)"), types


def check_training(path: Path) -> None:
    """Save a step of Adam, with dropout and averages of batches, and compare ten of them with numpy's."""
    parts = [layers.Dense(16, "relu"), layers.BatchNormalization(), layers.Dropout(0.3), layers.Dense(3)]
    model, rng = keras.Sequential([keras.Input((8,)), *parts]), np.random.default_rng(0)
    optimizer, loss = keras.optimizers.Adam(0.01), keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    optimizer.build(model.trainable_variables)

    def step(x: Any, y: Any) -> Any:
        with dt.GradientTape() as tape:
            found = loss(y, model(x, training=True))
        gradients = tape.gradient(found, [variable._value for variable in model.trainable_variables])
        optimizer.apply(gradients, model.trainable_variables)
        return found

    compiled = dt.function(step, input_signature=[dt.spec((None, 8)), dt.spec((None,), "int32")], engine="numpy")
    dt.onnx.save(compiled, path)
    batches = [
        {"x": rng.normal(size=(6, 8)).astype("float32"), "y": rng.integers(0, 3, 6).astype("int32")} for _ in range(10)
    ]
    found, state = trained(path, batches)
    np.testing.assert_allclose(found, [float(compiled(*batch.values())) for batch in batches], rtol=1e-3)
    assert {variable.shape for variable in model.variables} <= {array.shape for array in state.values()}


def check_litert() -> None:
    """Models of LiteRT are refused with the way to C."""
    for name in ("litert", "tflite"):
        try:
            mlp().export("model.tflite", format=name)
        except ValueError as error:
            assert "emx-onnx-cgen" in str(error) and name in str(error), error
        else:
            raise AssertionError(f"{name} is not refused")


def problem_of(check: Any, *args: Any) -> str:
    """The traceback of a check, or nothing."""
    try:
        check(*args)
    except Exception:
        return traceback.format_exc()
    return ""


if __name__ == "__main__":
    problems = {name: problem_of(check_model, name, *given) for name, given in MODELS.items()}
    for name, kinds, text in rows():
        problems[name] = problem_of(check_model, name, partial(model_of, kinds, text))
    problems["training"] = problem_of(check_training, Path(sys.argv[1]) / "step.onnx")
    problems["litert"] = problem_of(check_litert)
    tell({**problems, "missing layers": " ".join(missing())})
