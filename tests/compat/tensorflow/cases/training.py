"""Training in graphs of TensorFlow 1: optimizers, decays, averages, losses, steps and initializers."""

import numpy as np

from dovetail.ops.samples import array
from tests.compat.tensorflow.cases.graph import in_graph
from tests.compat.tensorflow.parity import EAGER, program


def averages_of_tensors(v1, session, corrected):
    x, w = v1.placeholder(v1.float32, [2]), v1.Variable([1.0, 1.0], name="w")
    twice = v1.multiply(x, 2.0, name="twice")
    averages = v1.train.ExponentialMovingAverage(0.5, zero_debias=corrected)
    update = averages.apply([twice, w])
    with v1.control_dependencies([update]):
        after = v1.identity(averages.average(twice))
    session.run(v1.global_variables_initializer())
    found = [session.run(after, {x: [1.0 + i, 2.0]}) for i in range(3)]
    names = [v.name for v in v1.moving_average_variables()]
    return [found, session.run(averages.average(w)), averages.average(twice).op.name, names, len(v1.global_variables())]


def own_optimizer(v1, session):
    class Heavy(v1.train.Optimizer):
        def __init__(self, rate):
            super().__init__(False, "Heavy")
            self.rate = rate

        def _create_slots(self, var_list):
            for v in var_list:
                self._zeros_slot(v, "m", self._name)

        def _prepare(self):
            self.rate_tensor = v1.convert_to_tensor(self._call_if_callable(self.rate))

        def _resource_apply_dense(self, grad, var):
            kept = self.get_slot(var, "m")
            new = kept.assign(0.9 * kept + grad)
            with v1.control_dependencies([new]):
                return var.assign_sub(self.rate_tensor * new)

    x, count = v1.Variable([2.0, -3.0], name="x"), v1.train.create_global_step()
    optimizer = Heavy(0.1)
    step = optimizer.minimize(v1.reduce_sum(x**2), global_step=count)
    session.run(v1.global_variables_initializer())
    for _ in range(3):
        session.run(step)
    names = [v.name for v in v1.global_variables()]
    return [session.run([x, optimizer.get_slot(x, "m"), count]), optimizer.get_slot_names(), names]


def own_apply_gradients(v1, session):
    class Decayed(v1.train.Optimizer):
        def apply_gradients(self, grads_and_vars, global_step=None, name=None):
            steps = []
            for grad, param in grads_and_vars:
                m = v1.get_variable(
                    f"{param.op.name}/m", param.shape.as_list(), trainable=False, initializer=v1.zeros_initializer()
                )
                new = 0.9 * m + 0.1 * grad
                steps += [param.assign(param - 0.1 * (new + 0.01 * param)), m.assign(new)]
            return v1.group(*steps, name=name)

    x = v1.Variable([2.0, -3.0], name="x")
    optimizer = Decayed(False, "Decayed")
    step = optimizer.apply_gradients(optimizer.compute_gradients(v1.reduce_sum(x**2)))
    session.run(v1.global_variables_initializer())
    session.run(step)
    session.run(step)
    return [session.run(x), [v.name for v in v1.global_variables()]]


def losses(v1, session, x, y):
    labels, predictions = v1.placeholder(v1.float32, [None, 3]), v1.placeholder(v1.float32, [None, 3])
    classes, weights, one = v1.constant([0, 2, 1]), [[1.0], [0.0], [2.0]], v1.losses
    reductions = [one.Reduction.NONE, *sorted({*one.Reduction.all()} - {one.Reduction.NONE})]
    options = [{"reduction": each, "loss_collection": None} for each in reductions]
    found = [one.mean_squared_error(labels, predictions, weights, **each) for each in options]
    signs = v1.cast(labels > 0, v1.int32)
    kept = [
        one.absolute_difference(labels, predictions),
        one.huber_loss(labels, predictions, delta=0.5),
        one.log_loss(v1.sigmoid(labels), v1.sigmoid(predictions), 2.0),
        one.hinge_loss(v1.cast(signs, v1.float32), predictions, weights),
        one.sigmoid_cross_entropy(signs, predictions, label_smoothing=0.1),
        one.softmax_cross_entropy(v1.one_hot(classes, 3), predictions, [1.0, 2.0, 0.0], label_smoothing=0.2),
        one.sparse_softmax_cross_entropy(classes, predictions, weights=[1.0, 2.0, 0.0]),
        one.sparse_softmax_cross_entropy(classes[:, None], predictions),
        one.cosine_distance(v1.nn.l2_normalize(labels, 1), v1.nn.l2_normalize(predictions, 1), axis=1),
        one.compute_weighted_loss(labels, 0.0),
    ]
    with v1.variable_scope("s", regularizer=v1.nn.l2_loss):
        v1.get_variable("w", [2], initializer=v1.ones_initializer())
    one.add_loss(v1.reduce_sum(labels))
    total = one.get_total_loss()
    found += [*kept, one.get_regularization_loss(), total, v1.gradients(total, predictions)[0]]
    told = [len(one.get_losses()), len(one.get_regularization_losses())]
    wrong = [
        ((labels, predictions, [1.0, 2.0]), {}),
        ((None, labels), {}),
        ((labels, labels), {"reduction": "none such"}),
    ]
    for args, options in wrong:
        try:
            told.append(one.mean_squared_error(*args, **options).name)
        except ValueError:
            told.append("refused")
    session.run(v1.global_variables_initializer())
    return [session.run(found, {labels: x, predictions: y}), told]


