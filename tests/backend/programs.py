"""Programs of K in the style of Keras 1 and 2: old optimizers, and other uses of a graph.

The same source runs on the oracle, in a graph of TensorFlow 1, and here.
"""

from __future__ import annotations

import numpy as np

RNG = np.random.default_rng(7)
X = RNG.normal(size=(16, 3)).astype("float32")
Y = (X @ np.array([[1.0], [-2.0], [0.5]]) + 0.3).astype("float32")


class Optimizer:
    """The common base of old optimizers."""

    def __init__(self, K):
        self.K = K
        self.updates = []

    def get_gradients(self, loss, params):
        return self.K.gradients(loss, params)

    def zeros(self, params):
        return [self.K.zeros(self.K.int_shape(p), dtype=self.K.dtype(p)) for p in params]


class SGD(Optimizer):
    """Keras 2.3's SGD: momentum, decay, Nesterov."""

    def __init__(self, K, lr=0.1, momentum=0.0, decay=0.0, nesterov=False):
        super().__init__(K)
        self.iterations = K.variable(0, dtype="int64", name="iterations")
        self.lr = K.variable(lr, name="lr")
        self.momentum = K.variable(momentum, name="momentum")
        self.decay = K.variable(decay, name="decay")
        self.nesterov = nesterov

    def get_updates(self, loss, params):
        K = self.K
        grads = self.get_gradients(loss, params)
        self.updates = [K.update_add(self.iterations, 1)]
        lr = self.lr * (1.0 / (1.0 + self.decay * K.cast(self.iterations, K.dtype(self.decay))))
        for p, g, m in zip(params, grads, self.zeros(params), strict=True):
            v = self.momentum * m - lr * g
            self.updates.append(K.update(m, v))
            new_p = p + self.momentum * v - lr * g if self.nesterov else p + v
            self.updates.append(K.update(p, new_p))
        return self.updates


class RMSprop(Optimizer):
    """RMSprop with Keras 1's signature, and updates as pairs."""

    def __init__(self, K, lr=0.05, rho=0.9):
        super().__init__(K)
        self.lr, self.rho = K.variable(lr), K.variable(rho)

    def get_updates(self, params, constraints, loss):
        K = self.K
        for p, g, a in zip(params, self.get_gradients(loss, params), self.zeros(params), strict=True):
            new_a = self.rho * a + (1.0 - self.rho) * K.square(g)
            self.updates.append((a, new_a))
            new_p = p - self.lr * g / (K.sqrt(new_a) + 1e-6)
            self.updates.append((p, constraints[p](new_p) if p in constraints else new_p))
        return self.updates


class Adam(Optimizer):
    """Adam with a schedule that depends on the step's number, and the maximum of past values."""

    def __init__(self, K, lr=0.05, beta_1=0.9, beta_2=0.99, amsgrad=False):
        super().__init__(K)
        self.iterations = K.variable(0, dtype="int64", name="iterations")
        self.lr, self.beta_1, self.beta_2 = K.variable(lr), K.variable(beta_1), K.variable(beta_2)
        self.amsgrad = amsgrad

    def get_updates(self, loss, params):
        K = self.K
        grads = self.get_gradients(loss, params)
        self.updates = [K.update_add(self.iterations, 1)]
        t = K.cast(self.iterations, K.floatx()) + 1
        lr_t = self.lr * (K.sqrt(1.0 - K.pow(self.beta_2, t)) / (1.0 - K.pow(self.beta_1, t)))
        slots = zip(params, grads, self.zeros(params), self.zeros(params), self.zeros(params), strict=True)
        for p, g, m, v, vhat in slots:
            m_t = self.beta_1 * m + (1.0 - self.beta_1) * g
            v_t = self.beta_2 * v + (1.0 - self.beta_2) * K.square(g)
            largest = K.maximum(vhat, v_t) if self.amsgrad else v_t
            p_t = p - lr_t * m_t / (K.sqrt(largest) + K.epsilon())
            self.updates += [K.update(vhat, largest), K.update(m, m_t), K.update(v, v_t), K.update(p, p_t)]
        return self.updates


