"""Small functions of `tf.contrib`, its cells whose elements see little of each other, and tables, by their formulas."""

from __future__ import annotations

import numpy as np
import pytest

from dovetail.compat import tensorflow
from tests.libraries import Library

tf = tensorflow.compat.v1
RANDOM = np.random.RandomState(7)
theirs = Library("tensorflow")


def ran(build, *arrays):
    """The results of a graph."""
    with tf.Graph().as_default(), tf.Session() as session:
        made = build(*map(tf.constant, arrays))
        session.run([tf.global_variables_initializer(), tf.local_variables_initializer(), tf.tables_initializer()])
        return session.run(made)


def test_names_of_scopes():
    framework = tf.contrib.framework
    with tf.Graph().as_default() as graph:
        assert framework.get_name_scope() == ""
        with tf.name_scope("a"), tf.name_scope("b"):
            assert framework.get_name_scope() == "a/b"
            x = tf.placeholder(tf.float32, name="x")
        assert [each.name for each in framework.get_placeholders(graph)] == [x.name]
    for name in ("a/x", "^a/x", "loc:@a/x", b"a/x"):
        bare = framework.strip_name_scope(name, "a")
        assert bare == (name.decode() if isinstance(name, bytes) else name).replace("a/", "")
        assert framework.prepend_name_scope(bare, "c/") == bare.replace("x", "c/x")
        assert framework.strip_name_scope(name, "") == framework.prepend_name_scope(name, "") == name


def test_orders_and_places(engine):
    x = RANDOM.rand(2, 3, 4).astype("float32")
    assert ran(tf.contrib.rnn.transpose_batch_time, x).tolist() == x.transpose(1, 0, 2).tolist()
    assert ran(tf.contrib.seq2seq.hardmax, x).tolist() == (x == x.max(-1, keepdims=True)).tolist()
    nth = tf.contrib.nn.nth_element
    assert ran(lambda x: [nth(x, 1), nth(x, 0, reverse=True)], x)[0].tolist() == np.sort(x)[..., 1].tolist()
    assert ran(lambda x: nth(x, 0, reverse=True), x).tolist() == x.max(-1).tolist()
    found = ran(lambda x: tf.contrib.nn.scaled_softplus(x, 0.5, clip=0.6), x)
    np.testing.assert_allclose(found, np.minimum(0.5 * np.log1p(np.exp(x / 0.5)), 0.6), rtol=1e-5)
    ids = np.int32([[3, 1], [3, 0]])
    table = RANDOM.rand(4, 2).astype("float32")
    assert ran(tf.contrib.layers.embedding_lookup_unique, table, ids).tolist() == table[ids].tolist()


def test_alpha_dropout(engine):
    x = RANDOM.randn(200, 200).astype("float32")
    found = ran(lambda x: tf.contrib.nn.alpha_dropout(x, 0.8, seed=1), x)
    assert abs(found.mean()) < 0.02 and found.std() == pytest.approx(1, abs=0.03)
    _, counts = np.unique(found, return_counts=True)
    assert counts.max() == pytest.approx(0.2 * x.size, rel=0.05)
    assert ran(lambda x: tf.contrib.nn.alpha_dropout(x, 1.0), x).tolist() == x.tolist()
    with pytest.raises(ValueError, match="keep_prob must be above 0"):
        ran(lambda x: tf.contrib.nn.alpha_dropout(x, 0.0), x)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def sru(x, h, w):
    new, f, r, straight = np.split(x @ w["kernel"], 4, 1)
    f, r = np.split(sigmoid(np.concatenate([f, r], 1) + w["bias"]), 2, 1)
    c = f * h + (1 - f) * new
    return r * np.tanh(c) + (1 - r) * straight, c


def independent(x, h, w):
    h = np.tanh(x @ w["kernel_w"] + h * w["kernel_u"] + w["bias"])
    return h, h


