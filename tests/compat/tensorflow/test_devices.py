"""`tf.device` in graphs, against TensorFlow: the device strings of operations, and their effect in a run."""

from __future__ import annotations

import functools

import numpy as np
import pytest

import dovetail as dt
from dovetail.compat import tensorflow as tf
from tests.libraries import require

v1 = tf.compat.v1


def scopes(tf):
    """Devices of operations in nested scopes, of functions, of colocated operations, of imports, of variables."""
    v1, found = tf.compat.v1, []
    with v1.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [2], name="x")

        def note(y=None):
            found.append((tf.exp(x) if y is None else y).op.device or "")

        note()
        with tf.device("/gpu:0"):
            note()
            with tf.device("/cpu:1"):
                note()
            with tf.device(None):
                note()
            with tf.device("/job:worker/task:0"):
                note()
                with v1.device(tf.DeviceSpec(job="ps", device_type="CPU")):
                    note()
        with v1.device(lambda op: "/device:CPU:3" if op.type == "Exp" else ""), v1.device("/job:a"):
            note()
            note(tf.tanh(x))
        with (
            tf.device("/job:a"),
            v1.device(lambda op: "/device:CPU:3" if op.type == "Exp" else ""),
            tf.device("/gpu:7"),
        ):
            note()
            note(tf.tanh(x))
        with tf.device("/device:GPU:4"):
            near = tf.exp(x)
            v = v1.get_variable("v", [2])
            u = tf.Variable(1.0)
        found += [v.device, v.op.device, u.device]
        with tf.device("/cpu:2"), v1.colocate_with(near.op):
            note()
            with tf.device("/cpu:5"):
                note()
        with tf.device("/cpu:8"):
            tf.identity(near, name="y")
        definition = graph.as_graph_def()
    with v1.Graph().as_default(), tf.device("/job:b/cpu:9"):
        for element in tf.import_graph_def(definition, return_elements=["x", "y"]):
            found.append(element.device)
    found += sorted({node.device for node in definition.node if node.op in ("Exp", "Identity")})
    with v1.Graph().as_default(), v1.Session() as session, tf.device("/cpu:0"):
        found += [tf.constant([3.0]).op.device, *session.run(tf.exp(tf.zeros([2])))]
    return found


def test_operations_have_the_devices_that_tensorflow_gives_them():
    require("tensorflow", "the oracle")
    import tensorflow

    assert scopes(tf) == scopes(tensorflow)


def test_a_run_computes_elsewhere_what_is_for_a_device_that_is_not_there(engine):
    with v1.Graph().as_default():
        x = v1.placeholder(tf.float32, [2])
        with tf.device("/job:worker/task:0/gpu:3"):
            w = v1.get_variable("w", [2], initializer=v1.ones_initializer())
            loss = tf.reduce_sum(tf.square(tf.tanh(x) * w))
        train = v1.train.GradientDescentOptimizer(0.5).minimize(loss)
        for config in (None, v1.ConfigProto(), v1.ConfigProto(allow_soft_placement=True, log_device_placement=True)):
            with v1.Session(config=config) as session:
                session.run(v1.global_variables_initializer())
                session.run(train, {x: [0.5, 1.0]})
                np.testing.assert_allclose(session.run(w), 1 - np.tanh([0.5, 1.0]) ** 2, rtol=1e-5)
        strict = v1.ConfigProto()
        strict.allow_soft_placement = False
        with v1.Session(config=strict) as session:
            w.load([0.0, 0.0], session)
            assert session.run(x * 2.0, {x: [1.0, 2.0]}).tolist() == [2.0, 4.0]
            with pytest.raises(tf.errors.InvalidArgumentError, match="on the device '/job:worker/task:0/device:GPU:3'"):
                session.run(loss, {x: [0.5, 1.0]})


def test_soft_placement_is_a_setting():
    with v1.Graph().as_default(), tf.device("/device:TPU:0"):
        x = tf.exp(tf.zeros([2]))
        tf.config.set_soft_device_placement(False)
        try:
            assert not tf.config.get_soft_device_placement()
            with pytest.raises(ValueError, match="allow_soft_placement=True"):
                v1.Session().run(x)
            assert v1.Session(config=v1.ConfigProto(allow_soft_placement=True)).run(x).tolist() == [1.0, 1.0]
        finally:
            tf.config.set_soft_device_placement(True)


def test_a_scope_holds_in_the_graph_that_is_opened_inside_of_it():
    with tf.device("/gpu:0"):
        x = v1.placeholder(tf.float32)
        assert (x + 1.0).op.device == "/device:GPU:0"
        with tf.device("/cpu:1"):
            assert (x + 1.0).op.device == "/device:CPU:1"
    assert (x + 1.0).op.device == ""