def train(K, optimizer, *, classic=False, steps=12):
    """The losses and weights of a regression."""
    x, y = K.placeholder((None, 3), name="x"), K.placeholder((None, 1), name="y")
    w, b = K.variable(np.zeros((3, 1)), name="w"), K.variable(np.zeros(1), name="b")
    loss = K.mean(K.square(K.dot(x, w) + b - y))
    weights = [w, b]
    if classic:
        updates = optimizer.get_updates(weights, {}, loss)
    else:
        updates = optimizer.get_updates(loss, weights)
    step = K.function([x, y], [loss], updates=updates)
    losses = [step([X, Y])[0] for _ in range(steps)]
    assert losses[-1] < 0.5 * losses[0]
    return [np.stack(losses), *K.batch_get_value(weights)]


OPTIMIZERS = {
    "sgd": lambda K: train(K, SGD(K)),
    "momentum": lambda K: train(K, SGD(K, lr=0.05, momentum=0.5, decay=0.1)),
    "nesterov": lambda K: train(K, SGD(K, lr=0.05, momentum=0.5, nesterov=True)),
    "rmsprop": lambda K: train(K, RMSprop(K, lr=0.2), classic=True),
    "adam": lambda K: train(K, Adam(K, lr=0.2)),
    "amsgrad": lambda K: train(K, Adam(K, lr=0.2, amsgrad=True)),
}


def functions(K):
    """Results of functions with structures of outputs, a repeated tensor, and outputs from outside the graph."""
    x, w = K.placeholder((None, 3)), K.variable([1.0, 2.0, 3.0])
    y = K.sum(x * w, axis=1)
    one = K.function([x], y)
    several = K.function([x], {"b": [y, y], "a": (w, K.constant([1, 2]))})
    found = several([X])
    return [
        one([X]),
        one(X),
        found["b"],
        found["a"],
        K.function([x], [y])([X]),
        K.function([x, y], [y * 2.0])([X, X[:, 0]]),
    ]


def updates(K):
    """Results of all kinds of updates, of several updates of one variable, and of an update that a call returns."""
    x, v, u = K.placeholder(()), K.variable(1.0), K.variable(10.0)
    f = K.function([x], [x * 2.0], updates=[(v, v + x), K.update(u, x * 2.0)])
    twice = K.function([x], [-x], updates=[K.update_add(v, 1.0), K.update_add(v, x), K.update_sub(u, 1.0)])
    found = [f([3.0]), K.batch_get_value([v, u]), f([1.0]), K.batch_get_value([v, u])]
    found += [twice([5.0]), K.batch_get_value([v, u])]
    return [*found, K.function([x], [K.update_sub(v, x)])([1.5]), K.get_value(v)]


def averages(K):
    """Statistics of batch normalization.

    TensorFlow does not order a read and an update of one variable within a run.
    """
    x = K.placeholder((None, 3))
    mean, var = K.zeros((3,)), K.ones((3,))
    steps = [
        K.moving_average_update(mean, K.mean(x, axis=0), 0.9),
        K.moving_average_update(var, K.var(x, axis=0), 0.8),
    ]
    train, test = K.function([x], [K.sum(x)], updates=steps), K.function([x], [(x - mean) / K.sqrt(var + 1e-3)])
    found = [f([X + i]) for i in range(2) for f in (test, train)]
    return [*found, test([X]), K.get_value(mean), K.get_value(var)]


def schedules(K):
    """Values of expressions of variables at the time of each run."""
    K.placeholder((1,))
    step = K.variable(0, dtype="int32")
    rate = 1.0 / (1.0 + K.cast(step, "float32"))
    found = [K.eval(rate)]
    K.set_value(step, 3)
    return [*found, K.eval(rate), K.get_value(step), K.eval(K.square(rate) + 1.0)]


