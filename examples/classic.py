"""The parts that the classic programs beside this one share: dense layers, an optimizer, digits, and options.

All code is as it was for Keras 1 and 2, in K alone.
"""

# ruff: noqa: NPY002  # NumPy's global generator, as in those days; it seeds K's random numbers, too

import argparse
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits
from threadpoolctl import threadpool_limits

import dovetail
from dovetail import backend as K


class Dense:
    """A layer as a function of its input; an optimizer changes its `weights`."""

    def __init__(self, inputs, units, activation=None):
        limit = np.sqrt(6.0 / (inputs + units))
        self.kernel = K.random_uniform_variable((inputs, units), -limit, limit)
        self.bias = K.zeros((units,))
        self.weights = [self.kernel, self.bias]
        self.activation = activation

    def __call__(self, x):
        y = K.bias_add(K.dot(x, self.kernel), self.bias)
        return y if self.activation is None else self.activation(y)


class Adam:
    """The optimizer of Kingma and Ba, in the form that Keras 2 had: it gives a list of updates for `K.function`."""

    def __init__(self, lr=0.001, beta_1=0.9, beta_2=0.999):
        self.iterations = K.variable(0, dtype="int64")
        self.lr, self.beta_1, self.beta_2 = K.variable(lr), K.variable(beta_1), K.variable(beta_2)

    def get_updates(self, loss, params):
        t = K.cast(self.iterations, K.floatx()) + 1.0
        lr = self.lr * K.sqrt(1.0 - K.pow(self.beta_2, t)) / (1.0 - K.pow(self.beta_1, t))
        updates = [K.update_add(self.iterations, 1)]
        for p, g in zip(params, K.gradients(loss, params), strict=True):
            m, v = K.zeros(K.int_shape(p)), K.zeros(K.int_shape(p))
            m_t = self.beta_1 * m + (1.0 - self.beta_1) * g
            v_t = self.beta_2 * v + (1.0 - self.beta_2) * K.square(g)
            updates += [K.update(m, m_t), K.update(v, v_t), K.update(p, p - lr * m_t / (K.sqrt(v_t) + 1e-7))]
        return updates


def weights_of(layers):
    return [weight for layer in layers for weight in layer.weights]


def digits(test=400):
    """Scikit-learn's handwritten digits, always split alike: images of 64 pixels in [0, 1], and their digits.

    Returns:
        (images, digits) to learn from, and to test with.
    """
    images, labels = load_digits(return_X_y=True)
    order = np.random.RandomState(0).permutation(len(images))
    images, labels = (images[order] / 16.0).astype("float32"), labels[order]
    return (images[test:], labels[test:]), (images[:test], labels[:test])


def batches(count, size):
    """The positions of `count` samples in random order, in batches of `size`; the rest is left out."""
    order = np.random.permutation(count)
    return [order[i : i + size] for i in range(0, count - size + 1, size)]


def options(program, **numbers):
    """A function that reads the options of a program from the command line.

    Args:
        program: the program's docstring, which `--help` shows.
        numbers: further options: name → (number by default, number with --quick, help text).
    """
    parser = argparse.ArgumentParser(description=program, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--engine", choices=dovetail.list_engines(), default="numpy", help="the engine (numpy)")
    for name, (default, _, text) in numbers.items():
        parser.add_argument(f"--{name}", type=int, help=f"{text} ({default})")
    parser.add_argument("--seed", type=int, default=0, help="the same numbers again, on any engine (0)")
    parser.add_argument("--quick", action="store_true", help="learn for a few seconds only, to see that all works")
    parser.add_argument("--folder", type=Path, default=Path("results"), help="where the picture goes (results)")

    def parse(arguments):
        found = parser.parse_args(arguments)
        for name, (default, quick, _) in numbers.items():
            if getattr(found, name) is None:
                setattr(found, name, quick if found.quick else default)
            elif getattr(found, name) < 1:
                parser.error(f"--{name} must be 1 or more")
        found.folder.mkdir(parents=True, exist_ok=True)
        return found

    return parse


@contextmanager
def running(args):
    """Run a program's graph on the chosen engine, from the chosen seed."""
    np.random.seed(args.seed)
    # The matrices are small: several threads would mostly wait for each other.
    with dovetail.engine(args.engine), threadpool_limits(1):
        yield
        K.clear_session()


def save(figure, path):
    figure.savefig(path, dpi=120, bbox_inches="tight")
    print(f"The picture is {path}")
