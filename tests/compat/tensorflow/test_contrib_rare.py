"""Losses of embeddings, sparse probabilities, warped images and predictors of `tf.contrib`, against their formulas."""

from __future__ import annotations

import numpy as np
import pytest

from dovetail.compat import tensorflow
from tests.libraries import require

tf = tensorflow.compat.v1
RANDOM = np.random.RandomState(4)


def computed(build, *arrays):
    """The results of a graph, and the gradients of the sum of the first one by the arrays."""
    with tf.Graph().as_default(), tf.Session() as session:
        given = [tf.placeholder(tf.float32, [None, *a.shape[1:]]) for a in arrays]
        made = build(*given)
        slopes = tf.gradients(made, given)
        return session.run([made, slopes], dict(zip(given, arrays, strict=True)))


def check_gradients(build, slopes, *arrays):
    """Compare gradients with differences of the results."""
    for number, slope in enumerate(slopes):
        for place in list(np.ndindex(slope.shape))[::3]:
            moved = [[a.astype("float64") for a in arrays] for _ in range(2)]
            moved[0][number][place] += 1e-2
            moved[1][number][place] -= 1e-2
            high, low = (np.sum(computed(build, *map(np.float32, given))[0], dtype="float64") for given in moved)
            assert slope[place] == pytest.approx((high - low) / 2e-2, abs=2e-2)


def test_contrastive_loss(engine):
    a, b, like = RANDOM.rand(5, 3).astype("float32"), RANDOM.rand(5, 3).astype("float32"), np.float32([1, 0, 1, 0, 0])
    loss = tf.contrib.losses.metric_learning.contrastive_loss
    found, slopes = computed(lambda x, y: loss(like, x, y, 0.7), a, b)
    far = np.sqrt(np.square(a - b).sum(1))
    np.testing.assert_allclose(found, np.mean(like * far**2 + (1 - like) * np.maximum(0.7 - far, 0) ** 2), rtol=1e-5)
    check_gradients(lambda x, y: loss(like, x, y, 0.7), slopes, a, b)


def test_npairs_loss(engine):
    a, b, classes = RANDOM.rand(4, 3).astype("float32"), RANDOM.rand(4, 3).astype("float32"), np.int32([1, 2, 1, 3])
    found, _ = computed(lambda x, y: tf.contrib.losses.metric_learning.npairs_loss(classes, x, y, 0.1), a, b)
    products = np.exp(a @ b.T)
    logs, like = np.log(products / products.sum(1, keepdims=True)), classes[:, None] == classes
    entropy = -np.mean((like / like.sum(1, keepdims=True) * logs).sum(1))
    penalty = 0.25 * 0.1 * sum(np.square(x).sum(1).mean() for x in (a, b))
    np.testing.assert_allclose(found, entropy + penalty, rtol=1e-5)


@pytest.mark.parametrize("shape", [(-1,), (-1, 1)])
def test_triplet_loss(shape, engine):
    x, classes = RANDOM.rand(7, 2).astype("float32"), np.int32([0, 1, 0, 2, 1, 0, 2])
    loss = tf.contrib.losses.metric_learning.triplet_semihard_loss
    found, slopes = computed(lambda x: loss(classes.reshape(shape), x, margin=0.2), x)
    far = np.square(x[:, None] - x).sum(-1)
    losses = []
    for i in range(7):
        for j in range(7):
            if i != j and classes[i] == classes[j]:
                others = far[i, classes != classes[i]]
                outside = others[others > far[i, j]]
                third = outside.min() if len(outside) else others.max()
                losses.append(max(0.2 + far[i, j] - third, 0))
    np.testing.assert_allclose(found, np.mean(losses), rtol=1e-4)
    assert np.isfinite(slopes[0]).all()


def test_sparse_probabilities(engine):
    z = np.float32([[1.0, 0.9, -2.0, 0.1], [3.0, 0, 0, 0], [0.2, 0.2, 0.2, 0.2]])
    found, _ = computed(tf.contrib.sparsemax.sparsemax, z)
    for row, p in zip(z, found, strict=True):  # the point of the simplex that is the nearest
        threshold = next(t for k in range(4, 0, -1) if np.sort(row)[-k] > (t := (np.sort(row)[-k:].sum() - 1) / k))
        np.testing.assert_allclose(p, np.maximum(row - threshold, 0), atol=1e-6)
    q = np.eye(4, dtype="float32")[[0, 1, 2]]
    loss, (slope,) = computed(lambda z: tf.contrib.sparsemax.sparsemax_loss(z, tf.contrib.sparsemax.sparsemax(z), q), z)
    assert (loss >= -1e-6).all() and loss.shape == (3,)
    np.testing.assert_allclose(slope, found - q, atol=1e-5)