def phases(K):
    """Results with the learning phase as an input, and without it."""
    x = K.placeholder((None, 3))
    y = K.in_train_phase(lambda: x * 2.0, lambda: x + 1.0)
    z = K.in_test_phase(x, -x)
    f = K.function([x, K.learning_phase()], [y, z])
    left_out = K.function([x], [y, z])([X])
    K.set_learning_phase(1)
    fixed = K.function([x], [K.in_train_phase(x * 2.0, -x), K.constant(K.learning_phase())])([X])
    return [f([X, 1]), f([X, 0]), f([X, True]), left_out, fixed]


def gradients(K):
    """Gradients by variables, placeholders and inner tensors; of lists; of gradients; and of unconnected tensors."""
    x, w, other = K.placeholder((None, 3)), K.variable([[1.0], [2.0], [3.0]]), K.placeholder((None, 2))
    n = K.placeholder((None,), dtype="int32")
    h = K.tanh(K.dot(x, w))
    loss = K.sum(K.square(h))
    first = K.gradients(loss, [w, x, h])
    second = K.gradients(K.sum(K.square(first[1])), [w])
    none = [g is None for g in K.gradients(loss, [other, n, w])]
    single, several = K.gradients(loss, w), K.gradients([loss, K.sum(w)], [w])
    stopped = K.gradients(loss * K.stop_gradient(loss), w)
    assert [len(g) for g in (first, second, single, several)] == [3, 1, 1, 1]
    return [*K.function([x], [*first, *second, *single, *several, *stopped])([X]), none]


def penalties(K):
    """Losses with the gradient penalty of a Wasserstein GAN as a part of its critic's loss."""
    real, fake, mix = K.placeholder((None, 3)), K.placeholder((None, 3)), K.placeholder((None, 1))
    w, v = K.variable(np.linspace(-1, 1, 12).reshape(3, 4)), K.variable(np.linspace(-1, 2, 4).reshape(4, 1))

    def critic(x):
        return K.dot(K.tanh(K.dot(x, w)), v)

    between = mix * real + (1.0 - mix) * fake
    slope = K.gradients(critic(between), [between])[0]
    norm = K.sqrt(K.sum(K.square(slope), axis=1))
    loss = K.mean(critic(fake)) - K.mean(critic(real)) + 10.0 * K.mean(K.square(norm - 1.0))
    step = K.function([real, fake, mix], [loss], updates=SGD(K, lr=0.01).get_updates(loss, [w, v]))
    return [step([X, X[::-1] * 0.5, np.linspace(0, 1, 16).reshape(16, 1)]) for _ in range(5)] + [K.get_value(w)]


def comparisons(K):
    """Results of `==` as a truth, which says whether two tensors are the same object."""
    x, y, w = K.placeholder((None, 3)), K.placeholder((None, 4)), K.variable([1.0])
    tensors = [x, w, y]
    found = [x in tensors, x in [y, w], tensors.index(y), [t for t in tensors if t != x] == [w, y], bool(x != 0)]
    tensors.remove(w)
    return [found, len(tensors)]


def branches(K):
    """Values and gradients through conditions that are only known at run time."""
    x, w = K.placeholder((3,)), K.variable([1.0, 2.0, 3.0])
    y = K.switch(K.sum(x) > 0, lambda: x * w, lambda: x + w)
    z = K.switch(x > 0, x * w, -x)
    f = K.function([x], [y, z, *K.gradients(K.sum(y * z), [x, w])])
    return [f([np.array([1.0, -0.5, 2.0])]), f([np.array([-1.0, 0.5, -2.0])])]


PROGRAMS = {
    f.__name__: f
    for f in (
        functions, updates, averages, schedules, phases, gradients, penalties, comparisons, branches,
    )
}  # fmt: skip
