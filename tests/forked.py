"""A process that forks after Dovetail has computed: `python -m tests.forked ENGINE PROGRAM WAY`.

It prints "right" if the child and then the parent find the numbers of a process without a fork.
"""

from __future__ import annotations

import multiprocessing
import os
import pickle
import sys
import threading
import time
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

RANDOM = np.random.default_rng(0)


def function() -> Callable[[], list[float]]:
    """A step of training that continues in each call, large enough for all threads of the libraries."""
    import dovetail as dt
    from dovetail import ops

    x = RANDOM.normal(size=(512, 256)).astype("float32")
    w = dt.Variable(np.full((256, 256), 0.01, "float32"))

    @dt.function
    def step(x: Any) -> Any:
        with dt.GradientTape() as tape:
            loss = ops.mean(ops.tanh(x @ w) ** 2)
        w.assign_sub(0.5 * tape.gradient(loss, w))
        return loss

    return lambda: [float(step(x)), float(np.sum(w.numpy()))]


def eager() -> Callable[[], list[float]]:
    """Single calls, and K."""
    from dovetail import backend as K
    from dovetail import ops

    x = RANDOM.normal(size=(512, 512)).astype("float32")
    images = RANDOM.normal(size=(8, 32, 32, 8)).astype("float32")
    kernel = np.ones((3, 3, 8, 8), "float32")
    return lambda: [float(ops.sum(ops.tanh(ops.constant(x)) @ x)), float(K.mean(K.conv2d(images, kernel)))]


def session() -> Callable[[], list[float]]:
    """A run of a graph of TensorFlow 1, which continues in each run."""
    import dovetail.compat.tensorflow.compat.v1 as tf

    points = RANDOM.normal(size=(512, 256)).astype("float32")
    fed = tf.placeholder(tf.float32, [None, 256])
    slope = tf.get_variable("slope", [256, 64], initializer=tf.ones_initializer())
    loss = tf.reduce_mean(tf.square(tf.matmul(fed, slope) - 1.0))
    train = tf.train.GradientDescentOptimizer(0.05).minimize(loss)
    opened = tf.Session()
    opened.run(tf.global_variables_initializer())
    return lambda: [float(opened.run([loss, train], {fed: points})[0])]


def keras() -> Callable[[], list[float]]:
    """A fit of a model, which continues in each call."""
    import_module("keras_dovetail")  # before keras
    import keras

    keras.utils.set_random_seed(0)
    x, y = (RANDOM.normal(size=shape).astype("float32") for shape in ((64, 16, 16, 4), (64, 2)))
    convolved = [keras.layers.Conv2D(16, 3, activation="relu"), keras.layers.Flatten(), keras.layers.Dense(2)]
    model = keras.Sequential([keras.Input((16, 16, 4)), *convolved])
    model.compile(keras.optimizers.SGD(0.01), "mse")

    def work() -> list[float]:
        losses = model.fit(x, y, batch_size=16, shuffle=False, verbose=0).history["loss"]
        return [*losses, float(np.sum(model.predict(x, verbose=0)))]

    return work


def by_fork(work: Callable[[], Any]) -> Any:
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writer, pickle.dumps(work()))
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as file:
        found = pickle.load(file)
    os.waitpid(child, 0)
    return found


def by_process(work: Callable[[], Any]) -> Any:
    context = multiprocessing.get_context("fork")
    pipe, end = context.Pipe()
    process = context.Process(target=lambda: end.send(work()))
    process.start()
    found = pipe.recv()
    process.join()
    return found


def by_pool(work: Callable[[], Any]) -> Any:
    global _work
    _work = work
    with multiprocessing.get_context("fork").Pool(1) as pool:
        return pool.apply(_call_work)


def _call_work() -> Any:
    return _work()


def by_loader(work: Callable[[], Any]) -> Any:
    """The result of a DataLoader's workers on torch, each of which works once."""
    import torch.utils.data

    class Samples(torch.utils.data.Dataset):
        def __len__(self) -> int:
            return 2

        def __getitem__(self, index: int) -> Any:
            return np.float64(work())

    loader = torch.utils.data.DataLoader(Samples(), num_workers=2, batch_size=1, multiprocessing_context="fork")
    first, second = (batch[0].tolist() for batch in loader)
    assert first == second, (first, second)
    return first


def by_busy_fork(work: Callable[[], Any]) -> Any:
    """The result after a fork during a background import, and after one during the preparation of a plan."""
    import dovetail as dt
    from dovetail.choose.background import later
    from dovetail.core.engines.engine_registry import get_engine, list_engines

    begun = threading.Event()

    def prepare() -> None:
        begun.set()
        for name in [name for name in ("torch", "jax") if name in list_engines()]:
            get_engine(name)
            other = dt.function(lambda x: x @ x + 1.0, engine=name)
            other(np.ones((300, 300), "float32"))

    later(prepare)
    begun.wait()
    time.sleep(0.1)  # by now the import has begun

    def twice() -> Any:
        found = work()
        if "torch" in list_engines():
            with dt.engine("torch"):
                assert float(dt.ops.sum(dt.ops.ones((300, 300)) @ np.ones((300, 300), "float32"))) == 27e6
        return found

    return by_fork(lambda: by_fork(twice))


PROGRAMS = {"function": function, "eager": eager, "session": session, "keras": keras}
WAYS = {
    "fork": by_fork,
    "process": by_process,
    "pool": by_pool,
    "loader": by_loader,
    "busy": by_busy_fork,
}


def main(engine: str, program: str, way: str) -> None:
    import dovetail as dt

    dt.set_engine(engine)
    work = PROGRAMS[program]()
    work()
    in_child = WAYS[way](work)
    after = work()
    np.testing.assert_allclose(in_child, after, rtol=2e-3)  # both are the second step
    assert all(np.isfinite(after))
    work()
    print("right")


if __name__ == "__main__":
    main(*sys.argv[1:])