def independent_gru(x, h, w):
    gates = sigmoid(x @ w["gates/kernel_w"] + np.tile(h, 2) * w["gates/kernel_u"] + w["gates/bias"])
    r, u = np.split(gates, 2, 1)
    new = np.tanh(x @ w["candidate/kernel_w"] + r * h * w["candidate/kernel_u"] + w["candidate/bias"])
    h = u * h + (1 - u) * new
    return h, h


def independent_lstm(x, state, w):
    c, h = state
    i, j, f, o = np.split(x @ w["kernel_w"] + np.tile(h, 4) * w["kernel_u"] + w["bias"], 4, 1)
    c = c * sigmoid(f + 1) + sigmoid(i) * np.tanh(j)
    h = np.tanh(c) * sigmoid(o)
    return h, (c, h)


CELLS = {
    "SRUCell": sru,
    "IndRNNCell": independent,
    "IndyGRUCell": independent_gru,
    "IndyLSTMCell": independent_lstm,
}


@pytest.mark.parametrize("name", CELLS)
def test_cells(name, engine):
    x, step = RANDOM.randn(2, 5, 3).astype("float32"), CELLS[name]
    with tf.Graph().as_default(), tf.Session() as session:
        outputs, last = tf.nn.dynamic_rnn(getattr(tf.contrib.rnn, name)(4), tf.constant(x), dtype=tf.float32)
        slopes = tf.gradients(outputs, tf.trainable_variables())
        session.run(tf.global_variables_initializer())
        weights = {v.op.name.partition("_cell/")[2]: session.run(v) for v in tf.trainable_variables()}
        found, end, gradients = session.run([outputs, last, slopes])
    zeros = np.zeros((2, 4), "float32")
    state = (zeros, zeros) if name == "IndyLSTMCell" else zeros
    for t in range(5):
        output, state = step(x[:, t], state, weights)
        np.testing.assert_allclose(found[:, t], output, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(end, state, rtol=1e-4, atol=1e-5)
    assert all(np.abs(g).sum() > 0 for g in gradients)


def test_correlations_over_many_runs(engine):
    x, y = RANDOM.randn(2, 30).astype("float32") + 5
    weights = RANDOM.rand(30).astype("float32")
    metrics = tf.contrib.metrics
    with tf.Graph().as_default(), tf.Session() as session:
        fed = [tf.placeholder(tf.float32, [None]) for _ in range(3)]
        pairs = [
            f(*fed[:2], weights=w)
            for f in (metrics.streaming_covariance, metrics.streaming_pearson_correlation)
            for w in (None, fed[2])
        ]
        session.run(tf.local_variables_initializer())
        for part in np.split(np.arange(30), [4, 11]):
            last = session.run(
                [update for _, update in pairs], dict(zip(fed, (x[part], y[part], weights[part]), strict=True))
            )
        found = session.run([value for value, _ in pairs])
    wide = np.cov(x, y, aweights=weights, ddof=0) * weights.sum() / (weights.sum() - 1)
    deviations = np.sqrt(wide[0, 0] * wide[1, 1])
    right = [np.cov(x, y)[0, 1], wide[0, 1], np.corrcoef(x, y)[0, 1], wide[0, 1] / deviations]
    np.testing.assert_allclose(found, right, rtol=1e-4)
    np.testing.assert_allclose(last, right, rtol=1e-4)


def test_modules_of_slim_and_keras():
    slim = tf.contrib.slim
    assert slim.layers.conv2d is slim.conv2d is tf.contrib.layers.conv2d
    assert slim.variables.model_variable is tf.contrib.framework.model_variable
    assert type(tf.contrib.keras) is type(tf.keras)  # which imports Keras when a name is asked for


def test_parameters_are_counted_under_the_old_name(capsys):
    analyzer = tf.contrib.tfprof.model_analyzer
    with tf.Graph().as_default() as graph:
        tf.get_variable("w", [3, 4])
        options = analyzer.TRAINABLE_VARS_PARAMS_STAT_OPTIONS
        assert analyzer.print_model_analysis(graph, tfprof_options=options).total_parameters == 12
    assert "12 params" in capsys.readouterr().out


# -- tables -----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def words(tmp_path_factory):
    path = tmp_path_factory.mktemp("words") / "vocabulary"
    path.write_text("emerson\t10\nlake\t20\npalmer\t30\n")
    return str(path)


def looked_up(tf, words):
    """Values of tables, by TensorFlow's names alone."""
    lookup, index = tf.lookup, tf.lookup.TextFileIndex
    columns = lookup.TextFileInitializer(words, tf.string, 0, tf.int64, 1)
    lines = lookup.TextFileInitializer(words, tf.int64, index.LINE_NUMBER, tf.string, index.WHOLE_LINE, vocab_size=2)
    keys = tf.constant(["lake", "nobody", "emerson"])
    vocabulary = lookup.StaticVocabularyTable(
        lookup.KeyValueTensorInitializer(["a", "lake"], tf.constant([0, 1], tf.int64)), 5
    )
    found = [lookup.StaticHashTable(columns, -1).lookup(keys), vocabulary.lookup(keys), vocabulary.size()]
    found.append(lookup.StaticHashTable(lines, "none").lookup(tf.constant([0, 1, 2], tf.int64)))
    for kind in (lookup.experimental.MutableHashTable, lookup.experimental.DenseHashTable):
        more = {"empty_key": "", "deleted_key": "$"} if kind is lookup.experimental.DenseHashTable else {}
        table = kind(tf.string, tf.float32, [0.0, -1.0], **more)
        table.insert(tf.constant(["x", "y"]), tf.constant([[1.0, 2.0], [3.0, 4.0]]))
        table.insert(tf.constant(["x"]), tf.constant([[5.0, 6.0]]))
        table.remove(tf.constant(["y"]))
        found += [table.lookup(tf.constant(["x", "y"])), table.size(), *table.export()[:1]]
    return [np.asarray(x).tolist() for x in found]


def test_tables_are_those_of_tensorflow(words):
    mine, wanted = looked_up(tensorflow, words), looked_up(theirs, words)
    mine[-1] = wanted[-1] = None  # the places of a dense table are its own
    assert mine == wanted


def test_tables_that_runs_change(words, engine):
    lookup = tf.contrib.lookup
    with tf.Graph().as_default(), tf.Session() as session:
        ids = lookup.HashTable(lookup.TextFileIdTableInitializer(words, key_column_index=0), -1)
        names = lookup.HashTable(lookup.TextFileStringTableInitializer(words, value_column_index=0), "?")
        other = lookup.IdTableWithHashBuckets(ids, 4)
        table = lookup.MutableHashTable(tf.string, tf.int64, -1)
        key = tf.placeholder(tf.string, [None])
        put, found = table.insert(key, tf.constant([7, 8], tf.int64)), table.lookup(key)
        with tf.control_dependencies([put]):
            after = table.lookup(key)
        session.run(tf.tables_initializer())
        assert session.run(ids.lookup(key), {key: ["lake", "x"]}).tolist() == [1, -1]
        assert session.run(names.lookup(tf.constant([2, 9], tf.int64))).tolist() == [b"palmer", b"?"]
        assert 3 <= session.run(other.lookup(key), {key: ["other"]})[0] < 7
        assert session.run(found, {key: ["a", "b"]}).tolist() == [-1, -1]
        assert session.run(after, {key: ["a", "b"]}).tolist() == [7, 8]
        assert session.run([table.size(), *table.export()])[1].tolist() == [b"a", b"b"]


def test_mistakes_of_tables_are_told():
    lookup = tensorflow.lookup
    with pytest.raises(ValueError, match="above 0"):
        lookup.StaticVocabularyTable(None, 0)
    with pytest.raises(ValueError, match="must be int64"):
        lookup.StaticVocabularyTable(lookup.KeyValueTensorInitializer(["a"], ["b"]), 1)
