"""The functions of `tf.contrib.layers` besides layers: regularizers, initializers, summaries, training steps, utils."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.compat.tensorflow.legacy import array

INITIAL = ("initializers",)


def _weights(tf: Any) -> list[Any]:
    with tf.variable_scope("net"):
        return [tf.get_variable(name, shape) for name, shape in {"w": [3, 2], "v": [2]}.items()]


def sizes(tf: Any, fed: Any) -> Any:
    w, v = _weights(tf)
    tf.placeholder(tf.float64, [None, 3], name="x")
    analyzer = tf.contrib.slim.model_analyzer
    analyzer.analyze_ops(tf.get_default_graph(), print_info=True)
    return [tf.constant(x) for x in analyzer.analyze_vars([w, v], print_info=True)]


def regularizers(tf: Any, fed: Any) -> Any:
    layers = tf.contrib.layers
    made = [
        layers.l1_regularizer(0.5),
        layers.l2_regularizer(0.25, "decay"),
        layers.l1_l2_regularizer(0.5, 0.1),
        layers.l1_l2_regularizer(0.0, 0.1),
        layers.l1_l2_regularizer(0.5, 0.0),
        layers.sum_regularizer([layers.l1_regularizer(0.5), None, layers.l2_regularizer(0.0)]),
    ]
    w, v = _weights(tf)
    assert layers.l1_regularizer(0.0)(w) is None and layers.sum_regularizer([None]) is None
    for name, regularizer in zip("abcdef", made, strict=True):
        tf.get_variable(name, [2, 2], regularizer=regularizer)
    names = [loss.op.name for loss in tf.get_collection("regularization_losses")]
    assert names == [
        "a/Regularizer/l1_regularizer",
        "b/Regularizer/decay",
        "c/Regularizer/l1_l2_regularizer",
        "d/Regularizer/l1_l2_regularizer",
        "e/Regularizer/l1_l2_regularizer",
        "f/Regularizer/sum_regularizer",
    ], names
    tf.add_to_collection("weights", w)
    total = layers.apply_regularization(layers.l2_regularizer(0.5))
    both = layers.apply_regularization(layers.l1_regularizer(0.5), [w, v])
    return [*tf.get_collection("regularization_losses"), total, both]


def whole_scale(tf: Any, fed: Any) -> Any:
    return tf.contrib.layers.l2_regularizer(1)


def negative_scale(tf: Any, fed: Any) -> Any:
    return tf.contrib.layers.l1_regularizer(-0.5)


def nothing_to_regularize(tf: Any, fed: Any) -> Any:
    return tf.contrib.layers.apply_regularization(tf.contrib.layers.l2_regularizer(0.5))


def initializers(tf: Any, fed: Any) -> Any:
    """The spread of many draws, rounded: TensorFlow's draws are others."""
    layers, shape = tf.contrib.layers, [40, 30, 50, 10]
    made = [
        layers.xavier_initializer(seed=1),
        layers.xavier_initializer_conv2d(uniform=False, seed=1),
        layers.variance_scaling_initializer(seed=1),
        layers.variance_scaling_initializer(1.0, "FAN_OUT", uniform=True, seed=1),
        layers.variance_scaling_initializer(3.0, "FAN_AVG", seed=1),
    ]
    spreads = [tf.sqrt(tf.reduce_mean(tf.square(one(shape)))) for one in made]
    bounds = [tf.reduce_max(tf.abs(one(shape))) for one in made]
    v = tf.get_variable("v", [7], tf.float32, layers.xavier_initializer(seed=1))
    with tf.Session() as session:
        spreads, bounds = session.run([spreads, bounds])
        return tf.constant(
            [round(float(x) * 400) for x in spreads] + [round(float(x) * 200) for x in bounds]
        ), tf.shape(v)


def no_such_mode(tf: Any, fed: Any) -> Any:
    return tf.contrib.layers.variance_scaling_initializer(mode="fan_in")


def summaries(tf: Any, fed: Any) -> Any:
    layers, x = tf.contrib.layers, fed(array(4, 3))
    activations = [f(x) for f in (tf.nn.relu, tf.nn.relu6, tf.nn.softplus, tf.tanh)]
    for one in activations:
        tf.add_to_collection("activations", one)
    assert layers.summarize_tensor(tf.greater(x, 0.0)) is None
    layers.summarize_tensors([x, tf.reduce_sum(x)])
    layers.summarize_tensor(x, "own")
    layers.summarize_activations()
    layers.summarize_activations("Relu")
    _weights(tf)
    layers.summarize_variables()
    layers.summarize_variables("net/w")
    layers.summarize_weights()
    layers.summarize_biases()
    layers.summarize_collection("activations", summarizer=lambda one: layers.summarize_tensor(one, "again"))
    return activations


def summaries_of_slim(tf: Any, fed: Any) -> Any:
    add, x = tf.contrib.slim.summaries, fed(array(4, 3, 3, 1))
    total = tf.reduce_sum(x)
    add.add_histogram_summaries([x, total], prefix="all")
    add.add_image_summary(x, "image")
    add.add_scalar_summaries([total])
    add.add_zero_fraction_summary(x, prefix="part")
    return x


