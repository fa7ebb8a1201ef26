"""Summaries: the same values as TensorBoard's own functions give, and pictures that TensorFlow decodes."""

from __future__ import annotations

import numpy as np
import pytest

from dovetail.formats.wire import summaries
from tests.libraries import Library, require

require("google", "the messages stand on protobuf")
require("tensorboard", "it has functions that give the same")

tf, image = Library("tensorflow"), Library("tensorboard.plugins.image.metadata")
scalar, histogram = (
    Library("tensorboard.plugins.scalar.summary_v2"),
    Library("tensorboard.plugins.histogram.summary_v2"),
)
text, protos = Library("tensorboard.plugins.text.summary_v2"), Library("tensorboard.compat.proto.summary_pb2")
tensors = Library("tensorboard.util.tensor_util")

NUMBERS = np.random.default_rng(0).normal(size=100).astype("float32")


def same(ours, theirs):
    (mine,), (real,) = protos.Summary.FromString(summaries.summary(ours).SerializeToString()).value, theirs.value
    np.testing.assert_array_equal(tensors.make_ndarray(mine.tensor), tensors.make_ndarray(real.tensor))
    assert mine.metadata.plugin_data == real.metadata.plugin_data
    assert (mine.tag, mine.metadata.summary_description) == (real.tag, real.metadata.summary_description)


@pytest.mark.parametrize("number", [1.5, 3, True])
def test_numbers(number):
    same(summaries.scalar_tensor("a/b", np.asarray(number), "how"), scalar.scalar_pb("a/b", number, "how"))


@pytest.mark.parametrize("count", [None, 1, 7, 0])
@pytest.mark.parametrize(
    "numbers", [NUMBERS, NUMBERS[:1], NUMBERS[:0], np.arange(9)], ids=["many", "one", "none", "ints"]
)
def test_histograms(numbers, count):
    same(summaries.histogram_tensor("h", numbers, count, "how"), histogram.histogram_pb("h", numbers, count, "how"))


def test_texts():
    same(
        summaries.tensor_value("t", ["ä", b"b"], summaries.metadata("text", summaries.TENSOR)),
        text.text_pb("t", np.array(["ä".encode(), b"b"], object)),
    )


@pytest.mark.parametrize("dtype", ["float32", "float16", "uint8", "int8", "int16", "uint16", "int32", "int64"])
@pytest.mark.parametrize("channels", [1, 2, 3, 4])
def test_pictures_are_decoded_to_the_bytes_that_tensorflow_makes(channels, dtype):
    info = None if "float" in dtype else np.iinfo(dtype)
    random = np.random.default_rng(channels)
    shape = 2, 5, 4, channels
    pixels = random.uniform(-0.5, 1.5, shape) if info is None else random.integers(0, info.max, shape, endpoint=True)
    pixels = pixels.astype(dtype)
    (value,) = summaries.image_tensor("p", pixels, 3)
    width, height, *pictures = value.tensor.string_val
    assert (width, height, value.metadata.plugin_data.plugin_name) == (b"4", b"5", image.PLUGIN_NAME)
    wanted = tf.image.convert_image_dtype(pixels, tf.uint8, saturate=True).numpy()
    found = np.stack([tf.io.decode_png(picture).numpy() for picture in pictures])
    np.testing.assert_array_equal(found, wanted)


def test_pictures_of_tensorflow_1():
    pixels = np.random.default_rng(0).normal(size=(4, 3, 2, 3)).astype("float32")
    values = summaries.image_values("p", pixels, 2)
    assert [value.tag for value in values] == ["p/image/0", "p/image/1"]
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        theirs = session.run(tf.compat.v1.summary.image("p", pixels, 2))
    for mine, real in zip(values, tf.compat.v1.Summary.FromString(theirs).value, strict=True):
        found, wanted = (tf.io.decode_png(one.image.encoded_image_string).numpy() for one in (mine, real))
        assert np.abs(found.astype(int) - wanted).max() <= 1


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: summaries.scalar_tensor("x", np.zeros(2)), r"one real number, not float64\[2\]"),
        (lambda: summaries.scalar_tensor("x", np.zeros((), "complex64")), "one real number"),
        (lambda: summaries.image_tensor("x", np.zeros((2, 2, 3)), 3), r"not \(2, 2, 3\)"),
        (lambda: summaries.image_values("x", np.zeros((1, 2, 2, 5))), r"not \(1, 2, 2, 5\)"),
    ],
)
def test_values_that_do_not_fit(make, message):
    with pytest.raises(ValueError, match=message):
        make()
