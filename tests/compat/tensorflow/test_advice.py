"""The advice of errors for names that are not offered: a program does what each error says."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import timeit
import types
import unittest.mock
import wave

import numpy as np
import pytest

import dovetail as dt
from dovetail.compat import tensorflow
from dovetail.compat.tensorflow.names.absences import ABSENT
from tests.libraries import require

tf = tensorflow.compat.v1
PROGRAMS = {}  # a name that is not offered → the program that does what its error says
X = np.float32([[1, 2], [3, 4], [5, 6], [7, 8]])


def advised(*names, graph=True):
    """Decorator: note the program for the reasons of some names; `graph` says whether it runs in a graph of its own."""

    def decorate(program):
        PROGRAMS.update(dict.fromkeys(names, program))
        program.in_graph = graph
        return program

    return decorate


def ran(made, fed=None):
    """Values of a graph after its variables began."""
    with tf.Session(graph=tf.get_default_graph()) as session:
        session.run([tf.global_variables_initializer(), tf.local_variables_initializer(), tf.tables_initializer()])
        return session.run(made, fed)


def in_keras(program):
    """Run lines in a process in which Keras runs on Dovetail."""
    require("keras", "it runs on Dovetail")
    environment = {**os.environ, "KERAS_BACKEND": "dovetail"}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr


# -- Keras, layers, losses and optimizers -----------------------------------------------------------------------------


@advised("keras.")
def names_of_keras_2(folder):
    in_keras("import dovetail.compat.keras2, keras; assert keras.objectives.mse and keras.layers.Convolution2D")


@advised("contrib.layers.")
def layers_of_keras(folder):
    in_keras("import keras, numpy as np; assert keras.layers.Dense(2)(np.ones((1, 3))).shape == (1, 2)")


def line(features, labels, mode):
    w = tf.get_variable("w", [2, 1], initializer=tf.zeros_initializer())
    loss = tf.reduce_mean(tf.square(tf.matmul(features, w)[:, 0] - labels))
    step = tf.train.GradientDescentOptimizer(0.01).minimize(loss, tf.train.get_global_step())
    return tf.estimator.EstimatorSpec(mode, None, loss, step)


@advised("estimator.")
def a_model_function(folder):
    data = tf.estimator.inputs.numpy_input_fn(X, X[:, 0], batch_size=4, num_epochs=None, shuffle=False)
    assert tf.estimator.Estimator(line).train(data, steps=3).evaluate(data, steps=1)["loss"] < 5


@advised("estimator.export.build_parsing_serving_input_receiver_fn")
def raw_inputs(folder):
    receive = tf.estimator.export.build_raw_serving_input_receiver_fn({"x": X})
    assert receive().receiver_tensors["x"].shape.as_list() == [None, 2]


class Signs(tf.train.Optimizer):
    """A program's own optimizer."""

    def __init__(self):
        super().__init__(False, "Signs")

    def _apply_dense(self, grad, var):
        return tf.assign_sub(var, 0.5 * tf.sign(grad))


@advised("contrib.opt.", "train.sdca_optimizer")
def an_own_optimizer(folder):
    v = tf.Variable([2.0, -2.0])
    with tf.control_dependencies([Signs().minimize(tf.reduce_sum(tf.square(v)))]):
        after = tf.identity(v)
    assert ran(after).tolist() == [1.5, -1.5]
    v = tf.Variable([2.0])
    assert ran(tf.train.FtrlOptimizer(0.1).minimize(tf.reduce_sum(v * v))) is None


@advised("mixed_precision.")
def an_optimizer_of_whole_gradients(folder):
    table = tf.Variable(np.ones((3, 2), "float32"))
    loss = tf.reduce_sum(tf.cast(tf.cast(tf.nn.embedding_lookup(table, [1]), tf.bfloat16), tf.float32))
    with tf.control_dependencies([tf.train.AdamOptimizer(0.1).minimize(loss)]):
        after = tf.identity(table)
    np.testing.assert_allclose(ran(after)[1], 0.9, rtol=1e-4)