def test_outside_of_graphs_a_device_is_accepted(engine):
    with tf.device("/job:nowhere/gpu:9"):
        assert tf.exp(tf.zeros([2])).numpy().tolist() == [1.0, 1.0]
    with v1.colocate_with(tf.zeros([2])):
        assert tf.zeros([2]).numpy().tolist() == [0.0, 0.0]
    for scope in (tf.device, v1.device):
        with pytest.raises(ValueError, match="is no part of a device"), scope("/nowhere:0"):
            pass
    with pytest.raises(RuntimeError, match=r"tf\.compat\.v1\.device"):
        tf.device(lambda op: "/cpu:0")


def test_functions_record_devices():
    @tf.function
    def f(x):
        with tf.device("/gpu:0"):
            return tf.exp(x)

    assert [op.device for op in f.graph(dt.spec((2,))) if op.inputs] == ["/device:GPU:0"]
    assert f(tf.zeros([2])).numpy().tolist() == [1.0, 1.0]


def test_visible_devices(engine):
    there = tf.config.list_physical_devices()
    assert tf.config.get_visible_devices() == there
    tf.config.set_visible_devices(there)
    tf.config.set_visible_devices([], "TPU")
    with pytest.raises(RuntimeError, match="cannot be hidden: say CUDA_VISIBLE_DEVICES"):
        tf.config.set_visible_devices([], "CPU")


def test_the_first_value_of_a_variable_shares_its_device():
    with v1.Graph().as_default():
        made = v1.get_variable("made", [2])
        given = v1.get_variable("given", initializer=v1.constant(1.0, name="one"))
        assert made.initial_value.op.colocation_groups() == made.op.colocation_groups() == [b"loc:@made"]
        assert given.initial_value.op.colocation_groups() != given.op.colocation_groups()


def test_one_replica_computes():
    context = tf.distribute.get_replica_context()
    assert context.merge_call(lambda strategy, x: (strategy.num_replicas_in_sync, x), args=(5,)) == (1, 5)
    assert context.replica_id_in_sync_group == 0
    assert isinstance(context, tf.distribute.ReplicaContext)
    with tf.distribute.get_strategy().scope():
        assert tf.distribute.get_strategy().run(lambda x, y: x - y, (5,), {"y": 3}) == 2
    assert not tf.distribute.has_strategy() and not tf.distribute.in_cross_replica_context()


@pytest.mark.parametrize(
    "name", ["MirroredStrategy", "MultiWorkerMirroredStrategy", "experimental.MultiWorkerMirroredStrategy"]
)
def test_a_strategy_of_one_replica(name):
    strategy = functools.reduce(getattr, name.split("."), tf.distribute)()
    with strategy.scope():
        assert tf.distribute.get_strategy() is strategy and tf.distribute.has_strategy()
    assert not tf.distribute.has_strategy()
    assert [*strategy.experimental_distribute_dataset([1, 2])] == [1, 2]
    assert strategy.experimental_local_results(3) == (3,)
    assert strategy.gather(4, axis=0) == 4
    size = strategy.distribute_datasets_from_function(lambda context: context.get_per_replica_batch_size(8))
    assert size == 8
    rows = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    found = strategy.reduce(tf.distribute.ReduceOp.MEAN, {"rows": rows, "one": 5.0}, axis=None)
    np.testing.assert_array_equal(found["rows"], rows)
    np.testing.assert_array_equal(strategy.reduce("mean", rows, axis=0), [2.0, 3.0])
    np.testing.assert_array_equal(strategy.reduce("SUM", rows, axis=1), [3.0, 7.0])
    with pytest.raises(ValueError, match="MIN"):
        strategy.reduce("MIN", rows, axis=None)


def test_losses_of_replicas():
    losses = [1.0, 2.0, 3.0]
    assert tf.nn.compute_average_loss(losses).numpy() == 2
    assert tf.nn.compute_average_loss(losses, sample_weight=[1, 0, 1], global_batch_size=8).numpy() == 0.5
    assert tf.nn.scale_regularization_loss(losses).numpy() == 6


@pytest.mark.parametrize(
    "name",
    [
        *("train.ClusterSpec", "train.Server", "train.replica_device_setter", "train.SyncReplicasOptimizer"),
        *("distribute.experimental.ParameterServerStrategy", "distribute.experimental.CentralStorageStrategy"),
    ],
)
def test_clusters_are_refused_with_what_to_write(name):
    with pytest.raises(AttributeError, match="dovetail run --processes N"):
        functools.reduce(getattr, name.split("."), tf.compat.v1)
