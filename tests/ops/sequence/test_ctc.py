"""CTC: against all paths written out, and against TensorFlow."""

from __future__ import annotations

import itertools
from collections import defaultdict

import numpy as np
import pytest

import dovetail as dt
from dovetail import ops

# As one program, since calls of single ops are slow on some engines.
loss, search = dt.function(ops.ctc_loss), dt.function(ops.ctc_beam_search_decode)


@dt.function
def loss_gradient(target, output, *lengths, **options):
    """The losses, and the gradient of their sum."""
    losses = ops.ctc_loss(target, output, *lengths, **options)
    return losses, dt.gradients(ops.sum(losses), [output])[0]


def log_softmax(z):
    return z - np.log(np.exp(z).sum(-1, keepdims=True))


def labels_of(path, blank):
    return tuple(c for c, _ in itertools.groupby(path) if c != blank)


def probabilities(z, blank):
    """labels → their probability, over all paths."""
    logs, found = log_softmax(z.astype("float64")), defaultdict(float)
    for path in itertools.product(range(z.shape[1]), repeat=len(z)):
        found[labels_of(path, blank)] += np.exp(logs[range(len(z)), path].sum())
    return found


@pytest.mark.parametrize("blank", [0, 1, 2])
def test_the_loss_is_that_of_all_paths(engine, rng, blank):
    z = rng.normal(size=(6, 4, 3)).astype("float32")
    a, b = (c for c in range(3) if c != blank)
    labels = [[a, b], [a, a], [b], [], [a, b, a, b], [a, a, a]]
    times = [4, 3, 1, 2, 4, 4]
    padded = [row + [blank] * (4 - len(row)) for row in labels]
    found = loss(padded, z, [len(row) for row in labels], times, blank).numpy()
    expected = [
        probabilities(z[i, :t], blank)[tuple(row)] for i, (t, row) in enumerate(zip(times, labels, strict=True))
    ]
    with np.errstate(divide="ignore"):
        np.testing.assert_allclose(found, -np.log(expected), rtol=1e-5)
    assert found[-1] == np.inf  # there is no time for the blanks


def test_a_label_may_be_the_blank(engine, rng):
    z, labels = rng.normal(size=(1, 4, 3)).astype("float32"), [1, 2, 0, 2]  # the labels take all of the time: one path
    np.testing.assert_allclose(loss([labels], z, [4], [4]).numpy(), [-log_softmax(z[0])[range(4), labels].sum()], 1e-5)


def test_what_stands_beyond_the_lengths_does_not_count(engine, rng):
    z = rng.normal(size=(1, 5, 4)).astype("float32")
    changed = np.concatenate([z[:, :3], np.full((1, 2, 4), 100, "float32")], 1)
    found = [loss([[1, 2, bad]], x, [2], [3]).numpy() for x in (z, changed) for bad in (3, -1, 99)]
    assert len({found_loss.item() for found_loss in found}) == 1


def test_the_gradient_is_that_of_tensorflow_and_zero_where_labels_are_impossible(engine, rng):
    tf = pytest.importorskip("tensorflow")
    z = (rng.normal(size=(3, 6, 4)) * 3).astype("float32")
    labels, count, times = np.array([[0, 1, 1], [2, 0, 0], [1, 1, 1]]), [3, 1, 3], [6, 4, 4]
    found = loss_gradient(labels, z, count, times, mask_index=-1)[1].numpy()
    theirs = tf.constant(z[:2].swapaxes(0, 1))
    with tf.GradientTape() as tape:
        tape.watch(theirs)
        total = tf.nn.ctc_loss(labels[:2], theirs, count[:2], times[:2], blank_index=-1)
    np.testing.assert_allclose(found[:2], tape.gradient(total, theirs).numpy().swapaxes(0, 1), rtol=1e-4, atol=1e-5)
    assert not found[2].any()


def test_the_gradient_is_finite_for_scores_of_infinity(engine):
    z = np.array([[[0.0, -np.inf, 1.0], [2.0, 0.0, -np.inf], [0.0, 0.0, 0.0]]], "float32")
    found, gradient = loss_gradient([[1]], z, [1], [3])
    assert np.isfinite(found.numpy()).all()
    assert np.isfinite(gradient.numpy()[:, 2]).all()


def test_a_long_sequence_does_not_underflow(engine, rng):
    z = rng.normal(size=(1, 2000, 30)).astype("float32")
    found = loss(rng.integers(1, 30, (1, 50)), z, [50], [2000]).item()
    assert 1000 < found < np.inf


@pytest.mark.parametrize(("blank", "merge"), [(0, True), (2, True), (1, False)])
def test_the_greedy_path(engine, rng, blank, merge):
    z = rng.normal(size=(4, 7, 3)).astype("float32")
    times = [7, 5, 1, 0]
    found, scores = ops.ctc_greedy_decode(z, times, merge, blank)
    for i, t in enumerate(times):
        path = z[i, :t].argmax(-1)
        labels = labels_of(path, blank) if merge else tuple(c for c in path if c != blank)
        assert found.numpy()[i].tolist() == [*labels, *[-1] * (7 - len(labels))]
        np.testing.assert_allclose(scores.numpy()[i], -z[i, :t].max(-1).sum(), rtol=1e-5)