@advised("contrib.losses.")
def an_own_loss(folder):
    tf.losses.add_loss(tf.reduce_sum(tf.constant([1.0, 2.0])))
    assert ran(tf.losses.get_total_loss()) == 3.0


@advised("contrib.metrics.")
def measures(folder):
    _, update = tf.metrics.accuracy([1, 0, 1], [1, 1, 1])
    assert ran(update) == pytest.approx(2 / 3)
    assert np.corrcoef([1, 2, 3], [1, 2, 4]).shape == (2, 2)


@advised("contrib.distributions.")
def an_own_distribution(folder):
    x, shape = tf.constant([0.5, 2.0]), tf.constant(3.0)
    log_prob = (shape - 1) * tf.log(x) - x - tf.lgamma(shape)
    np.testing.assert_allclose(np.exp(ran(log_prob)), [0.25 * np.exp(-0.5) / 2, 4 * np.exp(-2) / 2], rtol=1e-5)
    assert ran(tf.random.gamma([5], shape)).shape == (5,)


@advised("contrib.gan.")
def two_networks(folder):
    makes, judges = tf.Variable(1.0, name="makes"), tf.Variable(0.5, name="judges")
    logit = judges * makes
    judged = tf.losses.sigmoid_cross_entropy(tf.zeros([1]), tf.reshape(logit, [1]))
    optimizer = tf.train.GradientDescentOptimizer(0.1)
    steps = [optimizer.minimize(judged, var_list=[judges]), optimizer.minimize(-judged, var_list=[makes])]
    ran(steps)


@advised("contrib.quantize.")
def fake_quantization(folder):
    assert ran(tf.fake_quant_with_min_max_args(tf.constant([0.1, 9.0]), -1.0, 1.0)).max() <= 1.01


@advised("contrib.layers.weighted_sparse_column", "feature_column.")
def columns(folder):
    column = tf.feature_column
    kinds = column.categorical_column_with_vocabulary_list("b", ["u", "v"])
    given = {"a": X[:, :1], "b": tf.constant([["u"], ["v"], ["u"], ["v"]])}
    found = column.input_layer(given, [column.numeric_column("a"), column.indicator_column(kinds)])
    assert ran(found)[1].tolist() == [3, 0, 1]


@advised("nn.fractional_max_pool")
def pools_of_one_size(folder):
    assert ran(tf.nn.max_pool(np.ones((1, 4, 4, 1), "float32"), [1, 2, 2, 1], [1, 2, 2, 1], "VALID")).shape == (
        1,
        2,
        2,
        1,
    )


# -- recurrent networks -----------------------------------------------------------------------------------------------


class Sum(tf.nn.rnn_cell.RNNCell):
    """A program's own cell."""

    state_size = output_size = 2

    def call(self, inputs, state):
        return inputs + state, inputs + state


@advised("contrib.rnn.GridLSTMCell", "contrib.cudnn_rnn.", "nn.static_state_saving_rnn")
def an_own_cell(folder):
    x = tf.constant(X[None])
    outputs, state = tf.nn.dynamic_rnn(Sum(), x, dtype=tf.float32)
    assert ran([outputs[0, -1], state[0]])[1].tolist() == [16, 20]
    assert ran(tf.nn.dynamic_rnn(tf.nn.rnn_cell.LSTMCell(3), x, dtype=tf.float32)[0]).shape == (1, 4, 3)
    with tf.variable_scope("on"):
        _, last = tf.nn.static_rnn(Sum(), [tf.constant(X[:1])], initial_state=tf.constant([[10.0, 10.0]]))
    assert ran(last).tolist() == [[11, 12]]


@advised("contrib.seq2seq.")
def a_decoder(folder):
    seq2seq, cell = tf.contrib.seq2seq, tf.nn.rnn_cell.GRUCell(4)
    helper = seq2seq.GreedyEmbeddingHelper(tf.Variable(np.eye(4, dtype="float32")), [1, 2], 0)
    start = cell.zero_state(2, tf.float32)
    outputs, _, _ = seq2seq.dynamic_decode(seq2seq.BasicDecoder(cell, helper, start), maximum_iterations=3)
    assert ran(outputs.sample_id).shape[0] == 2


