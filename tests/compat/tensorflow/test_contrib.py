"""Names of `tf.contrib` without an oracle that runs today: against numbers by hand."""

from __future__ import annotations

import pickle

import dovetail.compat.tensorflow.compat.v1 as tf
import numpy as np
import pytest

learn, framework = tf.contrib.learn, tf.contrib.framework


@pytest.fixture
def session():
    with tf.Graph().as_default(), tf.Session() as session:
        yield session


@pytest.mark.parametrize("wanted", [[2, 3], [None, 3], (-1, 3), "a tensor", "as another"])
def test_a_tensor_has_the_shape_that_is_asked(wanted, session):
    x = tf.placeholder("float32", [None, 3])
    if wanted == "as another":
        shaped = framework.with_same_shape(tf.placeholder_with_default(tf.zeros([2, 3]), [None, 3]), x)
    else:
        sizes = tf.placeholder_with_default(tf.constant([2, -1]), [2])
        shaped = framework.with_shape(sizes if wanted == "a tensor" else wanted, x)
    assert session.run(shaped, {x: np.ones((2, 3))}).tolist() == np.ones((2, 3)).tolist()
    if wanted in ([None, 3], (-1, 3)):
        assert shaped.shape == (None, 3)
    else:
        with pytest.raises(ValueError, match="Wrong shape"):
            session.run(shaped, {x: np.ones((4, 3))})


def test_a_known_shape_is_checked_at_once(session):
    x = tf.zeros([2, 3])
    assert framework.with_shape([2, None], x) is x is framework.with_same_shape(tf.ones([2, 3]), x)
    with pytest.raises(ValueError, match=r"with_shape.*must have the shape \[3, 3\], not \(2, 3\)"):
        framework.with_shape(tf.constant([3, 3]), x)


def test_a_variable_becomes_zero(session):
    v = tf.get_variable("v", [2, 2], tf.int32, tf.ones_initializer())
    session.run(tf.global_variables_initializer())
    session.run(framework.zero_initializer(v))
    assert session.run(v).tolist() == [[0, 0], [0, 0]]


def test_strings_are_a_dtype_of_their_own():
    assert tf.float32 != tf.string and tf.FixedLenFeature([], tf.string).dtype is tf.string


TEXTS = ["the cat sat on the mat", "a cat isn't a HTMLParser", "the dog"]


def test_words_become_numbers():
    words = learn.preprocessing.VocabularyProcessor(4)
    rows = [row.tolist() for row in words.fit_transform(TEXTS)]
    assert rows == [[1, 2, 3, 4], [6, 2, 7, 6], [1, 10, 0, 0]]
    assert [row.tolist() for row in words.transform(["the bird sat"])] == [[1, 0, 3, 0]]
    assert list(words.reverse([[1, 2, 0]])) == ["the cat <UNK>"]
    assert len(words.vocabulary_) == 11 and words.vocabulary_._mapping["Parser"] == 9


def test_rare_words_have_no_number():
    words = learn.preprocessing.VocabularyProcessor(3, min_frequency=1).fit(TEXTS)
    assert list(words.vocabulary_._mapping) == ["<UNK>", "the", "a", "cat"]
    assert [row.tolist() for row in words.transform(TEXTS)] == [[1, 3, 0], [2, 3, 0], [1, 0, 0]]


def test_words_are_kept_in_a_file(tmp_path):
    words, path = learn.preprocessing.VocabularyProcessor(3).fit(TEXTS), tmp_path / "vocab"
    words.save(path)
    again = learn.preprocessing.VocabularyProcessor.restore(path)
    assert [x.tolist() for x in again.transform(TEXTS)] == [x.tolist() for x in words.transform(TEXTS)]
    path.write_bytes(pickle.dumps(["the"]))
    with pytest.raises(ValueError, match=r"has no vocabulary as JSON.*fit the texts again"):
        again.restore(path)


def test_a_line_logs_as_often_as_asked(caplog):
    for number in range(5):
        tf.logging.log_every_n(tf.logging.ERROR, "every %d", 2, number)
        tf.logging.log_first_n(tf.logging.ERROR, "first %d", 2, number)
        tf.logging.log_if(tf.logging.ERROR, "if %d", number == 3, number)
    tf.logging.vlog(tf.logging.ERROR, "once")
    expected = ["every 0", "first 0", "first 1", "every 2", "if 3", "every 4", "once"]
    assert [record.getMessage() for record in caplog.records] == expected
    assert tf.get_logger().name == "dovetail.compat.tensorflow"


def test_modules_inside_have_the_same_functions():
    for place in (tf.contrib.slim, tf.contrib.layers):
        assert place.initializers.xavier_initializer is tf.contrib.layers.xavier_initializer
        assert place.regularizers.l2_regularizer is tf.contrib.layers.l2_regularizer
    assert tf.estimator.SessionRunHook is tf.train.SessionRunHook
