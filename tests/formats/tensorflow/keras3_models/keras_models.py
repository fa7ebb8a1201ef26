"""Models of Keras 3 as it exports them, and of Keras 2 as tf_keras saves them."""

from __future__ import annotations

from typing import Any

import keras
import tf_keras
from keras import layers, ops

from tests.formats.tensorflow.keras3_models.ways import array, numbers, of_keras


def functional(shape: Any, body: Any, **options: Any) -> Any:
    """A model of a function of tensors."""
    x = keras.Input(shape, **options)
    return keras.Model(x, body(x))


@of_keras(array(3, 6))
def mlp() -> Any:
    return [keras.Input((6,)), layers.Dense(8, "relu"), layers.Dense(3)]


@of_keras(array(3, 6), exported=False)
def saved_mlp() -> Any:
    return [keras.Input((6,)), layers.Dense(8, "relu"), layers.BatchNormalization(), layers.Dense(3)]


@of_keras(array(2, 8, 8, 1))
def cnn() -> Any:
    return [
        keras.Input((8, 8, 1)),
        layers.Conv2D(4, 3, activation="relu"),
        layers.BatchNormalization(),
        layers.MaxPooling2D(),
        layers.DepthwiseConv2D(2, padding="same"),
        layers.Dropout(0.3),
        layers.Flatten(),
        layers.Dense(4, activation="softmax"),
    ]


@of_keras(numbers(2, 5, below=20, dtype="float32"))
def recurrent() -> Any:
    return [
        keras.Input((None,)),
        layers.Embedding(20, 4),
        layers.LSTM(5, return_sequences=True),
        layers.GRU(3),
        layers.Dense(2),
    ]


@of_keras(array(2, 5, 3))
def bidirectional() -> Any:
    return [keras.Input((5, 3)), layers.Bidirectional(layers.GRU(3)), layers.Dense(2)]


@of_keras(array(2, 3, 2), calls=2)
def stateful() -> Any:
    return [keras.Input((3, 2), batch_size=2), layers.SimpleRNN(4, stateful=True), layers.Dense(2)]


@of_keras(numbers(2, 6, below=3))
def masked() -> Any:
    return [keras.Input((6,)), layers.Embedding(5, 3, mask_zero=True), layers.LSTM(4), layers.Dense(2, "sigmoid")]


@of_keras(array(2, 12, 3))
def causal() -> Any:
    def body(x: Any) -> Any:
        for dilation in (1, 2):
            y = layers.Conv1D(3, 3, padding="causal", dilation_rate=dilation, activation="tanh")(x)
            x = layers.LayerNormalization()(layers.add([x, layers.SeparableConv1D(3, 2, padding="same")(y)]))
        return layers.Dense(2)(layers.GlobalAveragePooling1D()(layers.AveragePooling1D(2)(x)))

    return functional((12, 3), body)


@of_keras(array(1, 3, 5, 5, 2))
def convlstm() -> Any:
    return [keras.Input((3, 5, 5, 2)), layers.ConvLSTM2D(2, 3), layers.GlobalMaxPooling2D()]


@of_keras(array(2, 5, 4))
def transformer() -> Any:
    def body(x: Any) -> Any:
        y = layers.LayerNormalization()(layers.add([x, layers.MultiHeadAttention(2, 3)(x, x, use_causal_mask=True)]))
        y = layers.LayerNormalization()(layers.add([y, layers.Dense(4)(layers.Dense(8, "gelu")(y))]))
        return layers.Dense(3, "softmax")(y)

    return functional((5, 4), body)


@of_keras(array(2, 12, 12, 3))
def mobile() -> Any:
    """Inverted residuals with linear bottlenecks, as in MobileNetV2."""

    def block(x: Any, filters: int, stride: int) -> Any:
        y = layers.ReLU(6.0)(layers.BatchNormalization()(layers.Conv2D(8, 1, use_bias=False)(x)))
        y = layers.ZeroPadding2D(((0, 1), (0, 1)))(y) if stride == 2 else y
        y = layers.DepthwiseConv2D(3, stride, "valid" if stride == 2 else "same", use_bias=False)(y)
        y = layers.BatchNormalization()(layers.Conv2D(filters, 1, use_bias=False)(layers.ReLU(6.0)(y)))
        return layers.add([x, y]) if stride == 1 else y

    def body(x: Any) -> Any:
        x = layers.ReLU(6.0)(layers.BatchNormalization()(layers.Conv2D(4, 3, 2, "same", use_bias=False)(x)))
        return layers.Dense(5, "softmax")(layers.GlobalAveragePooling2D()(block(block(x, 4, 1), 6, 2)))

    return functional((12, 12, 3), body)


