"""Programs for Keras 2, each a function of the library that gives numbers and names: {program: what it gives}.

They run on tf_keras, which is Keras 2, or on Keras 3 by Dovetail's names, on each engine.  Weights are given.
"""

from __future__ import annotations

import os
import sys
import traceback
import warnings

ON_DOVETAIL = os.environ["KERAS_BACKEND"] == "dovetail"
if ON_DOVETAIL:
    import keras_dovetail  # noqa: F401  first: it makes Keras run on Dovetail

    # isort: split
    import dovetail.compat.keras2

    # isort: split
    import keras

else:
    import tf_keras as keras

import numpy as np

import dovetail as dt
from tests.keras_backends import tell

layers = keras.layers
RANDOM = np.random.default_rng(0)
X, Z, Y = (RANDOM.normal(size=shape).astype("float32") for shape in ((6, 3), (6, 2), (6, 1)))


def with_weights(*models):
    """Models whose weights are the same in each process; positive, as variances are."""
    random = np.random.default_rng(1)
    for model in models:
        model.set_weights([random.uniform(0.1, 1, w.shape) for w in model.get_weights()])
    return models


def sums(*models):
    return [float(np.sum(w)) for model in models for w in model.get_weights()]


# -- trainable counts as it is when a model is compiled ---------------------------------------------------------------


def gan(optimizer=lambda: keras.optimizers.SGD(0.01)):
    """A judge that is compiled, then frozen, and the model that trains the maker by it."""
    judge = keras.Sequential(
        [layers.Dense(4, activation="tanh", input_shape=(3,)), layers.BatchNormalization(), layers.Dense(1)]
    )
    maker = keras.Sequential([layers.Dense(3, input_shape=(2,))])
    with_weights(judge, maker)
    judge.compile(optimizer(), "mse")
    judge.trainable = False
    noise = layers.Input((2,))
    joined = keras.Model(noise, judge(maker(noise)))
    joined.compile(optimizer(), "mse")
    return judge, maker, joined


def program_gan():
    """Each model trains its own, also when weights count as they are afterwards."""
    judge, maker, joined = gan()
    found = [len(judge.trainable_weights), len(joined.trainable_weights)]
    for _ in range(2):
        found += [judge.train_on_batch(X, Y), *sums(judge, maker), joined.train_on_batch(Z, Y), *sums(judge, maker)]
    return [*found, len(judge.trainable_weights), len(joined.trainable_weights)]


def program_gan_by_fit_and_adam():
    judge, maker, joined = gan(lambda: keras.optimizers.Adam(0.01, epsilon=1e-3))
    found = list(judge.fit(X, Y, batch_size=2, epochs=2, shuffle=False, verbose=0).history["loss"])
    found += joined.fit(Z, Y, batch_size=2, epochs=2, shuffle=False, verbose=0).history["loss"]
    return [*found, *sums(judge, maker), judge.evaluate(X, Y, verbose=0)]


def program_frozen_then_compiled_again():
    """What is frozen counts once the model is compiled again, also for a batch normalization, which then stays."""
    judge, _, _ = gan()
    found = [judge.train_on_batch(X, Y), *sums(judge)]
    judge.trainable = True
    for frozen in (judge.layers[1], judge.layers[0]):
        frozen.trainable = False
        found += [judge.train_on_batch(X, Y), *sums(judge)]
        judge.compile(keras.optimizers.SGD(0.01, momentum=0.9), "mse")
        found += [judge.train_on_batch(X, Y), *sums(judge), len(judge.trainable_weights)]
    return found


def program_layers_in_a_frozen_model():
    """They are frozen with it, whatever they say themselves."""
    base, top = keras.Sequential([layers.Dense(4, input_shape=(3,)), layers.Dense(2)]), layers.Dense(1)
    x = layers.Input((3,))
    model = keras.Model(x, top(base(x)))
    with_weights(model)
    base.trainable = False
    base.layers[1].trainable = True
    model.compile("sgd", "mse")
    found = [len(each.trainable_weights) for each in (model, base, base.layers[1])]
    found += [len(each.non_trainable_weights) for each in (model, base)]
    return [*found, model.train_on_batch(X, Y), *sums(model)]


# -- what runs them ---------------------------------------------------------------------------------------------------


def outcome(program):
    """What a program gives, or the traceback."""
    try:
        return plain(program())
    except Exception:
        return traceback.format_exc()


def plain(value):
    if isinstance(value, (list, tuple)):
        return list(map(plain, value))
    return value if isinstance(value, str) else float(value)


def main(engines):
    warnings.simplefilter("ignore")  # of state that has changed since compile, which a check looks at
    found = {}
    for name in engines:
        if ON_DOVETAIL:
            dt.set_engine(name)
        found[name] = {n: outcome(program) for n, program in list(globals().items()) if n.startswith("program_")}
    tell(found)


if __name__ == "__main__":
    main(sys.argv[1:])