OPTIMIZERS = {
    "GradientDescentOptimizer": [(0.1,)],
    "MomentumOptimizer": [(0.1, 0.9), (0.1, 0.9, False, "Momentum", True)],
    "AdamOptimizer": [(), (0.1, 0.8, 0.9, 1e-3)],
    "RMSPropOptimizer": [(0.1,), (0.1, 0.8, 0.5, 1e-3, False, True)],
    "AdagradOptimizer": [(0.1,)],
    "AdadeltaOptimizer": [(), (1.0, 0.9, 1e-3)],
    "FtrlOptimizer": [
        (0.1,),
        (0.1, -0.5, 0.2, 0.01, 0.02),
        (0.1, -0.7, 0.1, 0.0, 0.0, False, "F", None, None, 0.1, 0.5),
    ],
}


def steps(v1, session, name, given):
    w, b = v1.Variable([[1.0, -2.0], [0.5, 3.0]], name="w"), v1.Variable([0.1, -0.1], name="b")
    x = v1.placeholder(v1.float32, [None, 2])
    loss = v1.reduce_mean(v1.square(v1.matmul(x, w) + b - 1.0))
    count = v1.train.get_or_create_global_step()
    optimizer = getattr(v1.train, name)(*given)
    step = optimizer.minimize(loss, global_step=count)
    session.run(v1.global_variables_initializer())
    for i in range(4):
        session.run(step, {x: [[1.0, i], [0.5, -1.0]]})
    slots = optimizer.get_slot_names()
    names = sorted(v.name for v in optimizer.variables())
    return [session.run([w, b, count]), [session.run(optimizer.get_slot(w, slot)) for slot in slots], slots, names]


def clipped(v1, session):
    v = v1.Variable(1.0)
    optimizer = v1.train.GradientDescentOptimizer(v1.placeholder_with_default(0.5, []))
    pairs = [(v1.clip_by_value(g, -0.1, 0.1), v) for g, v in optimizer.compute_gradients(v * 3.0, [v])]
    step = optimizer.apply_gradients(pairs)
    session.run(v1.global_variables_initializer())
    session.run(step)
    return session.run(v)


DECAYS = {
    "exponential_decay": [(0.5, 10, 0.9), (0.5, 10, 0.9, True)],
    "natural_exp_decay": [(0.5, 10, 0.9)],
    "inverse_time_decay": [(0.5, 10, 0.9)],
    "polynomial_decay": [(0.5, 10), (0.5, 10, 0.1, 2.0, True)],
    "cosine_decay": [(0.5, 10, 0.1)],
}


def rates(v1, session, name, given):
    step = v1.placeholder(v1.int32, [])
    rate = getattr(v1.train, name)(given[0], step, *given[1:])
    return [session.run(rate, {step: i}) for i in (0, 3, 10, 25)]


def pieces(v1, session):
    step = v1.placeholder(v1.int32, [])
    rate = v1.train.piecewise_constant(step, [3, 6], [1.0, 0.5, 0.1])
    return [session.run(rate, {step: i}) for i in (0, 3, 4, 6, 7)]