def test_images_between_pixels(engine):
    image, places = (
        RANDOM.rand(2, 4, 5, 3).astype("float32"),
        np.float32([[[0.5, 1.25], [3.9, -0.5]], [[4.0, 3.0], [9, 9]]]),
    )
    found, (_, slope) = computed(tf.contrib.resampler.resampler, image, places)
    first = 0.75 * (image[0, 1, 0] + image[0, 1, 1]) / 2 + 0.25 * (image[0, 2, 0] + image[0, 2, 1]) / 2
    np.testing.assert_allclose(found[0, 0], first, rtol=1e-5)
    np.testing.assert_allclose(found[0, 1], 0.5 * (0.1 * image[0, 0, 3] + 0.9 * image[0, 0, 4]), rtol=1e-4)
    np.testing.assert_allclose(found[1], [image[1, 3, 4], [0, 0, 0]], rtol=1e-5)
    assert slope.shape == places.shape and found.shape == (2, 2, 3)
    with pytest.raises(ValueError, match="data is"):
        tf.contrib.resampler.resampler(image, np.zeros((2, 3), "float32"))


def test_images_after_a_flow(engine):
    image = RANDOM.rand(1, 3, 4, 2).astype("float32")
    flow = np.zeros((1, 3, 4, 2), "float32")
    flow[..., 0], flow[..., 1] = 1, -0.5
    found, slopes = computed(tf.contrib.image.dense_image_warp, image, flow)
    rows = image[0, [0, 0, 1]]
    wanted = np.stack([(rows[:, x] + rows[:, min(x + 1, 3)]) / 2 for x in range(4)], 1)
    np.testing.assert_allclose(found[0], wanted, rtol=1e-5)
    assert all(np.isfinite(slope).all() for slope in slopes)


def test_a_predictor_of_a_saved_model(tmp_path):
    require("google", "messages need it")
    with tf.Graph().as_default(), tf.Session() as session:
        x, w = tf.placeholder(tf.float32, [None, 2], name="x"), tf.Variable([[1.0], [2.0]])
        y = tf.matmul(x, w, name="y")
        session.run(w.initializer)
        tf.saved_model.simple_save(session, str(tmp_path / "m"), {"x": x}, {"y": y})
    predict = tf.contrib.predictor.from_saved_model(str(tmp_path / "m"))
    assert predict({"x": [[3.0, 4.0]]})["y"].tolist() == [[11.0]] and [*predict.feed_tensors] == ["x"]
    named = tf.contrib.predictor.from_saved_model(
        str(tmp_path / "m"), input_names={"a": "x:0"}, output_names={"b": "y:0"}
    )
    assert named({"a": [[1.0, 1.0]]})["b"].tolist() == [[3.0]]
    with pytest.raises(ValueError, match="no inputs are called 'z'"):
        predict({"z": 1})
    with pytest.raises(ValueError, match="no signature 'other', but"):
        tf.contrib.predictor.from_saved_model(str(tmp_path / "m"), signature_def_key="other")


def test_signatures_of_examples():
    require("google", "messages need it")
    with tf.Graph().as_default():
        examples, scores = tf.placeholder(tf.string, [None], name="e"), tf.placeholder(tf.float32, [None, 2], name="s")
        made = tf.saved_model.classification_signature_def(examples, None, scores)
        assert made.method_name == "tensorflow/serving/classify" and [*made.outputs] == ["scores"]
        made = tf.saved_model.signature_def_utils.regression_signature_def(examples, scores)
        assert made.inputs["inputs"].name == "e:0" and made.outputs["outputs"].name == "s:0"
        assert tf.saved_model.is_valid_signature(made)
        with pytest.raises(ValueError, match="classes, scores, or both"):
            tf.saved_model.classification_signature_def(examples, None, None)


@pytest.mark.parametrize("way", ["nearest", "lower", "higher"])
@pytest.mark.parametrize("axis", [None, 1, [0, 2]], ids=str)
def test_percentiles(way, axis, engine):
    x = RANDOM.rand(3, 4, 2).astype("float32")
    for q in (0, 20, 62.5, 100):
        keep = {"keep_dims": True}
        build = lambda x, q=q, keep=keep: tf.contrib.distributions.percentile(x, q, axis, way, **keep)  # noqa: E731
        wanted = np.percentile(x, q, tuple(axis) if isinstance(axis, list) else axis, method=way, keepdims=True)
        np.testing.assert_array_equal(computed(build, x)[0], wanted)
    with pytest.raises(ValueError, match="nearest, lower or higher, not 'linear'"):
        tf.contrib.distributions.percentile(x, 5, interpolation="linear")