# -- data -------------------------------------------------------------------------------------------------------------


@advised("data.", "LMDBReader", graph=False)
def records_read_in_python(folder):
    data = tf.data.Dataset.from_generator(lambda: iter([1.0, 2.0]), tf.float32)
    assert [float(x) for x in data] == [1, 2]


@advised("train.maybe_batch")
def an_own_queue(folder):
    queue = tf.FIFOQueue(10, tf.float32, [[]])
    with tf.Session() as session:
        for number in (1.0, -1.0, 2.0):
            if number > 0:
                session.run(queue.enqueue(number))
        assert session.run(queue.dequeue_many(2)).tolist() == [1, 2]


@advised("strings.", "contrib.image.", "io.", "audio.")
def functions_of_python(folder):
    upside_down = tf.py_func(lambda text: text[::-1], [tf.constant("abc")], tf.string)
    grey = tf.py_func(lambda image: image.mean(-1), [tf.ones([2, 2, 3])], tf.float32)
    assert [x if isinstance(x, bytes) else x.shape for x in ran([upside_down, grey])] == [b"cba", (2, 2)]
    with wave.open(str(folder / "a.wav"), "wb") as file:
        file.setparams((1, 2, 8000, 0, "NONE", ""))
        file.writeframes(np.int16([1, -2]).tobytes())
    with wave.open(str(folder / "a.wav")) as file:
        sound = np.frombuffer(file.readframes(9), "int16")
    x = tf.placeholder(tf.float32, [None])
    assert ran(tf.reduce_sum(x), {x: sound}) == -1


@advised("ragged.")
def padded(folder):
    lengths = tf.constant([1, 2])
    assert ran(tf.reduce_sum(tf.ones([2, 2]) * tf.sequence_mask(lengths, 2, tf.float32))) == 3


@advised("lookup.")
def a_table(folder):
    table = tf.contrib.lookup.index_table_from_tensor(["a", "b"])
    assert ran(table.lookup(tf.constant(["b"]))).tolist() == [1]
    found = tf.py_func(lambda word: np.int64({b"x": 5}[word]), [tf.constant("x")], tf.int64)
    assert ran(found) == 5


@advised("TypeSpec", graph=False)
def specs(folder):
    data = tensorflow.data.Dataset.from_tensors({"a": np.float32([1.0])})
    assert data.element_spec == {"a": tensorflow.TensorSpec([1], tensorflow.float32)}


# -- variables, sessions and scopes -----------------------------------------------------------------------------------


@advised("resource", "get_session_handle")
def variables(folder):
    kept = tf.Variable(0.0)
    with tf.Session() as session:
        session.run(kept.initializer)
        session.run(kept.assign(3.0))
        assert session.run(kept) == 3


@advised("ConditionalAccumulator", "CriticalSection")
def sums_of_gradients(folder):
    w, total = tf.Variable(1.0), tf.Variable(0.0, trainable=False)
    optimizer = tf.train.GradientDescentOptimizer(1.0)
    ((gradient, _),) = optimizer.compute_gradients(w * 2, [w])
    add, apply, clear = tf.assign_add(total, gradient), optimizer.apply_gradients([(total, w)]), tf.assign(total, 0.0)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for step in (add, add, apply, clear):
            session.run(step)
        assert session.run([w, total]) == [-3, 0]


@advised("variable_creator_scope")
def a_getter(folder):
    def frozen(getter, *args, **kwargs):
        return getter(*args, **{**kwargs, "trainable": False})

    with tf.variable_scope("a", custom_getter=frozen):
        tf.get_variable("v", [])
    assert not tf.trainable_variables()


@advised("debugging.assert_shapes")
def sizes(folder):
    x = tf.placeholder(tf.float32, [None, 2])
    with tf.control_dependencies([tf.debugging.assert_equal(tf.shape(x), [4, 2])]):
        total = tf.reduce_sum(x)
    assert ran(total, {x: X}) == 36