def averages(v1, session, counted):
    v, count = v1.Variable([1.0, 2.0], name="v"), v1.Variable(3, trainable=False)
    average = v1.train.ExponentialMovingAverage(0.9, count if counted else None)
    apply = average.apply([v])
    session.run(v1.global_variables_initializer())
    session.run(v.assign([5.0, 6.0]))
    session.run(apply)
    return [session.run(average.average(v)), average.average_name(v), sorted(average.variables_to_restore([v]))[-1]]


def eager_steps(tf, name, given):
    v = tf.Variable([1.0, -2.0])
    optimizer = getattr(tf.compat.v1.train, name)(*given)
    for _ in range(3):
        optimizer.minimize(lambda: tf.reduce_sum(v * v), var_list=[v])
    return v.numpy()


CONSTANTS = ("zeros", "ones")


def initial(v1, session):
    found = []
    for name in CONSTANTS:
        found.append(session.run(getattr(v1, f"{name}_initializer")()([2, 2])))
    found.append(session.run(v1.constant_initializer([1.0, 2.0])([1, 2])))
    for made in (
        v1.random_normal_initializer(),
        v1.truncated_normal_initializer(stddev=0.1),
        v1.random_uniform_initializer(-1, 1),
        v1.glorot_uniform_initializer(),
        v1.glorot_normal_initializer(),
        v1.variance_scaling_initializer(2.0, "fan_out", "uniform"),
        v1.uniform_unit_scaling_initializer(),
        v1.initializers.random_normal(),
        v1.initializers.variance_scaling(),
    ):
        drawn = session.run(made([400, 500]))
        found.append([list(drawn.shape), str(drawn.dtype), np.round(drawn.std() / 0.05), np.abs(drawn.mean()) < 0.02])
    return found


def steps_counted(v1, session):
    nothing = v1.train.get_global_step() is None
    step = v1.train.create_global_step()
    same = v1.train.get_or_create_global_step() is step
    session.run(v1.variables_initializer([step]))
    session.run(step.assign_add(3))
    return [
        nothing,
        same,
        step.name,
        v1.train.global_step(session, step),
        session.run(v1.local_variables_initializer()),
    ]


CASES = [
    in_graph(
        "train.create_global_step train.get_global_step variables_initializer local_variables_initializer",
        steps_counted,
    ),
    in_graph(
        "losses.mean_squared_error losses.absolute_difference losses.huber_loss losses.log_loss losses.hinge_loss "
        "losses.sigmoid_cross_entropy losses.softmax_cross_entropy losses.sparse_softmax_cross_entropy "
        "losses.cosine_distance losses.compute_weighted_loss losses.add_loss losses.get_losses losses.get_total_loss "
        "losses.get_regularization_losses losses.get_regularization_loss losses.Reduction",
        losses,
        array(3, 3),
        array(3, 3),
    ),
    in_graph("train.Optimizer", own_optimizer),
    in_graph("train.Optimizer (apply_gradients)", own_apply_gradients),
    in_graph("train.ExponentialMovingAverage (of tensors)", lambda v1, s: averages_of_tensors(v1, s, False)),
    in_graph("train.ExponentialMovingAverage (zero_debias)", lambda v1, s: averages_of_tensors(v1, s, True)),
    *(
        in_graph(
            f"train.{name} train.get_or_create_global_step {given}", lambda v1, s, n=name, g=given: steps(v1, s, n, g)
        )
        for name, all_given in OPTIMIZERS.items()
        for given in all_given
    ),
    in_graph("train.Optimizer (compute_gradients, apply_gradients)", clipped),
    *(
        in_graph(f"train.{name} {given}", lambda v1, s, n=name, g=given: rates(v1, s, n, g))
        for name, all_given in DECAYS.items()
        for given in all_given
    ),
    in_graph("train.piecewise_constant", pieces),
    in_graph("train.ExponentialMovingAverage", lambda v1, s: averages(v1, s, False)),
    in_graph("train.ExponentialMovingAverage (num_updates)", lambda v1, s: averages(v1, s, True)),
    *(
        program(f"train.{name} (eager)", lambda tf, n=name, g=all_given[0]: eager_steps(tf, n, g), ways=EAGER)
        for name, all_given in OPTIMIZERS.items()
    ),
    in_graph(
        "zeros_initializer ones_initializer constant_initializer random_normal_initializer "
        "truncated_normal_initializer "
        "random_uniform_initializer glorot_uniform_initializer glorot_normal_initializer variance_scaling_initializer "
        "uniform_unit_scaling_initializer initializers.random_normal initializers.variance_scaling",
        initial,
    ),
]