@pytest.mark.parametrize("blank", [0, 2])
def test_a_wide_beam_finds_the_most_probable_labels(engine, rng, blank):
    z = rng.normal(size=(2, 4, 3)).astype("float32")
    times = [4, 3]
    found, logs = search(z, times, 40, 4, merge_repeated=False, mask_index=blank)
    for i, t in enumerate(times):
        expected = sorted(probabilities(z[i, :t], blank).items(), key=lambda item: -item[1])[:4]
        assert [tuple(c for c in row if c >= 0) for row in found.numpy()[:, i].tolist()] == [k for k, _ in expected]
        np.testing.assert_allclose(np.exp(logs.numpy()[i]), [p for _, p in expected], rtol=1e-4)


def test_a_sample_that_stands_for_fewer_labels_has_empty_ones(engine):
    labels, logs = search(np.zeros((2, 2, 2), "float32"), [0, 1], 5, 3)
    assert labels.numpy()[:, 0].tolist() == [[-1, -1]] * 3
    assert logs.numpy()[0].tolist() == [0, -np.inf, -np.inf]
    assert logs.numpy()[1, 2] == -np.inf


def test_merging_goes_across_blanks(engine):
    sure = np.array([[[0, 9, 0], [9, 0, 0], [0, 9, 0], [0, 0, 9]]], "float32")
    for merge, labels in ((True, [1, 2, -1, -1]), (False, [1, 1, 2, -1])):
        assert search(sure, [4], 5, 1, merge)[0].numpy()[0, 0].tolist() == labels


@pytest.mark.parametrize("seed", range(6))
def test_narrow_beams_are_those_of_tensorflow(seed):
    """Check that a beam is lost early as in TensorFlow, which often happens if classes are about equally probable."""
    tf = pytest.importorskip("tensorflow")
    rng = np.random.default_rng(seed)
    width, classes, count = 2 + seed, 3 + seed % 3, 8
    z = (rng.normal(size=(count, 15, classes)) * 0.7).astype("float32")
    times = rng.integers(5, 16, count)
    found, logs = tf.compat.v1.nn.ctc_beam_search_decoder(
        tf.constant(z.swapaxes(0, 1)), tf.constant(times, tf.int32), beam_width=width, top_paths=2
    )
    labels, ours = ops.ctc_beam_search_decode(z, times, beam_width=width, top_paths=2, mask_index=-1)
    np.testing.assert_allclose(ours.numpy(), logs.numpy(), rtol=1e-4)
    for ours, theirs in zip(labels.numpy(), found, strict=True):
        dense = tf.sparse.to_dense(tf.SparseTensor(theirs.indices, theirs.values, ours.shape), default_value=-1)
        np.testing.assert_array_equal(ours, dense.numpy())


def test_narrow_beams_are_the_same_on_all_engines(engine):
    z = np.random.default_rng(0).normal(size=(4, 12, 4)).astype("float32") * 0.7
    labels, logs = search(z, [12, 9, 7, 12], beam_width=3, top_paths=2)
    with dt.engine("numpy"):
        expected, expected_logs = ops.ctc_beam_search_decode(z, [12, 9, 7, 12], beam_width=3, top_paths=2)
    np.testing.assert_array_equal(labels.numpy(), expected.numpy())
    np.testing.assert_allclose(logs.numpy(), expected_logs.numpy(), rtol=1e-5)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda z: ops.ctc_loss([[1]], z[0], [1], [3]), r"CTCLoss.*scores must be \(batch, time, classes\)"),
        (lambda z: ops.ctc_loss([1], z, [1], [3]), r"the target must be \(batch, labels\)"),
        (lambda z: ops.ctc_loss([[1]], z, [1, 1], [3]), r"the shape must be \(1,\), but it is \(2,\)"),
        (lambda z: ops.ctc_loss([[1]], z, [1], [3], mask_index=3), r"mask_index must be one of the 3 classes"),
        (lambda z: ops.ctc_greedy_decode(z, [[3]]), r"the shape must be"),
        (lambda z: ops.ctc_beam_search_decode(z, [3], 2, 3), r"top_paths must be between 1 and beam_width"),
    ],
)
def test_messages(call, message):
    with pytest.raises(ValueError, match=message):
        call(np.zeros((1, 3, 3), "float32"))


def loss_of_one(z, times):
    return ops.ctc_loss([[1]], z, [1], times)


@pytest.mark.parametrize("call", [ops.ctc_greedy_decode, ops.ctc_beam_search_decode, loss_of_one])
def test_calls_made_again_compile_nothing(rng, call):
    jax = pytest.importorskip("jax")
    compiled = []
    jax.monitoring.register_event_duration_secs_listener(
        lambda event, seconds, **rest: compiled.append(event) if "backend_compile" in event else None
    )
    with dt.engine("jax"):
        z, times = ops.convert(rng.normal(size=(1, 7, 3)).astype("float32")), ops.convert([6])
        for _ in range(4):
            call(z, times)
        assert compiled
        compiled.clear()
        call(z, times)
    assert not compiled