@advised("train.basic_train_loop", "train.WorkerSessionCreator")
def an_own_loop(folder):
    step = tf.train.get_or_create_global_step()
    more = tf.assign_add(step, 1)
    with tf.train.MonitoredTrainingSession(hooks=[tf.train.StopAtStepHook(3)]) as session:
        while not session.should_stop():
            last = session.run(more)
    assert last == 3


class Notes(tf.contrib.learn.monitors.EveryN):
    """A program's own monitor."""

    def every_n_step_end(self, step, outputs):
        return step == 2


@advised("contrib.learn.monitors.")
def an_own_monitor(folder):
    def model(features, labels, mode):
        return tf.contrib.learn.ModelFnOps(*line(features, labels, mode)[:4])

    learned = tf.contrib.learn.Estimator(model)
    learned.fit(X, X[:, 0], steps=9, monitors=[Notes(every_n_steps=1)])
    assert learned.get_variable_value("global_step") == 2


@advised("contrib.summary.")
def summaries(folder):
    assert b"loss" in ran(tf.summary.scalar("loss", tf.constant(1.0)))


# -- several processes, devices and engines ---------------------------------------------------------------------------


@advised("distribute.", "distribute.TPUStrategy", "data.experimental.AutoShardPolicy", "contrib.nccl.", graph=False)
def strategies(folder):
    strategy = tensorflow.distribute.MirroredStrategy()
    with strategy.scope():
        v = tensorflow.Variable(1.0)
    data = strategy.experimental_distribute_dataset(tensorflow.data.Dataset.from_tensor_slices(X).batch(2))
    assert float(v) == 1 and [np.shape(batch) for batch in data] == [(2, 2), (2, 2)]


@advised("train.SyncReplicasOptimizer", "train.Server", "train.replica_device_setter")
def mean_gradients(folder):
    import dovetail.compat.horovod as hvd

    hvd.init()
    v = tf.Variable(1.0)
    step = tf.train.get_or_create_global_step()
    train = hvd.DistributedOptimizer(tf.train.GradientDescentOptimizer(0.1)).minimize(v * v, step)
    hooks = [hvd.BroadcastGlobalVariablesHook(0), tf.train.StopAtStepHook(5)]
    with tf.train.MonitoredTrainingSession(hooks=hooks) as session:
        session.run(train)
        assert session.run(v) == pytest.approx(0.8)


@advised("federated.")
def federated_averages(folder):
    assert all(callable(getattr(dt.federated, name)) for name in ("fed_avg", "computation", "federated_map"))
    assert callable(dt.federated.federated_mean) and callable(dt.federated.federated_broadcast)


@advised("tpu.", "xla.", graph=False)
def the_jax_engine(folder):
    require("jax", "it compiles by XLA")
    with dt.engine("jax"):
        assert tensorflow.function(lambda x: x * 2)(tensorflow.constant(3.0)).numpy() == 6


@advised("contrib.memory_stats.", graph=False)
def memory(folder):
    x = dt.ops.zeros((10, 10)) + 1.0
    assert any(info.bytes >= 400 for info in dt.memory_info()) and x.shape == (10, 10)


@advised("profiler.", "train.ProfilerHook", "test.Benchmark", graph=False)
def profiles(folder):
    with dt.profile() as profile:
        tensorflow.constant([1.0]) + 1
    assert str(profile) and timeit.timeit(lambda: None, number=1) >= 0
    tensorflow.profiler.experimental.start(str(folder))
    tensorflow.profiler.experimental.stop()
    with unittest.mock.patch.object(np, "pi", 3):
        assert np.pi == 3


# -- files and other libraries ----------------------------------------------------------------------------------------