def utils(tf: Any, fed: Any) -> Any:
    utils, x = tf.contrib.layers.utils, fed(array(4, 3))
    double = tf.multiply(x, 2.0, name="double")
    utils.collect_named_outputs("points", "first/", double)
    utils.append_tensor_alias(double, "second")
    utils.collect_named_outputs(None, "third", x)
    tf.add_to_collection("points", x)
    assert utils.gather_tensors_aliases([double, x]) == ["first", "second", x.op.name]
    assert list(utils.convert_collection_to_dict("points")) == ["first", "second", x.op.name]
    assert len(utils.convert_collection_to_dict("points", clear_collection=True)) == 3
    assert not tf.get_collection("points")
    assert utils.constant_value(tf.constant(3)) == 3 and utils.constant_value(x) is None
    assert utils.get_variable_collections({"w": ["a"]}, "w") == utils.get_variable_collections(["a"], "w") == ["a"]
    shape = tf.TensorShape([None, 3, 5])
    assert (utils.channel_dimension(shape, "channels_first"), utils.last_dimension(shape, 2)) == (3, 5)
    assert (utils.two_element_tuple(2), utils.two_element_tuple([3, 4])) == ((2, 2), (3, 4))
    assert (utils.n_positive_integers(2, 3), utils.n_positive_integers(2, [3, 4])) == ((3, 3), (3, 4))
    chosen = utils.static_cond(True, lambda: x, lambda: double)
    known = utils.smart_cond(tf.constant(False), lambda: x, lambda: double)
    assert chosen is x and known is double
    return utils.smart_cond(tf.reduce_sum(x) > 0.0, lambda: x, lambda: double)


def _refused(name: str, *arguments: Any) -> Callable[[Any, Any], Any]:
    return lambda tf, fed: getattr(tf.contrib.layers.utils, name)(*arguments)


def _trained(**options: Any) -> Callable[[Any, Any], Any]:
    """A case: a step of `optimize_loss`, its loss, and the variables after two steps."""

    def case(tf: Any, fed: Any) -> Any:
        w, v = _weights(tf)
        x = array(5, 3)
        loss = tf.reduce_sum(tf.square(tf.matmul(tf.constant(x), w) + v))
        tf.add_to_collection("update_ops", tf.get_variable("calls", [], trainable=False).assign_add(1.0))
        step = tf.train.get_or_create_global_step()
        given = {"global_step": step, "learning_rate": 0.1, "optimizer": "SGD", **options}
        given = {key: found(tf) if key.startswith("get_") else found for key, found in given.items()}
        taken = tf.contrib.layers.optimize_loss(loss, **{key.removeprefix("get_"): x for key, x in given.items()})
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            for number, variable in enumerate(tf.global_variables()):
                if variable.dtype.base_dtype.name == "float32" and "learning_rate" not in variable.name:
                    variable.load(abs(array(*variable.shape.as_list(), seed=number)), session)
            losses = [session.run(taken) for _ in range(2)]
            found = session.run(tf.global_variables())
        return [tf.constant(value) for value in [*losses, *found]]

    return case


_ALL_SUMMARIES = ["learning_rate", "loss", "gradients", "gradient_norm", "global_gradient_norm"]

CASES = {
    **{
        function.__name__: function
        for function in (
            regularizers,
            whole_scale,
            negative_scale,
            nothing_to_regularize,
            initializers,
            no_such_mode,
            summaries,
            summaries_of_slim,
            utils,
        )
    },
    "no_constant": _refused("constant_value", None),
    "no_function": _refused("static_cond", True, 1, 2),
    "three_elements": _refused("two_element_tuple", [1, 2, 3]),
    "too_few": _refused("n_positive_integers", 3, [1, 2]),
    "not_positive": _refused("n_positive_integers", 2, 0),
    **{f"optimizer_{name}": _trained(optimizer=name) for name in ("Adagrad", "Adam", "Ftrl", "Momentum", "RMSProp")},
    "sizes": sizes,
    "optimizer_class": _trained(get_optimizer=lambda tf: tf.train.AdamOptimizer),
    "optimizer_made": _trained(get_optimizer=lambda tf: tf.train.MomentumOptimizer(0.1, 0.5), learning_rate=None),
    "optimizer_function": _trained(get_optimizer=lambda tf: lambda rate: tf.train.MomentumOptimizer(rate, 0.5)),
    "unknown_optimizer": _trained(optimizer="Best"),
    "optimizer_of_no_rate": _trained(optimizer="SGD", learning_rate=None),
    "whole_rate": _trained(learning_rate=1),
    "unknown_summary": _trained(summaries=["all"]),
    "unknown_clip": _trained(clip_gradients="all"),
    "clipped": _trained(clip_gradients=0.5, summaries=_ALL_SUMMARIES),
    "clipped_adaptively": _trained(
        get_clip_gradients=lambda tf: tf.contrib.layers.adaptive_clipping_fn(
            0.5, 0.9, 3.0, tf.train.get_global_step(), report_summary=True
        )
    ),
    "multiplied": _trained(gradient_multipliers={"net/w:0": 0.5}),
    "decayed": _trained(
        get_learning_rate_decay_fn=lambda tf: lambda rate, step: tf.train.exponential_decay(rate, step, 1, 0.5),
        name="Train",
    ),
    "other_variables": _trained(
        get_variables=lambda tf: tf.trainable_variables()[:1], update_ops=[], increment_global_step=False
    ),
}