@of_keras(array(2, 10, 10, 2))
def residual() -> Any:
    def body(x: Any) -> Any:
        y = layers.Activation("relu")(layers.BatchNormalization()(layers.Conv2D(3, 3, 2, "same")(x)))
        y = layers.BatchNormalization()(layers.Conv2D(3, 3, 1, "same")(y))
        y = layers.Activation("relu")(layers.add([y, layers.Conv2D(3, 1, 2)(x)]))
        return layers.Dense(2)(layers.Flatten()(layers.AveragePooling2D(3, 2, "same")(y)))

    return functional((10, 10, 2), body)


@of_keras(array(1, 8, 8, 2))
def unet() -> Any:
    def body(x: Any) -> Any:
        first = layers.Conv2D(3, 3, padding="same", activation="leaky_relu")(x)
        second = layers.Conv2D(4, 3, padding="same", activation="swish")(layers.MaxPooling2D()(first))
        third = layers.Conv2D(4, 3, padding="same", dilation_rate=2, activation="elu")(layers.MaxPooling2D()(second))
        up = layers.concatenate([second, layers.UpSampling2D(interpolation="bilinear")(third)])
        up = layers.concatenate([first, layers.Conv2DTranspose(3, 3, 2, "same")(up)])
        return layers.Conv2D(1, 1, activation="sigmoid")(up)

    return functional((8, 8, 2), body)


@of_keras({"ids": numbers(3, 4, below=9), "features": array(3, 2)})
def named() -> Any:
    """Inputs and results by name."""
    ids, features = keras.Input((4,), dtype="int32", name="ids"), keras.Input((2,), name="features")
    joined = layers.concatenate([layers.Flatten()(layers.Embedding(9, 2)(ids)), layers.Dense(2, "tanh")(features)])
    results = {"score": layers.Dense(1, "sigmoid")(joined), "label": ops.argmax(layers.Dense(3)(joined), -1)}
    return keras.Model({"ids": ids, "features": features}, results)


@of_keras(array(2, 9, 7, 3, low=0, high=255))
def pictures() -> Any:
    """Preparation of images in front."""
    return [
        keras.Input((9, 7, 3)),
        layers.Resizing(8, 8),
        layers.CenterCrop(6, 6),
        layers.Rescaling(1 / 127.5, -1),
        layers.Normalization(mean=[0.1, 0.2, 0.3], variance=[1.0, 2.0, 3.0]),
        layers.Conv2D(2, 3, strides=2),
        layers.PReLU(),
        layers.GroupNormalization(2),
        layers.Flatten(),
        layers.UnitNormalization(),
    ]


@of_keras(array(2, 4))
def mixed() -> Any:
    """Computation in bfloat16 with variables in float32."""
    return [
        keras.Input((4,)),
        layers.Dense(4, "relu", dtype="mixed_bfloat16"),
        layers.Dense(3, dtype="mixed_float16"),
        layers.Activation("softmax", dtype="float32"),
    ]


@of_keras(array(1, 4, 5, 4, 1))
def volumes() -> Any:
    return [
        keras.Input((4, 5, 4, 1)),
        layers.Conv3D(2, 2, activation="selu"),
        layers.MaxPooling3D(2, 1),
        layers.SpatialDropout3D(0.2),
        layers.Permute((4, 1, 2, 3)),
        layers.Reshape((-1,)),
    ]


@of_keras(array(2, 5), library=tf_keras)
def keras2() -> Any:
    kinds = tf_keras.layers
    x = tf_keras.Input((5,))
    y = kinds.BatchNormalization()(kinds.Dense(4, "relu")(x))
    return tf_keras.Model(x, kinds.Dense(2)(kinds.concatenate([y, x])))