@advised("contrib.boosted_trees.", "contrib.factorization.", "contrib.tensor_forest.")
def trees(folder):
    assert tf.contrib.factorization.KMeans and tf.contrib.tensor_forest.tensor_forest.RandomForestGraphs
    require("sklearn", "it grows trees")
    from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
    from sklearn.mixture import GaussianMixture

    labels = [0, 0, 1, 1]
    for made in (GradientBoostingClassifier(n_estimators=5), RandomForestClassifier(5, bootstrap=False)):
        assert made.fit(X, labels).predict(X).tolist() == labels
    assert GaussianMixture(2).fit(X).predict(X).shape == (4,)


@advised("contrib.labeled_tensor.", "contrib.solvers.", "contrib.testing.", "contrib.stat_summarizer.")
def tensors_of_numbers(folder):
    total = tf.reduce_sum(tf.slice(tf.transpose(tf.constant(X), [1, 0]), [0, 1], [2, 2]), 0)
    solved = tf.linalg.solve(tf.constant([[2.0, 0.0], [0.0, 4.0]]), tf.constant([[2.0], [2.0]]))
    with dt.profile() as profile:
        np.testing.assert_allclose(ran(total), [7, 11])
    np.testing.assert_allclose(ran(solved), [[1], [0.5]])
    from scipy.sparse import eye, linalg

    solve = tf.py_func(lambda b: linalg.spsolve(2 * eye(2).tocsc(), b), [tf.constant([2.0, 4.0])], tf.float32)
    assert ran(solve).tolist() == [1, 2] and str(profile)


@advised("contrib.graph_editor.")
def a_part_of_a_graph(folder):
    x = tf.placeholder(tf.float32, [], name="x")
    tf.add(x * 2.0, 1.0, name="y")
    part = tf.graph_util.extract_sub_graph(tf.get_default_graph().as_graph_def(), ["y"])
    (copy,) = tf.import_graph_def(part, input_map={"x:0": tf.constant(5.0)}, return_elements=["y:0"])
    assert ran(copy) == 11


@advised("contrib.model_pruning.", "contrib.constrained_optimization.", "contrib.kernel_methods.")
def masks_and_multipliers(folder):
    w, mask = tf.Variable([0.1, -2.0]), tf.Variable([1.0, 1.0], trainable=False)
    prune = tf.assign(mask, tf.cast(tf.abs(w) > 1, tf.float32))
    price = tf.Variable(1.0, name="price")
    broken = tf.reduce_sum(w * mask) - 1.0
    loss = tf.reduce_sum(tf.square(w * mask)) + price * broken
    optimizer = tf.train.GradientDescentOptimizer(0.1)
    steps = [optimizer.minimize(loss, var_list=[w]), optimizer.minimize(-loss, var_list=[price])]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(prune)
        session.run(steps)
        assert session.run(w)[0] == np.float32(0.1) and session.run(price) < 1
    assert ran(tf.cos(tf.matmul(tf.constant(X), tf.random_normal([2, 8])))).shape == (4, 8)


@advised("contrib.checkpoint.", graph=False)
def named_parts(folder):
    v = tensorflow.Variable(3.0)
    path = tensorflow.train.Checkpoint(parts=[v], by={"name": v}).save(str(folder / "c"))
    v.assign(0.0)
    tensorflow.train.Checkpoint(parts=[v], by={"name": v}).restore(path)
    assert v.numpy() == 3


@advised("contrib.training.", "contrib.cloud.", graph=False)
def examples_of_python(folder):
    def chosen():
        yield from (n for n in range(6) if n % 2)

    data = tensorflow.data.Dataset.from_generator(chosen, tensorflow.int64).batch(2)
    assert [batch.numpy().tolist() for batch in data] == [[1, 3], [5]]


@advised("contrib.timeseries.")
def windows_of_a_series(folder):
    windows = np.lib.stride_tricks.sliding_window_view(np.arange(6, dtype="float32"), 3)[..., None]
    outputs, _ = tf.nn.dynamic_rnn(tf.nn.rnn_cell.GRUCell(2), tf.constant(windows), dtype=tf.float32)
    assert ran(outputs).shape == (4, 3, 2)


@advised("contrib.tfprof.")
def parameters_are_counted(folder):
    tf.get_variable("w", [3, 4])
    options = tf.profiler.ProfileOptionBuilder(tf.profiler.ProfileOptionBuilder.trainable_variables_parameter())
    assert tf.profiler.profile(options=options.with_empty_output().build()).total_parameters == 12


@advised("contrib.nn.rank_sampled_softmax_loss", "contrib.crf.")
def sampled_losses(folder):
    weights, biases = tf.get_variable("w", [9, 2]), tf.get_variable("b", [9])
    labels = tf.constant([[1], [2], [3], [4]], tf.int64)
    assert ran(tf.nn.sampled_softmax_loss(weights, biases, labels, tf.constant(X), 3, 9)).shape == (4,)
    scores = np.float32([[[1, 0], [0, 1], [1, 0]]])
    best, _ = tf.contrib.crf.crf_decode(scores, tf.zeros([2, 2]), [3])
    assert ran(best).tolist() == [[0, 1, 0]]


@advised("contrib.framework.load_embedding_initializer")
def rows_of_a_checkpoint(folder):
    tf.get_variable("table", initializer=X)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        path = tf.train.Saver().save(session, str(folder / "c"))
    rows = tf.train.load_variable(path, "table")[[2, 0]]
    assert ran(tf.Variable(rows)).tolist() == [[5, 6], [1, 2]]


@advised("qint8")
def scaled_bytes(folder):
    kept, scale = tf.constant([100, -50], tf.int8), tf.constant(0.01)
    np.testing.assert_allclose(ran(tf.cast(kept, tf.float32) * scale), [1, -0.5], rtol=1e-6)


@advised("contrib.slim.nets.", "contrib.")
def a_network_in_a_file(folder):
    text = "import dovetail.compat.tensorflow.compat.v1 as tf\nslim = tf.contrib.slim\n\n"
    text += "def net(x):\n    with slim.arg_scope([slim.fully_connected], activation_fn=None):\n"
    text += "        return slim.fully_connected(x, 2)\n"
    module = types.ModuleType("nets_vgg")
    exec(text, vars(module))
    assert ran(module.net(tf.constant(X))).shape == (4, 2)


@advised("lite.", graph=False)
def a_model_of_onnx(folder):
    require("onnx", "it reads the model")
    dt.onnx.save(dt.function(lambda x: x * 2, input_signature=[dt.spec((None, 2))]), folder / "m.onnx")
    assert dt.onnx.load(folder / "m.onnx")(X) is not None


@advised("quantization.", graph=False)
def weights_of_8_bits(folder):
    kept = np.int8([[100, -50], [25, 0]])
    np.testing.assert_allclose(dt.ops.matmul(X, dt.ops.cast(kept, "float32") * 0.01), X @ (kept * 0.01), rtol=1e-5)


@advised("load_op_library", graph=False)
def an_own_op(folder):
    @dt.register_op("Thrice")
    def thrice(x: dt.kinds.Float):
        """Three times a tensor."""
        return x * 3.0

    assert thrice(X[0]).numpy().tolist() == [3, 6]


@advised("saved_model.", "contrib.session_bundle.", graph=False)
def saved_models(folder):
    require("google", "messages need it")
    double = dt.function(lambda x: x * 2, input_signature=[dt.spec((None, 2))])
    dt.saved_model.save(double, folder / "new")
    assert tensorflow.saved_model.contains_saved_model(folder / "new")
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [None], name="x")
        tf.saved_model.simple_save(session, str(folder / "old"), {"x": x}, {"y": x + 1})
    assert tf.saved_model.maybe_saved_model_directory(folder / "old")


@pytest.mark.parametrize("program", dict.fromkeys(PROGRAMS.values()), ids=lambda program: program.__name__)
def test_a_program_does_what_the_error_says(program, tmp_path):
    with tf.Graph().as_default() if program.in_graph else contextlib.nullcontext():
        program(tmp_path)


def test_each_reason_has_a_program():
    reasons = {ABSENT[name] for name in PROGRAMS}
    assert {why: name for name, why in ABSENT.items() if why not in reasons} == {}
